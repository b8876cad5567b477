"""Lines as wide as a terminal; and paths, moments and sizes, as short as a person understands."""

import os
import re
import sys
import textwrap
import time
from typing import TextIO

from lsp_completions.cli.screen import width_of
from lsp_completions.providers.retry_after import in_words
from lsp_completions.visible import visible

NARROWEST, WIDEST = 20, 100  # columns; longer lines are hard to read
USUAL = 80  # columns; some terminals do not know their size


def columns(stream: TextIO) -> int | None:
    """How wide a line may be on a terminal, `None` where it goes into a pipe or a file."""
    if not stream.isatty():
        return None
    try:
        width = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        width = 0
    return min(max(width or USUAL, NARROWEST), WIDEST) - 1


def short(path: str) -> str:
    """A path, with `~` for the home folder."""
    home = (os.environ.get("HOME") or os.environ.get("USERPROFILE") or "").rstrip("/\\")
    if home and re.match(rf"{re.escape(home)}(?=[/\\]|$)", path):
        path = f"~{path[len(home) :]}"
    return visible(path)


def clipped(text: str, width: int) -> str:
    """The end of a text, where all of it takes more than `width` columns."""
    text = visible(text)
    if sum(map(width_of, text)) <= width:
        return text
    while sum(map(width_of, text)) > width - 1:
        text = text[1:]
    return f"…{text}"


def padded(text: str, width: int) -> str:
    """A text that takes `width` columns, blanks included."""
    text = clipped(text, width)
    return text + " " * (width - sum(map(width_of, text)))


def wrapped(
    text: str, *, first: str = "", indent: str | None = None, stream: TextIO | None = None
) -> str:
    """A sentence on as many lines as it needs on a terminal, with no word broken at the edge.

    It is for standard output, unless for another `stream`. The lines after the first one begin
    with `indent`, by default as many blanks as `first` is long.
    """
    text = visible(text)
    width = columns(sys.stdout if stream is None else stream)
    if width is None:
        return first + text
    return textwrap.fill(
        text,
        width,
        initial_indent=first,
        subsequent_indent=" " * len(first) if indent is None else indent,
        # What is too long for a line is a path or an address, to be copied as a whole.
        break_long_words=False,
        break_on_hyphens=False,
    )


def ago(at: object, now: float) -> str:
    """How long ago a moment was: `12 seconds ago`."""
    if not isinstance(at, int | float):
        return "some time ago"
    return f"{in_words(max(now - at, 1))} ago"


def clock(at: object) -> str:
    """The time of day of a moment."""
    return time.strftime("%H:%M:%S", time.localtime(at)) if isinstance(at, int | float) else ""


def size(count: float) -> str:
    """A number of bytes: `45 MB`."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000 or unit == "MB":
            return f"{count:.0f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")
