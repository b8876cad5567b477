"""Code to try suggestions on: what was written for it here, and what the machine has."""

import os
import re
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

FOLDER = Path(__file__).parent / "texts"
LANGUAGES = {
    "py": "python",
    "ts": "typescript",
    "tsx": "typescriptreact",
    "js": "javascript",
    "mjs": "javascript",
    "go": "go",
    "rs": "rust",
    "c": "c",
    "h": "c",
    "cc": "cpp",
    "cpp": "cpp",
    "hpp": "cpp",
    "java": "java",
    "kt": "kotlin",
    "cs": "csharp",
    "rb": "ruby",
    "php": "php",
    "lua": "lua",
    "pl": "perl",
    "pm": "perl",
    "html": "html",
    "css": "css",
    "sh": "shellscript",
}
INSTALLED = ("/usr/share", "/usr/lib", "/usr/local/lib", "/usr/include")
# Lines longer than that are made by machines, as are files of nothing but data.
LONGEST_LINE = 200
SHORTEST, LONGEST = 400, 120_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file of code, with line ends as they are here and no white space at its lines' ends."""

    name: str
    language: str
    text: str


def own_code() -> list[Source]:
    """What was written for the evaluation."""
    paths = sorted([*FOLDER.glob("*.txt"), *FOLDER.glob("code/*.txt")])
    return [
        Source(
            name=path.stem,
            language=LANGUAGES[path.stem.rpartition(".")[2]],
            # What is typed in the replay is drawn into some of them.
            text=_plain(path.read_text(encoding="utf-8").replace("«", "").replace("»", "")),
        )
        for path in paths
        if path.stem.rpartition(".")[2] in LANGUAGES
    ]


def code_in(folders: Sequence[Path], *, files: int, seed: int = 0) -> list[Source]:
    """At most `files` files of each language, drawn from all that is in the folders."""
    found: dict[str, list[Path]] = {}
    for folder in folders:
        for path in _files(folder):
            found.setdefault(LANGUAGES[path.suffix[1:]], []).append(path)
    sources = []
    for language, paths in sorted(found.items()):
        paths.sort()
        Random(f"{seed} {language}").shuffle(paths)
        readable = (source for path in paths if (source := _read(path, language)) is not None)
        sources += [source for source, _ in zip(readable, range(files), strict=False)]
    return sources


def installed_code(*, files: int, seed: int = 0) -> list[Source]:
    """Code of installed packages, in all languages the machine has some of."""
    folders = [sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), *INSTALLED]
    return code_in([Path(folder) for folder in dict.fromkeys(folders)], files=files, seed=seed)


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names if Path(name).suffix[1:] in LANGUAGES)


def _read(path: Path, language: str) -> Source | None:
    try:
        if not SHORTEST <= path.stat().st_size <= LONGEST:
            return None
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    text = _plain(text)
    if max(map(len, text.split("\n"))) > LONGEST_LINE:
        return None
    return Source(name=str(path), language=language, text=text)


def _plain(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff").replace("\f", "")
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
