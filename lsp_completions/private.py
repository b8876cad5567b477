"""Folders and files for their user alone.

A folder of somebody else's, or one that leads elsewhere, is neither written to nor believed.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path


def make_private(folder: Path) -> None:
    """Make a folder that nobody else can read or write.

    Raises `OSError`, also where it is there and not ours.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_ours(folder):
        raise PermissionError(
            errno.EACCES, f"{folder} is not a folder of yours, and has to be removed"
        )
    if os.name == "posix" and stat.S_IMODE(folder.lstat().st_mode) != 0o700:
        folder.chmod(0o700)


def is_ours(folder: Path) -> bool:
    """Whether it is a folder, and this user's. Windows keeps others out of users' folders."""
    try:
        found = folder.lstat()
    except (OSError, ValueError):
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    return os.name != "posix" or found.st_uid == os.geteuid()


def write_private(file: Path, text: str) -> None:
    """Write a file, whole or not at all, for nobody else to read. Raises `OSError`.

    What cannot be encoded, half of a surrogate pair, becomes a question mark.
    """
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    with suppress(FileNotFoundError):
        new.unlink()
    number = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(number, "w", encoding="utf-8", errors="replace") as opened:
            opened.write(text)
        new.replace(file)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise
