"""What may be sent: one gate for documents, for excerpts of others, and for what is made of them.

A document has two places, the one its editor names and the one behind its links; it is kept back
when either is. Where a rule cannot be read, all that it may have meant is kept back, and what is
not known yet is waited for, a little.
"""

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lsp_completions.errors import CompletionsError
from lsp_completions.kinds import UNREADABLE
from lsp_completions.patterns import Patterns
from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.pipeline.uris import document_key, every_path, is_a_disk, scheme_of
from lsp_completions.providers.base import Provider
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.settings import Settings
from lsp_completions.sharing.context_filters import ContextFilters, Verdict
from lsp_completions.sharing.repository_names import name_of
from lsp_completions.sharing.secret_files import holds_secrets
from lsp_completions.sharing.whereabouts import Place, Places

FRESH = 5.0  # seconds that what the disk said is not asked of it again
PATIENCE = 0.3  # seconds to wait for news from a disk that has answered before
LOOKERS = 4  # threads; a dead network drive holds up one for each document on it


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is kept back by the settings."""

    schemes: frozenset[str]
    secret_files: bool
    git_ignored: bool
    outside_workspace: bool
    exclude: Patterns | None
    """`None` when nothing is excluded."""
    named: tuple[str, ...]
    """The files and folders that patterns name, or the folders that they begin with."""
    exclude_is_unreadable: bool
    repository: str | None
    """What the user calls the repository; it never makes up for the name of one."""


def why_kept_back(uri: str, place: Place, rules: Rules) -> SkipReason | None:
    """Why by the settings nothing of a document may be sent; `None` when it may."""
    if scheme_of(uri) not in rules.schemes:
        return SkipReason.UNKNOWN_SCHEME
    places = [every_path(each, place.roots) for each in (uri, place.real_uri)]
    if not rules.secret_files and any(holds_secrets(spellings[0]) for spellings in places):
        return SkipReason.SECRET_FILE
    if rules.exclude_is_unreadable:
        return SkipReason.EXCLUDE_UNREADABLE
    others = [every_path(each, place.roots) for each in place.other_uris]
    if rules.exclude is not None and any(map(rules.exclude.match, [*places, *others])):
        return SkipReason.EXCLUDED
    if not rules.outside_workspace and _is_outside(uri, place, places):
        return SkipReason.OUTSIDE_WORKSPACE
    if not rules.git_ignored and place.git_ignored:
        return SkipReason.GIT_IGNORED
    if not rules.git_ignored and place.unreadable:
        return SkipReason.GIT_UNREADABLE
    return None


def _is_outside(uri: str, place: Place, places: Sequence[Sequence[str]]) -> bool:
    """Whether one end of a document's links is in none of the workspace folders there are."""
    # What is not saved yet is nowhere, and a whole disk as the workspace holds everything.
    if scheme_of(uri) == "untitled" or not place.roots or any(map(is_a_disk, place.roots)):
        return False
    return any(len(spellings) < 2 for spellings in places)


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutSharing:
    """What `check` tells about a document."""

    reason: SkipReason | None
    """Why it is kept back; `None` when it may be sent."""
    repositories: tuple[str, ...]
    """The names of those it is in."""
    filters: tuple[str, ...] | None
    """The instance's patterns, or none; `None` where they are not known, or nobody has any."""


@dataclass(frozen=True, slots=True)
class Permission:
    """Whether one document may be sent; whoever wants to know waits `at_most` so many seconds."""

    gate: "Gate"
    uri: str
    at_most: float

    async def decided(self, provider: Provider) -> SkipReason | None:
        """Why nothing may be sent, waiting for what is not known yet; `None` when it may."""
        return await self.gate.decided(self.uri, provider, at_most=self.at_most)

    def why_kept_back(self, provider: Provider) -> SkipReason | None:
        """The same by what is known now."""
        return self.gate.why_kept_back(self.uri, provider)

    def repository(self, provider: Provider) -> str | None:
        """The name of its repository, for an instance, which knows it anyway."""
        if not isinstance(provider, Sourcegraph):
            return None
        return self.gate.repository(self.uri, provider)


@dataclass(slots=True, eq=False)
class _Looked:
    """What is known of a document; `place` is `None` until the disk has answered once."""

    uri: str
    place: Place | None = None
    old_at: float = 0.0
    task: asyncio.Task[None] | None = None
    provider: Provider | None = None
    """To whom it was about to be sent, when somebody asked last."""


