"""Every provider through the whole way, transport and all, against its stand-in.

What a Sourcegraph instance is promised holds for all of them.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pytest

from lsp_completions.completer import complete
from lsp_completions.errors import (
    Interrupted,
    NotAuthorized,
    ProviderError,
    Refused,
    TimedOut,
    UnexpectedReply,
    Unreachable,
)
from lsp_completions.generations import Generations
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import Suggested
from lsp_completions.pipeline.prompt import Prompt
from lsp_completions.providers.base import Event, HttpRequest, Limits, Provider
from lsp_completions.providers.choice import provider_for
from lsp_completions.providers.llama_cpp import LlamaCpp
from lsp_completions.providers.local import Local
from lsp_completions.request import Request, at_hand
from lsp_completions.settings import Settings, resolve
from lsp_completions.transport import Timeouts, Transport
from tests.support.cursor import apply, cursor
from tests.support.model_servers import (
    KEY,
    SERVERS,
    LlamaCppServer,
    ModelServer,
    OllamaServer,
    OpenAIServer,
)
from tests.support.raw_http import CLOSE, HOLD, RESET, RawServer, Reply, Step, sse, whole
from tests.support.reading import said_by

PROMPT = Prompt(text="x = ", prefix="x = ", suffix="\ny\n")
PATIENT = Timeouts(connect=30, first_event=30, total=30)


class Instance(ModelServer):
    """A Sourcegraph instance in as far as it is a model server like the others."""

    provider = "sourcegraph"
    model = ""
    paths = ()

    def reply(self, request: Any) -> Reply:
        return self.stream("")

    def piece(self, text: str) -> object:
        return {"deltaText": text}

    def end(self) -> list[object]:
        return [{"deltaText": "", "stopReason": self.finish}]

    def framed(self, value: object) -> bytes:
        return b"event: completion\n" + super().framed(value)

    def mark(self) -> bytes:
        return b"event: done\ndata: {}\n\n"

    def failure(self, message: str) -> object:
        return {"error": message}


class Starts(Protocol):
    provider: Any

    def __call__(self, *said: str | Step, **options: Any) -> ModelServer: ...


EVERY = pytest.mark.parametrize("start", [Instance, *SERVERS], ids=lambda start: start.provider)
OWN = pytest.mark.parametrize("start", SERVERS, ids=lambda start: start.provider)


def settings_for(server: ModelServer, **more: object) -> Settings:
    raw: dict[str, object] = {"provider": server.provider, "url": server.url, "model": server.model}
    if server.provider == "mistral":
        raw["model"] = "codestral-latest"
    if server.key is not None:
        raw["apiKey"] = server.key
    if isinstance(server, Instance):
        raw = {"endpoint": server.url, "accessToken": "sgp_x", "apiVersion": 2}
    settings, problems = resolve([("here", {**raw, **more})])
    assert problems == ()
    return settings


def provider_at(server: ModelServer, **more: object) -> Provider:
    provider = provider_for(settings_for(server, **more), local_available=False)
    assert not isinstance(provider, Local)
    return provider


@dataclass
class Way:
    """To the servers and back."""

    transport: Transport
    generations: Generations
    timeouts: Timeouts = PATIENT

    def events(self, request: HttpRequest) -> AsyncGenerator[Event, None]:
        return self.transport.events(request, self.timeouts)

    async def text(self, provider: Provider, prompt: Prompt = PROMPT) -> str:
        """All that is said, to the end."""
        generation = self.generations.start(provider, prompt, max_tokens=8)
        said = await said_by(generation)
        await generation.task
        return said

    async def lost(self) -> list[object]:
        """The connections that are neither free nor gone although nobody is using any."""
        (pool,) = (await self.transport.prepared()).pools
        return [one for one in pool.connections if not (one.is_idle() or one.is_closed())]


@asynccontextmanager
async def opened(timeouts: Timeouts = PATIENT) -> AsyncGenerator[Way, None]:
    transport = Transport()
    way = Way(transport, Generations(lambda request: way.events(request)), timeouts)
    try:
        yield way
    finally:
        await way.generations.aclose()
        await transport.aclose()


@EVERY
async def test_text_comes_while_the_model_writes(start: Starts) -> None:
    gate = asyncio.Event()
    async with start("a", "é😀", gate, "b\n") as server, opened() as way:
        generation = way.generations.start(provider_at(server), PROMPT, max_tokens=8)
        assert await said_by(generation, "aé😀") == "aé😀"
        gate.set()
        assert await said_by(generation) == "aé😀b\n"
        assert generation.finish == "stop"


@EVERY
async def test_a_text_that_was_cut_off_says_so(start: Starts) -> None:
    async with start("a", finish="length") as server, opened() as way:
        generation = way.generations.start(provider_at(server), PROMPT, max_tokens=8)
        await generation.task
        assert generation.finish == "length"


@OWN
async def test_all_at_once(start: Starts) -> None:
    async with start("a", "b") as server, opened() as way:
        assert await way.text(provider_at(server, stream=False)) == "ab"


@EVERY
async def test_one_connection_serves_them_all(start: Starts) -> None:
    async with start("a") as server, opened() as way:
        provider = provider_at(server)
        for _ in range(3):
            assert await way.text(provider) == "a"
        assert server.connections == 1


@EVERY
async def test_an_answer_that_is_left_early_ends_there(start: Starts) -> None:
    async with start("a", HOLD) as server, opened() as way:
        generation = way.generations.start(provider_at(server), PROMPT, max_tokens=8)
        await said_by(generation, "a")
        generation.close()
        await server.until(lambda: server.open == 0)
        assert await way.lost() == []


@EVERY
async def test_an_answer_that_has_not_begun_ends_too(start: Starts) -> None:
    async with start(HOLD) as server, opened() as way:
        generation = way.generations.start(provider_at(server), PROMPT, max_tokens=8)
        # What nobody waits for is given up.
        with generation.reading():
            await server.until(lambda: server.requests)
        generation.close()
        await server.until(lambda: server.open == 0)
        assert await way.lost() == []


@EVERY
@pytest.mark.parametrize(
    ("end", "kind"),
    [(CLOSE, Interrupted), (RESET, Interrupted)],
    ids=["closed", "reset"],
)
async def test_an_answer_that_breaks_off(start: Starts, end: Step, kind: type[Exception]) -> None:
    gate = asyncio.Event()
    async with start("a", gate, end) as server, opened() as way:
        generation = way.generations.start(provider_at(server), PROMPT, max_tokens=8)
        assert await said_by(generation, "a") == "a"
        gate.set()
        with pytest.raises(kind):
            await said_by(generation)


@EVERY
async def test_an_answer_that_never_comes(start: Starts) -> None:
    timeouts = Timeouts(connect=30, first_event=0.1, total=30)
    async with start(HOLD) as server, opened(timeouts) as way:
        with pytest.raises(TimedOut):
            await way.text(provider_at(server))
        await server.until(lambda: server.open == 0)


@OWN
async def test_an_error_in_the_middle(start: Starts) -> None:
    async with start("a", fails="the slot was lost") as server, opened() as way:
        generation = way.generations.start(provider_at(server), PROMPT, max_tokens=8)
        with pytest.raises(Refused, match="the slot was lost"):
            await said_by(generation)
        assert generation.said == "a"


@OWN
async def test_the_key_opens_and_another_does_not(start: Starts) -> None:
    async with start("a", key=KEY) as server, opened() as way:
        assert await way.text(provider_at(server)) == "a"
        with pytest.raises(NotAuthorized, match="does not accept"):
            await way.text(provider_at(server, apiKey="another"))
        if server.provider != "mistral":
            server.key, key = None, server.key
            keyless = provider_at(server)
            server.key = key
            with pytest.raises(NotAuthorized, match="wants an API key"):
                await way.text(keyless)


@pytest.mark.parametrize("start", [start for start in SERVERS if start.provider != "llama.cpp"])
async def test_a_model_it_does_not_have(start: Starts) -> None:
    async with start("a") as server, opened() as way:
        with pytest.raises(Refused, match="does not have the model qwen9"):
            await way.text(provider_at(server, model="qwen9"))


@OWN
async def test_nobody_is_there(start: Starts) -> None:
    async with start("a") as server:
        provider = provider_at(server)
    async with opened() as way:
        with pytest.raises(Unreachable, match="is it running"):
            await way.text(provider)


@EVERY
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        pytest.param(whole(b"<html>", content_type="text/html"), UnexpectedReply, id="a page"),
        pytest.param(whole(b"hello", content_type="text/plain"), UnexpectedReply, id="a text"),
        pytest.param(whole(b"{}"), UnexpectedReply, id="an object"),
        pytest.param(sse(b"data: {\n\n"), ProviderError, id="an event that is none"),
        pytest.param(whole(b"", status="500 No"), Refused, id="a failure"),
        pytest.param(whole(b"<html>", status="404 No"), Refused, id="another path"),
    ],
)
async def test_something_else_is_there(start: Starts, reply: Reply, kind: type[Exception]) -> None:
    async with RawServer(reply) as server, opened() as way:
        provider = provider_at(start(port=server.port))
        with pytest.raises(kind) as raised:
            await way.text(provider)
        assert str(raised.value).endswith((".", "?"))
        assert f"127.0.0.1:{server.port}" in str(raised.value)


@pytest.mark.parametrize(
    ("start", "model"),
    [
        pytest.param(
            start, None if start.provider == "llama.cpp" else "own-model", id=start.provider
        )
        for start in SERVERS
        if start.provider != "mistral"
    ],
)
async def test_a_model_that_cannot_fill_in_goes_on_from_the_cursor(
    start: Starts, model: str | None
) -> None:
    async with start("a", fills_in=False) as server, opened() as way:
        provider = provider_at(server, model=model)
        for _ in range(2):
            assert await way.text(provider) == "a"
        assert len(server.bodies) == 3, "asked for once"
        assert server.bodies[1]["prompt"] == server.bodies[2]["prompt"] == "x = "
        assert not {"suffix", "input_suffix"} & server.bodies[2].keys()


@EVERY
async def test_no_connection_is_lost_whenever_the_reader_leaves(start: Starts) -> None:
    dice = random.Random(1)
    async with start("a", "b", HOLD) as server, opened() as way:
        provider = provider_at(server)
        for number in range(120):
            server.said = ("a", "b", HOLD) if number % 2 else ("a", "b")
            generation = way.generations.start(provider, PROMPT, max_tokens=8)
            reader = asyncio.create_task(said_by(generation, "ab?"[: dice.randrange(4)]))
            for _ in range(dice.randrange(60)):
                await asyncio.sleep(0)
            reader.cancel()
            generation.close()
            with contextlib.suppress(asyncio.CancelledError, ProviderError):
                await reader
        server.said = ("a",)
        assert await way.text(provider) == "a"
        await way.generations.aclose()
        assert await way.lost() == []
        await server.until(lambda: server.open <= 1)


@EVERY
@pytest.mark.parametrize(
    ("drawn", "said", "expected"),
    [
        pytest.param("x = f(<cursor>)\n", ["a", ", b", ")\n", "y"], "x = f(a, b)\n", id="a line"),
        pytest.param(
            "def f():<cursor>\n\n\ny = 1\n",
            ["\n    a = 1", "\n    return a\n", "\n\ny"],
            "def f():\n    a = 1\n    return a\n\n\ny = 1\n",
            id="a block",
        ),
    ],
)
async def test_a_suggestion_is_the_same_from_all_of_them(
    start: Starts, drawn: str, said: list[str], expected: str
) -> None:
    text, offset = cursor(drawn)
    document = Document.open("file:///w/a.py", "python", 1, text)
    async with start(*said) as server, opened() as way:
        outcome = await complete(
            Request(
                document=document,
                offset=offset,
                path="a.py",
                settings=settings_for(server),
                provider=at_hand(provider_at(server)),
                current=lambda: document,
            ),
            way.generations,
        )
    assert isinstance(outcome, Suggested)
    assert apply(text, outcome.edits[0]) == expected


async def test_a_provider_s_limits_hold_where_the_settings_say_nothing() -> None:
    document = Document.open("file:///w/a.py", "python", 1, "# " + "x" * 500 + "\ndef f():\n    ")
    limits = Limits(prefix_chars=100, suffix_chars=10, max_tokens=5, multiline=False)
    for more, length, tokens, lines in (
        ({}, 100, 5, 1),
        ({"prefixChars": 50, "maxTokens": 7, "multiline": "always"}, 50, 7, 2),
    ):
        async with LlamaCppServer("a = 1", "\n    b = 2\n") as server, opened() as way:
            provider = provider_at(server, **more)
            assert isinstance(provider, LlamaCpp)
            outcome = await complete(
                Request(
                    document=document,
                    offset=document.length,
                    path="a.py",
                    settings=settings_for(server, **more),
                    provider=at_hand(replace(provider, limits=limits)),
                    current=lambda: document,
                ),
                way.generations,
            )
            (body,) = server.bodies
        assert len(body["input_prefix"]) <= length
        assert body["n_predict"] == tokens
        assert isinstance(outcome, Suggested)
        assert outcome.edits[0].new_text.count("=") == lines


async def test_ollama_loads_a_model_when_asked_to() -> None:
    async with OllamaServer() as server, opened() as way:
        provider: Any = provider_at(server, keepAlive="1h")
        async with aclosing(way.events(provider.preparation())) as events:
            assert [provider.chunk(event) async for event in events]
        assert server.bodies == [{"model": server.model, "stream": False, "keep_alive": "1h"}]


async def test_a_prompt_that_is_too_long() -> None:
    long = Prompt(text="x" * 50_000, prefix="x" * 50_000)
    async with OpenAIServer("a") as server, opened() as way:
        with pytest.raises(Refused, match="too long"):
            await way.text(provider_at(server), long)
