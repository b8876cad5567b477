"""Edits typed key by key, and what came of it."""

import asyncio
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import fmean, median

from tests.evaluation.editors import EDITORS, Editor, Seen
from tests.evaluation.edits import Sitting, words_of
from tests.evaluation.fitting import TOKEN, agreement, fitting, flickers
from tests.evaluation.hands import CALM, Hands
from tests.evaluation.oracle import USUAL, Model, Oracle
from tests.evaluation.policies import FireAtEveryKey, WaitForAPause
from tests.evaluation.services import OurServer, Service
from tests.evaluation.virtual_time import run

SERVER = "this server"
INDENTED = re.compile(r"\n[ \t]+")


def ours(oracle: Oracle, editor: type[Editor]) -> Service:
    return OurServer(oracle, inline=not editor.MENU, clock=asyncio.get_running_loop().time)


POLICIES: dict[str, Callable[[Oracle, type[Editor]], Service]] = {
    SERVER: ours,
    "wait for a pause": lambda oracle, editor: WaitForAPause(oracle),
    "fire at every key": lambda oracle, editor: FireAtEveryKey(oracle),
}


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
    accepted: int = 0
    saved: int = 0
    """Keys that were not pressed, as what they would have typed was accepted."""
    ready: list[bool] = field(default_factory=list)
    documents: int = 0
    right: int = 0
    """Documents that hold what they should in the end."""

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
    def saved_a_word(self) -> float:
        return self.saved / self.words

    @property
    def ready_share(self) -> float | None:
        """How often the next piece was there at once after an acceptance."""
        return fmean(self.ready) if self.ready else None

    @property
    def usual_first(self) -> float | None:
        return median(self.first) if self.first else None

    @property
    def usual_again(self) -> float:
        return fmean(self.again) if self.again else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """The edits of one document, made: what was seen, and what was asked of the model."""

    sitting: Sitting
    seen: Seen
    oracle: Oracle


def typed(
    sitting: Sitting,
    *,
    policy: str = SERVER,
    editor: str = "VS Code",
    model: Model = USUAL,
    hands: Hands = CALM,
    most_keys: int | None = None,
) -> Typed:
    """Make the edits of one document or the first keys of them, in virtual time."""
    return run(_typed(sitting, policy, EDITORS[editor], model, hands, most_keys))


async def _typed(
    sitting: Sitting,
    policy: str,
    editor: type[Editor],
    model: Model,
    hands: Hands,
    most_keys: int | None,
) -> Typed:
    loop = asyncio.get_running_loop()
    oracle = Oracle(sitting, model)
    service = POLICIES[policy](oracle, editor)
    try:
        at_work = editor(service, sitting, loop.time)
        await asyncio.sleep(1)
        seen = await at_work.type(hands, most_keys)
    finally:
        await service.aclose()
    return Typed(sitting=sitting, seen=seen, oracle=oracle)


def replayed(
    sittings: Iterable[Sitting],
    *,
    policy: str = SERVER,
    editor: str = "VS Code",
    model: Model = USUAL,
    hands: Hands = CALM,
) -> Score:
    """Make all the edits, one after the other."""
    score = Score()
    for sitting in sittings:
        one = typed(sitting, policy=policy, editor=editor, model=model, hands=hands)
        count(one, score)
    return score


def count(one: Typed, score: Score) -> None:
    """Add what came of one document."""
    edits, moments, oracle = one.sitting.edits, one.seen.moments, one.oracle
    score.words += words_of([one.sitting])
    score.requests += oracle.requests
    score.tokens += oracle.tokens
    score.asked += one.seen.asked
    score.answered += one.seen.answered
    score.most_at_once = max(score.most_at_once, oracle.most_at_once)
    score.ready += one.seen.ready
    score.documents += 1
    score.right += one.seen.text == edits[-1].made

    starts = [{match.start() for match in TOKEN.finditer(edit.text)} for edit in edits]
    shown: set[tuple[int, int]] = set()
    first: float | None = None
    lost: float | None = one.seen.began
    for number, moment in enumerate(moments):
        left, fit = moment.left, fitting(moment.shown, moment.left)
        following = moments[number + 1] if number + 1 < len(moments) else None
        if moment.is_key and left:
            score.keys += 1
        # What counts is what is there when the next key is pressed.
        if following is not None and following.is_key and fit and left:
            score.fitting_keys += 1
        if flickers(moment.replaced, moment.shown) and fitting(moment.replaced, left):
            score.flicker += 1
        if moment.taken:
            score.accepted += 1
            score.saved += len(INDENTED.sub("\n", moment.taken)) - 1
        if fit:
            if first is None:
                first = moment.at - one.seen.began
            if lost is not None:
                score.again.append(moment.at - lost)
                lost = None
            at = len(edits[moment.edit].text) - len(left)
            agreed = range(at, at + agreement(moment.shown, left))
            shown |= {(moment.edit, i) for i in starts[moment.edit].intersection(agreed)}
        elif lost is None and left:
            lost = moment.at
    if lost is not None and (ended := [m.at for m in moments if m.is_key][-1]) > lost:
        score.again.append(ended - lost)
    if first is not None:
        score.first.append(first)
    score.useful += len(shown)
