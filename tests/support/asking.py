"""Putting a question to a server through a `Transport`."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from lsp_completions.errors import (
    CompletionsError,
    TimedOut,
    Unreachable,
)
from lsp_completions.providers.base import Event, HttpRequest
from lsp_completions.transport import Timeouts, Transport
from lsp_completions.transport.connections import ReapingPool
from lsp_completions.transport.network import Network
from tests.support.raw_http import RawServer, Reply

SECRET = "sgp_0123456789abcdef"
PATIENT = Timeouts(connect=30, first_event=30, total=30)
SHORT = Timeouts(connect=30, first_event=0.1, total=30)


def ask(url: str, **changes: Any) -> HttpRequest:
    headers = (("Authorization", f"token {SECRET}"), ("Content-Type", "application/json"))
    return HttpRequest(**{"url": url, "body": b"{}", "headers": headers, **changes})


async def read(
    transport: Transport, request: HttpRequest, timeouts: Timeouts = PATIENT
) -> list[Event]:
    async with aclosing(transport.events(request, timeouts)) as events:
        return [event async for event in events]


async def read_from(*replies: Reply, timeouts: Timeouts = PATIENT, **changes: Any) -> list[Event]:
    """Put one question to a server with these replies."""
    async with RawServer(*replies) as server, opened() as transport:
        return await read(transport, ask(server.url, **changes), timeouts)


class opened:  # noqa: N801 - used as a function
    """A transport that is closed in the end."""

    def __init__(self, *, ca_file: str | None = None, **options: Any) -> None:
        if ca_file is not None:
            options["network"] = Network(ca_file=ca_file)
        self._transport = Transport(**options)

    async def __aenter__(self) -> Transport:
        return self._transport

    async def __aexit__(self, *exc: object) -> None:
        await self._transport.aclose()


async def pool_of(transport: Transport) -> ReapingPool:
    (pool,) = (await transport.prepared()).pools
    return pool


def texts(events: Sequence[Event]) -> list[str]:
    return [event.data for event in events]


ONE = b'event: completion\ndata: {"deltaText":"a"}\n\n'
DONE = b"event: done\ndata: {}\n\n"


async def reason(url: str, timeouts: Timeouts = PATIENT, **options: Any) -> str:
    """Why `url` cannot be reached."""
    error = await failure(url, timeouts, **options)
    assert isinstance(error, Unreachable | TimedOut)
    return str(error)


async def failure(url: str, timeouts: Timeouts = PATIENT, **options: Any) -> CompletionsError:
    """What goes wrong on the way to `url`."""
    async with opened(**options) as transport:
        with pytest.raises(CompletionsError) as caught:
            await read(transport, ask(url), timeouts)
    assert not any(SECRET in repr(error) for error in everything_behind(caught.value))
    return caught.value


def everything_behind(error: BaseException | None) -> Iterator[BaseException]:
    if error is not None:
        yield error
        yield from everything_behind(error.__cause__)
        yield from everything_behind(error.__context__)


async def eventually(reached: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not reached():  # noqa: ASYNC110 - nothing to be told by
            await asyncio.sleep(0.001)
