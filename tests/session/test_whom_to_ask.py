"""What an instance refuses once is not asked of it again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import pytest

from lsp_completions.completer import complete
from lsp_completions.errors import Refused
from lsp_completions.generations import Generations
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import Suggested
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.request import Request, at_hand
from lsp_completions.secret import Secret
from lsp_completions.settings import Settings
from lsp_completions.transport import Timeouts, Transport
from tests.support.sourcegraph import TOKEN, Answer, Rules, StandIn

PATIENT = Timeouts(connect=30, first_event=30, total=30)
DOCUMENT = Document.open("file:///w/a.py", "python", 1, "x = ")


OLD = Rules(versions=[1])


@asynccontextmanager
async def opened() -> AsyncIterator[Generations]:
    async with AsyncExitStack() as closing:
        transport = Transport()
        closing.push_async_callback(transport.aclose)
        generations = Generations(lambda request: transport.events(request, PATIENT))
        closing.push_async_callback(generations.aclose)
        yield generations


async def suggested(
    provider: Sourcegraph, generations: Generations, document: Document = DOCUMENT
) -> str:
    outcome = await complete(
        Request(
            document=document,
            offset=document.length,
            path="a.py",
            settings=Settings(),
            provider=at_hand(provider),
            current=lambda: document,
        ),
        generations,
    )
    assert isinstance(outcome, Suggested)
    return outcome.edits[0].new_text


def provider_at(instance: StandIn) -> Sourcegraph:
    return Sourcegraph(endpoint=instance.url, token=Secret(TOKEN), api_version=2)


def versions(instance: StandIn) -> list[str]:
    return [asked.query["api-version"] for asked in instance.completions]


async def test_an_old_instance_is_asked_in_its_version_from_then_on() -> None:
    async with StandIn(Answer("a + b\n"), rules=OLD) as instance, opened() as generations:
        provider = provider_at(instance)
        assert await suggested(provider, generations) == "a + b"
        assert await suggested(provider, generations) == "a + b"
        assert versions(instance) == ["2", "1", "1"]


async def test_an_old_instance_is_asked_in_its_version_by_all_at_once() -> None:
    async with StandIn(Answer("a + b\n"), rules=OLD) as instance, opened() as generations:
        provider = provider_at(instance)
        documents = [replace(DOCUMENT, uri=f"file:///w/{name}.py") for name in "abcd"]
        texts = await asyncio.gather(
            *[suggested(provider, generations, document) for document in documents]
        )
        assert texts == ["a + b"] * 4


async def test_a_refused_model_is_told_once_and_makes_way_for_the_instance_s_own() -> None:
    rules = Rules(models=["fireworks::v1::starcoder"], default_model="fireworks::v1::starcoder")
    async with StandIn(Answer("a + b\n"), rules=rules) as instance, opened() as generations:
        provider = replace(provider_at(instance), model="fireworks/qwen2.5-coder")
        with pytest.raises(Refused, match=r"fireworks/qwen2\.5-coder.*fireworks::v1::starcoder"):
            await suggested(provider, generations)
        assert await suggested(provider, generations) == "a + b"
        refused, answered = instance.completions
        assert "<|fim_prefix|>" in refused.prompt
        assert "model" not in answered.json
        assert answered.prompt.startswith("<filename>a.py<fim_prefix>")
