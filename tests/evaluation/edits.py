"""Edits as people make them: what stood there, what was typed, and how it goes on."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

WRITTEN = Path(__file__).parent / "texts"
REAL = Path(__file__).parent / "commits"
LANGUAGES = {
    "bash": "shellscript",
    "c": "c",
    "cc": "cpp",
    "cpp": "cpp",
    "cs": "csharp",
    "css": "css",
    "go": "go",
    "h": "c",
    "html": "html",
    "java": "java",
    "js": "javascript",
    "json": "json",
    "kt": "kotlin",
    "lua": "lua",
    "md": "markdown",
    "php": "php",
    "py": "python",
    "rb": "ruby",
    "rs": "rust",
    "sh": "shellscript",
    "sql": "sql",
    "swift": "swift",
    "toml": "toml",
    "ts": "typescript",
    "tsx": "typescriptreact",
    "vim": "vim",
    "yaml": "yaml",
    "yml": "yaml",
    "zig": "zig",
}
# Drawn into the files: what stands between « and » was typed, in the place of what stands between
# ‹ and › before it.
TYPED = re.compile("(?:‹([^‹›]*)›)?«([^«»]*)»")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """`text` is typed between `before` and `after`, in the place of what is `deleted`."""

    name: str
    language: str
    before: str
    text: str
    after: str
    deleted: str = ""

    @property
    def begun(self) -> str:
        """The text before it is made."""
        return self.before + self.deleted + self.after

    @property
    def made(self) -> str:
        """The text once it is made."""
        return self.before + self.text + self.after

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
        if not line or typed[line:].strip() or not self.text.startswith(typed[:line]):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """Edits made in one document, one after the other."""

    name: str
    edits: tuple[Edit, ...]

    def __post_init__(self) -> None:
        for one, following in zip(self.edits, self.edits[1:], strict=False):
            assert one.made == following.begun

    @property
    def language(self) -> str:
        return self.edits[0].language


def drawn(name: str, language: str, text: str) -> Sitting:
    """The edits drawn into a text, in the order in which they stand there."""
    pieces = TYPED.split(text)
    kept, deleted, typed = pieces[::3], [each or "" for each in pieces[1::3]], pieces[2::3]
    edits = []
    for number, new in enumerate(typed):
        before, after = kept[0], kept[-1]
        for i in range(number):
            before += typed[i] + kept[i + 1]
        for i in range(len(typed) - 1, number, -1):
            after = kept[i] + deleted[i] + after
        edits.append(
            Edit(
                name=f"{name} {number + 1}",
                language=language,
                before=before,
                text=new,
                after=after,
                deleted=deleted[number],
            )
        )
    return Sitting(name=name, edits=tuple(edits))


def drawing(sitting: Sitting) -> str:
    """What `drawn` reads; the edits have to be in the order in which they stand in the text."""
    text, at = "", 0
    for edit in sitting.edits:
        deleted = f"‹{edit.deleted}›" if edit.deleted else ""
        text += f"{edit.before[at:]}{deleted}«{edit.text}»"
        at = len(edit.before) + len(edit.text)
    return text + sitting.edits[-1].after


def written() -> list[Sitting]:
    """Edits that were written for this, each alone in its document."""
    return [
        Sitting(name=edit.name, edits=(edit,))
        for path in sorted(WRITTEN.glob("*.txt"))
        for edit in _in(path.read_text(encoding="utf-8"), path.stem)
    ]


def _in(text: str, name: str) -> Iterator[Edit]:
    """What is typed last stands in none of the others."""
    parts = TYPED.split(text)
    kept, typed = parts[::3], parts[2::3]
    for number, new in enumerate(typed):
        before = "".join(one + other for one, other in zip(kept, typed[:number], strict=False))
        yield Edit(
            name=f"{name} {number + 1}",
            language=language_of(name),
            before=before + kept[number],
            text=new,
            after="".join(kept[number + 1 :]),
        )


def real() -> list[Sitting]:
    """Edits out of this project's own history."""
    return [
        drawn(path.stem, language_of(path.stem), path.read_text(encoding="utf-8"))
        for path in sorted(REAL.glob("*.txt"))
    ]


def language_of(name: str) -> str:
    return LANGUAGES[name.rpartition(".")[2]]


def words_of(sittings: Sequence[Sitting]) -> int:
    return sum(edit.words for sitting in sittings for edit in sitting.edits)
