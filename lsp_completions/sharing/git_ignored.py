"""Whether git ignores a file: by its rules, read without git.

As in git the deepest `.gitignore` comes first, then `.git/info/exclude`, then the user's own file;
in each the last line that matches decides; what is in an ignored folder is ignored; and what git
keeps track of is not, whatever the rules say.

One rule is not taken as such: a line like `*` at the top of a repository. It stands where people
keep the settings of a whole home folder in one, and would silence all that lies below.
"""

import re
import unicodedata
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lsp_completions.sharing.git_config import (
    Repository,
    config_of,
    in_home,
    last,
    text_of,
    users_folder,
)

MOST_INDEX_BYTES = 1 << 28  # millions of files
MOST_FILES = 200  # whose rules are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One line of a `.gitignore`, for paths counted from its folder."""

    parts: tuple[str, ...]
    """What stands between its slashes; `**` is any number of folders."""
    anywhere: bool
    """It had no slash, so the last part of a path is enough."""
    folders_only: bool
    ignores: bool
    """It began with no `!`."""

    def matches(self, names: Sequence[str], *, is_folder: bool) -> bool:
        """Whether it is about exactly this path."""
        if self.folders_only and not is_folder:
            return False
        if self.anywhere:
            return _part_matches(self.parts[0], names[-1])
        return _row_matches(self.parts, tuple(names))


def rules_in(text: str, *, folded: bool = False, at_top: bool = False) -> list[Rule]:
    """The rules in a file, in their order. Git passes over what it cannot make sense of."""
    rules = []
    for line in text.split("\n"):
        line = re.sub(r"(?<!\\) +$", "", line.removesuffix("\r"))
        ignores = not line.startswith("!")
        body = line if ignores else line[1:]
        if not body or (body.startswith("#") and ignores):
            continue
        folders_only = body.endswith("/")
        body = body.removesuffix("/")
        anywhere = "/" not in body
        body = body.removeprefix("/")
        if not body or (at_top and ignores and body in _EVERYTHING):
            continue
        parts = tuple((body.lower() if folded else body).split("/"))
        rules.append(
            Rule(parts=parts, anywhere=anywhere, folders_only=folders_only, ignores=ignores)
        )
    return rules


class GitIgnored:
    """Remembers the rules it read, until their files change. Every call may wait for the disk."""

    def __init__(self) -> None:
        self._rules: OrderedDict[tuple[Path, bool, bool], tuple[object, list[Rule]]] = OrderedDict()
        self._tracked: tuple[Path, object, frozenset[bytes]] | None = None

    def ignores(self, path: Path, repository: Repository) -> bool:
        """Whether git ignores the file. Raises `OSError` where a rule cannot be read."""
        try:
            names = path.relative_to(repository.top).parts
        except ValueError:
            return False
        if not names or names[0] == ".git":
            return False
        entries = config_of(repository)
        folded = (last(entries, "core", "ignorecase") or "").lower() == "true"
        if folded:
            names = tuple(name.lower() for name in names)
        excludes = last(entries, "core", "excludesfile")
        everywhere = in_home(excludes) if excludes else (users_folder() or Path("/")) / "ignore"
        # The strongest last, each with the number of folders it counts from.
        sources = [
            (0, self._read(everywhere, folded=folded, at_top=True)),
            (0, self._read(repository.shared / "info" / "exclude", folded=folded, at_top=True)),
        ]
        folder = repository.top
        for depth, name in enumerate(path.relative_to(repository.top).parts):
            rules = self._read(folder / ".gitignore", folded=folded, at_top=depth == 0)
            sources.append((depth, rules))
            is_folder = depth < len(names) - 1
            if _decided(sources, names[: depth + 1], is_folder=is_folder):
                hashed = 32 if last(entries, "extensions", "objectformat") == "sha256" else 20
                return not self._tracks(repository, path, hashed)
            folder = folder / name
        return False

    def _read(self, file: Path, *, folded: bool, at_top: bool) -> list[Rule]:
        stamp = _stamp(file)
        key = (file, folded, at_top)
        known = self._rules.get(key)
        if known is None or known[0] != stamp:
            text = text_of(file) if stamp is not None else None
            known = self._rules[key] = stamp, rules_in(text or "", folded=folded, at_top=at_top)
        self._rules.move_to_end(key)
        while len(self._rules) > MOST_FILES:
            self._rules.popitem(last=False)
        return known[1]

    def _tracks(self, repository: Repository, path: Path, hashed: int) -> bool:
        """Whether the file is in git's index: asked only where a rule would ignore it."""
        index = repository.own / "index"
        stamp = _stamp(index)
        if self._tracked is None or self._tracked[:2] != (index, stamp):
            names = frozenset[bytes]()
            if stamp is not None and index.stat().st_size <= MOST_INDEX_BYTES:
                names = frozenset(names_in_index(index.read_bytes(), hashed))
            self._tracked = index, stamp, names
        name = path.relative_to(repository.top).as_posix()
        # macOS takes accents apart in the names of files, and git puts them together.
        spellings = {name, unicodedata.normalize("NFC", name)}
        return any(
            spelling.encode("utf-8", "surrogateescape") in self._tracked[2]
            for spelling in spellings
        )


