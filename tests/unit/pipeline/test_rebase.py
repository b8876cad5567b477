import pytest

from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.rebase import cursor_after_typing, rebased, told_before
from tests.support.cursor import apply, cursor


def drawn(text: str) -> tuple[Document, int]:
    """The document, and the offset of the cursor drawn in it."""
    text, offset = cursor(text)
    return Document.open("file:///a.py", "python", 1, text), offset


@pytest.mark.parametrize(
    ("before", "suggested", "now", "expected"),
    [
        pytest.param(
            "x = <cursor>\n", "call(1)", "x = <cursor>\n", "x = call(1)\n", id="nothing happened"
        ),
        pytest.param(
            "x = <cursor>\n",
            "call(1)",
            "x = ca<cursor>\n",
            "x = call(1)\n",
            id="typed as suggested",
        ),
        pytest.param(
            "x = <cursor>\n", "call(1)", "x = cx<cursor>\n", None, id="typed something else"
        ),
        pytest.param("x = <cursor>\n", "call", "x = call<cursor>\n", None, id="typed all of it"),
        pytest.param("x = <cursor>\n", "call", "x = call(<cursor>\n", None, id="typed beyond it"),
        pytest.param(
            "def f():<cursor>\n",
            "\n    a",
            "def f():\n<cursor>\n",
            "def f():\n    a\n",
            id="new line",
        ),
        pytest.param("ab<cursor>\n", "cd", "a<cursor>\n", None, id="deleted back"),
        pytest.param(
            "f(<cursor>)\n", "a, b", "f(a<cursor>)\n", "f(a, b)\n", id="before the rest of the line"
        ),
        pytest.param("x = <cursor>\ny\n", "1", "x = <cursor>\nz\n", None, id="changed below"),
        pytest.param("y\nx = <cursor>\n", "1", "z\nx = <cursor>\n", None, id="changed above"),
        pytest.param("x = <cursor>\n", "1", "z\nx = <cursor>\n", None, id="a new first line"),
        pytest.param("x = 1<cursor>", "2", "<cursor>", None, id="all deleted"),
        pytest.param(
            "é😀 = <cursor>\n", "ab", "é😀 = a<cursor>\n", "é😀 = ab\n", id="after astral letters"
        ),
    ],
)
def test_the_suggestion_by_now(before: str, suggested: str, now: str, expected: str | None) -> None:
    document, offset = drawn(before)
    later, _ = drawn(now)
    edit = rebased(Edit(start=offset, end=offset, new_text=suggested), document, offset, later)
    assert (edit and apply(later.text, edit)) == expected


@pytest.mark.parametrize("change", ["", "# a new first line\n"], ids=["less", "more"])
def test_what_happens_far_away_only_moves_it(change: str) -> None:
    far = "# a line\n" * 1000
    document, offset = drawn(far + "x = <cursor>\n" + far)
    later, moved = drawn(change + far.partition("\n")[2] + "x = <cursor>\n" + far)
    edit = rebased(Edit(start=offset, end=offset, new_text="1"), document, offset, later)
    assert edit == Edit(start=moved, end=moved, new_text="1")


@pytest.mark.parametrize("change", ["", "# a new last line\n"], ids=["less", "more"])
def test_what_happens_far_below_leaves_it_where_it_is(change: str) -> None:
    far = "# a line\n" * 1000
    document, offset = drawn(far + "x = <cursor>\n" + far)
    later, _ = drawn(far + "x = <cursor>\n" + far.removesuffix("# a line\n") + change)
    edit = Edit(start=offset, end=offset, new_text="1")
    assert rebased(edit, document, offset, later) == edit


def test_a_replacement_is_typed_into_as_well() -> None:
    document, offset = drawn("if (<cursor>) {\n")
    later, moved = drawn("if (x<cursor>) {\n")
    edit = rebased(Edit(start=offset, end=offset + 3, new_text="x > 0) {"), document, offset, later)
    assert edit == Edit(start=moved, end=moved + 3, new_text=" > 0) {")


def test_one_that_begins_before_the_cursor_keeps_its_start() -> None:
    document, offset = drawn("pr<cursor>\n")
    edit = Edit(start=0, end=offset, new_text="print(x)")
    later, moved = drawn("pri<cursor>\n")
    assert rebased(edit, document, offset, later) == Edit(start=0, end=moved, new_text="print(x)")
    assert rebased(edit, document, offset, drawn("pro<cursor>\n")[0]) is None


@pytest.mark.parametrize(
    ("before", "now", "typed"),
    [
        pytest.param("x = <cursor>\n", "x = ab\n", "ab", id="typed on"),
        pytest.param("f(<cursor>)\n", "f(é😀)\n", "é😀", id="before the rest of the line"),
        pytest.param("x<cursor>", "x = ", " = ", id="at the end of the file"),
        pytest.param("x = <cursor>\n", "x = \n", None, id="nothing"),
        pytest.param("x = <cursor>\n", "x = \n\n", None, id="a new line"),
        pytest.param("x = <cursor>\n", "x = \r\n\n", None, id="a new line, with CRLF"),
        pytest.param("x = a<cursor>\n", "x = \n", None, id="deleted"),
        pytest.param("x = <cursor>\ny\n", "x = a\nz\n", None, id="changed below as well"),
        pytest.param("y\nx = <cursor>\n", "z\nx = a\n", None, id="changed above as well"),
    ],
)
def test_where_the_cursor_is_after_typing_on(before: str, now: str, typed: str | None) -> None:
    document, offset = drawn(before)
    later = Document.open("file:///a.py", "python", 2, now)
    moved = cursor_after_typing(document, offset, later)
    assert (moved and later.slice(offset, moved)) == typed


@pytest.mark.parametrize(
    ("before", "now", "starts", "text", "expected"),
    [
        pytest.param(
            "x = c<cursor>\n", "x = call<cursor>\n", 0, "(1)", "x = call(1)\n", id="at the cursor"
        ),
        pytest.param(
            "x = c<cursor>)\n",
            "x = ca<cursor>)\n",
            1,
            "all(1)",
            "x = call(1))\n",
            id="from what was typed",
        ),
        pytest.param(
            "x = c<cursor>\n",
            "x = ca<cursor>\n",
            2,
            "call(1)",
            "x = call(1)\n",
            id="from before it",
        ),
    ],
)
def test_a_suggestion_told_in_the_text_before_typing(
    before: str, now: str, starts: int, text: str, expected: str
) -> None:
    document, offset = drawn(before)
    later, cursor_now = drawn(now)
    edit = Edit(start=cursor_now - starts, end=cursor_now, new_text=text)
    assert apply(later.text, edit) == expected
    told = told_before(edit, later, offset, cursor_now)
    assert told.start <= offset == told.end
    assert apply(document.text, told) == expected
