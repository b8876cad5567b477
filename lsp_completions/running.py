"""Which servers of this user run, and how they are: each keeps a small file about itself.

It is in the folder that lasts until the machine goes down, for its user alone, and holds neither
code nor a token.
"""

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lsp_completions import __version__
from lsp_completions.private import is_ours, make_private, write_private
from lsp_completions.stdio import exists

EVERY = 1.0  # seconds between two writes at the least
TOLD = 30  # outcomes in the file


def servers_folder(folder: Path | None = None) -> Path:
    """Where the files are. `folder` is the runtime folder of this program."""
    if folder is None:
        # Not at the top: it is much to import, and editors wait for their server to start.
        from lsp_completions.local_model.client import runtime_folder

        folder = runtime_folder()
    return folder / "servers"


def _sound(told: Mapping[str, Any], shape: Mapping[str, Any]) -> dict[str, Any]:
    """What is as a server would tell it: the file may be broken, or of another version."""
    sound: dict[str, Any] = {}
    for name, value in told.items():
        wanted = shape.get(name, object)
        if isinstance(wanted, dict):
            if isinstance(value, dict):
                sound[name] = _sound(value, wanted)
        elif isinstance(wanted, list):
            (of_each,) = wanted
            if isinstance(value, list) and isinstance(of_each, dict):
                sound[name] = [_sound(each, of_each) for each in value if isinstance(each, dict)]
            elif isinstance(value, list):
                sound[name] = [each for each in value if isinstance(each, of_each)]
        elif isinstance(value, wanted):
            sound[name] = value
    return sound


_NUMBER, _TEXT = float | int | None, str | None
_TIMES = ("gate", "prompt", "sent", "firstEvent", "firstText", "answered")
_NUMBERS = ("number", "at", "line", "candidates", "lines", "characters", "excerpts", "taken")
_TEXTS = ("method", "path", "language", "provider", "model", "how", "reason", "message", "fate")
_SERVER: Mapping[str, Any] = {
    **dict.fromkeys(("version", "editor", "editorVersion", "log"), _TEXT),
    **dict.fromkeys(("started", "since"), _NUMBER),
    "workspace": [str],
    "status": dict.fromkeys(("state", "reason", "message", "provider", "model", "uri"), _TEXT),
    "outcomes": [
        {
            **dict.fromkeys(_NUMBERS, _NUMBER),
            **dict.fromkeys(_TEXTS, _TEXT),
            "times": dict.fromkeys(_TIMES, _NUMBER),
        }
    ],
}


def make_servers_folder(folder: Path | None = None) -> Path:
    """The same, for nobody else to read or write. Raises `OSError`, also where it is not ours."""
    where = servers_folder(folder)
    for each in (where.parent, where):
        make_private(each)
    return where


def running(folder: Path | None = None) -> list[dict[str, Any]]:
    """What the running servers tell of themselves, newest first; what others left is removed."""
    found: list[dict[str, Any]] = []
    where = servers_folder(folder)
    if not (is_ours(where.parent) and is_ours(where)):
        return found
    for file in where.glob("*.*"):
        # What is being written has its writer's number in the middle: PID.code.PID.new.
        numbers = [each for each in file.name.split(".") if each.isascii() and each.isdecimal()]
        pid = int(numbers[0]) if numbers else 0
        if not exists(pid):
            # Whatever it kept there besides goes as well.
            with suppress(OSError):
                file.unlink()
        elif file.suffix == ".json":
            try:
                told = json.loads(file.read_text(encoding="utf-8"))
            except (OSError, ValueError, RecursionError):
                continue
            if isinstance(told, dict):
                found.append({**_sound(told, _SERVER), "pid": pid})
    return sorted(found, key=lambda each: str(each.get("started")), reverse=True)


class Presence:
    """The file of this process. `describe` is called in the loop, what it returns in a thread."""

    def __init__(
        self,
        describe: Callable[[], Callable[[], Mapping[str, object]]],
        folder: Path | None = None,
    ) -> None:
        self._describe = describe
        self._folder = folder
        self._started = time.time()
        self._file: Path | None = None
        self._due: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._last = float("-inf")
        self._closed = False

    def changed(self) -> None:
        """There is something else to tell: soon it is written."""
        if self._due is not None or self._closed:
            return
        loop = asyncio.get_running_loop()
        self._due = loop.call_at(max(self._last + EVERY, loop.time()), self._begin)

    def _begin(self) -> None:
        self._due = None
        loop = asyncio.get_running_loop()
        self._last = loop.time()
        if self._writing is not None and not self._writing.done():
            self.changed()  # a slow disk
            return
        told = self._describe()
        self._writing = loop.create_task(asyncio.to_thread(self._write, told), name="presence")

    def _write(self, told: Callable[[], Mapping[str, object]]) -> None:
        text = json.dumps(
            {"version": __version__, "pid": os.getpid(), "started": self._started, **told()},
            ensure_ascii=False,
        )
        try:
            if self._file is None:
                self._file = make_servers_folder(self._folder) / f"{os.getpid()}.json"
            write_private(self._file, text)
        except OSError:
            # Nobody is told then, which harms nobody. On Windows somebody may be reading it.
            pass

    async def aclose(self) -> None:
        """Leave nothing behind."""
        self._closed = True
        if self._due is not None:
            self._due.cancel()
        if self._writing is not None:
            await asyncio.wait([self._writing])
        if self._file is not None:
            await asyncio.to_thread(_remove, self._file)


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink(missing_ok=True)
