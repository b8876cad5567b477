"""A model that knows what is about to be typed, and says it, or errs at a token."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from random import Random

from tests.evaluation.edits import Edit, Sitting
from tests.evaluation.fitting import tokens_of

ENOUGH = 400  # characters by which a place is known
LAST_ERROR = 64  # tokens; it errs before, and rather sooner than later
WRONG = (
    "wrapped(None)\n",
    "qualified = 7\n",
    "zip_longest(values, _fill)\n",
    "NotImplemented\n",
    "kept.extend(other)\n",
    "1024 * size\n",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """How a model behaves. `err` is how probable it is that an answer errs at one of its tokens."""

    first_after: float = 0.15
    """Seconds to the first token."""
    tokens_a_second: float = 100.0
    err: float = 0.0
    errs_first_at: int | None = None
    """The token at which the first answer errs, and none else."""
    seed: int = 1


USUAL = Model()


class Oracle:
    """One model at work on one document. The same question gets the same answer, whoever asks."""

    def __init__(self, sitting: Sitting, model: Model) -> None:
        self.sitting = sitting
        self.model = model
        self.requests = 0
        self.running = 0
        self.most_at_once = 0
        self.tokens = 0
        """How many were made in all."""
        self.asked_at: list[float] = []
        """When each request came."""

    def answer(self, prefix: str) -> list[str]:
        """All the tokens it says after `prefix`."""
        found = self._asked_about(prefix)
        if found is None:
            return []
        edit, rest = found
        tokens = tokens_of(rest)
        random = Random(f"{self.model.seed} {edit.name} {len(prefix)}")
        at = None
        if random.random() < self.model.err:
            at = int(random.random() ** 2 * min(LAST_ERROR, len(tokens)))
        if self.model.errs_first_at is not None and self.requests <= 1:
            at = self.model.errs_first_at
        if at is not None and at < len(tokens):
            first = tokens[at].strip()[:1]
            wrong = [text for text in WRONG if text[0] != first]
            said = random.choice(wrong) + "".join(random.sample(WRONG, len(WRONG)))
            tokens = [*tokens[:at], *tokens_of(said)]
        return tokens

    def _asked_about(self, prefix: str) -> tuple[Edit, str] | None:
        """The edit that is made there, and how it goes on."""
        for edit in self.sitting.edits:
            if (rest := edit.rest_after(whole(prefix, edit.before + edit.text))) is not None:
                return edit, rest
        for edit in self.sitting.edits:
            # While it is being deleted it looks as if it were to be written.
            begun = whole(prefix, edit.before + edit.deleted)
            typed = begun.removeprefix(edit.before)
            if begun.startswith(edit.before) and edit.deleted.startswith(typed):
                return edit, edit.deleted[len(typed) :]
        return None

    async def stream(
        self, prefix: str, *, most: int = 256, stops: Sequence[str] = ()
    ) -> AsyncGenerator[str, None]:
        """The tokens, each in its time."""
        self.requests += 1
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        self.asked_at.append(asyncio.get_running_loop().time())
        said = ""
        try:
            await asyncio.sleep(self.model.first_after)
            for number, token in enumerate(self.answer(prefix)[:most]):
                if number:
                    await asyncio.sleep(1 / self.model.tokens_a_second)
                self.tokens += 1
                said += token
                if any(stop in said for stop in stops):
                    return
                yield token
        finally:
            self.running -= 1


def whole(prefix: str, text: str) -> str:
    """A prefix of which a prompt holds the end, and perhaps something else before it."""
    if prefix.startswith(text[:ENOUGH]):
        return prefix
    end = prefix[-ENOUGH:]
    at = text.rfind(end[: ENOUGH // 2])
    return prefix if at < 0 else text[:at] + end