def _decided(
    sources: Iterable[tuple[int, list[Rule]]], names: Sequence[str], *, is_folder: bool
) -> bool:
    for depth, rules in reversed(list(sources)):
        for rule in reversed(rules):
            if rule.matches(names[depth:], is_folder=is_folder):
                return rule.ignores
    return False


def names_in_index(index: bytes, hashed: int = 20) -> list[bytes]:
    """The paths in an index of version 2, 3 or 4; of what cannot be read, none."""
    if index[:4] != b"DIRC" or len(index) < 12:
        return []
    version, count = int.from_bytes(index[4:8]), int.from_bytes(index[8:12])
    if version not in (2, 3, 4):
        return []
    names: list[bytes] = []
    at, name = 12, b""
    for _ in range(count):
        start = at
        at += 40 + hashed
        flags = int.from_bytes(index[at : at + 2])
        at += 4 if version > 2 and flags & 0x4000 else 2
        if version == 4:
            # What the name before loses at its end, and what comes in its place.
            byte = index[at : at + 1]
            lost = 0
            while byte:
                at += 1
                lost = (lost << 7) | (byte[0] & 0x7F)
                if byte[0] < 0x80:
                    break
                lost += 1
                byte = index[at : at + 1]
            kept = name[: len(name) - lost] if lost <= len(name) else b""
        else:
            kept = b""
        end = index.find(b"\0", at)
        if end < 0:
            return []
        name = kept + index[at:end]
        names.append(name)
        at = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
    return names


def _stamp(file: Path) -> object:
    """What changes when the file does; `None` where there is none. Raises `OSError`."""
    try:
        found = file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


@lru_cache(maxsize=4096)
def _row_matches(parts: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Whether all of a path is what the parts say, folder by folder."""
    # Which parts may come next, after each name; so no pattern takes long.
    here = _passing(parts, {0})
    for name in names:
        after: set[int] = set()
        for at in here:
            if at == len(parts):
                continue
            if parts[at] == "**":
                after.add(at)
                if at == len(parts) - 1:
                    after.add(at + 1)
            elif _part_matches(parts[at], name):
                after.add(at + 1)
        here = _passing(parts, after)
    return len(parts) in here


def _passing(parts: tuple[str, ...], places: set[int]) -> set[int]:
    """The places, and those behind `**` that may stand for no folder at all; not at the end."""
    passed = set(places)
    for at in range(len(parts) - 1):
        if at in passed and parts[at] == "**":
            passed.add(at + 1)
    return passed


def _part_matches(part: str, name: str) -> bool:
    if not _WILD.search(part):
        return part == name
    pattern = _compiled(part)
    return pattern is not None and pattern.fullmatch(name) is not None


@lru_cache(maxsize=4096)
def _compiled(part: str) -> re.Pattern[str] | None:
    """What stands between two slashes; `None` where it matches nothing, as in git.

    Each star takes as little as it can and never more, but for the last: no pattern takes long.
    """
    pieces: list[str] = [""]
    rest = part
    while rest:
        if stars := re.match(r"\*+", rest):
            pieces.append("")
            rest = rest[stars.end() :]
        elif found := _SET.match(rest):
            if (members := _members(found[2])) is None:
                return None
            pieces[-1] += f"[{'^' if found[1] else ''}{members}]"
            rest = rest[found.end() :]
        elif rest[0] == "[" or rest == "\\":
            return None
        elif rest[0] == "?":
            pieces[-1] += "."
            rest = rest[1:]
        else:
            literal = rest[1] if rest[0] == "\\" else rest[0]
            pieces[-1] += re.escape(literal)
            rest = rest[2:] if rest[0] == "\\" else rest[1:]
    first, *middle = pieces
    if not middle:
        return re.compile(first, re.DOTALL)
    *middle, end = middle
    stars_between = "".join(f"(?>.*?{piece})" for piece in middle if piece)
    try:
        return re.compile(f"{first}{stars_between}.*{end}", re.DOTALL)
    except re.error:
        return None


def _members(text: str) -> str | None:
    """What is in a set in brackets, for `re`; `None` for what git does not know."""
    members = ""
    while text:
        if named := re.match(r"\[:(\w+):\]", text):
            if named[1] not in _CLASSES:
                return None
            members += _CLASSES[named[1]]
            text = text[named.end() :]
        elif found := _RANGE.match(text):
            low, high = (each[-1] for each in found.groups())
            if low <= high:
                members += f"{re.escape(low)}-{re.escape(high)}"
            text = text[found.end() :]
        else:
            letter = text[1] if text[0] == "\\" and len(text) > 1 else text[0]
            members += re.escape(letter)
            text = text[2:] if text[0] == "\\" and len(text) > 1 else text[1:]
    return members or r"^\s\S"  # nothing at all


# As git reads them: the first bracket may stand for itself.
_SET = re.compile(r"\[([!^]?)((?:\]|\[:\w*:\]|\\.|[^\]\\])(?:\[:\w*:\]|\\.|[^\]\\])*)\]")
_RANGE = re.compile(r"(\\.|[^\\])-(\\.|[^\\\]])")
_WILD = re.compile(r"[*?\[\\]")
_EVERYTHING = ("*", "**", "**/*", "*/**", "**/**")
_CLASSES = {
    "alnum": "A-Za-z0-9",
    "alpha": "A-Za-z",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t-\r ",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
