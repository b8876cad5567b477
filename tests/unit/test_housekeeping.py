"""Memory is given back once nothing has happened for a while, and not before."""

import asyncio
import gc
import inspect
import pkgutil
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lsp_completions import housekeeping, pipeline
from lsp_completions.housekeeping import QUIET, SETTLED, Housekeeping
from lsp_completions.service import CACHES


class Clock:
    """A loop as far as it tells the time and calls back."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, Callable[[], object]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, call: Callable[[], object]) -> SimpleNamespace:
        self._due.append((self.now + seconds, call))
        return SimpleNamespace()

    def turn(self, seconds: float) -> None:
        until = self.now + seconds
        while due := [each for each in self._due if each[0] <= until]:
            first = min(due, key=lambda each: each[0])
            self._due.remove(first)
            self.now = first[0]
            first[1]()
        self.now = until

    @property
    def waits(self) -> bool:
        return bool(self._due)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    told: list[str] = []
    monkeypatch.setattr(housekeeping, "settle", lambda: told.append("settled"))
    monkeypatch.setattr("gc.collect", lambda: told.append("garbage"))
    monkeypatch.setattr(housekeeping, "_trim", lambda: lambda _: told.append("pages"))
    return told


def begun(clock: Clock, done: list[str]) -> Housekeeping:
    loop = cast(asyncio.AbstractEventLoop, clock)
    keeping = Housekeeping(loop, [lambda: done.append("caches")])
    clock.turn(SETTLED)
    assert done == ["settled"]
    done.clear()
    return keeping


def test_it_is_done_once_after_the_last_message(done: list[str]) -> None:
    clock = Clock()
    keeping = begun(clock, done)
    for _ in range(5):
        keeping.noticed()
        clock.turn(QUIET - 0.1)
    assert done == []
    clock.turn(0.1)
    assert done == ["caches", "garbage", "pages"]
    clock.turn(10 * QUIET)
    assert done == ["caches", "garbage", "pages"]
    assert not clock.waits


def test_it_is_done_again_after_what_happens_later(done: list[str]) -> None:
    clock = Clock()
    keeping = begun(clock, done)
    for _ in range(2):
        keeping.noticed()
        clock.turn(QUIET)
    assert done == ["caches", "garbage", "pages"] * 2


def test_where_nothing_happens_nothing_is_done(done: list[str]) -> None:
    clock = Clock()
    begun(clock, done)
    clock.turn(10 * QUIET)
    assert done == []


def test_other_allocators_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert housekeeping._trim.__wrapped__() is None


def test_pages_are_given_back_where_it_is_glibc_s() -> None:
    if (trim := housekeeping._trim.__wrapped__()) is not None:
        assert trim(0) in (0, 1)


def test_no_cache_keeps_the_text_of_a_document() -> None:
    kept = {each.__wrapped__ for each in CACHES}
    assert kept == {each.__wrapped__ for each in _caches() if _holds_texts(each)}


def _caches() -> list[Any]:
    modules = [
        import_module(each.name)
        for each in pkgutil.walk_packages(pipeline.__path__, f"{pipeline.__name__}.")
    ]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if hasattr(value, "cache_clear") and value.__module__ == module.__name__
    ]


def _holds_texts(cached: Any) -> bool:
    parameters = inspect.signature(cached.__wrapped__).parameters
    return not parameters.keys().isdisjoint({"text", "context", "document"})


def test_garbage_is_looked_for_as_usual_once_all_is_there() -> None:
    before = gc.get_threshold()
    try:
        gc.set_threshold(5_000, 1_000, 1_000)
        housekeeping.settle()
        assert gc.get_threshold()[1:] == (10, 10)
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
