"""What is sent to the model."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The text a model continues, and the strings at which it should stop."""

    text: str
    stop_sequences: tuple[str, ...] = ()
