"""What may be sent: each document is judged once, before anything is made of it.

A document has two places, the one its editor names and the one behind its links; it is kept back
when either is. Where a rule cannot be read, all that it may have meant is kept back.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsp_completions.kinds import UNREADABLE
from lsp_completions.patterns import Patterns
from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.pipeline.uris import (
    document_key,
    every_path,
    local_path,
    scheme_of,
    uri_of_path,
)
from lsp_completions.secret_files import holds_secrets
from lsp_completions.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is kept back, by the settings and for a workspace."""

    schemes: frozenset[str]
    secret_files: bool
    exclude: Patterns | None
    """`None` when nothing is excluded."""
    exclude_is_unreadable: bool
    roots: tuple[str, ...]
    """The workspace folders, as the editor names them and behind their links."""


def why_kept_back(uri: str, real_uri: str, rules: Rules) -> SkipReason | None:
    """Why nothing of a document may be sent; `None` when it may. `real_uri` is behind its links."""
    if scheme_of(uri) not in rules.schemes:
        return SkipReason.UNKNOWN_SCHEME
    places = [every_path(place, rules.roots) for place in (uri, real_uri)]
    if not rules.secret_files and any(holds_secrets(spellings[0]) for spellings in places):
        return SkipReason.SECRET_FILE
    if rules.exclude_is_unreadable:
        return SkipReason.EXCLUDE_UNREADABLE
    if rules.exclude is not None and any(map(rules.exclude.match, places)):
        return SkipReason.EXCLUDED
    return None


class Gate:
    """Remembers of each open document whether it may be sent."""

    def __init__(self) -> None:
        self._rules = rules_of(Settings(), ())
        self._open: dict[str, tuple[str, SkipReason | None]] = {}

    def follow(self, settings: Settings, roots: Sequence[str]) -> None:
        """Judge all documents anew, by these settings and in this workspace."""
        self._rules = rules_of(settings, roots)
        for uri, _ in list(self._open.values()):
            self.judge(uri)

    def judge(self, uri: str) -> None:
        """Look at a document that was opened. This asks the disk about links, and nothing else."""
        self._open[document_key(uri)] = uri, why_kept_back(uri, behind_links(uri), self._rules)

    def forget(self, uri: str) -> None:
        """The document was closed."""
        self._open.pop(document_key(uri), None)

    def why_kept_back(self, uri: str) -> SkipReason | None:
        """Why nothing of an open document may be sent; `None` when it may."""
        if document_key(uri) not in self._open:
            return SkipReason.UNKNOWN_DOCUMENT
        return self._open[document_key(uri)][1]


def rules_of(settings: Settings, roots: Sequence[str]) -> Rules:
    """The rules that the settings make for a workspace. This asks the disk about links."""
    patterns = [_at_home(pattern) for pattern in settings.exclude if pattern != UNREADABLE]
    return Rules(
        schemes=frozenset(scheme.strip().lower().rstrip(":/") for scheme in settings.schemes),
        secret_files=settings.secret_files,
        exclude=Patterns(patterns) if patterns else None,
        exclude_is_unreadable=UNREADABLE in settings.exclude,
        roots=tuple(_distinct([*roots, *map(behind_links, roots)])),
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


ON_DISK = ("file", "untitled", "vscode-notebook-cell")


def _at_home(pattern: str) -> str:
    """`~/` is the user's own folder."""
    sign, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if not body.startswith("~/"):
        return pattern
    try:
        home = re.sub(r"([\[\]*?\\])", r"\\\1", Path.home().as_posix())
    except RuntimeError:  # no home to speak of
        home = "**"
    return f"{sign}{home}{body[1:]}"


def _distinct(uris: Iterable[str]) -> Iterable[str]:
    return {document_key(uri): uri for uri in uris}.values()
