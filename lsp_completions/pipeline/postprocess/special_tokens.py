"""Special tokens, and what follows them."""

from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.markers import without_markers


def no_special_tokens(text: str, context: CursorContext) -> str:
    """The text up to the first special token of any model."""
    return without_markers(text, context)
