"""The rules of an instance about what may be sent, obeyed by the real process."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.cursor import cursor
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import (
    TOKEN,
    Answer,
    Gate,
    Reply,
    StandIn,
    html_page,
    json_page,
    refusal,
    running_stand_in,
)
from tests.support.sourcegraph.pages import FILTERS, NO_FILTERS, filters

INLINE = "textDocument/inlineCompletion"
SERVER = [sys.executable, "-m", "lsp_completions"]
NEOVIM: dict[str, Any] = {"textDocument": {"inlineCompletion": {}}}
ONLY_OURS = filters({"include": [{"repoNamePattern": r"^h\.org/ours/"}]})
BY_HAND, BY_ITSELF = {"triggerKind": 1}, {"triggerKind": 2}


@contextmanager
def editing(
    folder: Path, reply: Reply, said: Answer | None = None
) -> Iterator[tuple[LspClient, StandIn]]:
    for name in ("ours", "theirs"):
        (folder / name / ".git").mkdir(parents=True)
        (folder / name / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        config = f'[remote "origin"]\n\turl = git@h.org:{name}/a.git\n'
        (folder / name / ".git" / "config").write_text(config)
    with (
        running_stand_in(said or Answer("1 + 1\n"), pages={FILTERS: reply}) as instance,
        LspClient.start(
            SERVER, env={"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": TOKEN}
        ) as client,
    ):
        client.initialize(NEOVIM, rootUri=folder.as_uri())
        yield client, instance
        assert client.stop() == 0
        assert "Traceback" not in client.stderr


def opened(client: LspClient, file: Path) -> dict[str, Any]:
    text, (line, character) = cursor("x = <cursor>\n")[0], (0, 4)
    document = {"uri": file.as_uri(), "languageId": "python", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    position = {"line": line, "character": character}
    return {"textDocument": {"uri": file.as_uri()}, "position": position}


def suggested(client: LspClient, at: dict[str, Any], how: dict[str, Any] = BY_ITSELF) -> list[str]:
    result = client.result(INLINE, {**at, "context": how})
    return [item["insertText"] for item in result["items"]]


def test_only_what_the_rules_allow_is_sent(tmp_path: Path) -> None:
    with editing(tmp_path, ONLY_OURS) as (client, instance):
        assert suggested(client, opened(client, tmp_path / "ours" / "a.py")) == ["1 + 1"]
        asked = len(instance.completions)
        for path in ("theirs/a.py", "a.py"):
            at = opened(client, tmp_path / path)
            assert suggested(client, at) == []
        assert len(instance.completions) == asked
        assert not client.waiting()


def test_whoever_asks_by_hand_is_told_why_once(tmp_path: Path) -> None:
    with editing(tmp_path, ONLY_OURS) as (client, instance):
        at = opened(client, tmp_path / "theirs" / "a.py")
        assert suggested(client, at) == []
        # Which of the two kinds is by hand, an editor shows by sending both.
        for _ in range(3):
            assert suggested(client, at, BY_HAND) == []
        assert "theirs/a.py" in client.expect("window/showMessage")["message"]
        assert not client.waiting()
        assert not instance.completions


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(refusal(500, "internal error"), id="a failure"),
        pytest.param(refusal(401, "Invalid access token."), id="not signed in"),
        pytest.param(refusal(404, "404 page not found"), id="no such page"),
        pytest.param(html_page(), id="a login page"),
        pytest.param(json_page({"data": {}}), id="no answer"),
        pytest.param(filters({"exclude": [{"repoNamePattern": "("}]}), id="a broken pattern"),
    ],
)
def test_without_rules_nothing_is_sent_and_that_is_said(tmp_path: Path, reply: Reply) -> None:
    with editing(tmp_path, reply) as (client, instance):
        at = opened(client, tmp_path / "ours" / "a.py")
        for _ in range(4):
            assert suggested(client, at) == []
        assert client.expect("window/showMessage")["message"]
        assert not client.waiting()
        assert not instance.completions
        assert not any(b"x = " in request.body for request in instance.requests)


def test_a_request_ends_when_its_document_may_be_sent_no_more(tmp_path: Path) -> None:
    with editing(tmp_path, NO_FILTERS, Answer(Gate(), "late")) as (client, instance):
        at = opened(client, tmp_path / "ours" / "a.py")
        asked = client.send(INLINE, {**at, "context": BY_ITSELF})
        instance.wait_until(lambda: instance.completions)
        changed = {"settings": {"lspCompletions": {"exclude": ["ours/"]}}}
        client.notify("workspace/didChangeConfiguration", changed)
        assert client.take(asked)["result"] == {"items": []}
        instance.wait_until(lambda: instance.hang_ups)


def test_what_git_ignores_is_not_sent(tmp_path: Path) -> None:
    with editing(tmp_path, NO_FILTERS) as (client, instance):
        (tmp_path / "ours" / ".gitignore").write_text("private/\n*.local.py\n")
        for path in ("ours/private/a.py", "ours/a.local.py"):
            assert suggested(client, opened(client, tmp_path / path)) == []
        assert not instance.completions
        assert suggested(client, opened(client, tmp_path / "ours" / "a.py")) == ["1 + 1"]


@pytest.mark.parametrize(
    "reply", [ONLY_OURS, refusal(500, "internal error")], ids=["rules", "none"]
)
def test_the_command_line_has_the_same_gate(tmp_path: Path, reply: Reply) -> None:
    with editing(tmp_path, reply) as (_, instance):
        file = tmp_path / "theirs" / "a.py"
        file.write_text("x = \n")
        ran = subprocess.run(
            [*SERVER, "complete", f"{file}:1:5"],
            env={
                **__import__("os").environ,
                "SRC_ENDPOINT": instance.url,
                "SRC_ACCESS_TOKEN": TOKEN,
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode != 0
        assert ran.stdout == ""
        assert ran.stderr
        assert not instance.completions
