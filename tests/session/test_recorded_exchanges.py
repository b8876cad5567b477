"""What real instances sent, over the real transport, cut into pieces in every way."""

import itertools
import json
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest

from lsp_completions.errors import CompletionsError, Refused
from lsp_completions.pipeline.prompt import Prompt
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.secret import Secret
from lsp_completions.transport import Timeouts, Transport
from tests.support.asking import opened
from tests.support.extra import extra_cases
from tests.support.raw_http import RawServer, Reply, chunked, head

PATIENT = Timeouts(connect=30, first_event=30, total=30)
PROMPT = Prompt(text="x = ")
STEP = 53  # all of them take minutes, and say the same; each body begins at another one
FILES = ("cases/recorded_code_exchanges.jsonl", "cases/recorded_config_exchanges.jsonl")


def streams() -> list[dict[str, Any]]:
    """The recorded answers that are streams of a completion."""
    return [
        row
        for name in FILES
        for row in extra_cases(name)
        if "/.api/completions/" in row["url"]
        and row["status"] == 200
        and row["response_headers"]["content-type"].startswith("text/event-stream")
    ]


def in_pieces(row: dict[str, Any], sizes: list[int]) -> Reply:
    """The recorded body in chunks that end at these places."""
    body = row["response_body"].encode()
    content_type = row["response_headers"]["content-type"]
    bounds = [0, *sizes, len(body)]
    parts = [body[start:end] for start, end in itertools.pairwise(bounds)]
    return [
        head(f"Content-Type: {content_type}", "Transfer-Encoding: chunked"),
        *(chunked(part, end=False) for part in parts if part),
        chunked(),
    ]


def recorded_text(row: dict[str, Any]) -> str:
    """The text in a recorded body, read the plainest way there is."""
    text = ""
    for line in row["response_body"].split("\n"):
        if line.startswith("data: {"):
            value = json.loads(line.removeprefix("data: "))
            text = value.get("completion", text) + value.get("deltaText", "")
    return text


async def said(transport: Transport, instance: Sourcegraph) -> str:
    text = ""
    request = instance.request(PROMPT, max_tokens=8)
    async with aclosing(transport.events(request, PATIENT)) as events:
        async for event in events:
            if (chunk := instance.chunk(event)) is not None:
                text = chunk.text if chunk.cumulative else text + chunk.text
    return text


class Replaying:
    """One server for all recorded bodies; what is set is what it sends next."""

    def __init__(self, server: RawServer, transport: Transport) -> None:
        self._server = server
        self._transport = transport
        self._instance = Sourcegraph(endpoint=server.url, token=Secret("t"))

    async def replay(self, row: dict[str, Any], sizes: list[int]) -> str:
        self._server.replies = [in_pieces(row, sizes)]
        return await said(self._transport, self._instance)


def ways(row: dict[str, Any], first: int) -> Iterator[list[int]]:
    """Whole; each byte for itself; in two parts, at some of the places."""
    length = len(row["response_body"].encode())
    yield []
    yield list(range(1, length))
    for place in range(1 + first % STEP, length, STEP):
        yield [place]


async def test_recorded_streams_give_their_text_however_they_are_cut() -> None:
    replayed = 0
    async with RawServer([]) as server, opened() as transport:
        replaying = Replaying(server, transport)
        for number, row in enumerate(streams()):
            if "event: error" in row["response_body"]:
                continue
            expected = recorded_text(row)
            for sizes in ways(row, number):
                assert await replaying.replay(row, sizes) == expected, (row["id"], sizes[:1])
                replayed += 1
    assert replayed > 300


async def test_recorded_errors_are_told_however_they_are_cut() -> None:
    rows = [row for row in streams() if "event: error" in row["response_body"]]
    async with RawServer([]) as server, opened() as transport:
        replaying = Replaying(server, transport)
        for number, row in enumerate(rows):
            for sizes in ways(row, number):
                with pytest.raises(CompletionsError) as caught:
                    await replaying.replay(row, sizes)
                assert isinstance(caught.value, Refused)
    assert rows
