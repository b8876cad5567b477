"""The next key on the way to an edit, with and without an editor that indents and closes brackets.

It follows from the text and the cursor alone, so slips of the finger are mended and accepted
suggestions are gone on from.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.evaluation.edits import Edit

PAIRS = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'"}
UNITS = {
    "c": "    ",
    "go": "\t",
    "javascript": "  ",
    "lua": "  ",
    "ruby": "  ",
    "typescript": "  ",
}
MOST_BACKSPACES = 12  # more than that is selected and deleted at once


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


def going_to(place: int) -> Key:
    return Key(start=place, end=place, new="", cursor=place)


def typing(character: str, at: int) -> Key:
    return Key(start=at, end=at, new=character, cursor=at + 1)


def keys_of(edit: Edit, *, assisted: bool = False) -> Iterator[Key]:
    """All the keys, from where the edit begins."""
    text, at = edit.begun, start_of(edit)
    while (key := next_key(edit, text, at, assisted=assisted)) is not None:
        yield key
        text, at = key.applied(text), key.cursor


def start_of(edit: Edit) -> int:
    """Where the cursor is put to begin with."""
    return len(edit.before) + len(edit.deleted)


def next_key(edit: Edit, text: str, at: int, *, assisted: bool = False) -> Key | None:
    """The key to press; `None` once the edit is made."""
    end = len(text) - len(edit.after)
    if at > end:
        return None if text == edit.made else going_to(end)
    line = text[text.rfind("\n", 0, at) + 1 : at]
    closed = text[at:end]  # what the editor has closed by itself
    typed = edit.typed_in(text[:at])
    if typed is None:
        return _deleting(edit, text, at)

    goal, blank = edit.text, ""
    if assisted and "\n" in text[len(edit.before) : at] and not line.strip():
        # The editor has indented the line.
        began = typed - len(_blank_before(goal, typed))
        blank = _blank_at(goal, began)
        is_empty = goal[began + len(blank) : began + len(blank) + 1] == "\n"
        if not is_empty and not blank.startswith(line):
            start = at - len(line)
            return Key(start=start, end=at, new=blank, cursor=start + len(blank))
        typed = began + (len(blank) if is_empty else len(line))
    if typed >= len(goal):
        return Key(start=at, end=end, new="", cursor=at) if closed else None

    character = goal[typed]
    if closed and goal.startswith(step := _step(closed), typed):
        return Key(start=at, end=at, new="", cursor=at + len(step))  # typed over, or gone to
    if assisted and character == "\n":
        own = len(edit.before) <= at - len(line)
        return _new_line(edit, at, line, closed, strips=own)
    if assisted and character in PAIRS and _closes_here(text, at, character, edit.language):
        return Key(start=at, end=at, new=character + PAIRS[character], cursor=at + 1)
    return typing(character, at)


def _deleting(edit: Edit, text: str, at: int) -> Key:
    began = len(edit.before)
    assert at > began
    assert text.startswith(edit.before)
    is_long = len(edit.deleted) > MOST_BACKSPACES or "\n" in edit.deleted
    if is_long and text[began:at] == edit.deleted:
        return Key(start=began, end=at, new="", cursor=began)
    return Key(start=at - 1, end=at, new="", cursor=at - 1)


def _new_line(edit: Edit, at: int, line: str, closed: str, *, strips: bool) -> Key:
    indent, ahead = line[: len(line) - len(line.lstrip())], ""
    if line.rstrip().endswith((":", "{", "(", "[")):
        if closed and closed[:1] == PAIRS.get(line.rstrip()[-1]):
            ahead = "\n" + indent
        indent += UNITS.get(edit.language, "    ")
    # White space that stood alone on its line goes.
    start = at if line.strip() or not strips else at - len(line)
    new = "\n" + indent
    return Key(start=start, end=at, new=new + ahead, cursor=start + len(new))


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


def _blank_before(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[len(line.rstrip(" \t")) :]
