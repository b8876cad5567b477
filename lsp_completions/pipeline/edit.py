"""What to replace in the document.

Text outside the range never changes, and what follows the cursor never stands there twice: a
suggestion without the rest of the line is inserted before it, one that includes the rest and goes
on beyond it replaces it.
"""

import re
from dataclasses import dataclass

from lsp_completions.pipeline.brackets import CLOSERS, COMMENT, PARTNER, scan
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.surroundings import lines_below, width_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    r"""Replace `[start, end)` of the document with `new_text`.

    `start` and `end` are offsets in code points on the cursor's line, `start <= cursor <= end`.
    `new_text` separates lines with `\n` only, whatever the document does.
    """

    start: int
    end: int
    new_text: str


def edit_for(text: str, context: CursorContext) -> Edit | None:
    """The change that puts `text` at the cursor; `None` when it would change nothing."""
    new_text, replaced = fit(text, context)
    if new_text == context.line_suffix[:replaced]:
        return None
    return Edit(start=context.offset, end=context.offset + replaced, new_text=new_text)


def after_typing(edit: Edit, typed: str, cursor: int) -> Edit | None:
    """The same suggestion with `typed` entered where it began; `None` when it no longer fits.

    `cursor` is the offset after what was typed.
    """
    said = typed.replace("\r\n", "\n").replace("\r", "\n")
    if not edit.new_text.startswith(said) or edit.start != cursor - len(typed):
        return None
    rest = edit.new_text[len(said) :]
    end = edit.end + len(typed)
    return Edit(start=cursor, end=end, new_text=rest) if rest or end > cursor else None


def fit(text: str, context: CursorContext) -> tuple[str, int]:
    """What to put at the cursor, and how many characters after it that replaces."""
    rest = context.line_suffix
    if not rest.strip() or not text:
        return text, 0
    for rule in (_whole_rest_at_end, _closers, _rest_within, _start_of_rest_at_end):
        fitted = rule(text, rest, context)
        if fitted is not None:
            new_text, replaced = fitted
            break
    else:
        new_text, replaced = text, 0
    if replaced == 0 and rest[0].isspace():
        new_text = new_text.rstrip(" \t") if new_text.strip() else new_text
    return new_text, replaced


def _whole_rest_at_end(text: str, rest: str, context: CursorContext) -> tuple[str, int] | None:
    """The text ends with the rest of the line: leave that to the document."""
    trimmed = text.rstrip()
    for ending in (rest.rstrip(), rest.strip()):
        start = len(trimmed) - len(ending)
        if trimmed.endswith(ending) and _stands_alone(text, start, len(trimmed), context):
            return text[:start], 0
    return None


def _closers(text: str, rest: str, context: CursorContext) -> tuple[str, int] | None:
    """The text closes what the rest of the line closes as well: each closer counts once."""
    stack, wanted = _open_at_cursor(context)
    ours = scan(text, context.language, stack).closings[wanted:]
    theirs = scan(rest, context.language, stack).closings
    if not ours or not theirs:
        return None

    # What both close, in order, where what stands between the closers is the same too.
    taken = passed = 0
    first = ours[0][0]
    said_more = False  # between the closers, where nothing stands in the rest of the line
    for (our_at, our_mark), (their_at, their_mark) in zip(ours, theirs, strict=False):
        between = rest[passed:their_at].strip()
        if our_mark != their_mark or not text[taken:our_at].rstrip().endswith(between):
            return text[:first].rstrip() if taken == 0 else text[:first], 0
        said_more |= taken > 0 and text[taken:our_at].strip() != between
        taken, passed = our_at + len(our_mark), their_at + len(their_mark)

    beyond, left = text[taken:], rest[passed:]
    if not beyond.strip():
        return _replacing(text, rest[:passed], first) if said_more else (text[:first], 0)
    if not left.strip():
        return _replacing(text, rest[:passed], first)
    if left.strip() in beyond.partition("\n")[0] or beyond.rstrip().endswith(left.strip()):
        return _replacing(text, rest.rstrip(), first)
    if _WORD.search(left):
        return text[:first], 0
    return _replacing(text, rest[:passed], first)


