"""The law of suggestions, on real code: whatever a model says wherever the cursor is.

Nothing outside the range changes. The range is one line, holds the cursor, and begins at the same
place for all items of an answer. What follows the cursor never stands there twice: what a
suggestion leaves out of the rest of the line follows it, what it includes gives way to it, and
no line below is said again.
"""

import random
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol.converters import get_converter

from lsp_completions.convert import read_client
from lsp_completions.convert.items import inline_items, menu_items
from lsp_completions.pipeline.brackets import scan
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.languages import language_of
from lsp_completions.pipeline.outcome import Suggested
from lsp_completions.pipeline.surroundings import says_something
from lsp_completions.pipeline.trigger import opens_block
from tests.evaluation.corpora import own_code
from tests.evaluation.holes import Hole, holes_in
from tests.evaluation.overrun import NOISES
from tests.evaluation.virtual_time import run
from tests.support.clients import LINE_END, SHAPES, Shape
from tests.support.cursor import MARK, apply
from tests.support.desk import Told

HOLES = holes_in(own_code(), each=6)
CONVERTER = get_converter()
ALPHABET = st.sampled_from([*"ab1 \t\n()[]{}\"'`,;:.<>=+-/#*\\é🙂", "if ", "end", "}\n", "\r\n"])
RUBBISH = st.lists(ALPHABET, max_size=40).map("".join)
EOLS = st.sampled_from(("\n", "\n", "\r\n", "\r"))
CUTS = st.sampled_from((1, 3, 1000))
within_seconds = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


async def shown(desk: Told) -> list[Suggested]:
    """What ghost text shows first and asked for more, and what a menu holds."""
    outcomes = [
        await desk.asks(by_hand=True),
        await desk.asks(by_hand=True),
        await desk.asks(by_hand=True, follow_typing=False),
    ]
    await desk.generations.aclose()
    return [each for each in outcomes if isinstance(each, Suggested)]


def obeyed(outcome: Suggested, offset: int) -> Iterator[tuple[Edit, str]]:
    """Each edit and the text with it, once all that holds for any edit has been asserted."""
    text = outcome.document.text
    assert len({edit.start for edit in outcome.edits}) == 1
    for edit in outcome.edits:
        assert edit.start <= offset <= edit.end
        replaced = text[edit.start : edit.end]
        assert not LINE_END.search(replaced)
        assert "\r" not in edit.new_text
        # What is replaced is said again, letter for letter: nothing a user typed is eaten.
        letters = iter(edit.new_text)
        assert all(character in letters for character in replaced)
        yield edit, apply(text, edit)


def as_clients_have_it(outcome: Suggested, offset: int) -> None:
    """Every shape of client ends up with the text that the edit means."""
    document = outcome.document
    drawn = f"{document.text[:offset]}{MARK}{document.text[offset:]}"
    eol = LINE_END.search(document.text)
    for shape in SHAPES.values():
        client = read_client({"capabilities": shape.capabilities})
        ids = [str(number) for number in range(len(outcome.edits))]
        ghosts = inline_items(document, outcome.edits, client, command="c", ids=ids)
        menu = menu_items(
            document,
            offset,
            outcome.edits,
            client,
            command="c",
            ids=ids,
            detail="",
            is_incomplete=False,
        )
        for edit, ghost, entry in zip(outcome.edits, ghosts.items, menu.items, strict=True):
            meant = LINE_END.sub(eol[0] if eol else "\n", edit.new_text)
            whole = document.text[: edit.start] + meant + document.text[edit.end :]
            assert shape.as_it_is or accepted(shape, drawn, ghost) == whole
            result = accepted(shape, drawn, entry)
            if result != whole:
                # A snippet cannot say lines that are indented less than its first.
                tail = document.text[edit.end :]
                assert client.snippets
                assert result.endswith(tail)
                assert whole.startswith(result[: len(result) - len(tail)].rstrip())


def accepted(shape: Shape, drawn: str, item: object) -> str:
    return shape.accepted(drawn, CONVERTER.unstructure(item))


@st.composite
def said_at_a_hole(draw: st.DrawFn) -> tuple[Hole, list[str]]:
    """A hole in real code, or a document of rubbish, and what models say there."""
    if draw(st.integers(0, 3)) == 0:
        hole = Hole(
            name="",
            language=draw(st.sampled_from(["python", "typescript", "ruby", "html", "lisp", "go"])),
            kind="",
            before=draw(RUBBISH),
            text="",
            after=draw(RUBBISH),
        )
        return hole, draw(st.lists(RUBBISH, min_size=1, max_size=3))
    hole = draw(st.sampled_from(HOLES))
    other = draw(st.sampled_from(HOLES))
    chance = random.Random(draw(st.integers(0, 1000)))
    words = [
        *(noise(hole, chance) or "" for noise in NOISES.values()),
        hole.after[:200],
        hole.after.lstrip()[: chance.randrange(120)],
        hole.text[: chance.randrange(1, len(hole.text) + 1)] + hole.after[:100],
        other.text,
        other.text + hole.after[:80],
        draw(RUBBISH),
    ]
    return hole, draw(st.lists(st.sampled_from(words), min_size=1, max_size=3))


