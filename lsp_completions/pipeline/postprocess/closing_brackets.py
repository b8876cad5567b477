"""Brackets closed at the end of the text that the next line closes as well."""

from lsp_completions.pipeline.balance import imbalance
from lsp_completions.pipeline.brackets import CLOSERS, scan
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.surroundings import lines_below, width_of

_MOST = 8  # closers in a row


def no_closers_of_next_line(text: str, context: CursorContext) -> str:
    """The text without the closers at its end that already stand on the next line."""
    below = lines_below(context)
    if context.line_suffix.strip() or not below or below[0].lstrip()[0] not in CLOSERS:
        return text
    _, newline, last = text.rpartition("\n")
    if newline and width_of(last, context) > width_of(below[0], context):
        return text  # Two lines that close different blocks.
    best, lost = text, imbalance(text, 0, context)
    # What closes something of the text's own is no doubt its own.
    its_own = {closer for _, closer in scan(text, context.language).matched}
    shorter = text.rstrip(" \t;,")
    for _ in range(_MOST):
        if not lost or shorter[-1:] not in CLOSERS or not shorter[:-1].strip():
            break
        if len(shorter) - 1 in its_own:
            break
        shorter = shorter[:-1].rstrip()
        if (now_lost := imbalance(shorter, 0, context)) < lost:
            best, lost = shorter, now_lost
    return best
