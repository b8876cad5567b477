"""What becomes of a suggestion shows in what is typed, whatever the editor reports."""

import pytest

from lsp_completions.acceptance import Acceptance
from lsp_completions.journal import Asked, Fate, Journal, Method
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.outcome import Suggested
from lsp_completions.request import Request
from lsp_completions.trail import Trail
from tests.support.cursor import cursor


class Desk:
    """A document in which one suggestion is shown."""

    def __init__(self, drawn: str, new_text: str, replaced: int = 0) -> None:
        text, self.start = cursor(drawn)
        self.document = Document.open("file:///w/a.py", "python", 1, text)
        self.edit = Edit(start=self.start, end=self.start + replaced, new_text=new_text)
        self.journal = Journal()
        self.acceptance = Acceptance(
            self.journal,
            current=lambda _: self.document,
            next_request=lambda *_: None,
            ask=self._ask,
        )
        self.ids = self.shows()

    async def _ask(self, _: Request) -> None:
        raise AssertionError("nothing is asked ahead here")

    def shows(self) -> list[str]:
        outcome = Suggested(document=self.document, edits=(self.edit,))
        asked = Asked(
            method=Method.INLINE,
            uri=self.document.uri,
            path="a.py",
            language="python",
            line=1,
            by_hand=False,
        )
        entry = self.journal.add(asked, Trail(), outcome)
        self.acceptance.follow(outcome, entry.number)
        return self.acceptance.shown(outcome, entry.number)

    def becomes(self, start: int, end: int, text: str) -> None:
        self.document = self.document.spliced(start, end, text, 2)
        self.acceptance.changed(self.document)

    def fate(self) -> tuple[Fate, int]:
        entry = self.journal.entries()[-1]
        return entry.fate, entry.taken


@pytest.mark.parametrize(
    ("typed", "fate", "taken"),
    [
        pytest.param(["c", "a"], Fate.TYPED_THROUGH, 2, id="typed in part"),
        pytest.param([*"call()"], Fate.TYPED_THROUGH, 6, id="typed to its end"),
        pytest.param(["call()"], Fate.ACCEPTED, 6, id="accepted"),
        pytest.param(["call"], Fate.ACCEPTED_IN_PART, 4, id="a word of it accepted"),
        pytest.param(["c", "all()"], Fate.ACCEPTED, 6, id="typed into, then accepted"),
        pytest.param(["x"], Fate.ENDED, 0, id="something else typed"),
        pytest.param(["c", "x"], Fate.TYPED_THROUGH, 1, id="typed in part, then something else"),
    ],
)
def test_what_is_typed_tells(typed: list[str], fate: Fate, taken: int) -> None:
    desk = Desk("x = <cursor>\ny = 2\n", "call()")
    at = desk.start
    for each in typed:
        desk.becomes(at, at, each)
        at += len(each)
    assert desk.fate() == (fate, taken)


@pytest.mark.parametrize(
    ("drawn", "new_text", "replaced", "inserted"),
    [
        pytest.param("f(<cursor>)\n", "a, b)", 1, "a, b)", id="over a closing bracket"),
        pytest.param("if a:<cursor>\r\n", "\n    b\n", 0, "\r\n    b\r\n", id="CRLF"),
    ],
)
def test_an_acceptance_in_other_shapes(
    drawn: str, new_text: str, replaced: int, inserted: str
) -> None:
    desk = Desk(drawn, new_text, replaced)
    desk.becomes(desk.start, desk.start + replaced, inserted)
    assert desk.fate() == (Fate.ACCEPTED, len(new_text))


async def test_what_the_editor_reports_counts_most() -> None:
    desk = Desk("x = <cursor>\n", "call()")
    (identity,) = desk.ids
    desk.acceptance.accepted_in_part(identity, 2)
    assert desk.fate() == (Fate.ACCEPTED_IN_PART, 2)
    desk.becomes(0, 0, "# another line\n")
    desk.acceptance.accepted(identity)
    assert desk.fate() == (Fate.ACCEPTED, 6)


def test_another_suggestion_takes_its_place_and_closing_ends_it() -> None:
    desk = Desk("x = <cursor>\n", "call()")
    desk.shows()
    assert [each.fate for each in desk.journal.entries()] == [Fate.OPEN, Fate.ENDED]
    desk.acceptance.forget(desk.document.uri)
    assert [each.fate for each in desk.journal.entries()] == [Fate.ENDED, Fate.ENDED]


def test_what_was_typed_before_the_next_one_came_stays() -> None:
    desk = Desk("x = <cursor>\n", "call()")
    desk.becomes(desk.start, desk.start, "c")
    desk.shows()
    assert desk.fate() == (Fate.TYPED_THROUGH, 1)