class Gate:
    """Knows of each document whether it may be sent. Belongs to one event loop.

    `kept_back` is called with each open document that may not be sent any more, and why.
    """

    def __init__(
        self,
        filters: ContextFilters,
        *,
        kept_back: Callable[[str, SkipReason], None] = lambda uri, reason: None,
        places: Places | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._filters = filters
        filters.changed = self._tell
        self._kept_back = kept_back
        self._places = places or Places()
        self._clock = clock
        self._rules = rules_of(Settings())
        self._roots: tuple[str, ...] = ()
        self._open: dict[str, _Looked] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        # Of its own: a network drive that does not answer holds up nothing else.
        self._threads = ThreadPoolExecutor(LOOKERS, thread_name_prefix="gate")

    def follow(self, settings: Settings, roots: Sequence[str]) -> None:
        """Judge all documents anew, by these settings and in this workspace."""
        before, self._rules = self._rules, rules_of(settings)
        if self._roots != tuple(roots) or before.named != self._rules.named:
            self._roots = tuple(roots)
            for looked in self._open.values():
                looked.place = None
                looked.old_at = 0.0
                # What is being looked at was asked about the folders as they were.
                looked.task = None
                # Whoever takes code from it does not have it looked at again so soon.
                self._look(looked)
        self._tell()

    def judge(self, uri: str) -> None:
        """Look at a document that was opened."""
        looked = self._open[document_key(uri)] = _Looked(uri)
        self._look(looked)

    def forget(self, uri: str) -> None:
        """The document was closed."""
        self._open.pop(document_key(uri), None)

    def why_kept_back(self, uri: str, provider: Provider | None = None) -> SkipReason | None:
        """Why nothing of a document may be sent by what is known now; `None` when it may.

        Without a `provider` the question is what keeps it back from everybody.
        """
        looked = self._open.get(document_key(uri))
        if looked is None:
            return SkipReason.UNKNOWN_DOCUMENT
        return self._verdict(looked, provider)

    def is_due(self, uri: str, provider: Provider) -> bool:
        """Whether `decided` would look for news of a document, or is waited for."""
        looked = self._open.get(document_key(uri))
        if looked is None or looked.place is None or self._clock() >= looked.old_at:
            return True
        return self._verdict(looked, provider) is SkipReason.UNDECIDED

    async def decided(
        self, uri: str, provider: Provider | None, *, at_most: float | None = None
    ) -> SkipReason | None:
        """The same, waiting for what is not known yet, `at_most` so many seconds.

        A document that is not open is looked at as well, so that excerpts may be taken from it.
        """
        looked = self._open.get(document_key(uri)) or _Looked(uri)
        looked.provider = provider
        try:
            async with asyncio.timeout(at_most):
                await self._find_out(looked, provider)
        except TimeoutError:
            pass
        return self._verdict(looked, provider)

    def repository(self, uri: str, provider: Provider | None = None) -> str | None:
        """The name of the repository a document is in, by what is known now."""
        return next(iter(self._names(self._open.get(document_key(uri)), provider)), None)

    def trouble(self, uri: str) -> CompletionsError | None:
        """Why the rules for a document are not known; `None` while nothing went wrong."""
        provider = self._asked_for(uri)
        return None if provider is None else self._filters.trouble(provider)

    def retry(self, uri: str) -> None:
        """Somebody waits: ask the instance again now where it did not answer."""
        if (provider := self._asked_for(uri)) is not None:
            self._filters.retry(provider)

    def ask_anew(self) -> None:
        """Another credential may be asked with: what the last one was told decides nothing."""
        for looked in self._open.values():
            looked.provider = None

    def _asked_for(self, uri: str) -> Sourcegraph | None:
        """The instance that the document was about to be sent to, when somebody asked last."""
        looked = self._open.get(document_key(uri))
        provider = None if looked is None else looked.provider
        return provider if isinstance(provider, Sourcegraph) else None

    async def about_sharing(
        self, uri: str, provider: Provider | None, *, at_most: float | None = None
    ) -> AboutSharing:
        """What is to be told about a document, open or not."""
        looked = self._open.get(document_key(uri)) or _Looked(uri)
        reason = await self.decided(uri, provider, at_most=at_most)
        if looked.place is None:
            await self._find_out(looked, None)
        filters = self._filters.filters(provider) if isinstance(provider, Sourcegraph) else None
        return AboutSharing(
            reason=reason,
            repositories=self._names(looked, provider),
            filters=None if filters is None else filters.patterns,
        )

    async def aclose(self) -> None:
        """Look at nothing more."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _verdict(self, looked: _Looked, provider: Provider | None) -> SkipReason | None:
        place, uri = looked.place, looked.uri
        if place is None:
            # Its name alone may be enough.
            unknown = Place(real_uri=uri, roots=self._roots)
            return why_kept_back(uri, unknown, self._rules) or SkipReason.UNDECIDED
        if (reason := why_kept_back(uri, place, self._rules)) is not None:
            return reason
        if not isinstance(provider, Sourcegraph) or scheme_of(uri) in ("http", "https"):
            return None
        # Only of files it is known which repository they are in.
        urls = place.clone_urls if _is_in_a_repository(uri, place) else ()
        more = (self._rules.repository,) if self._rules.repository else ()
        match self._filters.verdict(provider, urls, more):
            case Verdict.ALLOWED:
                return None
            case Verdict.IGNORED:
                return SkipReason.CONTEXT_FILTERS
            case Verdict.IN_NO_REPOSITORY:
                return SkipReason.IN_NO_REPOSITORY
            case Verdict.ASKING:
                return SkipReason.UNDECIDED
            case Verdict.FAILED:
                return SkipReason.CONTEXT_FILTERS_UNKNOWN

    async def _find_out(self, looked: _Looked, provider: Provider | None) -> None:
        if looked.place is None or self._clock() >= looked.old_at:
            task = self._look(looked)
            # Not the task itself: whoever waits may be cancelled, and others wait as well.
            await asyncio.wait({task}, timeout=None if looked.place is None else PATIENCE)
        place = looked.place
        if (
            isinstance(provider, Sourcegraph)
            and place is not None
            and why_kept_back(looked.uri, place, self._rules) is None
        ):
            urls = place.clone_urls if _is_in_a_repository(looked.uri, place) else ()
            await self._filters.settled(provider, urls)

    def _look(self, looked: _Looked) -> asyncio.Task[None]:
        if looked.task is None or looked.task.done():
            looked.task = asyncio.create_task(self._look_at(looked), name="looking at a document")
            self._tasks.add(looked.task)
            looked.task.add_done_callback(self._tasks.discard)
        return looked.task

    async def _look_at(self, looked: _Looked) -> None:
        asked = looked.uri, self._roots, self._rules.named
        loop = asyncio.get_running_loop()
        place = await loop.run_in_executor(self._threads, self._places.look, *asked)
        if asked == (looked.uri, self._roots, self._rules.named):
            looked.place, looked.old_at = place, self._clock() + FRESH
            self._tell_of(looked)

    def _tell(self) -> None:
        for looked in list(self._open.values()):
            self._tell_of(looked)

    def _tell_of(self, looked: _Looked) -> None:
        if self._open.get(document_key(looked.uri)) is not looked:
            return
        reason = self._verdict(looked, looked.provider)
        if reason is SkipReason.UNDECIDED:
            # Rules that are new may go by names that nobody needed before.
            if looked.place is not None and looked.provider is not None:
                task = asyncio.create_task(self._find_out(looked, looked.provider), name="names")
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        elif reason is not None:
            self._kept_back(looked.uri, reason)

    def _names(self, looked: _Looked | None, provider: Provider | None) -> tuple[str, ...]:
        if looked is None or looked.place is None:
            return ()
        urls = looked.place.clone_urls
        if isinstance(provider, Sourcegraph):
            return self._filters.names(provider, urls)
        return tuple(sorted({name for url in urls if (name := name_of(url)) is not None}))


def _is_in_a_repository(uri: str, place: Place) -> bool:
    return scheme_of(uri) == "file" and place.in_repository and not place.unreadable


def rules_of(settings: Settings) -> Rules:
    """The rules that the settings make."""
    patterns = [_at_home(pattern) for pattern in settings.exclude if pattern != UNREADABLE]
    return Rules(
        schemes=frozenset(scheme.strip().lower().rstrip(":/") for scheme in settings.schemes),
        secret_files=settings.secret_files,
        git_ignored=settings.git_ignored,
        outside_workspace=settings.outside_workspace,
        exclude=Patterns(patterns) if patterns else None,
        named=tuple(path for pattern in patterns if (path := _place_named(pattern)) is not None),
        exclude_is_unreadable=UNREADABLE in settings.exclude,
        repository=settings.repository,
    )


def _place_named(pattern: str) -> str | None:
    """The file or folder that a pattern begins with, as far as it is literal; `None` for none."""
    body = pattern.removeprefix("!")
    if re.match(r"[A-Za-z]:\\|\\\\\w", body):
        body = body.replace("\\", "/")
    # As in a `.gitignore` a space at the end counts only after a backslash.
    body = re.sub(r"(?<!\\) +$", "", body)
    literal = re.match(r"(?:[^\\*?\[]|\\.)*", body)
    assert literal is not None
    path = literal[0] if literal[0] == body else literal[0].rpartition("/")[0]
    return re.sub(r"\\(.)", r"\1", path).rstrip("/") or None


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
