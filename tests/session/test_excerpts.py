"""Excerpts on their way into a prompt: asked for when it is made, and cut to what a model reads."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace

import pytest

from lsp_completions.completer import complete
from lsp_completions.generations import Generations
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import Suggested
from lsp_completions.pipeline.prompt import Excerpt
from lsp_completions.providers.base import Event, HttpRequest, Limits
from lsp_completions.providers.local import LIMITS
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.request import ExcerptQuery, Request, at_hand
from lsp_completions.secret import Secret
from lsp_completions.settings import resolve
from tests.support.cursor import cursor

PROVIDER = Sourcegraph(endpoint="http://127.0.0.1:1", token=Secret("t"), api_version=2)
LONG = "x = 1\n" * 2000


@dataclass
class Shelf:
    """Code from elsewhere, as much of it as is asked for."""

    asked: list[int] = field(default_factory=list)
    is_decided: bool = False

    async def decided(self, query: ExcerptQuery) -> None:
        await asyncio.sleep(0)
        self.is_decided = True

    def excerpts(self, query: ExcerptQuery) -> Sequence[Excerpt]:
        assert self.is_decided
        chars = query.chars
        self.asked.append(chars)
        return [Excerpt(path="b.py", text="§" * (chars - 60))] if chars > 60 else []


async def prompt_of(drawn: str, shelf: Shelf, provider: Sourcegraph, **settings: object) -> str:
    requests: list[HttpRequest] = []

    async def stream(request: HttpRequest) -> AsyncGenerator[Event, None]:
        requests.append(request)
        yield Event(name="completion", data=json.dumps({"deltaText": "42\n"}))

    text, offset = cursor(drawn)
    document = Document.open("file:///w/a.py", "python", 1, text)
    generations = Generations(stream)
    outcome = await complete(
        Request(
            document=document,
            offset=offset,
            path="a.py",
            settings=resolve([("test", settings)])[0],
            provider=at_hand(provider),
            current=lambda: document,
            elsewhere=shelf,
        ),
        generations,
    )
    await generations.aclose()
    assert isinstance(outcome, Suggested)
    prompt: str = json.loads(requests[0].body)["messages"][0]["text"]
    return prompt


@pytest.mark.parametrize(
    ("provider", "settings", "chars"),
    [
        pytest.param(PROVIDER, {}, 1256, id="the usual"),
        pytest.param(replace(PROVIDER, limits=Limits(excerpt_chars=5000)), {}, 5000, id="more"),
        pytest.param(replace(PROVIDER, limits=LIMITS), {}, 0, id="none for the small model"),
        pytest.param(PROVIDER, {"excerptChars": 0}, 0, id="none by the settings"),
        pytest.param(PROVIDER, {"excerptChars": 3000}, 3000, id="as the settings say"),
    ],
)
async def test_as_many_as_the_model_reads(
    provider: Sourcegraph, settings: dict[str, object], chars: int
) -> None:
    shelf = Shelf()
    prompt = await prompt_of("x = <cursor>\n", shelf, provider, **settings)
    assert shelf.asked == [chars]
    assert prompt.count("§") == max(chars - 60, 0)


@pytest.mark.parametrize("model", ["deepseek-coder-v2-lite-base", "claude-3-haiku", "starcoder"])
async def test_beside_a_long_document_they_have_room(model: str) -> None:
    prompt = await prompt_of(f"{LONG}x = <cursor>\n{LONG}", Shelf(), replace(PROVIDER, form=model))
    assert prompt.count("§") > 1100
    assert prompt.count("x = 1\n") > 650


async def test_without_excerpts_nothing_of_the_document_is_lost() -> None:
    usual = await prompt_of(f"{LONG}x = <cursor>\n{LONG}", Shelf(), PROVIDER)
    without = await prompt_of(f"{LONG}x = <cursor>\n{LONG}", Shelf(), PROVIDER, excerptChars=0)
    assert without.count("x = 1") == usual.count("x = 1")
