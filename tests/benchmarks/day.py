"""A day in one server: a large file, twenty documents typed in by four people, and all closed.

What it costs is seen from outside: the memory once nothing happens any more, and how long a request
waits that has nothing to do with the others, which is as long as the event loop was busy with
something else.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

from lsp_completions.housekeeping import QUIET
from tests.benchmarks.measures import Code, Measure, Samples
from tests.benchmarks.servers import Answer as Received
from tests.benchmarks.servers import Server, notification
from tests.support.sourcegraph import Answer, StandIn

IDLE = Measure("memory, idle", "resident, after the first completion", in_bytes=True)
LARGE = Measure(
    "memory, large file", "resident, with a file of 20,000 lines open as well", in_bytes=True
)
EVENING = Measure(
    "memory, evening", "resident, after many completions and all closed", in_bytes=True
)
STALL = Measure("stall", "longest wait of a request for nothing, while four people type")

DOCUMENTS = 20
TYPISTS = 4
KEYS = 60  # of each of them
WORD = 16  # keys, after which they go to another document
KEY_GAP = 0.09  # seconds
PROBE_GAP = 0.005  # seconds
REST = QUIET + 1.5  # seconds, after which memory was given back


async def live(
    server: Server, instance: StandIn, samples: Samples, *, completions: int, rest: float = REST
) -> None:
    """A day with so many completions after the typing, and `rest` before each look at memory."""
    instance.script = Answer("result_of(items)\n", "    return 1\n")
    first, large = Code(299), Code(20_000)
    documents = [Code(300 + number) for number in range(DOCUMENTS)]

    server.write(first.open())
    await _completed(server, first)
    await _look(server, samples, IDLE, rest)
    server.write(large.open())
    await _completed(server, large)
    await _look(server, samples, LARGE, rest)

    for document in documents:
        server.write(document.open())
    async with _probing(server) as waits:
        await asyncio.gather(
            *[_type(server, documents[number::TYPISTS], seed=number) for number in range(TYPISTS)]
        )
    samples.wall[STALL].append(max(waits))

    for number in range(completions):
        await _completed(server, documents[number % DOCUMENTS])
    for document in (first, large, *documents):
        closed = {"textDocument": {"uri": document.uri}}
        server.write(notification("textDocument/didClose", closed))
    await server.ask("benchmark/none", {})
    await instance.until(lambda: not instance.streaming)
    await _look(server, samples, EVENING, rest)


async def _look(server: Server, samples: Samples, measure: Measure, rest: float) -> None:
    await asyncio.sleep(rest)
    if (memory := server.resident_bytes()) is not None:
        samples.wall[measure].append(memory)


def _ask(server: Server, document: Code) -> Awaitable[Received]:
    """A key, and a request for what follows it."""
    line, character = document.unfinished()
    params = {
        "textDocument": {"uri": document.uri},
        "position": {"line": line, "character": character + 1},
        "context": {"triggerKind": 2},
    }
    key = document.key(line, character)
    request, _, answer = server.request("textDocument/inlineCompletion", params)
    server.write(key + request)
    return server.wait(answer)


async def _completed(server: Server, document: Code) -> None:
    message = (await _ask(server, document)).message
    assert message.get("result"), message


async def _type(server: Server, documents: list[Code], *, seed: int) -> None:
    """Keys at a person's pace, each with a request, as editors make them."""
    chance = random.Random(seed)
    answers = []
    for number in range(KEYS):
        document = documents[number // WORD % len(documents)]
        answers.append(asyncio.ensure_future(_ask(server, document)))
        await asyncio.sleep(KEY_GAP * chance.uniform(0.5, 1.5))
    await asyncio.gather(*answers)


@asynccontextmanager
async def _probing(server: Server) -> AsyncIterator[list[float]]:
    """Ask for nothing all the while; gives how long each answer took, in seconds."""
    waits: list[float] = []

    async def probe() -> None:
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            await server.ask("benchmark/none", {})
            waits.append(loop.time() - began)
            await asyncio.sleep(PROBE_GAP)

    task = asyncio.create_task(probe())
    try:
        yield waits
    finally:
        task.cancel()
        await asyncio.wait([task])
