"""The beginning of the line, said again by the model."""

import re

from lsp_completions.pipeline.context import CursorContext


def no_echo(text: str, context: CursorContext) -> str:
    """The text without the part of the cursor's line that it begins with.

    `return_value` after `return ` is no echo: the whole beginning has to be there, its last
    space included.
    """
    line = context.line_prefix
    said = line.lstrip()
    if not said or not text.strip():
        return text
    if text.startswith(line) and len(line) > len(said):
        return text[len(line) :]
    head = text.lstrip(" \t")
    if head.startswith(said) and _is_unlikely_twice(said, head[len(said) : len(said) + 1]):
        return head[len(said) :]
    # A word half typed and said in full: `display` after `dis`.
    word = _WORD_AT_END.search(line)
    if word and text.startswith(word[0]) and text[len(word[0]) : len(word[0]) + 1].isalnum():
        return text[len(word[0]) :]
    return text


def _is_unlikely_twice(said: str, following: str) -> bool:
    letters = sum(character.isalnum() for character in said)
    if said[-1].isspace():
        return letters >= 2 or _ASSIGNS.search(said) is not None
    return letters >= 3 and letters < len(said) and not following.isalnum()


_ASSIGNS = re.compile(r"\w\s*:?=\s+$")
_WORD_AT_END = re.compile(r"\b[^\W\d]\w{2,}$")
