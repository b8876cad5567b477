"""What comes of suggestions is counted while a server runs, and never in its way."""

import asyncio
import os
import sqlite3
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lsp_completions.journal import Asked, Entry, Fate, Journal, Method
from lsp_completions.pipeline.document import (
    Document,
    Position,
    Range,
    TextChange,
    apply_changes,
)
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.outcome import Outcome, Skipped, SkipReason, Suggested
from lsp_completions.pipeline.positions import PositionEncoding
from lsp_completions.statistics import keeper
from lsp_completions.statistics.keeper import MOST_WAITING, Statistics
from lsp_completions.statistics.kept import Lines
from lsp_completions.statistics.records import AFTER, SOON, Held, Unusable
from lsp_completions.statistics.store import read
from lsp_completions.statistics.summary import Summary, summarized
from lsp_completions.statistics.waiting import MOST, bring_in
from lsp_completions.trail import How, Trail

URI = "file:///w/a.py"
NOW = 1_800_000_000.0


@dataclass(slots=True, eq=False)
class Timer:
    at: float
    call: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


@dataclass
class Clock:
    """Time that passes when a test says so."""

    now: float = 0.0
    timers: list[Timer] = field(default_factory=list)

    def later(self, wait: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(self.now + wait, call))
        return self.timers[-1]

    def passes(self, seconds: float) -> None:
        until = self.now + seconds
        while due := [each for each in self.timers if not each.cancelled and each.at <= until]:
            first = min(due, key=lambda each: each.at)
            self.timers.remove(first)
            self.now = first.at
            first.call()
        self.now = until


class Stream:
    provider = property(lambda self: self)
    prompt = property(lambda self: self)
    name, model = "sourcegraph", "swift"
    excerpts: tuple[int, ...] = ()
    began, event_after, first_after = 0.0, 0.1, 0.2


class Desk:
    """A document, a journal and what counts."""

    def __init__(self, folder: Path, text: str = "") -> None:
        self.file = folder / "statistics.db"
        self.clock = Clock()
        self.document = Document.open(URI, "python", 1, text)
        self.journal = Journal(lambda: NOW + self.clock.now)
        self.statistics = Statistics(
            lambda _: self.document,
            file=self.file,
            clock=lambda: NOW + self.clock.now,
            later=self.clock.later,
        )
        self.journal.subscribe(self.statistics.note)

    def answers(self, what: str | SkipReason, how: How = How.ASKED, *, line: int = 1) -> Entry:
        times = iter([0.0])
        trail = Trail(lambda: next(times, 0.25))
        trail.follows(Stream(), how)
        outcome: Outcome
        if isinstance(what, str):
            edit = Edit(start=0, end=0, new_text=what)
            outcome = Suggested(document=self.document, edits=(edit,))
        else:
            outcome = Skipped(reason=what)
        asked = Asked(
            method=Method.INLINE, uri=URI, path="a.py", language="python", line=line, by_hand=False
        )
        return self.journal.add(asked, trail, outcome)

    def changes(self, line: int, old: int, text: str) -> None:
        change = TextChange(Range(Position(line, 0), Position(line, old)), text)
        self.document = apply_changes(self.document, [change], PositionEncoding.UTF16, 2)
        self.statistics.changed(URI, [change])

    def held(self) -> Held:
        return read(self.file, 0)

    def summary(self) -> Summary:
        return summarized(self.held())

    async def written(self) -> None:
        """Wait for what a thread writes by now."""
        self.clock.passes(SOON)
        for task in asyncio.all_tasks():
            if task.get_name() == "statistics":
                await task


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    await desk.statistics.aclose()


async def test_suggestions_and_reasons_are_counted(desk: Desk) -> None:
    number = desk.answers("return 1").number
    desk.answers(SkipReason.SUPERSEDED)
    desk.answers(SkipReason.SUPERSEDED)
    await desk.written()
    desk.journal.happened(number, fate=Fate.ACCEPTED, taken=8)
    await desk.written()
    summary = desk.summary()
    assert (summary.requests, summary.suggestions, summary.accepted) == (3, 1, 1)
    assert summary.reasons == (("SUPERSEDED", 2),)
    assert summary.models[0].name == "sourcegraph swift"
    assert summary.models[0].median == 250
    assert "return" not in repr(desk.held())
    assert b"return" not in desk.file.read_bytes()


