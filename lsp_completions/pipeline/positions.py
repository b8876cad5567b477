"""Places in a line: a column in characters on one side, in the editor's units on the other.

A character here is a code point, as Python counts. Editors count in UTF-8 bytes, UTF-16 code
units or characters, whichever was agreed on.
"""

from enum import Enum


class PositionEncoding(Enum):
    """What an editor counts columns in."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


def column_at(line: str, units: int, encoding: PositionEncoding) -> int:
    """The column, in characters, that lies `units` into `line`.

    A place inside a character is rounded down to its start, one beyond the line to its end.
    """
    # A character takes one unit at least, so the column is never further right than this.
    high = min(units, len(line))
    if encoding is PositionEncoding.UTF32 or line[:high].isascii():
        return max(high, 0)

    # Halving looks at each character about once, however many of them are wide.
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        width = width_of(line[low:middle], encoding)
        if width <= units:
            units -= width
            low = middle
        else:
            high = middle - 1
    return low


def units_at(line: str, column: int, encoding: PositionEncoding) -> int:
    """How many units lie before `column`, counted in characters; clamped to the line."""
    return width_of(line[: max(column, 0)], encoding)


def width_of(text: str, encoding: PositionEncoding) -> int:
    """The length of `text` in units."""
    if encoding is PositionEncoding.UTF32 or text.isascii():
        return len(text)
    # JSON can carry half a surrogate pair; editors count it as they count any other unit.
    if encoding is PositionEncoding.UTF8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
