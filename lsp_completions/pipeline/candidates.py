"""Several suggestions for one place, for whoever wants to choose: different ones, best first."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from lsp_completions.pipeline.balance import imbalance
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.syntax import misfit

MOST = 3  # more than that nobody looks through


class Fitted(Protocol):
    """What is inserted at the cursor, in place of some characters after it."""

    @property
    def text(self) -> str:
        """What is inserted."""

    @property
    def replaced(self) -> int:
        """How many characters give way."""

    @property
    def complete(self) -> bool:
        """Whether the model was at its end."""


AnyFitted = TypeVar("AnyFitted", bound=Fitted)


def ranked(
    shown: Fitted, others: Iterable[AnyFitted], context: CursorContext
) -> Sequence[AnyFitted]:
    """What else to offer beside what is `shown` already, which stays the first.

    Each differs from all before it by more than white space. Those come first that go with the
    grammar, then those that leave no bracket open, then those that the model could say to the end.
    """
    said = {_without_space(shown.text)}
    different = []
    for each in others:
        words = _without_space(each.text)
        if words and words not in said:
            said.add(words)
            different.append(each)

    def rank(each: Fitted) -> tuple[int, int, bool]:
        return (
            misfit(each.text, each.replaced, context),
            imbalance(each.text, each.replaced, context),
            not each.complete,
        )

    return sorted(different, key=rank)[: MOST - 1]


def _without_space(text: str) -> str:
    return "".join(text.split())
