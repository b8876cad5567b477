"""Where the first line begins: no blank line before it, no space too many."""

import re

from lsp_completions.pipeline.brackets import scan
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.surroundings import (
    indent_of,
    is_blank_line,
    line_above,
    lines_below,
    width_of,
)
from lsp_completions.pipeline.trigger import opens_block


def well_begun(text: str, context: CursorContext) -> str:
    """The text with the white space before its first word that the cursor leaves to it."""
    if is_blank_line(context):
        text = _BLANK_LINES.sub("", text)
        return _indented_once(text, context)
    if context.line_prefix[-1:] in (" ", "\t"):
        return _one_space(text, context)
    return text


def _indented_once(text: str, context: CursorContext) -> str:
    """A line that is already indented needs no more, unless its depth is still to come."""
    extra = indent_of(text)
    if not extra or context.language.prose:
        return text
    width = width_of(context.line_prefix + extra, context)
    above, below = line_above(context), lines_below(context)
    expected = set()
    if above is not None:
        expected.add(width_of(above, context))
        if opens_block(above, context.language):
            expected.add(width_of(above, context) + width_of(context.indent_unit, context))
    if below:
        expected.add(width_of(below[0], context))
    if not context.line_prefix:
        # At the start of a line the model is right, but for one stray space.
        is_stray = extra == " " and 1 not in expected and not text.startswith(" *")
        return text[1:] if is_stray else text
    here = width_of(context.line_prefix, context)
    meant = width_of(extra, context)
    step = width_of(context.indent_unit, context)
    if here % step != 0 and width % step == 0:
        # Whoever indents by hand stands in the middle of a step for a moment.
        return text
    if meant == here and not (above is not None and opens_block(above, context.language)):
        # The cursor's own indentation said again, whatever is as deep as both together.
        return text[len(extra) :]
    if width in expected or text.lstrip().startswith("*"):
        return text
    if meant > here and (meant in expected or not expected):
        # The whole indentation said again, and the cursor not there yet.
        return text[len(context.line_prefix) :] if extra.startswith(context.line_prefix) else text
    return text[len(extra) :]


def _one_space(text: str, context: CursorContext) -> str:
    """One of two spaces that meet, except where columns line up or words are quoted."""
    stripped = text.lstrip(" \t")
    spaces = len(text) - len(stripped)
    if spaces == 0 or not stripped.strip():
        return text
    if _COLUMN.match(stripped) and (spaces > 1 or context.line_prefix.endswith("  ")):
        return text
    if spaces > 1 and scan(context.line_prefix, context.language).in_words:
        return text
    return stripped


_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_COLUMN = re.compile(r"[=:|#\\]|//|->|=>|--")
