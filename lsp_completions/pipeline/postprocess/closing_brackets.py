"""Brackets closed at the end of the text that the next line closes as well."""

from lsp_completions.pipeline.brackets import CLOSERS, scan
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.surroundings import lines_below, width_of


def no_closers_of_next_line(text: str, context: CursorContext) -> str:
    """The text without the closers at its end that already stand on the next line."""
    below = lines_below(context)
    if context.line_suffix.strip() or not below or below[0].lstrip()[0] not in CLOSERS:
        return text
    line = scan(context.line_prefix, context.language)
    open_here = len([mark for mark in line.stack if mark not in CLOSERS])
    width = width_of(context.line_prefix or text, context)
    next_width = width_of(below[0], context)
    if next_width > width:
        return text
    closers = _leading_closers(below[0])
    if next_width == width:
        open_here = max(open_here - len(closers), 0)
    surplus = scan(text, context.language, line.stack).closings[open_here:]
    if not surplus:
        return text
    start = surplus[0][0]
    tail = text[start:].rstrip(" \t;,")
    if "".join(tail.split()) == "".join(mark for _, mark in surplus) == closers[: len(surplus)]:
        return text[:start].rstrip()
    return text


def _leading_closers(line: str) -> str:
    text = line.lstrip()
    return text[: len(text) - len(text.lstrip("".join(CLOSERS)))]
