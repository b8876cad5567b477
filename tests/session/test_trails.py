"""A request's trail tells where its answer came from, and when it reached what."""

import pytest

from lsp_completions.pipeline.outcome import Skipped, SkipReason
from lsp_completions.trail import How, Times
from tests.support.desk import Desk


def in_order(times: Times) -> list[float]:
    reached = [
        *(times.gate, times.prompt, times.sent),
        *(times.first_event, times.first_text, times.answered),
    ]
    return [each for each in reached if each is not None]


async def test_a_model_that_is_asked_anew_passes_every_stage() -> None:
    desk = Desk("x = <cursor>\n")
    asked = desk.asks()
    stream = await desk.stream()
    stream.says("1\n")
    await asked
    (trail,) = desk.trails
    times = trail.times()
    assert trail.how is How.ASKED
    assert trail.provider == desk.provider
    assert trail.excerpts == 0
    assert len(in_order(times)) == 6
    assert in_order(times) == sorted(in_order(times))
    assert in_order(times)[0] >= 0


async def test_what_was_typed_as_suggested_is_from_memory() -> None:
    desk = Desk("x = <cursor>\n")
    asked = desk.asks()
    (await desk.stream()).says("call()\n")
    await asked
    desk.types("ca")
    assert await desk.sees() == "x = call()\n"
    trail = desk.trails[1]
    assert trail.how is How.MEMORY
    # The stream was somebody else's.
    assert (trail.times().sent, trail.times().first_text) == (None, None)
    assert trail.excerpts == 0


async def test_a_stream_that_runs_already_is_joined_and_began_before() -> None:
    desk = Desk("x = <cursor>\n")
    desk.asks()
    stream = await desk.stream()
    desk.types("c")
    second = desk.asks()
    stream.says("call()\n")
    await second
    trail = desk.trails[1]
    times = trail.times()
    assert trail.how is How.JOINED
    assert times.sent is not None
    assert times.sent < 0
    assert times.prompt is None
    assert len(desk.streams) == 1


async def test_what_was_asked_ahead_is_told_once() -> None:
    desk = Desk("x = <cursor>\n")
    asked = desk.asks()
    stream = await desk.stream()
    stream.says("call(")
    stream.ends()
    outcome = await asked
    ahead = desk.reports(outcome)
    (await desk.stream(1)).says("1, 2)\n")
    await ahead
    desk.accepts(outcome)
    await desk.sees()
    desk.types("1")
    await desk.sees()
    assert [each.how for each in desk.trails] == [How.ASKED, How.AHEAD, How.MEMORY]


@pytest.mark.parametrize("drawn", [pytest.param("x = 1  # a<cursor>b\n", id="inside a word")])
async def test_where_no_model_is_asked_there_is_no_way(drawn: str) -> None:
    desk = Desk(drawn)
    outcome = await desk.asks()
    assert isinstance(outcome, Skipped)
    assert outcome.reason is SkipReason.INSIDE_WORD
    (trail,) = desk.trails
    assert trail.how is None
    assert trail.provider == desk.provider
    assert trail.excerpts is None
    assert len(in_order(trail.times())) == 2
