"""Which connections are used again, and what happens when one has died meanwhile."""

import asyncio
from contextlib import aclosing

import pytest

from lsp_completions.errors import (
    Interrupted,
    Refused,
    TimedOut,
)
from lsp_completions.transport import exchange
from tests.support.asking import (
    DONE,
    ONE,
    PATIENT,
    SHORT,
    ask,
    eventually,
    opened,
    pool_of,
    read,
    read_from,
    texts,
)
from tests.support.raw_http import CLOSE, HOLD, RESET, RawServer, Reply, chunked, head, sse, whole

# The word of a server that has waited long enough, which crosses the next request.
WAITED: Reply = [*whole(b"", status="408 Request Timeout"), CLOSE]


async def test_connection_is_kept_after_the_last_event() -> None:
    async with RawServer(sse(ONE, DONE)) as server, opened() as transport:
        for _ in range(3):
            await read(transport, ask(server.url))
        assert [request.connection for request in server.requests] == [1, 1, 1]


async def test_leaving_after_the_last_event_keeps_the_connection() -> None:
    """The end of the body may be a little late; it is waited for behind the reader's back."""
    end = asyncio.Event()
    reply = [*sse()[:1], chunked(ONE, DONE, end=False), end, b"0\r\n\r\n"]
    async with RawServer(reply, sse(ONE)) as server, opened() as transport:
        async with aclosing(transport.events(ask(server.url), PATIENT)) as events:
            async for event in events:
                if event.name == "done":
                    break
        pool = await pool_of(transport)
        assert not pool.connections[0].is_idle()
        end.set()
        await eventually(lambda: pool.connections[0].is_idle())
        await read(transport, ask(server.url))
        assert server.connections == 1


@pytest.mark.parametrize("last", [DONE, b"event: done\n\n", b"data: [DONE]\n\n"])
async def test_body_that_does_not_end_after_the_last_event(
    last: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "_DRAIN_SECONDS", 0.05)
    reply = [*sse()[:1], chunked(ONE, last, end=False), HOLD]
    async with RawServer(reply) as server, opened() as transport:
        events = await read(transport, ask(server.url))
        assert texts(events)[0] == '{"deltaText":"a"}'
        await server.until(lambda: server.open == 0)


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param([chunked(b"data: " + b"x" * 2_000_000), HOLD], id="too much"),
        pytest.param([b"zz\r\n", HOLD], id="nonsense"),
        pytest.param([RESET], id="reset"),
    ],
)
async def test_what_comes_after_the_last_event_cannot_spoil_it(rest: Reply) -> None:
    reply = [*sse()[:1], chunked(ONE, DONE, end=False), *rest]
    assert texts(await read_from(reply)) == ['{"deltaText":"a"}', "{}"]


class TestKeptConnections:
    async def test_closed_while_idle(self) -> None:
        async with RawServer(sse(ONE, DONE)) as server, opened() as transport:
            await read(transport, ask(server.url))
            await server.close_connections()
            assert len(await read(transport, ask(server.url))) == 2
            assert [request.connection for request in server.requests] == [1, 2]

    @pytest.mark.parametrize("death", [[CLOSE], [RESET], WAITED])
    async def test_closed_as_it_is_used_again(self, death: Reply) -> None:
        good = sse(ONE, DONE)
        async with RawServer(good, death, good) as server, opened() as transport:
            await read(transport, ask(server.url))
            assert len(await read(transport, ask(server.url))) == 2
            assert [request.connection for request in server.requests] == [1, 1, 2]

    @pytest.mark.parametrize(("death", "error"), [([CLOSE], Interrupted), (WAITED, Refused)])
    async def test_tried_again_once_only(self, death: Reply, error: type[Exception]) -> None:
        async with RawServer(sse(ONE, DONE), death) as server, opened() as transport:
            await read(transport, ask(server.url))
            with pytest.raises(error):
                await read(transport, ask(server.url))
            assert [request.connection for request in server.requests] == [1, 1, 2]

    @pytest.mark.parametrize(("death", "error"), [([CLOSE], Interrupted), (WAITED, Refused)])
    async def test_new_connection_is_not_tried_again(
        self, death: Reply, error: type[Exception]
    ) -> None:
        async with RawServer(death) as server, opened() as transport:
            with pytest.raises(error):
                await read(transport, ask(server.url))
            assert len(server.requests) == 1

    @pytest.mark.parametrize(
        "cut",
        [
            pytest.param([*sse()[:1], CLOSE], id="after the head"),
            pytest.param([*sse()[:1], chunked(ONE, end=False), CLOSE], id="after an event"),
        ],
    )
    async def test_not_tried_again_once_an_answer_began(self, cut: Reply) -> None:
        async with RawServer(sse(ONE, DONE), cut) as server, opened() as transport:
            await read(transport, ask(server.url))
            with pytest.raises(Interrupted):
                await read(transport, ask(server.url))
            assert len(server.requests) == 2

    async def test_second_attempt_gets_a_new_connection(self) -> None:
        """After a restart behind a balancer all kept connections are dead, and none looks it."""
        good = sse(ONE, DONE)
        together = asyncio.Event()
        waiting: Reply = [together, *good]
        async with RawServer(waiting, waiting, [CLOSE], good) as server, opened() as transport:
            readers = [asyncio.create_task(read(transport, ask(server.url))) for _ in range(2)]
            await server.until(lambda: len(server.requests) == 2)
            together.set()
            await asyncio.gather(*readers)
            pool = await pool_of(transport)
            await eventually(lambda: all(c.is_idle() for c in pool.connections))
            assert len(pool.connections) == 2
            await read(transport, ask(server.url))
            assert server.requests[-1].connection == 3

    async def test_silence_on_one_throws_all_away(self) -> None:
        async with (
            RawServer(sse(ONE, DONE), [HOLD], sse(ONE, DONE)) as server,
            opened() as transport,
        ):
            await read(transport, ask(server.url))
            with pytest.raises(TimedOut):
                await read(transport, ask(server.url), SHORT)
            assert (await pool_of(transport)).connections == []

    async def test_cancelled_between_the_attempts(self) -> None:
        good = sse(ONE, DONE)
        async with RawServer(good) as server, opened(max_connections=1) as transport:
            await read(transport, ask(server.url))
            for turn in range(40):
                server.replies = [*[[CLOSE]] * (len(server.requests) + 1), good]
                reader = asyncio.create_task(read(transport, ask(server.url)))
                for _ in range(turn):
                    await asyncio.sleep(0)
                reader.cancel()
                await asyncio.wait([reader])
                assert not transport._exchanges
                server.replies = [good]
                assert len(await read(transport, ask(server.url))) == 2

    async def test_cookies_are_not_kept(self) -> None:
        reply = [head("Set-Cookie: a=b", "Content-Length: 2") + b"{}"]
        async with RawServer(reply) as server, opened() as transport:
            await read(transport, ask(server.url))
            await read(transport, ask(server.url))
            assert "cookie" not in server.requests[1].headers
