"""The life of a request, with a stream we write."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace

import pytest

from lsp_completions.cache import Memory
from lsp_completions.completer import complete
from lsp_completions.errors import Interrupted, ProviderError, TimedOut
from lsp_completions.generations import Generations
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import Outcome, Skipped, SkipReason, Suggested
from lsp_completions.providers.base import Event, HttpRequest
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.request import Request, Selection, at_hand
from lsp_completions.secret import Secret
from lsp_completions.settings import Settings
from tests.evaluation.virtual_time import run
from tests.support.cursor import apply, cursor

PROVIDER = Sourcegraph(endpoint="http://127.0.0.1:1", token=Secret("t"), api_version=2)

FAR = "# far away\n" * 300


@dataclass
class Model:
    """What the model says, piece by piece; then an error, or silence, or the end."""

    pieces: list[str]
    error: Exception | None = None
    silent: bool = False
    requests: list[HttpRequest] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, request: HttpRequest) -> AsyncGenerator[Event, None]:
        self.requests.append(request)
        self.asked.set()
        try:
            for piece in self.pieces:
                yield Event(name="completion", data=json.dumps({"deltaText": piece}))
            if self.error is not None:
                raise self.error
            if self.silent:
                await asyncio.get_running_loop().create_future()
        except (GeneratorExit, asyncio.CancelledError):
            self.hung_up.set()
            raise


async def outcome_of(
    drawn: str,
    model: Model,
    *,
    now: str | None = None,
    selected: tuple[int, str] | None = None,
    deadline: float | None = None,
    follow_typing: bool = True,
) -> tuple[Outcome, str]:
    """What came of a request, and the document it is for with the suggestion in it."""
    text, offset = cursor(drawn)
    document = Document.open("file:///w/a.py", "python", 1, text)
    later = document if now is None else Document.open("file:///w/a.py", "python", 2, now)
    generations = Generations(model)
    outcome = await complete(
        Request(
            document=document,
            offset=offset,
            path="a.py",
            settings=Settings(),
            provider=at_hand(PROVIDER),
            current=lambda: later,
            selection=Selection(start=selected[0], text=selected[1]) if selected else None,
            deadline=deadline,
            follow_typing=follow_typing,
        ),
        generations,
    )
    await generations.aclose()
    if isinstance(outcome, Suggested):
        return outcome, apply(outcome.document.text, outcome.edits[0])
    return outcome, later.text


@pytest.mark.parametrize(
    ("drawn", "model", "expected"),
    [
        pytest.param("x = <cursor>\n", Model(["4", "2\n", "y"]), "x = 42\n", id="one line"),
        pytest.param("x = <cursor>\n", Model(["42"]), "x = 42\n", id="all it had to say"),
        pytest.param(
            "def f():<cursor>\n",
            Model(["\n    a = 1\n    b = "], error=Interrupted("cut")),
            "def f():\n    a = 1\n",
            id="whole lines of a broken stream",
        ),
        pytest.param(
            "def f():<cursor>\n",
            Model(["\n    a = 1\n    b = "], error=TimedOut("late")),
            "def f():\n    a = 1\n",
            id="whole lines of a slow stream",
        ),
    ],
)
async def test_what_is_suggested(drawn: str, model: Model, expected: str) -> None:
    assert (await outcome_of(drawn, model))[1] == expected


@pytest.mark.parametrize(
    ("drawn", "model", "reason"),
    [
        pytest.param("x = <cursor>\n", Model([]), SkipReason.EMPTY, id="nothing said"),
        pytest.param("x = <cursor>\n", Model(["  \n"]), SkipReason.EMPTY, id="only blanks"),
        pytest.param(
            "<cursor>\nx = 1\n", Model(["x = 1\n"]), SkipReason.NOTHING_NEW, id="what is below"
        ),
    ],
)
async def test_when_there_is_nothing_to_show(drawn: str, model: Model, reason: SkipReason) -> None:
    assert (await outcome_of(drawn, model))[0] == Skipped(reason=reason)


async def test_a_failure_with_nothing_to_show_for_it_is_raised() -> None:
    with pytest.raises(ProviderError, match="cut"):
        await outcome_of("x = <cursor>\n", Model(["4"], error=Interrupted("cut")))


async def test_hanging_up_as_soon_as_the_line_is_whole() -> None:
    model = Model(["42\n"], silent=True)
    outcome, text = await outcome_of("x = <cursor>\n", model)
    assert text == "x = 42\n"
    assert model.hung_up.is_set()
    assert isinstance(outcome, Suggested)
    assert outcome.complete


async def test_at_the_deadline_the_whole_lines_are_shown_as_unfinished() -> None:
    model = Model(["\n    a = 1\n    b"], silent=True)
    outcome, text = await outcome_of("def f():<cursor>\n", model, deadline=0.5)
    assert text == "def f():\n    a = 1\n"
    assert isinstance(outcome, Suggested)
    assert not outcome.complete


@pytest.mark.parametrize(
    ("waited", "in_all", "pause", "expected"),
    [
        pytest.param(0.0, 7.0, 6.9, ["42"], id="nothing was waited for"),
        pytest.param(0.0, 7.0, 7.1, ["42"], id="it is left to the provider"),
        pytest.param(2.0, 7.0, 4.5, ["42"], id="in time"),
        pytest.param(2.0, 7.0, 5.5, SkipReason.TOO_SLOW, id="too late by what was waited"),
        pytest.param(8.0, 7.0, 0.0, SkipReason.TOO_SLOW, id="too late before it was asked"),
        pytest.param(20.0, None, 6.0, ["42"], id="a model had to be loaded"),
    ],
)
def test_what_is_waited_for_first_is_part_of_the_time(
    waited: float, in_all: float | None, pause: float, expected: list[str] | SkipReason
) -> None:
    """Who waits has the answer or none by then; whoever asks later has it from memory."""

    async def model(_: HttpRequest) -> AsyncGenerator[Event, None]:
        await asyncio.sleep(pause)
        yield Event(name="completion", data=json.dumps({"deltaText": "42"}))

    async def provider() -> Sourcegraph:
        await asyncio.sleep(waited)
        return PROVIDER

    async def told() -> None:
        document = Document.open("file:///w/a.py", "python", 1, "x = \n")
        generations, memory = Generations(model), Memory()
        asked = Request(
            document=document,
            offset=4,
            path="a.py",
            settings=Settings(),
            provider=provider,
            current=lambda: document,
            in_all=in_all,
        )
        outcome = await complete(asked, generations, memory)
        if isinstance(expected, SkipReason):
            assert outcome == Skipped(reason=expected)
            assert asyncio.get_running_loop().time() <= max(waited, 7.0)
            outcome = await complete(
                replace(asked, provider=at_hand(PROVIDER)), generations, memory
            )
        assert isinstance(outcome, Suggested)
        assert outcome.edits[0].new_text == "42"
        await generations.aclose()

    run(told())


async def test_at_the_deadline_with_nothing_there() -> None:
    model = Model([], silent=True)
    outcome, _ = await outcome_of("x = <cursor>\n", model, deadline=0.2)
    assert outcome == Skipped(reason=SkipReason.TOO_SLOW)
    assert model.hung_up.is_set()


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param("x = ca\n", "x = call()\n", id="typed as suggested"),
        pytest.param("x = co\n", None, id="typed something else"),
    ],
)
async def test_the_document_by_then(now: str, expected: str | None) -> None:
    outcome, text = await outcome_of("x = <cursor>\n", Model(["call()\n"]), now=now)
    if expected is None:
        assert outcome == Skipped(reason=SkipReason.MOVED_ON)
    else:
        assert text == expected


@pytest.mark.parametrize(
    ("follow_typing", "above", "now", "edited"),
    [
        pytest.param(True, "", "x = ca\n", "x = ca\n", id="the one by then"),
        pytest.param(False, "", "x = ca\n", "x = \n", id="the one asked about"),
        pytest.param(
            True, FAR, f"# 1\n{FAR}x = \n", f"# 1\n{FAR}x = \n", id="lines put far before it"
        ),
    ],
)
async def test_a_suggestion_names_the_document_its_edits_are_in(
    follow_typing: bool, above: str, now: str, edited: str
) -> None:
    model = Model(["call()\n"])
    outcome, text = await outcome_of(
        f"{above}x = <cursor>\n", model, now=now, follow_typing=follow_typing
    )
    assert isinstance(outcome, Suggested)
    assert outcome.document.text == edited
    assert text == now.replace("x = \n", "x = ca\n").replace("ca\n", "call()\n")


async def test_the_selected_entry_is_part_of_the_suggestion() -> None:
    model = Model(["(x)\n"])
    outcome, text = await outcome_of("pr<cursor>\n", model, selected=(0, "print"))
    assert text == "print(x)\n"
    assert isinstance(outcome, Suggested)
    assert outcome.edits[0].start == 0
    assert b"print" in model.requests[0].body


async def test_a_selected_entry_that_is_no_continuation_asks_nothing() -> None:
    model = Model(["(x)\n"])
    outcome, _ = await outcome_of("pr<cursor>\n", model, selected=(0, "open"))
    assert outcome == Skipped(reason=SkipReason.SELECTION_DIFFERS)
    assert not model.requests


async def test_cancelled_it_hangs_up() -> None:
    model = Model([], silent=True)
    task = asyncio.create_task(outcome_of("x = <cursor>\n", model))
    await model.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await model.hung_up.wait()
