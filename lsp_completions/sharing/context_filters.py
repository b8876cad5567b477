"""What Sourcegraph instances let be sent to them: asked at once, asked again, and obeyed.

While an instance has not said it, or what it said cannot be read, nothing may be sent.
"""

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from enum import Enum
from functools import partial

from lsp_completions.errors import CompletionsError, ProviderError, Refused
from lsp_completions.providers.base import Event, HttpRequest
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.providers.sourcegraph_filters import (
    ALLOW_ALL,
    Filters,
    filters_in,
    has_none,
    is_too_old,
    name_in,
    name_question,
    question,
    wants_second_factor,
    without_an_answer,
)
from lsp_completions.sharing.repository_names import name_of, without_password
from lsp_completions.site import asker
from lsp_completions.transport import Timeouts

log = logging.getLogger(__name__)

TIMEOUTS = Timeouts(connect=5.0, first_event=20.0, total=20.0)
LASTS = 3600.0  # seconds; an administrator's change is obeyed within the hour
AGAIN = 7.0  # seconds after a failure, and half as long again after each further one
SIGNING_IN = 3.0  # seconds, while a gateway waits for somebody to sign in
MOST_FOLLOWED = 4  # instances, or tokens for one; some are new every few minutes
MOST_NAMES = 128  # of repositories, and of verdicts about them

Events = Callable[[HttpRequest, Timeouts], AsyncGenerator[Event, None]]
Pause = Callable[[asyncio.Event, float], Awaitable[None]]


class Verdict(Enum):
    """What an instance's rules say of a file."""

    ALLOWED = "may be sent"
    IGNORED = "is not to be sent"
    IN_NO_REPOSITORY = "is in no repository that is known"
    ASKING = "is not known yet"
    FAILED = "is not known, since the instance did not say"


class ContextFilters:
    """The rules of each instance in use. Belongs to one event loop.

    `events` sends a request, as `Transport.events` does; `version` gives an instance's, as far as
    that is known; `changed` is called when what may be sent is not what it was; `pause` waits so
    many seconds, or for the event.
    """

    def __init__(
        self,
        events: Events,
        *,
        version: Callable[[Sourcegraph], Awaitable[str | None]],
        changed: Callable[[], None] = lambda: None,
        pause: Pause | None = None,
    ) -> None:
        self._events = events
        self._version = version
        self.changed = changed
        self._pause = pause or _pause
        self._followed: OrderedDict[Sourcegraph, _Followed] = OrderedDict()
        self._left: set[asyncio.Task[None]] = set()
        self._closed = False

    def verdict(
        self, instance: Sourcegraph, clone_urls: Iterable[str], more_names: Iterable[str] = ()
    ) -> Verdict:
        """What is to be done with a file of these repositories, by what is known now.

        No clone URLs means a file that is in no repository, whatever else it may be called.
        """
        if has_none(instance):
            return Verdict.ALLOWED
        return self._of(instance).verdict(tuple(clone_urls), tuple(more_names))

    async def settled(self, instance: Sourcegraph, clone_urls: Iterable[str]) -> None:
        """Wait until all is asked that the verdict needs."""
        if not has_none(instance):
            await self._of(instance).settled(tuple(clone_urls))

    def filters(self, instance: Sourcegraph) -> Filters | None:
        """The rules in force; `None` where they are not known."""
        return ALLOW_ALL if has_none(instance) else self._of(instance).filters

    def trouble(self, instance: Sourcegraph) -> CompletionsError | None:
        """Why the rules are not known; `None` while nothing went wrong."""
        return None if has_none(instance) else self._of(instance).trouble

    def names(self, instance: Sourcegraph, clone_urls: Iterable[str]) -> tuple[str, ...]:
        """What repositories are called, by what is known now."""
        if has_none(instance):
            known = [name_of(url) for url in clone_urls]
        else:
            followed = self._of(instance)
            known = [followed.names.get(url, name_of(url)) for url in clone_urls]
        return tuple(sorted({name for name in known if name is not None}))

    def begin(self, instance: Sourcegraph) -> None:
        """Have an instance asked for what the first completion needs to know."""
        if not has_none(instance):
            self._of(instance)

    def try_again(self) -> None:
        """What went wrong may be mended: ask again now."""
        for followed in self._followed.values():
            followed.retry()

    def retry(self, instance: Sourcegraph) -> None:
        """Somebody waits: ask again now what could not be asked before."""
        if not has_none(instance):
            self._of(instance).retry()

    async def aclose(self) -> None:
        """Ask no more."""
        self._closed = True
        followed = self._followed.values()
        tasks = [*self._left, *(task for each in followed for task in each.tasks)]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _of(self, instance: Sourcegraph) -> "_Followed":
        who = asker(instance)
        followed = self._followed.get(who)
        if followed is None:
            followed = _Followed(who, self._events, self._version, self._changed, self._pause)
            self._followed[who] = followed
            if not self._closed:
                followed.start()
        self._followed.move_to_end(who)
        while len(self._followed) > MOST_FOLLOWED:
            self._leave(self._followed.popitem(last=False)[1])
        return followed

    def _leave(self, followed: "_Followed") -> None:
        for task in followed.tasks:
            task.cancel()
            self._left.add(task)
            task.add_done_callback(self._left.discard)

    def _changed(self) -> None:
        self.changed()


