"""What prompts say around code, said again: headings of files, turns of a conversation."""

import re

from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.templates import ABOUT_FILE, ABOUT_PATH


def no_prompt_echo(text: str, context: CursorContext) -> str:
    """The text up to where it begins to look like a prompt."""
    found = None if context.language.prose else _ECHO.search(text)
    return text[: found.start()] if found is not None else text


def _heading(template: str) -> str:
    """A template's first line as a pattern, whatever it names."""
    first_line = re.escape(template.partition("\n")[0])
    return re.sub(r"\\{\w+\\}", lambda _: r"\S+", first_line)


_COMMENT = r"(?://|#|--|;|%|/\*)[ \t]*"
_ECHO = re.compile(
    r"^[ \t]*(?:"
    # Without a comment mark it may well be a key: `Path: /usr`.
    rf"{_COMMENT}{_heading(ABOUT_PATH)}"
    rf"|(?:{_COMMENT})?{_heading(ABOUT_FILE)}"
    r"|(?:Human|Assistant): )",
    re.MULTILINE,
)
