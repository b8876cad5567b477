"""A block said between two brackets that stand side by side."""

from lsp_completions.pipeline.brackets import PARTNER, scan
from lsp_completions.pipeline.context import CursorContext


def closer_on_its_own_line(text: str, context: CursorContext) -> str:
    """The text, ended with a line break where the second bracket would follow its last line."""
    opener, rest = context.line_prefix.rstrip()[-1:], context.line_suffix
    begins_below = text.lstrip(" \t").startswith("\n")
    if not begins_below or opener not in PARTNER or not rest.startswith(PARTNER[opener]):
        return text
    if scan(text, context.language).closings:
        return text
    return f"{text.rstrip()}\n{context.indent}"
