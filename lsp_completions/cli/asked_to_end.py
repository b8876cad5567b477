"""A command that is asked to end, or whose terminal is closed, leaves things in order."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Have the signals that ask a process to end raise `SystemExit`, the first of them only."""
    before: dict[int, Any] = {}

    def stop(number: int, _frame: object) -> None:
        # A terminal that is closed may say so several times.
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)  # as shells count

    for name in NAMES:
        number = getattr(signal, name, None)
        # Whoever is started with `nohup` stays.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
