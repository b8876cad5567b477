"""Runs what has an end of its own, and waits for nothing else: some look-ups take minutes."""

import asyncio
import os
import sys
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lsp_completions.cli.exits import Exit

T = TypeVar("T")

PATIENCE = 0.5  # seconds for a thread that is about to end


def run(work: Coroutine[None, None, T]) -> T:
    """What comes of it. Whoever stops it by Ctrl-C is not held up."""

    async def main() -> T:
        asyncio.get_running_loop().set_default_executor(_Impatient())
        return await work

    try:
        return asyncio.run(main())
    except KeyboardInterrupt:
        leave(Exit.STOPPED)
        raise


def leave(code: Exit) -> None:
    """End the process with `code` where a thread would hold it up; else return."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(PATIENCE)
            if thread.is_alive():
                for stream in (sys.stdout, sys.stderr):
                    stream.flush()
                os._exit(code)


class _Impatient(ThreadPoolExecutor):
    """Threads that nobody waits for at the end."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=False, cancel_futures=True)
