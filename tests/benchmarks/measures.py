"""What is measured, and how: each function takes samples from one server."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tests.benchmarks.servers import Answer as Received
from tests.benchmarks.servers import Server, notification
from tests.support.sourcegraph import Answer, Exchange, Gate, StandIn

SUGGESTION = "alue_of_the_result + 1"
THOUGHT = 0.03  # seconds before the first event; the fastest instances take twice as long


@dataclass(frozen=True)
class Measure:
    """A row of the table. `size` tells apart the rows of one kind."""

    title: str
    note: str = ""
    size: str = ""
    in_bytes: bool = False
    and_worst: bool = False
    """The slowest of a hundred matters as well."""


START = Measure("start", "spawn to the answer to initialize")
MEMORY = Measure("memory", "resident, before any document", in_bytes=True)
REQUEST = Measure("key to request", "didChange and inlineCompletion written to request arriving")
ANSWER = Measure("event to answer", "first event sent, stream held open, to answer read")
END = Measure("end to answer", "last byte of a stream without a line end, to answer read")
CANCEL = Measure("cancel to answer", "$/cancelRequest written to answer read")
HANG_UP = Measure(
    "cancel to hang-up",
    "$/cancelRequest and a key undone written to connection closed",
    and_worst=True,
)


def answer_after(thought: float) -> Measure:
    return replace(ANSWER, size=f"{thought * 1000:.0f} ms after the request")


def change(text: "Text") -> Measure:
    return Measure("didChange", "one character inserted, one of many written at once", text.name)


class Text:
    """A document of the benchmark, of which the server holds a copy."""

    def __init__(self, name: str, text: str, *, line: int, character: int) -> None:
        self.name = name
        self.uri = f"file:///benchmark/{name.replace(' ', '_').replace(',', '')}.py"
        self.text = text
        self.line, self.character = self._last = line, character
        self.version = 1

    def open(self) -> bytes:
        self.version = 1
        item = {"uri": self.uri, "languageId": "python", "version": 1, "text": self.text}
        return notification("textDocument/didOpen", {"textDocument": item})

    def key(self, line: int, character: int, typed: str = "v") -> bytes:
        """A key typed: one character inserted."""
        self.version += 1
        self._last = line, character
        place = {"line": line, "character": character}
        params = {
            "textDocument": {"uri": self.uri, "version": self.version},
            "contentChanges": [{"range": {"start": place, "end": place}, "text": typed}],
        }
        return notification("textDocument/didChange", params)

    def undone(self) -> bytes:
        """The last key undone."""
        line, character = self._last
        self.version += 1
        places = [{"line": line, "character": each} for each in (character, character + 1)]
        params = {
            "textDocument": {"uri": self.uri, "version": self.version},
            "contentChanges": [
                {"range": dict(zip(("start", "end"), places, strict=True)), "text": ""}
            ],
        }
        return notification("textDocument/didChange", params)

    def keys(self, count: int) -> bytes:
        """Keys typed one after the other, always at the same place."""
        keys = [self.key(self.line, self.character + index) for index in range(count)]
        self.character += count
        return b"".join(keys)

    def unfinished(self) -> tuple[int, int]:
        """A place that waits for a value, not used before."""
        self.character += 1
        return self.line, self.character - 1


class Code(Text):
    """A file of functions; every third line waits for a value."""

    def __init__(self, lines: int) -> None:
        functions = (
            f"def function_{number}(items):\n    value_{number} = \n    return value_{number}\n"
            for number in range(lines // 3)
        )
        middle = lines // 6 * 3 + 2
        super().__init__(
            f"{lines:,} lines",
            "".join(functions),
            line=middle,
            character=len(f"    return value_{lines // 6}"),
        )
        self._functions = lines // 3
        self._used = 0

    def unfinished(self) -> tuple[int, int]:
        cycle, number = divmod(self._used, self._functions)
        self._used += 1
        return number * 3 + 1, len(f"    value_{number} = ") + cycle


def minified(size: int) -> Text:
    """One line, as a minifier leaves it."""
    before, after = 'a={"b":[1', ',2,3],"c":"d"};'
    unit = before + after
    # Behind a number: inside a word nobody is asked.
    middle = size // len(unit) // 2 * len(unit) + len(before)
    return Text(
        f"one line of {size / 1e6:g} MB", unit * (size // len(unit)), line=0, character=middle
    )


@dataclass
class Samples:
    """The samples of one server, by measure: seconds, or bytes."""

    wall: dict[Measure, list[float]] = field(default_factory=lambda: defaultdict(list))
    cpu: dict[Measure, list[float]] = field(default_factory=lambda: defaultdict(list))


async def type_keys(
    server: Server, text: Text, samples: Samples, *, keys: int, patience: float
) -> None:
    """The cost of one change: many at once, then a request that is refused unseen."""
    first = await _typed(server, text.keys(1))
    count = max(1, min(keys, int(patience / first[0])))
    if count > 1:
        wall, cpu = await _typed(server, text.keys(count))
    else:
        wall, cpu = first
    samples.wall[change(text)].append(wall / count)
    if cpu is not None:
        samples.cpu[change(text)].append(cpu / count)


async def _typed(server: Server, keys: bytes) -> tuple[float, float | None]:
    probe, _, answer = server.request("benchmark/none", {})
    cpu_before, began = server.cpu_seconds(), time.perf_counter()
    server.write(keys + probe)
    ended = (await server.wait(answer)).at
    cpu_after = server.cpu_seconds()
    cpu = None if cpu_before is None or cpu_after is None else cpu_after - cpu_before
    return ended - began, cpu


async def complete(
    server: Server, text: Text, instance: StandIn, samples: Samples, *, times: int
) -> None:
    """From the key to the request, which is answered at once."""
    instance.script = Answer(SUGGESTION, "\n", "    return 1")
    for _ in range(times):
        exchange, written, answer = await _asked(server, text, instance)
        _check((await server.wait(answer)).message)
        await instance.until(lambda: not instance.streaming)
        samples.wall[replace(REQUEST, size=text.name)].append(exchange.arrived_at - written)


async def complete_early(
    server: Server, text: Text, instance: StandIn, samples: Samples, *, times: int, thought: float
) -> None:
    """From the first whole line to the answer, while the model writes on.

    `thought` is how many seconds pass before the first event. Without any the line comes while the
    server still has to do with the request.
    """
    for _ in range(times):
        thinking, writing = Gate(), Gate()
        instance.script = Answer(thinking, f"{SUGGESTION}\n", writing, "    return 1")
        exchange, _, answer = await _asked(server, text, instance)
        if thought:
            await asyncio.sleep(thought)
        thinking.open()
        answered = await server.wait(answer)
        _check(answered.message)
        samples.wall[answer_after(thought)].append(answered.at - exchange.sent_at[0])
        writing.open()
        await instance.until(lambda: not instance.streaming)


async def complete_late(
    server: Server, text: Text, instance: StandIn, samples: Samples, *, times: int
) -> None:
    """From the end of the stream to the answer, where only the end tells that it is whole."""
    instance.script = Answer(SUGGESTION[:9], SUGGESTION[9:])
    for _ in range(times):
        exchange, _, answer = await _asked(server, text, instance)
        answered = await server.wait(answer)
        _check(answered.message)
        await instance.until(lambda: not instance.streaming)
        assert exchange.finished_at is not None
        samples.wall[END].append(answered.at - exchange.finished_at)


async def cancel(
    server: Server, text: Text, instance: StandIn, samples: Samples, *, times: int
) -> None:
    """From the editor's cancel to the answer, while the model is silent."""
    instance.script = Answer(Gate())
    for _ in range(times):
        exchange, _, answer, identity = await _asked_by_id(server, text, instance)
        # What is cancelled only is asked for again by some editors; an undone key says more.
        cancelled = notification("$/cancelRequest", {"id": identity}) + text.undone()
        began = time.perf_counter()
        server.write(cancelled)
        answered = await server.wait(answer)
        assert answered.message["error"]["code"] == -32800, answered.message
        samples.wall[CANCEL].append(answered.at - began)
        await instance.until(lambda: not instance.streaming)
        assert exchange.hung_up_at is not None
        samples.wall[HANG_UP].append(exchange.hung_up_at - began)


