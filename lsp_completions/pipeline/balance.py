"""How well a suggestion's brackets and quotes go with those around it."""

from functools import lru_cache

from lsp_completions.pipeline.brackets import CLOSERS, COMMENT, PARTNER, Scan, scan
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.surroundings import width_of


def imbalance(text: str, replaced: int, context: CursorContext) -> int:
    """How many brackets and quotes have no partner, with `text` at the cursor.

    `replaced` characters after the cursor give way to it. The figure is for comparing two texts at
    one place: where windows cut the document, it is never zero.
    """
    language = context.language
    inside = stack_before_line(context)
    line = context.line_prefix + text + context.line_suffix[replaced:]
    below = context.suffix[len(context.line_suffix) :]
    alone = scan(line, language, inside)
    whole = scan(line + below, language, inside)

    lost = whole.strays
    from_outside = len(whole.stack) - len(whole.opened)
    for index, mark in enumerate(whole.stack):
        if index < from_outside:
            # What closes a brace may stand below the window; a parenthesis is not that long.
            lost += mark in "(["
        elif mark in PARTNER:
            at = whole.opened[index - from_outside]
            # A brace at the line's end begins a block, whose end is yet to be written.
            lost += at < len(line) and (mark != "{" or line[at + 1 :].strip() != "")
    if alone.stack[-1:] and alone.stack[-1] not in PARTNER and alone.stack[-1] != COMMENT:
        # A string that goes on beyond its line is one that is not closed, as a rule.
        lost += 1
    if COMMENT in alone.stack:
        # The line's end ends the comment and all that is open in it.
        lost += len(alone.stack) - 1 - alone.stack.index(COMMENT)

    for _, mark in whole.closings[len(inside) - from_outside :]:
        lost += context.starts_at_top or mark != "}"
    return lost


@lru_cache(maxsize=8)
def statement_width(context: CursorContext) -> int:
    """How far the statement is indented that the cursor's line ends, which may have begun above."""
    lines = context.prefix.split("\n")
    index = len(lines) - 1
    if lines[index].lstrip().startswith(tuple(CLOSERS)):
        return width_of(lines[index], context)  # `} else {` stands where the statement began.
    line_start = len(context.prefix) - len(context.line_prefix)
    found = _scan_from_window(context.prefix, context)
    closed_here = [opener for opener, closer in found.matched if closer >= line_start > opener]
    if closed_here:
        index = context.prefix.count("\n", 0, min(closed_here))
    while index and lines[index - 1].endswith("\\"):
        index -= 1
    return width_of(lines[index], context)


@lru_cache(maxsize=8)
def stack_before_line(context: CursorContext) -> tuple[str, ...]:
    """What is open where the cursor's line begins."""
    before = context.prefix[: len(context.prefix) - len(context.line_prefix)]
    return _scan_from_window(before, context).stack


def _scan_from_window(text: str, context: CursorContext) -> Scan:
    """Read the beginning of the prefix, whose window may begin inside a string or comment."""
    found = scan(text, context.language)
    if context.starts_at_top or not found.in_words:
        return found
    # The end of one that began above the window looks like a beginning, all code after it like
    # words, and the other way round: words make poor code.
    other = scan(text, context.language, found.stack[-1:])
    return found if other.in_words or other.strays > found.strays else other