class _Followed:
    """The rules of one instance, and the names it gives to repositories."""

    def __init__(
        self,
        instance: Sourcegraph,
        events: Events,
        version: Callable[[Sourcegraph], Awaitable[str | None]],
        changed: Callable[[], None],
        pause: Pause,
    ) -> None:
        self._instance = instance
        self._events = events
        self._version = version
        self._changed = changed
        self._pause = pause
        self._failures = 0
        self._wake = asyncio.Event()
        self._following: asyncio.Task[None] | None = None
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._old: set[str] = set()  # names to ask for again when they are needed next
        # Those of which the instance could not be asked, and when it may be asked again.
        self._unnamed: dict[str, float] = {}
        self._verdicts: OrderedDict[tuple[str, ...], bool] = OrderedDict()
        self._answered = asyncio.Event()
        self.filters: Filters | None = None
        self.trouble: CompletionsError | None = None
        self.names: OrderedDict[str, str | None] = OrderedDict()
        """By the clone URL; `None` where the instance knows no such repository, nor do we."""

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """All that runs."""
        following = [] if self._following is None else [self._following]
        return [*following, *self._asking.values()]

    def start(self) -> None:
        """Ask, and ask again for as long as it takes."""
        self._following = asyncio.create_task(self._follow(), name="context filters")

    def retry(self) -> None:
        """Ask now instead of later, where the last answer was none."""
        self._unnamed.clear()
        if self.filters is None and self._answered.is_set():
            self._answered.clear()
            self._wake.set()

    def verdict(self, clone_urls: tuple[str, ...], more_names: tuple[str, ...]) -> Verdict:
        """What the rules say, as far as they are known now."""
        if self.filters is None:
            return Verdict.FAILED if self._answered.is_set() else Verdict.ASKING
        if self.filters.allow_all:
            return Verdict.ALLOWED
        askable = [url for url in clone_urls if name_of(url) is not None]
        if any(url not in self.names for url in askable):
            failed = self._unnamed.keys() & set(askable) - self._asking.keys()
            return Verdict.FAILED if failed else Verdict.ASKING
        names = sorted({name for url in askable if (name := self.names[url]) is not None})
        if not names:
            return Verdict.IN_NO_REPOSITORY
        key = tuple(sorted({*names, *more_names}))
        if key not in self._verdicts:
            self._verdicts[key] = self.filters.allow(key)
            while len(self._verdicts) > MOST_NAMES:
                self._verdicts.popitem(last=False)
        return Verdict.ALLOWED if self._verdicts[key] else Verdict.IGNORED

    async def settled(self, clone_urls: tuple[str, ...]) -> None:
        """Wait for the rules, and for what the instance calls these repositories."""
        await self._answered.wait()
        if self.filters is None or self.filters.allow_all:
            return
        now = asyncio.get_running_loop().time()
        for url in clone_urls:
            wanted = url not in self.names or url in self._old
            wanted = wanted and self._unnamed.get(url, now) <= now
            if wanted and url not in self._asking and name_of(url) is not None:
                task = asyncio.create_task(self._ask_name(url), name="repository name")
                self._asking[url] = task
                task.add_done_callback(partial(self._asked, url))
        # Not the tasks themselves: whoever waits may be cancelled, and others wait as well.
        asking = [
            self._asking[url] for url in clone_urls if url in self._asking and url not in self.names
        ]
        if asking:
            await asyncio.wait(asking)

    def _asked(self, url: str, _: asyncio.Task[None]) -> None:
        del self._asking[url]

    async def _follow(self) -> None:
        while True:
            before = self.filters
            seconds = await self._ask()
            self._answered.set()
            self._old.update(self.names)
            if self.filters != before:
                self._verdicts.clear()
                self._changed()
            self._wake.clear()
            await self._pause(self._wake, seconds)

    async def _ask(self) -> float:
        """Ask for the rules once; returns in how many seconds to do so again."""
        trouble: CompletionsError | None = None
        filters: Filters | None = None
        try:
            filters = filters_in(self._instance, await self._read(question(self._instance)))
        except CompletionsError as error:
            filters, trouble = without_an_answer(error), error
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing may be sent
            trouble = ProviderError(f"The context filters failed ({type(error).__name__}).")
        if filters is None or not filters.allow_all:
            try:
                if is_too_old(await self._version(self._instance)):
                    filters = ALLOW_ALL
            except CompletionsError as error:
                log.info("Not known: the version (%s)", error)
        self.filters = filters
        if filters is not None:
            self.trouble, self._failures = None, 0
            return LASTS
        assert trouble is not None
        log.info("Nothing is sent, since the context filters are not known: %s", trouble)
        self.trouble = self._explained(trouble)
        self._failures += 1
        if wants_second_factor(trouble):
            return SIGNING_IN
        return min(AGAIN * 1.5 ** min(self._failures - 1, 50), LASTS)

    async def _ask_name(self, url: str) -> None:
        """Ask what a repository is called; where the instance does not know it, we do."""
        name = name_of(url)
        self._unnamed[url] = asyncio.get_running_loop().time() + AGAIN
        try:
            said = await self._read(name_question(self._instance, without_password(url)))
            name = name_in(said) or name
        except Refused as error:
            # An instance without that page has no names of its own; one in trouble may have.
            if error.reply is None or error.reply.status not in (400, 404, 405):
                log.info("Not known: what a repository is called (%s)", error)
                return
        except CompletionsError as error:
            log.info("Not known: what a repository is called (%s)", error)
            return
        self._old.discard(url)
        self._unnamed.pop(url, None)
        news = url not in self.names or self.names[url] != name
        self.names[url] = name
        self.names.move_to_end(url)
        while len(self.names) > MOST_NAMES:
            self._old.discard(self.names.popitem(last=False)[0])
        if news:
            self._changed()

    async def _read(self, request: HttpRequest) -> str:
        body = ""
        async with aclosing(self._events(request, TIMEOUTS)) as said:
            async for event in said:
                body += event.data
        return body

    def _explained(self, error: CompletionsError) -> CompletionsError:
        if isinstance(error, Refused) and error.reply is not None:
            return self._instance.refusal(error.reply)
        return error


async def _pause(woken: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await woken.wait()
