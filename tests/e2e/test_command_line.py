"""The command line as a process of its own, beside the stand-in Sourcegraph instance."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyte
import pytest

from lsp_completions.local_model.files import is_available
from tests.support.cursor import cursor
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import (
    CUT,
    TOKEN,
    Answer,
    Gate,
    StandIn,
    rate_limited,
    refusal,
    running_stand_in,
)

COMMAND = [sys.executable, "-m", "lsp_completions"]
TIMEOUT = 60
on_unix = pytest.mark.skipif(sys.platform == "win32", reason="terminals and signals of Unix")


@pytest.fixture(scope="module")
def instance() -> Iterator[StandIn]:
    with running_stand_in(Answer("pass")) as instance:
        yield instance


class Shell:
    """A folder to run the command in, with the variables a shell would have."""

    def __init__(self, folder: Path, instance: StandIn) -> None:
        self.folder = folder
        self.instance = instance
        self.env = {
            **os.environ,
            "SRC_ENDPOINT": instance.url,
            "SRC_ACCESS_TOKEN": TOKEN,
            "COLUMNS": "60",
            "LINES": "10",
            "TERM": "xterm",
        }

    def write(self, drawn: str, name: str = "app.py") -> str:
        """Save a file with the cursor drawn in; returns the cursor's place."""
        text, offset = cursor(drawn)
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        before = text[:offset].replace("\r\n", "\n")
        column = offset - text[:offset].rfind("\n")
        return f"{name}:{before.count(chr(10)) + 1}:{column}"

    def run(
        self, *arguments: str, env: dict[str, str | None] | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        ran = subprocess.run(
            [*COMMAND, *arguments],
            cwd=self.folder,
            env=self.with_env(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
        for unwanted in (b"Traceback", b"\x1b", TOKEN.encode(), b"never awaited"):
            assert unwanted not in ran.stdout + ran.stderr
        return ran

    def with_env(self, changes: dict[str, str | None]) -> dict[str, str]:
        env: dict[str, str | None] = {**self.env, **changes}
        return {name: value for name, value in env.items() if value is not None}


@pytest.fixture
def shell(tmp_path: Path, instance: StandIn) -> Shell:
    return Shell(tmp_path, instance)


# ---- what it suggests

SUGGESTIONS = [
    pytest.param("def add(a, b):\n    <cursor>\n", "return a + b", "return a + b", id="a line"),
    pytest.param("x = foo(<cursor>)\n", "a, b)", "a, b", id="inside brackets"),
    pytest.param(
        "def f(n):\r\n    <cursor>\r\n",
        "if n:\r\n        return n\r\n    return f(n)\r\n\r\nrest",
        "if n:\n        return n\n    return f(n)",
        id="several lines",
    ),
    pytest.param("# 日本<cursor>\n", "語 😀", "語 😀", id="characters of all kinds"),
]


@pytest.mark.parametrize(("drawn", "said", "suggested"), SUGGESTIONS)
def test_the_suggestion_alone_goes_into_a_pipe(
    shell: Shell, drawn: str, said: str, suggested: str
) -> None:
    shell.instance.script = Answer(*said)
    ran = shell.run("complete", shell.write(drawn))
    assert ran.returncode == 0
    assert ran.stdout.decode().replace(os.linesep, "\n") == suggested + "\n"
    assert b"First text after" in ran.stderr
    assert b"from sourcegraph" in ran.stderr


@pytest.mark.parametrize(("drawn", "said", "suggested"), SUGGESTIONS)
def test_json_says_where_it_belongs(shell: Shell, drawn: str, said: str, suggested: str) -> None:
    shell.instance.script = Answer(*said)
    place = shell.write(drawn)
    ran = shell.run("complete", "--json", place)
    assert ran.returncode == 0
    assert ran.stderr == b""
    answer = json.loads(ran.stdout)
    assert answer["outcome"] == "suggestion"
    assert answer["text"] == suggested
    assert place.endswith(":{line}:{column}".format(**answer["start"]))
    assert answer["start"] == answer["end"]
    assert answer["complete"] is True
    assert answer["provider"] == "sourcegraph"
    assert answer["model"] is None
    assert 0 <= answer["firstTextMs"] <= answer["totalMs"]


def test_json_says_what_is_replaced(shell: Shell) -> None:
    shell.instance.script = Answer("(a, b) + c)")
    ran = shell.run("complete", "--json", "--model", "one", shell.write("foo(bar<cursor>)\n"))
    answer = json.loads(ran.stdout)
    text, _ = cursor("foo(bar<cursor>)\n")
    at = slice(answer["start"]["column"] - 1, answer["end"]["column"] - 1)
    assert text[: at.start] + answer["text"] + text[at.stop :] == "foo(bar(a, b) + c)\n"
    assert answer["model"] == "one"


def test_it_asks_and_answers_as_the_server_does(shell: Shell) -> None:
    drawn = (
        "import os\n\ndef read(path):\n    with open(path) as f:\n        <cursor>\n    return 1\n"
    )
    shell.instance.script = Answer("return f.", "read()", "\n\n\ndef other")
    place = shell.write(drawn, "src/a b.py")
    answer = json.loads(shell.run("complete", "--json", place).stdout)
    by_hand = shell.instance.completions[-1]

    with LspClient.start(COMMAND, env=shell.env) as client:
        client.initialize({}, rootUri=shell.folder.as_uri())
        text, offset = cursor(drawn)
        uri = (shell.folder / "src" / "a b.py").as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        client.notify("textDocument/didOpen", {"textDocument": document})
        line = text[:offset].count("\n")
        at = {"line": line, "character": offset - text[:offset].rfind("\n") - 1}
        result = client.result(
            "textDocument/inlineCompletion",
            {"textDocument": {"uri": uri}, "position": at, "context": {"triggerKind": 1}},
        )
        client.stop()
    by_editor = shell.instance.completions[-1]
    assert by_editor is not by_hand
    assert by_hand.json == by_editor.json
    assert by_hand.headers["user-agent"] == by_editor.headers["user-agent"]
    assert [item["insertText"] for item in result["items"]] == [answer["text"]]


@pytest.mark.parametrize(
    ("name", "options", "language"),
    [
        pytest.param("a.py", [], "def f", id="by the file's name"),
        pytest.param("a", ["--language", "python"], "def f", id="as it is named"),
    ],
)
def test_language(shell: Shell, name: str, options: list[str], language: str) -> None:
    """Python's blocks end where their indentation does."""
    shell.instance.script = Answer("x = 1\n    y = 2\nz = 3\n")
    ran = shell.run("complete", *options, shell.write("def f():\n    <cursor>\n", name))
    assert ran.stdout.decode().split() == ["x", "=", "1", "y", "=", "2"]


# ---- no suggestion


@pytest.mark.parametrize(
    ("answer", "reason", "sentence"),
    [
        pytest.param(Answer(""), "empty", "nothing to add", id="nothing said"),
        pytest.param(Answer("(a)"), "nothingNew", "already there", id="nothing new"),
    ],
)
def test_nothing(shell: Shell, answer: Answer, reason: str, sentence: str) -> None:
    shell.instance.script = answer
    place = shell.write("foo<cursor>(a)\n")
    ran = shell.run("complete", place)
    assert ran.returncode == 1
    assert ran.stdout == b""
    assert sentence in ran.stderr.decode()

    ran = shell.run("complete", "--json", place)
    assert ran.returncode == 1
    said = json.loads(ran.stdout)
    assert said["outcome"] == "nothing"
    assert said["reason"] == reason
    assert sentence in said["message"]


@pytest.mark.parametrize(
    ("name", "settings", "reason"),
    [
        pytest.param(".env", "", "secretFile", id="secrets"),
        pytest.param("link.txt", "", "secretFile", id="a link to secrets"),
        pytest.param("gen/a.py", 'exclude = ["/gen/"]', "excluded", id="excluded"),
        pytest.param("a.py", 'exclude = ["["]', "excludeUnreadable", id="a broken pattern"),
    ],
)
def test_what_is_kept_back_is_not_sent(
    shell: Shell, tmp_path: Path, name: str, settings: str, reason: str
) -> None:
    folder = tmp_path / "config"
    (folder / "lsp-completions").mkdir(parents=True)
    (folder / "lsp-completions" / "config.toml").write_text(settings)
    (tmp_path / "link.txt").symlink_to(tmp_path / ".env")
    place = shell.write("A = <cursor>\n", name)
    asked = len(shell.instance.completions)
    env: dict[str, str | None] = {"XDG_CONFIG_HOME": str(folder)}
    ran = shell.run("complete", "--json", place, env=env)
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["reason"] == reason
    ran = shell.run("complete", place, env=env)
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert b"No suggestion. " in ran.stderr
    assert b"sourcegraph" not in ran.stderr
    assert len(shell.instance.completions) == asked


UNREACHABLE = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("script", "env", "options", "kind", "sentence"),
    [
        pytest.param(
            refusal(401, "Invalid access token."),
            {},
            [],
            "NotAuthorized",
            "does not accept the access token",
            id="a wrong token",
        ),
        pytest.param(rate_limited("60"), {}, [], "RateLimited", "a limit is reached", id="a limit"),
        pytest.param(Answer("x", CUT, "y"), {}, [], "Interrupted", "", id="a connection cut"),
        pytest.param(
            Answer(), {"SRC_ENDPOINT": UNREACHABLE}, [], "Unreachable", "127.0.0.1", id="nobody"
        ),
        pytest.param(
            Answer(),
            {"SRC_ENDPOINT": None},
            ["--provider", "sourcegraph"],
            "ConfigurationError",
            "no `endpoint`",
            id="nobody named",
        ),
        pytest.param(
            Answer(), {}, ["--provider", "openai"], "ConfigurationError", "url", id="no address"
        ),
    ],
)
def test_failure(
    shell: Shell,
    script: Any,
    env: dict[str, str | None],
    options: list[str],
    kind: str,
    sentence: str,
) -> None:
    shell.instance.script = script
    place = shell.write("x = <cursor>\n")
    ran = shell.run("complete", place, *options, env=env)
    assert ran.returncode == 3
    assert ran.stdout == b""
    assert ran.stderr.startswith(b"Error: ")
    assert sentence in ran.stderr.decode()

    ran = shell.run("complete", "--json", place, *options, env=env)
    assert ran.returncode == 3
    assert ran.stderr == b""
    said = json.loads(ran.stdout)
    assert said["outcome"] == "failure"
    assert said["reason"] == kind
    assert sentence in said["message"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(["app.py:9:1"], "has no line 9", id="no such line"),
        pytest.param(["nosuch.py:1:1"], "no file", id="no such file"),
        pytest.param(["--json", "app.py"], "such as app.py:12:5", id="no place"),
    ],
)
def test_wrong_use_asks_nobody(shell: Shell, arguments: list[str], sentence: str) -> None:
    shell.write("x = <cursor>\n")
    asked = len(shell.instance.completions)
    ran = shell.run("complete", *arguments)
    assert ran.returncode == 2
    assert ran.stdout == b""
    assert sentence in ran.stderr.decode()
    assert len(shell.instance.completions) == asked


def test_what_is_wrong_with_the_settings_is_told_and_left_out(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "config"
    (folder / "lsp-completions").mkdir(parents=True)
    (folder / "lsp-completions" / "config.toml").write_text('maxTokens = "x"\nmodel = "one"\n')
    shell.instance.script = Answer("1")
    ran = shell.run("complete", shell.write("x = <cursor>\n"), env={"XDG_CONFIG_HOME": str(folder)})
    assert ran.returncode == 0
    assert ran.stdout.split() == [b"1"]
    assert "Warning: maxTokens must be" in ran.stderr.decode()
    assert "(one)" in ran.stderr.decode()


# ---- the embedded model


@pytest.mark.skipif(not is_available(), reason="needs xllamacpp and the model")
@pytest.mark.parametrize("options", [[], ["--provider", "local"]], ids=["by itself", "named"])
def test_without_an_account_the_embedded_model_answers(
    shell: Shell, tmp_path: Path, options: list[str]
) -> None:
    asked = len(shell.instance.completions)
    place = shell.write(
        "import json\n\n\ndef read(path):\n    with open(path) as f:\n        <cursor>\n"
    )
    env: dict[str, str | None] = {"XDG_RUNTIME_DIR": None, "XDG_STATE_HOME": str(tmp_path)}
    if not options:
        env["SRC_ACCESS_TOKEN"] = None
    ran = shell.run("complete", "--json", place, *options, env=env)
    assert ran.returncode == 0
    answer = json.loads(ran.stdout)
    assert answer["provider"] == "local"
    assert answer["model"] == "SmolLM2-135M-Instruct.Q4_1"
    assert "\n" not in answer["text"]
    assert len(shell.instance.completions) == asked


# ---- all kinds of output


@pytest.mark.parametrize(
    "env",
    [
        pytest.param({"LC_ALL": "C"}, id="no language"),
        pytest.param({"PYTHONIOENCODING": "latin-1"}, id="few characters"),
        pytest.param({"PYTHONIOENCODING": "ascii:strict"}, id="very few characters"),
        pytest.param({"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}, id="old"),
    ],
)
def test_output_is_utf_8(shell: Shell, env: dict[str, str | None]) -> None:
    shell.instance.script = Answer("語 😀")
    ran = shell.run("complete", shell.write("# 日本<cursor>\n"), env=env)
    assert ran.stdout.decode().strip() == "語 😀"
    ran = shell.run("complete", "日本.py:1:1", env=env)
    assert "日本.py" in ran.stderr.decode()


@on_unix
def test_a_reader_that_leaves(shell: Shell) -> None:
    """As `| head -0` does."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as output:
        ran = subprocess.run(
            [*COMMAND, "complete", shell.write("x = <cursor>\n")],
            cwd=shell.folder,
            env=shell.env,
            stdout=output,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT,
            check=False,
        )
    assert b"Traceback" not in ran.stderr
    assert b"Exception" not in ran.stderr
    assert b"mistake" not in ran.stderr


class Terminal:
    """A process on a terminal of 60 columns and 10 lines."""

    def __init__(self, shell: Shell, *arguments: str, env: dict[str, str | None]) -> None:
        ours, theirs = os.openpty()
        self.screen = pyte.Screen(60, 10)
        self.written = b""
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=shell.folder,
            env=shell.with_env(env),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._ours = ours
        self._stream = pyte.ByteStream(self.screen)
        self._news = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.screen.display if line.strip()]

    def wait_for(self, *lines: str) -> None:
        """Wait until the terminal shows just these lines."""
        self.wait_until(lambda: self.lines == [*lines])

    def wait_until(self, reached: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(reached, TIMEOUT), self.lines

    def wait(self) -> int:
        code = self.process.wait(TIMEOUT)
        self._reader.join(TIMEOUT)
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(TIMEOUT)
        os.close(self._ours)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._ours, 65536)
            except OSError:  # Linux says so when nobody has the terminal open any more
                data = b""
            if not data:
                return
            with self._news:
                self.written += data
                self._stream.feed(data)
                self._news.notify_all()


@contextmanager
def on_terminal(
    shell: Shell, *arguments: str, env: dict[str, str | None] | None = None
) -> Iterator[Terminal]:
    terminal = Terminal(shell, *arguments, env=env or {})
    try:
        yield terminal
        assert b"Traceback" not in terminal.written
    finally:
        terminal.close()


@on_unix
def test_a_terminal_shows_it_as_it_comes(shell: Shell) -> None:
    gates = [Gate(), Gate(), Gate()]
    shell.instance.script = Answer(
        "if x:", gates[0], "\n        return", gates[1], " x\n", gates[2], "    return 0"
    )
    with on_terminal(shell, "complete", shell.write("def f(x):\n    <cursor>\n")) as terminal:
        terminal.wait_for("    if x:")
        gates[0].open()
        terminal.wait_for("    if x:", "        return")
        gates[1].open()
        terminal.wait_for("    if x:", "        return x")
        gates[2].open()
        assert terminal.wait() == 0
    assert terminal.lines[:3] == ["    if x:", "        return x", "    return 0"]
    assert terminal.lines[3].startswith("First text after ")
    assert b"\x1b[2mif x:" in terminal.written


@on_unix
def test_the_rest_of_the_line_stays_behind_it(shell: Shell) -> None:
    gate = Gate()
    shell.instance.script = Answer("a", gate, ", b)")
    with on_terminal(shell, "complete", shell.write("x = foo(<cursor>) + 1\n")) as terminal:
        terminal.wait_for("x = foo(a) + 1")
        gate.open()
        assert terminal.wait() == 0
    assert terminal.lines[0] == "x = foo(a, b) + 1"
    assert b"\x1b[2ma, b\x1b[22m" in terminal.written


@on_unix
@pytest.mark.parametrize(
    ("script", "code"),
    [
        pytest.param((" 2\n",), 1, id="nothing new after all"),
        pytest.param((CUT, "x"), 3, id="broken off"),
    ],
)
def test_what_was_shown_too_early_is_taken_back(shell: Shell, script: Any, code: int) -> None:
    gate = Gate()
    shell.instance.script = Answer("b =", gate, *script)
    place = shell.write("a = 1\n<cursor>\nb = 2\nc = 3\n")
    with on_terminal(shell, "complete", place) as terminal:
        terminal.wait_for("b =")
        gate.open()
        assert terminal.wait() == code
    assert not any(line.startswith("b") for line in terminal.lines)


@on_unix
@pytest.mark.parametrize(
    "env",
    [
        pytest.param({"NO_COLOR": "1"}, id="no color wanted"),
        pytest.param({"TERM": "dumb"}, id="a terminal that cannot"),
    ],
)
def test_a_plain_terminal_shows_the_suggestion_alone(
    shell: Shell, env: dict[str, str | None]
) -> None:
    shell.instance.script = Answer("a\x1b[2J", ", b")
    with on_terminal(shell, "complete", shell.write("f(<cursor>)\n"), env=env) as terminal:
        assert terminal.wait() == 0
    assert terminal.lines[0] == "a, b"
    assert b"\x1b" not in terminal.written


@on_unix
def test_control_c_hangs_up(shell: Shell) -> None:
    shell.instance.script = Answer("a", Gate(), "b")
    hang_ups = len(shell.instance.hang_ups)
    with on_terminal(shell, "complete", shell.write("x = <cursor>\n")) as terminal:
        terminal.wait_for("x = a")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.wait() == 130
    assert terminal.lines == []
    shell.instance.wait_until(lambda: len(shell.instance.hang_ups) == hang_ups + 1)


# ---- as editors start it


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="bare"),
        pytest.param(["--stdio"], id="with --stdio"),
        pytest.param(["serve"], id="by name"),
        pytest.param(["serve", "--stdio", f"--clientProcessId={os.getpid()}"], id="all of it"),
        pytest.param(["--stdio", "--clientProcessId", str(os.getpid())], id="in two words"),
    ],
)
def test_editors_start_it_so(arguments: list[str]) -> None:
    with LspClient.start([*COMMAND, *arguments]) as client:
        assert "capabilities" in client.initialize({})
        assert client.stop() == 0


@on_unix
@pytest.mark.parametrize("later", [0, 0.03, 0.06, 0.1, 0.2, 0.5])
def test_on_a_terminal_it_says_what_it_waits_for(shell: Shell, later: float) -> None:
    with on_terminal(shell) as terminal:
        terminal.wait_until(lambda: "waits for an editor" in " ".join(terminal.lines))
        time.sleep(later)  # amid its imports, or when all is built
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.wait() == 130