def _rest_within(text: str, rest: str, context: CursorContext) -> tuple[str, int] | None:
    """The rest of the line stands in the text, which goes on after it."""
    ending = rest.rstrip()
    first_line, newline, _ = text.partition("\n")
    if newline and first_line.rstrip().endswith(ending.strip()):
        start = len(first_line.rstrip()) - len(ending.strip())
        if _stands_alone(text, start, len(first_line), context):
            return _replacing(text, ending, start)
    start = first_line.find(ending) if len(ending.strip()) >= _LONG_ENOUGH else -1
    if start >= 0 and _stands_alone(text, start, start + len(ending), context):
        return _replacing(text, ending, start)
    return None


def _start_of_rest_at_end(text: str, rest: str, context: CursorContext) -> tuple[str, int] | None:
    """The text ends with the beginning of the rest of the line."""
    trimmed = text.rstrip()
    for length in range(min(len(rest), len(trimmed), _LONGEST_OVERLAP), 0, -1):
        if not trimmed.endswith(rest[:length]):
            continue
        start = len(trimmed) - length
        overlap = rest[:length]
        if length < _LONG_ENOUGH and overlap.strip() not in _SEPARATORS:
            continue
        if _splits_word(trimmed, start) or _splits_word(rest, length):
            continue
        if overlap.strip() == ">" and trimmed.count("<") >= trimmed.count(">"):
            continue
        if _stands_alone(text, start, len(trimmed), context):
            return text[:start], 0
    return None


def _replacing(text: str, replaced: str, first: int) -> tuple[str, int]:
    """Replace, if every replaced character is in the text: else editors show nothing at all."""
    position = 0
    for character in replaced:
        position = text.find(character, position) + 1
        if position == 0:
            return text[:first], 0
    return text, len(replaced)


def _stands_alone(text: str, start: int, end: int, context: CursorContext) -> bool:
    """No bracket in `text[start:end]` belongs to one before it that the text itself opened."""
    part = text[start:end]
    if not any(mark in part for mark in "()[]{}\"'`"):
        return True
    stack, wanted = _open_at_cursor(context)
    found = scan(text, context.language, stack)
    if any(opener < start <= closer < end for opener, closer in found.matched):
        return False
    closings = sum(start <= at < end for at, _ in found.closings)
    return closings == 0 or sum(at < start for at, _ in found.closings) >= wanted


def _open_at_cursor(context: CursorContext) -> tuple[tuple[str, ...], int]:
    """What is open at the cursor, and how much of it the document does not close yet.

    Only what the cursor's line opens is counted as unclosed.
    """
    language = context.language
    before = context.prefix[: len(context.prefix) - len(context.line_prefix)]
    outside = scan(before, language).stack
    if not context.starts_at_top and outside and outside[-1] not in PARTNER:
        # The window may begin inside a string, and take its end for a beginning.
        outside = ()
    line = scan(context.line_prefix, language, outside)
    opened = len(
        [mark for mark in line.stack[len(line.stack) - len(line.opened) :] if mark != COMMENT]
    )
    closed = len(scan(context.line_suffix, language, line.stack).closings)
    below = lines_below(context)
    if (
        below
        and below[0].lstrip()[0] in CLOSERS
        and width_of(below[0], context) == width_of(context.line_prefix, context)
    ):
        closed += _leading_closers(below[0])
    return line.stack, max(opened - closed, 0)


def _leading_closers(line: str) -> int:
    text = line.lstrip()
    return len(text) - len(text.lstrip("".join(CLOSERS)))


def _splits_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


_WORD = re.compile(r"\w")
_LONG_ENOUGH = 4  # characters that are equal by more than chance
_LONGEST_OVERLAP = 200
_SEPARATORS = frozenset(",;:>")
