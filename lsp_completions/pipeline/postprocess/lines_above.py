"""Lines that stand above the cursor already, said again by the model before it goes on."""

from lsp_completions.pipeline.again import least_again, said_again
from lsp_completions.pipeline.context import CursorContext


def no_lines_above(text: str, context: CursorContext) -> str:
    """The text without the lines it begins with that end at the cursor."""
    return text[said_again(text, context, whole=True, least=least_again(context)) :]
