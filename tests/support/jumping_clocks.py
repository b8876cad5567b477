"""The server, with clocks that jump as a file says, as those of a machine that slept.

`python tests/support/jumping_clocks.py FILE`: the file holds the seconds by which the wall clock
and the monotonic one are ahead; there is none as long as neither is.
"""

import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path


class Clocks:
    """Those of the process that was given `file`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._wall = self._monotonic = 0.0

    def jump(self, *, wall: float = 0.0, monotonic: float = 0.0) -> None:
        """Put them forward by so many seconds."""
        self._wall += wall
        self._monotonic += monotonic
        whole = self._file.with_suffix(".new")
        whole.write_text(f"{self._wall} {self._monotonic}", encoding="ascii")
        whole.replace(self._file)


def _ahead(file: Path, which: int, clock: Callable[[], float]) -> Callable[[], float]:
    def now() -> float:
        try:
            ahead = float(file.read_text(encoding="ascii").split()[which])
        except (OSError, IndexError):
            ahead = 0.0
        return clock() + ahead

    return now


if __name__ == "__main__":
    told_in = Path(sys.argv.pop())
    # Before anything else is imported, which might keep the functions as they are.
    time.time = _ahead(told_in, 0, time.time)
    time.monotonic = _ahead(told_in, 1, time.monotonic)
    runpy.run_module("lsp_completions", run_name="__main__", alter_sys=True)
