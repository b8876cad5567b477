"""Who said a setting, and so what it may decide."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import NamedTuple


class Kind(Enum):
    """Who can write there."""

    MACHINE = "machine"
    """Whoever administers this machine."""
    OWN = "own"
    """The user: a file of one's own, the environment, the command line, a login."""
    EDITOR = "editor"
    """The user or an opened project: editors mix what both say, and nobody can tell them apart."""
    PROJECT = "project"
    """Whoever wrote what was opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where settings come from. As a text, it is the `name`."""

    name: str
    """In words for the user, such as a file's path or a variable."""
    kind: Kind
    place: str = ""
    """What several sources share that belong together, such as two variables; else the name.

    A credential goes only to an address that was named in the same place.
    """
    path: Path | None = None
    """The file, where it is one."""
    locked: frozenset[str] = frozenset()
    """The settings whose values nobody else may change; of a machine's file alone."""

    def __post_init__(self) -> None:
        if not self.place:
            object.__setattr__(self, "place", self.name)

    def __str__(self) -> str:
        return self.name

    @property
    def is_trusted(self) -> bool:
        """Whether it decides where code goes, without being asked."""
        return self.kind in (Kind.MACHINE, Kind.OWN)


class Layer(NamedTuple):
    """Settings as they came, and from where. In a list of layers later ones win."""

    source: Source
    values: object
    """A map from name to value, if all is well."""


@dataclass(frozen=True, slots=True)
class Locks:
    """The settings that cannot be changed, and by whose word."""

    by: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(layers: Iterable[Layer]) -> "Locks":
        """The locks that the layers hold."""
        return Locks({key: source.name for source, _ in layers for key in source.locked})
