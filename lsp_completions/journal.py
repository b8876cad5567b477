"""What came of the last requests, and why: kept in memory only, and without code.

journal.subscribe(print)            # is given each entry when it is new, and when it changes
entry = journal.add(asked, trail, outcome)      # an outcome, when the editor has it
journal.happened(entry.number, fate=Fate.ACCEPTED)  # what became of a suggestion later
journal.entries()                   # newest first
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import count
from typing import Any

from lsp_completions.pipeline.outcome import Outcome, SkipReason, Suggested
from lsp_completions.pipeline.uris import document_key
from lsp_completions.trail import How, Times, Trail

logger = logging.getLogger(__name__)

KEPT = 200  # some minutes of typing; about 100 kB


class Method(Enum):
    """What the editor asked for."""

    INLINE = "inline"
    MENU = "menu"


class Fate(Enum):
    """What became of a suggestion, as far as is known; the value says it to a person."""

    OPEN = "nothing yet"
    ACCEPTED = "accepted"
    ACCEPTED_IN_PART = "accepted in part"
    TYPED_THROUGH = "typed as suggested"
    ENDED = "passed over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Who asked where: `path` is as a person reads it, `line` counts from 1."""

    method: Method
    uri: str
    path: str
    language: str
    line: int
    by_hand: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One request and what came of it."""

    number: int
    """Counts up from 1 for as long as the server runs; a later change keeps it."""
    at: float
    """When the editor had its answer, in seconds as `time.time` counts."""
    asked: Asked
    provider: str
    """Its name in the settings; empty where none was found."""
    model: str
    """Empty where the provider chose, or nobody was asked."""
    how: How | None
    """`None` where no model had a say."""
    reason: SkipReason | None
    """Why nothing was shown; `None` where something was suggested."""
    detail: str = ""
    """A sentence about this one case."""
    times: Times = field(default_factory=Times)
    candidates: int = 0
    """How many suggestions there were; the next two are of the first one."""
    lines: int = 0
    characters: int = 0
    excerpts: int | None = None
    """How much code from elsewhere the model was shown; `None` where it was not asked."""
    shown: bool = False
    """The editor reported that it is on the screen. Most never report it."""
    fate: Fate = Fate.OPEN
    taken: int = 0
    """How many characters were accepted or typed as suggested."""
    settled: float | None = None
    """Milliseconds from the answer to the last change of `fate`."""

    @property
    def suggested(self) -> bool:
        """Whether there was something to show."""
        return self.reason is None

    def fields(self) -> dict[str, Any]:
        """The same for JSON."""
        asked, times = self.asked, self.times
        return {
            "number": self.number,
            "at": round(self.at, 3),
            "method": asked.method.value,
            "path": asked.path,
            "language": asked.language,
            "line": asked.line,
            "byHand": asked.by_hand,
            "provider": self.provider or None,
            "model": self.model or None,
            "how": None if self.how is None else self.how.value,
            "reason": None if self.reason is None else self.reason.key,
            "message": None if self.reason is None else self.message,
            "times": {
                "gate": times.gate,
                "prompt": times.prompt,
                "sent": times.sent,
                "firstEvent": times.first_event,
                "firstText": times.first_text,
                "answered": times.answered,
            },
            "candidates": self.candidates,
            "lines": self.lines,
            "characters": self.characters,
            "excerpts": self.excerpts,
            "shown": self.shown,
            "fate": self.fate.value if self.suggested else None,
            "taken": self.taken,
            "settled": self.settled,
        }

    @property
    def message(self) -> str:
        """Why there was nothing, in the best words there are; empty where there was something."""
        return self.detail or ("" if self.reason is None else self.reason.value)


Subscriber = Callable[[Entry], object]


class Journal:
    """The last entries. `clock` tells the time of day."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._numbers = count(1)
        self._entries: OrderedDict[int, Entry] = OrderedDict()
        self._subscribers: list[Subscriber] = []

    def add(self, asked: Asked, trail: Trail, outcome: Outcome) -> Entry:
        """Note an outcome; the trail's times end now."""
        provider = trail.provider
        suggested = isinstance(outcome, Suggested)
        text = outcome.edits[0].new_text if isinstance(outcome, Suggested) else ""
        entry = Entry(
            number=next(self._numbers),
            at=self._clock(),
            asked=asked,
            provider="" if provider is None else provider.name,
            model="" if provider is None else provider.model,
            how=trail.how,
            reason=None if isinstance(outcome, Suggested) else outcome.reason,
            detail="" if isinstance(outcome, Suggested) else outcome.detail,
            times=trail.times(),
            candidates=len(outcome.edits) if isinstance(outcome, Suggested) else 0,
            lines=text.count("\n") + 1 if suggested else 0,
            characters=len(text),
            excerpts=trail.excerpts,
        )
        self._entries[entry.number] = entry
        if len(self._entries) > KEPT:
            self._entries.popitem(last=False)
        self._tell(entry)
        return entry

    def happened(
        self, number: int, *, shown: bool = False, fate: Fate | None = None, taken: int = 0
    ) -> None:
        """Note what became of a suggestion; nothing where its entry is not kept any more.

        What was accepted stays accepted, whatever else is told of it later.
        """
        entry = self._entries.get(number)
        if entry is None:
            return
        shown = shown or entry.shown
        if fate is not None and WEIGHTS[fate] >= WEIGHTS[entry.fate]:
            changed = replace(
                entry,
                shown=shown,
                fate=fate,
                taken=max(entry.taken, taken),
                settled=round((self._clock() - entry.at) * 1000, 1),
            )
        elif shown != entry.shown:
            changed = replace(entry, shown=shown)
        else:
            return
        if changed != entry:
            self._entries[number] = changed
            self._tell(changed)

    def entries(self) -> tuple[Entry, ...]:
        """All that are kept, newest first."""
        return tuple(reversed(self._entries.values()))

    def newest(self, uri: str, line: int | None = None) -> Entry | None:
        """The newest of a document, or of a line in it."""
        key = document_key(uri)
        for entry in reversed(self._entries.values()):
            if document_key(entry.asked.uri) == key and line in (None, entry.asked.line):
                return entry
        return None

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Have it told of each entry, when new and when changed, in the event loop and at once.

        Returns what ends that. It has to return quickly: the editor waits.
        """
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def _tell(self, entry: Entry) -> None:
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(entry)
            except Exception as error:  # noqa: BLE001 - who only listens breaks no completion
                logger.error("A listener failed: %s", type(error).__name__)


WEIGHTS = {
    Fate.OPEN: 0,
    Fate.ENDED: 1,
    Fate.TYPED_THROUGH: 1,
    Fate.ACCEPTED_IN_PART: 2,
    Fate.ACCEPTED: 3,
}
