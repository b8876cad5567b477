"""A clock that a test turns."""

from dataclasses import dataclass


@dataclass
class Clock:
    """Says `now`, in seconds."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now
