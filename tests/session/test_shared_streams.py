"""A stream shared by requests that come and go: what it is good for, and when it is hung up on."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec

import pytest

from lsp_completions import cache
from lsp_completions.asker import ENOUGH_AFTER
from lsp_completions.cache import Place
from lsp_completions.errors import RateLimited
from lsp_completions.generations import LINES_AHEAD, LINGER, UNWANTED
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import Skipped, SkipReason, Suggested
from lsp_completions.pipeline.prompt import Prompt
from lsp_completions.pipeline.uris import document_key
from lsp_completions.providers.base import Event
from tests.evaluation.virtual_time import run
from tests.support.cursor import apply
from tests.support.desk import PROVIDER, Stream
from tests.support.desk import Desk as AnyDesk

P = ParamSpec("P")


class Desk(AnyDesk):
    def __init__(
        self, drawn: str, *, language: str = "python", uri: str = "file:///w/a.py"
    ) -> None:
        super().__init__(drawn)
        self.document = Document.open(uri, language, 1, self.document.text)


def finish(stream: Stream) -> None:
    """The model says that it has no more to say; the connection stays open."""
    data = json.dumps({"deltaText": "", "stopReason": "stop"})
    stream._events.put_nowait(Event(name="completion", data=data))


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """The test, for which no time passes but what it waits."""

    @wraps(test)
    def played(*args: P.args, **kwargs: P.kwargs) -> None:
        run(test(*args, **kwargs))

    return played


async def settled(turns: int = 20) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


@in_virtual_time
async def test_what_is_typed_beyond_the_words_so_far_is_compared_with_those_that_come() -> None:
    desk = Desk("def f():\n    a = <cursor>\n")
    asked = desk.asks()
    stream = await desk.stream()
    stream.says("1\n")
    desk.accepts(await asked)
    # The model has said no more than the line's end, and says another line than this.
    desk.types("\n    if a:\n        ")
    asked = desk.asks()
    await settled()
    stream.says("    return a\n    # the end of it all\n\n")
    stream.ends()
    other = await desk.stream(1)
    other.says("pass\n")
    outcome = await asked
    assert isinstance(outcome, Suggested)
    assert apply(outcome.document.text, outcome.edits[0]) == (
        "def f():\n    a = 1\n    if a:\n        pass\n"
    )


@in_virtual_time
async def test_the_piece_that_follows_is_made_once() -> None:
    desk = Desk("def f():\n    a = <cursor>\n")
    asked = desk.asks()
    stream = await desk.stream()
    stream.says("1\n")
    desk.accepts(await asked)
    key = document_key(desk.document.uri)
    waiting = [desk.asks() for _ in range(5)]
    await settled()
    assert len(desk.memory._pieces[key]) == 2
    stream.says("    return a\n\n")
    stream.ends()
    outcomes = await asyncio.gather(*waiting)
    assert len(set(outcomes)) == 1
    assert isinstance(outcomes[0], Suggested)


@pytest.mark.parametrize(
    ("drawn", "said", "expected"),
    [
        pytest.param("    a = <cursor>\n", "    a = a\n    b = 1\n\n", "\n    b = 1", id="twice"),
        pytest.param("x = <cursor>\n", "1\n1 = 2\n\n", "\n1 = 2", id="first word"),
    ],
)
@in_virtual_time
async def test_what_follows_begins_where_the_suggestion_ends(
    drawn: str, said: str, expected: str
) -> None:
    desk = Desk(drawn)
    asked = desk.asks()
    stream = await desk.stream()
    stream.says(said)
    stream.ends()
    desk.accepts(await asked)
    outcome = await desk.asks()
    assert isinstance(outcome, Suggested)
    assert outcome.edits[0].new_text == expected


@in_virtual_time
async def test_half_a_line_of_a_stream_we_hung_up_on_is_not_shown() -> None:
    desk = Desk("def f():\n    a = <cursor>\n")
    asked = desk.asks()
    stream = await desk.stream()
    lines = [f"    b{line} = 1\n" for line in range(LINES_AHEAD)]
    stream.says("1\n" + "".join(lines) + "\n    ret")
    desk.accepts(await asked)
    await settled()
    assert desk.generations.running(document_key(desk.document.uri)) == []
    for _ in range(LINES_AHEAD + 1):
        asked = desk.asks()
        await settled()
        if not asked.done():
            break
        desk.accepts(await asked)
    assert "ret" not in desk.document.text
    assert len(desk.streams) == 2
    desk.streams[1].ends()
    await asked


@in_virtual_time
async def test_a_reader_that_came_back_has_all_its_time_again() -> None:
    desk = Desk("x = <cursor>\n")
    desk.asks().cancel()
    first = desk.asks()
    stream = await desk.stream()
    first.cancel()
    await asyncio.sleep(UNWANTED * 0.7)
    second = desk.asks()
    await settled()
    second.cancel()
    await asyncio.sleep(UNWANTED * 0.7)
    assert not stream.hung_up.is_set()
    await asyncio.sleep(UNWANTED * 0.4)
    assert stream.hung_up.is_set()


@in_virtual_time
async def test_a_stream_that_nobody_ever_reads_is_closed() -> None:
    desk = Desk("x = <cursor>\n")
    desk.generations.start(desk.provider, Prompt(text="x = "), max_tokens=8)
    stream = await desk.stream()
    await asyncio.sleep(2 * UNWANTED)
    assert stream.hung_up.is_set()
    assert not desk.generations._running


@in_virtual_time
async def test_a_stream_that_lingers_after_its_last_word_has_ended() -> None:
    desk = Desk("x = <cursor>\n")
    asked = desk.asks()
    stream = await desk.stream()
    stream.says("1\n")
    await asked
    (generation,) = desk.generations._running
    finish(stream)
    await asyncio.sleep(2 * LINGER)
    assert stream.hung_up.is_set()
    assert generation.ended
    assert generation.error is None
    assert not desk.generations._running


@in_virtual_time
async def test_what_was_shown_for_want_of_time_is_shown_at_the_next_key_too() -> None:
    desk = Desk("def f():\n    <cursor>\n")
    asked = desk.asks()
    stream = await desk.stream()
    stream.says("a = 1\n    b = 2\n    ret")
    await asyncio.sleep(ENOUGH_AFTER + 0.1)
    before = await asked
    assert isinstance(before, Suggested)
    assert before.edits[0].new_text == "a = 1\n    b = 2"
    for wait in (0.0, 2 * UNWANTED):
        await asyncio.sleep(wait)
        desk.types("a" if not wait else " ")
        began = asyncio.get_running_loop().time()
        outcome = await desk.asks()
        assert isinstance(outcome, Suggested)
        assert apply(outcome.document.text, outcome.edits[0]) == (
            "def f():\n    a = 1\n    b = 2\n"
        )
        assert asyncio.get_running_loop().time() - began < 0.1
    assert len(desk.streams) == 1
    await desk.generations.aclose()


@pytest.mark.parametrize(
    ("said", "typed", "closes", "expected"),
    [
        pytest.param(
            "{\n    return 1;\n}\n", "{\n    ", "\n}", "{\n    return 1;\n}", id="a block"
        ),
        pytest.param(
            "{\n    call(1);\n    return 1;\n}\n",
            "{\n    ca",
            "\n}",
            "{\n    call(1);\n    return 1;\n}",
            id="into the middle",
        ),
    ],
)
@in_virtual_time
async def test_the_line_that_an_editor_closes_a_block_with_stands_once(
    said: str, typed: str, closes: str, expected: str
) -> None:
    desk = Desk("if (x) <cursor>\n", language="javascript")
    asked = desk.asks()
    stream = await desk.stream()
    stream.says(said)
    stream.ends()
    await asked
    desk.types(typed, closes=closes)
    assert await desk.sees() == f"if (x) {expected}\n"
    assert len(desk.streams) == 1


@in_virtual_time
async def test_a_document_that_comes_whole_at_each_key_is_not_kept_whole() -> None:
    desk = Desk("x = <cursor>\n")
    desk.asks()
    await desk.stream()
    (piece,) = desk.memory._pieces[document_key(desk.document.uri)]
    assert not any(isinstance(getattr(piece, name), Document | Place) for name in piece.__slots__)
    await desk.generations.aclose()


@in_virtual_time
async def test_requests_of_several_documents_do_not_push_each_other_out_in_turn() -> None:
    desks = [Desk("x = <cursor>\n", uri=f"file:///w/{number}.py") for number in range(6)]
    for desk in desks[1:]:
        desk.generations = desks[0].generations
    asked = []
    for desk in desks:
        asked.append(desk.asks())
        await settled()
    assert sum(len(desk.streams) for desk in desks) == len(desks[0].streams) == 6
    assert [task.done() for task in asked] == [True, True, False, False, False, False]
    assert asked[0].result() == Skipped(reason=SkipReason.MOVED_ON)
    for stream in desks[0].streams:
        stream.says("1\n")
    outcomes = await asyncio.gather(*asked[2:])
    assert all(isinstance(outcome, Suggested) for outcome in outcomes)
    await desks[0].generations.aclose()


@pytest.mark.parametrize("failed", [False, True], ids=["all is well", "another failed meanwhile"])
@in_virtual_time
async def test_nobody_is_asked_beside_a_silent_stream_after_a_refusal(failed: bool) -> None:
    desk = Desk("x = <cursor>\n")
    desk.asks()
    await desk.stream()
    desk.types("ca")
    asked = desk.asks()
    await settled()
    if failed:
        host = desk.provider.host
        desk.generations.back_off.attempt(host).failed(RateLimited("too many"))
    await asyncio.sleep(3)
    assert len(desk.streams) == (1 if failed else 2)
    asked.cancel()
    await desk.generations.aclose()


@in_virtual_time
async def test_what_only_a_menu_showed_is_shown_at_once_when_asked_by_hand() -> None:
    desk = Desk("x = <cursor>\n")
    asked = desk.asks(follow_typing=False)
    stream = await desk.stream()
    stream.says("1\n")
    stream.ends()
    await asked
    assert await desk.sees(by_hand=True) == "x = 1\n"
    assert len(desk.streams) == 1


@in_virtual_time
async def test_who_took_over_from_a_provider_is_not_asked_the_same_again() -> None:
    desk = Desk("x = <cursor>\n")
    desk.asks()
    await desk.stream()
    (generation,) = desk.generations._running
    other = replace(PROVIDER, api_version=1)
    generation.provider = desk.generations._instead[PROVIDER] = other
    asked = desk.asks()
    await settled()
    assert len(desk.streams) == 1
    asked.cancel()
    await desk.generations.aclose()


@in_virtual_time
async def test_what_was_shown_for_want_of_time_stays_as_it_was_when_the_rest_comes() -> None:
    desk = Desk("x = 1;\n  {\n      <cursor>\n", language="javascript")
    asked = desk.asks()
    stream = await desk.stream()
    stream.says("{\n    g(1);\n")
    await asyncio.sleep(ENOUGH_AFTER + 0.1)
    before = await asked
    assert isinstance(before, Suggested)
    stream.says("    h(2);\n}\n")
    stream.ends()
    await settled()
    desk.types("{")
    after = await desk.asks()
    assert isinstance(after, Suggested)
    assert after.edits[0].new_text.startswith(before.edits[0].new_text[1:])
    assert len(desk.streams) == 1


@pytest.mark.parametrize(
    ("says", "ready"),
    [
        pytest.param([], ["x = "], id="while the model is silent"),
        pytest.param(["1\n"], [], id="not once it has spoken"),
    ],
)
@in_virtual_time
async def test_what_an_answer_waits_for_is_done(
    monkeypatch: pytest.MonkeyPatch, says: list[str], ready: list[str]
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(cache, "get_ready", lambda context: seen.append(context.line_prefix))
    desk = Desk("x = <cursor>\n")
    asked = desk.asks()
    (await desk.stream()).says(*says)
    await asyncio.sleep(5 * cache.REQUEST_IS_OUT)
    assert seen == ready
    desk.streams[0].ends()
    await asked
