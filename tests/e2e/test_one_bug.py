"""A mistake of ours in one feature ends one request: the others go on, and so does the next."""

import sys
from pathlib import Path

import pytest

from tests.e2e.test_completions import INLINE, MENU, NEOVIM, Editor, texts
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import TOKEN, Answer, running_stand_in

# As long as a file is there, one of our functions raises.
BROKEN = """
import pathlib
from lsp_completions import acceptance, asker, completer, neighbours, notices, service, session
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.server import by_hand, conversation
from lsp_completions.sharing.gate import Gate
from lsp_completions.transport import Transport
from lsp_completions.cli import main

works = {what}

def broken(*args, **more):
    if pathlib.Path({flag!r}).exists():
        # In two, since a traceback may show this very line.
        raise ValueError("a " "bug")
    return works(*args, **more)

{what} = broken
main([])
"""
STAGES = [
    "acceptance.Acceptance.shown",
    "asker.anchor_at",
    "asker.build_prompt",
    "asker.context_at",
    "asker.first_known",
    "asker.without_secrets",
    "by_hand.Typing.changed",
    "conversation.inline_items",
    "conversation.menu_items",
    "Gate.judge",
    "neighbours.Neighbours.changed",
    "neighbours.Neighbours.opened",
    "notices.Notices.worked",
    "service.Documents.change",
    "service.Service._open_stream",
    "service.Service.request",
    "service.Service.why_not",
    "Sourcegraph.chunk",
    "Sourcegraph.request",
    "Transport.events",
]


@pytest.mark.parametrize("what", STAGES)
def test_others_go_on(what: str, tmp_path: Path) -> None:
    flag = tmp_path / "broken"
    code = BROKEN.format(what=what, flag=str(flag))
    with (
        running_stand_in(Answer("1")) as instance,
        LspClient.start(
            [sys.executable, "-c", code],
            env={"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": TOKEN},
        ) as client,
    ):
        options = {"menu": "on", "menuDeadline": 30}
        client.initialize(NEOVIM, rootUri="file:///w", initializationOptions=options)
        editor = Editor(client, instance)
        assert texts(client.result(INLINE, editor.open("x = <cursor>\n"))) == ["1"]

        flag.touch()
        at = editor.open("y = <cursor>\n")
        for method in (INLINE, MENU):
            at = editor.type(at, "a")
            answer = client.request(method, at)
            assert "result" in answer or answer["error"]["code"] == -32603, answer
        client.settle()

        flag.unlink()
        settings = {"lspCompletions": {**options, "maxTokens": 99}}
        client.notify("workspace/didChangeConfiguration", {"settings": settings})
        at = editor.open("z = <cursor>\n")
        for method in (INLINE, MENU):
            assert client.result(method, at)["items"]
            at = editor.type(at, "b")
        assert client.stop() == 0
        assert client.junk == b""
        assert "a bug" not in client.all_stderr()
