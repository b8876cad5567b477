"""Who is left alone for a while, because the last requests failed, and when to try again.

A host that answers is forgotten here. What a user changes (a setting, a login, a request by hand)
ends every wait.
"""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from lsp_completions.errors import (
    CompletionsError,
    ConfigurationError,
    NoSuchApi,
    NotAttributed,
    NotAuthorized,
    ProxyNotAuthorized,
    RateLimited,
    Redirected,
    Refused,
    SignInPage,
    TimedOut,
    TooLarge,
    UnknownApiVersion,
    UnsupportedEditor,
)
from lsp_completions.providers.retry_after import in_words
from lsp_completions.transport.network import is_loopback

LIMIT_FIRST, LIMIT_MOST = 30.0, 900.0  # seconds after a limit that names no time; doubled each time
NAMED_MOST = 3600.0  # seconds; who is a month away may well have been mistaken
FAILURES = 3  # in a row, before a trouble that may pass makes us wait
FAILURE_FIRST, FAILURE_MOST = 1.0, 60.0  # seconds, doubled each time
OWN_MOST = 5.0  # seconds for a server on this machine, which its user may start any moment
UNTIL_CHANGED = 60.0  # seconds; a token may become valid without our hearing of it
LONGER = 0.25  # of a wait, at random, lest all editors come back in the same moment
BETWEEN_HANDS = 5.0  # seconds; some editors call what they send at every key a request by hand


class Trouble(Enum):
    """What a failure means for the next request; the value says it."""

    LIMIT = "too many requests: wait as long as told"
    LASTING = "nothing changes by itself: wait for a change"
    PASSING = "may be over at once: wait when it goes on"
    OF_ITS_OWN = "of this one request: do not wait"


def trouble_of(error: CompletionsError, host: str) -> Trouble:
    """What `error` means for the next request to `host`."""
    match error:
        case RateLimited():
            return Trouble.LIMIT
        case TooLarge() | NotAttributed():
            return Trouble.OF_ITS_OWN
        case TimedOut() if _is_own(host):
            # It is slow, and asked less it would not be faster.
            return Trouble.OF_ITS_OWN
        case (
            NotAuthorized()
            | NoSuchApi()
            | UnsupportedEditor()
            | UnknownApiVersion()
            | SignInPage()
            | Redirected()
            | ProxyNotAuthorized()
            | ConfigurationError()
        ):
            return Trouble.LASTING
        case _:
            return Trouble.PASSING


class BackOff:
    """Remembers, for each host, how the last requests ended; one for all documents and methods."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._hosts: dict[str, _Host] = {}
        self._last_by_hand = -BETWEEN_HANDS
        self._era = 0

    async def rest(self, host: str, *, by_hand: bool = False) -> str | None:
        """Why `host` is not asked now, as a sentence; `None` when it may be.

        When a wait is over one request tries its luck, and the others wait here for what comes of
        it. One `by_hand` ends the wait.
        """
        now, found = self._clock(), self._hosts.get(host)
        heeded = by_hand and now - self._last_by_hand >= BETWEEN_HANDS
        if heeded and found is not None and found.until > now:
            self._last_by_hand = found.until = now
        while (found := self._hosts.get(host)) is not None:
            if (left := found.until - self._clock()) > 0:
                return f"{host} is asked again in {in_words(left)}."
            if found.trying is None:
                return None
            await found.trying.over.wait()
        return None

    def left(self, host: str) -> str | None:
        """Why `host` would not be asked at this moment, as a sentence; `None` when it may be."""
        found = self._hosts.get(host)
        left = 0.0 if found is None else found.until - self._clock()
        return f"{host} is asked again in {in_words(left)}." if left > 0 else None

    def is_well(self, host: str) -> bool:
        """Whether the last request to `host`, if there was one, went well."""
        return host not in self._hosts

    def attempt(self, host: str) -> "Attempt":
        """A request to `host` begins; what becomes of it is told to what is returned."""
        attempt = Attempt(self, host, self._era)
        found = self._hosts.get(host)
        if found is not None and found.rested and found.trying is None:
            found.trying = attempt
        return attempt

    def forget(self) -> None:
        """Something changed, a setting or a login: everybody may be asked again."""
        hosts, self._hosts = self._hosts, {}
        # What is under way was asked as things were before.
        self._era += 1
        for host in hosts.values():
            if host.trying is not None:
                host.trying.over.set()

    def worked(self, attempt: "Attempt") -> None:
        """An answer came."""
        if attempt.era == self._era:
            self._hosts.pop(attempt.host, None)
        attempt.over.set()

    def failed(self, attempt: "Attempt", error: CompletionsError) -> None:
        """No answer came, and that was not our wish."""
        trouble = trouble_of(error, attempt.host)
        if attempt.era == self._era and trouble is not Trouble.OF_ITS_OWN:
            found = self._hosts.setdefault(attempt.host, _Host())
            now = self._clock()
            # Those that were under way when the wait began say the same again.
            counts = now >= found.until
            until = now + self._seconds(found, trouble, error, attempt.host, counts=counts)
            if until > max(now, found.until):
                found.until = until
                found.rested = True
        self.given_up(attempt)

    def given_up(self, attempt: "Attempt") -> None:
        """Nobody waits for its answer any more; that says nothing about the host."""
        found = self._hosts.get(attempt.host)
        if found is not None and found.trying is attempt:
            found.trying = None
        attempt.over.set()

    def _seconds(
        self, found: "_Host", trouble: Trouble, error: CompletionsError, host: str, *, counts: bool
    ) -> float:
        named = error.retry_after if isinstance(error, Refused) else None
        if named:
            return min(max(named, FAILURE_FIRST), NAMED_MOST)
        if not counts:
            return 0.0
        own = _is_own(host)
        match trouble:
            case Trouble.LASTING:
                return UNTIL_CHANGED
            case Trouble.LIMIT:
                found.limits += 1
                first = FAILURE_FIRST if own or named == 0 else LIMIT_FIRST
                return self._doubled(first, found.limits, OWN_MOST if own else LIMIT_MOST)
            case _:
                found.failures += 1
                if found.failures < FAILURES:
                    return 0.0
                times = found.failures - FAILURES + 1
                return self._doubled(FAILURE_FIRST, times, OWN_MOST if own else FAILURE_MOST)

    def _doubled(self, first: float, times: int, most: float) -> float:
        # The exponent stays small: a night of failures would make a number too large for a float.
        seconds = min(first * 2.0 ** min(times - 1, 32), most)
        return seconds * (1 + LONGER * self._chance())


class Attempt:
    """One request, for as long as it may say something about its host."""

    def __init__(self, back_off: BackOff, host: str, era: int) -> None:
        self.host = host
        self.era = era
        self.over = asyncio.Event()
        self._back_off = back_off

    def worked(self) -> None:
        """An answer came, or the beginning of one."""
        self._back_off.worked(self)

    def failed(self, error: CompletionsError) -> None:
        """It ended with `error`."""
        self._back_off.failed(self, error)

    def given_up(self) -> None:
        """Nobody waits for it any more; after the other two this does nothing."""
        self._back_off.given_up(self)


@dataclass(slots=True)
class _Host:
    """How the last requests to a host ended: failures since it last worked."""

    failures: int = 0
    limits: int = 0
    until: float = float("-inf")
    rested: bool = False
    trying: Attempt | None = None


def _is_own(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return is_loopback(name.strip("[]").lower())