@within_seconds
@given(told=said_at_a_hole(), eol=EOLS, cut=CUTS)
def test_whatever_is_said_obeys(told: tuple[Hole, list[str]], eol: str, cut: int) -> None:
    hole, said = told
    before, after = (LINE_END.sub(eol, text) for text in (hole.before, hole.after))
    if before.endswith("\r") and after.startswith("\n"):
        return  # no place for a cursor
    desk = Told(f"{before}{MARK}{after}", hole.language, said, cut)
    language = language_of(hole.language, "a.py")
    below = [line.strip() for line in LINE_END.split(after)[1:] if line.strip()]
    for outcome in run(shown(desk)):
        for edit, result in obeyed(outcome, desk.offset):
            assert result.startswith(before)
            last = (LINE_END.split(before)[-1] + edit.new_text).rstrip().rpartition("\n")[2].strip()
            if below and says_something(below[0]) and not opens_block(below[0], language):
                assert last != below[0] or after[:1].strip(), edit
        as_clients_have_it(outcome, desk.offset)


BODIES = ("zq", "zq(1)", "zq.zr[0]", "zq(zr, [1])")


@st.composite
def places(draw: st.DrawFn) -> tuple[Hole, str]:
    """A hole whose line goes on with no word, and a few words that fit anywhere."""
    return draw(st.sampled_from(PLACES)), draw(st.sampled_from(BODIES))


def rest_of_line(hole: Hole) -> str:
    return hole.after.partition("\n")[0]


def leaves_a_place(hole: Hole) -> bool:
    """Its line goes on, with no word, and what was cut out had opened and closed nothing."""
    rest = rest_of_line(hole)
    cut_out = scan(hole.text, language_of(hole.language, "a.py"))
    is_whole = not (cut_out.stack or cut_out.closings or cut_out.strays)
    return is_whole and rest.strip() != "" and not (rest[0].isalnum() or rest[0] == "_")


PLACES = [hole for hole in HOLES if leaves_a_place(hole)]


@within_seconds
@given(told=places(), eol=EOLS, cut=CUTS, repeated=st.integers(0, 200), on=st.booleans())
def test_the_rest_of_the_line_stands_once(
    told: tuple[Hole, str], eol: str, cut: int, repeated: int, on: bool
) -> None:
    hole, body = told
    rest = rest_of_line(hole)
    if repeated >= len(rest):
        # All of it, and perhaps the lines below as well.
        more = hole.after[: len(rest) + (150 if on else 0)]
    else:
        # Closers the model repeats, however many.
        closers = rest[: len(rest) - len(rest.lstrip(")]}\"'`;"))]
        more = closers[:repeated]
    before, after = (LINE_END.sub(eol, text) for text in (hole.before, hole.after))
    desk = Told(f"{before}{MARK}{after}", hole.language, [body + more], cut)
    outcomes = run(shown(desk))
    assert len(outcomes) == 3
    for outcome in outcomes:
        for _, result in obeyed(outcome, desk.offset):
            assert result == before + body + after, (body + more, before[-80:], rest)


@pytest.mark.parametrize(
    ("drawn", "said", "closes"),
    [
        pytest.param("const x = <cursor>\n", "compute();", ";", id="the end of a statement"),
        pytest.param("call(<cursor>\n", "a, b)", ")", id="a bracket"),
        pytest.param("x = [<cursor>\n", "1, 2];", "];", id="a bracket and the end"),
        pytest.param('say("<cursor>\n', 'hi")', '")', id="a quote and a bracket"),
        pytest.param("f(() => {<cursor>\n", " g() })", "})", id="two brackets"),
    ],
)
@pytest.mark.parametrize("follow_typing", [True, False], ids=["ghost text", "menu"])
def test_what_an_editor_closes_after_the_answer_stands_once(
    drawn: str, said: str, closes: str, follow_typing: bool
) -> None:
    """The same is said again, or remembered: either way what follows by then is looked at."""
    once = drawn.replace("<cursor>", said)

    async def seen() -> set[str]:
        desk = Told(drawn, "typescript", [said])
        await desk.asks(follow_typing=follow_typing)
        desk.moves(drawn.replace("<cursor>", f"<cursor>{closes}"))
        outcome = await desk.asks(follow_typing=follow_typing)
        await desk.generations.aclose()
        assert isinstance(outcome, Suggested)
        return {result for _, result in obeyed(outcome, desk.offset)}

    assert run(seen()) == {once}
