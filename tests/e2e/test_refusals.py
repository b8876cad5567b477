"""Each refusal as a person at an editor meets it: one answer a request, one message a cause."""

import sys
from collections.abc import Iterator
from itertools import count

import pytest

from lsp_completions.errors import TooLarge
from lsp_completions.notices import PATIENCE
from tests.support.lsp_client import LspClient, Message
from tests.support.refusals import ALL, No
from tests.support.sourcegraph import TOKEN, Answer, StandIn, running_stand_in

INLINE = "textDocument/inlineCompletion"
URI = "file:///w/a.py"
AUTOMATIC = {
    "textDocument": {"uri": URI},
    "position": {"line": 0, "character": 4},
    "context": {"triggerKind": 2},
}
REQUESTS = 4


class Desk:
    """An editor with one document, and the instance it asks."""

    def __init__(self, client: LspClient, instance: StandIn) -> None:
        self.client = client
        self.instance = instance
        self._numbers = count(100)

    def change_a_setting(self) -> None:
        """Something changes, so that whoever was left alone is asked again."""
        settings = {"lspCompletions": {"maxTokens": next(self._numbers)}}
        self.client.notify("workspace/didChangeConfiguration", {"settings": settings})

    def complete(self) -> list[Message]:
        items: list[Message] = self.client.result(INLINE, AUTOMATIC)["items"]
        return items

    def told(self) -> list[str]:
        """The messages since the last look."""
        self.client.settle()
        waiting = [self.client.next() for _ in self.client.waiting()]
        assert {message.get("method") for message in waiting} <= {"window/showMessage"}
        return [message["params"]["message"] for message in waiting]


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    with (
        running_stand_in(Answer("1")) as instance,
        LspClient.start(
            [sys.executable, "-m", "lsp_completions"],
            env={"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": TOKEN},
        ) as client,
    ):
        client.initialize({"textDocument": {"inlineCompletion": {}}}, rootUri="file:///w")
        document = {"uri": URI, "languageId": "python", "version": 1, "text": "x = "}
        client.notify("textDocument/didOpen", {"textDocument": document})
        yield Desk(client, instance)
        assert client.stop() == 0
        for unwanted in (TOKEN, "Traceback", "never awaited"):
            assert unwanted not in client.stderr
        assert client.junk == b""


@pytest.mark.parametrize("no", ALL)
def test_it_is_told_once_until_it_has_worked_again(desk: Desk, no: No) -> None:
    for _ in range(2):
        desk.change_a_setting()
        before = len(desk.instance.completions)
        desk.instance.script = no.said
        for _ in range(REQUESTS):
            assert desk.complete() == []
        asked, told = len(desk.instance.completions) - before, desk.told()
        if no.passes and no.seconds:
            # Over by itself, before a person has read about it.
            assert (asked, told) == (1, [])
        else:
            (message,) = told
            assert all(part in message for part in no.parts), message
        if no.passes and not no.seconds:
            assert asked >= PATIENCE
        elif no.kind is not TooLarge:
            assert asked < REQUESTS

        desk.instance.script = Answer("1")
        desk.change_a_setting()
        assert [item["insertText"] for item in desk.complete()] == ["1"]
        assert desk.told() == []
