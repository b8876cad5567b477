"""Whatever somebody types, and whatever a model says and when: the laws that hold at each moment.

All of it happens in virtual time, so it is exact, and the same each time.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lsp_completions.cache import Memory
from lsp_completions.completer import complete
from lsp_completions.errors import CompletionsError, Interrupted, RateLimited, TimedOut
from lsp_completions.generations import Generations, GivenUp
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.outcome import Outcome, Suggested
from lsp_completions.pipeline.uris import document_key
from lsp_completions.providers.base import Event, HttpRequest
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.request import Request, at_hand
from lsp_completions.secret import Secret
from lsp_completions.session import Turns
from lsp_completions.settings import Settings
from tests.evaluation.virtual_time import run

TOTAL = 7.0  # seconds a stream may take
DEADLINE = 1.5
AT_ONCE = 0.01

TEXTS = {
    "python": ("import os\n\n\ndef add(a, b):\n    c = \n    return c\n", 31 + 4),
    "crlf": ("def f(x):\r\n\ty = \r\n\treturn y\r\n", 16),
    "javascript": ("function f(a) {\n  if (a) \n  g()\n}\n", 25),
    "emoji": ("# 😀 émoji\nname = \nother = 2\n", 17),
    "form feed": ("a = 1\n\x0c\nb = \n", 12),
    "long line": ("x = '" + "y" * 3000 + "'; z = \nw = 1\n", 3013),
    "far down": ("# far\n" * 600 + "value = \n" + "# below\n" * 300, 3608),
    "empty": ("", 0),
    "in brackets": ("call(, 1)\n", 5),
}
SAID = (
    "compute(a)\n    total = c\n    more = total\n\n",
    "{\n    g(1);\n    h(2);\n}\n",
    "a\n",
    "\n    first()\n    second()\n",
    "f(g(h(1)))\nnext = 2\nlast = 3\nthen = 4\nend = 5\n",
    "'text'\n",
    "",
    "   \n",
    "items[0].name",
    "😀é(1)\n",
)
CLOSERS = {"(": ")", "[": "]", "{": "}", "'": "'", '"': '"'}


@dataclass(frozen=True)
class Says:
    """What one stream does: what it says, in pieces of some size, when, and how it ends."""

    text: str
    size: int
    first: float
    gap: float
    end: str
    takes_back: bool = False


@dataclass(eq=False)
class Asked:
    """One request to the model, and the document it was about."""

    says: Says
    before: str


@dataclass(eq=False)
class Answered:
    """One request of the editor, and what came of it."""

    task: "asyncio.Task[Outcome]"
    began: float
    menu: bool
    cancelled: bool = False
    ended: float | None = None


class World:
    """One document, one editor, one model."""

    def __init__(self, text: str, offset: int, streams: list[Says], *, version: int) -> None:
        self.document = Document.open("file:///w/a.py", "python", 1, text)
        self.is_open = True
        self.offset = offset
        self.provider = Sourcegraph(
            endpoint="http://127.0.0.1:1", token=Secret("t"), api_version=version
        )
        self.settings = Settings()
        self.memory, self.turns = Memory(), Turns()
        self.generations = Generations(self._open)
        self.script = streams
        self.asked: list[Asked] = []
        self.streaming = 0
        self.answers: list[Answered] = []
        self.history: list[tuple[Document, int]] = []
        self.faults: list[AssertionError] = []

    async def _open(self, request: HttpRequest) -> AsyncGenerator[Event, None]:
        says = self.script[len(self.asked) % len(self.script)]
        body = json.loads(request.body)
        messages = body.get("messages")
        prompt = messages[-1]["text"] if messages else body.get("prompt", "")
        self.asked.append(Asked(says, prompt))
        self.streaming += 1
        # Those that have ended may still hang up, or wait for the end of the answer.
        running = len(self.generations.running(document_key(self.document.uri)))
        if running > 2 or self.streaming > 5:
            self.faults.append(AssertionError(f"{running} running, {self.streaming} open"))
        try:
            async with asyncio.timeout(TOTAL):
                async for event in self._events(says):
                    yield event
        except TimeoutError:
            raise TimedOut("too long") from None
        finally:
            self.streaming -= 1

    async def _events(self, says: Says) -> AsyncGenerator[Event, None]:
        await asyncio.sleep(says.first)
        if says.end == "refused":
            raise RateLimited("no")
        version = self.provider.api_version
        pieces = range(0, len(says.text), says.size)
        for at in pieces:
            piece = says.text[at : at + says.size]
            data = (
                {"deltaText": piece}
                if version == 2
                else {"completion": says.text[: at + len(piece)]}
            )
            if says.takes_back and version == 1 and at == 0:
                yield Event(name="completion", data=json.dumps({"completion": "zzz"}))
            yield Event(name="completion", data=json.dumps(data))
            if says.gap:
                await asyncio.sleep(says.gap)
        if says.end == "broken":
            raise Interrupted("cut")
        if says.end == "nonsense":
            yield Event(name="completion", data="{")
        if says.end == "stop":
            last = {"stopReason": "stop"}
            last |= {"deltaText": ""} if version == 2 else {"completion": says.text}
            yield Event(name="completion", data=json.dumps(last))
        if says.end in ("silent", "stop"):
            await asyncio.get_running_loop().create_future()

    # ---- the editor

    def becomes(self, start: int, end: int, text: str, cursor: int) -> None:
        self.history.append((self.document, self.offset))
        self.set(self.document.spliced(start, end, text, (self.document.version or 0) + 1), cursor)

    def set(self, document: Document, cursor: int) -> None:
        self.document, self.offset = document, max(0, min(cursor, document.length))
        line, column = document.place_at(self.offset)
        self.offset = document.offset_at(line, column)
        self.memory.changed(document_key(document.uri), document)

    def reopens(self) -> None:
        """The same text, as a whole."""
        self.history.clear()
        document = Document.open(self.document.uri, "python", 1, self.document.text)
        self.set(document, self.offset)

    def types(self, text: str, closes: str = "") -> None:
        eol = "\r\n" if "\r\n" in self.document.text else "\n"
        text, closes = text.replace("\n", eol), closes.replace("\n", eol)
        self.becomes(self.offset, self.offset, text + closes, self.offset + len(text))

    def accepts(self, edit: Edit, part: int | None) -> None:
        text = edit.new_text[:part] if part else edit.new_text
        end = edit.start if part and part < len(edit.new_text) else edit.end
        eol = "\r\n" if "\r\n" in self.document.text else "\n"
        text = text.replace("\n", eol)
        self.becomes(edit.start, end, text, edit.start + len(text))

    def asks(self, *, menu: bool = False, by_hand: bool = False) -> Answered:
        request = Request(
            document=self.document,
            offset=self.offset,
            path="a.py",
            settings=self.settings,
            provider=at_hand(self.provider),
            current=lambda: self.document if self.is_open else None,
            deadline=DEADLINE if menu else None,
            follow_typing=not menu,
            by_hand=by_hand,
        )
        turn = self.turns.take(self.document.uri, "menu" if menu else "inline")
        work = partial(complete, request, self.generations, self.memory)
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(turn.run(work), name="asked")
        answered = Answered(task, loop.time(), menu)
        task.add_done_callback(lambda _: self.note(answered))
        self.answers.append(answered)
        return answered

    def note(self, answered: Answered) -> None:
        try:
            self.ended(answered)
        except AssertionError as fault:
            self.faults.append(fault)

    def ended(self, answered: Answered) -> None:
        answered.ended = asyncio.get_running_loop().time()
        if answered.task.cancelled():
            assert answered.cancelled, "only what was cancelled is cancelled"
            return
        error = answered.task.exception()
        if error is not None:
            assert isinstance(error, CompletionsError), repr(error)
            assert not isinstance(error, GivenUp), repr(error)
            return
        outcome = answered.task.result()
        if isinstance(outcome, Suggested):
            if not answered.menu:
                # A key may come between the outcome and its answer.
                assert outcome.document.uri == self.document.uri
            for edit in outcome.edits:
                self.check(outcome.document, edit)

    def shown_here(self) -> Edit | None:
        """What the last request put at the cursor, if nothing has happened since."""
        last = self.answers[-1] if self.answers else None
        if last is None or last.menu or not last.task.done() or last.task.cancelled():
            return None
        outcome = None if last.task.exception() else last.task.result()
        if not isinstance(outcome, Suggested) or outcome.document is not self.document:
            return None
        return outcome.edits[0] if outcome.edits[0].start == self.offset else None

    def check(self, document: Document, edit: Edit) -> None:
        """The text with a suggestion in it is what the model was asked for, and said."""
        assert edit.new_text or edit.end > edit.start
        before = plain(document.text[: edit.start])
        whole = bare(before + edit.new_text)
        # As much of the text before as an edit in the window would show in.
        reach = len(bare(edit.new_text)) + 300
        for asked in self.asked:
            prompt, said = prompt_of(asked.before), asked.says.text
            # Models may say the beginning of the line again, or the last word of it.
            line = prompt.rpartition("\n")[2]
            again = [at for at in range(len(line)) if said.lstrip().startswith(line[at:])]
            for start in (len(prompt), *(len(prompt) - len(line) + at for at in again)):
                if whole[-reach:] in bare(prompt[:start] + said):
                    return
        raise AssertionError(
            f"nobody said {edit.new_text!r} after {before[-80:]!r}; said: "
            f"{[(prompt_of(each.before)[-40:], each.says.text) for each in self.asked]}"
        )


def prompt_of(prompt: str) -> str:
    before, _, _ = prompt.partition("<｜fim▁hole｜>")
    return plain(before.rpartition("<｜fim▁begin｜>")[2])


def plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def bare(text: str) -> str:
    return "".join(text.split())


async def live(world: World, steps: list[tuple[str, int]]) -> None:
    for what, number in steps:
        edit = world.shown_here()
        match what:
            case "ask" | "menu" | "by hand":
                world.asks(menu=what == "menu", by_hand=what == "by hand")
            case "see":
                answered = world.asks()
                await asyncio.wait([answered.task])
            case "wait":
                await asyncio.sleep((0, 0.001, 0.05, 0.2, 0.35, 1, 4, 8)[number % 8])
            case "turns":
                for _ in range(number % 12):
                    await asyncio.sleep(0)
            case "as suggested":
                text = edit.new_text if edit else SAID[number % len(SAID)]
                text = text[: 1 + number % 5]
                if text:
                    await typed_as_suggested(world, edit, text)
            case "other":
                world.types("xyz_ \n("[number % 7])
            case "closing":
                text = edit.new_text if edit and edit.new_text[:1] in CLOSERS else "("
                world.types(text[0], CLOSERS[text[0]])
            case "enter":
                world.types("\n" + " " * (number % 9))
            case "enter in braces":
                world.types("{\n    ", "\n}")
            case "delete":
                start = max(0, world.offset - 1 - number % 3)
                world.becomes(start, world.offset, "", start)
            case "accept":
                if edit:
                    world.accepts(edit, None if number % 2 else 1 + number % 7)
            case "above":
                at = min(number % 7, world.offset)
                world.becomes(at, at, "#", world.offset + 1)
            case "below":
                at = min(world.offset + number % 40, world.document.length)
                world.becomes(at, at, "~", world.offset)
            case "jump":
                world.set(world.document, number * 7 % (world.document.length + 1))
            case "undo":
                if world.history:
                    world.set(*world.history.pop())
            case "whole":
                world.reopens()
            case "close":
                world.is_open = False
                world.turns.end(world.document.uri)
                world.memory.forget(document_key(world.document.uri))
                world.generations.forget(document_key(world.document.uri))
                if number % 2:
                    await asyncio.sleep(0.2)
                    assert not world.streaming, "closed documents have no streams"
                world.is_open = True
                world.reopens()
            case "settings":
                world.reopens()
                world.settings = replace(world.settings, temperature=number % 3 / 10)
            case "cancel":
                if world.answers:
                    answered = world.answers[-1 - number % min(3, len(world.answers))]
                    answered.cancelled = True
                    answered.task.cancel()
        for fault in world.faults:
            raise fault
    await asyncio.sleep(3 * TOTAL)
    for fault in world.faults:
        raise fault
    assert all(each.task.done() for each in world.answers)
    for each in world.answers:
        assert each.ended is not None
        longest = DEADLINE if each.menu else 3 * TOTAL
        assert each.ended - each.began <= longest + AT_ONCE
    assert world.streaming == 0
    world.is_open = False
    world.memory.forget(document_key(world.document.uri))
    await world.generations.aclose()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert not world.generations._running


async def typed_as_suggested(world: World, edit: Edit | None, text: str) -> None:
    """Type what is suggested, key by key; what is left of it is shown at once at each."""
    loop = asyncio.get_running_loop()
    asked = len(world.asked)
    waiting = [each for each in world.answers if not each.task.done()]
    for number, key in enumerate(text, 1):
        world.types(key)
        if edit is None:
            continue
        rest = edit.new_text[number:]
        if not rest.strip():
            break
        began = loop.time()
        answered = world.asks()
        await asyncio.wait([answered.task])
        outcome = answered.task.result()
        assert isinstance(outcome, Suggested), (outcome, rest)
        assert outcome.edits[0].new_text.startswith(rest), (outcome.edits[0].new_text, rest)
        assert loop.time() == began
        # A menu that is still waited for follows what is typed.
        assert len(world.asked) == asked or any(each.menu for each in waiting)


STREAMS = st.builds(
    Says,
    text=st.sampled_from(SAID),
    size=st.sampled_from((1, 2, 3, 7, 1000)),
    first=st.sampled_from((0.0, 0.05, 0.3, 0.8, 2.0, 6.0)),
    gap=st.sampled_from((0.0, 0.001, 0.05, 0.4)),
    end=st.sampled_from(("ends", "stop", "silent", "broken", "refused", "nonsense")),
    takes_back=st.booleans(),
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                "ask",
                "ask",
                "see",
                "see",
                "menu",
                "by hand",
                "wait",
                "wait",
                "turns",
                "as suggested",
                "as suggested",
                "other",
                "closing",
                "enter",
                "enter in braces",
                "delete",
                "accept",
                "accept",
                "above",
                "below",
                "jump",
                "undo",
                "whole",
                "close",
                "settings",
                "cancel",
            )
        ),
        st.integers(0, 100),
    ),
    min_size=2,
    max_size=25,
)


@pytest.mark.parametrize("kind", TEXTS)
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    streams=st.lists(STREAMS, min_size=1, max_size=6), steps=STEPS, version=st.sampled_from((1, 2))
)
def test_any_typing(
    kind: str, streams: list[Says], steps: list[tuple[str, int]], version: int
) -> None:
    text, offset = TEXTS[kind]
    run(live(World(text, offset, streams, version=version), steps))