async def test_one_that_is_typed_into_counts_once(desk: Desk) -> None:
    first = desk.answers("abc")
    for rest, how in (("bc", How.MEMORY), ("c", How.JOINED)):
        desk.journal.happened(first.number, fate=Fate.TYPED_THROUGH, taken=1)
        await desk.written()
        first = desk.answers(rest, how)
    desk.journal.happened(first.number, fate=Fate.TYPED_THROUGH, taken=1)
    await desk.written()
    summary = desk.summary()
    assert len(desk.held().rows) == 3
    assert (summary.suggestions, summary.typed_through, summary.accepted) == (1, 1, 0)


async def test_one_that_is_accepted_word_by_word_counts_once(desk: Desk) -> None:
    first = desk.answers("abc def")
    desk.journal.happened(first.number, fate=Fate.ACCEPTED_IN_PART, taken=4)
    second = desk.answers("def", How.MEMORY)
    desk.journal.happened(second.number, fate=Fate.ACCEPTED, taken=3)
    await desk.written()
    summary = desk.summary()
    assert (summary.suggestions, summary.accepted, summary.in_part) == (1, 1, 0)
    assert summary.characters == 7


@pytest.mark.parametrize(
    ("rest", "how", "line"),
    [
        pytest.param("bc", How.ASKED, 1, id="asked anew"),
        pytest.param("bcd", How.MEMORY, 1, id="a longer one"),
        pytest.param("bc", How.MEMORY, 9, id="elsewhere"),
    ],
)
async def test_another_one_counts_by_itself(desk: Desk, rest: str, how: How, line: int) -> None:
    first = desk.answers("abc")
    desk.journal.happened(first.number, fate=Fate.TYPED_THROUGH, taken=1)
    desk.answers(rest, how, line=line)
    await desk.written()
    assert desk.summary().suggestions == 2


async def test_what_stands_is_looked_at_three_times(desk: Desk) -> None:
    desk.document = Document.open(URI, "python", 1, "import os\nreturn a + b\n")
    number = desk.answers("return a + b").number
    desk.statistics.accepted(number, "return a + b", URI, Lines(first=1, last=1))
    # Reported as well, which changes nothing.
    desk.statistics.accepted(number, "return a + b", URI, Lines(first=1, last=1))
    desk.changes(0, 0, "import re\n")
    desk.clock.passes(AFTER[0])
    desk.changes(2, 12, "return a - b")
    desk.clock.passes(AFTER[1] - AFTER[0])
    desk.changes(2, 12, "pass")
    desk.clock.passes(AFTER[2] - AFTER[1])
    await desk.written()
    assert desk.held().rows[0].kept == (1.0, 0.889, 0.0)


async def test_of_a_closed_document_nothing_more_is_known(desk: Desk) -> None:
    desk.document = Document.open(URI, "python", 1, "pass\n")
    number = desk.answers("pass").number
    desk.statistics.accepted(number, "pass", URI, Lines(first=0, last=0))
    desk.clock.passes(AFTER[0])
    desk.statistics.closed(URI)
    desk.clock.passes(AFTER[2])
    await desk.written()
    assert desk.held().rows[0].kept == (1.0, None, None)


async def test_switched_off_nothing_is_written(desk: Desk) -> None:
    number = desk.answers("pass").number
    desk.statistics.follow(on=False)
    desk.answers("pass")
    desk.statistics.accepted(number, "pass", URI, Lines(first=0, last=0))
    await desk.written()
    await desk.statistics.aclose()
    assert not desk.file.exists()


async def test_at_the_end_all_is_written(desk: Desk) -> None:
    desk.answers("pass")
    await desk.statistics.aclose()
    assert len(desk.held().rows) == 1


