"""How much of what was accepted still stands in a document, some time later. Pure.

White space does not count: formatters move code about, and it is still the same.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lsp_completions.pipeline.document import Range, TextChange

# Less than half of the letters are the same in code that has nothing to do with it, too.
RESEMBLANCE = 0.5

LONGEST = 4000  # characters that are compared; twice what a suggestion can hold
FURTHEST = 20_000  # characters of the document around it


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """The lines, counted from 0, that hold what was accepted."""

    first: int
    last: int

    def after(self, changes: Sequence[TextChange]) -> "Lines | None":
        """Where they are after some changes; `None` where all of the document was replaced."""
        lines = self
        for change in changes:
            if change.range is None:
                return None
            start, end = change.range.start.line, change.range.end.line
            grown = len(_LINE_END.findall(change.text)) - (end - start)
            if start > lines.last:
                continue
            above = end == lines.first and _is_above(change.range, change.text)
            if end < lines.first or above:
                lines = Lines(first=lines.first + grown, last=lines.last + grown)
            else:
                # A change that reaches into them may hold a part of them by now.
                lines = Lines(first=min(lines.first, start), last=max(lines.last, end) + grown)
        return lines if lines.last >= lines.first else replace(lines, last=lines.first)


def _is_above(changed: Range, text: str) -> bool:
    """Whether a change up to the start of a line leaves that line as it is."""
    if changed.end.character:
        return False
    return text.endswith(("\n", "\r")) or (not text and not changed.start.character)


def share_kept(accepted: str, now: str) -> float:
    """The share of an accepted text that still stands in a text, from 0 to 1."""
    pattern, text = _plain(accepted)[:LONGEST], _plain(now)[:FURTHEST]
    if not pattern or pattern in text:
        return 1.0
    share = 1 - least_distance(pattern, text) / len(pattern)
    return round(share, 3) if share >= RESEMBLANCE else 0.0


def least_distance(pattern: str, text: str) -> int:
    """The fewest insertions, deletions and replacements that make some part of `text` of it.

    It is the algorithm of Myers (1999), which has a column of the table in two numbers: bit n says
    whether row n is one more, or one less, than the row above.
    """
    length = len(pattern)
    if not length:
        return 0
    all_rows, last = (1 << length) - 1, 1 << (length - 1)
    rows: dict[str, int] = {}
    for row, character in enumerate(pattern):
        rows[character] = rows.get(character, 0) | 1 << row
    more, less, distance = all_rows, 0, length
    least = distance
    for character in text:
        equal = rows.get(character, 0)
        across = (((equal & more) + more) ^ more) | equal
        down = equal | less
        grows = (less | ~(across | more)) & all_rows
        shrinks = more & across
        if grows & last:
            distance += 1
        elif shrinks & last:
            distance -= 1
        grows, shrinks = grows << 1 & all_rows, shrinks << 1 & all_rows
        more = (shrinks | ~(down | grows)) & all_rows
        less = grows & down
        least = min(least, distance)
    return least


def _plain(text: str) -> str:
    return "".join(text.split())


_LINE_END = re.compile(r"\r\n|\r|\n")
