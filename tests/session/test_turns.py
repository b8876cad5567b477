import asyncio

import pytest

from lsp_completions.errors import TimedOut
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.outcome import Outcome, Skipped, SkipReason, Suggested
from lsp_completions.session import Shown, Suggestions, Turns
from tests.support.cursor import cursor

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


def shown(text: str, *, uri: str = URI, drawn: str = "x = <cursor>\n") -> Shown:
    before, offset = cursor(drawn)
    edit = Edit(start=offset, end=offset, new_text=text)
    return Shown(document=Document.open(uri, "python", 1, before), edit=edit)


def test_suggestions_are_known_until_accepted_or_long_past() -> None:
    suggestions = Suggestions()
    first = suggestions.add(shown("1"))
    second = suggestions.add(shown("2"))
    assert suggestions.get(second) == suggestions.accept(second) == shown("2")
    assert suggestions.accept(second) is None
    for _ in range(Suggestions.CAPACITY):
        suggestions.add(shown("3"))
    assert suggestions.accept(first) is None


def test_the_suggestions_of_a_closed_document_are_forgotten() -> None:
    suggestions = Suggestions()
    here = suggestions.add(shown("1", uri="file:///w/a%20b.py"))
    there = suggestions.add(shown("1", uri="file:///w/c.py"))
    suggestions.forget("file:///w/a b.py")
    assert suggestions.get(here) is None
    assert suggestions.get(there) is not None


@pytest.mark.parametrize(
    ("text", "accepted", "whole"),
    [
        pytest.param("abc", 2, False, id="a part"),
        pytest.param("abc", 3, True, id="all"),
        pytest.param("😀é", 2, False, id="an emoji counts twice"),
        pytest.param("😀é", 3, True, id="an emoji counts twice, and é once"),
        pytest.param("abc", 99, True, id="more than there is"),
        pytest.param("a\nb", 3, True, id="a line end is one"),
    ],
)
def test_what_is_accepted_in_parts(text: str, accepted: int, whole: bool) -> None:
    assert shown(text).is_whole(accepted) == whole


@pytest.mark.parametrize(
    ("drawn", "text", "now", "expected"),
    [
        pytest.param("x = <cursor>\n", "1", None, "x = 1<cursor>\n", id="before its change"),
        pytest.param("x = <cursor>\n", "1", "x = 1\n", "x = 1<cursor>\n", id="after its change"),
        pytest.param(
            "x = <cursor>\n", "call()", "x = ca\n", "x = call()<cursor>\n", id="typed into"
        ),
        pytest.param("a\nx = <cursor>\n", "1", "# a\na\nx = 1\n", None, id="something new near it"),
        pytest.param(
            f"{'# far' * 999}\nx = <cursor>\n",
            "1",
            f"y\n{'# far' * 999}\nx = 1\n",
            f"y\n{'# far' * 999}\nx = 1<cursor>\n",
            id="something new far above",
        ),
        pytest.param("x = <cursor>\n", "1", "x = 2\n", None, id="something else"),
        pytest.param("x = <cursor>\n", "1", "", None, id="nothing left"),
        pytest.param(
            "a:<cursor>\r\n",
            "\n  b\n  c",
            None,
            "a:\r\n  b\r\n  c<cursor>\r\n",
            id="the document's line ends",
        ),
        pytest.param(
            "a:<cursor>\r\n",
            "\n  b",
            "a:\r\n  b\r\n",
            "a:\r\n  b<cursor>\r\n",
            id="the same, after",
        ),
    ],
)
def test_the_document_once_a_suggestion_is_accepted(
    drawn: str, text: str, now: str | None, expected: str | None
) -> None:
    then = shown(text, drawn=drawn)
    by_now = then.document if now is None else Document.open(URI, "python", 2, now)
    found = then.accepted(by_now)
    assert (found and (found[0].text, found[1])) == (expected and cursor(expected))


async def test_what_took_too_long_gives_way_when_more_is_typed() -> None:
    turns, work = Turns(), Work()
    running = asyncio.create_task(turns.take(URI, "menu").run(work))
    await work.started.wait()
    turns.end_late(URI, "menu", 3600)
    turns.end_late(URI, "inline", 0)
    turns.end_late("file:///w/another.py", "menu", 0)
    await asyncio.sleep(0)
    assert not running.done()
    turns.end_late(URI, "menu", 0)
    assert await running == Skipped(reason=SkipReason.TOO_SLOW)
    await work.cancelled.wait()
