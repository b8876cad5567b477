"""What one request went through, noted on the way: for whoever asks later why, and how long.

A request carries its trail; whoever deals with it notes there what was reached. Nothing is decided
by it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING


class How(Enum):
    """Where an answer came from; the value says it to a person."""

    MEMORY = "from memory"
    JOINED = "from a stream that ran already"
    ASKED = "asked anew"
    AHEAD = "asked ahead, when the one before was accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """When what was reached, in milliseconds since the request came; `None` for never.

    A stream that was joined may have been asked before: then these are negative.
    """

    gate: float | None = None
    """Whether the document may be sent was known."""
    prompt: float | None = None
    """The prompt was made."""
    sent: float | None = None
    """The provider was asked."""
    first_event: float | None = None
    """The provider said anything."""
    first_text: float | None = None
    """The model said its first text."""
    answered: float | None = None
    """The editor had its answer."""


if TYPE_CHECKING:
    from typing import Protocol

    class Answerer(Protocol):
        """Who is asked."""

        @property
        def name(self) -> str:
            """Its name in the settings."""

        @property
        def model(self) -> str:
            """The model's name; empty where the provider chooses."""

        @property
        def host(self) -> str:
            """Where it answers."""

    class Told(Protocol):
        """What was made for the model."""

        @property
        def excerpts(self) -> Sequence[object]:
            """The code from elsewhere in it."""

    class Stream(Protocol):
        """A model's stream, with its times."""

        @property
        def provider(self) -> Answerer:
            """Who is asked."""

        @property
        def prompt(self) -> Told:
            """What the model was told."""

        @property
        def began(self) -> float:
            """When it was asked for."""

        @property
        def event_after(self) -> float | None:
            """Seconds until anything came."""

        @property
        def first_after(self) -> float | None:
            """Seconds until the first text."""


class Trail:
    """Times are those of `clock`, which is the event loop's own."""

    __slots__ = ("_clock", "_gate", "_prompt", "_provider", "_stream", "began", "how", "piece")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.began = clock()
        self.how: How | None = None
        """`None` where no model was asked, nor had been."""
        self.piece: object | None = None
        """What the answer was made of, for whoever asks to see code."""
        self._gate: float | None = None
        self._prompt: float | None = None
        self._provider: Answerer | None = None
        self._stream: Stream | None = None

    def may_be_sent(self, provider: "Answerer") -> None:
        """It is known whether the document may be sent, and to whom."""
        self._provider = provider
        if self._gate is None:
            self._gate = self._clock()

    def has_prompt(self) -> None:
        """The prompt is made; the first one counts."""
        if self._prompt is None:
            self._prompt = self._clock()

    def follows(self, stream: "Stream", how: How) -> None:
        """The answer is in this stream, or will be."""
        self._stream, self.how = stream, how

    @property
    def provider(self) -> "Answerer | None":
        """Who was asked, or would have been; `None` where that was not found out."""
        return self._provider if self._stream is None else self._stream.provider

    @property
    def silent_host(self) -> str | None:
        """Who was asked and has said nothing yet; `None` where nobody is waited for."""
        stream = self._stream
        return None if stream is None or stream.event_after is not None else stream.provider.host

    @property
    def excerpts(self) -> int | None:
        """How much code from elsewhere the model was shown; `None` where none was told anything."""
        return None if self._stream is None else len(self._stream.prompt.excerpts)

    def times(self) -> Times:
        """What was reached until now, which is when the editor has its answer."""
        stream = self._stream if self.how is not How.MEMORY else None
        return Times(
            gate=self._since(self._gate),
            prompt=self._since(self._prompt),
            sent=None if stream is None else self._since(stream.began),
            first_event=None if stream is None else self._of(stream, stream.event_after),
            first_text=None if stream is None else self._of(stream, stream.first_after),
            answered=self._since(self._clock()),
        )

    def _of(self, stream: "Stream", after: float | None) -> float | None:
        return None if after is None else self._since(stream.began + after)

    def _since(self, at: float | None) -> float | None:
        return None if at is None else round((at - self.began) * 1000, 2)
