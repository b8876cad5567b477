"""The real process counts what comes of suggestions, and `lsp-completions stats` shows it."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_completions import INLINE, NEOVIM, Editor, running_editor, texts
from tests.support.home import Home

ACCEPTED = "lspCompletions.didAcceptCompletion"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def editor(home: Home, **settings: Any) -> Iterator[Editor]:
    env = {"XDG_STATE_HOME": home.env["XDG_STATE_HOME"]}
    return running_editor(NEOVIM, env, initializationOptions=settings)


def works(editor: Editor) -> None:
    """A suggestion is asked for, put in and reported."""
    editor.says("quark_1(2)\n")
    at = editor.open("x = <cursor>\n")
    (item,) = editor.client.result(INLINE, at)["items"]
    editor.type(at, item["insertText"])
    editor.client.result("workspace/executeCommand", item["command"])


def shown(home: Home) -> Any:
    return json.loads(home.run("stats", "--json").stdout)


def database(home: Home) -> Path:
    return home.folder / "state" / "lsp-completions" / "statistics.db"


def test_two_servers_count_and_the_command_shows_it(home: Home) -> None:
    for _ in range(2):
        for each in editor(home):
            works(each)
    said = shown(home)
    assert (said["suggestions"], said["accepted"], said["acceptedInPart"]) == (2, 2, 0)
    assert said["models"][0]["suggestions"] == 2
    assert said["languages"][0]["name"] == "python"
    assert "quark" not in database(home).read_bytes().decode("latin-1")
    assert "/w/" not in database(home).read_bytes().decode("latin-1")

    page = home.run("stats", env={"COLUMNS": "80"})
    assert max(map(len, page.stdout.splitlines())) <= 80
    assert "python" in page.stdout
    assert "100%" in page.stdout

    assert "Deleted" in home.run("stats", "--delete").stderr
    assert not database(home).exists()
    assert "Nothing was counted" in home.run("stats").stderr


def test_switched_off_nothing_is_written(home: Home) -> None:
    for each in editor(home, statistics=False):
        works(each)
    assert not database(home).exists()


def test_a_project_cannot_switch_it_on(home: Home) -> None:
    home.configure("statistics = false\n")
    env = {name: home.env[name] for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    for each in running_editor(NEOVIM, env, initializationOptions={"statistics": True}):
        works(each)
    assert not database(home).exists()


@pytest.mark.parametrize("trouble", ["damaged", "locked", "a folder"])
def test_a_database_in_trouble_disturbs_nobody(home: Home, trouble: str) -> None:
    file = database(home)
    file.parent.mkdir(parents=True)
    other = None
    if trouble == "damaged":
        file.write_bytes(b"nothing of the kind" * 99)
    elif trouble == "locked":
        other = sqlite3.connect(file)
        other.execute("BEGIN EXCLUSIVE")
    else:
        file.mkdir()
    for each in editor(home):
        works(each)
        each.says("7\n")
        assert texts(each.client.result(INLINE, each.open("y = <cursor>\n"))) == ["7"]
    if other is not None:
        other.close()
    if trouble != "a folder":
        assert shown(home)["suggestions"] == 2


def test_what_cannot_be_read_is_said(home: Home) -> None:
    database(home).mkdir(parents=True)
    ran = home.run("stats")
    assert ran.returncode == 3
    assert "statistics.db cannot be read" in ran.stderr
