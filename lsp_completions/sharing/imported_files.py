"""Files that an open document imports: found in the workspace folders, and read, within bounds.

All of this waits for the disk, and so belongs in a thread. Whether a file may be shown at all is
the gate's to say, before it is read.
"""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lsp_completions.pipeline.imports import Import
from lsp_completions.pipeline.uris import (
    display_path,
    document_key,
    every_path,
    is_a_disk,
    local_path,
    scheme_of,
    uri_of_path,
)

MOST_FOUND = 32  # files for one document
MOST_IN_A_FOLDER = 20  # files of a package that is a folder
MOST_NAMES = 5000  # in one folder; where more are, nobody wrote them
LARGEST = 200_000  # bytes

Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file there is. `uri` is as an editor would call it, `real` the path behind its links."""

    uri: str
    real: str
    stamp: Stamp
    """What changes when the file does."""


class ImportedFiles:
    """Finds and reads files, and remembers as what it has read them."""

    def __init__(self) -> None:
        self._read: dict[str, Stamp] = {}

    def find(self, uri: str, imports: Sequence[Import], roots: Sequence[str]) -> list[Found]:
        """The files that a document imports from the workspace folder it is in; nearest first."""
        if scheme_of(uri) != "file":
            return []
        root = _innermost(uri, roots)
        if root is None:
            return []
        top = local_path(root)
        try:
            real_top = os.path.realpath(top)
        except (OSError, ValueError):
            return []
        ending = Path(local_path(uri)).suffix
        folders: dict[str, frozenset[str]] = {}
        found: dict[str, Found] = {}
        for each in imports:
            for path in each.paths:
                if len(found) >= MOST_FOUND:
                    return list(found.values())
                if path.startswith("/") or ".." in path.split("/"):
                    continue
                there = [
                    one
                    for name in _files_at(top, path, ending, folders)
                    if (one := _found(f"{top}/{name}", real_top)) is not None
                ]
                found.update((one.uri, one) for one in there)
                if there:
                    break
        return list(found.values())

    def is_as_read(self, found: Found) -> bool:
        """Whether a file is as it was when it was read."""
        return self._read.get(document_key(found.uri)) == found.stamp

    def read(self, found: Found) -> str | None:
        """The text of a file; `None` where it has none that can be shown, or has changed since."""
        try:
            # Whatever is there by now: not what a link leads to, and no pipe that never ends.
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            with os.fdopen(os.open(found.real, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
                info = os.fstat(file.fileno())
                # Another file by now, be it that a folder above became a link: who knows whose.
                if not stat.S_ISREG(info.st_mode) or _stamp_of(info) != found.stamp:
                    return None
                data = file.read(LARGEST + 1)
            if len(data) > LARGEST or b"\0" in data:
                return None
            text = data.decode("utf-8")
        except (OSError, ValueError):
            return None
        self._read[document_key(found.uri)] = found.stamp
        return text

    def forget(self, uri: str) -> None:
        """A file is not remembered any more."""
        self._read.pop(document_key(uri), None)


def _innermost(uri: str, roots: Sequence[str]) -> str | None:
    """The workspace folder that a document's path is shown from; `None` where it is in none."""
    inside = [root for root in roots if not is_a_disk(root) and len(every_path(uri, [root])) > 1]
    return min(inside, key=lambda root: len(display_path(uri, [root])), default=None)


def _files_at(top: str, path: str, ending: str, folders: dict[str, frozenset[str]]) -> list[str]:
    """The names of the files at a path below the workspace folder; those in it, for a folder."""
    folder, _, name = path.rstrip("/").rpartition("/") if not path.endswith("/") else (path, "", "")
    folder = folder.rstrip("/")
    if folder not in folders:
        folders[folder] = _names_in(f"{top}/{folder}" if folder else top)
    names = folders[folder]
    if name:
        return [path] if name in names else []
    there = sorted(each for each in names if each.endswith(ending))
    return [f"{folder}/{each}" if folder else each for each in there[:MOST_IN_A_FOLDER]]


def _names_in(folder: str) -> frozenset[str]:
    names = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.add(entry.name)
                if len(names) > MOST_NAMES:
                    return frozenset()
    except (OSError, ValueError):
        return frozenset()
    return frozenset(names)


def _found(path: str, real_top: str) -> Found | None:
    """A file, unless its links lead out of the workspace folder."""
    try:
        real = os.path.realpath(path)
        if os.path.commonpath([real, real_top]) != real_top:
            return None
        info = Path(real).stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(info.st_mode) or info.st_size > LARGEST:
        return None
    return Found(
        uri=uri_of_path(os.path.normpath(path)),
        real=real,
        stamp=_stamp_of(info),
    )


def _stamp_of(info: os.stat_result) -> Stamp:
    return info.st_mtime_ns, info.st_size, info.st_ino
