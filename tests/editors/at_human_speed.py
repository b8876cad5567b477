"""What somebody types while the model takes its time, for editors that are driven key by key."""

from pathlib import Path

import pytest

from tests.support.at_work import THINKS, continues
from tests.support.sourcegraph import Answer, Exchange

ITEMS = "def sum_of(items):\n    tax = 1\n"
"""What stands above the line that is typed, which is indented."""
WORD = "calculate_totals"
ONE_LINE = f"{WORD}(items)"
SEVERAL = f"{WORD}(\n        items,\n        tax,\n    )"
OTHERWISE = "calcium_in(items)"
"""What is meant where something else than `ONE_LINE` is typed."""
MOST_REQUESTS = 4  # for all keys of the word

LINE_ENDS = pytest.mark.parametrize(
    "line_end", [pytest.param("\n", id="LF"), pytest.param("\r\n", id="CRLF")]
)

_first = continues("    ", ONE_LINE, delay=THINKS)
_second = continues(f"    {OTHERWISE[:7]}", OTHERWISE[7:], delay=THINKS)


def changes_its_mind(exchange: Exchange) -> Answer:
    """A model that says something else once it reads what is meant."""
    return (_second if OTHERWISE[:6] in exchange.prompt else _first)(exchange)


def saved_text(path: Path, line_end: str) -> str:
    """What is in a saved file, with its line ends shown as `\\n` if all are right."""
    data = path.read_bytes().decode()
    assert data.count("\n") == data.count(line_end)
    assert "\r" not in data.replace(line_end, "\n")
    return data.replace(line_end, "\n")
