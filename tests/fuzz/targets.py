"""What is fuzzed: each target takes bytes and raises where a law is broken."""

import asyncio
import json
import tempfile
import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import httpx

from lsp_completions.configuration.addresses import is_same
from lsp_completions.configuration.in_force import put_in_force
from lsp_completions.configuration.pairs import address_of
from lsp_completions.configuration.sources import Kind, Layer, Source
from lsp_completions.errors import Interrupted, UnexpectedReply
from lsp_completions.protocol import Server
from lsp_completions.providers.base import Event
from lsp_completions.server import CompletionServer
from lsp_completions.settings import Settings
from lsp_completions.sharing.git_config import entries_in
from lsp_completions.sharing.repository_names import clone_urls, name_of
from lsp_completions.stdio import Damage, Frames, frame
from lsp_completions.stdio.framing import MAX_HEADER
from lsp_completions.transport.event_stream import line_events, stream_events

LAST = {"the": "message after all that"}


def framing(data: bytes) -> None:
    """Split anyhow, bytes mean the same; and no rubbish costs the message after it."""
    after = data[1:] + frame(json.dumps(LAST).encode())
    pieces, whole = _fed(after, 1 + data[0] if data else 1), _fed(after, len(after))
    assert pieces == whole, (pieces, whole)
    assert whole[-1] == LAST


def _fed(data: bytes, size: int) -> list[object]:
    frames, found = Frames(), []
    for at in range(0, len(data), size):
        found += frames.feed(data[at : at + size])
        assert len(frames._buffer) <= max(MAX_HEADER, len(data))
    return ["damage" if isinstance(each, Damage) else each for each in found]


def streams(data: bytes) -> None:
    """A body cut anyhow has the same events, and ends in one of ours where it is broken."""
    size = 1 + data[0] % 9 if data else 1
    for read in (stream_events, line_events):
        whole, cut = [_driven(_events(read, data[1:], each)) for each in (max(1, len(data)), size)]
        assert whole == cut, (read.__name__, whole, cut)


async def _events(read: Callable[..., AsyncIterator[Event]], body: bytes, size: int) -> list[Any]:
    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(body), size):
            yield body[at : at + size]

    found: list[Any] = []
    try:
        async for event in read(httpx.Response(200, content=chunks()), "host"):
            found.append(event)  # noqa: PERF401 - what came before an error counts
    except (Interrupted, UnexpectedReply) as error:
        found.append(str(error))
    return found


def _driven(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of what waits for nothing."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


SOURCES = tuple(Source(name=kind.value, kind=kind) for kind in Kind)


def settings(data: bytes) -> None:
    """Whatever stands where settings belong, there are settings; what is wrong is a sentence."""
    layers = []
    for number, part in enumerate(data.split(b"\x00")[:6]):
        for read in (json.loads, tomllib.loads):
            try:
                layers.append(Layer(SOURCES[number % len(SOURCES)], read(part.decode())))
            except (ValueError, RecursionError):
                continue
    found = put_in_force(layers)
    assert isinstance(found.settings, Settings)
    for problem in found.problems:
        assert problem.message
        assert problem.message.isprintable() or "\n" not in problem.message
    own = put_in_force([layer for layer in layers if layer.source.is_trusted]).settings
    # Nobody but the user says where code goes, what goes there along, and what is run.
    address = address_of(found.settings)
    assert address is None or is_same(address, address_of(own)), address
    for key in ("access_token", "api_key", "headers") if address is not None else ():
        value = getattr(found.settings, key)
        assert value in (getattr(own, key), getattr(Settings(), key)), key
    assert found.settings.auth_command in (own.auth_command, None)


def git_config(data: bytes) -> None:
    """What stands in git's own files is read or passed over."""
    entries = [*entries_in(data.decode("utf-8-sig", "surrogateescape"))]
    for section, _, key, _ in entries:
        assert section == section.lower()
        assert key == key.lower()
    for url in clone_urls(entries):
        name_of(url)


# ---- a whole server

METHODS = (
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didClose",
    "textDocument/didFocus",
    "textDocument/didShowCompletion",
    "textDocument/didPartiallyAcceptCompletion",
    "textDocument/inlineCompletion",
    "textDocument/completion",
    "workspace/executeCommand",
    "workspace/didChangeConfiguration",
    "workspace/didChangeWorkspaceFolders",
    "initialized",
    "checkStatus",
    "signIn",
    "signOut",
    "$/cancelRequest",
    "no/such",
)
KEYS = (
    *("textDocument", "uri", "text", "version", "languageId", "contentChanges", "range", "start"),
    *("end", "line", "character", "position", "context", "triggerKind", "command", "arguments"),
    *("settings", "lspCompletions", "event", "added", "removed", "id", "item", "acceptedLength"),
    *("selectedCompletionInfo", "menu", "maxTokens", "exclude", "languages", "wordless"),
)
ATOMS: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, 4, -1, 1.0, 1.5, 2**31 - 1, 10**40, "", "a", "x = \n"),
    *("file:///w/a.py", "untitled:a", "\ud800", "😀é\r\n", "lspCompletions.didAcceptCompletion"),
    *("lspCompletions.toggle", "file:///%ff", "python"),
)
MOST = 40  # messages


