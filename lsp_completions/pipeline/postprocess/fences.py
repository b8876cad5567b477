"""Fences, and what chat models say around code."""

from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.echoes import without_echo
from lsp_completions.pipeline.wrapping import begins_wrapped, unwrap


def no_fences(text: str, context: CursorContext) -> str:
    """The code inside the fence, where there is one, less what the cursor's line has of it."""
    code = unwrap(text, context.language, begins_line=not context.line_prefix.strip())
    if not begins_wrapped(text, context.language):
        return code
    return without_echo(code, context, quoted=True)
