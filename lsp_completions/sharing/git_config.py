"""Git's own files, read without git: where a repository is, and what its configuration says.

Only what stands in plain files is found; whatever else a repository may be is as good as none.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 1 << 20  # of a file of git's that people write; a longer one is no such file
DEEPEST = 5  # files that include each other
HIGHEST = 100  # folders above a file


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A working copy: its top folder, its own folder of git's, and the one all its copies share."""

    top: Path
    own: Path
    shared: Path


Entry = tuple[str, str, str, str]
"""Section, subsection, key and value; section and key in lower case."""


def repository_of(path: Path) -> Repository | None:
    """The nearest repository around a file. It is not looked for behind links."""
    for folder in list(path.parents)[:HIGHEST]:
        own = folder / ".git"
        if own.is_dir():
            if (own / "HEAD").exists() or (own / "config").exists():
                return Repository(top=folder, own=own, shared=_shared(own))
        elif own.is_file():
            # Of another working copy, or inside of another repository.
            place = (text_of(own) or "").partition("gitdir:")[2].strip()
            elsewhere = folder / place if place else own
            return Repository(top=folder, own=elsewhere, shared=_shared(elsewhere))
    return None


def _shared(own: Path) -> Path:
    common = own / "commondir"
    place = (text_of(common) or "").strip() if common.is_file() else ""
    return own / place if place else own


def config_of(repository: Repository | None) -> list[Entry]:
    """All entries that count there, the strongest last; without a repository the user's own."""
    files = list(_users_files())
    if repository is not None:
        files += [repository.shared / "config", repository.own / "config.worktree"]
    return [entry for file in files for entry in _entries(file, DEEPEST)]


def last(entries: list[Entry], section: str, key: str) -> str | None:
    """What the strongest entry says; `None` where none does."""
    for at_section, _, at_key, value in reversed(entries):
        if (at_section, at_key) == (section, key):
            return value
    return None


def in_home(path: str) -> Path:
    """A path of git's configuration, in which `~/` is the user's own folder."""
    return Path(path).expanduser() if path.startswith("~") else Path(path)


def users_folder() -> Path | None:
    """Where the user's own files of git's are, beside the ones in the home folder."""
    if base := os.environ.get("XDG_CONFIG_HOME"):
        return Path(base) / "git"
    try:
        return Path.home() / ".config" / "git"
    except RuntimeError:  # no home to speak of
        return None


def text_of(file: Path) -> str | None:
    """The text of one of git's files; `None` where there is none. Raises `OSError`."""
    try:
        if not file.is_file():
            return None
        with file.open("rb") as opened:
            text = opened.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if len(text) > MOST_BYTES:
        raise OSError(f"{file.name} is too long.")
    return text.decode("utf-8-sig", "surrogateescape")


def _users_files() -> Iterator[Path]:
    if os.environ.get("GIT_CONFIG_NOSYSTEM") not in ("1", "true", "yes"):
        yield Path(os.environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig")
    if (chosen := os.environ.get("GIT_CONFIG_GLOBAL")) is not None:
        if chosen:
            yield Path(chosen)
        return
    if (folder := users_folder()) is not None:
        yield folder / "config"
    try:
        yield Path.home() / ".gitconfig"
    except RuntimeError:
        return


def _entries(file: Path, deep: int) -> Iterator[Entry]:
    for entry in entries_in(text_of(file) or ""):
        yield entry
        # What is included on a condition would need all of git to decide it.
        if entry[0] == "include" and entry[2] == "path" and deep > 0:
            yield from _entries(file.parent / in_home(entry[3]), deep - 1)


def entries_in(text: str) -> Iterator[Entry]:
    """The entries of a file of git's configuration. What cannot be read is passed over."""
    section = subsection = ""
    # A line goes on behind a backslash at its end.
    for line in re.sub(r"\\\r?\n", "", text).splitlines():
        if head := _SECTION.match(line):
            section, subsection = head[1].lower(), re.sub(r"\\(.)", r"\1", head[2] or "")
            if head[2] is None and "." in section:  # as it was written once
                section, _, subsection = section.partition(".")
            line = line[head.end() :]
        if entry := _ENTRY.match(line):
            yield section, subsection, entry[1].lower(), _value(entry[2])


def _value(text: str | None) -> str:
    if text is None:
        return "true"
    value, quoted = "", False
    for piece in _PIECE.findall(text.strip()):
        if piece == '"':
            quoted = not quoted
        elif piece in "#;" and not quoted:
            break
        elif piece.startswith("\\"):
            value += {"n": "\n", "t": "\t", "b": "\b"}.get(piece[1:], piece[1:])
        else:
            value += piece
    return value.strip()


_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_ENTRY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=(.*))?$")
_PIECE = re.compile(r'\\.|["#;]|[^\\"#;]+', re.DOTALL)
