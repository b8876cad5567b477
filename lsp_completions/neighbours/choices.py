"""What was chosen at a place, which stays while nothing happens that is worth another choice."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from weakref import ref

from lsp_completions.pipeline.excerpts.choosing import Chosen, is_current
from lsp_completions.pipeline.excerpts.index import Index
from lsp_completions.pipeline.excerpts.words import fold

MOVED = 8  # lines that the cursor may move before anew is chosen
MOST_CHOICES = 32


@dataclass(slots=True, eq=False)
class Choice:
    """What was chosen at a place, and for which question."""

    asked: tuple[object, ...]
    line: int
    chosen: tuple[Chosen, ...]
    indexes: InitVar[Mapping[str, Index]]
    left_out: frozenset[str]
    """What was kept back."""
    names: set[str]
    _chosen_from: dict[str, "ref[Index]"] = field(init=False)

    def __post_init__(self, indexes: Mapping[str, Index]) -> None:
        self._remember(indexes)

    def _remember(self, indexes: Mapping[str, Index]) -> None:
        # An index that was made anew since, or whose document was closed, is of no more use.
        self._chosen_from = {key: ref(index) for key, index in indexes.items()}

    def still_holds(self, line: int, names: set[str], indexes: Mapping[str, Index]) -> bool:
        """Whether nothing happened that would make another choice worth its price."""
        before = self._chosen_from
        if abs(self.line - line) > MOVED or indexes.keys() != before.keys():
            return False
        changed = [key for key, index in indexes.items() if before[key]() is not index]
        if changed:
            if not all(is_current(each, indexes) for each in self.chosen if each.key in changed):
                return False
            self._remember(indexes)
        # A name was typed to its end whose definition somebody has.
        new = names - self.names
        self.names |= new
        return not any(
            name in index.defined or fold(name) in index.folded
            for name in new
            for index in indexes.values()
        )


class Choices:
    """The last choice for each document, by its key."""

    def __init__(self) -> None:
        self._choices: OrderedDict[str, Choice] = OrderedDict()

    def last(self, key: str, asked: tuple[object, ...]) -> Choice | None:
        """What was chosen last for the same question; `None` where it was another, or none."""
        choice = self._choices.get(key)
        return choice if choice is not None and choice.asked == asked else None

    def keep(self, key: str, choice: Choice) -> None:
        """Remember a choice in place of the last."""
        self._choices[key] = choice
        self._choices.move_to_end(key)
        while len(self._choices) > MOST_CHOICES:
            self._choices.popitem(last=False)

    def forget(self, key: str) -> None:
        """A document is another by now, or closed."""
        self._choices.pop(key, None)
