"""The plugin's ghost text: what it draws, asks and inserts, whatever a server may answer.

Neovim 0.11 has none of its own; on 0.12 it is drawn by Neovim's own module, mended. The server is
a few lines of Lua inside Neovim, which says what it is told to.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.neovim import Neovim, Version, executable, running_neovim

FOLDER = Path(__file__).resolve().parents[2] / "editors" / "neovim"

CONFIG = """
vim.o.laststatus = 0
ghost = {engine}
local function keys()
  local keymap = vim.list_extend(vim.api.nvim_get_keymap('i'), vim.api.nvim_get_keymap('n'))
  return vim.tbl_map(function(map) return map.mode .. map.lhs end, keymap)
end
local before = keys()
ghost.enable()
has_bound_none = vim.deep_equal(keys(), before)
vim.keymap.set('i', '<C-a>', '<Cmd>lua ghost.accept("all")<CR>')

function serve(encoding, line, row, column, item)
  log, answer = {}, item
  local number = 0
  local capabilities = {
    positionEncoding = encoding,
    textDocumentSync = 2,
    inlineCompletionProvider = true,
    executeCommandProvider = { commands = { 'taken' } },
  }
  local function server()
    return {
      request = function(method, params, callback)
        number = number + 1
        table.insert(log, { method, params })
        if method == 'initialize' then
          callback(nil, { capabilities = capabilities })
        elseif method ~= 'textDocument/inlineCompletion' then
          callback(nil, vim.NIL)
        elseif answer ~= 'never' then
          callback(nil, answer)
        end
        return true, number
      end,
      notify = function(method, params)
        table.insert(log, { method, params })
        return true
      end,
      is_closing = function() return false end,
      terminate = function() end,
    }
  end
  for _, client in ipairs(vim.lsp.get_clients()) do
    client:stop(true)
  end
  vim.cmd('enew! | %bwipeout!')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, line)
  vim.lsp.start({ name = 'lsp_completions', cmd = server }, { bufnr = 0 })
  vim.api.nvim_win_set_cursor(0, { row, column })
  vim.bo.modified = false
