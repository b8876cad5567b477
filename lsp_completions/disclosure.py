"""Code, shown to the user of this machine while they ask for it, and kept nowhere else.

`lsp-completions inspect --with-code` leaves a wish in the folder where servers tell of themselves,
and holds a lock on it. The system lets go of that however the process ends, so a wish that nobody
holds is one of a dead process. As long as one is held, each server keeps the code of its last
requests in a file beside it, which only the user can read.
"""

import asyncio
import json
import logging
import os
import secrets
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsp_completions.pipeline.outcome import Outcome
from lsp_completions.private import is_ours, write_private
from lsp_completions.running import make_servers_folder, servers_folder
from lsp_completions.trail import Trail

if TYPE_CHECKING:
    from filelock import FileLock

logger = logging.getLogger(__name__)

WISH = ".wish"
KEPT = 40  # requests, of some 10 kB each
EVERY = 0.5  # seconds between two writes, and between two looks at whether somebody asks still
LOCK_WAIT = 5.0  # seconds; a server that looks at a new wish holds it for a moment


class Wish:
    """The side that looks."""

    def __init__(self, folder: Path | None = None) -> None:
        self._given = folder
        self._folder = servers_folder(folder)
        # The process comes first: `running` removes what a dead one left.
        self._file = self._folder / f"{os.getpid()}.{secrets.token_hex(4)}{WISH}"
        self._lock: FileLock | None = None

    def begin(self) -> None:
        """Ask for code from now on. Raises `OSError`."""
        from filelock import FileLock

        make_servers_folder(self._given)
        self._lock = FileLock(self._file, mode=0o600)
        self._lock.acquire(timeout=LOCK_WAIT)

    def end(self) -> None:
        """Ask for no more, and leave none behind that nobody else asks for."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None
            with suppress(OSError):
                self._file.unlink(missing_ok=True)
            _remove_what_nobody_asks_for(self._folder)

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
        self._is_new = False
        """There is more to write than is written."""
        self._due: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._closed = False

    async def begin(self) -> None:
        """Find out where wishes are left; before that there is none."""
        self._folder = await asyncio.to_thread(_tidied, self._given)

    @property
    def is_wanted(self) -> bool:
        """Whether somebody asks for code, or was killed while asking: a look into a folder."""
        return self._folder is not None and not self._closed and bool(_wishes(self._folder))

    def note(self, number: int, trail: Trail, outcome: Outcome) -> None:
        """An outcome is there; `number` is that of its entry in the journal."""
        if not self.is_wanted:
            return
        # Much to import, for what hardly anybody asks for.
        from lsp_completions.stages import stages

        try:
            self._kept.append((number, stages(trail, outcome)))
        except Exception as error:  # noqa: BLE001 - who only looks on breaks no completion
            logger.error("the code of a request cannot be shown: %s", type(error).__name__)
        self._is_new = True
        self._write_soon()

    def _write_soon(self) -> None:
        if self._due is None and not self._closed:
            self._due = asyncio.get_running_loop().call_later(EVERY, self._begin_writing)

    def _begin_writing(self) -> None:
        self._due = None
        if self._writing is not None and not self._writing.done():
            self._write_soon()  # a slow disk
            return
        self._writing = asyncio.create_task(self._write(), name="disclosure")

    async def _write(self) -> None:
        kept = dict(self._kept) if self._is_new else None
        self._is_new = False
        try:
            is_asked = await asyncio.to_thread(self._written, kept)
        except OSError:
            # A full disk; or, on Windows, somebody is reading it.
            is_asked = self._is_new = True
        if not is_asked and not self._is_new:
            self._kept.clear()
        if self._kept:
            self._write_soon()

    def _written(self, kept: Mapping[int, Mapping[str, Any]] | None) -> bool:
        """Write what is new; whether anybody asks for it. Where nobody does, nothing stays."""
        if self._folder is None:
            return False
        if kept is not None and anybody_asks(self._folder):
            write_private(self._file(self._folder), json.dumps(kept, ensure_ascii=False))
        # Who asked may be gone by now, after a look for what to remove.
        if anybody_asks(self._folder):
            return True
        self._remove()
        return False

    def _remove(self) -> None:
        if self._folder is not None:
            with suppress(OSError):
                self._file(self._folder).unlink(missing_ok=True)

    def _file(self, folder: Path) -> Path:
        return folder / f"{os.getpid()}.code"

    async def aclose(self) -> None:
        """Leave nothing behind."""
        self._closed = True
        if self._due is not None:
            self._due.cancel()
        if self._writing is not None:
            await asyncio.wait([self._writing])
            await asyncio.to_thread(self._remove)


def anybody_asks(folder: Path) -> bool:
    """Whether a process that lives asks for code; a wish of a dead one is removed. Blocks."""
    return is_ours(folder) and any(_is_held(folder / name) for name in _wishes(folder))


def _wishes(folder: Path) -> list[str]:
    # Not Path.iterdir: it makes a path of each name, and this is on the way of a completion.
    try:
        return [name for name in os.listdir(folder) if name.endswith(WISH)]  # noqa: PTH208
    except OSError:
        return []


def _is_held(wish: Path) -> bool:
    from filelock import FileLock, Timeout

    lock = FileLock(wish, mode=0o600)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return True
    except OSError:
        return False
    with suppress(OSError):
        wish.unlink(missing_ok=True)
    lock.release()
    return False


def _tidied(given: Path | None) -> Path | None:
    """The folder, without what processes left there that were killed; `None` for none of ours."""
    try:
        folder = make_servers_folder(given)
    except OSError:
        return None
    _remove_what_nobody_asks_for(folder)
    return folder


def _remove_what_nobody_asks_for(folder: Path) -> None:
    if anybody_asks(folder):
        return
    for pattern in ("*.code", "*.code.*.new"):
        for file in folder.glob(pattern):
            with suppress(OSError):
                file.unlink()
