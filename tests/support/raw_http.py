"""A server that reads HTTP requests and puts bytes on the wire as they stand.

For what no HTTP library would send: cut, wrong, late. `tests.support.sourcegraph` answers like a
real instance.

    async with RawServer(sse(b"data: 1\n\n")) as server:
        ... server.url, server.requests, server.connections, server.open
"""

import asyncio
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Self

from tests.support.accepting import stop_accepting


class Action(Enum):
    CLOSE = "end the connection"
    RESET = "reset the connection"
    HOLD = "say nothing more until the client hangs up"
    HALF = "end our half of the connection, and go on listening"


CLOSE, RESET, HOLD, HALF = Action.CLOSE, Action.RESET, Action.HOLD, Action.HALF

Step = (
    bytes
    | float
    | asyncio.Event
    | Action
    # What takes time, reads whether the client hangs up, and says whether to go on.
    | Callable[[asyncio.StreamReader], Awaitable[bool]]
)
Reply = Sequence[Step]


@dataclass(eq=False)
class Request:
    connection: int
    line: str
    headers: dict[str, str]
    body: bytes


class RawServer:
    """Answers the first request with the first reply, and so on; the last one stays."""

    def __init__(
        self,
        *replies: Reply,
        host: str = "127.0.0.1",
        port: int = 0,
        ssl_context: ssl.SSLContext | None = None,
        name: str | None = None,
    ) -> None:
        self.replies: Sequence[Reply] = replies
        self.requests: list[Request] = []
        self.connections = 0
        self.open = 0
        self.changed = asyncio.Condition()
        self.port = port
        self._host = host
        self._name = name or (f"[{host}]" if ":" in host else host)
        self._ssl = ssl_context
        self.writers: dict[int, asyncio.StreamWriter] = {}
        """The connections that are open, by their numbers."""

    @property
    def url(self) -> str:
        return f"{'https' if self._ssl else 'http'}://{self._name}:{self.port}/complete"

    def reply(self, request: Request) -> Reply:
        """What to answer to a request, which is the latest of `self.requests`."""
        return self.replies[min(len(self.requests), len(self.replies)) - 1]

    async def until(self, reached: "object", patience: float | None = 60) -> None:
        assert callable(reached)
        async with asyncio.timeout(patience), self.changed:
            await self.changed.wait_for(reached)

    async def close_connections(self) -> None:
        """End the connections that are open, as a server does with idle ones."""
        for writer in list(self.writers.values()):
            writer.close()
        await self.until(lambda: self.open == 0)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self._host, self.port, ssl=self._ssl)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        await stop_accepting(self._server)
        for writer in list(self.writers.values()):
            writer.transport.abort()
        await self.until(lambda: self.open == 0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        self.writers[number] = writer
        await self._note(opened=1)
        try:
            while await self._answer(number, reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client hung up
        finally:
            writer.transport.abort()
            del self.writers[number]
            await self._note(opened=-1)

    async def _answer(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
        fields = [line.split(": ", 1) for line in head[1:] if line]
        headers = {name.lower(): value for name, value in fields}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.requests.append(Request(number, head[0], headers, body))
        await self._note()
        for step in self.reply(self.requests[-1]):
            match step:
                case bytes():
                    writer.write(step)
                    await writer.drain()
                case float():
                    await asyncio.sleep(step)
                case asyncio.Event():
                    await step.wait()
                case Action.HOLD:
                    await reader.read()
                    return False
                case Action.CLOSE:
                    writer.close()
                    return False
                case Action.HALF:
                    writer.write_eof()
                case Action.RESET:
                    raw = writer.get_extra_info("socket")
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return False
                case _:
                    if not await step(reader):
                        return False
        return True

    async def _note(self, opened: int = 0) -> None:
        async with self.changed:
            self.open += opened
            self.changed.notify_all()


def head(*lines: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode("latin-1")


def chunked(*parts: bytes, end: bool = True) -> bytes:
    """`parts` as HTTP chunks, and the chunk that ends the body."""
    body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts if part)
    return body + b"0\r\n\r\n" if end else body


def sse(*parts: bytes, content_type: str = "text/event-stream", status: str = "200 OK") -> Reply:
    """A stream of events, each part a chunk of its own."""
    return [
        head(f"Content-Type: {content_type}", "Transfer-Encoding: chunked", status=status),
        chunked(*parts),
    ]


def whole(body: bytes, *, content_type: str = "application/json", status: str = "200 OK") -> Reply:
    """A body with its length."""
    return [
        head(f"Content-Type: {content_type}", f"Content-Length: {len(body)}", status=status) + body
    ]