end
"""


OWN = "require('lsp_completions.ghost')"
BUILT_IN = "assert(require('lsp_completions.builtin').adopt())"


def engines() -> list[object]:
    return [
        pytest.param(
            (version, engine),
            id=f"{version.name}-{name}",
            marks=pytest.mark.skipif(
                executable(version) is None,
                reason=f"needs the Neovim that {version.value[0]} names",
            ),
        )
        for version, engine, name in (
            (Version.V0_11, OWN, "own"),
            (Version.V0_12, OWN, "own"),
            (Version.V0_12, BUILT_IN, "built in"),
        )
    ]


@pytest.fixture(scope="module", params=engines())
def neovim(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Neovim]:
    """One Neovim for all that follows; `open_at` starts anew."""
    version, engine = request.param
    home = tmp_path_factory.mktemp("home")
    shutil.copytree(FOLDER / "lua", home / ".config" / "nvim" / "lua")
    with running_neovim(
        home / "empty.txt",
        version=version,
        home=home,
        config=CONFIG.replace("{engine}", engine),
        environment={},
        size=(60, 12),
    ) as neovim:
        yield neovim
        neovim.quit()


def open_at(neovim: Neovim, text: str, item: object = "never", *, encoding: str = "utf-16") -> None:
    """A new buffer, a new server that answers `item`, insert mode where the text has its `|`."""
    neovim.type("<Esc>")
    before, _, after = text.partition("|")
    row, column = before.count("\n") + 1, len(before.rpartition("\n")[2].encode())
    lines = text.replace("|", "").split("\n")
    neovim.lua("serve(...)", encoding, lines, row, column, item)
    neovim.type("i" if after.partition("\n")[0] else "a")


def item(text: str, *columns: int, row: int = 0) -> dict[str, Any]:
    """An item for a range within a line, or without a range."""
    places = [{"line": row, "character": column} for column in columns]
    where = {"range": dict(zip(("start", "end"), places, strict=True))} if places else {}
    return {"insertText": text, **where}


def shown(neovim: Neovim, *rows: str) -> None:
    """Wait until the screen begins with these rows."""
    expected = list(rows)
    neovim.wait_for(
        f"the rows {expected}", lambda: neovim.screen.text.split("\n")[: len(rows)] == expected
    )


def text(neovim: Neovim) -> str:
    return "\n".join(neovim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))


def log(neovim: Neovim, *methods: str) -> list[Any]:
    """What the server was sent: all, or of these methods."""
    return [entry for entry in neovim.lua("return log") if not methods or entry[0] in methods]


INLINE = "textDocument/inlineCompletion"


@dataclass(frozen=True, kw_only=True)
class Row:
    text: str
    item: dict[str, Any]
    ghost: str
    rows: tuple[str, ...] = ()
    after: str
    encoding: str = "utf-16"


ROWS = [
    pytest.param(
        Row(
            text="x = |",
            item=item("1", 4, 4),
            ghost="1",
            rows=("x = 1",),
            after="x = 1|",
        ),
        id="an empty range",
    ),
    pytest.param(
        Row(text="x = |", item=item("1"), ghost="1", after="x = 1|"),
        id="no range",
    ),
    pytest.param(
        Row(text="    ret|", item=item("return 1", 4, 7), ghost="urn 1", after="    return 1|"),
        id="from the start of the word",
    ),
    pytest.param(
        Row(text="    ret|", item=item("    return 1", 0, 7), ghost="urn 1", after="    return 1|"),
        id="from the start of the line",
    ),
    *(
        pytest.param(
            Row(
                text='a = "é😀漢" + |',
                item=item("b + c", start, start),
                ghost="b + c",
                after='a = "é😀漢" + b + c|',
                encoding=encoding,
            ),
            id=f"wide characters before it, counted in {encoding}",
        )
        for encoding, start in [("utf-8", 18), ("utf-16", 13), ("utf-32", 12)]
    ),
    pytest.param(
        Row(
            text="if x:|\nend",
            item=item("\n    a()\n    b()", 5, 5),
            ghost="    a()\n    b()",
            rows=("if x:", "    a()", "    b()", "end"),
            after="if x:\n    a()\n    b()|\nend",
        ),
        id="lines below",
    ),
    pytest.param(
        Row(
            text="f(|) + x",
            item=item("a", 2, 2),
            ghost="a",
            rows=("f(a) + x",),
            after="f(a|) + x",
        ),
        id="before the rest of the line",
    ),
    pytest.param(
        Row(
            text="f(|)",
            item=item("a) or b", 2, 3),
            ghost="a) or b",
            rows=("f(a) or b",),
            after="f(a) or b|",
        ),
        id="in place of the rest of the line",
    ),
    pytest.param(
        Row(
            text="f(|) + x",
            item=item("a, g(b)", 2, 3),
            ghost="a, g(b)",
            rows=("f(a, g(b) + x",),
            after="f(a, g(b)| + x",
        ),
        id="in place of some of the rest of the line",
    ),
    pytest.param(
        Row(
            text="f(|漢字漢字, é)",
            item=item("x", 2, 9),
            ghost="x",
            rows=("f(x)",),
            after="f(x|)",
        ),
        id="shorter than what it replaces",
    ),
    pytest.param(
        Row(
            text="f(|)",
            item=item("\n    a,\n    b,\n", 2, 2),
            ghost="    a,\n    b,",
            rows=("f(", "    a,", "    b,", ")", "~"),
            after="f(\n    a,\n    b,\n|)",
        ),
        id="lines before the rest of the line",
    ),
]


@pytest.mark.parametrize(
    "row",
    [
        Row(text="f(|)", item=item("a", 2, 2), ghost="a", after="f(a|)"),
        Row(text="f(|)", item=item("a) + b", 2, 3), ghost="a) + b", after="f(a) + b|"),
    ],
    ids=["beside it", "over it"],
)
def test_colours_of_the_line_stay_and_a_matching_bracket_has_its_own(
    neovim: Neovim, row: Row
) -> None:
    neovim.lua("vim.o.cursorline = true")
    open_at(neovim, row.text, [row.item])
    screen = neovim.wait_for_ghost(row.ghost)
    assert "CursorLine" in screen.rows[0][2].style.groups
    assert screen.rows[0][2].style.foreground not in (None, screen.foreground)
    neovim.lua("vim.o.cursorline = false")


@pytest.mark.parametrize("row", ROWS)
def test_it_looks_as_it_will_be(neovim: Neovim, row: Row) -> None:
    open_at(neovim, row.text, {"items": [row.item]}, encoding=row.encoding)
    neovim.wait_for_ghost(row.ghost)
    shown(neovim, *row.rows)
    neovim.lua("answer = 'never'")
    neovim.type("<C-a>")
    neovim.wait_for("no ghost text", lambda: not neovim.screen.ghost)
    line, column = neovim.call("nvim_win_get_cursor", 0)
    lines = text(neovim).encode().split(b"\n")
    lines[line - 1] = lines[line - 1][:column] + b"|" + lines[line - 1][column:]
    assert b"\n".join(lines).decode() == row.after
    shown(neovim, *row.after.replace("|", "").split("\n"))


def test_the_server_hears_that_it_was_accepted(neovim: Neovim) -> None:
    command = {"title": "taken", "command": "taken", "arguments": [7]}
    open_at(neovim, "x = |", [{**item("1", 4, 4), "command": command}])
    neovim.wait_for_ghost("1")
    neovim.type("<C-a>")
    (call,) = neovim.wait_for("the command", lambda: log(neovim, "workspace/executeCommand"))
    assert call[1] == {"command": "taken", "arguments": [7]}


def test_what_was_typed_last_is_sent_before_the_question(neovim: Neovim) -> None:
    open_at(neovim, "x|")
    neovim.type(" = ")
    asked = neovim.wait_for("the question", lambda: log(neovim, INLINE))
    assert asked[-1][1]["position"] == {"line": 0, "character": 4}
    assert asked[-1][1]["context"] == {"triggerKind": 2}
    last_change, question = log(neovim, "textDocument/didChange", INLINE)[-2:]
    assert question == asked[-1]
    assert last_change[1]["contentChanges"][-1]["text"].endswith(" ")


def test_a_question_without_an_answer_is_withdrawn_by_the_next(neovim: Neovim) -> None:
    open_at(neovim, "x|")
    neovim.wait_for("a question", lambda: log(neovim, INLINE))
    assert not log(neovim, "$/cancelRequest")
    neovim.type("y")
    neovim.wait_for("another", lambda: len(log(neovim, INLINE)) == 2)
    methods = [entry[0] for entry in log(neovim, INLINE, "$/cancelRequest")]
    assert methods == [INLINE, "$/cancelRequest", INLINE]


def test_leaving_insert_mode_withdraws_the_question(neovim: Neovim) -> None:
    open_at(neovim, "x|")
    neovim.wait_for("a question", lambda: log(neovim, INLINE))
    neovim.type("<Esc>")
    neovim.wait_for("its end", lambda: log(neovim, "$/cancelRequest"))


def test_leaving_insert_mode_hides_it(neovim: Neovim) -> None:
    open_at(neovim, "x = |", [item("1", 4, 4)])
    neovim.wait_for_ghost("1")
    neovim.type("<Esc>")
    neovim.wait_for_ghost("")
    assert neovim.lua("return ghost.current() == nil")


def test_another_buffer_does_not_show_it(neovim: Neovim) -> None:
    open_at(neovim, "x = |", [item("1", 4, 4)])
    neovim.wait_for_ghost("1")
    neovim.lua("vim.cmd('hide enew')")
    neovim.wait_for_ghost("")


def test_it_is_there_as_long_as_the_text_fits(neovim: Neovim) -> None:
    open_at(neovim, "x = |", [item("one + two", 4, 4)])
    neovim.wait_for_ghost("one + two")
    neovim.lua("answer = 'never'")
    neovim.type("one")
    neovim.wait_for_ghost(" + two")
    neovim.type("<BS>")
    neovim.wait_for_ghost("e + two")
    neovim.type("<Left>")
    neovim.wait_for_ghost("")
    neovim.type("<Right>")
    neovim.wait_for_ghost("e + two")
    neovim.type("e + three")
    neovim.wait_for_ghost("")
    neovim.type("<C-a>")
    assert text(neovim) == "x = one + three"


def test_what_came_for_less_text_is_shown_if_it_fits(neovim: Neovim) -> None:
    open_at(neovim, "x = |", [item("one", 4, 4)])
    neovim.wait_for_ghost("one")
    count = len(log(neovim, INLINE))
    neovim.type("on")
    neovim.wait_for_ghost("e")
    neovim.type("e")
    neovim.wait_for("a question once all is typed", lambda: len(log(neovim, INLINE)) == count + 1)


def test_the_next_and_the_previous(neovim: Neovim) -> None:
    items = [item("one", 4, 4), item("two\nlines", 4, 4), item("three", 4, 4)]
    open_at(neovim, "x = |", items)
    neovim.wait_for_ghost("one")
    for count, ghost, hint in (
        (1, "two\nlines", "(2/3)"),
        (1, "three", "(3/3)"),
        (1, "one", "(1/3)"),
        (-1, "three", "(3/3)"),
    ):
        neovim.lua("ghost.select(...)", count)
        assert hint in neovim.wait_for_ghost(ghost).text
    neovim.lua("answer = 'never'")
    neovim.type("<C-a>")
    neovim.wait_for_ghost("")
    assert text(neovim) == "x = three"


def test_whoever_wants_another_and_has_one_asks_for_more(neovim: Neovim) -> None:
    open_at(neovim, "x = |", [item("one", 4, 4)])
    neovim.wait_for_ghost("one")
    neovim.lua("answer = { ... }", item("one", 4, 4), item("two", 4, 4))
    neovim.lua("ghost.ask(true, 2)")
    neovim.wait_for_ghost("two")
    assert log(neovim, INLINE)[-1][1]["context"] == {"triggerKind": 1}
    neovim.lua("answer = { ... }", item("one", 4, 4))
    neovim.lua("ghost.ask(true, 2)")
    neovim.wait_for_ghost("one")


def test_the_server_hears_what_is_shown_and_what_was_accepted_of_it(neovim: Neovim) -> None:
    command = {"title": "taken", "command": "taken", "arguments": [7]}
    open_at(neovim, "x = |", [{**item("é😀 (a,\n  b) ", 4, 4), "command": command}])
    neovim.wait_for_ghost("é😀 (a,\n  b) ")
    neovim.lua("answer = 'never'")
    accepted = []
    for part, after in (
        ("word", "x = é😀"),
        ("word", "x = é😀 ("),
        ("line", "x = é😀 (a,\n  "),
        ("word", "x = é😀 (a,\n  b"),
        ("line", "x = é😀 (a,\n  b) "),
    ):
        neovim.lua("ghost.accept(...)", part)
        assert text(neovim) == after
        *_, report = log(neovim, "textDocument/didPartiallyAcceptCompletion")
        accepted.append(report[1]["acceptedLength"])
        assert report[1]["item"]["command"]["arguments"] == [7]
    assert accepted == [3, 5, 10, 11, 13]
    neovim.wait_for_ghost("")
    assert len(log(neovim, "textDocument/didShowCompletion")) == 1
    assert not log(neovim, "workspace/executeCommand")


def test_the_rest_of_the_line_stays_behind_a_part(neovim: Neovim) -> None:
    open_at(neovim, "f(|) + x", [item("a,\n  b)", 2, 3)])
    neovim.wait_for_ghost("a,\n  b)")
    neovim.lua("answer = 'never'")
    neovim.lua("ghost.accept('line')")
    assert text(neovim) == "f(a,\n  ) + x"
    neovim.wait_for_ghost("b)")
    neovim.type("<C-a>")
    neovim.wait_for_ghost("")
    assert text(neovim) == "f(a,\n  b) + x"


def test_it_stays_away_once_dismissed(neovim: Neovim) -> None:
    open_at(neovim, "x = |", [item("one", 4, 4)])
    neovim.wait_for_ghost("one")
    neovim.lua("ghost.dismiss()")
    neovim.wait_for_ghost("")
    assert neovim.lua("return ghost.current() == nil")
    neovim.type(" ")
    neovim.wait_for("a question", lambda: len(log(neovim, INLINE)) == 2)


def test_one_undo_takes_it_back_and_nothing_else(neovim: Neovim) -> None:
    open_at(neovim, "x|", [item("one\ntwo")])
    neovim.wait_for_ghost("one\ntwo")
    neovim.lua("answer = 'never'")
    neovim.type("<C-a> # <CR>three<Esc>")
    assert text(neovim) == "xone\ntwo # \nthree"
    neovim.type("u")
    assert text(neovim) == "xone\ntwo"
    neovim.type("u")
    assert text(neovim) == "x"
    neovim.type("<C-r>")
    assert text(neovim) == "xone\ntwo"


def test_a_menu_hides_it(neovim: Neovim) -> None:
    open_at(neovim, "xavier xaver\nx|", [item(" = 1")])
    neovim.wait_for_ghost(" = 1")
    neovim.type("<C-n>")
    neovim.wait_for_ghost("")
    neovim.type("<C-e>")
    neovim.wait_for_ghost(" = 1")


def test_it_can_be_switched_off(neovim: Neovim) -> None:
    open_at(neovim, "x = |", [item("1", 4, 4)])
    neovim.wait_for_ghost("1")
    neovim.lua("ghost.enable(false)")
    neovim.wait_for_ghost("")
    neovim.lua("ghost.enable()")
    neovim.type("<Esc>A")
    neovim.wait_for_ghost("1")


def test_a_buffer_can_be_spared(neovim: Neovim) -> None:
    open_at(neovim, "x = |", [item("1", 4, 4)])
    neovim.wait_for_ghost("1")
    neovim.lua("vim.b.lsp_completions = false")
    neovim.type("y")
    neovim.lua("ask = vim.uv.now() + 500")
    neovim.wait_for("a while", lambda: neovim.lua("return vim.uv.now() > ask"))
    assert neovim.screen.ghost == ""
    assert len(log(neovim, INLINE)) == 1


def test_nothing_is_bound(neovim: Neovim) -> None:
    assert neovim.lua("return has_bound_none")
