"""What is typed usually fits what a model has said, or is about to say: then nobody is asked."""

import asyncio
from dataclasses import replace

import pytest

from lsp_completions.errors import Interrupted
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import Skipped, SkipReason, Suggested
from lsp_completions.pipeline.uris import document_key
from tests.support.cursor import apply
from tests.support.desk import Desk


async def test_a_suggestion_typed_into_is_not_asked_for_again() -> None:
    desk = Desk("def add(a, b):\n    ret<cursor>\n")
    asked = desk.asks()
    (await desk.stream()).says("urn a + b\n", "\nx")
    await asked
    for key in "urn a +":
        desk.types(key)
        assert await desk.sees() == "def add(a, b):\n    return a + b\n"
    desk.deletes(5)
    assert await desk.sees() == "def add(a, b):\n    return a + b\n"
    assert len(desk.streams) == 1


async def test_the_same_stream_serves_those_who_ask_while_it_is_silent() -> None:
    desk = Desk("x = <cursor>\n")
    first = desk.asks()
    stream = await desk.stream()
    first.cancel()
    desk.types("c")
    second = desk.asks()
    await asyncio.sleep(0)
    stream.says("call(1)\n")
    outcome = await second
    assert isinstance(outcome, Suggested)
    assert apply(outcome.document.text, outcome.edits[0]) == "x = call(1)\n"
    assert len(desk.streams) == 1


async def test_what_the_model_says_differently_is_asked_anew_at_once() -> None:
    desk = Desk("x = <cursor>\n")
    desk.asks()
    first = await desk.stream()
    desk.types("c")
    asked = desk.asks()
    await asyncio.sleep(0)
    first.says("value")
    second = await desk.stream(1)
    second.says("all(1)\n")
    outcome = await asked
    assert isinstance(outcome, Suggested)
    assert apply(outcome.document.text, outcome.edits[0]) == "x = call(1)\n"
    await first.hung_up.wait()


async def test_a_stream_is_closed_by_a_change_that_does_not_fit() -> None:
    desk = Desk("x = <cursor>\n")
    asked = desk.asks()
    stream = await desk.stream()
    stream.says("value")
    await asyncio.sleep(0.01)
    desk.types("c")
    await stream.hung_up.wait()
    assert await asked == Skipped(reason=SkipReason.MOVED_ON)
    assert len(desk.streams) == 1


BLANK_FIRST = "\n\n    def g(self):\n        return 1\n\n    def h(self):\n"


@pytest.mark.parametrize("known", [True, False], ids=["known", "still to come"])
@pytest.mark.parametrize(
    ("typed", "line"),
    [
        pytest.param("\n", "    def g(self):", id="the first of two"),
        pytest.param("\n\n", "    def g(self):", id="both"),
        pytest.param("\n\n   ", " def g(self):", id="and a part of the indentation"),
        pytest.param("\n\n    de", "f g(self):", id="and the first letters"),
    ],
)
async def test_blank_lines_that_were_not_shown_may_be_typed_all_the_same(
    typed: str, line: str, known: bool
) -> None:
    desk = Desk("class A:\n    def f(self):\n        return 0\n<cursor>\n\nx = 1\n")
    asked = desk.asks()
    stream = await desk.stream()
    if known:
        stream.says(BLANK_FIRST)
        await asked
    for key in typed:
        desk.types(key)
        await asyncio.sleep(0)
    asked = desk.asks()
    await asyncio.sleep(0)
    if not known:
        stream.says(BLANK_FIRST)
    async with asyncio.timeout(20):
        outcome = await asked
    assert isinstance(outcome, Suggested)
    assert outcome.edits[0].new_text == f"{line}\n        return 1"
    assert len(desk.streams) == 1


@pytest.mark.parametrize(
    ("drawn", "said", "typed", "closes", "expected"),
    [
        pytest.param("x = <cursor>\n", "call(1)\n", "call(", ")", "x = call(1)\n", id="a bracket"),
        pytest.param("x = <cursor>\n", "'a'\n", "'", "'", "x = 'a'\n", id="a quote"),
        pytest.param("f(<cursor>)\n", "g(1)\n", "g(", ")", "f(g(1))\n", id="inside another"),
        pytest.param("x = <cursor>\n", "f(g(1))\n", "f(g(", "))", "x = f(g(1))\n", id="two"),
    ],
)
async def test_what_the_editor_closes_by_itself_stands_once(
    drawn: str, said: str, typed: str, closes: str, expected: str
) -> None:
    desk = Desk(drawn)
    asked = desk.asks()
    (await desk.stream()).says(said)
    await asked
    desk.types(typed, closes=closes)
    assert await desk.sees() == expected
    assert len(desk.streams) == 1


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(
            [("for b in c {", "}"), ("\n    ", "\n  ")], id="a line for the closing brace"
        ),
        pytest.param(
            [("for b in c {", "}"), ("\n    ", "\n  "), ("g(", ")")], id="a bracket above it"
        ),
    ],
)
async def test_a_block_that_the_editor_has_closed_is_closed_once(
    keys: list[tuple[str, str]],
) -> None:
    desk = Desk("fn f() {\n  <cursor>\n}\n")
    desk.document = Document.open(desk.document.uri, "rust", 1, desk.document.text)
    asked = desk.asks()
    stream = await desk.stream()
    stream.says("for b in c {\n    g(b);\n    h(b);\n  }\n  1\n")
    stream.ends()
    await asked
    for key, closes in keys:
        desk.types(key, closes=closes)
        await asyncio.sleep(0)
    assert await desk.sees() == "fn f() {\n  for b in c {\n    g(b);\n    h(b);\n  }\n}\n"
    assert len(desk.streams) == 1


