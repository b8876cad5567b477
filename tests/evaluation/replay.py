"""Edits typed key by key, and what came of it."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean, median

from tests.evaluation.editors import EDITORS, Editor, Moment, Seen
from tests.evaluation.edits import Edit
from tests.evaluation.keys import Key, keys_of
from tests.evaluation.oracle import TOKEN, USUAL, Model, Oracle
from tests.evaluation.policies import FireAtEveryKey, WaitForAPause
from tests.evaluation.services import OurServer, Service
from tests.evaluation.virtual_time import run

THINKS = (0.4, 1.5)  # seconds, before a new line
SERVER = "this server"
CLOSERS = ")]}\"'` \n"


def ours(oracle: Oracle, editor: type[Editor]) -> Service:
    return OurServer(oracle, inline=not editor.MENU, clock=asyncio.get_running_loop().time)


POLICIES: dict[str, Callable[[Oracle, type[Editor]], Service]] = {
    SERVER: ours,
    "wait for a pause": lambda oracle, editor: WaitForAPause(oracle),
    "fire at every key": lambda oracle, editor: FireAtEveryKey(oracle),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """How somebody types: seconds between keys, from and to, and whether the editor assists."""

    gaps: tuple[float, float] = (0.06, 0.3)
    thinks: bool = True
    assisted: bool = False
    seed: int = 1

    def gaps_of(self, edit: Edit, keys: Sequence[Key]) -> list[float]:
        random = Random(f"{self.seed} {edit.name}")
        return [
            random.uniform(*(THINKS if self.thinks and "\n" in key.new else self.gaps))
            for key in keys
        ]


CALM = Hands()


@dataclass(slots=True, kw_only=True)
class Score:
    """What came of typing some edits."""

    words: int = 0
    keys: int = 0
    requests: int = 0
    tokens: int = 0
    useful: int = 0
    """Tokens that were on the screen before they were typed."""
    first: list[float] = field(default_factory=list)
    """Seconds from the first key to the first fitting text, for each edit that had any."""
    again: list[float] = field(default_factory=list)
    """Seconds without fitting text, each time there was none."""
    fitting_keys: int = 0
    flicker: int = 0
    asked: int = 0
    answered: int = 0
    most_at_once: int = 0

    @property
    def requests_a_word(self) -> float:
        return self.requests / self.words

    @property
    def wasted_a_word(self) -> float:
        return (self.tokens - self.useful) / self.words

    @property
    def share(self) -> float:
        return self.fitting_keys / self.keys

    @property
    def flicker_a_word(self) -> float:
        return self.flicker / self.words

    @property
    def answered_ratio(self) -> float:
        return self.answered / self.asked if self.asked else 1.0

    @property
    def usual_first(self) -> float | None:
        return median(self.first) if self.first else None

    @property
    def usual_again(self) -> float:
        return fmean(self.again) if self.again else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """One edit, typed: what was seen, and what was asked of the model."""

    edit: Edit
    keys: Sequence[Key]
    began: float
    seen: Seen
    oracle: Oracle


def typed(
    edit: Edit,
    *,
    policy: str = SERVER,
    editor: str = "VS Code",
    model: Model = USUAL,
    hands: Hands = CALM,
    most_keys: int | None = None,
) -> Typed:
    """Type one edit or the first keys of it, in virtual time."""
    return run(_typed(edit, policy, EDITORS[editor], model, hands, most_keys))


async def _typed(
    edit: Edit,
    policy: str,
    editor: type[Editor],
    model: Model,
    hands: Hands,
    most_keys: int | None,
) -> Typed:
    loop = asyncio.get_running_loop()
    oracle = Oracle(edit, model)
    service = POLICIES[policy](oracle, editor)
    try:
        at_work = editor(service, edit, loop.time)
        await asyncio.sleep(1)
        keys = keys_of(edit, assisted=hands.assisted)[:most_keys]
        gaps = hands.gaps_of(edit, keys)
        began = loop.time() + gaps[0]
        seen = await at_work.type(keys, gaps)
    finally:
        await service.aclose()
    return Typed(edit=edit, keys=keys, began=began, seen=seen, oracle=oracle)


def replayed(
    edits: Iterable[Edit],
    *,
    policy: str = SERVER,
    editor: str = "VS Code",
    model: Model = USUAL,
    hands: Hands = CALM,
) -> Score:
    """Type all the edits, one after the other."""
    score = Score()
    for edit in edits:
        one = typed(edit, policy=policy, editor=editor, model=model, hands=hands)
        count(one, score)
    return score


def count(one: Typed, score: Score) -> None:
    """Add what came of one edit."""
    edit, moments, oracle = one.edit, one.seen.moments, one.oracle
    score.words += edit.words
    score.requests += oracle.requests
    score.tokens += oracle.tokens
    score.asked += one.seen.asked
    score.answered += one.seen.answered
    score.most_at_once = max(score.most_at_once, oracle.most_at_once)

    starts = {match.start() for match in TOKEN.finditer(edit.text)}
    shown: set[int] = set()
    rest = [rest_at(edit, one.keys[: moment.typed], moment) for moment in moments]
    fits = [fitting(moment.shown, left) for moment, left in zip(moments, rest, strict=True)]
    first: float | None = None
    lost: float | None = one.began
    for number, (moment, left, fit) in enumerate(zip(moments, rest, fits, strict=True)):
        following = moments[number + 1] if number + 1 < len(moments) else None
        if moment.is_key and left:
            score.keys += 1
        # What counts is what is there when the next key is pressed.
        if following is not None and following.is_key and fit and left:
            score.fitting_keys += 1
        if flickers(moment.replaced, moment.shown) and fitting(moment.replaced, left):
            score.flicker += 1
        if fit:
            if first is None:
                first = moment.at - one.began
            if lost is not None:
                score.again.append(moment.at - lost)
                lost = None
            at = len(edit.text) - len(left)
            shown |= starts & set(range(at, at + agreement(moment.shown, left)))
        elif lost is None and left:
            lost = moment.at
    if lost is not None and (ended := [m.at for m in moments if m.is_key][-1]) > lost:
        score.again.append(ended - lost)
    if first is not None:
        score.first.append(first)
    score.useful += len(shown)


def rest_at(edit: Edit, keys: Sequence[Key], moment: Moment) -> str:
    """What is still to be typed after so many keys."""
    text = edit.before + edit.after
    for key in keys:
        text = key.applied(text)
    return edit.rest_after(text[: moment.cursor]) or ""


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
