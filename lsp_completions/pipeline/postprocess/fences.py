"""Fences, and what chat models say around code."""

from lsp_completions.pipeline.again import said_again
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.echoes import without_echo
from lsp_completions.pipeline.wrapping import begins_wrapped, unwrap


def no_fences(text: str, context: CursorContext) -> str:
    """The code inside the fence, where there is one, less what stands before the cursor of it."""
    begins_line = not context.line_prefix.strip()
    code = unwrap(text, context.language, begins_line=begins_line)
    if not begins_wrapped(text, context.language):
        return code
    if after := said_again(code, context, whole=True, least=1):
        return code[after:].removeprefix(context.line_prefix if begins_line else "")
    return without_echo(code, context, quoted=True)
