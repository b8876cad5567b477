"""What each command says on a terminal, where it has to fit, and into a pipe, where it may not."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.home import COMMAND, TIMEOUT, USER, Home, user
from tests.support.sourcegraph import TOKEN, Answer, StandIn, running_stand_in
from tests.support.terminal import written_in_terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")

NARROW, WIDE, MOST = 48, 230, 100  # columns; longer lines than the last are hard to read

COLOURS = re.compile(r"\x1b\[\d*m")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    for kind in ("CONFIG", "STATE", "DATA", "RUNTIME"):
        name = f"XDG_{kind}_{'DIR' if kind == 'RUNTIME' else 'HOME'}"
        home.env[name] = str(tmp_path / kind.lower())
    (tmp_path / "runtime").mkdir(mode=0o700)
    for name in ("COLUMNS", "SRC_ENDPOINT", "SRC_ACCESS_TOKEN"):
        home.env.pop(name, None)
    # Nobody else's editors.
    home.env["PATH"] = str(Path(sys.executable).parent)
    return home


@pytest.fixture(scope="module")
def instance() -> Iterator[StandIn]:
    with running_stand_in(Answer("pass"), pages={USER: user()}) as instance:
        yield instance


def piped(home: Home, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=home.folder,
        env=home.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT,
        check=False,
    )


COMMANDS = (
    "status",
    "why",
    "why app.py:1:1",
    "log",
    "stats",
    "stats --delete",
    "check",
    "models",
    "complete app.py:1:1 --provider sourcegraph",
    "model list",
    "model remove none",
    "logout",
    "logout http://nobody.example",
    "login sgp_0123456789abcdef",
    "trust",
    "trust http://host.example:8443",
    "trust --remove http://host.example:8443",
    "clean",
    "setup neovim",
    "setup vscode",
    "setup vscode --write",
    "setup helix",
    "setup emacs",
    "setup emacs --language rust",
)


@pytest.mark.parametrize(
    ("command", "columns"),
    [
        *((command, NARROW) for command in COMMANDS),
        *((command, WIDE) for command in ("status", "check", "why app.py:1:1", "setup vscode")),
    ],
)
def test_whatever_is_said_fits_and_a_pipe_gets_it_whole(
    home: Home, command: str, columns: int
) -> None:
    home.configure('endpoint = "https://sourcegraph.example.com"\nprovider = "sourcegraph"\n')
    (home.folder / "app.py").write_text("x = 1\n")
    ran = piped(home, *command.split())
    code, written = written_in_terminal(
        [*COMMAND, *command.split()],
        folder=home.folder,
        environment=home.env,
        size=(columns, 24),
    )
    assert code == ran.returncode
    lines = COLOURS.sub("", written.decode()).splitlines()
    if command.startswith(("setup", "model list")):
        # These lines are to be copied; the sentences are on standard error.
        copied = ran.stdout.splitlines()
        assert [line for line in lines if line in copied and line] == list(filter(None, copied))
        lines = [line for line in lines if line not in copied]
    # What has no blank in it is an address or a path, which is copied as a whole.
    longest = max((len(line) for line in lines if " " in line.strip()), default=0)
    assert longest < min(columns, MOST)
    said = " ".join(" ".join(lines).split())
    for line in ran.stderr.splitlines():
        assert " ".join(line.split()) in said


def test_a_login_and_its_end(home: Home, instance: StandIn) -> None:
    ran = home.run("login", instance.url, typed=TOKEN)
    assert ran.returncode == 0
    code, written = written_in_terminal(
        [*COMMAND, "logout"], folder=home.folder, environment=home.env, size=(NARROW, 24)
    )
    assert code == 0
    lines = written.decode().splitlines()
    assert max(len(line) for line in lines if " " in line.strip()) < NARROW
    assert f"{instance.url}/user/settings/tokens." in " ".join(lines)