def waiting_in(folder: Path) -> list[Path]:
    return list(folder.glob("*.waiting"))


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Another program is at the database, and does not end."""
    other = sqlite3.connect(file)
    other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        other.close()


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("is_writing", [True, False])
async def test_what_cannot_be_written_at_the_end_waits_for_the_next_server(
    tmp_path: Path, is_new: bool, is_writing: bool
) -> None:
    ending, next_one, one_more = Desk(tmp_path, "pass\n"), Desk(tmp_path), Desk(tmp_path)
    if not is_new:
        next_one.answers(SkipReason.EMPTY)
        await next_one.written()
    before = 0 if is_new else 1
    number = ending.answers("pass").number
    ending.answers(SkipReason.EMPTY)
    ending.statistics.accepted(number, "pass", URI, Lines(first=0, last=0))
    with locked(ending.file):
        ending.clock.passes(SOON if is_writing else 0)
        await asyncio.sleep(0)  # the task begins to write
        await ending.statistics.aclose()
        (waiting,) = waiting_in(tmp_path)
        assert "pass" not in waiting.read_text()
        if os.name == "posix":
            assert stat.S_IMODE(waiting.stat().st_mode) == 0o600
        # As long as nobody can write it waits on.
        next_one.answers(SkipReason.EMPTY)
        await next_one.written()
    assert len(waiting_in(tmp_path)) == 1
    next_one.clock.passes(60)
    await next_one.written()
    one_more.answers(SkipReason.EMPTY)
    await one_more.statistics.aclose()
    await next_one.statistics.aclose()
    assert len(next_one.held().rows) == 1
    assert next_one.summary().reasons == (("EMPTY", before + 3),)
    assert waiting_in(tmp_path) == []


async def test_what_stands_is_known_also_of_what_waits(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "pass\n")
    number = desk.answers("pass").number
    desk.statistics.accepted(number, "pass", URI, Lines(first=0, last=0))
    desk.clock.passes(AFTER[0] + 1)
    with locked(desk.file):
        await desk.statistics.aclose()
    bring_in(desk.file, patience=9)
    assert desk.held().rows[0].kept == (1.0, None, None)


@pytest.mark.parametrize(
    "held",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"suggestions": [], "nothings": [[]], "kept": []}', id="no reason"),
        pytest.param(b'{"suggestions": [{"at": "x"}], "nothings": [], "kept": []}', id="half"),
    ],
)
async def test_what_waits_and_is_something_else_is_let_go(desk: Desk, held: bytes) -> None:
    desk.file.with_name(f"{desk.file.name}.1.waiting").write_bytes(held)
    desk.answers("pass")
    await desk.written()
    assert len(desk.held().rows) == 1


async def test_what_waits_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "AT_THE_END", 0)
    (tmp_path / "statistics.db").mkdir()
    for _ in range(MOST + 2):
        desk = Desk(tmp_path)
        desk.answers("pass")
        await desk.statistics.aclose()
    assert len(waiting_in(tmp_path)) == MOST


async def test_what_is_old_and_cannot_be_forgotten_counts_nothing_twice(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prune(*_: object, **__: object) -> None:
        raise Unusable("locked")

    monkeypatch.setattr("lsp_completions.statistics.store.prune", prune)
    desk.answers(SkipReason.EMPTY)
    await desk.written()
    await desk.statistics.aclose()
    assert desk.summary().reasons == (("EMPTY", 1),)


async def test_what_could_not_be_written_waits_within_bounds(desk: Desk) -> None:
    desk.file.mkdir()
    for _ in range(MOST_WAITING + 10):
        desk.answers("pass")
    desk.answers(SkipReason.EMPTY)
    await desk.written()
    desk.answers(SkipReason.EMPTY)
    desk.file.rmdir()
    desk.clock.passes(60)
    await desk.written()
    assert len(desk.held().rows) == MOST_WAITING
    assert desk.summary().reasons == (("EMPTY", 2),)


async def test_a_newer_database_is_not_written_to(desk: Desk) -> None:
    with sqlite3.connect(desk.file) as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    desk.answers("pass")
    await desk.written()
    desk.answers("pass")
    await desk.written()
    assert not any(each for each in desk.clock.timers if not each.cancelled)
