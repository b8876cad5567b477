"""Code, shown to the user of this machine while they ask for it, and kept nowhere else.

`lsp-completions inspect --with-code` leaves a wish in the folder where servers tell of themselves.
As long as it is there, and the process that left it, each server keeps the code of its last
requests in a file beside it, which only the user can read.
"""

import asyncio
import json
import logging
import os
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lsp_completions.pipeline.outcome import Outcome
from lsp_completions.running import servers_folder
from lsp_completions.stdio import exists
from lsp_completions.trail import Trail

logger = logging.getLogger(__name__)

WISH = "wants-code"
KEPT = 40  # requests, of some 10 kB each
EVERY = 0.5  # seconds between two writes at the least


class Wish:
    """The side that looks."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = servers_folder(folder)
        self._file = self._folder / WISH

    def begin(self) -> None:
        """Ask for code from now on."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(self._file, str(os.getpid()))

    def end(self) -> None:
        """Ask for no more, and leave none behind."""
        if _wished_by(self._file) == os.getpid():
            with suppress(OSError):
                self._file.unlink()
            _remove_all(self._folder)

    def code_of(self, pid: int, number: int) -> Mapping[str, Any] | None:
        """The code of a request; `None` where the server has none."""
        try:
            kept = json.loads((self._folder / f"{pid}.code").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        found = kept.get(str(number)) if isinstance(kept, dict) else None
        return found if isinstance(found, dict) else None


class Disclosure:
    """The side that shows. Without a wish it looks for one at each request, and does no more."""

    def __init__(self, folder: Path | None = None) -> None:
        self._given = folder
        self._folder: Path | None = None
        self._kept: deque[tuple[int, dict[str, Any]]] = deque(maxlen=KEPT)
        self._due: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._closed = False

    async def begin(self) -> None:
        """Find out where wishes are left; before that there is none."""
        self._folder = await asyncio.to_thread(servers_folder, self._given)

    @property
    def is_wanted(self) -> bool:
        """Whether somebody asks for code: a `stat`."""
        # Not Path.exists: before Python 3.14 it raises in a folder of somebody else's.
        folder = self._folder
        return folder is not None and os.path.exists(folder / WISH) and not self._closed  # noqa: PTH110

    def note(self, number: int, trail: Trail, outcome: Outcome) -> None:
        """An outcome is there; `number` is that of its entry in the journal."""
        if not self.is_wanted:
            if self._kept:
                self._kept.clear()
                self._write_soon()
            return
        # Much to import, for what hardly anybody asks for.
        from lsp_completions.stages import stages

        try:
            self._kept.append((number, stages(trail, outcome)))
        except Exception as error:  # noqa: BLE001 - who only looks on breaks no completion
            logger.error("the code of a request cannot be shown: %s", type(error).__name__)
        self._write_soon()

    def _write_soon(self) -> None:
        if self._due is None and not self._closed:
            self._due = asyncio.get_running_loop().call_later(EVERY, self._begin_writing)

    def _begin_writing(self) -> None:
        self._due = None
        if self._writing is not None and not self._writing.done():
            self._write_soon()  # a slow disk
            return
        work = asyncio.to_thread(self._written, dict(self._kept))
        self._writing = asyncio.create_task(work, name="disclosure")

    def _written(self, kept: Mapping[int, Mapping[str, Any]]) -> None:
        if self._folder is None:
            return
        file = self._folder / f"{os.getpid()}.code"
        with suppress(OSError):
            wish = self._folder / WISH
            by = _wished_by(wish)
            if by and exists(by) and kept:
                _write(file, json.dumps(kept))
                return
            # Who asked was killed, perhaps.
            if by and not exists(by):
                wish.unlink(missing_ok=True)
            file.unlink(missing_ok=True)

    async def aclose(self) -> None:
        """Leave nothing behind."""
        self._closed = True
        if self._due is not None:
            self._due.cancel()
        if self._writing is not None:
            await asyncio.wait([self._writing])
            await asyncio.to_thread(self._written, {})


def _wished_by(file: Path) -> int:
    """The process that asks for code; 0 for none."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return 0
    return int(text) if text.isascii() and text.isdecimal() else 0


def _write(file: Path, text: str) -> None:
    """Write a file, whole or not at all, for nobody else to read."""
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    with suppress(FileNotFoundError):
        new.unlink()
    number = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(number, "w", encoding="utf-8", errors="replace") as opened:
        opened.write(text)
    new.replace(file)


def _remove_all(folder: Path) -> None:
    for pattern in ("*.code", "*.code.*.new"):
        for file in folder.glob(pattern):
            with suppress(OSError):
                file.unlink()
