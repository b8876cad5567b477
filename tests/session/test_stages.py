"""What was made of a model's words, step by step, for whoever asked to see code."""

import itertools
from typing import Any

import pytest

from lsp_completions.cache import MOST_WHOLE
from lsp_completions.pipeline.outcome import Skipped, SkipReason
from lsp_completions.stages import stages
from lsp_completions.trail import Trail
from tests.support.desk import Desk, Told


async def shown(desk: Desk) -> dict[str, Any]:
    outcome = await desk.asks()
    return stages(desk.trails[-1], outcome)


@pytest.mark.parametrize(
    ("drawn", "says", "steps"),
    [
        pytest.param(
            "x = <cursor>\n",
            "1\n",
            ["what the model said", "up to where a suggestion ends"],
            id="a line",
        ),
        pytest.param(
            "x = f(<cursor>)\n",
            "x = f(1)",
            ["what the model said", "no echo", "as an edit"],
            id="an echo",
        ),
    ],
)
async def test_only_steps_that_change_something_are_told(
    drawn: str, says: str, steps: list[str]
) -> None:
    told = await shown(Told(drawn, "python", [says]))
    assert [step["name"] for step in told["steps"]] == steps
    texts = [step["text"] for step in told["steps"]]
    assert texts[0] == says
    assert all(one != other for one, other in itertools.pairwise(texts))
    assert texts[-1] == told["shown"][0]
    assert told["before"] in drawn
    assert "x = " in told["prompt"]


async def test_of_one_from_memory_the_same_is_told() -> None:
    desk = Told("x = <cursor>\n", "python", ["call(1)\n"])
    first = await shown(desk)
    desk.types("ca")
    again = await shown(desk)
    assert desk.begun == 1
    assert again["steps"] == first["steps"]
    assert (first["shown"], again["shown"]) == (["call(1)"], ["ll(1)"])


async def test_of_one_asked_for_long_ago_the_words_are_left() -> None:
    desk = Told("x = <cursor>\n", "python", ["call(1)\n", "2\n"])
    await shown(desk)
    for number in range(MOST_WHOLE):
        desk.moves(f"x = \ny_{number} = <cursor>\n")
        await shown(desk)
    desk.moves("x = ca<cursor>\n")
    asked = desk.begun
    told = await shown(desk)
    assert desk.begun == asked
    assert told == {
        "prompt": None,
        "faded": True,
        "steps": [{"name": "what the model said", "text": "call(1)\n"}],
        "shown": ["ll(1)"],
    }


async def test_of_what_follows_one_asked_for_long_ago_no_prompt_is_told() -> None:
    said = "call(1)\nother(2)\n"
    desk = Told("x = <cursor>\n", "python", [said, "2\n"])
    await shown(desk)
    for number in range(MOST_WHOLE):
        desk.moves(f"x = \ny_{number} = <cursor>\n")
        await shown(desk)
    desk.moves("x = call(1)<cursor>\n")
    asked = desk.begun
    told = await shown(desk)
    assert desk.begun == asked
    assert told["shown"] == ["\nother(2)"]
    assert (told["prompt"], told["faded"]) == (None, True)
    assert told["steps"][:2] == [
        {"name": "what the model said", "text": said},
        {"name": "the code in it", "text": "\nother(2)\n"},
    ]


async def test_a_model_with_nothing_to_say_is_told_of() -> None:
    told = await shown(Told("x = <cursor>\n", "python", [""]))
    assert told["shown"] == []
    assert [step["text"] for step in told["steps"]] == [""]


async def test_where_no_model_had_a_say_there_is_nothing() -> None:
    told = stages(Trail(), Skipped(reason=SkipReason.SECRET_FILE))
    assert told == {"prompt": None, "steps": [], "shown": []}
