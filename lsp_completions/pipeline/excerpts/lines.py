"""The lines of a text, each cut from it when it is asked for.

As strings of their own they would take three times as much memory.
"""

from array import array
from collections.abc import Sequence
from itertools import accumulate


class Lines:
    r"""The lines of a text with `\n` line ends, by their numbers."""

    __slots__ = ("_starts", "_text")

    def __init__(self, lines: Sequence[str]) -> None:
        self._text = "\n".join(("", *lines, ""))
        self._starts = array("I", accumulate((len(line) + 1 for line in lines), initial=1))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> str:
        return self._text[self._starts[number] : self._starts[number + 1] - 1]

    def __contains__(self, line: str) -> bool:
        """Whether it is one of them, whatever its number."""
        return "\n" not in line and f"\n{line}\n" in self._text
