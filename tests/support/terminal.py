"""A program in a terminal: its keyboard, its screen, its end.

The terminal is a pair of pseudo terminals, so this is for Unix only; what the program draws becomes
a grid of cells, the same as Neovim's.
"""

import io
import os
import select
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Condition, Thread
from typing import Any

import pyte

from tests.support.screen import Cell, Screen, Style, Watched

FOREGROUND, BACKGROUND = 0xDDDDDD, 0x16181D
COLOURS = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")
VALUES = (0x000000, 0xCD3131, 0x0DBC79, 0xE5E510, 0x2472C8, 0xBC3FBC, 0x11A8CD, 0xE5E5E5)
NAMED = {
    **dict(zip(COLOURS, VALUES, strict=True)),
    **{f"bright{name}": value for name, value in zip(COLOURS, VALUES, strict=True)},
}


class TerminalError(AssertionError):
    """The program ended, or never came to show what was waited for."""


class _Answering(pyte.Screen):
    """A screen that answers what a program asks its terminal, such as what it can do."""

    def __init__(self, columns: int, lines: int, answer: Callable[[bytes], object]) -> None:
        super().__init__(columns, lines)
        self._answer = answer

    def write_process_input(self, data: str) -> None:
        self._answer(data.encode())

    def restore_cursor(self, **kwargs: Any) -> None:
        """`CSI ? u` asks what the keyboard can do; nobody answers: nothing special."""
        if not kwargs.get("private"):
            super().restore_cursor()

    def report_device_status(self, mode: int, **kwargs: Any) -> None:
        """`CSI ? n` asks about colour schemes and the like; that is not answered either."""
        if not kwargs.get("private"):
            super().report_device_status(mode)


class Tty(io.StringIO):
    """A stream that says it is a terminal, and does not know its size, as some do."""

    def isatty(self) -> bool:
        return True


class Terminal(Watched):
    """A running program, and what it shows."""

    error = TerminalError

    def __init__(
        self, process: "subprocess.Popen[bytes]", master: int, size: tuple[int, int], pace: float
    ) -> None:
        self.process = process
        self.pace = pace
        self._master = master
        self._screen = _Answering(*size, self._write)
        self._stream = pyte.ByteStream(self._screen)
        self._changed = Condition()
        self._ended = False
        self.bottom: list[str] = []
        """What has stood in the last line of the screen, one after another."""

    @property
    def screen(self) -> Screen:
        """The screen as it is now; the terminal cannot tell whether the picture is complete."""
        with self._changed:
            rows = range(self._screen.lines)
            columns = range(self._screen.columns)
            cells = [[self._screen.buffer[y][x] for x in columns] for y in rows]
            cursor = (self._screen.cursor.y, self._screen.cursor.x)
        return Screen(
            rows=tuple(tuple(Cell(cell.data, _style(cell)) for cell in row) for row in cells),
            cursor=cursor,
            cursor_is_bar=False,
            foreground=FOREGROUND,
            background=BACKGROUND,
        )

    def type(self, keys: str, *, pace: float | None = None) -> None:
        """Press keys one by one, as a person does; `\\r` is Enter and `\\x1b` Escape."""
        for key in keys:
            self._write(key.encode())
            time.sleep(self.pace if pace is None else pace)

    def wait_for_text(self, text: str) -> None:
        """Wait until `text` stands somewhere on the screen."""
        self.wait_for(repr(text), lambda: text in self.screen.text)

    def kill(self) -> None:
        """End it without a chance to say goodbye to anybody, as the kernel does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _write(self, data: bytes) -> None:
        os.write(self._master, data)

    def _note_bottom(self) -> None:
        line = self._screen.display[-1].strip()
        if not self.bottom or line != self.bottom[-1]:
            self.bottom.append(line)

    def read(self) -> None:
        """Draw what comes, until the program has ended."""
        while True:
            # Looked at now and then: something the program started may hold the terminal open.
            ready, _, _ = select.select([self._master], [], [], 0.2)
            try:
                data = os.read(self._master, 1 << 16) if ready else b""
            except OSError:  # how Linux says that nobody is at the other end
                break
            if not data and self.process.poll() is not None:
                break
            with self._changed:
                self._stream.feed(data)
                self._note_bottom()
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


@contextmanager
def running_in_terminal(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    size: tuple[int, int] = (80, 24),
    pace: float = 0.03,
) -> Iterator[Terminal]:
    """`command` in a terminal of `size` columns and lines, with that environment and no other.

    On leaving it is gone whatever state it was in; what it started has to notice by itself. Where
    it outlives who runs the tests, its terminal is hung up.
    """
    master, slave = _opened(size)
    process = subprocess.Popen(
        # Whoever leads a session and opens a terminal has it for its own.
        ["/bin/sh", "-c", 'exec "$@" 0<>"$0"', os.ttyname(slave), *command],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=folder,
        env={**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
        start_new_session=True,
    )
    os.close(slave)
    terminal = Terminal(process, master, size, pace)
    reader = Thread(target=terminal.read, name="terminal", daemon=True)
    reader.start()
    try:
        yield terminal
    finally:
        if process.poll() is None:
            terminal.kill()
        reader.join(10)
        os.close(master)


def written_in_terminal(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    size: tuple[int, int] = (80, 24),
) -> tuple[int, bytes]:
    """The exit code of a command that asks nothing, and what it writes to its terminal."""
    master, slave = _opened(size)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
        cwd=folder,
        env={**environment, "TERM": "xterm"},
    )
    os.close(slave)
    written = b""
    with open(master, "rb", buffering=0) as shown, suppress(OSError):  # noqa: PTH123 - a number
        while part := shown.read(1 << 16):
            written += part
    return process.wait(60), written


def _opened(size: tuple[int, int]) -> tuple[int, int]:
    """Both ends of a terminal."""
    import fcntl
    import pty
    import termios

    master, slave = pty.openpty()
    columns, lines = size
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    return master, slave


def _style(cell: pyte.screens.Char) -> Style:
    return Style(
        foreground=_colour(cell.fg),
        background=_colour(cell.bg),
        bold=cell.bold,
        italic=cell.italics,
        underline=cell.underscore,
        reverse=cell.reverse,
    )


def _colour(name: str) -> int | None:
    if name == "default":
        return None
    return NAMED[name] if name in NAMED else int(name, 16)
