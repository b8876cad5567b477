"""The command that prints a token: well-behaved ones, and hostile ones."""

import sys
import threading
from pathlib import Path

import pytest

from lsp_completions.credentials.auth_command import Credential, Run, credential_in
from lsp_completions.errors import NoCredential
from lsp_completions.kinds import Command, CommandLine
from lsp_completions.secret import Secret
from tests.support.sourcegraph import TOKEN

NOW = 1_000_000.0
OLD_TOKEN = "0123456789abcdef0123456789abcdef01234567"
on_unix = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")


def headers(**pairs: str) -> tuple[tuple[str, Secret], ...]:
    return tuple((name, Secret(text)) for name, text in pairs.items())


@pytest.mark.parametrize(
    ("printed", "credential"),
    [
        pytest.param("sgp_1\n", Credential(token=Secret("sgp_1")), id="a token"),
        pytest.param("\r\n sgp_1 \r\n\r\n", Credential(token=Secret("sgp_1")), id="blanks around"),
        pytest.param("token sgp_1", Credential(token=Secret("sgp_1")), id="with its scheme"),
        pytest.param(
            "Bearer abc.def",
            Credential(headers=headers(Authorization="Bearer abc.def")),
            id="OAuth",
        ),
        pytest.param(
            f"{TOKEN}\nuser: ada\nurl: x\n", Credential(token=Secret(TOKEN)), id="notes as in pass"
        ),
        pytest.param(f"{OLD_TOKEN}\nada\n", Credential(token=Secret(OLD_TOKEN)), id="old, notes"),
        pytest.param('{"token": "sgp_1"}', Credential(token=Secret("sgp_1")), id="JSON"),
        pytest.param(
            '{"token": "sgp_1\\n", "expiration": 1000060}',
            Credential(token=Secret("sgp_1"), expires=1_000_060),
            id="with an end",
        ),
        pytest.param(
            '{"headers": {"Authorization": "Bearer a", "X-User": "ada"}, "expiration": 1000060.5}',
            Credential(
                headers=(("Authorization", Secret("Bearer a")), ("X-User", Secret("ada"))),
                expires=1_000_060.5,
            ),
            id="headers as for Cody",
        ),
        pytest.param(
            '{"headers": {"X-Gate": "1"}, "token": "sgp_1"}',
            Credential(token=Secret("sgp_1"), headers=(("X-Gate", Secret("1")),)),
            id="a token and headers",
        ),
    ],
)
def test_what_is_printed(printed: str, credential: Credential) -> None:
    assert credential_in(printed, NOW) == credential


@pytest.mark.parametrize(
    ("printed", "says"),
    [
        pytest.param("", "printed nothing", id="nothing"),
        pytest.param(" \n\n", "printed nothing", id="line breaks alone"),
        pytest.param("sécret", "must be plain ASCII", id="no ASCII"),
        pytest.param("secret\nsecret", "must be the token alone", id="two lines"),
        pytest.param("no secret here", "must be the token alone", id="a sentence"),
        pytest.param("sgp_\x00secret", "must be the token alone", id="a control character"),
        pytest.param('{"token": secret', "begins like JSON and is none", id="broken JSON"),
        pytest.param("{" * 9_000, "begins like JSON and is none", id="deep JSON"),
        pytest.param('{"secret": "secret"}', "neither `token` nor `headers`", id="other keys"),
        pytest.param('{"token": ["secret"]}', "must be a text", id="a list"),
        pytest.param('{"token": "a secret"}', "must be the token alone", id="JSON with a sentence"),
        pytest.param('{"headers": ["secret"]}', "must be a map", id="headers as a list"),
        pytest.param('{"headers": {}}', "are none", id="no headers"),
        pytest.param('{"headers": {"X": "a\\nb secret"}}', "one line", id="two lines in one"),
        pytest.param('{"headers": {"X secret": "a"}}', "the name of an HTTP header", id="a name"),
        pytest.param(
            '{"headers": {"AUTHORIZATION": "secret"}, "token": "secret"}', "both", id="two at once"
        ),
        pytest.param('{"token": "secret", "expiration": 1}', "expired already", id="expired"),
        pytest.param('{"token": "secret", "expiration": "soon"}', "a number", id="no number"),
        pytest.param('{"token": "secret", "expiration": NaN}', "a number", id="not a number"),
        pytest.param('{"token": "secret", "expiration": true}', "a number", id="a flag"),
    ],
)
def test_what_is_printed_may_be_of_no_use(printed: str, says: str) -> None:
    with pytest.raises(NoCredential) as raised:
        credential_in(printed, NOW)
    assert says in str(raised.value)
    assert "secret" not in str(raised.value)


