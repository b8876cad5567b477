"""After a stream was left, the next request finds a connection ready."""

import asyncio
import ssl
from contextlib import aclosing

import pytest
import trustme

from lsp_completions.proxy_address import read_proxy_address
from lsp_completions.transport import Transport
from lsp_completions.transport.connections import Connections, ReapingPool
from lsp_completions.transport.network import Network
from tests.support.asking import DONE, ONE, PATIENT, ask, eventually, opened, pool_of, read
from tests.support.proxies import Kind, ProxyServer
from tests.support.raw_http import HOLD, RawServer, Reply, chunked, sse

AUTHORITY = trustme.CA()
PEM = AUTHORITY.cert_pem.bytes().decode()
ENDLESS: Reply = [*sse()[:1], chunked(ONE, end=False), HOLD]


def certified(
    version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3, name: str = "localhost"
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = version
    AUTHORITY.issue_cert(name).configure_cert(context)
    return context


async def leave(transport: Transport, url: str) -> None:
    async with aclosing(transport.events(ask(url), PATIENT)) as events:
        await anext(events)


async def ready(transport: Transport) -> ReapingPool:
    pool = await pool_of(transport)
    await eventually(lambda: pool.connections and pool.connections[0].is_idle())
    return pool


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_the_next_request_waits_for_no_handshake(version: ssl.TLSVersion) -> None:
    async with (
        RawServer(ENDLESS, ssl_context=certified(version), name="localhost") as server,
        opened(ca_file=PEM) as transport,
    ):
        for turn in range(1, 4):
            await leave(transport, server.url)
            await ready(transport)
            assert server.connections == turn + 1
            assert [request.connection for request in server.requests] == [*range(1, turn + 1)]
        await server.until(lambda: server.open == 1)


async def test_through_a_proxy() -> None:
    async with (
        RawServer(ENDLESS, ssl_context=certified(name="instance.test")) as server,
        ProxyServer(Kind.HTTP, to=server.port) as proxy,
    ):
        network = Network(proxy=read_proxy_address(proxy.url), ca_file=PEM)
        async with opened(network=network) as transport:
            await leave(transport, "https://instance.test/")
            await ready(transport)
            assert proxy.asked == ["instance.test:443"] * 2
            await leave(transport, "https://instance.test/")
            assert [request.connection for request in server.requests] == [1, 2]


async def test_not_without_tls() -> None:
    async with RawServer(ENDLESS) as server, opened() as transport:
        await leave(transport, server.url)
        await server.until(lambda: server.open == 0)
        assert (await transport.prepared())._ahead is None
        assert server.connections == 1


async def test_not_where_one_waits_already() -> None:
    async with (
        RawServer(ssl_context=certified(), name="localhost") as server,
        opened(ca_file=PEM) as transport,
    ):
        server.replies = [ENDLESS, sse(ONE, DONE)]
        async with aclosing(transport.events(ask(server.url), PATIENT)) as events:
            await anext(events)
            await read(transport, ask(server.url))
        connections = await transport.prepared()
        await eventually(lambda: connections._ahead is None)
        assert server.connections == 2


async def test_a_host_that_closes_it() -> None:
    """The next request is answered all the same, and nothing stays open."""
    async with (
        RawServer(ENDLESS, ssl_context=certified(), name="localhost") as server,
        opened(ca_file=PEM) as transport,
    ):
        await leave(transport, server.url)
        await ready(transport)
        for writer in list(server._writers):
            writer.transport.abort()  # TLS would wait for our farewell
        await server.until(lambda: server.open == 0)
        server.replies = [sse(ONE, DONE)]
        assert len(await read(transport, ask(server.url))) == 2


async def test_ending_while_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = asyncio.Event()

    async def never(*_: object) -> None:
        hanging.set()
        await asyncio.Event().wait()

    async with RawServer(ENDLESS, ssl_context=certified(), name="localhost") as server:
        transport = Transport(network=Network(ca_file=PEM))
        connections: Connections = await transport.prepared()
        monkeypatch.setattr(ReapingPool, "open_spare", never)
        await leave(transport, server.url)
        await hanging.wait()
        await transport.aclose()
        await asyncio.sleep(0)
        assert connections._ahead is None


async def test_cancelled_at_every_turn() -> None:
    """Nothing stays open of what was not ready."""
    async with (
        RawServer(sse(ONE, DONE), ssl_context=certified(), name="localhost") as server,
        opened(ca_file=PEM) as transport,
    ):
        await read(transport, ask(server.url))
        connections = await transport.prepared()
        pool = await pool_of(transport)
        url = connections.client.build_request("GET", server.url).url
        for turn in range(0, 100, 2):
            await connections.drop_idle()
            opening = asyncio.create_task(pool.open_spare(url, 30))
            for _ in range(turn):
                await asyncio.sleep(0)
            opening.cancel()
            await asyncio.wait([opening])
        await connections.drop_idle()
        await server.until(lambda: server.open == 0)
