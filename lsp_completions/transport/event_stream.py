"""Events out of a response, none lost and none made up: server-sent ones, or JSON a line each.

httpx-sse 0.4.3 does the reading; what it gets wrong is mended before and after it.
"""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import cast

import httpx
from httpx_sse import EventSource

from lsp_completions.errors import Interrupted, UnexpectedReply
from lsp_completions.providers.base import Event

# One event, or a whole answer: a completion is a few KiB.
MAX_BYTES = 1024 * 1024
MAX_BEGINNING = 2 * 1024  # bytes: enough for any sentence
BOM = b"\xef\xbb\xbf"
# A blank line, a comment, or a field.
_IN_A_STREAM = re.compile(r"\s*\Z|:|(?:event|data|id|retry)(?::|\Z)")
# A stream is UTF-8 whatever its charset says; httpx-sse would go by the charset.
_IN_UTF_8 = {"content-type": "text/event-stream; charset=utf-8"}


async def stream_events(response: httpx.Response, host: str) -> AsyncGenerator[Event, None]:
    """Yield the events of `response`, those without data among them.

    The end of the body ends its last event too, as some gateways have it; an event that was cut
    off there raises `Interrupted`. A body that is something else, an error in plain words say, is
    one event without a name, as it is under its own content type.
    """
    stream = _Bytes(response, host)
    source = EventSource(httpx.Response(200, headers=_IN_UTF_8, stream=stream))
    any_event = False
    async with aclosing(source.aiter_sse()) as events:
        async for sse in events:
            any_event = True
            stream.since_event = 0
            if stream.ended and not _is_whole(sse.data):
                raise Interrupted(f"The answer of {host} broke off within an event.")
            yield Event(name=sse.event, data=sse.data)
    beginning = stream.beginning.decode("utf-8", "replace")
    if not any_event and not all(map(_IN_A_STREAM.match, beginning.splitlines())):
        yield Event(data=beginning.strip())


async def line_events(response: httpx.Response, host: str) -> AsyncGenerator[Event, None]:
    """Yield each line of `response` that is not blank as an event.

    A last line without its end is one too; if it was cut off there, `Interrupted` is raised.
    """
    line = bytearray()
    async with chunks_of(response) as chunks:
        async for chunk in chunks:
            first, *rest = chunk.split(b"\n")
            line += first
            for next_line in rest:
                if text := _line(line):
                    yield Event(name="message", data=text)
                line = bytearray(next_line)
            if len(line) > MAX_BYTES:
                raise UnexpectedReply(f"{host} sent a line of more than 1 MiB.")
    if text := _line(line):
        if not _is_whole(text):
            raise Interrupted(f"The answer of {host} broke off within a line.")
        yield Event(name="message", data=text)


def _line(line: bytearray) -> str:
    return line.removeprefix(BOM).decode("utf-8", "replace").strip()


def chunks_of(response: httpx.Response) -> "aclosing[AsyncGenerator[bytes, None]]":
    """Return the chunks of the body, decompressed, as a context that closes them."""
    return aclosing(cast("AsyncGenerator[bytes, None]", response.aiter_bytes()))


class _Bytes(httpx.AsyncByteStream):
    """The bytes of a stream as httpx-sse reads them without loss.

    It takes a byte-order mark for part of the first field, and drops an event that the end of the
    body leaves open; so the mark is taken off and a blank line put at the end.
    """

    def __init__(self, response: httpx.Response, host: str) -> None:
        self._response = response
        self._host = host
        self.since_event = 0
        self.beginning = b""
        self.ended = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        start: bytes | None = b""
        async with chunks_of(self._response) as chunks:
            async for chunk in chunks:
                self.since_event += len(chunk)
                if self.since_event > MAX_BYTES:
                    raise UnexpectedReply(f"{self._host} sent an event of more than 1 MiB.")
                if start is not None:
                    start += chunk
                    if len(start) < len(BOM) and BOM.startswith(start):
                        continue
                    chunk, start = start.removeprefix(BOM), None
                if chunk:
                    if len(self.beginning) < MAX_BEGINNING:
                        self.beginning += chunk[:MAX_BEGINNING]
                    yield chunk
        self.ended = True
        yield (start or b"") + b"\n\n"


def _is_whole(data: str) -> bool:
    """Whether an event that only the end of the body has closed was meant to end there."""
    if not data.startswith("{"):
        return True
    try:
        json.loads(data)
    except ValueError:
        return False
    return True
