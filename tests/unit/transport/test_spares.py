"""While a stream runs one more connection is made ready, for whoever asks after it was left."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

import httpcore
import httpx
import pytest
import trustme

from lsp_completions.errors import CompletionsError
from lsp_completions.proxy_address import read_proxy_address
from lsp_completions.transport import Transport, connections
from lsp_completions.transport import spares as module
from lsp_completions.transport.connections import ReapingPool
from lsp_completions.transport.network import Network
from lsp_completions.transport.spares import Listening, Spares
from tests.support.asking import DONE, ONE, PATIENT, ask, eventually, opened, pool_of, read
from tests.support.names import FAR, leading_here
from tests.support.proxies import Kind, ProxyServer
from tests.support.raw_http import HOLD, RawServer, Reply, chunked, sse, whole

AUTHORITY = trustme.CA()
PEM = AUTHORITY.cert_pem.bytes().decode()
ENDLESS: Reply = [*sse()[:1], chunked(ONE, end=False), HOLD]
WHOLE = sse(ONE, DONE)
FULL_POOL = 3


@pytest.fixture(autouse=True)
def far_away() -> Iterator[None]:
    with leading_here():
        yield


def certified(version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3, name: str = FAR) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = version
    AUTHORITY.issue_cert(name).configure_cert(context)
    return context


@asynccontextmanager
async def far(
    *replies: Reply, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
) -> AsyncIterator[tuple[RawServer, Transport]]:
    async with (
        RawServer(*replies, ssl_context=certified(version), name=FAR) as server,
        opened(ca_file=PEM, spares=True, max_connections=FULL_POOL) as transport,
    ):
        yield server, transport


async def leave(transport: Transport, url: str) -> None:
    async with aclosing(transport.events(ask(url), PATIENT)) as events:
        await anext(events)


@asynccontextmanager
async def running(transport: Transport, url: str) -> AsyncIterator[None]:
    """A stream that goes on as long as this is entered, and is left then."""
    async with aclosing(transport.events(ask(url), PATIENT)) as events:
        await anext(events)
        yield


async def spares_of(transport: Transport) -> Spares:
    spares = (await transport.prepared()).spares
    assert spares is not None
    return spares


async def settled(transport: Transport) -> None:
    """Nothing is being opened any more."""
    spares = await spares_of(transport)
    await eventually(lambda: not spares._opening)


async def idle(transport: Transport) -> int:
    await settled(transport)
    return sum(connection.is_idle() for connection in (await pool_of(transport)).connections)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_the_next_request_waits_for_no_handshake(version: ssl.TLSVersion) -> None:
    async with far(ENDLESS, version=version) as (server, transport):
        for turn in range(1, 4):
            async with running(transport, server.url):
                assert await idle(transport) == 1
            assert server.connections == turn + 1
            assert [request.connection for request in server.requests] == [*range(1, turn + 1)]
        await server.until(lambda: server.open == 1)


async def test_who_asks_while_it_is_opened_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It began earlier than a connection that would begin now."""
    monkeypatch.setattr(module, "_WORTH_WAITING", 60)
    going_on, open_spare = asyncio.Event(), ReapingPool.open_spare

    async def slowly(*args: object, **options: object) -> None:
        await going_on.wait()
        await open_spare(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(ReapingPool, "open_spare", slowly)
    async with far(ENDLESS, WHOLE) as (server, transport):
        await leave(transport, server.url)
        reading = asyncio.create_task(read(transport, ask(server.url)))
        await server.until(lambda: server.open == 0)
        assert (server.connections, len(server.requests)) == (1, 1)
        going_on.set()
        assert len(await reading) == 2
        assert server.requests[1].connection == 2


async def test_who_asks_while_it_hangs_does_not_wait_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(ReapingPool, "open_spare", never)
    monkeypatch.setattr(module, "_WORTH_WAITING", 0.01)
    async with far(ENDLESS, WHOLE) as (server, transport):
        await leave(transport, server.url)
        assert len(await read(transport, ask(server.url))) == 2


async def test_left_before_anything_came() -> None:
    """On a kept connection it is opened with the request, else once the request was given up."""
    async with far(WHOLE, [HOLD], [HOLD], WHOLE) as (server, transport):
        await read(transport, ask(server.url))
        await settled(transport)
        for asked in (2, 3):
            task = asyncio.create_task(leave(transport, server.url))
            await server.until(lambda asked=asked: len(server.requests) == asked)
            task.cancel()
            await asyncio.wait([task])
            assert await idle(transport) == 1
        await read(transport, ask(server.url))
        assert len({request.connection for request in server.requests}) == 3


async def test_streams_that_end_by_themselves_cost_one_and_no_more() -> None:
    async with far(WHOLE) as (server, transport):
        for _ in range(5):
            await read(transport, ask(server.url))
            await settled(transport)
        assert server.connections == 2
        assert {request.connection for request in server.requests} == {1}


async def test_several_streams_at_a_time_have_one_between_them() -> None:
    async with far(ENDLESS) as (server, transport), AsyncExitStack() as streams:
        for _ in range(2):
            await streams.enter_async_context(running(transport, server.url))
            assert await idle(transport) == 1
        assert server.connections == FULL_POOL


async def test_not_in_a_full_pool() -> None:
    async with far(ENDLESS) as (server, transport), AsyncExitStack() as streams:
        for _ in range(FULL_POOL):
            await streams.enter_async_context(running(transport, server.url))
        assert await idle(transport) == 0
        assert server.connections == FULL_POOL


@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_in_one_piece_has_none(stream: bool) -> None:
    async with far(whole(b"{}")) as (server, transport):
        for _ in range(2):
            await read(transport, ask(server.url, stream=stream))
        await settled(transport)
        assert server.connections == 1 + stream


async def test_a_refusal_has_none() -> None:
    async with far(whole(b"{}", status="500 Oh")) as (server, transport):
        with pytest.raises(CompletionsError):
            await read(transport, ask(server.url))
        await settled(transport)
        assert server.connections == 1


@pytest.mark.parametrize(
    ("name", "tls"),
    [
        pytest.param("localhost", True, id="this machine"),
        pytest.param("127.0.0.1", True, id="its address"),
        pytest.param(FAR, False, id="without TLS"),
        pytest.param("localhost", False, id="a model on this machine"),
    ],
)
async def test_not_where_it_takes_no_time(name: str, tls: bool) -> None:
    context = certified(name=name) if tls else None
    async with (
        RawServer(ENDLESS, ssl_context=context, name=name) as server,
        opened(ca_file=PEM, spares=True) as transport,
    ):
        async with running(transport, server.url):
            await settled(transport)
        await server.until(lambda: server.open == 0)
        await settled(transport)
        assert server.connections == 1


async def test_only_where_it_is_wanted() -> None:
    """A command that asks once has no next request."""
    async with (
        RawServer(ENDLESS, ssl_context=certified(), name=FAR) as server,
        opened(ca_file=PEM) as transport,
    ):
        await leave(transport, server.url)
        assert (await transport.prepared()).spares is None
        await server.until(lambda: server.open == 0)
        assert server.connections == 1


# ---- proxies


@asynccontextmanager
async def behind_a_proxy() -> AsyncIterator[tuple[RawServer, ProxyServer, Transport]]:
    async with (
        RawServer(ENDLESS, ssl_context=certified()) as server,
        ProxyServer(Kind.HTTP, to=server.port) as proxy,
    ):
        network = Network(proxy=read_proxy_address(proxy.url), ca_file=PEM)
        async with opened(network=network, spares=True) as transport:
            yield server, proxy, transport


async def test_through_a_proxy() -> None:
    async with behind_a_proxy() as (server, proxy, transport):
        for _ in range(2):
            async with running(transport, f"https://{FAR}/"):
                await settled(transport)
        assert proxy.asked == [f"{FAR}:443"] * 3
        assert [request.connection for request in server.requests] == [1, 2]


async def test_a_proxy_that_allows_one_connection_is_asked_for_a_second_once() -> None:
    async with behind_a_proxy() as (server, proxy, transport):
        async with running(transport, f"https://{FAR}/"):
            await settled(transport)
        for _ in range(3):
            async with running(transport, f"https://{FAR}/"):
                proxy._says = b"HTTP/1.1 403 One is enough\r\n\r\n"
                await settled(transport)
            proxy._says = None
        # Three that were used, one that was there in time, and the one that was refused.
        assert len(proxy.asked) == 5
        assert len(server.requests) == 4


# ---- hosts that close


TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def close(writer: asyncio.StreamWriter) -> None:
    writer.close()


def reset(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


def say(writer: asyncio.StreamWriter) -> None:
    writer.write(TOO_LATE)


closing = pytest.mark.parametrize(
    "closes",
    [
        pytest.param(close, id="ends it"),
        pytest.param(reset, id="resets it"),
        pytest.param(say, id="says that it has waited long enough"),
    ],
)


@closing
async def test_a_host_that_closes_it(closes: Callable[[asyncio.StreamWriter], None]) -> None:
    """It is closed on our side, too, and the next request is answered all the same."""
    async with far(ENDLESS, WHOLE) as (server, transport):
        async with running(transport, server.url):
            assert await idle(transport) == 1
            closes(server.writers[2])
            await server.until(lambda: server.open == 1)
        assert len(await read(transport, ask(server.url))) == 2
        assert server.requests[1].connection == 3


@closing
async def test_a_host_that_closes_it_as_it_is_used(
    closes: Callable[[asyncio.StreamWriter], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was seen when the request was on its way already is tried again."""
    monkeypatch.setattr(Listening, "get_extra_info", lambda *_: False)
    async with far(ENDLESS, WHOLE) as (server, transport):
        async with running(transport, server.url):
            assert await idle(transport) == 1
            closes(server.writers[2])
            await server.until(lambda: server.open == 1)
        assert len(await read(transport, ask(server.url))) == 2
        assert server.requests[1].connection == 3


@pytest.mark.parametrize(("left_alone", "opened_then"), [(60, 3), (0, 4)])
async def test_a_host_that_closes_it_at_once_is_left_alone_for_a_while(
    left_alone: float, opened_then: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 60)
    monkeypatch.setattr(module, "_LEFT_ALONE", left_alone)
    async with far(ENDLESS) as (server, transport):
        async with running(transport, server.url):
            assert await idle(transport) == 1
            server.writers[2].transport.abort()
            await server.until(lambda: server.open == 1)
        async with running(transport, server.url):
            await settled(transport)
            assert server.connections == opened_then


async def test_nobody_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is closed by itself, before somebody on the way forgets it."""
    monkeypatch.setattr(connections, "_KEPT", 0.01)
    async with far(ENDLESS) as (server, transport), running(transport, server.url):
        await server.until(lambda: server.connections == 2 and server.open == 1)


# ---- the end


async def test_ending_while_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = asyncio.Event()

    async def never(*_: object, **__: object) -> None:
        hanging.set()
        await asyncio.Event().wait()

    async with RawServer(ENDLESS, ssl_context=certified(), name=FAR) as server:
        transport = Transport(network=Network(ca_file=PEM), spares=True)
        monkeypatch.setattr(ReapingPool, "open_spare", never)
        await leave(transport, server.url)
        await hanging.wait()
        spares = await spares_of(transport)
        await transport.aclose()
        await asyncio.sleep(0)
        assert not spares._opening


async def test_ending_while_it_waits() -> None:
    async with far(ENDLESS) as (server, transport):
        async with running(transport, server.url):
            assert await idle(transport) == 1
        await transport.aclose()
        await server.until(lambda: server.open == 0)
        assert not [task for task in asyncio.all_tasks() if task.get_name() in ("spare", "ahead")]


async def test_cancelled_at_every_turn() -> None:
    """Nothing stays open of what was not ready."""
    async with far(WHOLE) as (server, transport):
        await read(transport, ask(server.url))
        await settled(transport)
        pool = await pool_of(transport)
        origin = httpcore.Origin(b"https", FAR.encode(), server.port)
        connections = await transport.prepared()
        for turn in range(0, 100, 2):
            await connections.drop_idle()
            opening = asyncio.create_task(pool.open_spare(origin, timeout=30, refused=lambda: None))
            for _ in range(turn):
                await asyncio.sleep(0)
            opening.cancel()
            await asyncio.wait([opening])
        await connections.drop_idle()
        await server.until(lambda: server.open == 0)


async def test_idle_ones_of_all_pools_are_closed_however_early_who_wants_it_is_cancelled() -> None:
    async with far(WHOLE) as (server, transport), RawServer(WHOLE) as plain:
        connections = await transport.prepared()
        for turn in range(10):
            await read(transport, ask(plain.url))
            await read(transport, ask(server.url))
            await settled(transport)
            assert all(pool.connections for pool in connections.pools)
            closing = asyncio.create_task(connections.drop_idle())
            for _ in range(turn + 1):
                await asyncio.sleep(0)
            closing.cancel()
            await asyncio.wait([closing])
            await plain.until(lambda: plain.open == 0)
            await server.until(lambda: server.open == 0)


async def test_a_way_that_is_first_taken_while_idle_ones_are_closed() -> None:
    async with far(WHOLE) as (server, transport), RawServer(WHOLE) as plain:
        connections = await transport.prepared()
        await connections.trust()
        await read(transport, ask(plain.url))
        closing = asyncio.create_task(connections.drop_idle())
        await asyncio.sleep(0)  # it has begun
        await connections.pool_for(httpx.URL(server.url))
        await closing
        assert len(connections.pools) == 2


async def test_the_request_is_cancelled_as_it_takes_it() -> None:
    async with far(WHOLE) as (server, transport):
        for turn in range(60):
            await read(transport, ask(server.url))
            await settled(transport)
            # The used one is closed, so that the spare is taken.
            pool = await pool_of(transport)
            used = [each for each in pool.connections if each.is_idle()]
            await used[0].aclose()
            reading = asyncio.create_task(read(transport, ask(server.url)))
            for _ in range(turn):
                await asyncio.sleep(0)
            reading.cancel()
            await asyncio.wait([reading])
            await settled(transport)
        assert len(await read(transport, ask(server.url))) == 2
        assert len((await pool_of(transport)).connections) <= FULL_POOL
        await eventually(lambda: server.open <= FULL_POOL)