async def test_in_full_swing_the_lines_of_a_block_come_as_they_are_there() -> None:
    desk = Desk("def f(a):\n    <cursor>\n")
    asked = desk.asks()
    stream = await desk.stream()
    stream.says("for b in a:\n", "        g(b)\n")
    await asyncio.sleep(0.01)
    assert not asked.done()
    asked.cancel()
    desk.types("f")
    assert await desk.sees() == "def f(a):\n    for b in a:\n        g(b)\n"
    stream.says("        h(b)\n", "    return a\n", "\n")
    stream.ends()
    desk.types("o")
    assert (await desk.sees()).startswith("def f(a):\n    for b in a:\n        g(b)\n        h(b)")
    assert len(desk.streams) == 1


async def test_of_a_line_that_we_did_not_wait_for_nothing_is_shown() -> None:
    desk = Desk("x = <cursor>\n")
    asked = desk.asks()
    stream = await desk.stream()
    lines = [f"y{number} = {number}" for number in range(5)]
    stream.says("1\n", "\n".join([*lines, "bro"]))
    desk.accepts(await asked)
    await stream.hung_up.wait()
    desk.types("\n")
    assert await desk.sees() == "\n".join(["x = 1", *lines, ""])


async def test_after_an_acceptance_the_next_piece_is_what_the_model_said_further() -> None:
    desk = Desk("def f():\n    a = <cursor>\n")
    asked = desk.asks()
    stream = await desk.stream()
    stream.says("1\n    b = 2\n    return a\n")
    desk.accepts(await asked)
    assert desk.document.text == "def f():\n    a = 1\n"
    second = await desk.asks()
    desk.accepts(second)
    assert desk.document.text == "def f():\n    a = 1\n    b = 2\n"
    desk.types("\n    ")
    assert await desk.sees() == "def f():\n    a = 1\n    b = 2\n    return a\n"
    assert len(desk.streams) == 1


async def test_left_and_returned_to() -> None:
    desk = Desk("import os\n\nx = <cursor>\n" + "# far\n" * 400 + "y = 1\n")
    asked = desk.asks()
    (await desk.stream()).says("call(1)\n")
    await asked
    desk.changes("y = 1", "y = 2")
    assert (await desk.sees()).startswith("import os\n\nx = call(1)\n")
    assert len(desk.streams) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("import os", "import re", id="above"),
        pytest.param("y = 1", "y = 2", id="below"),
    ],
)
async def test_an_edit_nearby_is_another_question(old: str, new: str) -> None:
    desk = Desk("import os\n\nx = <cursor>\ny = 1\n")
    asked = desk.asks()
    (await desk.stream()).says("os.path\n")
    await asked
    desk.changes(old, new)
    again = desk.asks()
    (await desk.stream(1)).says("re.match\n")
    outcome = await again
    assert isinstance(outcome, Suggested)
    assert outcome.edits[0].new_text == "re.match"


async def test_other_settings_ask_another_question() -> None:
    desk = Desk("x = <cursor>\n")
    asked = desk.asks()
    (await desk.stream()).says("1\n")
    await asked
    desk.settings = replace(desk.settings, temperature=0.9)
    asked = desk.asks()
    (await desk.stream(1)).says("2\n")
    assert isinstance(await asked, Suggested)


async def test_nothing_to_say_is_remembered_as_well() -> None:
    desk = Desk("x = 1 <cursor>\n")
    asked = desk.asks()
    (await desk.stream()).ends()
    assert await asked == Skipped(reason=SkipReason.EMPTY)
    assert await desk.sees() == "EMPTY"
    assert len(desk.streams) == 1


async def test_a_failure_is_not_remembered() -> None:
    desk = Desk("x = <cursor>\n")
    asked = desk.asks()
    (await desk.stream()).ends(Interrupted("cut"))
    with pytest.raises(Interrupted):
        await asked
    again = desk.asks()
    (await desk.stream(1)).says("1\n")
    assert isinstance(await again, Suggested)


async def test_another_stream_is_asked_beside_one_that_stays_silent() -> None:
    desk = Desk("x = <cursor>\n")
    desk.asks()
    first = await desk.stream()
    desk.types("ca")
    asked = desk.asks()
    second = await desk.stream(1)
    second.says("ll(1)\n")
    outcome = await asked
    assert isinstance(outcome, Suggested)
    assert apply(outcome.document.text, outcome.edits[0]) == "x = call(1)\n"
    assert not first.hung_up.is_set()


