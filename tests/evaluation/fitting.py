"""Whether what is shown is what is typed next."""

import re

TOKEN = re.compile(r"\n[ \t]*|[ \t]?\w{1,6}|[ \t]*[^\w\s]{1,3}|[ \t]+")
CLOSERS = ")]}\"'` \n"


def tokens_of(text: str) -> list[str]:
    """A text as a model says it."""
    return TOKEN.findall(text)


def fitting(shown: str, rest: str) -> bool:
    """Whether the next word on the screen is the next that is typed."""
    match = TOKEN.match(rest)
    if match is None or not shown.strip():
        return False
    word = match[0] if match[0].strip() else rest[: match.end() + 1]
    return shown.startswith(word[: max(1, len(shown))])


def flickers(before: str, now: str) -> bool:
    """Whether other text took the place of this, or none.

    It may grow, and end before brackets that the editor has closed by itself.
    """
    if not before.strip(CLOSERS):
        return False
    return not now or not (before.startswith(now) or now.startswith(before))


def agreement(shown: str, rest: str) -> int:
    """How many characters of what is shown will be typed."""
    most = min(len(shown), len(rest))
    return next((i for i in range(most) if shown[i] != rest[i]), most)
