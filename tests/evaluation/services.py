"""Who is asked by an editor: this server, whole, with only the model played by an oracle."""

import json
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from lsp_completions.configuration.places import Places, Read
from lsp_completions.configuration.sources import Kind, Layer, Source
from lsp_completions.providers.base import Event, HttpRequest
from lsp_completions.server import CompletionServer
from lsp_completions.server.by_hand import ByHand
from lsp_completions.server.offered import ACCEPTED, INLINE, MENU
from lsp_completions.transport import Timeouts, Transport
from tests.evaluation.edits import Edit
from tests.evaluation.keys import Key
from tests.evaluation.oracle import Oracle

URI = "untitled:typed"
# An API that takes what stands around the cursor as it is.
SETTINGS = {"provider": "mistral", "apiKey": "none"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came: `text` is to stand from `start` on, before what follows the cursor."""

    start: int
    text: str
    replaced: int = 0
    """So many characters after the cursor go."""
    is_incomplete: bool = False
    identity: str = ""
    """By which what becomes of it is reported."""


Told = Callable[[int, Answer | None], None]
"""Is given the number of a request, and the answer; `None` where there is nothing to show."""


class Service(Protocol):
    """What an editor talks to. Numbers of requests are the editor's."""

    def open(self, edit: Edit, told: Told) -> None:
        """The document as it is before the first edit."""

    def change(self, text: str, key: Key) -> None:
        """`text` is how it was before."""

    def accepted(self, identity: str) -> None:
        """A suggestion was accepted, and the document is changed already."""

    def accepted_part(self, identity: str, length: int) -> None:
        """So many characters of a suggestion were accepted by now."""

    def ask(self, number: int, text: str, cursor: int, *, menu: bool, kind: int) -> None: ...

    def cancel(self, number: int) -> None: ...

    async def aclose(self) -> None: ...


class Conversation:
    """What an editor and a language server say to each other."""

    def __init__(self, *, inline: bool) -> None:
        self._inline = inline
        self._versions = count(2)
        self._text = ""
        self.told_the_user: list[str] = []
        self._told: Told = lambda number, answer: None
        self._ids = count(1_000_000)
        self._asked: dict[int, int] = {}  # where the cursor was

    def open(self, edit: Edit, told: Told) -> None:
        self._told = told
        self._text = edit.begun
        text_document: dict[str, Any] = {
            "completion": {"completionItem": {"snippetSupport": False}},
        }
        if self._inline:
            text_document["inlineCompletion"] = {}
        capabilities = {
            "general": {"positionEncodings": ["utf-32"]},
            "textDocument": text_document,
            "workspace": {"executeCommand": {}},
        }
        self._send(
            "initialize",
            {
                "processId": None,
                "rootUri": None,
                "capabilities": capabilities,
                "clientInfo": {"name": "replay"},
            },
            next(self._ids),
        )
        self._send("initialized", {})
        document = {"uri": URI, "languageId": edit.language, "version": 1, "text": self._text}
        self._send("textDocument/didOpen", {"textDocument": document})

    def change(self, text: str, key: Key) -> None:
        place = {"start": position(text, key.start), "end": position(text, key.end)}
        self._text = key.applied(text)
        self._send(
            "textDocument/didChange",
            {
                "textDocument": {"uri": URI, "version": next(self._versions)},
                "contentChanges": [{"range": place, "text": key.new}],
            },
        )

    def ask(self, number: int, text: str, cursor: int, *, menu: bool, kind: int) -> None:
        self._asked[number] = cursor
        self._send(
            MENU if menu else INLINE,
            {
                "textDocument": {"uri": URI},
                "position": position(text, cursor),
                "context": {"triggerKind": kind},
            },
            number,
        )

    def cancel(self, number: int) -> None:
        self._send("$/cancelRequest", {"id": number})

    def accepted(self, identity: str) -> None:
        command = {"command": ACCEPTED, "arguments": [identity]}
        self._send("workspace/executeCommand", command, next(self._ids))

    def accepted_part(self, identity: str, length: int) -> None:
        command = {"title": "", "command": ACCEPTED, "arguments": [identity]}
        self._send(
            "textDocument/didPartiallyAcceptCompletion",
            {"item": {"command": command}, "acceptedLength": length},
        )

    def _deliver(self, message: dict[str, Any]) -> None:
        raise NotImplementedError

    def _send(self, method: str, params: object, id: int | None = None) -> None:
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": params}
        if id is not None:
            message["id"] = id
        self._deliver(message)

    def _take(self, body: bytes) -> None:
        message = json.loads(body)
        if message.get("method") == "window/showMessage":
            self.told_the_user.append(message["params"]["message"])
        number = message.get("id")
        if "method" in message or not isinstance(number, int) or number >= 1_000_000:
            return
        cursor = self._asked.pop(number)
        result = message.get("result")
        items = result["items"] if result else []
        if not items:
            self._told(number, None)
            return
        edit = items[0].get("textEdit") or {
            "range": items[0]["range"],
            "newText": items[0]["insertText"],
        }
        start, end = (offset(self._text, edit["range"][side]) for side in ("start", "end"))
        self._told(
            number,
            Answer(
                start=start,
                text=edit["newText"],
                replaced=end - max(start, cursor),
                is_incomplete=bool(result.get("isIncomplete")),
                identity=(items[0].get("command") or {}).get("arguments", [""])[0],
            ),
        )


class OurServer(Conversation):
    """The server as an editor meets it, fed with messages."""

    def __init__(self, oracle: Oracle, *, inline: bool, clock: Callable[[], float]) -> None:
        super().__init__(inline=inline)
        self._server = CompletionServer(_Asked(oracle))
        self._server.following.places = _OfNobody()
        self._server.conversation.by_hand = ByHand(lambda: self._server.client, clock)
        self._server.protocol.send = self._take

    async def aclose(self) -> None:
        self._server.protocol.close()
        for hook in self._server.on_stop:
            await hook()

    def _deliver(self, message: dict[str, Any]) -> None:
        self._server.protocol.receive([json.loads(json.dumps(message))])


class _Asked(Transport):
    """Reaches an oracle, and nobody else."""

    def __init__(self, oracle: Oracle) -> None:
        super().__init__()
        self._oracle = oracle

    async def events(self, request: HttpRequest, timeouts: Timeouts) -> AsyncGenerator[Event, None]:
        asked = json.loads(request.body)
        stream = self._oracle.stream(
            asked["prompt"], most=asked["max_tokens"], stops=asked.get("stop") or ()
        )
        async with aclosing(stream) as tokens:
            async for token in tokens:
                yield _event(delta={"content": token})
        yield _event(delta={}, finish_reason="stop")


def _event(**choice: object) -> Event:
    return Event(name="message", data=json.dumps({"choices": [choice]}))


class _OfNobody(Places):
    """No file of whoever runs this has a say."""

    def read(self, roots: Iterable[str]) -> Read:
        return Read(layers=(Layer(Source(name="the replay", kind=Kind.OWN), SETTINGS),))

    def have_changed(self, roots: Iterable[str]) -> bool:
        return False


def position(text: str, offset: int) -> dict[str, int]:
    """As LSP has it, with columns in code points."""
    line = text.count("\n", 0, offset)
    return {"line": line, "character": offset - text.rfind("\n", 0, offset) - 1}


def offset(text: str, place: dict[str, int]) -> int:
    at = 0
    for _ in range(place["line"]):
        at = text.index("\n", at) + 1
    return at + place["character"]
