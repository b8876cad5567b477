"""The command line: its grammar, the places it reads, the picture it draws."""

import errno
import io
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_completions import __version__
from lsp_completions.cli import as_editors_start_it, commands, main
from lsp_completions.cli.exits import Exit
from lsp_completions.cli.screen import DIM, Screen, can_draw, laid_out
from lsp_completions.cli.words import wrapped
from lsp_completions.errors import InvalidParams, LocalModelFailed
from lsp_completions.local_model.files import ModelFile
from lsp_completions.oneshot import Place, cursor_at
from tests.support.terminal import Tty

# ---- how editors start it


@pytest.mark.parametrize(
    ("arguments", "process_id"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param(["--stdio"], None, id="as vscode-languageclient does"),
        pytest.param(["--clientProcessId=7"], 7, id="with the editor's process"),
        pytest.param(["--clientProcessId", "7"], 7, id="in two words"),
        pytest.param(["--stdio", "--clientProcessId=7"], 7, id="both"),
        pytest.param(["serve"], None, id="by its name"),
        pytest.param(["serve", "--stdio", "--clientProcessId=7"], 7, id="by its name, with both"),
        pytest.param(["--stdio", "serve", "--clientProcessId=7"], 7, id="on either side"),
    ],
)
def test_an_editor_is_served_without_any_grammar(
    arguments: list[str], process_id: int | None
) -> None:
    expected = {} if process_id is None else {"client_process_id": process_id}
    assert as_editors_start_it(arguments) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--help"], id="help"),
        pytest.param(["serve", "--help"], id="help of a command"),
        pytest.param(["complete", "a.py:1:1"], id="another command"),
        pytest.param(["--clientProcessId"], id="no number"),
        pytest.param(["--clientProcessId=x"], id="not a number"),
        pytest.param(["--clientProcessId=²"], id="a digit of another kind"),
        pytest.param(["--pipe=x"], id="another way to talk"),
    ],
)
def test_all_else_goes_through_the_grammar(arguments: list[str]) -> None:
    assert as_editors_start_it(arguments) is None


