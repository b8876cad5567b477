"""How things stand, for a line in the editor: told when it changes, and not at every key."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from lsp_completions.errors import CompletionsError, ConfigurationError, NotAuthorized
from lsp_completions.messages import Messages
from lsp_completions.pipeline.outcome import KEPT_BACK, SkipReason
from lsp_completions.trail import Trail

CHANGED = "lspCompletions/status"
SOON = 0.15  # seconds; what is answered sooner makes nobody busy
SLOW = 3.0  # seconds of silence; the provider has two more by default


class State(Enum):
    """How things stand; the value is its name on the wire."""

    OFF = "off"
    KEPT_BACK = "keptBack"
    ERROR = "error"
    WARNING = "warning"
    STARTING = "starting"
    BUSY = "busy"
    READY = "ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How things stand, as far as the document `uri` goes."""

    state: State
    reason: str = ""
    """Its name for scripts, such as `gitIgnored`; empty where there is nothing to explain."""
    message: str = ""
    """The same as a sentence."""
    provider: str = ""
    model: str = ""
    uri: str | None = None
    """The document that the user was in last."""

    def fields(self) -> dict[str, object]:
        """The same for JSON."""
        return {
            "state": self.state.value,
            "reason": self.reason,
            "message": self.message,
            "provider": self.provider,
            "model": self.model,
            "uri": self.uri,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What how things stand is made of. `why_not` and `uri` are of the document."""

    why_not: SkipReason | None
    trouble: CompletionsError | None
    provider: str
    model: str
    uri: str | None


def standing(facts: Facts, *, busy: bool, takes_long: str) -> Standing:
    """The first thing that a user would want to know. `takes_long` is what is waited for."""

    def it_is(state: State, reason: str = "", message: str = "") -> Standing:
        return Standing(
            state=state,
            reason=reason,
            message=message,
            provider=facts.provider,
            model=facts.model,
            uri=facts.uri,
        )

    match facts.why_not:
        case (SkipReason.SWITCHED_OFF | SkipReason.LANGUAGE_OFF) as off:
            return it_is(State.OFF, off.key, off.value)
        case SkipReason.UNDECIDED | None:
            pass
        case kept_back if kept_back in KEPT_BACK:
            return it_is(State.KEPT_BACK, kept_back.key, kept_back.value)
    if (trouble := facts.trouble) is not None:
        name = type(trouble).__name__
        state = State.ERROR if lasts(trouble) else State.WARNING
        return it_is(state, name[:1].lower() + name[1:], str(trouble))
    if takes_long:
        return it_is(State.STARTING, message=takes_long)
    if busy:
        return it_is(State.BUSY)
    if facts.why_not is SkipReason.DOCUMENT_OUT_OF_STEP:
        return it_is(State.WARNING, facts.why_not.key, facts.why_not.value)
    if facts.why_not is SkipReason.BY_HAND_ONLY:
        return it_is(State.READY, facts.why_not.key, facts.why_not.value)
    return it_is(State.READY)


def lasts(trouble: CompletionsError) -> bool:
    """Whether somebody has to do something about it."""
    return isinstance(trouble, NotAuthorized | ConfigurationError)


class Status:
    """Follows how things stand: `look` gathers the facts, `tell` is told of each change."""

    def __init__(
        self,
        messages: Messages,
        *,
        look: Callable[[str | None], Facts],
        tell: Callable[[Standing], None],
    ) -> None:
        self.now: Standing | None = None
        """What was told last."""
        self.uri: str | None = None
        self.busy = False
        self._messages = messages
        messages.on_long = self.changed
        self._look = look
        self._tell = tell
        self._running = 0
        self._looking: asyncio.TimerHandle | None = None
        self._telling: asyncio.Handle | None = None

    def look_at(self, uri: str) -> None:
        """The user is in this document."""
        if uri != self.uri:
            self.uri = uri
            self.changed()

    def left(self, uri: str) -> None:
        """This document was closed."""
        if uri == self.uri:
            self.uri = None

    def changed(self) -> None:
        """Something may have changed: told once the loop comes round, so that answers go first."""
        if self._telling is None:
            self._telling = asyncio.get_running_loop().call_soon(self._tell_change)

    def _tell_change(self) -> None:
        self._telling = None
        now = standing(self._look(self.uri), busy=self.busy, takes_long=self._messages.takes_long)
        if now != self.now:
            self.now = now
            self._tell(now)

    @contextmanager
    def asking(self, trail: Trail) -> Iterator[None]:
        """As long as this is entered somebody waits for an answer."""
        self._count(1)
        over = asyncio.Event()
        slow = asyncio.get_running_loop().call_later(SLOW, self._is_slow, trail, over)
        try:
            yield
        finally:
            slow.cancel()
            over.set()
            self._count(-1)

    def _is_slow(self, trail: Trail, over: asyncio.Event) -> None:
        if (host := trail.silent_host) is not None:
            self._messages.show_until(over.wait, f"Waiting for {host}")

    def _count(self, change: int) -> None:
        self._running += change
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        if self.busy != (self._running > 0):
            loop = asyncio.get_running_loop()
            self._looking = loop.call_later(SOON, self._become, self._running > 0)

    def _become(self, busy: bool) -> None:
        self._looking = None
        self.busy = busy
        self.changed()
