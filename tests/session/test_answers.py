"""What the server makes of an outcome, whatever has happened since."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from lsp_completions.configuration import following
from lsp_completions.local_model import files as model_files
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.outcome import Outcome, Suggested
from lsp_completions.server import CompletionServer
from tests.fuzz.targets import ended

URI = "file:///w/a.py"


async def test_a_key_that_crosses_the_answer_tears_no_range() -> None:
    conversation = CompletionServer().conversation
    asked = Document.open(URI, "python", 1, "x = \n")

    async def work() -> tuple[Outcome, int]:
        conversation.did_open(Document.open(URI, "python", 2, "# one\nx = \n"))
        edit = Edit(start=4, end=4, new_text="call()")
        return Suggested(document=asked, edits=(edit,)), 1

    answer = await conversation._inline_answer(work)
    assert answer is not None
    (item,) = answer.items
    assert item.range is not None
    assert (item.range.start.line, item.range.start.character) == (0, 4)
    assert item.range.end == item.range.start


@pytest.mark.parametrize("opened", [False, True], ids=["nothing open", "a document open"])
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param({"provider": "local"}, [], id="all is well"),
        pytest.param({}, ["No access token for sg.example"], id="a token is missing"),
        pytest.param(None, ["No access token for sg.example"], id="it says nothing"),
    ],
)
async def test_what_is_missing_is_told_once_the_editor_has_said_its_settings(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    answer: dict[str, str] | None,
    told: list[str],
    opened: bool,
) -> None:
    monkeypatch.setattr(model_files, "is_available", lambda: True)
    monkeypatch.setattr(following, "MOST_FOR_THE_EDITOR", 0.01)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("SRC_ENDPOINT", "https://sg.example")
    monkeypatch.delenv("SRC_ACCESS_TOKEN", raising=False)
    server = CompletionServer()
    sent: list[dict[str, Any]] = []
    server.protocol.send = lambda body: sent.append(json.loads(body))

    def said() -> list[str]:
        return [
            each["params"]["message"] for each in sent if each.get("method") == "window/showMessage"
        ]

    async def receive(**message: object) -> None:
        server.protocol.receive([{"jsonrpc": "2.0", **message}])
        await asyncio.sleep(0.01)

    capabilities = {"workspace": {"configuration": True}}
    await receive(id=1, method="initialize", params={"capabilities": capabilities})
    await receive(method="initialized", params={})
    document = {"uri": URI, "languageId": "python", "version": 1, "text": "x = \n"}
    if opened:
        await receive(method="textDocument/didOpen", params={"textDocument": document})
    assert said() == []
    (asked,) = [each for each in sent if each.get("method") == "workspace/configuration"]
    if answer is not None:
        await receive(id=asked["id"], result=[answer])
    elif opened:
        place = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 4}}
        await receive(id=2, method="textDocument/inlineCompletion", params=place)
    else:
        told = []  # nobody has asked for anything
    async with asyncio.timeout(20):
        while len(said()) < len(told):  # noqa: ASYNC110 - nothing to be told by
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)  # in which more might be said
    assert all(part in sentence for part, sentence in zip(told, said(), strict=True))
    await ended(server)
