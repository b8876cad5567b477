"""Proxies on loopback that lead to one port whatever they are asked for.

async with ProxyServer(Kind.SOCKS5, to=server.port, login=("me", "secret")) as proxy:
    ... proxy.url, proxy.asked, proxy.open, proxy.connections
"""

import asyncio
import base64
import ssl
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Self

from tests.support.accepting import stop_accepting


class Kind(StrEnum):
    HTTP = "http"
    HTTPS = "https"
    SOCKS5 = "socks5"
    UNIX = "unix"


# A unix socket, where there is such a thing.
KINDS = tuple(kind for kind in Kind if sys.platform != "win32" or kind is not Kind.UNIX)


class ProxyServer:
    """Speaks to clients as a proxy of its kind does, and passes on what follows."""

    def __init__(
        self,
        kind: Kind,
        *,
        to: int = 0,
        login: tuple[str, str] | None = None,
        offers: Sequence[str] = ("Basic",),
        ssl_context: ssl.SSLContext | None = None,
        says: bytes | None = None,
        piecemeal: bool = False,
        hangs: bool = False,
    ) -> None:
        self.kind = kind
        self.asked: list[str] = []
        """The targets, as `host:port`; of a request handed over whole its first line."""
        self.connections = 0
        self.open = 0
        self._to = to
        self._login = login
        self._offers = offers
        self._ssl = ssl_context
        self._says = says  # in place of its own answer to what is asked last
        self._piecemeal = piecemeal
        self._hangs = hangs
        self._changed = asyncio.Condition()
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def place(self) -> str:
        return self._path if self.kind is Kind.UNIX else f"localhost:{self.port}"

    @property
    def url(self) -> str:
        return f"unix:{self._path}" if self.kind is Kind.UNIX else f"{self.kind}://{self.place}"

    def url_with(self, login: str) -> str:
        return self.url.replace("://", f"://{login}@")

    async def until_left(self) -> None:
        """Wait until nobody is connected any more."""
        async with asyncio.timeout(20), self._changed:
            await self._changed.wait_for(lambda: self.open == 0)

    async def until_reached(self) -> None:
        async with asyncio.timeout(20), self._changed:
            await self._changed.wait_for(lambda: self.open > 0)

    def slam(self, *, hangs: bool = False) -> None:
        """End all connections, from any thread; new ones are let in, or kept waiting."""
        loop = self._server.get_loop()
        asyncio.run_coroutine_threadsafe(self._slam(hangs), loop).result(20)

    async def _slam(self, hangs: bool) -> None:
        self._hangs = hangs
        all_so_far = self.connections
        self._abort()
        async with asyncio.timeout(20), self._changed:
            await self._changed.wait_for(lambda: self.connections - self.open >= all_so_far)

    def _abort(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def __aenter__(self) -> Self:
        if self.kind is Kind.UNIX:
            # Short: the path of a socket may have some hundred letters.
            self._folder = tempfile.TemporaryDirectory(prefix="px")
            self._path = str(Path(self._folder.name) / "proxy")
            self._server = await asyncio.start_unix_server(self._serve, self._path)
        else:
            self._server = await asyncio.start_server(
                self._serve, "127.0.0.1", 0, ssl=self._ssl if self.kind is Kind.HTTPS else None
            )
            self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        await stop_accepting(self._server)
        self._abort()
        await self.until_left()
        if self.kind is Kind.UNIX:
            self._folder.cleanup()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self.connections += 1
        await self._note(1)
        try:
            if self._hangs:
                await reader.read()
            elif (first := await self._agree(reader, writer)) is not None:
                there = await asyncio.open_connection("127.0.0.1", self._to)
                self._writers.add(there[1])
                there[1].write(first)
                await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))
                there[1].transport.abort()
                self._writers.discard(there[1])
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            with suppress(OSError):
                await writer.drain()
            writer.close()
            self._writers.discard(writer)
            await self._note(-1)

    async def _note(self, change: int) -> None:
        async with self._changed:
            self.open += change
            self._changed.notify_all()

    async def _agree(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes | None:
        """Agree with the client; what goes to the target first, `None` when it goes nowhere."""
        match self.kind:
            case Kind.UNIX:
                self.asked.append("")
                return b""
            case Kind.SOCKS5:
                return await self._agree_by_socks(reader, writer)
            case _:
                return await self._agree_by_http(reader, writer)

    async def _say(self, writer: asyncio.StreamWriter, content: bytes) -> None:
        step = 1 if self._piecemeal else len(content) or 1
        for start in range(0, len(content), step):
            writer.write(content[start : start + step])
            await writer.drain()
            await asyncio.sleep(0)

    async def _agree_by_http(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes | None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.splitlines()
        method, target, _ = first.split(" ")
        self.asked.append(target if method == "CONNECT" else first)
        headers = {line.partition(": ")[0].lower(): line.partition(": ")[2] for line in lines}
        if self._says is not None:
            await self._say(writer, self._says)
            return None
        if self._login is not None:
            login = base64.b64encode(":".join(self._login).encode()).decode()
            if headers.get("proxy-authorization") != f"Basic {login}":
                offers = "".join(f"Proxy-Authenticate: {offer}\r\n" for offer in self._offers)
                await self._say(
                    writer,
                    b"HTTP/1.1 407 Proxy Authentication Required\r\n"
                    + offers.encode()
                    + b"Content-Length: 0\r\n\r\n",
                )
                return None
        if method == "CONNECT":
            await self._say(writer, b"HTTP/1.1 200 Connection established\r\nX: y\r\n\r\n")
            return b""
        return head.encode("latin-1")

    async def _agree_by_socks(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes | None:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        method = 0 if self._login is None else 2
        if method not in methods:
            await self._say(writer, b"\x05\xff")
            return None
        await self._say(writer, bytes([5, method]))
        if self._login is not None:
            _, length = await reader.readexactly(2)
            username = await reader.readexactly(length)
            (length,) = await reader.readexactly(1)
            password = await reader.readexactly(length)
            right = (username.decode(), password.decode()) == self._login
            await self._say(writer, b"\x01\x00" if right else b"\x01\x01")
            if not right:
                return None
        *_, kind = await reader.readexactly(4)
        (length,) = {1: b"\x04", 4: b"\x10"}.get(kind) or await reader.readexactly(1)
        host = (await reader.readexactly(length)).decode("latin-1")
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.asked.append(f"{host}:{port}")
        if self._says is not None:
            await self._say(writer, self._says)
            return None
        # Bound to a name, as some do, so that the length has to be looked at.
        await self._say(writer, b"\x05\x00\x00\x03\x05proxy\x1f\x90")
        return b""


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while part := await reader.read(65536):
            writer.write(part)
            await writer.drain()
    writer.close()


@contextmanager
def running_proxy(proxy: ProxyServer) -> Iterator[ProxyServer]:
    """Run a proxy in a thread of its own, for tests that are not coroutines."""
    started, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def run() -> None:
        async with proxy:
            started.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=[run()])
    thread.start()
    try:
        assert started.wait(20)
        yield proxy
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(20)
        loop.close()
