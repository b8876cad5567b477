r"""Line ends are `\n`; a byte order mark and characters of no width are not code."""

import re

from lsp_completions.pipeline.context import CursorContext


def plain_line_ends(text: str, context: CursorContext) -> str:
    r"""The text with `\n` for `\r\n` and `\r`, and without a mark at its start.

    What colours a terminal is no code either, nor is half a letter, where the text was cut off.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff\u200b")
    return _CONTROLS.sub("", text).removesuffix("\ufffd")


_CONTROLS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0e-\x1f\x7f]")
