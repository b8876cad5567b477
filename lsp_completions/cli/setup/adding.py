"""What becomes of a file to which lines are to be added. What is in it already never changes."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Add:
    """This goes to the end of the file."""

    text: str


@dataclass(frozen=True, slots=True)
class Present:
    """The file says it already."""


@dataclass(frozen=True, slots=True)
class ByHand:
    """It cannot be added at the end; `why` is a clause for the user."""

    why: str


Verdict = Add | Present | ByHand


def lines_added(old: str | None, lines: str, *, marks: Sequence[str]) -> Verdict:
    """Add lines to a program; where one of `marks` is in it, its owner has been there."""
    if old is not None and any(mark in old for mark in marks):
        return Present()
    return Add(_at_the_end(old or "", lines))


def toml_added(old: str | None, lines: str) -> Verdict:
    """Add lines to a TOML file, if it then says what both say, and nothing else."""
    before = _read(old or "")
    if before is None:
        return ByHand("it is not TOML as it stands")
    wanted = tomllib.loads(lines)
    if _holds(before, wanted):
        return Present()
    text = _at_the_end(old or "", lines)
    after = _read((old or "") + text)
    if after is None or after != _both(before, wanted):
        return ByHand("it has a value or a table that stands in the way")
    return Add(text)


def _at_the_end(old: str, lines: str) -> str:
    if old and not old.endswith("\n"):
        lines = f"\n\n{lines}"
    elif old:
        lines = f"\n{lines}"
    return lines.replace("\n", "\r\n") if "\r\n" in old else lines


def _read(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _holds(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether everything wanted is there."""
    for key, value in wanted.items():
        found = there.get(key)
        if isinstance(value, dict) and isinstance(found, dict):
            if not _holds(found, value):
                return False
        elif isinstance(value, list) and isinstance(found, list):
            if not all(each in found for each in value):
                return False
        elif key not in there or found != value:
            return False
    return True


def _both(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What a file says that says both; where they differ, what neither says."""
    both = dict(there)
    for key, value in wanted.items():
        found = there.get(key)
        if key not in there:
            both[key] = value
        elif isinstance(value, dict) and isinstance(found, dict):
            both[key] = _both(found, value)
        elif isinstance(value, list) and isinstance(found, list):
            both[key] = [*found, *value]
        else:
            both[key] = None
    return both
