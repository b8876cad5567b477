"""Edits out of the commits of a git repository."""

import os
import subprocess
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from tests.evaluation.edits import LANGUAGES, Edit, Sitting

LONGEST_FILE = 60_000  # bytes; longer ones are rarely written by hand
BEFORE, WITHIN, AFTER = 1500, 2500, 600  # characters that are kept around the edits
LEAST, MOST = 15, 1200  # characters typed in one document
MOST_DELETED = 1500
MOST_EDITS = 6
LONGEST_LINE = 160
MUCH_ALIKE = 0.6
MOST_COMPARED = 400  # pairs of lines
PATIENCE = 60  # seconds for one question to git
IMPORTS = ("import ", "from ", "use ", "using ", "#include", "require", "const {")
# A history may be had in part only: nothing is fetched for this, and nobody is asked anything.
OFFLINE = {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """`[start, end)` of the text as it was became `new`."""

    start: int
    end: int
    new: str


def sittings_of(
    repository: Path, *, commits: int, at: str = "HEAD", only: Container[str] = (), most: int = 1000
) -> list[Sitting]:
    """The edits of the last `commits` of a repository, oldest first; `only` in some languages."""
    log = git(
        repository,
        *("log", "--no-merges", f"--max-count={commits}", "--diff-filter=M", "--no-renames"),
        *("--raw", "--no-abbrev", "--format=%h", at),
    )
    commit = ""
    found: list[tuple[str, str, str, str]] = []
    for line in log.decode("utf-8", "replace").splitlines():
        if not line.startswith(":"):
            commit = line.strip() or commit
            continue
        fields, _, path = line.partition("\t")
        _, _, old, new, _ = fields.split(" ")
        language = LANGUAGES.get(path.rpartition(".")[2])
        if language is not None and (not only or language in only):
            found.append((f"{commit[:10]} {path}", language, old, new))
    sittings: list[Sitting] = []
    for name, language, old, new in reversed(found):
        before, after = text_of(repository, old), text_of(repository, new)
        if before and after:
            sittings += sittings_between(name, language, before, after)
        if len(sittings) >= most:
            break
    return sittings[:most]


def git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(repository), *arguments],
        env={**os.environ, **OFFLINE},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    ).stdout


def text_of(repository: Path, blob: str) -> str | None:
    """`None` for what nobody has typed."""
    try:
        content = git(repository, "cat-file", "blob", blob)
        text = content.decode("utf-8").replace("\r\n", "\n")
    except (subprocess.CalledProcessError, UnicodeDecodeError):
        return None
    return text if 0 < len(content) <= LONGEST_FILE and "\0" not in text else None


def sittings_between(name: str, language: str, before: str, after: str) -> Iterator[Sitting]:
    """What lies together is typed together; each sitting finds those before it done."""
    together: list[list[Change]] = []
    for change in changes_between(before, after):
        near = together and change.end - together[-1][0].start < WITHIN
        if near and len(together[-1]) < MOST_EDITS:
            together[-1].append(change)
        else:
            together.append([change])
    for number, changes in enumerate(together, start=1):
        edits = list(_edits(f"{name} {number}", language, before, changes))
        typed = sum(len(edit.text) for edit in edits)
        deleted = sum(len(edit.deleted) for edit in edits)
        is_typed_by_hand = all(
            line == line.rstrip() and len(line) <= LONGEST_LINE
            for edit in edits
            for line in (*edit.text.split("\n"), edit.made[len(edit.before) :].partition("\n")[0])
        )
        if LEAST <= typed <= MOST and deleted <= MOST_DELETED and is_typed_by_hand:
            yield Sitting(name=f"{name} {number}", edits=tuple(edits))


def changes_between(before: str, after: str) -> Iterator[Change]:
    """The changes, as small as a person would make them."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        # Of two closing lines the first was there before: what is new begins after it.
        while kind == "insert" and b < len(old) and new[c].strip() and new[c] == old[b]:
            a, b, c, d = a + 1, b + 1, c + 1, d + 1
        if kind != "equal":
            for i, j, k, m in alike(old, new, (a, b, c, d)):
                if old[i:j] != new[k:m]:
                    yield narrowed(before, starts[i], starts[j], "".join(new[k:m]))


Lines = tuple[int, int, int, int]
"""Lines of the old text, from and to, and those of the new text in their place."""


def alike(old: Sequence[str], new: Sequence[str], lines: Lines) -> Iterator[Lines]:
    """Lines that are much like lines that were there are made of those."""
    a, b, c, d = lines
    if not (a < b and c < d) or (b - a) * (d - c) > MOST_COMPARED:
        yield lines
        return
    likeness, i, k = max(
        (SequenceMatcher(None, old[i].strip(), new[k].strip()).ratio(), i, k)
        for i in range(a, b)
        for k in range(c, d)
    )
    if likeness < MUCH_ALIKE:
        yield lines
        return
    yield from alike(old, new, (a, i, c, k))
    yield i, i + 1, k, k + 1
    yield from alike(old, new, (i + 1, b, k + 1, d))


def narrowed(text: str, start: int, end: int, new: str) -> Change:
    """Without what is the same at both ends; whole lines are typed from the end of a line on."""
    if start and new.endswith("\n") and text[start - 1] == "\n" and text[end - 1] == "\n":
        start, end, new = start - 1, end - 1, f"\n{new[:-1]}"
    same = same_beginning(text[start:end], new)
    start, new = start + same, new[same:]
    same = same_beginning(text[start:end][::-1], new[::-1])
    return Change(start=start, end=end - same, new=new[: len(new) - same])


def same_beginning(one: str, other: str) -> int:
    """How much of two texts is the same, in whole words."""
    most = min(len(one), len(other))
    same = next((i for i in range(most) if one[i] != other[i]), most)

    def is_within_word(at: int) -> bool:
        return any(
            0 < at < len(text) and is_letter(text[at - 1]) and is_letter(text[at])
            for text in (one, other)
        )

    while same and is_within_word(same):
        same -= 1
    return same


def is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"


def _edits(name: str, language: str, text: str, changes: list[Change]) -> Iterator[Edit]:
    first = text.rfind("\n", 0, max(0, changes[0].start - BEFORE)) + 1
    last = text.find("\n", changes[-1].end + AFTER) + 1 or len(text)
    text = text[first:last]
    # What is imported is known to be missing once it was used.
    in_order = sorted(changes, key=lambda change: change.new.lstrip().startswith(IMPORTS))
    done: list[Change] = []
    for number, change in enumerate(in_order, start=1):
        moved = sum(
            len(each.new) - (each.end - each.start) for each in done if each.start < change.start
        )
        start, end = change.start - first + moved, change.end - first + moved
        yield Edit(
            name=f"{name}.{number}",
            language=language,
            before=text[:start],
            deleted=text[start:end],
            text=change.new,
            after=text[end:],
        )
        text = text[:start] + change.new + text[end:]
        done.append(change)
