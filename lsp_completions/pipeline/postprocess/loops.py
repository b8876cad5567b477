"""The same lines again and again."""

from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.repetition import loop_in_line, loop_in_lines


def no_loops(text: str, context: CursorContext) -> str:
    """The text with one round of a loop it ends in."""
    lines = text.split("\n")
    spoken = [line for line in lines if line.strip()]
    for index, line in enumerate(lines):
        if (end := loop_in_line(line)) is not None:
            return "\n".join([*lines[:index], line[:end]])
    if not spoken:
        return text
    if lines[0].strip():
        spoken[0] = context.line_prefix + spoken[0]
    loop = loop_in_lines(spoken)
    if loop is None and (cut_off := loop_in_lines(spoken[:-1])) is not None:
        # The last line may have been cut off on its way round.
        loop = cut_off if spoken[-1 - cut_off[1]].startswith(spoken[-1]) else None
    return _first_spoken(lines, loop[0]) if loop is not None else text


def _first_spoken(lines: list[str], count: int) -> str:
    kept = []
    for line in lines:
        if count == 0:
            break
        kept.append(line)
        count -= bool(line.strip())
    return "\n".join(kept)