def running(program: str, *arguments: str, patience: float = 30) -> Run:
    """A program in Python."""
    words = (sys.executable, "-c", program, *arguments)
    return Run(CommandLine(words), endpoint="https://sg.example.com", patience=patience)


def test_it_is_run_without_a_shell_in_the_home_folder(tmp_path: Path) -> None:
    program = "import os, sys; print(sys.argv[1] + os.environ['SRC_ENDPOINT'] + os.getcwd())"
    credential = running(program, "$HOME;|").credential()
    assert credential.token == Secret(f"$HOME;|https://sg.example.com{Path.home()}")


@pytest.mark.parametrize(
    ("program", "says"),
    [
        pytest.param("pass", "printed nothing.", id="nothing"),
        pytest.param("print('x' * 10_000_000)", "far more than a token", id="ten megabytes"),
        pytest.param(
            "while True: print('secret' * 99)", "far more than a token", id="words without an end"
        ),
        pytest.param("import sys; sys.exit(3)", "ended with code 3.", id="a failure"),
        pytest.param(
            "import sys; sys.exit('gpg: no pinentry.\\nmore')",
            "ended with code 1: gpg: no pinentry.",
            id="a failure with its reason",
        ),
        pytest.param(
            "import sys; sys.exit('bad: sgp_secret')", "ended with code 1.", id="a token in it"
        ),
        pytest.param(
            "import sys; sys.exit('password: secret1')", "ended with code 1.", id="a password in it"
        ),
        pytest.param(
            "import sys; sys.exit('got c2VjcmV0c2VjcmV0c2VjcmV0MTIz')",
            "ended with code 1.",
            id="something long in it",
        ),
        pytest.param(
            "import sys; sys.stderr.write('x' * 5_000_000); sys.exit(2)",
            "ended with code 2: xxx",
            id="a long reason",
        ),
        pytest.param("import sys; print('secret'); sys.exit(1)", "ended with code 1.", id="both"),
        pytest.param("import os; os.write(1, b'\\xff\\xfe\\x00\\xd8')", "", id="no text"),
    ],
)
def test_programs_fail_in_a_sentence(program: str, says: str) -> None:
    with pytest.raises(NoCredential) as raised:
        running(program).credential()
    assert says in str(raised.value)
    assert "secret" not in str(raised.value)
    assert len(str(raised.value)) < 300


@on_unix
def test_a_program_may_be_ended_by_a_signal() -> None:
    with pytest.raises(NoCredential, match=r"was ended by signal 9\."):
        running("import os, signal; os.kill(os.getpid(), signal.SIGKILL)").credential()


def test_a_program_that_hangs_is_ended() -> None:
    run = running("import threading; threading.Event().wait()", patience=0.1)
    with pytest.raises(NoCredential, match=r"printed no token within 0\.1 seconds"):
        run.credential()
    assert run.is_over


@on_unix
def test_what_it_leaves_running_holds_up_nobody() -> None:
    """As an agent that `pass` starts does, with the pipes still in its hands."""
    program = "import subprocess, sys; print('sgp_1', flush=True);subprocess.Popen(['sleep', '30'])"
    assert running(program).credential().token == Secret("sgp_1")


