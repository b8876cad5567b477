"""A text as an editor has it, kept in the plainest way: an independent model of ours."""

import re

UNITS = {"utf-8": lambda text: len(text.encode()), "utf-32": len}
UNITS["utf-16"] = lambda text: len(text.encode("utf-16-le")) // 2


class Text:
    """A text and its places, in the units of an encoding."""

    def __init__(self, text: str, encoding: str) -> None:
        self.text = text
        self._units = UNITS[encoding]

    def place(self, offset: int) -> dict[str, int]:
        """The line and column of an offset."""
        lines = re.split(r"\r\n|\r|\n", self.text[:offset])
        return {"line": len(lines) - 1, "character": self._units(lines[-1])}

    def offset(self, place: dict[str, int]) -> int:
        """The offset of a line and column, which are there."""
        starts = [0, *(each.end() for each in re.finditer(r"\r\n|\r|\n", self.text))]
        at = starts[place["line"]]
        left = place["character"]
        while left > 0:
            left -= self._units(self.text[at])
            at += 1
        assert left == 0, "in the middle of a letter"
        return at

    def snapped(self, offset: int) -> int:
        """The offset itself, or before a line end that it would cut in two."""
        offset = max(0, min(offset, len(self.text)))
        return offset - 1 if self.text[offset - 1 : offset + 1] == "\r\n" else offset

    def replaced(self, start: int, end: int, text: str) -> dict[str, object]:
        """Replace a part; returns the change to be told."""
        where = {"start": self.place(start), "end": self.place(end)}
        self.text = self.text[:start] + text + self.text[end:]
        return {"range": where, "text": text}
