"""Two policies in wide use, written down: wait for a pause, and ask at every key.

They stand in the place of the server and ask the same oracle.
"""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

from tests.evaluation.edits import Edit
from tests.evaluation.keys import Key
from tests.evaluation.oracle import Oracle
from tests.evaluation.services import Answer, Told

PAUSE = 0.395  # seconds after a request; with an editor's own 40 ms a stream is asked 435 ms after
MOST_WHILE_PAUSING = 64  # tokens
SHORT_PAUSE = 0.025
PROMOTED_EVERY = 0.25
LINES_AHEAD = 5
ENDED = re.compile(r"[)\]};][ \t]*$")
WORD = re.compile(r".*\w")


class Policy:
    """What the two have in common: what was said is remembered, and typed along with."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._told: Told = lambda number, answer: None
        self._said: list[tuple[str, str]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, edit: Edit, told: Told) -> None:
        self._told = told

    def change(self, text: str, key: Key) -> None:
        """Nothing is done before somebody asks."""

    def cancel(self, number: int) -> None: ...

    def accepted(self, identity: str) -> None: ...

    def accepted_part(self, identity: str, length: int) -> None: ...

    async def aclose(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, work: "asyncio.Task[None]") -> "asyncio.Task[None]":
        self._tasks.add(work)
        work.add_done_callback(self._tasks.discard)
        return work

    def _remembered(self, prefix: str) -> str:
        """What is left of something said before, up to the end of its line or block."""
        for began, said in reversed(self._said[-250:]):
            typed = prefix[len(began) :]
            if prefix.startswith(began) and said.startswith(typed) and said != typed:
                return said[len(typed) :]
        return ""

    def _remember(self, prefix: str, said: str) -> None:
        if said.strip():
            self._said.append((prefix, said))


class WaitForAPause(Policy):
    """Asks when nothing was typed for a while, and shows what came once all of it has come."""

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(oracle)
        self._waiting: tuple[int, asyncio.Task[None]] | None = None

    def ask(self, number: int, text: str, cursor: int, *, menu: bool, kind: int) -> None:
        if self._waiting is not None:
            self.cancel(self._waiting[0])
        task = self._begin(asyncio.create_task(self._answer(number, text[:cursor])))
        self._waiting = number, task

    def cancel(self, number: int) -> None:
        if self._waiting is not None and self._waiting[0] == number:
            self._waiting[1].cancel()
            self._waiting = None
            self._told(number, None)

    async def _answer(self, number: int, prefix: str) -> None:
        said = self._remembered(prefix)
        if not said:
            await asyncio.sleep(PAUSE)
            starts = prefix.rpartition("\n")[2].strip() == "" or prefix.endswith((":", "{", "("))
            stops = ("\n\n",) if starts else ("\n",)
            stream = self._oracle.stream(prefix, most=MOST_WHILE_PAUSING, stops=stops)
            async with aclosing(stream) as tokens:
                said = "".join([token async for token in tokens])
            self._remember(prefix, said)
        self._waiting = None
        self._told(number, Answer(start=len(prefix), text=said) if said.strip() else None)


class FireAtEveryKey(Policy):
    """Asks at each key, gives up what was asked before, and shows the first line when it came."""

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(oracle)
        self._tail: asyncio.Task[None] | None = None
        self._promoted = -1.0
        self._open: dict[int, str] = {}

    def ask(self, number: int, text: str, cursor: int, *, menu: bool, kind: int) -> None:
        prefix = text[:cursor]
        # It never asks after these, nor within a word.
        if ENDED.search(prefix) or WORD.match(text[cursor:].partition("\n")[0]):
            self._told(number, None)
            return
        if said := self._remembered(prefix):
            self._told(number, Answer(start=cursor, text=_first_line(said)))
            return
        now = asyncio.get_running_loop().time()
        if self._tail is not None and not self._tail.done():
            # Now and then one is let run on, for what it may say to those who ask later.
            if now - self._promoted > PROMOTED_EVERY:
                self._promoted = now
            else:
                self._tail.cancel()
        self._open[number] = prefix
        at_once = prefix.rpartition("\n")[2].strip() == ""
        task = asyncio.create_task(self._answer(number, prefix, 0 if at_once else SHORT_PAUSE))
        self._tail = self._begin(task)

    async def _answer(self, number: int, prefix: str, pause: float) -> None:
        try:
            await asyncio.sleep(pause)
            said, lines = "", 0
            stream: AsyncGenerator[str, None] = self._oracle.stream(prefix, stops=("\n\n",))
            async with aclosing(stream) as tokens:
                async for token in tokens:
                    said += token
                    if said.strip() and said.lstrip("\n").count("\n") > lines:
                        lines += 1
                        self._deliver(prefix, said)
                    if lines > LINES_AHEAD:
                        break
            self._deliver(prefix, said)
            if number in self._open:
                del self._open[number]
                self._told(number, None)
        finally:
            self._open.pop(number, None)  # given up, and never answered

    def _deliver(self, began: str, said: str) -> None:
        self._remember(began, said)
        for number, prefix in list(self._open.items()):
            if left := self._remembered(prefix):
                del self._open[number]
                self._told(number, Answer(start=len(prefix), text=_first_line(left)))


def _first_line(text: str) -> str:
    start = len(text) - len(text.lstrip("\n"))
    end = text.find("\n", start)
    return text if end < 0 else text[:end]
