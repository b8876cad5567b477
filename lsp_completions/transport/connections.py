"""Connections to providers: one HTTP client over pools that lose no connection.

HTTP/1.1 only: httpx's HTTP/2 does not tell the server that a stream was abandoned, so the model
would go on generating.
"""

import asyncio
import http.cookiejar
import logging
import ssl
import time
from collections.abc import Callable
from functools import cached_property

import httpcore
import httpx

from lsp_completions.proxy_address import ProxyAddress
from lsp_completions.transport.certificates import Trust, load_trust
from lsp_completions.transport.dialers import Dialer, Socks, Tunnel, UnixSocket
from lsp_completions.transport.network import Network, Report
from lsp_completions.transport.proxies import Proxies, Proxy, find_proxies
from lsp_completions.transport.spares import Spares, open_spare

# Seconds; just under the minute after which common proxies drop an idle connection.
_KEPT = 55.0
_SLEPT = 5.0  # seconds; clocks that are kept right go by less


class Connections:
    """The one client and its pools; belongs to the event loop it is first used in."""

    def __init__(
        self,
        *,
        limit: int,
        report: Report,
        network: Network = Network(),  # noqa: B008 - frozen
        spares: bool = False,
    ) -> None:
        self.report = report
        self.spares = Spares(self.pool_for) if spares else None
        self._limit = limit
        self._network = network
        self._pools: dict[tuple[ProxyAddress | None, bool], ReapingPool] = {}
        self._ways: dict[tuple[str, str, int | None], Proxy | None] = {}
        self._trust: asyncio.Future[Trust] | None = None
        self._sleep = Sleep()
        self._warned: set[str] = set()

    @cached_property
    def client(self) -> httpx.AsyncClient:
        """The client, built on first use: it costs memory that an idle editor need not spend."""
        # At INFO httpx logs the URL of each request, at DEBUG httpcore what it passes around.
        for library in ("httpx", "httpcore"):
            logging.getLogger(library).setLevel(logging.WARNING)
        return httpx.AsyncClient(
            transport=_Routes(self),
            # We read the environment ourselves: httpx 0.28.1 fails on proxies it cannot use.
            trust_env=False,
            follow_redirects=False,
            headers={"Accept-Encoding": "identity"},
            cookies=http.cookiejar.CookieJar(
                http.cookiejar.DefaultCookiePolicy(allowed_domains=[])
            ),
        )

    async def proxy_for(self, url: httpx.URL) -> Proxy | None:
        """Return the proxy on the way to `url`."""
        host = url.raw_host.decode("ascii")
        way = (url.scheme, host, url.port)
        if way not in self._ways:
            proxies = self._proxies
            if proxies.are_the_systems:
                self._ways[way] = await asyncio.to_thread(proxies.proxy_for, *way)
            else:
                self._ways[way] = proxies.proxy_for(*way)
        return self._ways[way]

    async def pool_for(self, url: httpx.URL) -> "ReapingPool":
        """Return the pool for `url`: one for each proxy, with and without TLS."""
        if self._sleep.is_over():
            # Routers have forgotten them meanwhile, or the network is another one: no sign of that
            # comes, and a request on one of them would wait until it is too late.
            await self.drop_idle()
        found = await self.proxy_for(url)
        proxy = None if found is None else found.address
        tls = url.scheme == "https" or (proxy is not None and proxy.scheme == "https")
        context = (await self.trust()).context if tls else None
        way = (proxy, url.scheme == "https")
        if way not in self._pools:
            self._pools[way] = ReapingPool(
                ssl_context=context,
                max_connections=self._limit,
                keepalive_expiry=_KEPT,
                proxy=_forwarder(proxy, url, context),
                network_backend=dialer_to(url, proxy, context),
            )
        return self._pools[way]

    def warn_of_plain_text(self, host: str) -> None:
        """Say once that a token goes to `host` for everybody on the way to read."""
        if host not in self._warned:
            self._warned.add(host)
            self.report(
                f"The token and your code go to {host} without encryption;"
                " use https:// where the server has it."
            )

    async def drop_idle(self) -> None:
        """Close all idle connections, as one of them turned out to be dead.

        Whoever asks meanwhile finds none of them; being cancelled here leaves none open.
        """
        idle = [(pool, pool.take_idle()) for pool in self.pools]
        closing = [pool.close(connections) for pool, connections in idle]
        await asyncio.shield(asyncio.gather(*closing))

    @property
    def pools(self) -> "list[ReapingPool]":
        """All pools in use, for tests and reports."""
        return list(self._pools.values())

    async def aclose(self) -> None:
        """Close everything."""
        if self.spares is not None:
            await self.spares.aclose()
        if "client" in self.__dict__:
            await self.client.aclose()

    async def trust(self) -> Trust:
        """Return what all connections share for TLS; reading the system's store takes a while."""
        if self._trust is None:
            loop = asyncio.get_running_loop()

            def report(problem: str) -> None:
                loop.call_soon_threadsafe(self.report, problem)

            self._trust = asyncio.ensure_future(
                asyncio.to_thread(load_trust, report, self._network)
            )
        return await asyncio.shield(self._trust)

    @cached_property
    def _proxies(self) -> Proxies:
        return find_proxies(self.report, self._network.proxy)


