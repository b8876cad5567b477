"""Text that adds nothing to what is there."""

from lsp_completions.pipeline.balance import imbalance
from lsp_completions.pipeline.brackets import CLOSERS, scan
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.surroundings import is_blank_line, line_above, width_of
from lsp_completions.pipeline.trigger import opens_block


def something_new(text: str, context: CursorContext) -> str:
    """The text, or nothing where it only says what already stands there."""
    said = text.strip()
    if not said:
        return ""
    if said == context.line_suffix.strip():
        # Unless brackets are missing that it closes.
        return text if imbalance(text, 0, context) < imbalance("", 0, context) else ""
    if is_blank_line(context) and said[0] in CLOSERS:
        # The block is empty: its end would stand as deep as its contents.
        above = line_above(context)
        if (
            above is not None
            and opens_block(above, context.language)
            and width_of(context.line_prefix, context) > width_of(above, context)
            and scan(said, context.language).closings[:1] == ((0, said[0]),)
        ):
            return ""
    return text
