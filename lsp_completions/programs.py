"""Other programs: where they are, and what of our environment they see."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from lsp_completions.on_disk import is_file


def which(program: str, environment: Mapping[str, str] | None = None) -> str | None:
    """Where a program is: by its path, or in the folders of PATH, and never where we happen to be.

    That may be an opened project, where Windows looks first, and Unix where PATH says so. A
    relative path is seen from the home folder.
    """
    environment = os.environ if environment is None else environment
    if os.path.dirname(program):  # noqa: PTH120 - "./a" and "a" differ, and are one to pathlib
        with suppress(RuntimeError):
            program = str(Path(program).expanduser())
        places = [str(Path.home() / program)]
    else:
        folders = [Path(folder) for folder in os.get_exec_path(dict(environment))]
        places = [str(folder / program) for folder in folders if folder.is_absolute()]
    endings = [""]
    if sys.platform == "win32":
        endings += environment.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").split(";")
    for place in places:
        for ending in endings:
            if is_file(place + ending) and os.access(place + ending, os.X_OK):
                return place + ending
    return None


def without_credentials(environment: Mapping[str, str]) -> dict[str, str]:
    """What a program may see that asks no instance: none of the variables for src-cli and us.

    Besides the token they hold headers, and a proxy with its password.
    """
    return {name: text for name, text in environment.items() if not _is_ours(name)}


def _is_ours(name: str) -> bool:
    return name.upper().startswith("SRC_")
