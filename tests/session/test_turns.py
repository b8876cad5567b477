import asyncio

import pytest

from lsp_completions.errors import TimedOut
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import Outcome, Skipped, SkipReason, Suggested
from lsp_completions.session import Suggestions, Turns

URI = "file:///w/a.py"
DONE = Suggested(document=Document.open(URI, "python", 1, ""), edits=())


class Work:
    """What a turn runs: it waits until told to end, and notes whether it was cancelled."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.may_end = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def __call__(self) -> Outcome:
        self.started.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return DONE


async def test_a_turn_gives_what_its_work_gives() -> None:
    work = Work()
    work.may_end.set()
    assert await Turns().take(URI, "inline").run(work) is DONE


async def test_an_error_of_the_work_reaches_the_request() -> None:
    async def fail() -> Outcome:
        raise TimedOut("too late")

    with pytest.raises(TimedOut):
        await Turns().take(URI, "inline").run(fail)


@pytest.mark.parametrize(
    ("second_uri", "second_method", "superseded"),
    [
        pytest.param(URI, "inline", True, id="same document and method"),
        pytest.param("file:/w/%61.py", "inline", True, id="same document, spelled otherwise"),
        pytest.param(URI, "menu", False, id="other method"),
        pytest.param("file:///w/b.py", "inline", False, id="other document"),
    ],
)
async def test_the_newest_request_wins(
    second_uri: str, second_method: str, superseded: bool
) -> None:
    turns, first, second = Turns(), Work(), Work()
    running = asyncio.create_task(turns.take(URI, "inline").run(first))
    await first.started.wait()
    later = asyncio.create_task(turns.take(second_uri, second_method).run(second))
    await second.started.wait()
    assert running.done() is superseded
    if superseded:
        assert running.result() == Skipped(reason=SkipReason.SUPERSEDED)
        await first.cancelled.wait()
    first.may_end.set()
    second.may_end.set()
    assert await later is DONE


async def test_superseded_before_it_began_it_never_works() -> None:
    turns, first = Turns(), Work()
    turn = turns.take(URI, "inline")
    turns.take(URI, "inline")
    assert await turn.run(first) == Skipped(reason=SkipReason.SUPERSEDED)
    assert not first.started.is_set()


@pytest.mark.parametrize("cancels", [1, 2, 3])
async def test_a_cancelled_request_returns_at_once_and_its_work_stops(cancels: int) -> None:
    turns, work = Turns(), Work()
    running = asyncio.create_task(turns.take(URI, "inline").run(work))
    await work.started.wait()
    for _ in range(cancels):
        running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await work.cancelled.wait()


async def test_closing_a_document_ends_its_turns_only() -> None:
    turns, mine, other = Turns(), Work(), Work()
    running = asyncio.create_task(turns.take(URI, "inline").run(mine))
    elsewhere = asyncio.create_task(turns.take("file:///w/b.py", "inline").run(other))
    await mine.started.wait()
    await other.started.wait()
    turns.end(URI)
    assert await running == Skipped(reason=SkipReason.MOVED_ON)
    other.may_end.set()
    assert await elsewhere is DONE


async def test_an_answered_turn_can_be_taken_away_as_well() -> None:
    turns, work = Turns(), Work()
    work.may_end.set()
    assert await turns.take(URI, "inline").run(work) is DONE
    assert await turns.take(URI, "inline").run(work) is DONE
    turns.end(URI)


def test_suggestions_are_known_until_accepted_or_long_past() -> None:
    suggestions = Suggestions()
    first = suggestions.add(URI)
    second = suggestions.add(URI)
    assert suggestions.accept(second) == URI
    assert suggestions.accept(second) is None
    for _ in range(Suggestions.CAPACITY):
        suggestions.add(URI)
    assert suggestions.accept(first) is None
