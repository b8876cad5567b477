"""The exit code of each command, as the README's table has it."""

from pathlib import Path

import click
import pytest

from lsp_completions.cli.commands import group
from lsp_completions.cli.exits import CODES, MEANINGS, Exit
from tests.support.home import Home

GOOD, NOTHING, USAGE, WRONG = Exit.GOOD, Exit.NOTHING, Exit.USAGE, Exit.BACKEND
UNREACHABLE = "http://127.0.0.1:9"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    for kind in ("DATA_HOME", "RUNTIME_DIR"):
        home.env[f"XDG_{kind}"] = str(tmp_path / kind.lower())
    for name in ("SRC_ENDPOINT", "SRC_ACCESS_TOKEN"):
        home.env.pop(name, None)
    home.configure('provider = "sourcegraph"\n')
    (tmp_path / "app.py").write_text("x = 1\n")
    return home


def commands() -> dict[str, click.Command]:
    """Those with a name that a person types, `serve` aside, which is an editor's."""
    found = {name: each for name, each in group.commands.items() if name != "serve"}
    inner = found.pop("model")
    assert isinstance(inner, click.Group)
    return found | {f"model {name}": each for name, each in inner.commands.items()}


def test_the_table_names_all_commands_and_their_help_tells_it() -> None:
    assert {name.partition(" FILE")[0] for name in MEANINGS} == set(commands())
    for name, command in commands().items():
        assert command.epilog is not None
        for meaning in MEANINGS[name]:
            assert meaning in command.epilog


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("--version", GOOD),
        ("--help", GOOD),
        ("--nothing", USAGE),
        ("nothing", USAGE),
        ("complete", USAGE),
        ("complete app.py", USAGE),
        ("complete app.py:0:1", USAGE),
        ("complete app.py:99:1", USAGE),
        ("complete none.py:1:1", USAGE),
        ("complete app.py:1:1 --provider nobody", USAGE),
        ("complete app.py:1:1", WRONG),
        ("check", WRONG),
        ("check none.py", USAGE),
        ("check --nothing", USAGE),
        ("status", NOTHING),
        ("why", NOTHING),
        ("why app.py:1:1", WRONG),
        ("why none.py:1:1", USAGE),
        ("why app.py:1:1 --all", USAGE),
        ("log", NOTHING),
        ("log -n many", USAGE),
        ("log -n -1", USAGE),
        ("log --lines 99999999999999999999", USAGE),
        ("report more", USAGE),
        ("paths", GOOD),
        ("clean", GOOD),
        ("models", WRONG),
        ("inspect more", USAGE),
        ("stats", GOOD),
        ("stats --delete", GOOD),
        ("stats --days 0", USAGE),
        ("login", USAGE),
        ("login http://", USAGE),
        ("login ftp://a.example", USAGE),
        (f"login {UNREACHABLE}", WRONG),
        ("logout", GOOD),
        ("logout --all", GOOD),
        ("logout http://", USAGE),
        ("logout http://nobody.example", USAGE),
        ("model list", GOOD),
        ("model", USAGE),
        ("model remove", USAGE),
        ("model remove none", USAGE),
        ("trust", GOOD),
        ("trust a.example", GOOD),
        ("trust http://", USAGE),
        ("trust ftp://a.example", USAGE),
        ("trust https://me:pw@a.example", USAGE),
        ("trust --remove", USAGE),
        ("trust --remove http://", USAGE),
        ("trust --remove a.example", NOTHING),
        ("setup", USAGE),
        ("setup ed", USAGE),
        ("setup neovim", GOOD),
        ("setup neovim --language rust", USAGE),
        ("setup helix --write", NOTHING),
    ],
)
def test_exit_codes(home: Home, typed: str, code: Exit) -> None:
    ran = home.run(*typed.split(), typed="sgp_1\n", env={"PATH": str(home.folder)})
    assert ran.returncode == code, ran.stderr
    assert ran.stderr or ran.stdout
    if code in CODES and not typed.startswith("-"):
        name = next(each for each in sorted(MEANINGS, reverse=True) if _is(typed, each))
        assert MEANINGS[name][CODES.index(code)]


def _is(typed: str, name: str) -> bool:
    command, _, place = name.partition(" FILE")
    return typed.startswith(command) and (not place or ":" in typed)
