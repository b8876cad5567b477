"""What Sourcegraph instances say about themselves: asked in the background, remembered, renewed.

A completion waits for it the first time at most, and not for long: what an instance does not say,
or says too late, is not known, and a completion goes ahead without.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing

from lsp_completions.errors import CompletionsError, Refused
from lsp_completions.providers.base import Event, HttpRequest
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.providers.sourcegraph_pages import FIRST, Question, further, learned
from lsp_completions.providers.sourcegraph_site import Site, switched_off, unknown
from lsp_completions.transport import Timeouts

log = logging.getLogger(__name__)

# As the vendor's own client allows; only the first completion waits, and less than that.
TIMEOUTS = Timeouts(connect=5.0, first_event=20.0, total=20.0)
PATIENCE = 2.0  # seconds that a completion waits at most, of the seven it may take
LASTS = 3600.0  # seconds; an administrator's change is seen within the hour
AGAIN = 60.0  # seconds after a failure; twice as long after each further one
MOST = 16  # accounts remembered; a token that is renewed every hour is another one each time
OFF_LASTS = 300.0  # seconds; whoever had it switched on again waits for it


class Sites:
    """All that is known of the instances asked. Belongs to one event loop.

    `events` sends a request, as `Transport.events` does. `patience` is how many seconds whoever
    wants to know waits, counted from the first question on.
    """

    def __init__(
        self,
        events: Callable[[HttpRequest, Timeouts], AsyncGenerator[Event, None]],
        *,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._events = events
        self._patience = patience
        self._clock = clock
        self._known: dict[Sourcegraph, _Inquiry] = {}
        self._closed = False

    def known(self, instance: Sourcegraph) -> Site:
        """What is known by now; has the rest asked, and what is old asked again."""
        return self._inquiry(instance).site

    async def site(self, instance: Sourcegraph, *, at_most: float | None = None) -> Site:
        """What is known of `instance`, waiting a little where nobody asked it before.

        `at_most` is for whoever has less patience: how many seconds to wait from now on.
        """
        inquiry = self._inquiry(instance)
        left = inquiry.began + self._patience - self._clock()
        if at_most is not None:
            left = min(left, at_most)
        if inquiry.task is not None and not inquiry.answered and left > 0:
            # Not the task itself: whoever waits may be cancelled, and others wait for it as well.
            await asyncio.wait({inquiry.task}, timeout=left)
        return inquiry.site

    def forget(self, instance: Sourcegraph) -> None:
        """Something it said is not so any more: it is asked again when it is needed next."""
        if (inquiry := self._known.get(asker(instance))) is not None:
            inquiry.due = self._clock()

    def retry(self, instance: Sourcegraph) -> None:
        """The way to it may be another one: what failed is asked again when it is needed next."""
        if (inquiry := self._known.get(asker(instance))) is not None and inquiry.failures:
            inquiry.due = self._clock()

    async def aclose(self) -> None:
        """Ask no more."""
        self._closed = True
        tasks = [inquiry.task for inquiry in self._known.values() if inquiry.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _inquiry(self, instance: Sourcegraph) -> "_Inquiry":
        who = asker(instance)
        inquiry = self._known.get(who)
        if inquiry is None:
            self._make_room()
            inquiry = self._known[who] = _Inquiry(who, self._clock)
        if inquiry.is_due and not self._closed:
            inquiry.start(self._events)
        return inquiry

    def _make_room(self) -> None:
        over = len(self._known) - MOST + 1
        if over > 0:
            idle = [asker for asker, each in self._known.items() if not each.is_going_on]
            for asker in idle[:over]:
                del self._known[asker]


class _Inquiry:
    """The questions to one instance, and what it answered."""

    def __init__(self, instance: Sourcegraph, clock: Callable[[], float]) -> None:
        self._instance = instance
        self._clock = clock
        self.failures = 0
        """How often in a row not all questions were answered."""
        self.site = self._heard = unknown(instance)
        self.answered = False
        """All questions were asked once."""
        self.began = self.due = clock()
        self.task: asyncio.Task[None] | None = None

    @property
    def is_due(self) -> bool:
        """Whether it is time to ask, and nobody is asking."""
        return not self.is_going_on and self._clock() >= self.due

    @property
    def is_going_on(self) -> bool:
        """Whether it is being asked."""
        return self.task is not None and not self.task.done()

    def start(self, events: Callable[[HttpRequest, Timeouts], AsyncGenerator[Event, None]]) -> None:
        """Ask everything, in a task of its own."""
        # Who says that it is old while it is being asked is heard when that has ended.
        self.due = self._clock() + LASTS
        self.task = asyncio.create_task(self._ask_all(events), name="site")

    async def _ask_all(
        self, events: Callable[[HttpRequest, Timeouts], AsyncGenerator[Event, None]]
    ) -> None:
        # Apart, so that an older instance is asked each time what only older ones are.
        self._heard = unknown(self._instance)

        async def ask(questions: Iterable[Question]) -> bool:
            return all(await asyncio.gather(*[self._ask(events, each) for each in questions]))

        heard = await ask(FIRST)
        heard = await ask(further(self._heard)) and heard
        self.answered = True
        self.failures = 0 if heard else self.failures + 1
        if not heard:
            again = min(AGAIN * 2 ** (self.failures - 1), LASTS)
            self.due = min(self.due, self._clock() + again)
        if switched_off(self.site) is not None:
            self.due = min(self.due, self._clock() + OFF_LASTS)

    async def _ask(
        self,
        events: Callable[[HttpRequest, Timeouts], AsyncGenerator[Event, None]],
        question: Question,
    ) -> bool:
        """Ask one question; false where it may be answered another time."""
        answer = ""
        try:
            async with aclosing(events(question.request(self._instance), TIMEOUTS)) as said:
                async for event in said:
                    answer += event.data
        except CompletionsError as error:
            log.info("Not known of %s: %s (%s)", self.site.host, question.about, error)
            # An older instance has no such page, and will not have it in a minute.
            reply = error.reply if isinstance(error, Refused) else None
            return reply is not None and reply.status in (404, 405)
        heard = learned(self._heard, question, answer)
        if heard is None:
            log.info("Not known of %s: %s", self.site.host, question.about)
        else:
            self._heard = heard
            self.site = heard.or_else(self.site)
        return True


def asker(instance: Sourcegraph) -> Sourcegraph:
    """Who asks whom, without what is asked for: that is what the answers are for."""
    return Sourcegraph(
        endpoint=instance.endpoint,
        token=instance.token,
        headers=instance.headers,
        client_name=instance.client_name,
        client_version=instance.client_version,
    )
