"""Text that goes round in circles."""

from collections.abc import Sequence

from lsp_completions.pipeline.surroundings import has_words

# Of the same lines at the end of a text. In 600,000 lines of code, 46 stand there three times, and
# nothing but data four times: who goes on reading waits for that.
COPIES = 3
COPIES_TO_STOP_AT = 4
LONGEST_PERIOD = 8  # lines
_TAIL = 120  # characters of one line that repeat; rulers of `#` and `-` are shorter
_LONGEST_LINE_PERIOD = 40  # characters


def loop_in_lines(lines: Sequence[str], copies: int = COPIES) -> tuple[int, int] | None:
    """Where the lines end in a loop: the index after its first copy, and its period.

    Only what stands at the end is looked at, so a reader of a stream asks after every line.
    """
    for period in range(1, LONGEST_PERIOD + 1):
        length = period * copies
        if length > len(lines):
            return None
        tail = lines[-length:]
        if tail[period:] != tail[:-period]:
            continue
        if has_words("".join(tail[:period])):
            start = len(lines) - length
            while start >= 1 and lines[start - 1] == lines[start - 1 + period]:
                start -= 1
            return start + period, period
    return None


def loop_in_line(line: str) -> int | None:
    """Where a long line ends its first round, when its end goes round in circles."""
    if len(line) < _TAIL:
        return None
    tail = line[-_TAIL:]
    for period in range(1, _LONGEST_LINE_PERIOD + 1):
        if tail[period:] == tail[:-period]:
            start = len(line) - _TAIL
            while start >= 1 and line[start - 1] == line[start - 1 + period]:
                start -= 1
            return start + period
    return None
