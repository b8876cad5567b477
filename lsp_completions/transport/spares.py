"""Connections opened ahead of the requests that will use them.

Leaving a stream closes its connection, so the next request would wait for another: two or three
times the way to the host and back, with TLS. Hence one more is opened while a stream runs.
"""

import asyncio
import contextlib
import logging
import ssl
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import httpcore
import httpx
from httpcore._async.http11 import HTTPConnectionState

from lsp_completions.errors import CompletionsError
from lsp_completions.transport.network import is_loopback

log = logging.getLogger(__name__)

# Seconds without a spare after one could not be had, or was closed at once: some hosts and proxies
# allow one connection only.
_LEFT_ALONE = 60.0
_AT_ONCE = 1.0  # seconds
# Seconds a request waits for a spare that is on its way: what a handshake takes with a host on
# another continent. What takes longer hangs.
_WORTH_WAITING = 0.25
# What may go wrong on the way to a host: httpcore's errors, and what it lets pass, and ours.
_TROUBLE = (
    httpcore.NetworkError,
    httpcore.TimeoutException,
    OSError,
    UnicodeError,
    ExceptionGroup,
    CompletionsError,
)


class Pool(Protocol):
    """Where a spare waits."""

    def has_idle(self, origin: httpcore.Origin) -> bool:
        """Whether a connection to `origin` waits for a request."""

    async def open_spare(
        self, origin: httpcore.Origin, *, timeout: float, refused: Callable[[], None]
    ) -> None:
        """Add a connection, if there is room. `refused` is told when it is closed at once."""


class Spares:
    """Sees to it that a connection waits at each host whose streams may be left: one, no more."""

    def __init__(self, pool_for: Callable[[httpx.URL], Awaitable[Pool]]) -> None:
        self._pool_for = pool_for
        self._opening: dict[_Place, asyncio.Task[None]] = {}
        self._left_alone_until: dict[_Place, float] = {}
        self._closed = False

    def want(self, url: httpx.URL, *, timeout: float) -> None:
        """Have one ready beside the connection in use; the host sees a handshake and no request.

        Only where it takes long, which is with TLS and not on this machine.
        """
        place = _place(url)
        if (
            url.scheme == "https"
            and not is_loopback(url.host.lower().rstrip("."))
            and not self._closed
            and place not in self._opening
            and time.monotonic() >= self._left_alone_until.get(place, 0)
        ):
            task = asyncio.create_task(self._open(url, timeout), name="ahead")
            self._opening[place] = task
            task.add_done_callback(lambda _: self._opening.pop(place))

    async def nearly_ready(self, url: httpx.URL, pool: Pool) -> None:
        """Wait for a spare on its way to `url`: it is there sooner than one that starts now."""
        opening = self._opening.get(_place(url))
        if opening is not None and not pool.has_idle(_origin(url)):
            await asyncio.wait([opening], timeout=_WORTH_WAITING)

    async def aclose(self) -> None:
        """Give up what is being opened; what is open is the pool's."""
        self._closed = True
        opening = list(self._opening.values())
        for task in opening:
            task.cancel()
        if opening:
            await asyncio.wait(opening)

    async def _open(self, url: httpx.URL, timeout: float) -> None:
        def refused() -> None:
            self._left_alone_until[_place(url)] = time.monotonic() + _LEFT_ALONE

        origin = _origin(url)
        try:
            pool = await self._pool_for(url)
            if not pool.has_idle(origin):
                await pool.open_spare(origin, timeout=timeout, refused=refused)
        except _TROUBLE as error:
            log.debug("No connection was opened ahead (%s).", type(error).__name__)
            refused()


_Place = tuple[bytes, int]


def _place(url: httpx.URL) -> _Place:
    return url.raw_host, url.port or 443


def _origin(url: httpx.URL) -> httpcore.Origin:
    return httpcore.Origin(url.raw_scheme, url.raw_host, url.port or 443)


async def open_spare(
    connection: httpcore.AsyncHTTPConnection,
    *,
    origin: httpcore.Origin,
    backend: httpcore.AsyncNetworkBackend,
    context: ssl.SSLContext,
    keepalive_expiry: float,
    timeout: float,
    refused: Callable[[], None],
) -> None:
    """Connect, so that a pool takes `connection` for one that has been used and now waits.

    Nothing stays open when this fails or is cancelled.
    """
    host = origin.host.decode("ascii")
    stream = await backend.connect_tcp(host, origin.port, timeout=timeout)
    try:
        stream = await stream.start_tls(context, host, timeout=timeout)
    except BaseException:
        await stream.aclose()
        raise
    listening = Listening(stream, seconds=keepalive_expiry, refused=refused)
    ready = httpcore.AsyncHTTP11Connection(origin, listening, keepalive_expiry)
    ready._state = HTTPConnectionState.IDLE
    ready._expire_at = time.monotonic() + keepalive_expiry
    connection._connection = ready


class Listening(httpcore.AsyncNetworkStream):
    """A stream that is read until it is first used, and closed when there is anything to read.

    What comes unasked is the end, or a server's word that it has waited long enough. The tickets
    that hosts send after the handshake with TLS 1.3 are swallowed by reading; as long as they lie
    unread httpcore 1.0.9 takes the connection for closed.
    """

    def __init__(
        self, stream: httpcore.AsyncNetworkStream, *, seconds: float, refused: Callable[[], None]
    ) -> None:
        self._stream = stream
        self._refused = refused
        self._used = False
        self._reading = asyncio.create_task(self._read_on(seconds), name="spare")

    async def _read_on(self, seconds: float) -> None:
        began = time.monotonic()
        with contextlib.suppress(*_TROUBLE):
            await self._stream.read(1, timeout=seconds)
        if time.monotonic() - began < _AT_ONCE:
            self._refused()
        await self._stream.aclose()

    async def _stop_reading(self) -> None:
        self._reading.cancel()
        await asyncio.wait([self._reading])

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what comes, as after a request."""
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send something, after which what comes is an answer."""
        if not self._used:
            self._used = True
            if self._reading.done():
                raise httpcore.WriteError("The host had closed the connection.")
            await self._stop_reading()
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close it."""
        try:
            await self._stop_reading()
        finally:
            await self._stream.aclose()

    def get_extra_info(self, info: str) -> Any:
        """Tell of the stream; before it is used, that there is something to read where it ended."""
        if info == "is_readable" and not self._used:
            return self._reading.done()
        return self._stream.get_extra_info(info)
