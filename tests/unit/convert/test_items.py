"""Items, and what an editor of each kind makes of them."""

import re
from dataclasses import replace
from typing import Any

import pytest
from lsprotocol import types

from lsp_completions.convert import Client, read_client
from lsp_completions.convert.items import inline_items, menu_items
from lsp_completions.pipeline.document import Document, Position
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.positions import PositionEncoding

AS_IS = types.InsertTextMode.AsIs
SNIPPET = types.InsertTextFormat.Snippet
PLAIN = types.InsertTextFormat.PlainText

VS_CODE = Client(snippets=True, insert_text_modes=frozenset({1, 2}), can_execute_commands=True)
LSP_MODE = Client(insert_text_modes=frozenset({1, 2}), encoding=PositionEncoding.UTF32)
HELIX = Client(snippets=True, encoding=PositionEncoding.UTF8)
KATE = Client()
CLIENTS = [
    pytest.param(VS_CODE, id="VS Code"),
    pytest.param(LSP_MODE, id="lsp-mode"),
    pytest.param(HELIX, id="Helix and Neovim"),
    pytest.param(KATE, id="Kate and Eglot"),
]


def drawn(text: str) -> tuple[Document, int]:
    """The document and the cursor drawn into it as `<cursor>`."""
    before, after = text.split("<cursor>")
    return Document.open("file:///w/a.py", "python", 1, before + after), len(before)


def menu(text: str, *edits: tuple[int, int, str], client: Client, **more: Any) -> list[Any]:
    """The entries for edits given relative to the cursor."""
    document, offset = drawn(text)
    shown = menu_items(
        document,
        offset,
        [Edit(start=offset + start, end=offset + end, new_text=new) for start, end, new in edits],
        client,
        command="accept",
        ids=[f"id-{index}" for index in range(len(edits))],
        detail=more.get("detail", ""),
        is_incomplete=more.get("is_incomplete", False),
    )
    return list(shown.items)


def accepted(text: str, item: Any, client: Client) -> str:
    """The text after an editor like `client` has inserted the item."""
    document, _ = drawn(text)
    start, end = (
        document.offset_of(Position(place.line, place.character), client.encoding)
        for place in (item.text_edit.range.start, item.text_edit.range.end)
    )
    new = item.text_edit.new_text
    line = document.place_at(start)[0]
    if item.insert_text_format == SNIPPET:
        assert "\r" not in new
        new = re.sub(r"\\([\\$}])", r"\1", new)
        indent = re.match(r"[ \t]*", document.line(line))
        assert indent is not None
        new = new.replace("\n", document.eol_at(line) + indent[0])
    elif "\n" in new and client.snippets:
        assert item.insert_text_mode == AS_IS, "re-indented by VS Code, cut by Neovim"
    return document.spliced(start, end, new, None).text


BODY = "def f(df):\n    <cursor>\n"


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("text", "edit", "after"),
    [
        pytest.param(
            BODY,
            (0, 0, "r = df.sum()\n    return r"),
            "def f(df):\n    r = df.sum()\n    return r\n",
            id="a block, indented",
        ),
        pytest.param(
            BODY.replace("\n", "\r\n"),
            (0, 0, "r = {}\n    if $x:\n        return r"),
            "def f(df):\r\n    r = {}\r\n    if $x:\r\n        return r\r\n",
            id="a block in a CRLF file",
        ),
        pytest.param(
            "\tif (x) {<cursor>",
            (0, 0, "\n\t\ty(`${a}\\n`);\n\t}"),
            "\tif (x) {\n\t\ty(`${a}\\n`);\n\t}",
            id="a block below, tabs, marks of snippet syntax",
        ),
        pytest.param(
            "\tif (x) {<cursor>}\n",
            (0, 0, "\n\t\ty();\n\t"),
            "\tif (x) {\n\t\ty();\n\t}\n",
            id="a block before the bracket that ends it",
        ),
        pytest.param(
            "<cursor>\n",
            (0, 0, "    return 1\n    # end"),
            "    return 1\n    # end\n",
            id="the suggestion brings the first indentation",
        ),
        pytest.param("foo-<cursor>", (0, 0, "bar"), "foo-bar", id="behind a hyphen"),
        pytest.param("(dis<cursor>)", (0, 0, "play"), "(display)", id="the rest of a word"),
        pytest.param("f(a<cursor>)\n", (0, 1, "lpha, b)"), "f(alpha, b)\n", id="over a bracket"),
        pytest.param("x = 😀é<cursor>\n", (0, 0, "t"), "x = 😀ét\n", id="wide letters before"),
        pytest.param("a.bc<cursor>", (-3, 0, "?.bcd"), "a?.bcd", id="replacing what is typed"),
        pytest.param("a = 1\rb = <cursor>\r", (0, 0, "2"), "a = 1\rb = 2\r", id="lone CR"),
        pytest.param(
            "<cursor>\n",
            (0, 0, "$$eval('a', e => e)"),
            "$$eval('a', e => e)\n",
            id="dollar signs in one line",
        ),
    ],
)
def test_the_menu_inserts_what_was_meant(
    client: Client, text: str, edit: tuple[int, int, str], after: str
) -> None:
    (item,) = menu(text, edit, client=client)
    assert accepted(text, item, client) == after
    document, offset = drawn(text)
    start = item.text_edit.range.start
    start_offset = document.offset_of(Position(start.line, start.character), client.encoding)
    assert item.filter_text.startswith(document.slice(start_offset, offset))
    assert item.text_edit.range.end.line == start.line


