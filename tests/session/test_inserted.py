"""Where an accepted text stands is known, whoever tells of it, and in which order."""

from collections.abc import Callable

import pytest

from lsp_completions.acceptance import Acceptance
from lsp_completions.journal import Journal
from lsp_completions.pipeline.document import Document, Position, Range, TextChange, apply_changes
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.outcome import Suggested
from lsp_completions.pipeline.positions import PositionEncoding
from lsp_completions.request import Request
from lsp_completions.statistics.kept import Lines
from tests.support.cursor import cursor


class Desk:
    """A document in which one suggestion is shown, and the lines that hold what was accepted."""

    def __init__(self, drawn: str, new_text: str, replaced: int = 0) -> None:
        text, start = cursor(drawn)
        self.document = Document.open("file:///w/a.py", "python", 1, text)
        self.edit = Edit(start=start, end=start + replaced, new_text=new_text)
        self.lines: Lines | None = None
        self.text = ""
        self.acceptance = Acceptance(
            Journal(),
            current=lambda _: self.document,
            next_request=lambda *_: None,
            ask=self._ask,
            inserted=self._inserted,
        )
        outcome = Suggested(document=self.document, edits=(self.edit,))
        self.acceptance.follow(outcome, 1)
        (self.identity,) = self.acceptance.shown(outcome, 1)

    async def _ask(self, _: Request) -> None:
        raise AssertionError("nothing is asked ahead here")

    def _inserted(self, number: int, text: str, uri: str, lines: Lines) -> None:
        # As who counts does, who is told twice.
        if text != self.text:
            self.text, self.lines = text, lines

    def changes(self, start: int, end: int, text: str) -> None:
        places = [Position(*self.document.place_at(offset)) for offset in (start, end)]
        change = TextChange(Range(*places), text)
        self.document = apply_changes(self.document, [change], PositionEncoding.UTF32, 2)
        if self.lines is not None:
            self.lines = self.lines.after([change])
        self.acceptance.changed(self.document)

    def inserts(self) -> None:
        self.changes(self.edit.start, self.edit.end, self.edit.new_text)

    def reports(self) -> None:
        self.acceptance.accepted(self.identity)

    def reports_part(self, units: int) -> None:
        self.acceptance.accepted_in_part(self.identity, units)

    def held(self) -> str:
        assert self.lines is not None
        return "".join(map(self.document.line, range(self.lines.first, self.lines.last + 1)))


ORDERS: dict[str, list[Callable[[Desk], None]]] = {
    "reported first": [Desk.reports, Desk.inserts],
    "reported after": [Desk.inserts, Desk.reports],
    "seen only": [Desk.inserts],
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("drawn", "new_text", "replaced", "held"),
    [
        pytest.param("a\nx = <cursor>\nb\n", "call(1)", 0, "x = call(1)\n", id="a line"),
        pytest.param(
            "a\nx = f(<cursor>)\nb\n",
            "1,\n  2)",
            1,
            "x = f(1,\n  2)\n",
            id="before a bracket",
        ),
        pytest.param("<cursor>", "a\nb\nc", 0, "a\nb\nc", id="in an empty document"),
    ],
)
async def test_the_lines_hold_it(
    order: str, drawn: str, new_text: str, replaced: int, held: str
) -> None:
    desk = Desk(drawn, new_text, replaced)
    for step in ORDERS[order]:
        step(desk)
    assert (desk.text, desk.held()) == (new_text, held)
    # It is found again, whatever comes above.
    desk.changes(0, 0, "new\nlines\n")
    assert desk.held() == held


@pytest.mark.parametrize("first", ["reported", "inserted"])
async def test_a_part_is_where_it_was_put(first: str) -> None:
    desk = Desk("a\nx = <cursor>\nb\n", "call(1)\nmore()")
    start = desk.edit.start
    if first == "reported":
        desk.reports_part(4)
    desk.changes(start, start, "call")
    if first == "inserted":
        desk.reports_part(4)
    assert (desk.text, desk.held()) == ("call", "x = call\n")


async def test_what_is_typed_is_not_accepted() -> None:
    desk = Desk("x = <cursor>\n", "ab")
    desk.changes(4, 4, "a")
    desk.changes(5, 5, "b")
    assert desk.lines is None
