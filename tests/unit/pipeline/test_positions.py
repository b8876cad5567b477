"""Columns in every encoding."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_completions.pipeline.positions import (
    PositionEncoding,
    column_at,
    units_at,
    width_of,
)

UTF8, UTF16, UTF32 = PositionEncoding.UTF8, PositionEncoding.UTF16, PositionEncoding.UTF32


@pytest.mark.parametrize(
    ("line", "encoding", "units", "column"),
    [
        pytest.param("abc", UTF16, 2, 2, id="plain text counts alike"),
        pytest.param("abc", UTF8, 9, 3, id="beyond the line is its end"),
        pytest.param("", UTF16, 4, 0, id="an empty line has one place"),
        pytest.param("𝒰 = ", UTF16, 5, 4, id="two units for a letter beyond the BMP"),
        pytest.param("𝒰 = ", UTF8, 7, 4, id="four bytes for it"),
        pytest.param("𝒰 = ", UTF32, 4, 4, id="one character for it"),
        pytest.param("a𝒰b", UTF16, 2, 1, id="inside a surrogate pair rounds down"),
        pytest.param("aéb", UTF8, 2, 1, id="inside a two-byte character rounds down"),
        pytest.param("a😀b", UTF8, 4, 1, id="inside a four-byte character rounds down"),
        pytest.param("é", UTF16, 11, 1, id="beyond a line that is not plain"),
        pytest.param("e\u0301x", UTF16, 2, 2, id="combining marks count for themselves"),
        pytest.param("\tx", UTF16, 1, 1, id="a tab is one unit"),
        pytest.param("\ufeffx", UTF16, 1, 1, id="a byte-order mark is a character"),
        pytest.param("a\ud83db", UTF16, 2, 2, id="half a pair is one unit"),
        pytest.param("a\ud83db", UTF8, 4, 2, id="half a pair is three bytes"),
        pytest.param("abc", UTF16, -1, 0, id="before the line is its start"),
        pytest.param("é😀", UTF8, -1, 0, id="before a line that is not plain"),
        pytest.param("éab", UTF32, -1, 0, id="before the line in characters"),
    ],
)
def test_column_at(line: str, encoding: PositionEncoding, units: int, column: int) -> None:
    assert column_at(line, units, encoding) == column


@given(
    line=st.text(alphabet=st.sampled_from("ab\téß漢😀𝒰\u0301\ud83d\ufeff"), max_size=40),
    encoding=st.sampled_from(PositionEncoding),
)
def test_every_column_there_and_back(line: str, encoding: PositionEncoding) -> None:
    for column in range(len(line) + 1):
        units = units_at(line, column, encoding)
        assert column_at(line, units, encoding) == column
        if column < len(line):
            width = width_of(line[column], encoding)
            assert {column_at(line, units + part, encoding) for part in range(width)} == {column}
