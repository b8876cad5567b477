"""The lines after the first are indented as the document is, from where the cursor's line is."""

import re
import sys
from itertools import pairwise

from lsp_completions.pipeline.balance import statement_width
from lsp_completions.pipeline.brackets import CLOSERS, scan
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.surroundings import has_tabs, indent_of, width_of
from lsp_completions.pipeline.trigger import opens_block


def indented_alike(text: str, context: CursorContext) -> str:
    """The text with the document's tabs or spaces, moved to the depth of the cursor's line."""
    first, *rest = text.split("\n")
    if not any(indent_of(line) or line.strip() for line in rest):
        return text
    if _inside_words(text, context):
        return text
    rest = _with_unit_of_document(rest, context)
    rest = _moved_to_cursor(first, rest, context)
    return "\n".join([first, *rest])


def _with_unit_of_document(lines: list[str], context: CursorContext) -> list[str]:
    """Tabs where the document has tabs, spaces where it has spaces."""
    indents = [indent_of(line) for line in lines if line.strip()]
    # Whoever mixes both has the last word on the cursor's line.
    if context.indent_unit == "\t" and not context.indent.startswith(" "):
        widths = [len(indent) for indent in indents if indent and "\t" not in indent]
        if not widths or len(widths) < len([i for i in indents if i]):
            return lines
        unit = _unit_of(indents)
        return [
            "\t" * (len(indent_of(line)) // unit)
            + " " * (len(indent_of(line)) % unit)
            + line.lstrip(" ")
            for line in lines
        ]
    if not any(indent.startswith("\t") for indent in indents):
        return lines
    if has_tabs(context) or any(indent.startswith(" ") for indent in indents):
        return lines  # Both are in use.
    return [
        _LEADING_TABS.sub(lambda found: context.indent_unit * len(found[0]), line) for line in lines
    ]


def _unit_of(indents: list[str]) -> int:
    steps = [abs(len(b) - len(a)) for a, b in pairwise(indents) if len(a) != len(b)]
    unit = min([step for step in steps if step > 1], default=0) or min(
        [len(indent) for indent in indents if len(indent) > 1], default=4
    )
    while unit > 2 and any(len(indent) % unit for indent in indents):
        unit -= 1 if unit % 2 else 2
    return 4 if unit % 4 == 0 else max(unit, 2)


def _moved_to_cursor(first: str, rest: list[str], context: CursorContext) -> list[str]:
    """Lines indented from column 0 are moved under the cursor's line.

    What the first line opens tells: the line that closes it stands below the line's own start.
    """
    line = context.line_prefix + first
    base = statement_width(context) if context.line_prefix.strip() else width_of(line, context)
    if base == 0 or line.endswith("\\") or not opens_block(line, context.language):
        return rest
    stack = scan(first + "\n", context.language).stack
    if stack:
        missing = base - _width_of_closing_line(rest, stack, context)
        # Only a text written from column 0 on is moved: any other is indented on purpose.
        if missing < base:
            return rest
    else:
        body = next((other for other in rest if other.strip()), "")
        width, marks = width_of(body, context), context.language.block_end or "\n"
        if context.language.indent_sensitive:
            moves = 0 < width <= base
        else:
            # The end at column 0 may be that of the block around it all.
            ends = [line for line in rest if line.lstrip().startswith(marks)]
            moves = any(line.startswith(marks) for line in ends) and (
                width <= base or width_of(ends[0], context) < base
            )
        if not moves:
            return rest
    return _deeper(rest, context)


def _width_of_closing_line(lines: list[str], stack: tuple[str, ...], context: CursorContext) -> int:
    """How far the line is indented that closes all of `stack`; very far where there is none."""
    for line in lines:
        opened = stack
        stack = scan(line + "\n", context.language, opened).stack
        if not stack and line.strip() and line.lstrip()[0] in CLOSERS:
            return width_of(line, context)
        if not stack:
            break
    return sys.maxsize


def _deeper(lines: list[str], context: CursorContext) -> list[str]:
    unit_width = width_of(context.indent_unit, context)
    unit = _unit_of([indent_of(line) for line in lines if line.strip() and indent_of(line)])
    moved = []
    for line in lines:
        if not line.strip():
            moved.append(line)
            continue
        indent = indent_of(line)
        if "\t" in indent or unit_width == unit or len(indent) % unit:
            moved.append(context.indent + line)
        else:
            moved.append(
                context.indent + context.indent_unit * (len(indent) // unit) + line.lstrip()
            )
    return moved


def _inside_words(text: str, context: CursorContext) -> bool:
    """Lines of a string keep the white space they have."""
    found = scan(context.line_prefix + text, context.language)
    return found.in_words and "\n" in (context.line_prefix + text)[found.opened[-1] :]


_LEADING_TABS = re.compile(r"^\t+")
