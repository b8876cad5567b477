"""When somebody accepts what is shown, and how much of it at a time."""

import re
from dataclasses import dataclass
from enum import Enum
from random import Random

from tests.evaluation.edits import Edit

WORD = re.compile(r"\s*(\w+|[^\w\s]+)")
LINE = re.compile(r"\n?[^\n]*")
WORTH = 3  # characters; what is shorter is typed


class Takes(Enum):
    """How much is accepted with one key."""

    WHOLE = "whole"
    LINE = "by line"
    WORD = "by word"


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """Somebody who accepts text that fits, once it has been seen for long enough.

    `tells` says whether the editor reports it where it can.
    """

    takes: Takes = Takes.WHOLE
    tells: bool = True
    reaction: tuple[float, float] = (0.25, 0.6)
    """Seconds, from and to."""
    often: float = 0.7
    """How probable it is that somebody who could looks up from typing."""
    seed: int = 1

    def random(self, edit: Edit) -> Random:
        return Random(f"{self.seed} {edit.name} {self.takes.value}")

    def taken(
        self,
        edit: Edit,
        text: str,
        at: int,
        *,
        shown: str,
        replaced: int,
        seen: float,
        dice: Random,
    ) -> str:
        """What of the text shown for `seen` seconds is accepted; empty for nothing."""
        reaction, looks = dice.uniform(*self.reaction), dice.random() < self.often
        if seen < reaction or not looks:
            return ""
        match self.takes:
            case Takes.WHOLE:
                piece = shown
            case Takes.LINE:
                piece = matched(LINE, shown)
            case Takes.WORD:
                piece = matched(WORD, shown)
        gone = replaced if piece == shown else 0
        after = text[:at] + piece + text[at + gone :]
        rest = edit.rest_after(text[:at])
        if rest is None or len(piece.strip()) < WORTH:
            return ""
        fits = rest.startswith(piece) and after.endswith(edit.after)
        return piece if fits or after == edit.made else ""


def matched(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.match(text)
    return match[0] if match is not None else ""
