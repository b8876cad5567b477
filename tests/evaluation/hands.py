"""How somebody types."""

from dataclasses import dataclass
from random import Random

from tests.evaluation.edits import Edit
from tests.evaluation.habits import Habit
from tests.evaluation.keys import Key

THINKS = (0.4, 1.5)  # seconds, before a new line
GOES = (0.6, 2.0)  # seconds, to another place
LETTERS = "etaoinshrdlu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """Seconds between keys, from and to, and whether the editor assists."""

    gaps: tuple[float, float] = (0.06, 0.3)
    thinks: bool = True
    assisted: bool = False
    slips: float = 0.0
    """How probable a wrong letter is, with up to two more keys before it is noticed."""
    habit: Habit | None = None
    """Whether suggestions are accepted; `None` types all."""
    seed: int = 1

    def random(self, edit: Edit) -> Random:
        return Random(f"{self.seed} {edit.name}")

    def gap(self, key: Key, random: Random) -> float:
        return random.uniform(*(THINKS if self.thinks and "\n" in key.new else self.gaps))

    def goes_within(self, random: Random) -> float:
        return random.uniform(*GOES)

    def slip(self, key: Key, rest: str, random: Random) -> str:
        """What is typed in the place of a key by mistake; empty as a rule."""
        if not self.slips or not rest[:1].isalnum() or key.new != rest[:1]:
            return ""
        if random.random() >= self.slips:
            return ""
        wrong = random.choice([letter for letter in LETTERS if letter != rest[0]])
        unnoticed = rest[1 : 1 + random.randrange(3)]
        return wrong + (unnoticed if unnoticed.isalnum() else "")


CALM = Hands()
