"""Streamed pieces of text, gathered until they are good enough to show."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of the model's text.

    `cumulative` means that `text` is everything so far (API version 1), else it is the new
    part only. `finish` is the provider's stop reason, opaque but for `length` and `max_tokens`
    (the text was cut off there); `None` while the stream goes on.
    """

    text: str
    cumulative: bool = False
    finish: str | None = None
