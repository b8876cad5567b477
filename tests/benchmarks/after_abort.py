"""`python -m tests.benchmarks.after_abort`: the first event after a stream was left, far away.

Beside it, in the same run, the first event after a stream that was read to its end, whose
connection is warm. Both go over TLS through a relay that holds each byte back.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from statistics import median

import trustme

from lsp_completions.transport import Transport
from lsp_completions.transport.network import Network
from tests.support.accepting import stop_accepting
from tests.support.asking import DONE, ONE, PATIENT, ask, opened
from tests.support.names import FAR, leading_here
from tests.support.raw_http import HOLD, RawServer, Reply, chunked, sse

ROUNDS = 25
ROUND_TRIPS = (0.02, 0.06)  # seconds
PAUSES = (0.0, 0.03, 0.09, 0.2)  # seconds between a stream left and the next request; 0.09: a key
MOST = 1 << 16  # bytes at a time


@asynccontextmanager
async def relay(port: int, delay: float) -> AsyncIterator[int]:
    """A way to a port of this machine that takes so many seconds; gives its own port."""
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(MOST):
                loop.call_later(delay, writer.write, data)
        loop.call_later(delay, writer.close)

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # What greets is on its way as long as all else.
        tasks.add(greeting := asyncio.create_task(asyncio.sleep(2 * delay)))
        await asyncio.wait([greeting])
        tasks.discard(greeting)
        there, back = await asyncio.open_connection("127.0.0.1", port)
        for pair in ((reader, back), (there, writer)):
            task = asyncio.create_task(pump(*pair))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        await stop_accepting(server)
        while tasks:
            await asyncio.wait(tasks)


async def first_event(transport: Transport, url: str, *, to_the_end: bool) -> float:
    """Seconds until the first event came; the stream is then read to its end, or left."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with aclosing(transport.events(ask(url), PATIENT)) as events:
        await anext(events)
        took = loop.time() - began
        if to_the_end:
            async for _ in events:
                pass
    return took


async def measured(round_trip: float, pause: float) -> tuple[float, float, float]:
    """Medians: after a stream read to its end, after one left so many seconds before, and after
    many in a row that were left, as by somebody who types.
    """
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(FAR).configure_cert(context)
    whole, endless = sse(ONE, DONE), [*sse()[:1], chunked(ONE, end=False), HOLD]
    warm, after = [], []
    async with (
        RawServer(whole, ssl_context=context, name=FAR) as server,
        relay(server.port, round_trip / 2) as port,
        opened(
            network=Network(ca_file=authority.cert_pem.bytes().decode()), spares=True
        ) as transport,
    ):
        url = f"https://{FAR}:{port}/"

        async def first(reply: Reply) -> float:
            server.replies = [reply]
            took = await first_event(transport, url, to_the_end=reply is whole)
            await asyncio.sleep(pause)
            return took

        await first(whole)
        for _ in range(ROUNDS):
            warm.append(await first(whole))
            await first(endless)
            after.append(await first(whole))
        await first(endless)
        typing = [await first(endless) for _ in range(ROUNDS)]
    return median(warm), median(after), median(typing)


def main() -> None:
    with leading_here(FAR):
        for round_trip in ROUND_TRIPS:
            for pause in PAUSES:
                warm, after, typing = asyncio.run(measured(round_trip, pause))
                print(
                    f"{round_trip * 1e3:.0f} ms there and back, {pause * 1e3:.0f} ms later:"
                    f" warm {warm * 1e3:.1f} ms, after a stream was left {after * 1e3:.1f} ms"
                    f" ({after / warm:.2f}), after many in a row {typing * 1e3:.1f} ms"
                    f" ({typing / warm:.2f})"
                )


if __name__ == "__main__":
    main()
