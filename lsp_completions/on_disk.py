"""What is on the disk, as far as it can be seen.

`Path.exists` and its like raise errors in a folder of somebody else's before Python 3.14.
"""

import fnmatch
import os
from pathlib import Path


def is_there(path: Path | str) -> bool:
    """Whether there is anything; a link to nothing is nothing."""
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: Path | str) -> bool:
    """Whether it is a file, or a link to one."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path | str) -> bool:
    """Whether it is a folder, or a link to one."""
    return os.path.isdir(path)  # noqa: PTH112


def found_in(folder: Path, pattern: str) -> list[Path]:
    """What a folder holds of these names, sorted; nothing where there is none.

    Raises `OSError` where it cannot be looked into.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208 - their names are all that is wanted of most
    except FileNotFoundError:
        return []
    return sorted(folder / name for name in names if fnmatch.fnmatch(name, pattern))
