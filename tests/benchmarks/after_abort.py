"""`python -m tests.benchmarks.after_abort`: the first event after a stream was left, far away.

Beside it, in the same run, the first event after a stream that was read to its end, whose
connection is warm. Both go over TLS through a relay that holds each byte back.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from statistics import median

import trustme

from lsp_completions.transport import Transport
from lsp_completions.transport.network import Network
from tests.support.asking import DONE, ONE, PATIENT, ask, opened, read
from tests.support.raw_http import HOLD, RawServer, chunked, sse

ROUNDS = 25
ROUND_TRIPS = (0.02, 0.06)  # seconds
PAUSES = (0.5, 0.09)  # seconds between a stream left and the next request: a thought, a key
MOST = 1 << 16  # bytes at a time


@asynccontextmanager
async def relay(port: int, delay: float) -> AsyncIterator[int]:
    """A way to a port of this machine that takes so many seconds; gives its own port."""
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(MOST):
            loop.call_later(delay, writer.write, data)
        loop.call_later(delay, writer.close)

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # What greets is on its way as long as all else.
        await asyncio.sleep(2 * delay)
        there, back = await asyncio.open_connection("127.0.0.1", port)
        for pair in ((reader, back), (there, writer)):
            task = asyncio.create_task(pump(*pair))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()


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


async def measured(round_trip: float, pause: float) -> tuple[float, float]:
    """Medians: after a stream read to its end, and after one left so many seconds before."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    whole, endless = sse(ONE, DONE), [*sse()[:1], chunked(ONE, end=False), HOLD]
    warm, after = [], []
    async with (
        RawServer(whole, ssl_context=context, name="localhost") as server,
        relay(server.port, round_trip / 2) as port,
        opened(network=Network(ca_file=authority.cert_pem.bytes().decode())) as transport,
    ):
        url = f"https://localhost:{port}/"
        await read(transport, ask(url))
        for _ in range(ROUNDS):
            server.replies = [whole]
            await asyncio.sleep(pause)
            warm.append(await first_event(transport, url, to_the_end=True))
            server.replies = [endless]
            await first_event(transport, url, to_the_end=False)
            await asyncio.sleep(pause)
            server.replies = [whole]
            after.append(await first_event(transport, url, to_the_end=True))
    return median(warm), median(after)


def main() -> None:
    for round_trip in ROUND_TRIPS:
        for pause in PAUSES:
            warm, after = asyncio.run(measured(round_trip, pause))
            print(
                f"{round_trip * 1e3:.0f} ms there and back, {pause * 1e3:.0f} ms later: "
                f"warm {warm * 1e3:.1f} ms, after a stream was left {after * 1e3:.1f} ms, "
                f"ratio {after / warm:.2f}"
            )


if __name__ == "__main__":
    main()
