"""No connection is lost and no stream goes on, whenever the reader of one is cancelled.

A lost connection is one that its pool counts for ever; behind it the model may go on generating.
The moments are turns of the event loop, drawn from a seed.
"""

import asyncio
import contextlib
import json
import random
import ssl
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import httpcore
import httpx
import pytest
import trustme

from lsp_completions.providers.base import HttpRequest
from lsp_completions.transport import Timeouts, Transport
from lsp_completions.transport.connections import OverPool, ReapingPool
from lsp_completions.transport.network import Network
from tests.support.sourcegraph import TOKEN, Answer, Gate, Reply, Script, StandIn, json_page

POOL = 10
# Deadlines have their own tests.
PATIENT = Timeouts(connect=60, first_event=60, total=60)

Stock = httpcore.AsyncConnectionPool
Read = Callable[[], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Blows:
    """Cancel within so many `turns`, and perhaps `again` a few turns after the first time."""

    again: Callable[[random.Random], int | None]
    cancels: int
    readers: int = 1
    # A short answer takes about as many, its connection with TLS included.
    turns: int = 60


ONCE = Blows(again=lambda dice: None, cancels=500)
TWICE = Blows(again=lambda dice: dice.randrange(8), cancels=500)
TURN_BY_TURN = Blows(again=lambda dice: 1, cancels=200)
CROWD = Blows(
    again=lambda dice: dice.choice((None, 0, 1, 2, 5)), cancels=300, readers=30, turns=150
)


@pytest.fixture(params=[False, True], ids=["plain", "TLS"])
def tls(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.parametrize(
    "blows",
    [
        pytest.param(ONCE, id="one cancel"),
        pytest.param(TWICE, id="two cancels"),
        pytest.param(TURN_BY_TURN, id="two cancels, one turn apart"),
        pytest.param(CROWD, id="thirty readers on ten connections"),
    ],
)
async def test_nothing_is_lost(blows: Blows, tls: bool, authority: "Authority") -> None:
    async with authority.instance(tls) as instance:
        transport = Transport(max_connections=POOL, network=Network(ca_file=authority.file))
        read = reader_through(transport, instance)
        await read()

        instance.script = some_answers_end_some_do_not()
        await hammer(read, blows)

        await instance.until(lambda: not instance.streaming)
        (pool,) = (await transport.prepared()).pools
        assert lost_by(pool) == []
        assert instance.hang_ups, "some were hit in the middle"
        assert len(instance.requests) > len(instance.hang_ups), "and some were not"

        # All connections can be had at once.
        instance.script = Answer(gate := Gate(), "x")
        reads = [asyncio.ensure_future(read()) for _ in range(POOL)]
        await instance.until(lambda: len(instance.streaming) == POOL)
        gate.open()
        await asyncio.gather(*reads)

        await transport.aclose()
        await instance.until(lambda: instance.open_connections == 0)


@pytest.mark.parametrize(
    ("pool", "says", "again"),
    [
        pytest.param(Stock, "generates", None, id="the stock pool, one cancel"),
        pytest.param(Stock, "generates", 1, id="the stock pool, two cancels one turn apart"),
        pytest.param(ReapingPool, "ends", None, id="our pool, a cancel while giving back"),
    ],
)
async def test_httpx_still_loses_connections(
    pool: type[httpcore.AsyncConnectionPool],
    says: str,
    again: int | None,
    authority: "Authority",
) -> None:
    """When this fails httpx has been mended, and one of our remedies may go."""
    pooled = pool()
    async with (
        authority.instance() as instance,
        httpx.AsyncClient(transport=OverPool(pooled)) as client,
    ):
        request = ask(instance)

        async def read() -> None:
            async with client.stream(
                request.method, request.url, headers=request.headers, content=request.body
            ) as response:
                async for _ in response.aiter_bytes():
                    pass

        await read()
        instance.script = Answer("x", Gate()) if says == "generates" else json_page({})
        for turn in range(80):
            await hit(read, turn, again)
        assert lost_by(pooled) != []


async def hammer(read: Read, blows: Blows) -> None:
    """Cancel readers as `blows` says."""
    dice = random.Random(1)
    left = iter(range(blows.cancels))

    async def reader() -> None:
        for _ in left:
            await hit(read, dice.randrange(blows.turns), blows.again(dice))

    await asyncio.gather(*(reader() for _ in range(blows.readers)))


async def hit(read: Read, after: int, again: int | None) -> None:
    task = asyncio.ensure_future(read())
    await turns(after)
    task.cancel()
    if again is not None:
        await turns(again)
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def lost_by(pool: httpcore.AsyncConnectionPool) -> list[str]:
    """What the pool takes for in use, when nothing is."""
    connections = [repr(connection) for connection in pool.connections if not connection.is_idle()]
    return connections + [repr(request.request) for request in pool._requests]


def reader_through(transport: Transport, instance: StandIn) -> Read:
    async def read() -> None:
        async with aclosing(transport.events(ask(instance), PATIENT)) as events:
            async for _ in events:
                pass

    return read


def ask(instance: StandIn) -> HttpRequest:
    body = {"messages": [{"speaker": "human", "text": "def"}], "stream": True}
    return HttpRequest(
        url=f"{instance.url}/.api/completions/code?api-version=2",
        headers=(("Authorization", f"token {TOKEN}"), ("Accept-Encoding", "identity")),
        body=json.dumps(body).encode(),
    )


def some_answers_end_some_do_not() -> Script:
    """Some stop only when they are hung up on; after the others the connection is kept."""
    dice = random.Random(2)

    def answer(_: object) -> Answer | Reply:
        words = ["x"] * dice.randint(1, 6)
        kinds = (Answer(*words, Gate()), Answer(*words), Answer(*words, done=False), json_page({}))
        return dice.choice(kinds)

    return answer


class Authority:
    """Who certifies the instances that speak TLS."""

    def __init__(self, folder: Path) -> None:
        self._ca = trustme.CA()
        self.file = str(folder / "authority.pem")
        self._ca.cert_pem.write_to_path(self.file)

    def instance(self, tls: bool = False) -> StandIn:
        context = None
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._ca.issue_cert("localhost").configure_cert(context)
        return StandIn(Answer("x"), ssl_context=context)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))
