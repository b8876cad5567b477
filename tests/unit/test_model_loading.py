"""Ollama's model, which takes longer to load than a completion may."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from lsp_completions import model_loading
from lsp_completions.errors import TimedOut, Unreachable
from lsp_completions.model_loading import ModelLoading
from lsp_completions.pipeline.prompt import Prompt
from lsp_completions.providers.base import Event, HttpRequest
from lsp_completions.providers.llama_cpp import LlamaCpp
from lsp_completions.providers.ollama import Ollama
from lsp_completions.transport import Timeouts, Transport
from tests.support.asking import eventually
from tests.support.model_servers import OllamaServer

PROMPT = Prompt(text="x = ", prefix="x = ", suffix="\n")
SHORT = 0.05
PATIENCE = 30.0
STEPS = 3


class Way:
    """To the server and back, as the server of an editor goes it."""

    def __init__(self) -> None:
        self.transport = Transport()
        self.shown: list[str] = []
        self.loading = ModelLoading(self.open, lambda sentence, _: self.shown.append(sentence))

    def open(self, request: HttpRequest, longest: float) -> AsyncGenerator[Event, None]:
        timeouts = Timeouts(connect=PATIENCE, first_event=longest, total=longest)
        return self.transport.events(request, timeouts)

    async def said(self, provider: Ollama, total: float = PATIENCE) -> str:
        request = provider.request(PROMPT, max_tokens=5)
        async with aclosing(self.open(request, total)) as events:
            chunks = [provider.chunk(event) async for event in events]
        return "".join(chunk.text for chunk in chunks if chunk is not None)

    async def __aenter__(self) -> "Way":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.loading.aclose()
        await self.transport.aclose()


def provider_at(server: OllamaServer, **more: Any) -> Ollama:
    return Ollama(url=server.url, model=server.model, **more)


def loads(server: OllamaServer) -> list[Any]:
    return [body for body in server.bodies if "prompt" not in body]


async def test_requests_alone_never_load_it() -> None:
    async with OllamaServer("1", load_steps=STEPS) as server, Way() as way:
        for count in range(1, 2 * STEPS):
            asked = asyncio.create_task(way.said(provider_at(server), SHORT))
            await server.load_on()
            with pytest.raises(TimedOut):
                await asked
            await server.until(lambda count=count: server.given_up == count)
        assert not server.is_loaded


async def test_the_request_after_it_was_loaded_is_answered() -> None:
    async with OllamaServer("1", load_steps=STEPS) as server, Way() as way:
        provider = provider_at(server)
        for _ in range(STEPS - 1):
            with pytest.raises(TimedOut, match=f"still loading the model {server.model}"):
                await way.loading.wait(provider, SHORT)
            await server.load_on()
        waiting = asyncio.create_task(way.loading.wait(provider, PATIENCE))
        await server.load_on()
        await waiting
        assert await way.said(provider, PATIENCE) == "1"
        assert (server.given_up, len(loads(server))) == (0, 1)


async def test_it_is_loaded_once_for_each_way_to_load_it() -> None:
    async with OllamaServer("1") as server, Way() as way:
        for provider in (provider_at(server), provider_at(server, temperature=0.5)):
            for _ in range(3):
                way.loading.begin(provider)
                await way.loading.wait(provider, PATIENCE)
        assert len(loads(server)) == 1
        await way.loading.wait(provider_at(server, keep_alive="1h"), PATIENCE)
        assert [body["keep_alive"] for body in loads(server)[1:]] == ["1h"]
        assert way.shown == []


async def test_it_was_unloaded_meanwhile() -> None:
    async with OllamaServer("1", load_steps=STEPS) as server, Way() as way:
        provider = provider_at(server)
        way.loading.begin(provider)
        await server.load_on(STEPS)
        await way.loading.wait(provider, PATIENCE)
        server.unload()

        with pytest.raises(TimedOut):
            await way.said(provider, SHORT)
        for _ in range(3):
            way.loading.again(provider)
        await server.until(lambda: len(loads(server)) == 2 and len(server.waiting) == 1)
        await server.load_on(STEPS)
        await way.loading.wait(provider, PATIENCE)
        assert await way.said(provider) == "1"
        assert len(loads(server)) == 2


async def test_another_model_is_chosen_while_it_loads() -> None:
    async with OllamaServer("1", load_steps=STEPS) as server, Way() as way:
        way.loading.begin(provider_at(server))
        await server.until(lambda: server.waiting)
        other = Ollama(url=server.url, model="own-model")
        way.loading.begin(other)
        await server.until(lambda: server.given_up == 1 and len(loads(server)) == 2)
        await server.load_on(STEPS)
        await way.loading.wait(other, PATIENCE)


async def test_it_is_given_up_in_the_end() -> None:
    async with OllamaServer("1", load_steps=STEPS) as server:
        async with Way() as way:
            way.loading.begin(provider_at(server))
            await server.until(lambda: server.waiting)
        await server.until(lambda: server.given_up == 1)


async def test_who_waits_is_cancelled_and_loading_goes_on() -> None:
    async with OllamaServer("1", load_steps=STEPS) as server, Way() as way:
        provider = provider_at(server)
        waiting = asyncio.create_task(way.loading.wait(provider, PATIENCE))
        await server.load_on()
        waiting.cancel()
        await asyncio.wait([waiting])
        await server.load_on(STEPS - 1)
        await way.loading.wait(provider, PATIENCE)
        assert (server.given_up, len(loads(server))) == (0, 1)


async def test_what_takes_a_while_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_loading, "SHOWN_AFTER", 0.0)
    async with OllamaServer("1", load_steps=1) as server, Way() as way:
        way.loading.begin(provider_at(server))
        await eventually(lambda: way.shown)
        await server.load_on()
        await way.loading.wait(provider_at(server), PATIENCE)
        assert way.shown == [f"Loading the model {server.model}"]


async def test_nobody_there_and_then_somebody() -> None:
    async with OllamaServer("1") as server:
        port, provider = server.port, provider_at(server)
    async with Way() as way:
        for _ in range(2):
            await way.loading.wait(provider, PATIENCE)
            with pytest.raises(Unreachable):
                await way.said(provider)
        async with OllamaServer("1", port=port, load_steps=STEPS) as server:
            with pytest.raises(TimedOut):
                await way.said(provider, SHORT)
            way.loading.again(provider)
            await server.until(lambda: loads(server))
            await server.load_on(STEPS)
            await way.loading.wait(provider, PATIENCE)
            assert await way.said(provider) == "1"


async def test_it_has_no_such_model() -> None:
    async with OllamaServer("1") as server, Way() as way:
        provider = Ollama(url=server.url, model="another")
        for _ in range(3):
            await way.loading.wait(provider, PATIENCE)
        assert len(loads(server)) == 1, "the request says what is wrong"


async def test_other_providers_load_nothing() -> None:
    async with OllamaServer("1") as server, Way() as way:
        other = LlamaCpp(url=server.url)
        way.loading.begin(other)
        way.loading.again(other)
        way.loading.begin(None)
        await way.loading.wait(other, PATIENCE)
        assert server.requests == []
