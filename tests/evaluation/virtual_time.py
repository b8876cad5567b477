"""An event loop whose clock jumps to the next timer: minutes pass in seconds, always the same."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
DAY = 86_400.0  # seconds; nobody types for longer


class NothingWillHappen(RuntimeError):
    """Everybody waits, and no timer is set."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """Sockets and threads have no place here: what is given to a thread is done at once."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self._now

    def pass_by(self, seconds: float) -> None:
        self._now += seconds
        if self._now > DAY:
            raise NothingWillHappen("A day has passed.")

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future


class _Jumping(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise NothingWillHappen("Everybody waits, and no timer is set.")
        if timeout > 0:
            self._loop.pass_by(timeout)
        return super().select(0)


def run(main: Coroutine[Any, Any, T]) -> T:
    """The result of `main`, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