async def test_one_stream_that_nobody_wants_any_more_is_closed_after_a_while() -> None:
    desk = Desk("x = <cursor>\n")
    asked = desk.asks()
    stream = await desk.stream()
    asked.cancel()
    async with asyncio.timeout(20):
        await stream.hung_up.wait()


async def test_two_streams_for_a_document_at_most() -> None:
    desk = Desk("a = \nb = \nx = <cursor>\n")
    desk.asks()
    first = await desk.stream()
    desk.offset = 4
    desk.asks()
    await desk.stream(1)
    desk.offset = 9
    desk.asks()
    await desk.stream(2)
    assert len(desk.generations.running(document_key(desk.document.uri))) <= 2
    await first.hung_up.wait()


async def test_what_follows_is_kept_within_bounds() -> None:
    desk = Desk("x = <cursor>\n")
    asked = desk.asks()
    stream = await desk.stream()
    stream.says("1\n")
    await asked
    stream.says(*[f"y{number} = 1\n" for number in range(10)])
    async with asyncio.timeout(20):
        await stream.hung_up.wait()


async def test_asked_again_by_hand_there_are_more_to_choose_from() -> None:
    desk = Desk("x = <cursor>\n")
    asked = desk.asks()
    stream = await desk.stream()
    stream.says("1\n")
    stream.ends()
    await asked
    again = desk.asks(by_hand=True)
    for number, text in ((1, "2\n"), (2, "1\n")):
        other = await desk.stream(number)
        other.says(text)
        other.ends()
    outcome = await again
    assert isinstance(outcome, Suggested)
    assert [edit.new_text for edit in outcome.edits] == ["1", "2"]
    outcome = await desk.asks(by_hand=True)
    assert isinstance(outcome, Suggested)
    assert len(outcome.edits) == 2
    assert len(desk.streams) == 3


class TestAMenuAskedForBeforeMoreWasTyped:
    """Some editors ask for no other until it is answered, and typing may be over by then."""

    async def test_what_was_typed_is_completed_if_the_model_says_another(self) -> None:
        desk = Desk("    c<cursor>\n")
        before = desk.document
        asked = desk.asks(follow_typing=False)
        first = await desk.stream()
        first.says("ount = 1\n")
        desk.types("al")
        (await desk.stream(1)).says("l(1)\n")
        outcome = await asked
        assert isinstance(outcome, Suggested)
        assert outcome.document is before
        assert apply(before.text, outcome.edits[0]) == "    call(1)\n"
        await first.hung_up.wait()

    async def test_what_was_typed_is_completed_if_the_model_says_nothing(self) -> None:
        desk = Desk("    c<cursor>\n")
        before = desk.document
        asked = desk.asks(follow_typing=False)
        first = await desk.stream()
        desk.types("al")
        first.says("")
        first.ends()
        (await desk.stream(1)).says("l(1)\n")
        outcome = await asked
        assert isinstance(outcome, Suggested)
        assert apply(before.text, outcome.edits[0]) == "    call(1)\n"

    async def test_each_time_it_differs_up_to_a_point(self) -> None:
        desk = Desk("    <cursor>\n")
        asked = desk.asks(follow_typing=False)
        for number, key in enumerate("call"):
            (await desk.stream(number)).says("other\n")
            desk.types(key)
        assert await asked == Skipped(reason=SkipReason.MOVED_ON)
        assert len(desk.streams) == 4

    @pytest.mark.parametrize("typed", ["\n", "a\n    b"])
    async def test_not_in_another_line(self, typed: str) -> None:
        desk = Desk("    c<cursor>\n")
        asked = desk.asks(follow_typing=False)
        (await desk.stream()).says("ount = 1\n")
        desk.types(typed)
        assert await asked == Skipped(reason=SkipReason.MOVED_ON)
        assert len(desk.streams) == 1


async def test_a_model_without_an_answer_is_asked_again_when_typing_pauses() -> None:
    desk = Desk("total = <cursor>\n")
    for key in "ab":
        desk.types(key)
        asked = desk.asks()
        (await desk.stream(len(desk.streams))).ends()
        assert isinstance(await asked, Skipped)
    for key in "cdef":
        desk.types(key)
        asked.cancel()
        asked = desk.asks()
        for _ in range(20):
            await asyncio.sleep(0)
    assert len(desk.streams) == 2
    (await desk.stream(2)).says("(items)\n", "\nx")
    outcome = await asked
    assert isinstance(outcome, Suggested)
    assert apply(desk.document.text, outcome.edits[0]) == "total = abcdef(items)\n"
    # It has something to say again.
    desk.types("(x")
    desk.asks()
    await desk.stream(3)


async def test_a_new_line_is_asked_about_at_once_after_answers_without_a_word() -> None:
    desk = Desk("total = <cursor>\n")
    for key in "abc":
        desk.types(key)
        asked = desk.asks(by_hand=True)
        (await desk.stream(len(desk.streams))).ends()
        await asked
    desk.types("\n")
    desk.asks()
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(desk.streams) == 4
