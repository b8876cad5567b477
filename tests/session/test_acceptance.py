"""After an acceptance is reported, what comes next is ready, or on its way."""

import asyncio

import pytest

from lsp_completions.errors import Interrupted, RateLimited
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.outcome import Outcome, Skipped, SkipReason, Suggested
from lsp_completions.providers.llama_cpp import LlamaCpp
from tests.support.cursor import apply
from tests.support.desk import Desk


async def shown(desk: Desk, *says: str, ends: bool = True) -> Outcome:
    """A suggestion, and with it all that the model has to say."""
    number = len(desk.streams)
    asked = desk.asks()
    stream = await desk.stream(number)
    stream.says(*says)
    if ends:
        stream.ends()
    return await asked


@pytest.mark.parametrize("first", ["the report", "the change"])
async def test_the_editors_own_request_joins_the_one_ahead(first: str) -> None:
    desk = Desk("x = <cursor>\n")
    outcome = await shown(desk, "call(")
    if first == "the report":
        ahead = desk.reports(outcome)
        desk.accepts(outcome)
    else:
        desk.accepts(outcome)
        ahead = desk.reports(outcome)
    stream = await desk.stream(1)
    asked = desk.asks()
    await asyncio.sleep(0)
    stream.says("1)\n")
    next_one = await asked
    assert isinstance(next_one, Suggested)
    assert apply(next_one.document.text, next_one.edits[0]) == "x = call(1)\n"
    await ahead
    assert len(desk.streams) == 2


async def test_the_one_ahead_is_ready_before_anybody_asks() -> None:
    desk = Desk("x = <cursor>\n")
    outcome = await shown(desk, "call(")
    ahead = desk.reports(outcome)
    (await desk.stream(1)).says("1)\n")
    await ahead
    desk.accepts(outcome)
    assert await desk.sees() == "x = call(1)\n"
    assert len(desk.streams) == 2


@pytest.mark.parametrize("ends", [True, False], ids=["to its end", "and goes on"])
async def test_what_the_stream_said_beyond_is_not_asked_for(ends: bool) -> None:
    desk = Desk("def f():\n    a = <cursor>\n")
    outcome = await shown(desk, "1\n    b = 2\n    return a\n", ends=ends)
    await desk.reports(outcome)
    desk.accepts(outcome)
    assert await desk.sees() == "def f():\n    a = 1\n    b = 2\n"
    assert len(desk.streams) == 1


@pytest.mark.parametrize("ahead", [True, False], ids=["ahead", "when it is wanted"])
async def test_a_stream_that_turns_out_to_have_said_all_is_followed_by_another(ahead: bool) -> None:
    desk = Desk("x = <cursor>\n")
    outcome = await shown(desk, "1\n", ends=False)
    reported = desk.reports(outcome) if ahead else None
    desk.accepts(outcome)
    asked = desk.asks()
    await asyncio.sleep(0)
    desk.streams[0].ends()
    (await desk.stream(1)).says(" + 2\n")
    next_one = await asked
    assert isinstance(next_one, Suggested)
    assert apply(next_one.document.text, next_one.edits[0]) == "x = 1 + 2\n"
    if reported is not None:
        await reported
    assert len(desk.streams) == 2


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(RateLimited("No more.", retry_after=0.0), id="after a limit"),
        pytest.param(Interrupted("cut"), id="after a failure"),
    ],
)
async def test_nothing_is_asked_ahead_once_something_went_wrong(error: Exception) -> None:
    desk = Desk("x = <cursor>\n")
    outcome = await shown(desk, "call(")
    desk.types("[")
    failing = desk.asks()
    (await desk.stream(1)).ends(error)
    with pytest.raises(type(error)):
        await failing
    desk.deletes(1)
    assert await desk.reports(outcome) == Skipped(reason=SkipReason.NOT_AHEAD)
    assert len(desk.streams) == 2


async def test_nothing_is_asked_ahead_where_nothing_is_missing() -> None:
    desk = Desk("x = <cursor>\n")
    desk.document = Document.open(desk.document.uri, "javascript", 1, desk.document.text)
    outcome = await shown(desk, "f();")
    assert await desk.reports(outcome) == Skipped(reason=SkipReason.STATEMENT_ENDED)
    assert len(desk.streams) == 1


async def test_a_model_that_takes_all_of_the_machine_is_not_asked_ahead() -> None:
    desk = Desk("x = <cursor>\n", LlamaCpp(url="http://127.0.0.1:1", finishes_reading=True))
    shown = Suggested(
        document=desk.document, edits=(Edit(start=desk.offset, end=desk.offset, new_text="f("),)
    )
    assert await desk.reports(shown) == Skipped(reason=SkipReason.NOT_AHEAD)
    assert desk.streams == []


async def test_a_change_that_goes_elsewhere_closes_the_one_ahead() -> None:
    desk = Desk("x = <cursor>\n")
    outcome = await shown(desk, "call(")
    ahead = desk.reports(outcome)
    stream = await desk.stream(1)
    stream.says("1")
    desk.accepts(outcome)
    await asyncio.sleep(0.01)
    desk.types("2")
    await stream.hung_up.wait()
    assert await ahead == Skipped(reason=SkipReason.MOVED_ON)
    assert len(desk.streams) == 2


async def test_the_one_ahead_ends_when_nobody_waits_for_it() -> None:
    desk = Desk("x = <cursor>\n")
    outcome = await shown(desk, "call(")
    ahead = desk.reports(outcome)
    stream = await desk.stream(1)
    ahead.cancel()
    async with asyncio.timeout(20):
        await stream.hung_up.wait()


async def test_several_to_choose_from_are_for_ghost_text_only() -> None:
    desk = Desk("x = <cursor>\n")
    await shown(desk, "1\n")
    again = desk.asks(by_hand=True)
    for number in (1, 2):
        other = await desk.stream(number)
        other.says(f"{number + 1}\n")
        other.ends()
    outcome = await again
    assert isinstance(outcome, Suggested)
    assert [edit.new_text for edit in outcome.edits] == ["1", "2", "3"]
    in_menu = await desk.asks(by_hand=True, follow_typing=False)
    assert isinstance(in_menu, Suggested)
    assert [edit.new_text for edit in in_menu.edits] == ["1"]
    assert len(desk.streams) == 3


@pytest.mark.parametrize("typed", ["", "f"])
async def test_several_begin_alike_and_differ_by_more_than_space(typed: str) -> None:
    desk = Desk("x = <cursor>)\n")
    await shown(desk, "f(1)\n")
    again = desk.asks(by_hand=True)
    for number, says in enumerate(("f( 1 )\n", "f(2)\n"), start=1):
        other = await desk.stream(number)
        other.says(says)
        other.ends()
    await again
    desk.types(typed)
    outcome = await desk.asks(by_hand=True)
    assert isinstance(outcome, Suggested)
    first, *rest = outcome.edits
    assert [apply(outcome.document.text, edit) for edit in (first, *rest)] == [
        "x = f(1)\n",
        "x = f(2)\n",
    ]
    assert {edit.start for edit in outcome.edits} == {desk.offset}
    assert len(desk.streams) == 3
