"""What is on a screen, as a grid of cells, and waiting for it."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition
from typing import ClassVar, TypeVar

GHOST = "ComplHint"  # the highlight group of ghost text

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Style:
    """How a cell is drawn, and the highlight groups that said so."""

    foreground: int | None = None
    background: int | None = None
    bold: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the screen; the right half of a wide character has no text."""

    text: str
    style: Style


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """One whole picture, as it stood when it was complete."""

    rows: tuple[tuple[Cell, ...], ...]
    cursor: tuple[int, int]  # row, column
    cursor_is_bar: bool
    foreground: int
    background: int

    @property
    def text(self) -> str:
        """What a person reads, line by line, without trailing blanks."""
        return "\n".join("".join(cell.text for cell in row).rstrip() for row in self.rows)

    @property
    def ghost(self) -> str:
        """The ghost text alone, line by line, without what stands beside it."""
        lines = ["".join(cell.text for cell in row if self.is_ghost(cell)) for row in self.rows]
        return "\n".join(line for line in lines if line)

    def is_ghost(self, cell: Cell) -> bool:
        """Whether a cell shows ghost text."""
        return GHOST in cell.style.groups


class Watched(ABC):
    """A program with a screen, watched by another thread, which tells of each change."""

    error: ClassVar[type[AssertionError]]
    _changed: Condition
    _ended: bool

    @property
    @abstractmethod
    def screen(self) -> Screen:
        """The screen as it is now."""

    def wait_for(
        self, what: str, condition: Callable[[], Value | None], timeout: float = 20
    ) -> Value:
        """Wait until `condition` holds; otherwise fail with the screen as it stands."""
        deadline = time.monotonic() + timeout
        while not (value := condition()):
            with self._changed:
                # Woken by every repaint; what changes without one is looked at ten times a second.
                self._changed.wait(0.1)
            if time.monotonic() > deadline or self._ended:
                raise self.error(f"never saw {what}; the screen:\n{self.screen.text}")
        return value
