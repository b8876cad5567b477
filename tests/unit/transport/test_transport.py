"""Readers leave when they like; nobody is kept waiting."""

import asyncio
import sys
from contextlib import aclosing

import pytest

from lsp_completions.errors import (
    Interrupted,
)
from lsp_completions.transport import Transport, exchange
from tests.support.asking import (
    DONE,
    ONE,
    PATIENT,
    ask,
    eventually,
    opened,
    pool_of,
    read,
)
from tests.support.raw_http import HOLD, RawServer, Reply, chunked, sse, whole


async def test_leaving_early_hangs_up() -> None:
    reply = [*sse()[:1], chunked(ONE, end=False), HOLD]
    async with RawServer(reply) as server, opened() as transport:
        async with aclosing(transport.events(ask(server.url), PATIENT)) as events:
            await anext(events)
            assert server.open == 1
        assert (await pool_of(transport)).connections == []
        await server.until(lambda: server.open == 0)


async def test_closing_hangs_up_on_everybody() -> None:
    async with RawServer([HOLD]) as server:
        transport = Transport()
        reader = asyncio.create_task(read(transport, ask(server.url)))
        await server.until(lambda: server.requests)
        await transport.aclose()
        with pytest.raises(Interrupted):
            await reader
        await server.until(lambda: server.open == 0)
        with pytest.raises(Interrupted):
            await read(transport, ask(server.url))


async def test_a_slow_reader_slows_the_server() -> None:
    flood = chunked(b"data: " + b"x" * 60_000 + b"\n\n", end=False)
    reply = [*sse()[:1], *[flood] * 2000]
    async with (
        RawServer(reply) as server,
        opened() as transport,
        aclosing(transport.events(ask(server.url), PATIENT)) as events,
    ):
        await anext(events)
        (running,) = transport._exchanges
        await eventually(lambda: running._room.locked())
        assert running._inbox.qsize() == exchange._READ_AHEAD


@pytest.mark.parametrize("again", range(4))
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param([HOLD], id="silence"),
        pytest.param([*sse()[:1], chunked(ONE, end=False), HOLD], id="stream"),
        pytest.param(whole(b"{}"), id="whole answer"),
        pytest.param(sse(ONE, ONE), id="stream that ends"),
    ],
)
async def test_cancelled_at_every_turn(reply: Reply, again: int) -> None:
    async with RawServer(reply) as server, opened(max_connections=1) as transport:
        await transport.prepared()
        for turn in range(50):
            reader = asyncio.create_task(read(transport, ask(server.url)))
            for _ in range(turn):
                await asyncio.sleep(0)
            for _ in range(again + 1):
                reader.cancel()
                await asyncio.sleep(0)
            await asyncio.wait([reader])
        server.replies = [sse(ONE, DONE)]
        assert len(await read(transport, ask(server.url))) == 2


async def test_importing_it_is_cheap() -> None:
    """The editor waits for the server to start, not for its first request."""
    code = "import sys, lsp_completions.transport; sys.exit('httpx' in sys.modules)"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await process.wait() == 0


async def test_being_ready_leaves_the_command_line_of_httpx_out() -> None:
    """With it come click and all of rich, where they are installed."""
    code = (
        "import asyncio, sys\n"
        "from lsp_completions.transport import Transport\n"
        "asyncio.run(Transport().prepared())\n"
        "sys.exit(' '.join({'click', 'rich', 'pygments'} & set(sys.modules)) or 0)"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await process.wait() == 0
