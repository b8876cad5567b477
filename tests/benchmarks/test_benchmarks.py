"""The quick form of the benchmarks: counts, and ratios with room for a busy machine."""

import pytest

from tests.benchmarks import day, measures
from tests.benchmarks.measures import Measure
from tests.benchmarks.run import QUICK, Report, run_now
from tests.benchmarks.servers import BARE, OURS, PYGLS, Kind
from tests.benchmarks.table import table

# Seconds that a busy machine may let wait what is measured by the clock on the wall. To walk 5 MB
# character by character takes longer.
A_TURN = 0.2


@pytest.fixture(scope="module")
def report() -> Report:
    return run_now(QUICK)


def test_every_request_is_answered_and_reaches_the_instance_once(report: Report) -> None:
    assert report.completions_asked > 0
    assert report.requests_seen == report.completions_asked
    assert report.unexpected_answers == 0


def test_a_key_costs_the_same_in_a_long_file(report: Report) -> None:
    short, long = (_cost(report, OURS, size) for size in ("1,000 lines", "100,000 lines"))
    assert long < 3 * short


def test_a_key_in_a_long_file_is_cheap(report: Report) -> None:
    ours, stock = (_cost(report, kind, "100,000 lines") for kind in (OURS, PYGLS))
    assert ours < stock / 10


def test_a_key_in_a_long_line_is_cheap(report: Report) -> None:
    # The bare loop copies the line; walking it character by character takes 1,000 times as long.
    ours, bare = (_cost(report, kind, "one line of 5 MB") for kind in (OURS, BARE))
    assert ours < 5 * bare


@pytest.mark.parametrize("size", ["100,000 lines", "one line of 5 MB"])
def test_a_request_leaves_as_soon_from_a_large_file(report: Report, size: str) -> None:
    small, large = (_least(report, measures.REQUEST, text) for text in ("1,000 lines", size))
    assert large < 3 * small + A_TURN


@pytest.mark.parametrize(
    "measure",
    [measures.answer_after(0), measures.answer_after(measures.THOUGHT), measures.CANCEL],
    ids=lambda row: f"{row.title} {row.size}",
)
def test_answers_come_while_the_stream_is_open(report: Report, measure: Measure) -> None:
    """One that waits for the end of the stream would never come, and hold the run up."""
    assert len(report.samples[OURS].wall[measure]) == report.rounds_kept * QUICK.times


def test_the_table_has_a_row_for_each_measure(report: Report) -> None:
    lines = table(report).splitlines()
    assert "ours / bare loop" in lines[0]
    assert "ours / stock pygls" in lines[0]
    titles = {measure.title for measure in report.samples[OURS].wall}
    assert all(any(line.startswith(title) for line in lines) for title in titles)


def test_a_day_leaves_little_behind(report: Report) -> None:
    wall = report.samples[OURS].wall
    if day.IDLE in wall:  # where the system tells
        # Before anything is given back.
        assert wall[day.EVENING][0] < 1.35 * wall[day.IDLE][0]


def _cost(report: Report, kind: Kind, size: str) -> float:
    """The cost of one key, the least of all rounds: noise only adds."""
    samples = report.samples[kind]
    clock = samples.cpu or samples.wall
    return min(next(clock[row] for row in clock if (row.title, row.size) == ("didChange", size)))


def _least(report: Report, measure: Measure, size: str) -> float:
    wall = report.samples[OURS].wall
    return min(next(wall[row] for row in wall if (row.title, row.size) == (measure.title, size)))
