"""Reads and adds to an editor's files. What was there is kept beside them first."""

import filecmp
import importlib.metadata
import json
import shutil
import site
import sysconfig
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from lsp_completions.errors import ConfigurationError
from lsp_completions.on_disk import is_file, is_folder, is_there

PARTS = {"neovim": ("lua", "lsp", "plugin", "doc"), "emacs": ("lisp",)}
"""What of an editor's folder is its plugin."""
MOST = 1_000_000  # bytes of a file that is read
FILES = 2_000  # looked at in a folder of somebody's own


def text_of(file: Path) -> str | None:
    """What is in it, `None` where there is no such file. Raises `ConfigurationError`."""
    try:
        return file.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{file} is not UTF-8, so nothing is added to it.") from None
    except OSError as error:
        why = error.strerror or error
        raise ConfigurationError(f"{file} could not be read: {why}.") from None


def append(file: Path, text: str) -> Path | None:
    """Add to the end of a file; returns the copy of what was there. Raises `ConfigurationError`."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        copy = None
        if is_there(file):
            copy = free_name(file)
            shutil.copy2(file, copy)
        # At its end only: a link stays a link, and nobody's words can be lost.
        with file.open("ab") as opened:
            opened.write(text.encode())
    except OSError as error:
        why = error.strerror or error
        raise ConfigurationError(f"{file} could not be written: {why}.") from None
    return copy


def free_name(file: Path) -> Path:
    """A name beside a file or folder for what was there."""
    stem = f"{file.name}.{datetime.now():%Y%m%d-%H%M%S}.bak"
    names = (file.with_name(stem + more) for more in ("", *(f".{n}" for n in range(2, 1000))))
    return next(name for name in names if not is_there(name))


def mentioned_below(folder: Path, suffixes: Iterable[str], marks: Iterable[str]) -> Path | None:
    """The first file below a folder that has one of these words."""
    words = [mark.encode() for mark in marks]
    for file in _files(folder, frozenset(suffixes)):
        try:
            with file.open("rb") as opened:
                text = opened.read(MOST)
        except OSError:
            continue
        if any(word in text for word in words):
            return file
    return None


def checkout() -> Path | None:
    """The folder of a checkout, this one or the one that was installed from; `None` without one."""
    places = [Path(__file__).resolve().parents[3]]
    try:
        # As installers write it down (PEP 610).
        source = importlib.metadata.distribution("lsp-completions").read_text("direct_url.json")
        url = urlsplit(str(json.loads(source or "{}").get("url", "")))
    except (importlib.metadata.PackageNotFoundError, ValueError, AttributeError):
        url = urlsplit("")
    if url.scheme == "file":
        places.append(Path(url2pathname(url.path)))
    return next((each for each in places if (each / "editors/vscode/build.py").is_file()), None)


def plugin_source(editor: str) -> Path | None:
    """The folder of the plugin for an editor that came with this program."""
    places = [
        Path(__file__).resolve().parents[3] / "editors" / editor,  # a checkout
        *(
            Path(data) / "share" / "lsp-completions" / editor
            for data in (sysconfig.get_path("data"), site.getuserbase())
        ),
    ]
    return next((place for place in places if (place / PARTS[editor][0]).is_dir()), None)


def copy_plugin(editor: str, source: Path, target: Path) -> tuple[bool, Path | None]:
    """Put the plugin there; whether anything was done, and where what was there is now."""
    parts = PARTS[editor]
    if target.is_symlink() or (is_there(target) and _is_same(source, target, parts)):
        return False, None
    kept = None
    try:
        if is_there(target):
            kept = free_name(target)
            target.rename(kept)
        for part in parts:
            if (source / part).is_dir():
                shutil.copytree(source / part, target / part)
    except OSError as error:
        why = error.strerror or error
        raise ConfigurationError(f"{target} could not be written: {why}.") from None
    return True, kept


def _is_same(source: Path, target: Path, parts: Iterable[str]) -> bool:
    for part in parts:
        for file in (source / part).rglob("*"):
            there = target / file.relative_to(source)
            # Neovim writes the tags of the help anew, and what Emacs compiled is nobody's source.
            if not file.is_file() or file.name == "tags" or file.suffix == ".elc":
                continue
            if not is_file(there) or not filecmp.cmp(file, there, shallow=False):
                return False
    return True


def _files(folder: Path, suffixes: frozenset[str]) -> Iterator[Path]:
    if not is_folder(folder):
        return
    for number, file in enumerate(folder.rglob("*")):
        if number >= FILES:
            return
        if file.suffix in suffixes and is_file(file):
            yield file