@pytest.mark.parametrize(
    ("arguments", "process_id"),
    [
        pytest.param(["--clientProcessId=7", "serve"], 7, id="before the command"),
        pytest.param(["serve", "--clientProcessId=7"], 7, id="after the command"),
        pytest.param(["--clientProcessId=1", "serve", "--clientProcessId=7"], 7, id="both"),
        pytest.param(["--stdio"], None, id="no command"),
    ],
)
def test_the_grammar_knows_the_same_options(
    arguments: list[str], process_id: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[int | None] = []

    def serve(client_process_id: int | None) -> int:
        served.append(client_process_id)
        return 0

    monkeypatch.setattr("lsp_completions.cli.serve", serve)
    assert commands.run(arguments) == 0
    assert served == [process_id]


# ---- what a person is told


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert commands.run(["--version"]) == 0
    assert capsys.readouterr().out == f"lsp-completions {__version__}\n" * 2


@pytest.mark.parametrize("arguments", [["--help"], ["-h"]])
def test_help_of_all(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Everything a newcomer has to know is there, in lines that fit."""
    assert main(arguments) == 0
    said = capsys.readouterr().out
    for name in (
        "SRC_ENDPOINT",
        "SRC_ACCESS_TOKEN",
        "config.toml",
        "lsp-completions complete app.py:12:5",
        "complete ",
        "model install",
        "serve ",
    ):
        assert name in said
    folder = os.environ["XDG_CONFIG_HOME"]
    assert all(len(line) <= 80 or folder in line for line in said.splitlines())


@pytest.mark.parametrize("command", sorted(commands.group.commands))
def test_help_of_each_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"Usage: lsp-completions {command}")
    assert all(len(line) <= 80 for line in said.splitlines())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(["complte"], "Did you mean 'complete'?", id="command misspelled"),
        pytest.param(["--clientProcessId=x"], "'x' is not a valid integer", id="no number"),
        pytest.param(["--pipe=x"], "No such option", id="another way to talk"),
        pytest.param(["complete"], "Missing argument 'FILE:LINE:COLUMN'", id="no place"),
        pytest.param(["complete", "app.py"], "such as app.py:12:5", id="no line"),
        pytest.param(["complete", "a.py:1:1", "--provider=x"], "'ollama'", id="no such provider"),
    ],
)
def test_wrong_use(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err


@pytest.mark.parametrize("name", [each for each in ("ENOSPC", "EDQUOT") if hasattr(errno, each)])
def test_a_full_disk_is_no_mistake_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    number = getattr(errno, name)

    def prints(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("lsp_completions.cli.complete.complete", prints)
    assert main(["complete", "a.py:1:1"]) == Exit.BACKEND
    assert os.strerror(number) in capsys.readouterr().err


def test_a_mistake_of_ours_is_told_without_what_it_is_about(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyError("the code of somebody")

    monkeypatch.setattr("lsp_completions.cli.complete.complete", fails)
    assert main(["complete", "a.py:1:1"]) == 70
    said = capsys.readouterr().err
    assert "KeyError in test_cli.py, line " in said
    assert "report" in said
    assert "somebody" not in said
    assert "Traceback" not in said


# ---- the model

PATH = Path("/data/models/small.gguf")
MODEL = ModelFile(name="small", path=PATH, size=98_400_000, package=None)


@pytest.mark.parametrize(
    ("has_engine", "next_step"),
    [
        pytest.param(True, "lsp-completions complete FILE:LINE:COLUMN", id="what runs it is there"),
        pytest.param(False, "its extra `local`", id="what runs it is missing"),
    ],
)
def test_model_install(
    has_engine: bool,
    next_step: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def install(report: Callable[[str], None]) -> Path:
        report("Downloading.")
        return PATH

    monkeypatch.setattr("lsp_completions.local_model.files.install", install)
    monkeypatch.setattr("lsp_completions.local_model.files.has_engine", lambda: has_engine)
    assert main(["model", "install"]) == 0
    said = capsys.readouterr()
    assert said.out == f"{PATH}\n"
    assert said.err.startswith("Downloading.\n")
    assert next_step in said.err


def test_a_model_that_cannot_be_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def install(report: Callable[[str], None]) -> Path:
        raise LocalModelFailed("This machine may be offline.")

    monkeypatch.setattr("lsp_completions.local_model.files.install", install)
    assert main(["model", "install"]) == 3
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "Error: This machine may be offline.\n")


@pytest.mark.parametrize(
    ("models", "has_engine", "out", "err"),
    [
        pytest.param([MODEL], True, f"small    98 MB  {PATH}\n", "", id="one"),
        pytest.param([MODEL], False, f"small    98 MB  {PATH}\n", "extra `local`", id="no engine"),
        pytest.param([], True, "", "lsp-completions model install", id="none"),
    ],
)
def test_model_list(
    models: list[ModelFile],
    has_engine: bool,
    out: str,
    err: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("lsp_completions.local_model.files.installed", lambda: models)
    monkeypatch.setattr("lsp_completions.local_model.files.has_engine", lambda: has_engine)
    assert main(["model", "list"]) == 0
    said = capsys.readouterr()
    assert said.out == out
    assert err in said.err
    assert bool(err) == bool(said.err)


def test_model_remove(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(
        "lsp_completions.local_model.files.remove", lambda name: PATH.with_stem(name)
    )
    assert main(["model", "remove", "mine"]) == 0
    assert str(PATH.with_stem("mine")) in capsys.readouterr().err


# ---- places


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("app.py:12:5", ("app.py", 12, 5), id="as compilers write it"),
        pytest.param(r"C:\src\app.py:12:5", (r"C:\src\app.py", 12, 5), id="a drive letter"),
        pytest.param("a:1:2:3:4", ("a:1:2", 3, 4), id="colons in the name"),
        pytest.param("my file.py:1:1", ("my file.py", 1, 1), id="a space in the name"),
    ],
)
def test_place(text: str, place: tuple[str, int, int]) -> None:
    read = Place.read(text)
    assert (read.file, read.line, read.column) == place


@pytest.mark.parametrize(
    "text",
    [
        *["", "app.py", "app.py:1", ":1:1", "app.py:a:1", "app.py:1:", "app.py:1:1:", "a:-1:1"],
        *["a:1:²", "app.py:0:1", "app.py:1:0", f"a:{'9' * 5000}:1"],
    ],
)
def test_no_place(text: str) -> None:
    with pytest.raises(InvalidParams):
        Place.read(text)


def in_file(folder: Path, data: bytes, line: int, column: int) -> str:
    """The file's text with the cursor drawn in."""
    (folder / "app.py").write_bytes(data)
    cursor = cursor_at(Place(file=str(folder / "app.py"), line=line, column=column))
    text = cursor.document.text
    return f"{text[: cursor.offset]}|{text[cursor.offset :]}"


@pytest.mark.parametrize(
    ("data", "line", "column", "drawn"),
    [
        pytest.param(b"ab\ncd\n", 2, 2, "ab\nc|d\n", id="inside a line"),
        pytest.param(b"ab\ncd\n", 1, 3, "ab|\ncd\n", id="at the end of a line"),
        pytest.param(b"ab\r\ncd", 1, 3, "ab|\r\ncd", id="before CR LF"),
        pytest.param(b"ab\rcd", 2, 1, "ab\r|cd", id="after CR"),
        pytest.param(b"ab\n", 2, 1, "ab\n|", id="on the last line, which is empty"),
        pytest.param(b"", 1, 1, "|", id="in an empty file"),
        pytest.param(b"\xef\xbb\xbfab", 1, 2, "a|b", id="after a byte order mark"),
        pytest.param("😀é\n".encode(), 1, 2, "😀|é\n", id="in characters"),
        pytest.param("a\x0c\u2028b\n".encode(), 1, 4, "a\x0c\u2028|b\n", id="no lines but lines"),
    ],
)
def test_cursor(tmp_path: Path, data: bytes, line: int, column: int, drawn: str) -> None:
    assert in_file(tmp_path, data, line, column) == drawn


@pytest.mark.parametrize(
    ("data", "line", "column", "sentence"),
    [
        pytest.param(b"ab\n", 3, 1, "has no line 3; its last one is 2.", id="no such line"),
        pytest.param(b"ab\r\n", 1, 4, "has no column 4; its end is column 3.", id="no such column"),
        pytest.param(b"\xff", 1, 1, "is not text in UTF-8.", id="not text"),
    ],
)
def test_no_cursor(tmp_path: Path, data: bytes, line: int, column: int, sentence: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        in_file(tmp_path, data, line, column)
    assert str(caught.value).endswith(sentence)


@pytest.mark.parametrize(
    ("file", "start"),
    [
        pytest.param("nosuch.py", "There is no file", id="none"),
        pytest.param(".", '"." is no file.', id="a folder"),
    ],
)
def test_no_file(file: str, start: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        cursor_at(Place(file=file, line=1, column=1))
    assert str(caught.value).startswith(start)


def test_the_model_is_told_the_path_below_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").touch()
    place = Place(file=str(tmp_path / "src" / "a.py"), line=1, column=1)
    monkeypatch.chdir(tmp_path)
    assert cursor_at(place).path == "src/a.py"
    assert cursor_at(Place(file="src/a.py", line=1, column=1)).path == "src/a.py"
    monkeypatch.chdir("/")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert cursor_at(place).path == "a.py"


# ---- the picture

SIZE = os.terminal_size((20, 6))


def drawn(steps: Sequence[tuple[str, str, str]], *, leaves: bool = False) -> list[str]:
    """A terminal after the steps were drawn, the last one as a whole."""
    terminal = pyte.HistoryScreen(SIZE.columns, SIZE.lines, history=1000)
    # A line feed goes to the start of the next line.
    terminal.set_mode(pyte.modes.LNM)
    terminal.draw("$ complete")
    terminal.linefeed()
    stream = io.StringIO()
    with Screen(stream, lambda: SIZE) as screen:
        for step in steps[:-1]:
            screen.draw(*step, whole=False)
        if not leaves:
            screen.draw(*steps[-1])
    pyte.Stream(terminal).feed(stream.getvalue())
    above = ["".join(row[x].data for x in range(SIZE.columns)) for row in terminal.history.top]
    lines = [line.rstrip() for line in [*above, *terminal.display]]
    assert lines[0] == "$ complete"
    return lines[1 : 1 + max((at for at, line in enumerate(lines) if line), default=0)]


@pytest.mark.parametrize(
    ("steps", "lines"),
    [
        pytest.param([("f(", "x", ")")], ["f(x)"], id="inside a line"),
        pytest.param([("", "a", ""), ("", "a b", "")], ["a b"], id="growing"),
        pytest.param([("", "a b", ""), ("", "a", "")], ["a"], id="taken back"),
        pytest.param([("", "a\nb\nc", ""), ("", "d", "")], ["d"], id="lines taken back"),
        pytest.param([("  ", "if x:\n    y", ":")], ["  if x:", "    y:"], id="several lines"),
        pytest.param([("\t", "a\tb", "")], ["        a       b"], id="tabs"),
        pytest.param([("", "x" * 25, "")], ["x" * 20, "x" * 5], id="a long line"),
        pytest.param([("", "x" * 25, ""), ("", "y", "")], ["y"], id="a long line taken back"),
        pytest.param([("", "x" * 20, ""), ("", "y" * 20, "")], ["y" * 20], id="to the edge"),
        pytest.param([("x", "日" * 10, "")], ["x" + "日" * 9, "日"], id="wide characters"),
        pytest.param([("", "e\u0301" * 15, "")], ["é" * 15], id="marks on letters"),
        pytest.param(
            [("", "\n".join("abcdefgh"[:n]), "") for n in range(1, 9)],
            list("abcdefgh"),
            id="higher than the screen",
        ),
        pytest.param([("x" * 50, "a", "")], ["…" + "x" * 10 + "a"], id="far to the right"),
        pytest.param([("", "a", "x" * 50)], ["a" + "x" * 10 + "…"], id="much after it"),
    ],
)
def test_picture(steps: list[tuple[str, str, str]], lines: list[str]) -> None:
    assert drawn(steps) == lines


STEPS = st.lists(
    st.tuples(
        st.text("ab\t日", max_size=30),
        st.text("ab \t\n日é", max_size=60),
        st.text("ab)", max_size=30),
    )
)


@given(STEPS)
def test_a_picture_that_grew_is_the_picture(steps: list[tuple[str, str, str]]) -> None:
    steps = [*steps, ("x", "y", "z")]
    assert drawn(steps) == drawn(steps[-1:])
    assert drawn(steps[:-1] or steps) == drawn(steps[-2:-1] or steps)


@given(STEPS)
def test_an_unfinished_picture_leaves_nothing(steps: list[tuple[str, str, str]]) -> None:
    assert drawn([*steps, ("", "", "")], leaves=True) == []


def test_ghost_text_alone_is_dim() -> None:
    assert "".join(laid_out([("f(", ""), ("x\ny", DIM), (")", "")], 80)).count(DIM) == 2


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.skipif(sys.platform == "win32", reason="asks the console")
@pytest.mark.parametrize(
    ("stream", "environment", "draws"),
    [
        pytest.param(Terminal(), {"TERM": "xterm"}, True, id="terminal"),
        pytest.param(Terminal(), {"NO_COLOR": ""}, True, id="an empty wish"),
        pytest.param(Terminal(), {"NO_COLOR": "1"}, False, id="no color wanted"),
        pytest.param(Terminal(), {"TERM": "dumb"}, False, id="a terminal that cannot"),
        pytest.param(io.StringIO(), {"TERM": "xterm"}, False, id="a file"),
    ],
)
def test_drawn_on_terminals_only(
    stream: io.StringIO, environment: dict[str, str], draws: bool
) -> None:
    assert can_draw(stream, environment) is draws


# ---- what is imported


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        pytest.param(["--version"], "click typing re asyncio httpx pygls lsprotocol", id="version"),
        pytest.param(["--help"], "asyncio httpx pygls lsprotocol", id="help"),
        pytest.param(["complete", "no:1:1"], "httpx pygls lsprotocol cattrs", id="complete"),
    ],
)
def test_nothing_is_imported_in_vain(arguments: list[str], unwanted: str) -> None:
    code = (
        "import sys\n"
        f"from lsp_completions.cli import main; main({arguments!r})\n"
        f"sys.exit(' '.join(set({unwanted.split()!r}) & set(sys.modules)) or 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_an_editor_waits_for_nothing_that_comes_later() -> None:
    """`initialize` is answered without what requests for suggestions need."""
    later = [
        *("acceptance", "completer", "credentials.credential", "pipeline.edit"),
        *("providers.sourcegraph", "server.conversation", "service", "transport"),
    ]
    code = (
        "import json, sys\n"
        "from lsp_completions.server import CompletionServer\n"
        "server, sent = CompletionServer(), []\n"
        "server.protocol.send = sent.append\n"
        "asked = {'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': {}}\n"
        "server.protocol.receive([asked])\n"
        "assert json.loads(sent[0])['result']['capabilities']['inlineCompletionProvider'] == {}\n"
        f"found = [each for each in {later!r} if f'lsp_completions.{{each}}' in sys.modules]\n"
        "sys.exit(' '.join(found) or 0)"
    )
    environment = {**os.environ, "SRC_ENDPOINT": "http://127.0.0.1:9", "SRC_ACCESS_TOKEN": "t"}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert ran.returncode == 0, ran.stderr


# ---- lines

ADDRESS = "https://sourcegraph.example.com/" + "a-path/" * 20


@pytest.mark.parametrize(
    ("size", "widest"),
    [
        pytest.param(0, 79, id="a terminal that does not know"),
        pytest.param(40, 39, id="a narrow one"),
        pytest.param(5, 19, id="one for no sentence"),
        pytest.param(300, 99, id="a wide one"),
    ],
)
def test_sentences_fit_a_terminal(monkeypatch: pytest.MonkeyPatch, size: int, widest: int) -> None:
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((size, 24)))
    monkeypatch.setattr(Tty, "fileno", lambda _: 1)
    # Of another terminal, or of this one before somebody pulled at its edge.
    monkeypatch.setenv("COLUMNS", "7")
    text = f"{'word ' * 60}{ADDRESS} {'word ' * 60}".strip()
    lines = wrapped(text, first="- ", stream=Tty()).splitlines()
    assert lines.count(f"  {ADDRESS}") == 1
    lines.remove(f"  {ADDRESS}")
    assert widest - 5 < max(map(len, lines)) <= widest
    assert lines[0].startswith("- word")
    assert all(line.startswith("  word") for line in lines[1:])


def test_a_pipe_gets_each_sentence_in_a_line() -> None:
    text = "word " * 60
    assert wrapped(text, first="- ", stream=io.StringIO()) == f"- {text}"