class Dice:
    """Makes values of bytes."""

    def __init__(self, data: bytes) -> None:
        self._bytes = iter(data)
        self.spent = False

    def roll(self, sides: int) -> int:
        """A number below `sides`; 0 when there are no more bytes."""
        byte = next(self._bytes, None)
        self.spent = byte is None
        return (byte or 0) % sides

    def value(self, deep: int = 4) -> Any:
        """JSON of the words that a server looks for."""
        match self.roll(6) if deep else 0:
            case 1 | 2 | 3:
                return {
                    KEYS[self.roll(len(KEYS))]: self.value(deep - 1) for _ in range(self.roll(5))
                }
            case 4:
                return [self.value(deep - 1) for _ in range(self.roll(4))]
            case 5:
                return self.place()
            case _:
                return ATOMS[self.roll(len(ATOMS))]

    def place(self) -> dict[str, Any]:
        """A request at a place, more or less."""
        line = {"line": self.roll(4), "character": self.roll(6)}
        document = {"uri": "file:///w/a.py", "version": self.roll(9), "languageId": "python"}
        change = {"range": {"start": line, "end": line}, "text": ATOMS[self.roll(len(ATOMS))]}
        return {
            "textDocument": {**document, "text": "x = \ny = 1\n"},
            "position": line,
            "contentChanges": [change],
        }

    def messages(self) -> Iterator[Any]:
        """What an editor out of its mind sends."""
        while not self.spent:
            message: dict[str, Any] = {"jsonrpc": "2.0", "method": METHODS[self.roll(len(METHODS))]}
            message["params"] = self.value()
            if kind := self.roll(3):
                message["id"] = self.roll(5) if kind == 1 else self.value(1)
            if not self.roll(12):
                message.pop(("jsonrpc", "method", "params")[self.roll(3)])
            yield message


def messages(data: bytes) -> None:
    """Every request gets exactly one answer, whatever is in it, and the next one works."""
    asyncio.run(_talked(Dice(data)))


async def _talked(dice: Dice) -> None:
    server = CompletionServer()
    sent: list[dict[str, Any]] = []
    server.protocol.send = lambda body: sent.append(json.loads(body))
    stream = [each for _, each in zip(range(MOST), dice.messages(), strict=False)]
    first = {"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": {}}
    wanted: Counter[Any] = Counter(["first"])
    server.protocol.receive([first])
    for message in stream:
        if is_request(message):
            wanted[message["id"]] += 1
        server.protocol.receive([message])
        if not dice.roll(3):
            await asyncio.sleep(0)
    async with asyncio.timeout(30):
        while server.protocol._unanswered:  # noqa: ASYNC110 - tasks of ours, which end
            await asyncio.sleep(0.001)
    await ended(server)
    answers = Counter(each["id"] for each in sent if "method" not in each)
    del answers[None]
    assert answers == wanted, (answers - wanted, wanted - answers, stream)


async def ended(server: Server) -> None:
    """Wait until nothing of `server` runs any more."""
    waiting = server.protocol.close()
    waiting |= {asyncio.ensure_future(hook()) for hook in server.on_stop}
    _, late = await asyncio.wait(waiting, timeout=30)
    assert not late, late


def is_request(message: dict[str, Any]) -> bool:
    """Whether an answer with the id of `message` is due."""
    id = message.get("id")
    names_one = isinstance(id, int | str) or (isinstance(id, float) and id.is_integer())
    return names_one and not isinstance(id, bool)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "framing": framing,
    "streams": streams,
    "settings": settings,
    "git-config": git_config,
    "messages": messages,
}

SEEDS: dict[str, list[bytes]] = {
    "framing": [
        b"\x07Content-Length: 2\r\n\r\n{}",
        b"\x01content-length:3\n\n{}\n\nContent-Type: x\r\n\r\n",
        b"\x20Content-Length: 99\r\n\r\n{}Content-Length: 1\r\n\r\n",
    ],
    "streams": [
        b'\x03event: completion\ndata: {"deltaText":"a"}\n\n: ping\n\nevent: done\ndata: {}\n\n',
        b"\x01\xef\xbb\xbfid: 1\r\nretry: 5\r\ndata: [DONE]\r\n\r\n",
        b'\x02{"response":"a","done":false}\n{"response":"","done":true}\n',
        b"\x05Rate limit exceeded\n",
    ],
    "settings": [
        b'{"endpoint":"https://a.b","accessToken":"t"}\x00{"maxTokens":5,"exclude":["*.x"]}',
        b'endpoint = "http://x"\n[headers]\nX = "y"\n\x00menu = "on"\x00{"url":"http://y"}',
    ],
    "git-config": [
        b'[remote "origin"]\n\turl = https://a.b/c.git\n[url "https://x/"]\n\tinsteadOf = gh:\n',
        b'[core]\n\tbare\n\tx = "a\\"b" # c\n[a.b]\n\ty = z\\\n  w\n',
    ],
    "messages": [bytes(range(256)), bytes([0, 5] * 40), bytes([6, 5, 1, 1] * 40)],
}


def seeded(name: str) -> Path:
    """A folder with the seeds of a target, one a file."""
    folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
    for number, seed in enumerate(SEEDS[name]):
        (folder / f"seed{number}").write_bytes(seed)
    return folder
