"""What is started once and serves many tests, such as an editor: one of each kind."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Generic, TypeVar

Kind = TypeVar("Kind", bound=Hashable)
It = TypeVar("It")


class Shared(Generic[Kind, It]):
    """Those that run. `start` starts one, and `kill` ends one that may not end by itself."""

    def __init__(
        self,
        start: Callable[[Kind], AbstractContextManager[It]],
        kill: Callable[[It], None],
    ) -> None:
        self._start = start
        self._kill = kill
        self._running: dict[Kind, tuple[It, ExitStack]] = {}

    @contextmanager
    def using(self, kind: Kind, *, once: bool = False) -> Iterator[It]:
        """One of this kind. After something went wrong the next is new, and after `once`."""
        if kind not in self._running:
            stack = ExitStack()
            self._running[kind] = stack.enter_context(self._start(kind)), stack
        it, stack = self._running[kind]
        try:
            yield it
        except BaseException:
            del self._running[kind]
            self._kill(it)
            with suppress(AssertionError, OSError):
                stack.close()
            raise
        if once:
            del self._running[kind]
            stack.close()

    def close(self) -> None:
        """End all that run."""
        with ExitStack() as all_of_them:
            for _, stack in self._running.values():
                all_of_them.enter_context(stack)
