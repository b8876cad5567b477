"""One completion without an editor: what is shown on the way, and what in the end."""

import asyncio
from collections.abc import Sequence

import pytest

from lsp_completions.errors import Interrupted, SwitchedOff
from lsp_completions.oneshot import Answer, Cursor, complete_once
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.outcome import Skipped, SkipReason, Suggested
from lsp_completions.settings import resolve
from tests.support.cursor import apply, cursor
from tests.support.model_servers import LlamaCppServer, ModelServer, OllamaServer, OpenAIServer
from tests.support.raw_http import CLOSE, HOLD
from tests.support.sourcegraph import TOKEN, StandIn
from tests.support.sourcegraph import Answer as Said
from tests.support.sourcegraph.pages import CLIENT_CONFIG, NEW, config


class Run:
    """One completion at a cursor drawn in; `seen` are the documents shown, each when it changed."""

    def __init__(self, drawn: str) -> None:
        self.text, offset = cursor(drawn)
        document = Document.open("file:///w/a.py", "python", None, self.text)
        self.cursor = Cursor(document=document, offset=offset, path="a.py")
        self.seen: list[str] = []
        self._waiting: dict[str, asyncio.Event] = {}

    def opens(self, seen: str) -> asyncio.Event:
        """What is set as soon as this is to be seen."""
        return self._waiting.setdefault(seen, asyncio.Event())

    async def complete(self, server: ModelServer | StandIn) -> Answer:
        given: dict[str, str]
        if isinstance(server, StandIn):
            given = {"endpoint": server.url, "accessToken": TOKEN}
        else:
            given = {"provider": server.provider, "url": server.url, "model": server.model}
        settings, problems = resolve([("the test", given)])
        assert not problems
        return await complete_once(
            self.cursor,
            settings,
            show=self._show,
            report=pytest.fail,
            progress=pytest.fail,
        )

    def _show(self, edit: Edit) -> None:
        seen = apply(self.text, edit)
        if self.seen[-1:] != [seen]:
            self.seen.append(seen)
        if (event := self._waiting.get(seen)) is not None:
            event.set()


@pytest.mark.parametrize("server_of", [LlamaCppServer, OllamaServer, OpenAIServer])
async def test_it_is_shown_as_it_comes(server_of: type[ModelServer]) -> None:
    run = Run("x = foo(<cursor>)\n")
    gates = [run.opens("x = foo(a)\n"), run.opens("x = foo(a, b)\n")]
    async with server_of("a", gates[0], ", b", gates[1], ", c)") as server:
        answer = await run.complete(server)
    assert run.seen[:2] == ["x = foo(a)\n", "x = foo(a, b)\n"]
    assert isinstance(answer.outcome, Suggested)
    assert apply(run.text, answer.outcome.edits[0]) == "x = foo(a, b, c)\n"
    assert answer.provider == server.provider
    assert 0 <= answer.first_text <= answer.total


async def test_a_second_question_is_followed_as_well() -> None:
    """A model that cannot fill in the middle refuses the first."""
    run = Run("x = <cursor>\n")
    gate = run.opens("x = 1\n")
    async with LlamaCppServer("1", gate, " + 2\n", fills_in=False) as server:
        answer = await run.complete(server)
    assert len(server.asked) == 2
    assert run.seen[0] == "x = 1\n"
    assert isinstance(answer.outcome, Suggested)
    assert answer.outcome.edits[0].new_text == "1 + 2"


async def test_no_part_of_a_marker_is_shown() -> None:
    run = Run("x = <cursor>\n")
    async with LlamaCppServer("1", "<|", "fim_", "middle", "|>", "more") as server:
        await run.complete(server)
    assert set(run.seen) <= {"x = 1\n"}


async def test_what_broke_off() -> None:
    run = Run("x = <cursor>\n")
    async with LlamaCppServer("1", run.opens("x = 1\n"), CLOSE) as server:
        with pytest.raises(Interrupted):
            await run.complete(server)
    assert run.seen == ["x = 1\n"]


@pytest.mark.parametrize("said", [[""], [" "], ["\n"]])
async def test_nothing_is_never_shown(said: Sequence[str]) -> None:
    run = Run("x = <cursor>\n")
    async with LlamaCppServer(*said) as server:
        answer = await run.complete(server)
    assert run.seen == []
    assert answer.outcome == Skipped(reason=SkipReason.EMPTY)
    assert answer.first_text == answer.total


async def test_where_it_cannot_be_shown_nobody_waits_for_the_rest() -> None:
    run = Run("x = <cursor>\n")

    def fails(edit: Edit) -> None:
        raise BrokenPipeError

    run._show = fails  # type: ignore[method-assign]
    async with LlamaCppServer("1", HOLD) as server:
        with pytest.raises(BrokenPipeError):
            await run.complete(server)


async def test_an_instance_is_asked_as_it_says() -> None:
    run = Run("x = <cursor>\n")
    async with StandIn(Said("1 + 2\n"), pages=NEW) as instance:
        answer = await run.complete(instance)
    assert answer.model == "fireworks/starcoder"
    assert instance.completions[0].query["api-version"] == "2"
    assert isinstance(answer.outcome, Suggested)


async def test_nothing_is_shown_early_where_its_origin_is_checked() -> None:
    run = Run("x = <cursor>\n")
    pages = {**NEW, CLIENT_CONFIG: config(attribution="enforced")}
    async with StandIn(Said("1", " + 2\n", 0.1, "y\n"), pages=pages) as instance:
        answer = await run.complete(instance)
    assert isinstance(answer.outcome, Suggested)
    assert run.seen == []


async def test_one_that_is_switched_off() -> None:
    run = Run("x = <cursor>\n")
    pages = {**NEW, CLIENT_CONFIG: config(codyEnabled=False)}
    async with StandIn(pages=pages) as instance:
        with pytest.raises(SwitchedOff):
            await run.complete(instance)
