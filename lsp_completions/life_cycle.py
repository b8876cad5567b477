"""The life of the process: it ends at once when nobody needs it, with nothing left running.

`LifeCycle.serve` owns the event loop, the editor's pipes and the end; what is said over the pipes
is its peer's business.
"""

import _thread
import asyncio
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NoReturn, Protocol

from lsp_completions.errors import CompletionsError
from lsp_completions.housekeeping import Housekeeping
from lsp_completions.stdio import (
    Reader,
    Stderr,
    Writer,
    frame,
    take_pipes,
    when_gone,
    when_orphaned,
)

_log = logging.getLogger(__name__)

CLEAN_UP = 1.0  # seconds for everything in `on_stop`
FLUSH = 0.3  # seconds for the last answers to leave
STUCK = 2.5  # seconds after which the process ends even if the loop does not come round


class Peer(Protocol):
    """Who listens and speaks; called in the event loop."""

    send: Callable[[bytes], None]
    """Set before anything is received: the body of one message."""

    @property
    def exit_code(self) -> int:
        """The process's, where nothing else decides it."""

    def receive(self, messages: list[object]) -> None:
        """Deal with what arrived: JSON values and `Damage`."""

    def close(self) -> set[asyncio.Future[Any]]:
        """Listen no more; return what is still cleaning up."""


class LifeCycle:
    """One process, from its first message to its end."""

    def __init__(self) -> None:
        self._peer: Peer | None = None
        self._on_stop: Sequence[Callable[[], Awaitable[object]]] = ()
        self._on_rest: Sequence[Callable[[], object]] = ()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Future[int | None] | None = None

    def serve(
        self,
        peer: Peer,
        on_stop: Sequence[Callable[[], Awaitable[object]]],
        *,
        editor_pid: int | None = None,
        on_rest: Sequence[Callable[[], object]] = (),
    ) -> NoReturn:
        """Serve on stdin and stdout until the end, then end the process.

        Exit code 0 after `shutdown`, 1 without, 128 + n after signal n.
        The end comes with `exit`, end of input, a signal, or the death of the editor: the process
        that `initialize` names, `editor_pid`, or the one that started us.
        `on_rest` is called while nothing happens.
        """
        self._peer, self._on_stop, self._on_rest = peer, on_stop, on_rest
        code = 1
        try:
            incoming, outgoing = take_pipes()
            _replace_stderr()
            _replace_hooks()
            loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
            code = loop.run_until_complete(self._serve(peer, incoming, outgoing, editor_pid))
        except BaseException as error:  # noqa: BLE001 - said here, since the process ends below
            _log.critical("the server ends: %s", trace(error))
        finally:
            _leave(code)

    def watch(self, pid: int) -> None:
        """End when process `pid` ends, provided it can be seen from here."""
        if pid == os.getppid():
            return  # watched from the start
        when_gone(pid, partial(self.stop, None, f"the editor, process {pid}, has ended"))

    def stop(self, code: int | None, reason: str) -> None:
        """Begin to end the process. Called from any thread, and in a signal handler."""
        _thread.start_new_thread(self._leave_later, (code,))  # takes no lock we may hold
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._end, code, reason)

    def _leave_later(self, code: int | None) -> None:
        time.sleep(STUCK)
        os._exit(self._exit_code(code))

    def _end(self, code: int | None, reason: str) -> None:
        if self._ending is not None and not self._ending.done():
            _log.info("the server ends: %s", reason)
            self._ending.set_result(code)

    async def _serve(self, peer: Peer, incoming: int, outgoing: int, editor_pid: int | None) -> int:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(_on_loop_error)
        self._ending = self._loop.create_future()
        self._catch_signals()
        when_orphaned(partial(self.stop, None, "the process that started it has ended"))
        if editor_pid is not None:
            self.watch(editor_pid)

        writer = Writer(outgoing, on_broken=partial(self.stop, None, "the editor hung up"))
        housekeeping = Housekeeping(self._loop, self._on_rest)

        def receive(messages: list[object]) -> None:
            housekeeping.noticed()
            peer.receive(messages)

        reader = Reader(
            incoming,
            on_messages=receive,
            on_end=partial(self.stop, None, "end of input"),
            may_read=writer.has_room,
        )
        peer.send = lambda body: writer.write(frame(body))
        writer.start()
        reader.start(self._loop)

        code = await self._ending
        await self._clean_up(peer)
        writer.flush(FLUSH)
        return self._exit_code(code)

    def _exit_code(self, code: int | None) -> int:
        if code is not None:
            return code
        return 1 if self._peer is None else self._peer.exit_code

    async def _clean_up(self, peer: Peer) -> None:
        waiting: set[asyncio.Future[Any]] = set(peer.close())
        waiting |= {asyncio.ensure_future(_settled(hook)) for hook in self._on_stop}
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=CLEAN_UP)
            if late:
                _log.warning("%d things were still running at the end", len(late))

    def _catch_signals(self) -> None:
        caught: list[int] = []

        def on_signal(number: int, _frame: object) -> None:
            if caught:
                os._exit(128 + number)  # asked twice
            caught.append(number)
            self.stop(128 + number, signal.Signals(number).name)

        for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), on_signal)


class Lines(str):
    """Lines that are ours, down to the last letter: a log may show them as several."""

    __slots__ = ()


def trace(error: BaseException) -> str:
    """What `error` is and where it came from; its words only where they are ours, free of code."""
    if isinstance(error, CompletionsError):
        return str(error)
    lines = traceback.format_tb(error.__traceback__, -8)
    cause = error.__cause__ or error.__context__
    after = f" after {type(cause).__name__}" if cause is not None else ""
    return Lines("\n".join([f"{type(error).__name__}{after}", *(line.rstrip() for line in lines)]))


async def _settled(hook: Callable[[], Awaitable[object]]) -> None:
    try:
        await hook()
    except Exception as error:  # noqa: BLE001 - the others still have their turn
        _log.error("cleaning up failed: %s", trace(error))


def _on_loop_error(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    # A callback's arguments are told behind its name.
    where = str(context.get("message", "an error in the event loop")).partition("(")[0]
    _log.error("%s: %s", where, trace(error) if error is not None else "no exception")


def _replace_hooks() -> None:
    """Of exceptions that nobody can catch Python writes every word, and those may be code."""

    def uncaught(found: Any) -> None:
        if found.exc_value is not None and found.exc_type is not SystemExit:
            _log.error("nobody caught: %s", trace(found.exc_value))

    threading.excepthook = sys.unraisablehook = uncaught


def _replace_stderr() -> None:
    """Let nobody wait for an editor that does not read our stderr: neither prints nor logs."""
    before = sys.stderr
    sys.stdout = sys.stderr = Stderr()
    for logger in (logging.getLogger(), logging.getLogger("lsp_completions")):
        for handler in logger.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is before:
                handler.setStream(sys.stderr)


def _leave(code: int) -> NoReturn:
    """End the process without waiting for anybody's threads."""
    logging.shutdown()
    if isinstance(sys.stderr, Stderr):
        sys.stderr.finish(FLUSH)
    os._exit(code)
