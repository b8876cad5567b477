r"""Line ends are `\n`; a byte order mark and characters of no width are not code."""

from lsp_completions.pipeline.context import CursorContext


def plain_line_ends(text: str, context: CursorContext) -> str:
    r"""The text with `\n` for `\r\n` and `\r`, and without a mark at its start."""
    return text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff\u200b").replace("\0", "")