@pytest.mark.parametrize(
    ("client", "format_", "mode", "new_text"),
    [
        pytest.param(VS_CODE, PLAIN, AS_IS, "a {\n        $b\n    }", id="as it is"),
        pytest.param(LSP_MODE, PLAIN, AS_IS, "a {\n        $b\n    }", id="as it is, no snippets"),
        pytest.param(HELIX, SNIPPET, None, "a {\n    \\$b\n\\}", id="a snippet"),
        pytest.param(KATE, PLAIN, None, "a {\n        $b\n    }", id="neither"),
    ],
)
def test_shape_of_several_lines(
    client: Client, format_: object, mode: object, new_text: str
) -> None:
    (item,) = menu("    <cursor>", (0, 0, "a {\n        $b\n    }"), client=client)
    assert item.insert_text_format == format_
    assert item.insert_text_mode == mode
    assert item.text_edit.new_text == new_text


def test_one_line_is_a_snippet_where_plain_text_is_cut_to_a_word() -> None:
    neovim = read_client(
        {
            "clientInfo": {"name": "Neovim", "version": "0.11.4"},
            "capabilities": {
                "textDocument": {"completion": {"completionItem": {"snippetSupport": True}}}
            },
        }
    )
    (item,) = menu("    <cursor>", (0, 0, "return ${x}"), client=neovim)
    assert item.insert_text_format == SNIPPET
    assert item.text_edit.new_text == "return \\${x\\}"
    (word,) = menu("    <cursor>", (0, 0, "${x}"), client=neovim)
    assert word.insert_text_format == PLAIN


@pytest.mark.parametrize("client", CLIENTS)
def test_one_line_is_never_a_snippet(client: Client) -> None:
    (item,) = menu("    <cursor>", (0, 0, "${x}"), client=client)
    assert item.insert_text_format == PLAIN
    assert item.text_edit.new_text == "${x}"


@pytest.mark.parametrize(
    ("new_text", "said"),
    [
        pytest.param("a\n    b\n  c\n", "a\nb", id="from the first line further left"),
        pytest.param("a\n\n    b", "a\n\nb", id="blank lines do not count"),
        pytest.param("a\n   \n    b", "a\n\nb", id="white space alone neither"),
        pytest.param("a\n\n  b", "a", id="nothing but blank lines left"),
    ],
)
def test_a_snippet_says_what_it_can(new_text: str, said: str) -> None:
    (item,) = menu("    <cursor>", (0, 0, new_text), client=HELIX)
    assert item.text_edit.new_text == said


@pytest.mark.parametrize(
    ("text", "new_text", "label", "filter_text"),
    [
        pytest.param("if x:\n<cursor>", "    return 1", "return 1", "    return 1", id="trimmed"),
        pytest.param("<cursor>", "a\n  b", "a …", "a", id="more lines"),
        pytest.param("dis<cursor>", "play", "display", "display", id="the whole word"),
        pytest.param("def f():<cursor>", "\n  x\n  y", "x …", "x …", id="starts on the next line"),
        pytest.param("ab<cursor>", "\n  x", "ab …", "ab", id="only a line end after a word"),
        pytest.param("a = <cursor>", "x" * 200, "x" * 100 + " …", "x" * 200, id="too wide"),
        pytest.param("<cursor>", "  ", "…", "  ", id="white space"),
        pytest.param('"./<cursor>"', "mod", "mod", "mod", id="behind a mark"),
        pytest.param("a.m<cursor>", "ap()", "map()", "map()", id="behind a dot"),
        pytest.param("éä_1<cursor>", "x", "éä_1x", "éä_1x", id="letters of any language"),
        pytest.param("e\u0301t<cursor>", "x", "e\u0301tx", "e\u0301tx", id="combining marks"),
    ],
)
def test_label_and_filter(text: str, new_text: str, label: str, filter_text: str) -> None:
    (item,) = menu(text, (0, 0, new_text), client=VS_CODE)
    assert (item.label, item.filter_text) == (label, filter_text)


