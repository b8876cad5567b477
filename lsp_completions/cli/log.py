"""`lsp-completions log`: what the servers wrote down."""

import os
import sys
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import click

from lsp_completions.cli.exits import Exit
from lsp_completions.cli.saying import say
from lsp_completions.cli.words import short
from lsp_completions.errors import ConfigurationError
from lsp_completions.log_file import log_folder, logs, process_of
from lsp_completions.stdio import exists
from lsp_completions.visible import visible

POLL = 0.3  # seconds between two looks


def log(*, lines: int, follow: bool) -> Exit:
    """Show the end of the newest log, or follow those of all running servers."""
    found = _logs()
    if not found and not follow:
        say(
            "There is no log yet: a server writes one from its start on, once an editor starts it, "
            "unless the setting logFile is false."
        )
        return Exit.NOTHING
    if not follow:
        newest = found[0]
        # On standard error: the log itself may go into a pipe.
        runs = "which runs" if exists(process_of(newest)) else "which has ended"
        say(f"{short(str(newest))}, of process {process_of(newest)}, {runs}:")
        for line in end_of(newest, lines):
            click.echo(visible(line), nl=False)
        return Exit.GOOD
    following = Following(lines)
    say("Following the logs of all servers; Ctrl-C ends it.")
    while True:
        for line in _news(following):
            click.echo(visible(line), nl=False)
        sys.stdout.flush()
        time.sleep(POLL)


def _logs() -> list[Path]:
    try:
        return logs()
    except OSError as error:
        raise _unreadable(error) from None


def _news(following: "Following") -> list[str]:
    try:
        return following.news()
    except OSError as error:
        raise _unreadable(error) from None


def _unreadable(error: OSError) -> ConfigurationError:
    return ConfigurationError(f"{log_folder()} cannot be read: {error.strerror or error}.")


def end_of(file: Path, lines: int) -> list[str]:
    """The last lines of a log, its older file included."""
    found: deque[str] = deque(maxlen=lines)
    for each in (file.with_name(f"{file.name}.1"), file):
        try:
            with each.open(encoding="utf-8", errors="replace") as opened:
                found.extend(opened)
        except OSError:
            continue
    return list(found)


@dataclass(slots=True)
class Read:
    """How far a log was read."""

    inode: int
    offset: int


class Following:
    """Reads what is added to the logs; of those that are there at the start the last `lines`."""

    def __init__(self, lines: int, folder: Path | None = None) -> None:
        self._lines = lines
        self._folder = folder
        self._read: dict[Path, Read] = {}
        self._begun = False
        self._last: Path | None = None

    def news(self) -> list[str]:
        """What came since; where another server speaks than before, its name goes before it."""
        found: list[str] = []
        for file in reversed(logs(self._folder)):
            is_over = not self._begun and not exists(process_of(file))
            added = self._added(file)
            if is_over:
                continue  # nothing is added to it
            if added and file != self._last:
                found.append(f"--- process {process_of(file)}\n")
                self._last = file
            found += added
        self._begun = True
        return found

    def _added(self, file: Path) -> list[str]:
        try:
            with file.open("rb") as opened:
                inode = os.fstat(opened.fileno()).st_ino
                read = self._read.get(file)
                if read is None:
                    lines = opened.readlines()
                    added = lines if self._begun else lines[max(len(lines) - self._lines, 0) :]
                else:
                    size = os.fstat(opened.fileno()).st_size
                    # Another file of the same name: the one before was full.
                    opened.seek(
                        read.offset if (inode, True) == (read.inode, size >= read.offset) else 0
                    )
                    added = opened.readlines()
                self._read[file] = Read(inode, opened.tell())
        except OSError:
            return []
        return [line.decode("utf-8", "replace") for line in added]
