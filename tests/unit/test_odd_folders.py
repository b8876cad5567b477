"""Whatever is where our folders should be, a command says a sentence, and makes no mistake."""

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from lsp_completions.cli import commands
from lsp_completions.cli.exits import Exit
from lsp_completions.errors import ConfigurationError
from lsp_completions.local_model.files import find, installed
from lsp_completions.statistics.records import Batch
from lsp_completions.statistics.store import database_file, write
from tests.unit.statistics.test_store import EMPTY, ONE

KINDS = ("CONFIG_HOME", "STATE_HOME", "DATA_HOME", "RUNTIME_DIR")
COMMANDS = (
    *("status", "status --json", "why", "why --json", "log", "paths", "paths --json"),
    *("stats", "stats --json", "stats --delete", "model list", "models", "logout --all"),
    *("trust", "trust https://a.example", "check", "report", "why a.py:1:3", "complete a.py:1:3"),
    *("setup neovim", "setup helix", "clean --yes --config"),
)


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, and in it the folder that each variable names."""
    for kind in KINDS:
        (tmp_path / kind).mkdir()
        monkeypatch.setenv(f"XDG_{kind}", str(tmp_path / kind))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    # Where nobody listens: nothing is started, and nothing is waited for.
    monkeypatch.setenv("SRC_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("SRC_ACCESS_TOKEN", "sgp_quark")
    (tmp_path / "a.py").write_text("x =")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def unreadable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Too long a name fails as a folder of another user does, for root as well.
    monkeypatch.setenv(f"XDG_{folder.name}", str(folder / ("x" * 300)))


def a_file_around(folder: Path, _: pytest.MonkeyPatch) -> None:
    folder.rmdir()
    folder.touch()


def a_file(folder: Path, _: pytest.MonkeyPatch) -> None:
    (folder / "lsp-completions").touch()


OURS = ("logins.json", "trusted-hosts.json", "statistics.db", "config.toml", "model.log")


def broken_files(folder: Path, _: pytest.MonkeyPatch) -> None:
    ours = folder / "lsp-completions"
    for name in (*OURS, f"servers/{os.getpid()}.json", f"log/20260101-000000-{os.getpid()}.log"):
        (ours / name).parent.mkdir(parents=True, exist_ok=True)
        (ours / name).write_bytes(b"\xff\0[[[[{" * 99)


def folders_for_files(folder: Path, _: pytest.MonkeyPatch) -> None:
    ours = folder / "lsp-completions"
    for name in (*OURS, f"servers/{os.getpid()}.json", f"log/20260101-000000-{os.getpid()}.log"):
        (ours / name).mkdir(parents=True)
    (ours / "models" / "a.gguf").mkdir(parents=True)


def something_else_in_the_files(folder: Path, _: pytest.MonkeyPatch) -> None:
    ours = folder / "lsp-completions"
    ours.mkdir()
    for name in OURS[:2]:
        (ours / name).write_text(json.dumps({"logins": [3, {"endpoint": ":"}], "hosts": [[], ":"]}))
    tell(
        ours,
        {
            "editor": [],
            "started": "x",
            "workspace": [1, None, "/w"],
            "status": {"message": [1], "state": {}},
            "outcomes": [
                1,
                {"at": [], "path": 3, "reason": [1], "times": {"sent": "x", "answered": []}},
                {"lines": "many", "language": None, "how": 3, "times": None},
            ],
        },
    )
    file = database_file(ours)
    write(file, Batch(suggestions=[ONE], nothings={EMPTY: 1}))
    with sqlite3.connect(file) as database:
        database.execute("UPDATE suggestion SET at = 9e9, answered = 'x', lines = x'ff'")
        database.execute("UPDATE skipped SET count = 'x', day = '2999-01-01'")
    database.close()


def tell(ours: Path, told: object) -> None:
    folder = ours / "servers"
    folder.mkdir(exist_ok=True)
    (folder / f"{os.getpid()}.json").write_text(json.dumps(told))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "trouble",
    [
        unreadable,
        a_file_around,
        a_file,
        broken_files,
        folders_for_files,
        something_else_in_the_files,
    ],
    ids=lambda trouble: trouble.__name__.replace("_", " "),
)
def test_no_command_makes_a_mistake(
    user: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    trouble: Callable[[Path, pytest.MonkeyPatch], None],
    kind: str,
) -> None:
    trouble(user / kind, monkeypatch)
    for command in COMMANDS:
        code = commands.run(command.split())
        said = capsys.readouterr()
        assert "made a mistake" not in said.err, (command, said.err)
        assert code in (Exit.GOOD, Exit.NOTHING, Exit.USAGE, Exit.BACKEND), command
        assert said.err or said.out, command
        assert "quark" not in said.err + said.out


@pytest.mark.parametrize(
    ("command", "kind", "says"),
    [
        ("stats", "STATE_HOME", "statistics.db cannot be read: "),
        ("stats --json", "STATE_HOME", "statistics.db cannot be read: "),
        ("stats --delete", "STATE_HOME", "statistics.db could not be deleted: "),
        ("log", "STATE_HOME", "log cannot be read: "),
        ("log -f", "STATE_HOME", "log cannot be read: "),
        ("clean --yes", "STATE_HOME", "cannot be looked into: "),
        ("trust https://a.example", "STATE_HOME", "could not be written: "),
    ],
)
def test_what_cannot_be_read_is_said(
    user: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    kind: str,
    says: str,
) -> None:
    unreadable(user / kind, monkeypatch)
    assert commands.run(command.split()) == Exit.BACKEND
    assert says in capsys.readouterr().err


def test_paths_tell_what_cannot_be_seen(
    user: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    unreadable(user / "STATE_HOME", monkeypatch)
    commands.run(["paths", "--json"])
    listed = json.loads(capsys.readouterr().out)["paths"]
    assert {each["what"]: each["exists"] for each in listed}["statistics"] is None
    commands.run(["paths"])
    assert "unreadable" in capsys.readouterr().out


def test_statistics_that_are_something_else_are_said_to_be(
    user: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    something_else_in_the_files(user / "STATE_HOME", monkeypatch)
    assert commands.run(["stats"]) == Exit.BACKEND
    assert "it holds something else than was counted" in capsys.readouterr().err


def test_models_that_cannot_be_seen_are_not_installed(
    user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unreadable(user / "DATA_HOME", monkeypatch)
    assert all(each.package is not None for each in installed())
    with pytest.raises(ConfigurationError, match="There is no model file"):
        find(str(user / ("x" * 300)))


def test_clean_leaves_no_empty_folder(user: Path) -> None:
    for name in (
        *("STATE_HOME/lsp-completions/run/servers/1.json", "STATE_HOME/lsp-completions/log/x.log"),
        *("DATA_HOME/lsp-completions/models/a.gguf", "RUNTIME_DIR/lsp-completions/model-1.json"),
        *("RUNTIME_DIR/lsp-completions/servers/x.code", "CONFIG_HOME/lsp-completions/config.toml"),
        "STATE_HOME/lsp-completions/.logins-abc",
    ):
        (user / name).parent.mkdir(parents=True, exist_ok=True)
        (user / name).touch()
    assert commands.run(["clean", "--yes", "--config"]) == Exit.GOOD
    assert [each.name for kind in KINDS for each in (user / kind).iterdir()] == []
    (user / "STATE_HOME" / "lsp-completions" / "log").mkdir(parents=True)
    assert commands.run(["clean", "--yes"]) == Exit.GOOD
    assert commands.run(["clean", "--yes"]) == Exit.GOOD
    assert [each.name for kind in KINDS for each in (user / kind).iterdir()] == []


def test_no_code_is_asked_for_in_a_folder_of_somebody_else_s(
    user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (user / "RUNTIME_DIR" / "lsp-completions").touch()
    assert commands.run(["inspect", "--with-code"]) == Exit.BACKEND
    assert "The page cannot show code: " in capsys.readouterr().err
