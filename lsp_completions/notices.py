"""What the user is told: once per cause, until it has worked again; seldom what comes and goes."""

import logging
import time
from collections import deque
from collections.abc import Callable

from lsp_completions.errors import CompletionsError, Interrupted, Refused, TimedOut

logger = logging.getLogger(__name__)

PATIENCE = 3  # failures in a row before a passing trouble is worth a word
MOST = 3  # times that a cause which comes and goes is told
QUIET = 600.0  # seconds, in which that is


class Notices:
    """Remembers what was said. `show` puts a sentence before the user's eyes."""

    def __init__(
        self, show: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._show = show
        self._clock = clock
        self._told: set[str] = set()
        self._times: dict[str, deque[float]] = {}  # when each cause was told lately
        self._failures = 0

    def failed(self, error: CompletionsError) -> None:
        """A completion failed: told at once where the user can act, else when it goes on."""
        self._failures += 1
        logger.info("%s", error)
        if not _passes(error) or self._failures >= PATIENCE:
            self._tell(type(error).__name__, str(error))

    def worked(self) -> None:
        """A completion came: what was told may be told again when it comes back."""
        self._failures = 0
        self._told.clear()

    def problem(self, sentence: str) -> None:
        """Something in the settings or the environment cannot be used."""
        self._tell(sentence, sentence)

    def _tell(self, cause: str, sentence: str) -> None:
        if cause in self._told:
            return
        self._told.add(cause)
        now, times = self._clock(), self._times.setdefault(cause, deque(maxlen=MOST))
        if len(times) < MOST or now - times[0] >= QUIET:
            times.append(now)
            # Not at every key: editors keep the log, some of them as errors.
            logger.warning("%s", sentence)
            self._show(sentence)


def _passes(error: CompletionsError) -> bool:
    """Whether it may well be gone at the next key."""
    if isinstance(error, Refused):
        return error.reply is not None and error.reply.status >= 500
    return isinstance(error, TimedOut | Interrupted)
