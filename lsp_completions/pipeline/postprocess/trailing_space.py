"""White space at the ends of lines."""

from lsp_completions.pipeline.context import CursorContext


def no_trailing_space(text: str, context: CursorContext) -> str:
    """The text without white space that would end a line, and without blank lines at its end."""
    lines = text.split("\n")
    text = "\n".join([*(line.rstrip(" \t") for line in lines[:-1]), lines[-1]])
    # Before a word the space is part of the suggestion: `x: ` before `int`.
    return text.rstrip() if not context.line_suffix.strip() else text.rstrip("\n")
