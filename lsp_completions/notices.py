"""What the user is told: once per cause, until it has worked again; seldom what comes and goes."""

import logging
import time
from collections import deque
from collections.abc import Callable

from lsp_completions.errors import (
    CompletionsError,
    ConfigurationError,
    GatewayFailed,
    Interrupted,
    ModelFailed,
    RateLimited,
    Refused,
    ServerFailed,
    TimedOut,
)

logger = logging.getLogger(__name__)

PATIENCE = 3  # failures in a row before a passing trouble is worth a word
MOST = 3  # times that a cause which comes and goes is told
QUIET = 600.0  # seconds, in which that is
SHORT = 30.0  # seconds; a limit that is over by then is not worth a word


class Notices:
    """Remembers what was said. `show` puts a sentence before the user's eyes."""

    def __init__(
        self, show: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._show = show
        self._clock = clock
        self._told: set[tuple[str, ...]] = set()
        self._times: dict[tuple[str, ...], deque[float]] = {}  # when each cause was told lately
        self._failures = 0

    def failed(self, error: CompletionsError) -> None:
        """A completion failed: told at once where the user can act, else when it goes on."""
        self._failures += 1
        logger.info("%s", error)
        if not _passes(error) or self._failures >= PATIENCE:
            self._tell(_cause_of(error), str(error))

    def worked(self) -> None:
        """A completion came: what was told may be told again when it comes back."""
        self._failures = 0
        self._told.clear()

    def changed(self) -> None:
        """The user changed something: whether that has helped is worth a word at once."""
        self._told = {cause for cause in self._told if cause[0] == SETTINGS}
        for cause in [cause for cause in self._times if cause[0] != SETTINGS]:
            del self._times[cause]

    def problem(self, sentence: str) -> None:
        """Something in the settings or the environment cannot be used."""
        self._tell((SETTINGS, sentence), sentence)

    def _tell(self, cause: tuple[str, ...], sentence: str) -> None:
        if cause in self._told:
            return
        self._told.add(cause)
        now, times = self._clock(), self._times.setdefault(cause, deque(maxlen=MOST))
        if len(times) < MOST or now - times[0] >= QUIET:
            times.append(now)
            # Not at every key: editors keep the log, some of them as errors.
            logger.warning("%s", sentence)
            self._show(sentence)


SETTINGS = "settings"


def _cause_of(error: CompletionsError) -> tuple[str, ...]:
    """What makes two failures the same to a person: their kind, whatever time or trace they name.

    What is wrong with the settings differs by its sentence.
    """
    if isinstance(error, ConfigurationError):
        return SETTINGS, str(error)
    return (type(error).__name__,)


def _passes(error: CompletionsError) -> bool:
    """Whether it may well be gone at the next key."""
    match error:
        case RateLimited(retry_after=seconds):
            return seconds is not None and 0 < seconds <= SHORT
        case TimedOut() | Interrupted() | ModelFailed() | GatewayFailed() | ServerFailed():
            return True
        case Refused(reply=reply):
            return reply is not None and reply.status >= 500
        case _:
            return False
