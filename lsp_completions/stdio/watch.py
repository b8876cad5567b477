"""When a process has ended: the editor may die while somebody else still holds our pipes open."""

import os
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

INTERVAL = 1.5  # seconds between looks, where the system cannot wait for a process


def when_gone(pid: int, call: Callable[[], None]) -> bool:
    """Call `call`, in a thread of its own, once process `pid` has ended.

    False, and no call ever, when `pid` cannot be seen: it belongs to another machine or container.
    """
    if not 0 < pid < 2**31 or not exists(pid):
        return False
    wait = _end_of(pid) or (lambda: _look(lambda: exists(pid)))
    _wait_then(wait, call, name=f"watch {pid}")
    return True


def when_orphaned(call: Callable[[], None]) -> None:
    """Call `call`, in a thread of its own, once the process that started us has ended."""
    parent = os.getppid()
    if parent <= 1:
        return

    def still_there() -> bool:
        # On Windows a parent's id stays the same after its death.
        return os.getppid() == parent and exists(parent)

    wait = _end_of(parent)
    if wait is None or not still_there():
        wait = partial(_look, still_there)
    _wait_then(wait, call, name="watch parent")


def _wait_then(wait: Callable[[], object], call: Callable[[], None], *, name: str) -> None:
    def run() -> None:
        wait()
        call()

    threading.Thread(target=run, name=name, daemon=True).start()


def _look(still_there: Callable[[], bool]) -> None:
    while still_there():
        time.sleep(INTERVAL)


def exists(pid: int) -> bool:
    """Whether there is a process of this number, anybody's."""
    if pid <= 0:
        return False
    if sys.platform == "win32":
        # Not os.kill(pid, 0): there it sends a Ctrl-C, or ends the process.
        handle = _open_process(pid)
        if handle:
            _kernel32.CloseHandle(handle)
        return bool(handle)
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True  # somebody else's process
    except (OSError, OverflowError):
        return False
    return True


# `_end_of` gives a function that returns once the process has ended,
# or None where the system cannot wait for a process that is not a child.

if sys.platform == "win32":
    import ctypes

    _kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel32.OpenProcess.restype = ctypes.c_void_p
    _kernel32.WaitForSingleObject.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    _kernel32.CloseHandle.argtypes = [ctypes.c_void_p]

    def _open_process(pid: int) -> int | None:
        synchronize = 0x00100000
        handle: int | None = _kernel32.OpenProcess(synchronize, False, pid)
        return handle

    def _end_of(pid: int) -> Callable[[], object] | None:
        handle = _open_process(pid)
        infinite = 0xFFFFFFFF
        return partial(_kernel32.WaitForSingleObject, handle, infinite) if handle else None

elif sys.platform == "linux":
    import select

    def _end_of(pid: int) -> Callable[[], object] | None:
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return None  # before Linux 5.3, or forbidden in a sandbox
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return poll.poll

elif sys.platform == "darwin":
    import select

    def _end_of(pid: int) -> Callable[[], object] | None:
        queue = select.kqueue()
        event = select.kevent(
            pid,
            filter=select.KQ_FILTER_PROC,
            flags=select.KQ_EV_ADD | select.KQ_EV_ONESHOT,
            fflags=select.KQ_NOTE_EXIT,
        )
        try:
            queue.control([event], 0)
        except OSError:
            queue.close()
            return None
        return partial(queue.control, None, 1)

else:

    def _end_of(pid: int) -> Callable[[], object] | None:
        return None
