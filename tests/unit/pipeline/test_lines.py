"""Lines are those that `split` gives."""

import pytest

from lsp_completions.pipeline.excerpts.lines import Lines


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="no text"),
        pytest.param("a", id="one line"),
        pytest.param("a\nb", id="no line end at the end"),
        pytest.param("a\n\nb\n", id="blank lines"),
        pytest.param("\n\n", id="nothing but line ends"),
        pytest.param("a\u2028b\x0cc\né😀\n", id="what is no line end"),
    ],
)
def test_lines_are_those_of_the_text(text: str) -> None:
    expected = text.split("\n")
    lines = Lines(expected)
    assert [lines[number] for number in range(len(lines))] == expected
    assert all(line in lines for line in expected)


@pytest.mark.parametrize("line", ["aa", "a\nb", "", "b\n"])
def test_what_is_no_line_is_not_among_them(line: str) -> None:
    assert line not in Lines(["a", "b"])
