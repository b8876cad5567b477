"""The beginning of the cursor's line, said again by the model."""

import re

from lsp_completions.pipeline.context import CursorContext


def without_echo(text: str, context: CursorContext, *, quoted: bool = False) -> str:
    """The text without the part of the cursor's line that it begins with.

    `return_value` after `return ` is no echo: the whole beginning has to be there, its last
    space included. `quoted` says that the text stood in a fence, where lines stand as a whole.
    """
    line = context.line_prefix
    said = line.lstrip()
    if not said or not text.strip():
        return text
    if text.startswith(line) and len(line) > len(said):
        return text[len(line) :]
    head = text.lstrip(" \t")
    following = head[len(said) : len(said) + 1]
    if head.startswith(said) and (quoted or _is_unlikely_twice(said, following)):
        return head[len(said) :]
    # A word half typed and said in full: `display` after `dis`.
    word = _WORD_AT_END.search(line)
    if word and text.startswith(word[0]) and text[len(word[0]) : len(word[0]) + 1].isalnum():
        return text[len(word[0]) :]
    return text


def _is_unlikely_twice(said: str, following: str) -> bool:
    """Nobody goes on like this with what the line begins with."""
    letters = sum(character.isalnum() for character in said)
    if said[-1].isspace():
        return letters >= 2 or _ASSIGNS.search(said) is not None or said.strip() in _COMMENT_MARKS
    if said[-1].isalnum():
        return letters < len(said) or (letters < 3 and said.isalpha()) or not following.isalnum()
    if letters:
        return letters >= 3 or " " in said
    if said == "{":
        return not following.strip()
    return bool(_MIXED_SIGNS.search(said)) or (said in _SINGLE_SIGNS and following.isalpha())


_COMMENT_MARKS = frozenset(
    ("#", "//", "///", "//!", "--", ";", ";;", "%", "*", "/*", "/**", "<!--")
)
_SINGLE_SIGNS = frozenset("#=@<")  # `--x`, `**x`, `::x` and `..x` begin lines, `##x` does not
# More than brackets, quotes, and one sign.
_MIXED_SIGNS = re.compile(r"^(?!(.)\1*$).*[^\s()\[\]{}'\"`]")
_ASSIGNS = re.compile(r"\w\s*:?=\s+$")
_WORD_AT_END = re.compile(r"\b[^\W\d]\w{2,}$")
