"""llama.cpp's own server with a small model: what the stand-in says is what it says."""

from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace

import pytest

from lsp_completions.errors import NotAuthorized, Refused
from lsp_completions.generations import Generation, Generations
from lsp_completions.pipeline.prompt import Prompt
from lsp_completions.providers.base import Event, HttpRequest, Provider
from lsp_completions.providers.llama_cpp import LlamaCpp
from lsp_completions.providers.openai import OpenAI
from lsp_completions.secret import Secret
from lsp_completions.transport import Timeouts, Transport
from tests.support.llama_server import KEY, running_llama_server
from tests.support.reading import said_by

# A shared machine may have much else to do.
PATIENT = Timeouts(connect=300, first_event=300, total=300)
PROMPT = Prompt(text="def add(a, b):\n    return", prefix="def add(a, b):\n    return")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_llama_server() as url:
        yield url


@pytest.fixture
async def transport() -> AsyncGenerator[Transport, None]:
    transport = Transport()
    yield transport
    await transport.aclose()


@pytest.fixture
def provider(url: str) -> LlamaCpp:
    return LlamaCpp(url=url, key=Secret(KEY), temperature=0.0)


async def answered(
    transport: Transport, provider: Provider, prompt: Prompt = PROMPT, max_tokens: int = 16
) -> Generation:
    """A stream that was read to its end."""

    def events(request: HttpRequest) -> AsyncGenerator[Event, None]:
        return transport.events(request, PATIENT)

    generation = Generations(events).start(provider, prompt, max_tokens=max_tokens)
    await said_by(generation)
    return generation


async def test_a_model_without_the_tokens_goes_on_from_the_cursor(
    transport: Transport, provider: LlamaCpp
) -> None:
    generation = await answered(transport, provider, replace(PROMPT, stop_sequences=("\n",)))
    assert (generation.said, generation.finish) == (" a + b", "stop")


async def test_it_streams(transport: Transport, provider: LlamaCpp) -> None:
    prompt = replace(PROMPT, stop_sequences=("\n",))
    request = replace(provider, infill=False).request(prompt, max_tokens=16)
    assert len([event async for event in transport.events(request, PATIENT)]) > 2


async def test_all_at_once(transport: Transport, provider: LlamaCpp) -> None:
    prompt = replace(PROMPT, stop_sequences=("\n",))
    whole = replace(provider, infill=False, stream=False)
    generation = await answered(transport, whole, prompt)
    assert (generation.said, generation.finish) == (" a + b", "stop")


async def test_where_the_limit_cut_it_off(transport: Transport, provider: LlamaCpp) -> None:
    assert (await answered(transport, provider, max_tokens=2)).finish == "length"


async def test_the_end_repeats_no_prompt(transport: Transport, provider: LlamaCpp) -> None:
    request = replace(provider, infill=False).request(PROMPT, max_tokens=2)
    events = [event.data async for event in transport.events(request, PATIENT)]
    assert "def add" not in "".join(events)


async def test_another_key(transport: Transport, provider: LlamaCpp) -> None:
    with pytest.raises(NotAuthorized, match="does not accept the API key"):
        await answered(transport, replace(provider, key=Secret("another")))


async def test_a_prompt_that_is_too_long(transport: Transport, provider: LlamaCpp) -> None:
    with pytest.raises(Refused, match="too long"):
        await answered(transport, provider, Prompt(text="x = 1\n" * 500, prefix="x = 1\n" * 500))


async def test_another_path(transport: Transport, provider: LlamaCpp) -> None:
    with pytest.raises(Refused, match="no completions API at"):
        await answered(transport, replace(provider, url=f"{provider.url}/elsewhere"))


async def test_it_speaks_openai_s_api_too(transport: Transport, provider: LlamaCpp) -> None:
    openai = OpenAI(url=provider.url, key=provider.key, temperature=0.0)
    generation = await answered(transport, openai, replace(PROMPT, stop_sequences=("\n",)))
    assert (generation.said, generation.finish) == (" a + b", "stop")
