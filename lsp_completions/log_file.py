"""The log: one file for each server, in the state folder, readable by its user alone.

It holds a line for each request and whatever went wrong, no code and no token, and is bounded:
a server fills two files of half a megabyte at most, and the files of ten servers are kept.
"""

import asyncio
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from lsp_completions.life_cycle import Lines, trace
from lsp_completions.on_disk import found_in
from lsp_completions.stdio import exists
from lsp_completions.visible import one_line

if TYPE_CHECKING:
    from logging.handlers import QueueListener, RotatingFileHandler

OURS = "lsp_completions"
"""The logger whose words are written down; libraries write down what they are given."""
SIZE = 512 * 1024  # bytes
SERVERS = 10  # whose files are kept
MOST_EARLY = 200  # records; more than come in the time that a file takes to open
FORM = "%(asctime)s.%(msecs)03d %(levelname)s %(message)s"
DATE = "%Y-%m-%d %H:%M:%S"


def log_folder(folder: Path | None = None) -> Path:
    """Where the logs are. `folder` is the state folder of this program."""
    if folder is None:
        import platformdirs

        folder = platformdirs.user_state_path("lsp-completions", appauthor=False)
    return folder / "log"


def logs(folder: Path | None = None) -> list[Path]:
    """The logs there are, the newest first; of each server its later file. Raises `OSError`."""
    return found_in(log_folder(folder), "*-*.log")[::-1]


def process_of(log: Path) -> int:
    """Whose log it is; 0 where its name does not tell."""
    number = log.stem.rpartition("-")[2]
    return int(number) if number.isascii() and number.isdecimal() else 0


class LogFile:
    """The log of this process. `stderr` is where the same went so far, at its own level."""

    def __init__(self, stderr: logging.Handler | None = None, folder: Path | None = None) -> None:
        self.file: Path | None = None
        """`None` as long as there is none."""
        self._stderr = stderr
        self._folder = folder
        self._level = logging.WARNING
        self._handler: logging.Handler | None = None
        self._early: Early | None = None
        self._listener: QueueListener | None = None

    def level(self, name: str) -> None:
        """What is said on standard error, such as `warning`; the file holds `info` anyway."""
        self._level = level = logging.getLevelNamesMapping()[name.upper()]
        if self._stderr is not None:
            self._stderr.setLevel(level)
        if self._handler is not None or self._early is not None:
            level = min(level, logging.INFO)
        logging.getLogger(OURS).setLevel(level)

    def hold(self, first: str) -> None:
        """Keep what is said from now on for the file that `begin` opens, with a `first` line."""
        if self._handler is None and self._early is None:
            logger = logging.getLogger(OURS)
            self._early = Early()
            logger.addHandler(self._early)
            self.level(logging.getLevelName(self._level))
            logger.info("%s", first)

    async def begin(self, first: str) -> None:
        """Write a file from now on, with a `first` line. Where none can be written there is none.

        A thread writes it: nobody waits for the disk.
        """
        if self._handler is not None:
            return
        self.hold(first)
        try:
            await asyncio.to_thread(self._open)
        finally:
            logger, early = logging.getLogger(OURS), self._early
            self._early = None
            if early is not None:
                logger.removeHandler(early)
            if self._handler is not None:
                for record in () if early is None else early.records:
                    self._handler.handle(record)
                logger.addHandler(self._handler)
            self.level(logging.getLevelName(self._level))

    def _open(self) -> None:
        # Slow to import.
        import queue
        from logging.handlers import QueueHandler, QueueListener

        folder = log_folder(self._folder)
        try:
            for each in (folder.parent, folder):  # the mode is that of the last one alone
                each.mkdir(parents=True, exist_ok=True, mode=0o700)
            _remove_old(folder)
            now = datetime.now().strftime("%Y%m%d-%H%M%S")
            self.file = folder / f"{now}-{os.getpid()}.log"
            handler = _rotating(self.file)
        except OSError:
            self.file = None
            return
        words: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
        self._listener = QueueListener(words, handler)
        self._listener.start()
        self._handler = QueueHandler(words)
        self._handler.setFormatter(Formatter(FORM, DATE))

    async def aclose(self) -> None:
        """Write what is still to be written, and no more."""
        handler, listener = self._handler, self._listener
        self._handler = self._listener = None
        if self._early is not None:
            logging.getLogger(OURS).removeHandler(self._early)
            self._early = None
        if handler is not None and listener is not None:
            logging.getLogger(OURS).removeHandler(handler)
            await asyncio.to_thread(listener.stop)
            for each in listener.handlers:
                each.close()


class Formatter(logging.Formatter):
    """One line for each record, whatever is in the names and sentences that it carries.

    Else a file's name could hold what looks like a record of ours. Only our own `Lines` are
    several, and of an exception no words are told, which may be code.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record as it is written down."""
        shown = copy(record)
        text, given = one_line(str(record.msg)), record.args
        if isinstance(given, Mapping):
            text %= {name: _told(each) for name, each in given.items()}
        elif given:
            text %= tuple(map(_told, given))
        shown.msg, shown.args, shown.exc_text, shown.stack_info = text, None, None, None
        return super().format(shown)

    def formatException(self, ei: object) -> str:  # noqa: N802 - logging's name
        """Where it came from."""
        error = ei[1] if isinstance(ei, tuple) else None
        return "" if error is None else str(_told(trace(error)))


def _told(argument: object) -> object:
    return argument if isinstance(argument, int | float | Lines) else one_line(str(argument))


class Early(logging.Handler):
    """Keeps the first records, until there is a file for them."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        if len(self.records) < MOST_EARLY:
            self.records.append(record)


def _rotating(file: Path) -> "RotatingFileHandler":
    from logging.handlers import RotatingFileHandler

    class Private(RotatingFileHandler):
        """Files for their user alone, and silence where the disk is full."""

        def _open(self):  # type: ignore[no-untyped-def]
            return open(self.baseFilename, self.mode, encoding=self.encoding, opener=_private)

        def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
            pass

    return Private(file, maxBytes=SIZE, backupCount=1, encoding="utf-8", errors="replace")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _remove_old(folder: Path) -> None:
    """Leave room for one more; what a running server writes stays."""
    for old in [each for each in logs(folder.parent) if not exists(process_of(each))][
        SERVERS - 1 :
    ]:
        for file in (old, old.with_name(f"{old.name}.1")):
            with suppress(OSError):
                file.unlink()
