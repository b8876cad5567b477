"""The beginning of the line, said again by the model."""

from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.echoes import without_echo


def no_echo(text: str, context: CursorContext) -> str:
    """The text without the part of the cursor's line that it begins with."""
    return without_echo(text, context)
