"""Which Helix the tests drive."""

import functools
import os
import re
import shutil
import subprocess

ASKS_AGAIN = (25, 7)
"""The first version that asks again for a list that is not complete."""


@functools.cache
def executable() -> str | None:
    """The Helix that the environment names, or the one on PATH. A hex editor has that name too."""
    found = os.environ.get("LSP_COMPLETIONS_HELIX") or shutil.which("hx")
    if not found:
        return None
    tried = subprocess.run(
        [found, "--version"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    version = re.match(rb"helix (\d+)\.(\d+)", tried.stdout)
    return found if version and (int(version[1]), int(version[2])) >= ASKS_AGAIN else None
