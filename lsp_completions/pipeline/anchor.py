"""A place in a document, known by the text around it, and what was typed there since.

Offsets change with every edit above; what stands around a place does not. All text here has `\\n`
line ends only.
"""

import re
from collections.abc import Callable, Iterator
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
    """The text before it, last character first: the nearest of many alike is soon found."""
    after: str
    at_top: bool
    at_bottom: bool
    offset: int
    """Where it was."""
    length: int
    """How long the document was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """The text around a cursor, as far as anchors and what was typed there can reach."""

    before: str
    """Last character first."""
    after: str
    at_top: bool
    at_bottom: bool


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
        before=_plain(document.slice(start, offset))[::-1],
        after=after,
        at_top=start == 0,
        at_bottom=end == document.length and len(lines) <= LINES_AFTER + 1,
        offset=offset,
        length=document.length,
    )


def around(document: Document, cursor: int) -> Around:
    """The text around `cursor`; made once, it is compared with any number of anchors."""
    start = max(0, cursor - BEFORE - MOST_TYPED)
    # CRLF take two.
    end = min(document.length, cursor + 2 * AFTER + _MOST_ADDED)
    return Around(
        before=_plain(document.slice(start, cursor))[::-1],
        after=_plain(document.slice(cursor, end)),
        at_top=start == 0,
        at_bottom=end == document.length,
    )


def typed_since(anchor: Anchor, here: Around, *, replaced: int = 0) -> Typed | None:
    """What was typed from the anchor up to the cursor; `None` where that is not all there is to it.

    `replaced` is how many characters after the anchor the suggestion there takes the place of: once
    it is accepted they are gone.
    """
    added = ""
    follows = _follows(anchor, here, anchor.after)
    accepted = not follows and replaced > 0 and _follows(anchor, here, anchor.after[replaced:])
    if not follows and not accepted:
        if (found := _ADDED.match(here.after)) is None:
            return None
        # The shortest that does: what follows may begin with a bracket of its own.
        for length in range(1, found.end() + 1):
            if _follows(anchor, here, anchor.after, skipped=length):
                added = here.after[:length]
                break
        else:
            return None

    if not anchor.at_top:
        # Found from the cursor backwards.
        at = here.before.find(anchor.before)
    elif here.at_top and here.before.endswith(anchor.before):
        at = len(here.before) - len(anchor.before)
    else:
        at = -1
    if at < 0 or (at == 0 and not follows):
        return None
    return Typed(text=here.before[:at][::-1], added=added)


def typed_around(
    anchor: Anchor, length: int, text_at: Callable[[int], Around], *, replaced: int = 0
) -> Iterator[Typed]:
    """All that `typed_since` may be, where nobody says where the cursor is now.

    `length` is the document's now, and `text_at` gives what stands around an offset in it.
    """
    moved = anchor.offset + length - anchor.length
    for cursor in dict.fromkeys((moved, moved + replaced, anchor.offset)):
        if not 0 <= cursor <= length:
            continue
        typed = typed_since(anchor, text_at(cursor), replaced=replaced)
        if typed is None:
            continue
        yield typed
        # Up to `moved` stands what was typed, and perhaps what the editor put after the cursor.
        for size in range(1, min(len(typed.text), _MOST_ADDED)):
            if _ADDED.fullmatch(typed.text, len(typed.text) - size):
                yield Typed(text=typed.text[:-size], added=typed.text[-size:])


def _follows(anchor: Anchor, here: Around, expected: str, *, skipped: int = 0) -> bool:
    """Whether that is what follows the cursor, after some characters."""
    if not here.after.startswith(expected, skipped):
        return False
    ends = len(here.after) == skipped + len(expected)
    return not anchor.at_bottom or (here.at_bottom and ends)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


# Closers or a closing tag, and the lines that close what new lines were put into.
_ADDED = re.compile(
    r"(?:[)\]}>\"'`;,]{1,8}|</[\w:.-]{1,20}>)?(?:\n[ \t]*(?:[)\]}]{1,4}[;,]?|end)){0,3}"
)
_MOST_ADDED = 64
