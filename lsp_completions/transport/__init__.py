"""The way to the model: an `HttpRequest` goes out, events come back, or a `ProviderError`.

Importing this is cheap: what speaks HTTP is imported, in a thread, when it is first needed.
"""

import asyncio
import contextlib
import importlib
import logging
import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsp_completions.errors import CompletionsError, Interrupted
from lsp_completions.providers.base import Event, HttpRequest
from lsp_completions.transport.network import Network
from lsp_completions.transport.proxies import Proxy

if TYPE_CHECKING:
    from lsp_completions.transport.connections import Connections
    from lsp_completions.transport.exchange import Exchange
    from lsp_completions.transport.peers import Peer

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long an exchange may take, in seconds.

    `first_event` and `total` count from the request and are not put off by keep-alive comments;
    `first_event` applies to streams, since a whole answer comes at its end.
    """

    connect: float = 3.0
    first_event: float = 5.0
    total: float = 7.0


class Transport:
    """Exchanges with providers over one set of connections; belongs to one event loop.

    `report` is given a sentence for each thing in the environment that cannot be used, such as
    an unreadable proxy or certificate file. With `spares` a connection more than is used is open
    while a stream runs, for the next request of somebody who leaves streams as he types.
    """

    def __init__(
        self,
        *,
        max_connections: int = 10,  # an editor has one or two in flight; streams may outlive it
        network: Network = Network(),  # noqa: B008 - frozen
        report: Callable[[str], None] = log.warning,
        spares: bool = False,
    ) -> None:
        self._max_connections = max_connections
        self._network = network
        self._report = report
        self._spares = spares
        self._connections: asyncio.Future[Connections] | None = None
        self._exchanges: set[Exchange] = set()
        self._retiring: set[asyncio.Task[None]] = set()
        self._closed = False

    async def events(self, request: HttpRequest, timeouts: Timeouts) -> AsyncGenerator[Event, None]:
        """Send `request` and yield what comes back; to be used within `aclosing`.

        A stream's events come one by one, a whole answer as one event without a name. The end of
        the iteration is the end of the answer. Leaving earlier hangs up, except after the
        provider's last event, when the connection is kept for the next request. The reader may
        be cancelled at any moment, any number of times.
        """
        connections = await self.prepared()
        from lsp_completions.transport.exchange import Exchange

        if self._closed:
            raise Interrupted("The server is shutting down.")
        exchange = Exchange(connections, request, timeouts)
        self._exchanges.add(exchange)
        exchange.task.add_done_callback(lambda _: self._exchanges.discard(exchange))
        try:
            while (event := await exchange.next_event()) is not None:
                yield event
        finally:
            await exchange.leave()

    async def prepared(self) -> "Connections":
        """Import and build what the first request needs, without holding up the event loop.

        Worth a task of its own once the editor has settled: it takes some 100 ms.
        """
        while True:
            if self._connections is None:
                self._connections = asyncio.ensure_future(self._build(self._network))
            building = self._connections
            connections = await asyncio.shield(building)
            if building is self._connections:  # and not left behind meanwhile
                return connections

    async def look_at(self, url: str, *, seconds: float = 5.0) -> "Peer":
        """The certificate of an `https` host, and why it is not trusted; sends no request."""
        connections = await self.prepared()
        from lsp_completions.transport.peers import look_at

        return await look_at(connections, url, seconds=seconds)

    async def reach(self, url: str, *, seconds: float = 5.0) -> CompletionsError | None:
        """Why there is no connection to a host, `None` where there is; sends no request."""
        connections = await self.prepared()
        from lsp_completions.transport.peers import reach

        return await reach(connections, url, seconds=seconds)

    async def proxy_for(self, url: str) -> Proxy | None:
        """The proxy on the way to `url`, and where we have it from."""
        connections = await self.prepared()
        import httpx

        return await connections.proxy_for(httpx.URL(url))

    async def authorities(self) -> tuple[str, ...]:
        """The files, folders and stores with the authorities that are trusted."""
        return (await (await self.prepared()).trust()).sources

    def use(self, network: Network) -> None:
        """Go by `network` from the next request on; what is under way goes on as it began."""
        if network == self._network or self._closed:
            return
        self._network = network
        if self._connections is not None:
            task = asyncio.create_task(self._retire(self._connections), name="old connections")
            self._retiring.add(task)
            task.add_done_callback(self._retiring.discard)
            self._connections = None

    async def _retire(self, connections: "asyncio.Future[Connections]") -> None:
        if exchanges := list(self._exchanges):
            await asyncio.wait([exchange.task for exchange in exchanges])
        await (await connections).aclose()

    async def aclose(self) -> None:
        """Hang up on all exchanges and close all connections."""
        self._closed = True
        exchanges = list(self._exchanges)
        for exchange in exchanges:
            exchange.cancel()
        if exchanges:
            await asyncio.wait([exchange.task for exchange in exchanges])
        if self._retiring:
            await asyncio.wait(self._retiring)
        if self._connections is not None:
            await (await self._connections).aclose()

    async def _build(self, network: Network) -> "Connections":
        await asyncio.to_thread(_import_what_speaks_http)
        from lsp_completions.transport.connections import Connections

        return Connections(
            limit=self._max_connections,
            report=self._report,
            network=network,
            spares=self._spares,
        )


def _import_what_speaks_http() -> None:
    # httpx 0.28 imports its own command line, with click and all of rich where they are installed,
    # which takes longer than everything else here; it does without where that is not to be had.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    importlib.import_module("lsp_completions.transport.exchange")
    # anyio 4 imports this on the first connection; elsewhere it would only come a little later.
    with contextlib.suppress(ImportError):
        importlib.import_module("anyio._backends._asyncio")
