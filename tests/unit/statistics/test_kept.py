"""How much of an accepted text still stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_completions.pipeline.document import Document, Position, Range, TextChange, apply_changes
from lsp_completions.pipeline.positions import PositionEncoding
from lsp_completions.statistics.kept import Lines, least_distance, share_kept


@pytest.mark.parametrize(
    ("accepted", "now", "share"),
    [
        pytest.param("return a + b", "def f():\n    return a + b\n", 1.0, id="all of it"),
        pytest.param("f(a,\n  b)", "f(\n    a, b\n)", 1.0, id="formatted otherwise"),
        pytest.param("return a + b", "    return a - b\n", 0.889, id="one character replaced"),
        pytest.param("abcdefghij", "abcdefgh", 0.8, id="its end deleted"),
        pytest.param("abcdefghij", "abcdeXXfghij", 0.8, id="something put into it"),
        pytest.param("total = sum(values)", "", 0.0, id="nothing left"),
        pytest.param("total = sum(values)", "import os\n\nclass Q:\n", 0.0, id="something else"),
        pytest.param("\n    ", "x", 1.0, id="white space alone"),
    ],
)
def test_what_still_stands(accepted: str, now: str, share: float) -> None:
    assert share_kept(accepted, now) == pytest.approx(share, abs=0.01)


@given(st.text("abc", max_size=9), st.text("abc", max_size=14))
def test_the_distance_is_that_of_the_whole_table(pattern: str, text: str) -> None:
    row = [0] * (len(text) + 1)
    for number, wanted in enumerate(pattern, start=1):
        above, row = row, [number]
        for at, found in enumerate(text, start=1):
            row.append(min(above[at - 1] + (wanted != found), above[at] + 1, row[at - 1] + 1))
    assert least_distance(pattern, text) == min(row)


TEXT = "a\nb\nNEW\nNEW\nc\nd\n"


def change(start: tuple[int, int], end: tuple[int, int], text: str) -> TextChange:
    return TextChange(Range(Position(*start), Position(*end)), text)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param([change((0, 1), (0, 1), "\nx\r\ny\rz")], "NEW\nNEW\n", id="lines above"),
        pytest.param([change((0, 0), (1, 0), "")], "NEW\nNEW\n", id="a line above deleted"),
        pytest.param([change((2, 0), (2, 0), "x\ny\n")], "NEW\nNEW\n", id="lines right above"),
        pytest.param([change((1, 0), (2, 0), "")], "NEW\nNEW\n", id="the line above deleted"),
        pytest.param([change((2, 0), (2, 0), "x\ny")], "x\nyNEW\nNEW\n", id="into its first line"),
        pytest.param([change((5, 0), (5, 0), "x\n")], "NEW\nNEW\n", id="lines below"),
        pytest.param([change((2, 3), (2, 3), "\nx")], "NEW\nx\nNEW\n", id="a line within"),
        pytest.param([change((2, 0), (4, 0), "")], "c\n", id="all of it deleted"),
        pytest.param([change((1, 0), (3, 0), "x")], "xNEW\n", id="reaches into it"),
        pytest.param(
            [change((0, 0), (0, 0), "x\n"), change((3, 3), (3, 3), "!")],
            "NEW!\nNEW\n",
            id="one after the other",
        ),
    ],
)
def test_the_lines_go_along(changes: list[TextChange], expected: str) -> None:
    now = apply_changes(Document.open("file:///a", "", 1, TEXT), changes, PositionEncoding.UTF16, 2)
    lines = Lines(first=2, last=3).after(changes)
    assert lines is not None
    assert "".join(map(now.line, range(lines.first, lines.last + 1))) == expected


def test_of_a_document_replaced_as_a_whole_nothing_is_known() -> None:
    assert Lines(first=2, last=3).after([TextChange(None, TEXT)]) is None
