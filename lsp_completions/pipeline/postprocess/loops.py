"""The same lines again and again."""

from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.repetition import loop_in_line, loop_in_lines


def no_loops(text: str, context: CursorContext) -> str:
    """The text with one round of a loop it ends in."""
    lines = text.split("\n")
    spoken: list[str] = []
    for index, line in enumerate(lines):
        if not line.strip():
            continue
        spoken.append(context.line_prefix + line if index == 0 else line)
        if (end := loop_in_line(line)) is not None:
            return "\n".join([*lines[:index], line[:end]])
        loop = loop_in_lines(spoken)
        if loop is not None:
            return _first_spoken(lines, loop[0])
    return text


def _first_spoken(lines: list[str], count: int) -> str:
    kept = []
    for line in lines:
        if count == 0:
            break
        kept.append(line)
        count -= bool(line.strip())
    return "\n".join(kept)