def test_it_can_be_stopped(tmp_path: Path) -> None:
    began = tmp_path / "began"
    run = running(f"open({str(began)!r}, 'w'); import threading; threading.Event().wait()")
    caught: list[str] = []

    def work() -> None:
        try:
            run.credential()
        except NoCredential as error:
            caught.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    while not began.exists():
        thread.join(0.001)
    run.stop()
    thread.join(30)
    assert len(caught) == 1
    with pytest.raises(NoCredential, match="shutting down"):
        run.credential()


@pytest.mark.parametrize(
    ("program", "says"),
    [
        pytest.param("no-such-program-secret", "was not found", id="none of that name"),
        pytest.param("/no/such/secret", "was not found", id="none at that place"),
        pytest.param("~no-such-user-secret/x", "was not found", id="nobody's folder"),
        pytest.param("sgp_secret", "was not found", id="the token in its place"),
    ],
)
def test_there_may_be_no_such_program(program: str, says: str) -> None:
    with pytest.raises(NoCredential) as raised:
        Run(CommandLine((program,)), endpoint="").credential()
    assert says in str(raised.value)
    assert "secret" not in str(raised.value)


@on_unix
def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"\0")
    file.chmod(0o700)
    with pytest.raises(NoCredential, match="could not be started: Exec format error"):
        Run(CommandLine((str(file),)), endpoint="").credential()


# ---- as a setting


def read(value: object, *, windows: bool = False) -> tuple[tuple[str, ...] | None, list[str]]:
    problems: list[str] = []
    found = Command(windows=windows).read(value, lambda must, at="": problems.append(must))
    return (None if found is None else found.words), problems


@pytest.mark.parametrize(
    ("value", "windows", "words"),
    [
        pytest.param("pass show work/sg", False, ("pass", "show", "work/sg"), id="words"),
        pytest.param("op read 'op://a b/c'", False, ("op", "read", "op://a b/c"), id="quotes"),
        pytest.param(r"C:\a\op.exe read x", True, (r"C:\a\op.exe", "read", "x"), id="backslashes"),
        pytest.param(r'"C:\a b\op.exe" x', True, (r"C:\a b\op.exe", "x"), id="a path with blanks"),
        pytest.param(r'a "b\\" c', True, ("a", "b\\", "c"), id="a backslash before a quote"),
        pytest.param(r'a \"b\" ""', True, ("a", '"b"', ""), id="quotes that are meant"),
        pytest.param(["op", "read", "a b"], False, ("op", "read", "a b"), id="a list"),
        pytest.param("  ", False, None, id="blank"),
        pytest.param("  ", True, None, id="blank on Windows"),
        pytest.param([], False, None, id="no words"),
        pytest.param({}, False, None, id="no words in Lua"),
    ],
)
def test_how_a_command_is_written(
    value: object, windows: bool, words: tuple[str, ...] | None
) -> None:
    assert read(value, windows=windows) == (words, [])


@pytest.mark.parametrize(
    ("value", "windows", "says"),
    [
        pytest.param("echo 'secret", False, "an end to each quote", id="an open quote"),
        pytest.param('echo "secret', True, "an end to each quote", id="an open quote on Windows"),
        pytest.param(["echo", 1], False, "a list of texts only", id="a number among texts"),
        pytest.param(7, False, "a text or a list of texts, not a number", id="a number"),
        pytest.param(["", "secret"], False, "must begin with the program", id="no program"),
        pytest.param("a\0secret", False, "number 0", id="a zero"),
    ],
)
def test_what_is_no_command(value: object, windows: bool, says: str) -> None:
    words, problems = read(value, windows=windows)
    assert words is None
    assert len(problems) == 1
    assert says in problems[0]
    assert "secret" not in problems[0]


def test_a_command_is_never_shown() -> None:
    command = Command(windows=False).read("echo sgp_secret", lambda must, at="": None)
    assert repr(command) == str(command) == "***"