class Sleep:
    """Notices that the machine slept, by the wall clock; most clocks stand still meanwhile."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()

    def is_over(self) -> bool:
        """Whether it slept since this was asked last. A clock that was set looks the same."""
        before, self._ahead = self._ahead, time.time() - time.monotonic()
        return abs(self._ahead - before) > _SLEPT


def dialer_to(
    url: httpx.URL, proxy: ProxyAddress | None, context: ssl.SSLContext | None
) -> Dialer | None:
    """What connects to `url` through `proxy`; `None` where a plain connection is made."""
    if proxy is None:
        return None
    match proxy.scheme:
        case "unix":
            return UnixSocket(proxy)
        case "socks5":
            return Socks(proxy)
        case "http" | "https" if url.scheme == "https":
            return Tunnel(proxy, context)
        case _:
            return None


def _forwarder(
    proxy: ProxyAddress | None, url: httpx.URL, context: ssl.SSLContext | None
) -> httpcore.Proxy | None:
    """The proxy that is handed requests whole, as it is done without TLS."""
    if proxy is None or proxy.scheme not in ("http", "https") or url.scheme == "https":
        return None
    login = (proxy.username.encode(), proxy.password.encode()) if proxy.has_login else None
    return httpcore.Proxy(
        httpcore.URL(scheme=proxy.scheme, host=proxy.host, port=proxy.port, target="/"),
        auth=login,
        ssl_context=context if proxy.scheme == "https" else None,
    )


class ReapingPool(httpcore.AsyncConnectionPool):
    """A pool that gets back the connections which httpcore 1.0.9 loses.

    A request cancelled between being given a connection and marking it active leaves the
    connection in the pool for ever, neither idle nor closed, and enough of them starve the pool
    (https://github.com/encode/httpcore/issues/1093).
    """

    def _assign_requests_to_connections(self) -> list[httpcore.AsyncConnectionInterface]:
        orphans = [
            connection
            for connection in self._unclaimed()
            if not connection.is_idle() and not connection.is_closed()
        ]
        for orphan in orphans:
            self._connections.remove(orphan)
        return [*orphans, *super()._assign_requests_to_connections()]

    async def _close_connections(self, closing: list[httpcore.AsyncConnectionInterface]) -> None:
        # A cancel that comes now would leave all but the first of them open.
        if closing:
            await asyncio.shield(asyncio.ensure_future(super()._close_connections(closing)))

    def take_idle(self) -> list[httpcore.AsyncConnectionInterface]:
        """Take out the connections that wait for a request, for whoever will `close` them."""
        idle = [connection for connection in self._unclaimed() if connection.is_idle()]
        for connection in idle:
            self._connections.remove(connection)
        return idle

    async def close(self, taken: list[httpcore.AsyncConnectionInterface]) -> None:
        """Close what was taken out."""
        await self._close_connections(taken)

    def has_idle(self, origin: httpcore.Origin) -> bool:
        """Whether a connection to `origin` waits for a request."""
        return any(
            connection.can_handle_request(origin)
            and connection.is_idle()
            and not connection.has_expired()
            for connection in self._connections
        )

    async def open_spare(
        self, origin: httpcore.Origin, *, timeout: float, refused: Callable[[], None]
    ) -> None:
        """Add a connection that waits for a request, unless there is no room.

        `refused` is called when the host closes it at once.
        """
        connection = self.create_connection(origin)
        if self._ssl_context is None or not isinstance(connection, httpcore.AsyncHTTPConnection):
            return
        if self._is_full:
            return
        await open_spare(
            connection,
            origin=origin,
            backend=self._network_backend,
            context=self._ssl_context,
            keepalive_expiry=_KEPT,
            timeout=timeout,
            refused=refused,
        )
        if self._is_full:
            await connection.aclose()
        else:
            self._connections.append(connection)

    @property
    def _is_full(self) -> bool:
        return len(self._connections) >= self._max_connections

    def _unclaimed(self) -> list[httpcore.AsyncConnectionInterface]:
        claimed = [request.connection for request in self._requests]
        return [connection for connection in self._connections if connection not in claimed]


class _Routes(httpx.AsyncBaseTransport):
    """Sends each request through the pool that leads to its host."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        pool = await self._connections.pool_for(request.url)
        if self._connections.spares is not None:
            await self._connections.spares.nearly_ready(request.url, pool)
        return await OverPool(pool).handle_async_request(request)

    async def aclose(self) -> None:
        for pool in self._connections.pools:
            await pool.aclose()


class OverPool(httpx.AsyncHTTPTransport):
    """httpx's transport over a pool of ours; its constructor could only build a stock one."""

    def __init__(self, pool: httpcore.AsyncConnectionPool) -> None:
        self._pool = pool
