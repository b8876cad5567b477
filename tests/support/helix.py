"""Which Helix the tests drive."""

import functools
import os
import shutil
import subprocess


@functools.cache
def executable() -> str | None:
    """The Helix that the environment names, or the one on PATH. A hex editor has that name too."""
    found = os.environ.get("LSP_COMPLETIONS_HELIX") or shutil.which("hx")
    if not found:
        return None
    tried = subprocess.run(
        [found, "--version"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return found if tried.returncode == 0 and tried.stdout.startswith(b"helix ") else None
