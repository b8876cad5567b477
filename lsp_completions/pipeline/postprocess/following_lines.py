"""Lines that stand below the cursor already, said again by the model."""

from lsp_completions.pipeline.brackets import PARTNER, scan
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.extent import opened_by
from lsp_completions.pipeline.surroundings import (
    is_blank_line,
    lines_below,
    says_something,
    width_of,
)
from lsp_completions.pipeline.trigger import opens_block


def no_following_lines(text: str, context: CursorContext) -> str:
    """The text up to where it begins to repeat what follows.

    One line that is equal may be chance; it counts when it says something and opens nothing, when
    the text ends with it, or when more equal lines follow.
    """
    language = context.language
    below = lines_below(context)
    if not below:
        return text
    lines = text.split("\n")
    spoken = [index for index, line in enumerate(lines) if line.strip()]
    stack: tuple[str, ...] = ()
    for place, index in enumerate(spoken):
        line = lines[index]
        at_cursor = index == 0
        is_candidate = is_blank_line(context) if at_cursor else True
        if index > 0 and place == len(spoken) - 1 and _is_beginning(line, below[0]):
            return "\n".join(lines[:index]).rstrip()
        if is_candidate and line.strip() == below[0].strip():
            whole = context.line_prefix + line if at_cursor else line
            off = abs(width_of(whole, context) - width_of(below[0], context))
            equal, reaches_end = _equal_lines([lines[i] for i in spoken[place:]], below, context)
            closes_ours = (
                stack[-1:] != () and stack[-1] in PARTNER and not scan(line, language, stack).stack
            )
            if off < width_of(context.indent_unit, context) and (
                equal >= _ENOUGH
                or (says_something(below[0]) and (equal > 1 or not opens_block(line, language)))
                or (reaches_end and (equal > 1 or not closes_ours))
            ):
                return "\n".join(lines[:index]).rstrip()
        stack = opened_by(line, context) if at_cursor else scan(line + "\n", language, stack).stack
    return text


def _is_beginning(line: str, below: str) -> bool:
    """The text was cut off while it said the next line again."""
    return line != below and below.startswith(line.rstrip()) and says_something(line)


def _equal_lines(
    lines: list[str], below: tuple[str, ...], context: CursorContext
) -> tuple[int, bool]:
    """How many lines are equal from the first on, and whether the text ends before they differ."""
    equal = 0
    for line, other in zip(lines, below, strict=False):
        if line.strip() != other.strip():
            # The text may end in the middle of a line.
            is_last = equal == len(lines) - 1
            return equal, is_last and other.strip().startswith(line.strip())
        equal += 1
    return equal, equal == len(lines) or equal == len(below)


_ENOUGH = 3