def test_filter_begins_with_the_typed_text_even_where_it_is_replaced() -> None:
    (item,) = menu("a.bc<cursor>", (-3, 0, "?.bcd"), client=VS_CODE)
    assert item.filter_text == ".bc?.bcd"


def test_all_entries_start_at_the_same_place() -> None:
    items = menu("x = foo.ba<cursor>r", (0, 0, "z"), (-3, 1, "[0]"), client=VS_CODE)
    assert [item.text_edit.range.start.character for item in items] == [7, 7]
    assert [item.text_edit.new_text for item in items] == [".baz", "[0]"]
    assert [item.sort_text for item in items] == sorted(item.sort_text for item in items)


def test_a_word_of_megabytes_is_not_read() -> None:
    (item,) = menu("x" * 100_000 + "<cursor>", (0, 0, "y"), client=VS_CODE)
    assert item.text_edit.range.start.character == 100_000 - 128


@pytest.mark.parametrize(
    ("client", "kind", "value"),
    [
        pytest.param(VS_CODE, "markdown", "```python\na:\n    b\n```", id="Markdown"),
        pytest.param(replace(VS_CODE, markdown=False), "plaintext", "a:\n    b", id="plain text"),
    ],
)
def test_documentation_shows_the_whole_block(client: Client, kind: str, value: str) -> None:
    (item,) = menu("    <cursor>", (0, 0, "a:\n        b"), client=client)
    assert (item.documentation.kind.value, item.documentation.value) == (kind, value)


@pytest.mark.parametrize(
    ("text", "fence"),
    [
        pytest.param("a\n```\nb", "````", id="three within"),
        pytest.param("a `b`\nc", "```", id="one within"),
        pytest.param("a\n`````", "``````", id="five within"),
    ],
)
def test_no_fence_ends_early(text: str, fence: str) -> None:
    (item,) = menu("<cursor>", (0, 0, text), client=VS_CODE)
    assert item.documentation.value == f"{fence}python\n{text}\n{fence}"


def test_what_the_label_shows_whole_needs_no_documentation() -> None:
    (item,) = menu("<cursor>", (0, 0, "return 1"), client=VS_CODE, detail="starcoder")
    assert (item.documentation, item.detail) == (None, "starcoder")


def test_manners() -> None:
    (item,) = menu("ret<cursor>", (0, 0, "urn x"), client=VS_CODE)
    assert item.preselect is None
    assert item.commit_characters is None
    assert item.additional_text_edits is None


def test_acceptance_is_reported_where_the_editor_can() -> None:
    (item,) = menu("<cursor>", (0, 0, "x"), client=VS_CODE)
    assert (item.command.command, item.command.arguments) == ("accept", ["id-0"])
    assert item.command.title
    (item,) = menu("<cursor>", (0, 0, "x"), client=KATE)
    assert item.command is None


@pytest.mark.parametrize(
    ("text", "edit", "encoding", "characters"),
    [
        pytest.param("x = <cursor>\n", (0, 0, "42"), "utf-16", (4, 4), id="an empty range too"),
        pytest.param("𝒰 = <cursor>\n", (0, 0, "1"), "utf-16", (5, 5), id="utf-16"),
        pytest.param("𝒰 = <cursor>\n", (0, 0, "1"), "utf-8", (7, 7), id="utf-8"),
        pytest.param("𝒰 = <cursor>\n", (0, 0, "1"), "utf-32", (4, 4), id="utf-32"),
        pytest.param("if (<cursor>) {\n", (0, 3, "x) {"), "utf-16", (4, 7), id="over the rest"),
        pytest.param(
            "x\r\n  <cursor>\r\n", (0, 0, "a\n  b"), "utf-16", (2, 2), id="a block in a CRLF file"
        ),
    ],
)
def test_ghost_text(
    text: str, edit: tuple[int, int, str], encoding: str, characters: tuple[int, int]
) -> None:
    document, offset = drawn(text)
    client = replace(VS_CODE, encoding=PositionEncoding(encoding))
    shown = inline_items(
        document,
        [Edit(start=offset + edit[0], end=offset + edit[1], new_text=edit[2])],
        client,
        command="accept",
        ids=["7"],
    )
    (item,) = shown.items
    assert item.insert_text == edit[2]
    assert item.range is not None
    line = document.place_at(offset)[0]
    assert (item.range.start.line, item.range.end.line) == (line, line)
    assert (item.range.start.character, item.range.end.character) == characters
    assert item.command is not None
    assert item.command.arguments == ["7"]


def test_nothing_to_show() -> None:
    document, offset = drawn("<cursor>")
    assert inline_items(document, [], KATE, command="accept", ids=[]).items == []
    shown = menu_items(
        document, offset, [], KATE, command="accept", ids=[], detail="", is_incomplete=True
    )
    assert (shown.items, shown.is_incomplete) == ([], True)
