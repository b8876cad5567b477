"""Patterns of paths, written as in a `.gitignore`; upper and lower case are the same.

Git skips a pattern it cannot make sense of. Here each one is a promise to the user, so a pattern
that would never match has a flaw, and whoever reads it says so.
"""

import re
import unicodedata
import warnings
from collections.abc import Iterable, Sequence


def flaw_of(pattern: str) -> str | None:
    """What is wrong with a pattern, to go after "must"; `None` when it is good, blank or a remark.

    Alternatives in braces and backslashes between folders mean something elsewhere, and in a
    `.gitignore` something that nobody wants.
    """
    if not pattern.strip() or pattern.startswith("#"):
        return None
    if not pattern.isprintable():
        return "must be one line without control characters"
    if re.search(r"\{[^}]*,[^}]*\}", pattern):
        return "must be written once for each of the alternatives in {}"
    written = _normal(pattern)
    if re.search(r"\\\w", written):
        return "must have / between folders"
    if not written.strip("!/ "):
        return "must be a pattern as in a .gitignore"
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.base import GitIgnorePatternError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # about sets that `re` will read in another way one day
            means_something = any(
                known.include is not None for known in GitIgnoreSpec.from_lines([written]).patterns
            )
    except (GitIgnorePatternError, re.error, Warning):
        means_something = False
    return None if means_something else "must be a pattern as in a .gitignore"


class Patterns:
    """Patterns without a flaw. The last one that matches decides, and it may begin with `!`.

    Git itself, and `GitIgnoreSpec.match_file` in its way, weigh folders against files; there an
    earlier `!*.md` can win over a later `secret/`.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        from pathspec import GitIgnoreSpec

        known = GitIgnoreSpec.from_lines(map(_normal, patterns)).patterns
        self._latest_first = [pattern for pattern in reversed(known) if pattern.include is not None]

    def match(self, spellings: Sequence[str]) -> bool:
        """Whether they match one place, whose path may be counted from several folders."""
        paths = [_folded(path) for path in spellings]
        for pattern in self._latest_first:
            if any(pattern.match_file(path) is not None for path in paths):
                return bool(pattern.include)
        return False


def _normal(pattern: str) -> str:
    """A pattern in the one spelling that paths have here."""
    sign, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if re.match(r"[A-Za-z]:\\|\\\\\w", body):
        body = body.replace("\\", "/")
    return sign + re.sub(r"^//+", "/", _folded(body))


def _folded(text: str) -> str:
    # macOS takes accents apart in the names of files.
    return unicodedata.normalize("NFC", text).lower()
