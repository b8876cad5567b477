"""Ghost text on a terminal: the cursor's line with the suggestion in it, drawn anew as it grows."""

import os
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Self, TextIO

from lsp_completions.visible import visible

DIM, NORMAL = "\x1b[2m", "\x1b[22m"
TAB = 8  # columns, as terminals have it


class Screen:
    """The part of a terminal that shows one suggestion."""

    def __init__(
        self, stream: TextIO, size: Callable[[], os.terminal_size] = shutil.get_terminal_size
    ) -> None:
        self._stream = stream
        self._size = size
        self._height = 0  # rows drawn so far

    def draw(self, before: str, ghost: str, after: str, *, whole: bool = True) -> None:
        """Show the line `before` and `after` the cursor with `ghost` between them.

        `whole` draws all of it, else only as much of its end as can be drawn over later.
        """
        columns, lines = self._size()
        rows = laid_out(line_with(before, ghost, after, columns), columns)
        if not whole:
            rows = rows[-max(lines - 1, 1) :]
        self._stream.write(self._erased() + "".join(rows) + ("\n" if whole else ""))
        self._stream.flush()
        self._height = 0 if whole else len(rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        """Take back what is unfinished."""
        if self._height:
            self._stream.write(self._erased())
            self._stream.flush()
            self._height = 0

    def _erased(self) -> str:
        # Row by row: tmux keeps a copy of a screen that is erased as a whole.
        return "\r\x1b[K" + "\x1b[A\x1b[K" * (self._height - 1) if self._height else ""


Piece = tuple[str, str]
"""A text, and how it begins to look as it should."""


def line_with(before: str, ghost: str, after: str, columns: int) -> list[Piece]:
    """The pieces of the picture; of a long line only what is near the cursor."""
    near = max(columns // 2, 10)
    if len(before) > columns:
        before = "…" + before[-near:]
    if len(after) > columns:
        after = after[:near] + "…"
    return [(before, NORMAL), (ghost, DIM), (after, NORMAL)]


def laid_out(pieces: Iterable[Piece], columns: int) -> list[str]:
    """The rows a terminal shows; where a line of the text ends, its row has a line end."""
    rows: list[str] = []
    row, column = "", 0
    for text, look in pieces:
        row += look
        for character in text:
            if character == "\n":
                rows.append(f"{row}{NORMAL}\n")
                row, column = look, 0
                continue
            for shown in " " * (TAB - column % TAB) if character == "\t" else visible(character):
                width = width_of(shown)
                if column + width > columns:
                    # Where two columns are wanted and one is left, terminals differ.
                    rows.append(row + " " * (columns - column) + NORMAL)
                    row, column = look, 0
                row += shown
                column += width
    return [*rows, row + NORMAL]


def width_of(character: str) -> int:
    """How many columns a character takes."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def can_draw(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether the stream is a terminal that may be drawn on."""
    return (
        stream.isatty()
        and not environment.get("NO_COLOR")
        and environment.get("TERM") != "dumb"
        and _understands_escapes()
    )


def _understands_escapes() -> bool:
    if sys.platform != "win32":
        return True
    # Consoles of Windows 10 and later do, once they are told.
    import ctypes

    kernel32 = ctypes.windll.kernel32
    output = kernel32.GetStdHandle(-11)
    mode = ctypes.c_ulong()
    if not kernel32.GetConsoleMode(output, ctypes.byref(mode)):
        return False
    return bool(kernel32.SetConsoleMode(output, mode.value | 0x0004))
