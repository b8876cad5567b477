from functools import partial

import pytest

from lsp_completions.pipeline.anchor import Typed, anchor_at, around, typed_around, typed_since
from lsp_completions.pipeline.document import Document
from tests.support.cursor import cursor

FAR = "# far away\n" * 300


def drawn(text: str) -> tuple[Document, int]:
    text, offset = cursor(text)
    return Document.open("file:///a.py", "python", 1, text), offset


@pytest.mark.parametrize("above", ["", FAR], ids=["at the top", "far down"])
@pytest.mark.parametrize("below", ["", FAR], ids=["at the bottom", "far up"])
@pytest.mark.parametrize(
    ("then", "now", "expected"),
    [
        pytest.param("x = <cursor>\n", "x = <cursor>\n", Typed(text=""), id="nothing"),
        pytest.param("x = <cursor>\n", "x = ca<cursor>\n", Typed(text="ca"), id="letters"),
        pytest.param(
            "f():<cursor>\n", "f():\n    a<cursor>\n", Typed(text="\n    a"), id="a new line"
        ),
        pytest.param(
            "f():<cursor>\r\n", "f():\r\n  a<cursor>\r\n", Typed(text="\n  a"), id="a CRLF"
        ),
        pytest.param(
            "x = <cursor>\n",
            "x = f(<cursor>)\n",
            Typed(text="f(", added=")"),
            id="a bracket that closed itself",
        ),
        pytest.param(
            "f(<cursor>)\n",
            "f((<cursor>))\n",
            Typed(text="(", added=")"),
            id="a bracket that closed itself before another",
        ),
        pytest.param(
            "if (x) <cursor>\n",
            "if (x) {\n    <cursor>\n}\n",
            Typed(text="{\n    ", added="\n}"),
            id="a new line between braces",
        ),
        pytest.param(
            "<p<cursor>\n", "<p><cursor></p>\n", Typed(text=">", added="</p>"), id="a closing tag"
        ),
        pytest.param("x = a<cursor>\n", "x = <cursor>\n", None, id="deleted before the place"),
        pytest.param("x = <cursor>\n", "y = <cursor>\n", None, id="another line"),
        pytest.param("x = <cursor>\ny\n", "x = <cursor>\nz\n", None, id="changed below"),
        pytest.param("x = <cursor>\n", "x = <cursor>y\n", None, id="a word came after it"),
        pytest.param("a\nx = <cursor>\n", "x = <cursor>\n", None, id="a line above deleted"),
    ],
)
def test_what_was_typed_at_a_place(
    then: str, now: str, expected: Typed | None, above: str, below: str
) -> None:
    before, offset = drawn(above + then + below)
    after, place = drawn(above + now + below)
    anchor = anchor_at(before, offset)
    assert typed_since(anchor, around(after, place)) == expected
    if expected is not None:
        assert expected in list(typed_around(anchor, after.length, partial(around, after)))


def test_what_happens_far_away_changes_nothing() -> None:
    document, offset = drawn("# first\n" + FAR + "x = <cursor>\n" + FAR + "# last\n")
    anchor = anchor_at(document, offset)
    moved = document.spliced(0, 1, "# more\n#", 2)
    moved = moved.spliced(moved.length - 5, moved.length, "", 3)
    assert typed_since(anchor, around(moved, offset + 7)) == Typed(text="")


def test_a_suggestion_accepted_over_the_rest_of_the_line() -> None:
    document, offset = drawn("if (<cursor>) {\n")
    anchor = anchor_at(document, offset)
    now, place = drawn("if (x > 0) {<cursor>\n")
    assert typed_since(anchor, around(now, place)) is None
    assert typed_since(anchor, around(now, place), replaced=3) == Typed(text="x > 0) {")


def test_more_than_a_suggestion_can_hold_is_something_else() -> None:
    document, offset = drawn(FAR + "x = <cursor>\n")
    now, place = drawn(FAR + "x = " + "y" * 10_000 + "<cursor>\n")
    assert typed_since(anchor_at(document, offset), around(now, place)) is None
