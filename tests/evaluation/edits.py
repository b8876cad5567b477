"""Edits as people make them: what stood there, what was typed, and how it goes on."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "texts"
LANGUAGES = {"py": "python", "ts": "typescript", "go": "go", "rs": "rust", "c": "c"}
# Drawn into the files: what stands between the two was typed.
TYPED = re.compile("«(.*?)»", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """`text` is typed between `before` and `after`."""

    name: str
    language: str
    before: str
    text: str
    after: str

    def typed_in(self, prefix: str) -> int | None:
        """How much of the text `prefix` holds; `None` where it is not on the way there.

        An editor may have indented the last line further than it will be.
        """
        typed = prefix[len(self.before) :]
        if not prefix.startswith(self.before):
            return None
        if self.text.startswith(typed):
            return len(typed)
        line = typed.rfind("\n") + 1
        if typed[line:].strip() or not self.text.startswith(typed[:line]):
            return None
        rest = self.text[line:]
        return line + len(rest) - len(rest.lstrip(" \t"))

    def rest_after(self, prefix: str) -> str | None:
        """What is still to be typed."""
        typed = self.typed_in(prefix)
        return None if typed is None else self.text[typed:]

    @property
    def words(self) -> int:
        return len(self.text.split())


def drawn(name: str, language: str, text: str) -> Edit:
    """The edit in a text in which what was typed stands between « and »."""
    before, typed, after = TYPED.split(text)
    return Edit(name=name, language=language, before=before, text=typed, after=after)


def edits() -> list[Edit]:
    """All that are kept here, one for each place drawn into a file."""
    return [
        edit
        for path in sorted(FOLDER.glob("*.txt"))
        for edit in _in(path.read_text(encoding="utf-8"), path.stem)
    ]


def _in(text: str, name: str) -> Iterator[Edit]:
    """The places are typed one after the other, as they stand in the file."""
    language = LANGUAGES[name.rpartition(".")[2]]
    parts = TYPED.split(text)
    for number in range(1, len(parts), 2):
        yield Edit(
            name=f"{name} {number // 2 + 1}",
            language=language,
            before="".join(parts[:number]),
            text=parts[number],
            after="".join(parts[number + 1 :: 2]),
        )
