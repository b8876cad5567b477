"""What chat models put around code: a sentence before it, a fence, their thoughts."""

import re

from lsp_completions.pipeline.languages import Language


def begins_wrapped(text: str, language: Language) -> bool:
    """The text begins with something that is not code, so its first line is not the suggestion."""
    if language.id == "markdown":
        return False
    head = text.lstrip()
    return head.startswith(("```", "<think>")) or (
        not language.prose and _CHATTER.match(head) is not None
    )


def is_fence(line: str) -> bool:
    """The line begins or ends the code in a fence."""
    return line.lstrip().startswith("```")


def unwrap(text: str, language: Language, *, begins_line: bool = True) -> str:
    """The code alone. `begins_line` says that nothing stands before it on its line."""
    if language.id == "markdown":
        return text
    if begins_line and not language.prose and language.id not in _HAVE_BULLETS:
        text = _BULLET.sub("", text)
    if text.lstrip().startswith("<think>"):
        text = text.partition("</think>")[2]
    if begins_wrapped(text, language):
        found = _FENCED.search(text) or _FENCED_IN_LINE.match(text)
        if found is not None:
            return found[1]
        # A sentence and no fence: it was an answer to a question nobody asked.
        return "" if _CHATTER.match(text.lstrip()) else text
    # A fence that is closed and was never opened, and what is said after it.
    found = _CLOSING_FENCE.search(text)
    return text[: found.start()] if found is not None else text


_HAVE_BULLETS = frozenset(("yaml", "diff"))
# One such mark and two spaces are no code.
_BULLET = re.compile(r"\A(?:[-+.\u2022]|[\u2700-\u27bf]\ufe0f?)\s{2,}(?=\S)")
_CHATTER = re.compile(
    r"(?:Sure|Certainly|Of course|Here(?:'s| is| are)|Below is|The (?:completed|missing|following)"
    r"|To complete|I(?:'ll| will|'ve| have)) [^\n]*(?::|\.|!)[ \t]*(?:\n|$)"
    r"|(?:Sure|Certainly|Of course)[!,.]",
)
_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
_FENCED_IN_LINE = re.compile(r"\s*```([^`\n]+)```")
_CLOSING_FENCE = re.compile(r"^[ \t]*```[ \t]*$", re.MULTILINE)
