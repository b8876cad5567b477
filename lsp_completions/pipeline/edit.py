"""What to replace in the document."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    r"""Replace `[start, end)` of the document with `new_text`.

    `start` and `end` are offsets in code points on the cursor's line, `start <= cursor <= end`.
    `new_text` separates lines with `\n` only, whatever the document does.
    """

    start: int
    end: int
    new_text: str