async def _asked(
    server: Server, text: Text, instance: StandIn
) -> tuple[Exchange, float, asyncio.Future[Received]]:
    exchange, written, answer, _ = await _asked_by_id(server, text, instance)
    return exchange, written, answer


async def _asked_by_id(
    server: Server, text: Text, instance: StandIn
) -> tuple[Exchange, float, asyncio.Future[Received], int]:
    """A key and a request for what follows it; back when the request has reached the instance."""
    line, character = text.unfinished()
    params = {
        "textDocument": {"uri": text.uri},
        "position": {"line": line, "character": character + 1},
        "context": {"triggerKind": 2},
    }
    key = text.key(line, character)
    request, identity, answer = server.request("textDocument/inlineCompletion", params)
    before = len(instance.completions)
    written = time.perf_counter()
    server.write(key + request)
    await instance.until(lambda: len(instance.completions) > before or answer.done())
    assert len(instance.completions) == before + 1, answer
    return instance.completions[-1], written, answer, identity


def _check(message: dict[str, Any]) -> None:
    """A figure counts only when the text was there."""
    result = message.get("result")
    items = result["items"] if isinstance(result, dict) else result
    assert items, message
    assert items[0]["insertText"] == SUGGESTION, message


def calibration() -> float:
    """The time of a fixed piece of work: what the machine is worth just now."""
    began = time.perf_counter()
    total = 0
    for number in _numbers():
        total += number * number
    assert total > 0
    return time.perf_counter() - began


def _numbers() -> Iterator[int]:
    yield from range(200_000)
