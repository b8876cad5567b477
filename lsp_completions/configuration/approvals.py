"""Asks the user whether code may go to a host, once each, and remembers the answer."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from lsp_completions.configuration.in_force import Question
from lsp_completions.configuration.trust import trust
from lsp_completions.errors import ConfigurationError

logger = logging.getLogger(__name__)

Ask = Callable[[Question], Awaitable[bool | None]]
"""Puts a question to the user: yes, no, or `None` where no answer comes."""


class Approvals:
    """What was approved of, now and before, here and elsewhere.

    `tell` shows a sentence; `changed` is called when a host was approved of.
    """

    def __init__(
        self,
        ask: Ask,
        tell: Callable[[str], None],
        changed: Callable[[], None],
        folder: Path | None = None,
    ) -> None:
        self._ask = ask
        self._tell = tell
        self._changed = changed
        self._folder = folder
        self._remembered: frozenset[str] = frozenset()
        self._now: set[str] = set()
        self._refused: set[str] = set()
        self._asked: dict[str, asyncio.Task[None]] = {}

    @property
    def origins(self) -> frozenset[str]:
        """The hosts approved of."""
        return self._remembered | self._now

    @property
    def is_open(self) -> bool:
        """Whether the user is being asked."""
        return any(not task.done() for task in self._asked.values())

    def adopt(self, remembered: frozenset[str]) -> None:
        """Take over what is remembered on disk; what was taken back there counts no more."""
        self._remembered = remembered

    def consider(self, question: Question) -> None:
        """Ask, if that host was not asked about before; say what holds, unless it was refused."""
        if (task := self._asked.get(question.origin)) is None:
            task = asyncio.create_task(self._settle(question), name="approval")
            self._asked[question.origin] = task
        elif task.done() and question.origin not in self._refused:
            self._tell(question.refusal)

    async def _settle(self, question: Question) -> None:
        answer = await self._ask(question)
        if answer is None:
            self._tell(question.refusal)
        elif not answer:
            self._refused.add(question.origin)
        else:
            try:
                await asyncio.to_thread(trust, question.origin, self._folder)
                self._remembered |= {question.origin}
            except ConfigurationError as error:
                self._now.add(question.origin)
                self._tell(f"Code is sent to {question.origin} until this editor ends. {error}")
            self._changed()

    async def aclose(self) -> None:
        """Wait for no more answers."""
        for task in self._asked.values():
            task.cancel()
        for result in await asyncio.gather(*self._asked.values(), return_exceptions=True):
            if isinstance(result, Exception):
                logger.error("asking for approval failed: %s", type(result).__name__)
