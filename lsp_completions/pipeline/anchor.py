"""A place in a document, known by the text around it, and what was typed there since.

Offsets change with every edit above; what stands around a place does not. All text here has `\\n`
line ends only.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lsp_completions.pipeline.document import Document

BEFORE = 2000  # characters that must be the same: more than a screen, less than a window
AFTER = 500
LINES_AFTER = 5  # beside the rest of the cursor's line
MOST_TYPED = 4000  # characters; twice what a suggestion can hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A place, by the text on both sides. Cut where `at_top` and `at_bottom` are false."""

    before: str
    after: str
    at_top: bool
    at_bottom: bool
    offset: int
    """Where it was."""
    length: int
    """How long the document was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What came between an anchor and the cursor; and what came, or went, after the cursor."""

    text: str
    added: str = ""
    """What an editor puts after the cursor by itself, such as a closing bracket."""


def anchor_at(document: Document, offset: int) -> Anchor:
    """The place at `offset`."""
    start, end = max(0, offset - BEFORE), min(document.length, offset + AFTER)
    after = _plain(document.slice(offset, end))
    lines = after.split("\n", LINES_AFTER + 1)
    if len(lines) > LINES_AFTER + 1:
        after = after[: len(after) - len(lines[-1])]
    return Anchor(
        before=_plain(document.slice(start, offset)),
        after=after,
        at_top=start == 0,
        at_bottom=end == document.length and len(lines) <= LINES_AFTER + 1,
        offset=offset,
        length=document.length,
    )


def typed_since(
    anchor: Anchor, document: Document, cursor: int, *, replaced: int = 0
) -> Typed | None:
    """What was typed from the anchor up to the cursor; `None` where that is not all there is to it.

    `replaced` is how many characters after the anchor the suggestion there takes the place of: once
    it is accepted they are gone.
    """
    start = max(0, cursor - BEFORE - MOST_TYPED)
    before = _plain(document.slice(start, cursor))
    if anchor.at_top:
        if start > 0 or not before.startswith(anchor.before):
            return None
        text = before[len(anchor.before) :]
    else:
        at = before.rfind(anchor.before)
        if at < 0:
            return None
        text = before[at + len(anchor.before) :]

    # CRLF take two, so a little more than needed.
    end = min(document.length, cursor + 2 * len(anchor.after) + _MOST_ADDED)
    after = _plain(document.slice(cursor, end))
    if _follows(anchor, after, anchor.after, whole=end == document.length):
        return Typed(text=text)
    if text and replaced:
        rest = anchor.after[replaced:]
        if _follows(anchor, after, rest, whole=end == document.length):
            return Typed(text=text)
    if text and (added := _ADDED.match(after)):
        # The shortest that does: what follows may begin with a bracket of its own.
        for length in range(1, added.end() + 1):
            if _follows(anchor, after[length:], anchor.after, whole=end == document.length):
                return Typed(text=text, added=after[:length])
    return None


def typed_around(anchor: Anchor, now: Document, *, replaced: int = 0) -> Iterator[Typed]:
    """All that `typed_since` may be, where nobody says where the cursor is now."""
    moved = anchor.offset + now.length - anchor.length
    # Up to `moved` stands what was typed, and perhaps what the editor put after the cursor.
    for cursor in dict.fromkeys((moved, anchor.offset, *range(moved - 1, moved - _MOST_ADDED, -1))):
        if 0 <= cursor <= now.length:
            typed = typed_since(anchor, now, cursor, replaced=replaced)
            if typed is not None:
                yield typed


def _follows(anchor: Anchor, text: str, expected: str, *, whole: bool) -> bool:
    if not text.startswith(expected):
        return False
    return not anchor.at_bottom or (whole and len(text) == len(expected))


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


# Closers, a closing tag, or the line that closes what a new line was put into.
_ADDED = re.compile(r"[)\]}>\"'`;,]{1,8}|</[\w:.-]{1,20}>|\n[ \t]*(?:[)\]}]{1,4}[;,]?|end)")
_MOST_ADDED = 48
