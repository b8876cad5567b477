"""Connections to providers: one HTTP client over pools that lose no connection.

HTTP/1.1 only: httpx's HTTP/2 does not tell the server that a stream was abandoned, so the model
would go on generating.
"""

import asyncio
import http.cookiejar
import importlib.util
import logging
import ssl
from functools import cached_property

import httpcore
import httpx

from lsp_completions.network import (
    Proxies,
    Report,
    machine_proxies,
    place,
    trust_everyone_the_system_trusts,
)


class Connections:
    """The one client and its pools; belongs to the event loop it is first used in."""

    def __init__(self, *, limit: int, report: Report, ca_file: str | None = None) -> None:
        self._limit = limit
        self._report = report
        self._ca_file = ca_file
        self._pools: dict[tuple[str | None, bool], ReapingPool] = {}
        self._unusable: set[str] = set()
        self._context: asyncio.Future[ssl.SSLContext] | None = None

    @cached_property
    def client(self) -> httpx.AsyncClient:
        """The client, built on first use: it costs memory that an idle editor need not spend."""
        # At INFO httpx logs the URL of each request.
        logging.getLogger("httpx").setLevel(logging.WARNING)
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

    def proxy_for(self, url: httpx.URL) -> str | None:
        """Return the proxy on the way to `url`, without those that cannot be used."""
        proxy = self._proxies.proxy_for(url.scheme, url.raw_host.decode("ascii"))
        return None if proxy is None or proxy in self._unusable else proxy

    async def pool_for(self, url: httpx.URL) -> "ReapingPool":
        """Return the pool for `url`: one for each proxy, with and without TLS."""
        proxy = self.proxy_for(url)
        secure = url.scheme == "https" or (proxy or "").startswith("https:")
        context = await self._tls() if secure else None
        if (proxy, secure) not in self._pools:
            upstream = None if proxy is None else self._upstream(proxy, context)
            if proxy is not None and upstream is None:
                return await self.pool_for(url)
            self._pools[proxy, secure] = ReapingPool(
                ssl_context=context,
                proxy=upstream,
                max_connections=self._limit,
                # Just under the minute after which common proxies drop an idle connection.
                keepalive_expiry=55.0,
            )
        return self._pools[proxy, secure]

    async def drop_idle(self) -> None:
        """Close all idle connections, as one of them turned out to be dead."""
        for pool in self._pools.values():
            await pool.drop_idle()

    @property
    def pools(self) -> "list[ReapingPool]":
        """All pools in use, for tests and reports."""
        return list(self._pools.values())

    async def aclose(self) -> None:
        """Close everything."""
        if "client" in self.__dict__:
            await self.client.aclose()

    @cached_property
    def _proxies(self) -> Proxies:
        return machine_proxies(self._report)

    async def _tls(self) -> ssl.SSLContext:
        """Return the context all connections share; reading the system's store takes a while."""
        if self._context is None:
            loop = asyncio.get_running_loop()

            def report(problem: str) -> None:
                loop.call_soon_threadsafe(self._report, problem)

            self._context = asyncio.ensure_future(
                asyncio.to_thread(trust_everyone_the_system_trusts, report, self._ca_file)
            )
        return await asyncio.shield(self._context)

    def _upstream(self, url: str, context: ssl.SSLContext | None) -> httpcore.Proxy | None:
        """Read a proxy's URL; `None`, and a report, when we cannot go through it."""
        try:
            proxy = httpx.Proxy(url) if place(url) else None
        except (httpx.InvalidURL, ValueError):
            proxy = None
        if proxy is None:
            reason = "its address cannot be read"
        elif proxy.url.scheme.startswith("socks") and not importlib.util.find_spec("socksio"):
            reason = "SOCKS needs the package socksio"
        else:
            return httpcore.Proxy(
                httpcore.URL(
                    scheme=proxy.url.raw_scheme,
                    host=proxy.url.raw_host,
                    port=proxy.url.port,
                    target=proxy.url.raw_path,
                ),
                auth=proxy.raw_auth,
                headers=proxy.headers.raw,
                ssl_context=context if proxy.url.scheme == "https" else None,
            )
        self._unusable.add(url)
        self._report(f"The proxy this machine names is not used: {reason}.")
        return None


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

    async def drop_idle(self) -> None:
        """Close the connections that wait for a request."""
        idle = [connection for connection in self._unclaimed() if connection.is_idle()]
        for connection in idle:
            self._connections.remove(connection)
        await self._close_connections(idle)

    def _unclaimed(self) -> list[httpcore.AsyncConnectionInterface]:
        claimed = [request.connection for request in self._requests]
        return [connection for connection in self._connections if connection not in claimed]


class _Routes(httpx.AsyncBaseTransport):
    """Sends each request through the pool that leads to its host."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        pool = await self._connections.pool_for(request.url)
        return await OverPool(pool).handle_async_request(request)

    async def aclose(self) -> None:
        for pool in self._connections.pools:
            await pool.aclose()


class OverPool(httpx.AsyncHTTPTransport):
    """httpx's transport over a pool of ours; its constructor could only build a stock one."""

    def __init__(self, pool: httpcore.AsyncConnectionPool) -> None:
        self._pool = pool
