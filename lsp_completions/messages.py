"""What the user sees of the server beside suggestions: sentences, questions, progress."""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from functools import partial

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp_completions.configuration.in_force import Question
from lsp_completions.convert import Client
from lsp_completions.errors import CompletionsError
from lsp_completions.protocol import Server
from lsp_completions.visible import one_line

logger = logging.getLogger(__name__)

SEND, DO_NOT_SEND = "Send", "Don't send"

# Their one line for messages is empty again at the next key, so one that comes amid typing is never
# read. It waits for a pause.
FORGETS_AT_THE_NEXT_KEY = ("helix",)
PAUSE = 1.0  # seconds without a key
MOST_PATIENCE = 60.0  # seconds


class Messages:
    """Speaks through the editor, in the ways it has announced. `client` is known later."""

    def __init__(self, server: Server) -> None:
        self.client = Client()
        self._server = server
        self._said: set[str] = set()
        self._typed = 0.0
        self._waiting: set[asyncio.Task[None]] = set()
        self._progressing: dict[asyncio.Task[None], str] = {}
        self.on_long: Callable[[], None] = lambda: None
        """Called when `takes_long` is another."""

    @property
    def takes_long(self) -> str:
        """What is waited for, as a sentence; empty where nothing is."""
        return next(iter(self._progressing.values()), "")

    def warn(self, sentence: str) -> None:
        """Something the user should know."""
        self._say(types.MessageType.Warning, sentence)

    def inform(self, sentence: str) -> None:
        """Something the user may like to know."""
        self._say(types.MessageType.Info, sentence)

    def answer(self, sentence: str) -> None:
        """What came of a command."""
        self._show(types.MessageType.Info, sentence)

    def typed(self) -> None:
        """The user has just typed something."""
        self._typed = time.monotonic()

    def _say(self, kind: types.MessageType, sentence: str) -> None:
        if self.client.name not in FORGETS_AT_THE_NEXT_KEY:
            self._show(kind, sentence)
            return
        task = asyncio.create_task(self._show_in_a_pause(kind, sentence), name="message")
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    def _show(self, kind: types.MessageType, sentence: str) -> None:
        message = f"lsp-completions: {one_line(sentence)}"  # editors keep logs, too
        self._server.window_show_message(types.ShowMessageParams(kind, message))

    async def _show_in_a_pause(self, kind: types.MessageType, sentence: str) -> None:
        ends = time.monotonic() + MOST_PATIENCE
        self.typed()
        while (left := min(self._typed + PAUSE, ends) - time.monotonic()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(left)
        self._show(kind, sentence)

    async def ask(self, question: Question, *, instead: Callable[[str], None]) -> bool | None:
        """Ask about a host; `None` where no answer comes.

        Where the editor has no buttons, `instead` is given what holds until the user acts.
        """
        if not self.client.message_actions:
            instead(question.refusal)
        message = f"lsp-completions: {question.words}"
        actions = [types.MessageActionItem(title) for title in (SEND, DO_NOT_SEND)]
        asked = types.ShowMessageRequestParams(types.MessageType.Warning, message, actions)
        try:
            answer = await self._server.window_show_message_request_async(asked)
        except JsonRpcException as error:
            logger.info("The editor cannot ask: %s", error.message)
            return None
        return None if answer is None else answer.title == SEND

    def show_until(self, ends: Callable[[], Awaitable[object]], sentence: str) -> None:
        """Show that something takes long, until it ends, where editors show that."""
        shows = self.client.work_done_progress
        work = self._progress(ends, sentence) if shows else _ended(ends)
        task = asyncio.create_task(work, name="progress")
        self._progressing[task] = sentence
        self.on_long()
        task.add_done_callback(self._is_over)

    def _is_over(self, task: asyncio.Task[None]) -> None:
        self._progressing.pop(task, None)
        if not task.cancelled():
            self.on_long()

    def show_loading(self, sentence: str, loading: "asyncio.Task[None]") -> None:
        """Ollama loads its model: show it until it is there, or say it once."""
        self.show_until(partial(asyncio.wait, [loading]), sentence)
        if not self.client.work_done_progress and sentence not in self._said:
            self._said.add(sentence)
            self.inform(f"{sentence}. Suggestions come when it is there.")

    async def _progress(self, ends: Callable[[], Awaitable[object]], sentence: str) -> None:
        token = f"lsp-completions-{uuid.uuid4()}"
        progress = self._server.work_done_progress
        try:
            await progress.create_async(token)
        except JsonRpcException as error:
            logger.info("The editor shows no progress: %s", error.message)
            return
        progress.begin(token, types.WorkDoneProgressBegin(title=sentence))
        try:
            await _ended(ends)
        finally:
            progress.end(token, types.WorkDoneProgressEnd())

    async def aclose(self) -> None:
        """Show nothing any more."""
        waiting = (*self._progressing, *self._waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _ended(ends: Callable[[], Awaitable[object]]) -> None:
    with contextlib.suppress(CompletionsError):  # told by the request that waits for it
        await ends()
