"""The words in names, and which of them say something."""

import re
from functools import lru_cache

LONGEST_LINE = 300  # characters; what is longer is data, or made by a machine


def names_in(text: str) -> list[str]:
    """The names that a text mentions."""
    return _NAME.findall(text)


def words_in(line: str) -> list[str]:
    """The words of the names in a line, and those names that have several."""
    return [word for name in _NAME.findall(line) for word in _words_of(name)]


def parts_of(name: str) -> list[str]:
    """A name cut where its humps and underscores are."""
    return _PARTS.findall(name)


def fold(name: str) -> str:
    """A name without case and underscores, as `HttpClient` is called `http_client` elsewhere."""
    return name.replace("_", "").lower()


_NAME = re.compile(r"[^\W\d]\w*")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+")
# Words of languages, which say nothing about a text.
_STOP = frozenset(
    "self this def return if else elif for while in not and or is none null nil true false import "
    "from as class function func fn let const var val new try except catch finally raise throw "
    "with async await public private protected static void int str bool float string the of to a "
    "an pub use mod impl struct type interface end do then local require export default switch "
    "case break continue pass lambda yield del global match override final package using include "
    "std".split()
)


@lru_cache(maxsize=16384)  # names; some 3 MB
def _words_of(name: str) -> tuple[str, ...]:
    """The words in a name, and the name itself where it has several."""
    parts = [part.lower() for part in parts_of(name)]
    words = [part for part in parts if len(part) > 1 and part not in _STOP]
    if len(parts) > 1:
        words.append(name)
    return tuple(words)
