"""What is made ready for later requests: tasks that end with their owner, and their threads."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

log = logging.getLogger(__name__)

Result = TypeVar("Result")

Work = Callable[[], Coroutine[None, None, None]]


class Background:
    """Runs what nobody waits for long. Belongs to one event loop."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        # One each: what they do is no hurry, and a dead network drive holds up no more than itself.
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="neighbours")
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="imports")

    def begin(self, work: Work, name: str) -> asyncio.Task[None]:
        """Work that begins now; where it fails, what it was for is left out."""
        task = asyncio.create_task(_logged(work, name), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def computed(self, work: Callable[[], Result]) -> Result:
        """What comes of work that keeps a processor busy."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def from_disk(self, work: Callable[[], Result]) -> Result:
        """What comes of work that waits for a disk."""
        return await asyncio.get_running_loop().run_in_executor(self._disk, work)

    @property
    def is_busy(self) -> bool:
        """Whether something is being made ready."""
        return bool(self._tasks)

    async def aclose(self) -> None:
        """End all of it."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._disk.shutdown(wait=False, cancel_futures=True)


async def _logged(work: Work, name: str) -> None:
    # Without an excerpt a suggestion comes all the same.
    try:
        await work()
    except Exception as error:  # noqa: BLE001
        log.warning("Left out, %s failed (%s).", name, type(error).__name__)
