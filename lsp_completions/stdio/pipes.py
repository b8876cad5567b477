"""The threads that read from the editor and write to it, so that neither can stop the event loop.

Memory is bounded by not reading: while the editor leaves our answers lying, or the loop is behind,
its requests wait in the pipe. What we say on stderr is dropped when nobody reads it.
"""

import asyncio
import io
import os
import sys
import threading
from collections import deque
from collections.abc import Callable

from lsp_completions.stdio.framing import Frames

CHUNK = 64 * 1024  # a pipe's size on Linux: what was written at once arrives at once

MAX_UNREAD = 16 * 1024 * 1024
"""Bytes the editor may leave unread before we stop reading from it."""

MAX_UNREAD_STDERR = 256 * 1024

MAX_BATCHES = 64  # read and not yet looked at by the loop


def take_pipes() -> tuple[int, int]:
    """File descriptors for reading from and writing to the editor, ours alone.

    What anybody writes to stdout goes to stderr from now on, and who reads stdin finds it empty.
    """
    binary = getattr(os, "O_BINARY", 0)
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR | binary)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a stderr
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
    os.close(nothing)
    for descriptor in (incoming, outgoing):
        if sys.platform == "win32":
            import msvcrt

            msvcrt.setmode(descriptor, os.O_BINARY)
        else:
            os.set_blocking(descriptor, True)  # Node.js hands its children pipes that do not block
    return incoming, outgoing


class Writer:
    """Writes to a pipe from a thread of its own; `write` never waits."""

    def __init__(
        self,
        descriptor: int,
        *,
        on_broken: Callable[[], None] = lambda: None,
        max_unread: int = MAX_UNREAD,
    ) -> None:
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._max_unread = max_unread
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._unread = 0  # bytes
        self._broken = False
        self.has_room = threading.Event()
        """Clear while too much is unread."""
        self.has_room.set()

    def start(self) -> None:
        """Begin to write."""
        threading.Thread(target=self._run, name="writer", daemon=True).start()

    def write(self, data: bytes) -> None:
        """Write `data` whole, after all before it. Called from any thread."""
        with self._changed:
            if self._broken:
                return
            self._waiting.append(data)
            self._unread += len(data)
            if self._unread > self._max_unread:
                self.has_room.clear()
            self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait until everything is written; False when that took too long."""
        with self._changed:
            return self._changed.wait_for(lambda: self._unread == 0 or self._broken, timeout)

    def close(self) -> None:
        """End the thread once everything is written, and close the pipe."""
        with self._changed:
            self._waiting.append(b"")
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            while (data := self._next()) is not None:
                view = memoryview(data)
                while view:
                    view = view[os.write(self._descriptor, view) :]
                with self._changed:
                    self._unread -= len(data)
                    if self._unread <= self._max_unread // 2:
                        self.has_room.set()
                    self._changed.notify_all()
        except OSError:
            with self._changed:
                self._broken = True
                self._waiting.clear()
                self._changed.notify_all()
            self.has_room.set()
            self._on_broken()
        finally:
            os.close(self._descriptor)

    def _next(self) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting)
            data = self._waiting.popleft()
            # Small messages that wait together are written together.
            while data and self._waiting and self._waiting[0] and len(data) < CHUNK:
                data += self._waiting.popleft()
            return data or None


class Stderr(io.TextIOBase):
    """stderr for an editor that may not read it: what finds no room is lost, and nobody waits."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self._writer = Writer(os.dup(2), max_unread=MAX_UNREAD_STDERR)
        self._writer.start()

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, text: str) -> int:
        """Write `text`, or lose it."""
        if self._writer.has_room.is_set():
            self._writer.write(text.encode("utf-8", "backslashreplace"))
        return len(text)

    def finish(self, timeout: float) -> None:
        """Wait until everything is written, or `timeout` is over."""
        self._writer.flush(timeout)


class Reader:
    """Reads from the editor in a thread of its own and hands messages to the loop.

    What one read returned is handed over in one call, so that a request and its cancellation that
    were written together are seen together.
    """

    def __init__(
        self,
        descriptor: int,
        *,
        on_messages: Callable[[list[object]], None],
        on_end: Callable[[], None],
        may_read: threading.Event,
    ) -> None:
        """`on_messages` is called in the loop, `on_end` in the reading thread after the last."""
        self._descriptor = descriptor
        self._on_messages = on_messages
        self._on_end = on_end
        self._may_read = may_read
        self._batches = threading.Semaphore(MAX_BATCHES)
        self._frames = Frames()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to read."""
        threading.Thread(target=self._run, args=(loop,), name="reader", daemon=True).start()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while data := os.read(self._descriptor, CHUNK):
                if messages := self._frames.feed(data):
                    self._batches.acquire()
                    loop.call_soon_threadsafe(self._deliver, messages)
                self._may_read.wait()
        except (OSError, RuntimeError):  # the pipe is broken, or the loop is closed
            pass
        finally:
            os.close(self._descriptor)
            self._on_end()

    def _deliver(self, messages: list[object]) -> None:
        self._batches.release()
        self._on_messages(messages)
