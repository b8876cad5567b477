"""Half of a surrogate pair, which JSON can carry and UTF-8 cannot, breaks nothing beside it."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_completions import INLINE, NEOVIM, Editor, running_editor, texts
from tests.support.home import Home
from tests.support.inspection import Inspection, running_inspection

HALF = "\ud800"


@pytest.mark.parametrize(
    ("start", "documents"),
    [
        pytest.param(
            {},
            [
                {"drawn": f"x = '{HALF}'\ny = <cursor>\n"},
                {"name": f"{HALF}.py"},
                {"name": "%ED%A0%80.py"},
                {"name": "%FF.py"},
                {"uri": f"untitled:{HALF}"},
                {"language": f"python{HALF}"},
            ],
            id="of a document",
        ),
        pytest.param(
            {
                "clientInfo": {"name": HALF, "version": HALF},
                "initializationOptions": {"model": f"a::b::{HALF}"},
            },
            [{}],
            id="of an editor",
        ),
    ],
)
def test_half_of_a_surrogate_pair(
    tmp_path: Path, start: dict[str, Any], documents: list[dict[str, str]]
) -> None:
    home = Home(tmp_path)
    home.env["XDG_RUNTIME_DIR"] = str(tmp_path)
    env = {name: home.env[name] for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR")}
    asked = 0
    for editor in running_editor(NEOVIM, env, **start):
        with running_inspection(home, "--with-code") as page:
            for document in documents:
                asked = asked_until_code_is_shown(editor, page, document, asked)
        told = home.run("status", "--json")
        assert json.loads(told.stdout)["servers"][0]["pid"] == editor.client.process.pid
        for command in ("status", "why", "report"):
            assert home.run(command).returncode == 0
    assert json.loads(home.run("stats", "--json").stdout)["suggestions"] == asked
    assert home.run("stats").stdout.count("Suggestions") == 1
    assert home.run("log", "-n", "9999").stdout.count(": suggested") == asked


def asked_until_code_is_shown(
    editor: Editor, page: Inspection, document: dict[str, str], asked: int
) -> int:
    """How many times it was asked in all; a server that has just begun keeps no code yet."""
    editor.says("call(1)")
    for count in range(asked + 1, asked + 50):
        at = editor.open(**{"drawn": "y = <cursor>\n", **document})
        assert texts(editor.client.result(INLINE, at)) == ["call(1)"]
        for _ in range(50):
            answer = page.ask(f"code/{editor.client.process.pid}/{count}")
            if answer.status == 200:
                return count
            assert answer.status == 404
            time.sleep(0.02)  # a thread of the server writes it, and tells nobody
    raise AssertionError("no code was kept")
