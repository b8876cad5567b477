"""What is noted of suggestions, and of why there were none: names and numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

DAY = 86_400  # seconds
MOST_COUNTED = 2**53  # of anything; what is more, or endless, was not counted by anybody
SOON = 5.0  # seconds from the first news to the disk

AFTER = (30, 120, 600)
"""Seconds after an acceptance when it is looked at what still stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A suggestion that an editor was given, without its text. Times are in milliseconds."""

    server: str
    """A random name of the process that gave it."""
    number: int
    first: int
    """The number of the one that it is the rest of, or the same again; its own where of none."""
    at: float
    """In seconds since 1970."""
    method: str
    language: str
    provider: str
    model: str
    how: str
    """Where it came from, as `trail.How` says it."""
    sent: float | None
    """When the model was asked, counted from the request on."""
    first_text: float | None
    answered: float | None
    lines: int
    characters: int
    shown: bool = False
    fate: str = ""
    """The name of a `journal.Fate`."""
    taken: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Nothing:
    """A reason for no suggestion, and where it was."""

    day: str
    reason: str
    """The name of a `SkipReason`."""
    language: str
    provider: str


def is_sound(one: Suggestion | Nothing) -> bool:
    """Whether all of it is of its kind: a file may hold anything."""
    for each in fields(one):
        value = getattr(one, each.name)
        if not isinstance(value, _KINDS.get(each.name, str)):
            return False
        if not isinstance(value, str | None) and not -MOST_COUNTED <= value <= MOST_COUNTED:
            return False
    return True


_KINDS: dict[str, Any] = {
    **dict.fromkeys(("number", "first", "lines", "characters", "taken"), int),
    **dict.fromkeys(("sent", "first_text", "answered"), float | int | None),
    "at": float | int,
    "shown": bool,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What is to be written, all of it or nothing."""

    suggestions: Sequence[Suggestion] = ()
    nothings: Mapping[Nothing, int] = field(default_factory=dict)
    kept: Mapping[tuple[str, int, int], float] = field(default_factory=dict)
    """The share that still stands, by server, number and seconds after the acceptance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A suggestion as it is in the database, with what still stood of it; `None` for unknown."""

    suggestion: Suggestion
    kept: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What the database holds."""

    rows: Sequence[Row] = ()
    nothings: Mapping[Nothing, int] = field(default_factory=dict)


class Unusable(Exception):
    """The database cannot be used now: locked, or its disk is full or read-only."""


class NewerVersion(Unusable):
    """A newer program made the database, and this one does not know how to write it."""
