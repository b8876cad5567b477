"""Fences, and what chat models say around code."""

from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.wrapping import unwrap


def no_fences(text: str, context: CursorContext) -> str:
    """The code inside the fence, where there is one."""
    return unwrap(text, context.language)
