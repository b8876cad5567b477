"""Ollama's model, loaded by a request that waits for it.

Ollama gives up loading when whoever asked hangs up, as completions do after some seconds or at the
next key: a model that takes longer would never be there.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from lsp_completions.errors import CompletionsError, TimedOut
from lsp_completions.providers.base import Event, HttpRequest, Provider
from lsp_completions.providers.ollama import Ollama

logger = logging.getLogger(__name__)

LONGEST = 120.0  # seconds; a large model comes from a cold disk
SHOWN_AFTER = 0.5  # seconds; a model that is there answers within milliseconds

Open = Callable[[HttpRequest, float], AsyncGenerator[Event, None]]
"""Opens the stream of a request that may take so many seconds."""


class ModelLoading:
    """Loads a model in the background, once for each that is in force; other providers have none.

    `show` is given a sentence when it takes a while, and the task whose end is the end of it.
    """

    def __init__(
        self, open_stream: Open, show: Callable[[str, "asyncio.Task[None]"], None]
    ) -> None:
        self._open_stream = open_stream
        self._show = show
        self._asked: HttpRequest | None = None
        self._task: asyncio.Task[None] | None = None
        self._left: set[asyncio.Task[None]] = set()

    def begin(self, provider: Provider | None) -> None:
        """Have the model loaded, unless it has been already. Returns at once."""
        if isinstance(provider, Ollama) and provider.preparation() != self._asked:
            self._start(provider)

    def again(self, provider: Provider | None) -> None:
        """The same, after an answer that came too late: the model may have been unloaded."""
        if isinstance(provider, Ollama) and (self._task is None or self._task.done()):
            self._start(provider)

    async def wait(self, provider: Provider, patience: float) -> None:
        """Wait until the model can be asked; raises `TimedOut` after `patience` seconds.

        What goes wrong is for the request itself to tell, and to be left alone for.
        """
        self.begin(provider)
        task = self._task
        if not isinstance(provider, Ollama) or task is None or task.done():
            return
        await asyncio.wait([task], timeout=patience)
        if not task.done():
            raise TimedOut(
                f"{provider.host} is still loading the model {provider.model}. Suggestions come "
                "when it is there."
            )

    async def aclose(self) -> None:
        """Give it up."""
        self._leave()
        if self._left:
            await asyncio.wait(self._left)

    def _start(self, provider: Ollama) -> None:
        self._leave()
        self._asked = request = provider.preparation()
        self._task = task = asyncio.create_task(self._load(request), name="model loading")
        task.add_done_callback(self._ended)
        sentence = f"Loading the model {provider.model}"
        shows = asyncio.get_running_loop().call_later(SHOWN_AFTER, self._show, sentence, task)
        task.add_done_callback(lambda _: shows.cancel())

    async def _load(self, request: HttpRequest) -> None:
        async with aclosing(self._open_stream(request, LONGEST)) as events:
            async for _ in events:
                pass

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._left.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        kind = error if isinstance(error, CompletionsError) else type(error).__name__
        logger.info("The model was not loaded: %s", kind)

    def _leave(self) -> None:
        if self._task is not None and not self._task.done():
            self._left.add(self._task)
            self._task.cancel()
