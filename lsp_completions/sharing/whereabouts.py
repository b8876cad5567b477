"""Where a document is on disk: behind its links, in which repositories, and whether git ignores it.

All of this waits for the disk, which may be a slow one far away, and so belongs in a thread.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsp_completions.pipeline.uris import document_key, local_path, scheme_of, uri_of_path
from lsp_completions.sharing.git_config import config_of, repository_of
from lsp_completions.sharing.git_ignored import GitIgnored
from lsp_completions.sharing.repository_names import clone_urls


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the disk says about a document."""

    real_uri: str
    """Behind all links."""
    other_uris: tuple[str, ...] = ()
    """Below folders that somebody names by their links."""
    roots: tuple[str, ...] = ()
    """The workspace folders, as the editor names them and behind their links."""
    in_repository: bool = False
    """Whether a repository is around what is behind the links."""
    clone_urls: tuple[str, ...] = ()
    """Where the repositories around both its places come from."""
    git_ignored: bool = False
    unreadable: bool = False
    """Some of git's files cannot be read, so that the rest is not to be relied on."""


class Places:
    """Looks at documents. `ignored` remembers the rules it has read."""

    def __init__(self) -> None:
        self._ignored = GitIgnored()

    def look(self, uri: str, roots: Sequence[str], named: Sequence[str] = ()) -> Place:
        """What the disk says about a document in a workspace. Waits for the disk.

        `named` are files and folders that rules name, by whole paths or from a workspace folder.
        """
        real_uri = behind_links(uri)
        other_uris = tuple(_distinct(_below(_paths(named, roots), real_uri)))
        around = tuple(_distinct([*roots, *map(behind_links, roots)]))
        if scheme_of(uri) not in WITH_A_FILE:
            return Place(real_uri=real_uri, other_uris=other_uris, roots=around)
        in_repository = git_ignored = unreadable = False
        urls: set[str] = set()
        for place in dict.fromkeys([uri, real_uri]):
            in_repository = False
            try:
                path = Path(local_path(place))
                if (repository := repository_of(path)) is not None:
                    in_repository = True
                    urls.update(clone_urls(config_of(repository)))
                    git_ignored = git_ignored or self._ignored.ignores(path, repository)
            except (OSError, ValueError, RuntimeError):
                unreadable = True
        return Place(
            real_uri=real_uri,
            other_uris=other_uris,
            roots=around,
            in_repository=in_repository,
            clone_urls=tuple(sorted(urls)),
            git_ignored=git_ignored,
            unreadable=unreadable,
        )


def behind_links(uri: str) -> str:
    """The URI of the same document with all links resolved; of what is on no disk, the same."""
    if scheme_of(uri) not in ON_DISK:
        return uri
    try:
        path = os.path.realpath(local_path(uri))
    except (OSError, ValueError):  # what no system takes for a path
        return uri
    return uri_of_path(path)


def _paths(named: Iterable[str], roots: Sequence[str]) -> Iterator[str]:
    """Where these places may be; a `/` in front is the top of the disk or of a workspace folder."""
    folders = [local_path(root).rstrip("/") for root in roots if scheme_of(root) in ON_DISK]
    for path in named:
        if _WHOLE.match(path):
            yield path
        if not _OF_A_DISK.match(path):
            for folder in folders:
                yield f"{folder}/{path.lstrip('/')}"


_WHOLE = re.compile(r"/|[A-Za-z]:/")
_OF_A_DISK = re.compile(r"//|[A-Za-z]:/")


def _below(paths: Iterable[str], real_uri: str) -> Iterator[str]:
    """The document as it is called below each of these places that is a link, or within one."""
    if scheme_of(real_uri) not in ON_DISK:
        return
    for path in paths:
        try:
            real = os.path.realpath(path)
            rest = Path(local_path(real_uri)).relative_to(real)
        except (OSError, ValueError):  # it is elsewhere, or nowhere
            continue
        if real != path:
            yield uri_of_path(str(Path(path) / rest))


ON_DISK = ("file", "untitled", "vscode-notebook-cell")
WITH_A_FILE = ("file", "vscode-notebook-cell")


def _distinct(uris: Iterable[str]) -> Iterable[str]:
    return {document_key(uri): uri for uri in uris}.values()
