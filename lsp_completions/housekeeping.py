"""Memory given back while nothing happens: what is quickly made anew, garbage, and free pages.

All of it takes some ten milliseconds, so it is never done while somebody types.
"""

import asyncio
import gc
import sys
from collections.abc import Callable, Iterable
from functools import cache

SETTLED = 1.0  # seconds from the start, after which all is there that stays
QUIET = 5.0  # seconds without a message: who types pauses less, who reads pauses longer


class Housekeeping:
    """Tidies up once after each time that something happened. `tidy` is told to give up caches."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, tidy: Iterable[Callable[[], object]] = ()
    ) -> None:
        self._loop = loop
        self._tidy = tidy
        self._last = 0.0
        self._due: asyncio.TimerHandle | None = None
        loop.call_later(SETTLED, settle)

    def noticed(self) -> None:
        """Something happened. Called for every message, and so does next to nothing."""
        self._last = self._loop.time()
        if self._due is None:
            self._due = self._loop.call_later(QUIET, self._look)

    def _look(self) -> None:
        left = self._last + QUIET - self._loop.time()
        if left > 0:
            self._due = self._loop.call_later(left, self._look)
            return
        self._due = None
        for give_up in self._tidy:
            give_up()
        gc.collect()
        if (trim := _trim()) is not None:
            trim(0)


def settle() -> None:
    """Look for garbage once, and from now on only among what is new.

    All modules together take 25 ms, at moments that nobody chooses.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 10, 10)


@cache
def _trim() -> Callable[[int], int] | None:
    """Gives free pages back to the system; `None` where the allocator is not glibc's.

    glibc keeps what was freed below something that stays, and each thread has a heap of its own.
    """
    if sys.platform != "linux":
        return None
    try:
        import ctypes

        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (ImportError, OSError, AttributeError):
        return None
    return trim
