"""An edit as the keys that make it, with and without an editor that indents and closes brackets."""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.evaluation.edits import Edit

PAIRS = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'"}
UNITS = {"go": "\t", "typescript": "  "}


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What one key does: `[start, end)` of the text becomes `new`, and the cursor is at `cursor`.

    Where nothing is replaced by nothing only the cursor moves.
    """

    start: int
    end: int
    new: str
    cursor: int

    @property
    def changes(self) -> bool:
        return self.end > self.start or self.new != ""

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]


def keys_of(edit: Edit, *, assisted: bool = False) -> list[Key]:
    """The keys; an editor that assists indents new lines and closes brackets by itself."""
    if assisted:
        return list(_assisted(edit))
    at = len(edit.before)
    return [
        Key(start=at + i, end=at + i, new=character, cursor=at + i + 1)
        for i, character in enumerate(edit.text)
    ]


def _assisted(edit: Edit) -> Iterator[Key]:
    goal, typed = edit.text, 0
    text, at = edit.before + edit.after, len(edit.before)
    closed = ""  # what the editor has closed by itself, from the cursor on

    while typed < len(goal):
        character = goal[typed]
        line = text[text.rfind("\n", 0, at) + 1 : at]
        typed += 1
        if closed and goal.startswith(step := _step(closed), typed - 1):
            # Typed over, or gone to.
            key = Key(start=at, end=at, new="", cursor=at + len(step))
            closed = closed[len(step) :]
            typed += len(step) - 1
        elif character == "\n":
            indent, ahead = line[: len(line) - len(line.lstrip())], ""
            if line.rstrip().endswith((":", "{", "(", "[")):
                if closed[:1] == PAIRS.get(line.rstrip()[-1]):
                    ahead = "\n" + indent
                indent += UNITS.get(edit.language, "    ")
            # White space that stood alone on its line goes.
            start = at if line.strip() else at - len(line)
            new = "\n" + indent
            key = Key(start=start, end=at, new=new + ahead, cursor=start + len(new))
            closed = ahead + closed
            yield key
            text, at = key.applied(text), key.cursor
            wanted = _blank_at(goal, typed)
            if goal[typed + len(wanted) : typed + len(wanted) + 1] == "\n":
                typed += len(wanted)
                continue
            if wanted.startswith(indent):
                typed += len(indent)
                continue
            typed += len(wanted)
            start = at - len(indent)
            key = Key(start=start, end=at, new=wanted, cursor=start + len(wanted))
        elif character in PAIRS and _closes_here(text, at, character, edit.language):
            key = Key(start=at, end=at, new=character + PAIRS[character], cursor=at + 1)
            closed = PAIRS[character] + closed
        else:
            key = Key(start=at, end=at, new=character, cursor=at + 1)
        yield key
        text, at = key.applied(text), key.cursor
    if closed:
        yield Key(start=at, end=at + len(closed), new="", cursor=at)


def _step(closed: str) -> str:
    """One key's worth: a closer, or the way to the line that the editor made for it."""
    white = len(closed) - len(closed.lstrip())
    return closed[: white + 1]


def _closes_here(text: str, at: int, character: str, language: str) -> bool:
    if character == "'" and language == "rust":
        return False  # a lifetime
    following, before = text[at : at + 1], text[max(0, at - 1) : at]
    if following and not following.isspace() and following not in ")]}":
        return False
    return character not in "\"'" or not (before.isalnum() or before in ("'", '"', "_"))


def _blank_at(text: str, at: int) -> str:
    rest = text[at:]
    return rest[: len(rest) - len(rest.lstrip(" \t"))]
