"""The journal keeps the last outcomes, and what became of them, without code."""

import dataclasses

import pytest

from lsp_completions.journal import KEPT, Asked, Entry, Fate, Journal, Method
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.outcome import Outcome, Skipped, SkipReason, Suggested
from lsp_completions.trail import How, Trail
from tests.support.clock import Clock
from tests.support.leaks import found, fresh

CODE = fresh("quark_")
DOCUMENT = Document.open("file:///w/a.py", "python", 1, f"{CODE} = \n")
SUGGESTED = Suggested(
    document=DOCUMENT,
    edits=(
        Edit(start=3, end=3, new_text=f"{CODE}\n{CODE}"),
        Edit(start=3, end=3, new_text="1"),
    ),
)
NOTHING = Skipped(reason=SkipReason.PROVIDER_FAILED, detail="It said no.")


def asked(uri: str = "file:///w/a.py", line: int = 1) -> Asked:
    return Asked(
        method=Method.INLINE, uri=uri, path="a.py", language="python", line=line, by_hand=False
    )


@dataclasses.dataclass
class Stream:
    """A stream as a trail sees it."""

    provider: "Stream | None" = None
    prompt: "Stream | None" = None
    began: float = 100.1
    event_after: float | None = 0.2
    first_after: float | None = None
    name: str = "sourcegraph"
    model: str = "swift"
    excerpts: tuple[int, ...] = (1, 2, 3)

    def __post_init__(self) -> None:
        if self.began:
            self.provider = self.prompt = Stream(began=0)


def added(journal: Journal, outcome: Outcome = SUGGESTED, **place: object) -> Entry:
    return journal.add(asked(**place), Trail(Clock()), outcome)  # type: ignore[arg-type]


def test_an_entry_tells_all_about_a_suggestion_but_what_it_says() -> None:
    clock = Clock(100.0)
    trail = Trail(clock)
    trail.follows(Stream(), How.ASKED)  # type: ignore[arg-type]
    clock.now += 0.5
    entry = Journal(clock).add(asked(), trail, SUGGESTED)
    assert (entry.number, entry.at, entry.how) == (1, 100.5, How.ASKED)
    assert (entry.provider, entry.model, entry.excerpts) == ("sourcegraph", "swift", 3)
    assert (entry.candidates, entry.lines, entry.characters) == (2, 2, 2 * len(CODE) + 1)
    assert entry.suggested
    assert (entry.times.sent, entry.times.first_event, entry.times.first_text) == (100, 300, None)
    assert entry.times.answered == 500
    assert not found(repr(entry).encode(), CODE)


def test_an_entry_tells_why_there_was_nothing() -> None:
    entry = added(Journal(), NOTHING)
    assert not entry.suggested
    assert (entry.reason, entry.detail) == (SkipReason.PROVIDER_FAILED, "It said no.")
    assert (entry.candidates, entry.lines, entry.characters) == (0, 0, 0)


def test_only_the_last_are_kept() -> None:
    journal = Journal()
    numbers = [added(journal).number for _ in range(KEPT + 5)]
    assert [each.number for each in journal.entries()] == numbers[:4:-1]
    journal.happened(1, fate=Fate.ACCEPTED)  # no longer known


def test_the_newest_of_a_document_or_of_a_line_in_it() -> None:
    journal = Journal()
    for line, uri in ((1, "file:///w/a.py"), (2, "file:///w/a.py"), (1, "file:///w/b.py")):
        added(journal, line=line, uri=uri)

    def number(*place: object) -> int | None:
        entry = journal.newest(*place)  # type: ignore[arg-type]
        return None if entry is None else entry.number

    assert number("file:///w/a.py") == 2
    assert number("file:///w/a.py", 1) == 1
    assert number("file:///w/%61.py", 1) == 1
    assert number("file:///w/a.py", 3) is None
    assert number("file:///w/c.py") is None


@pytest.mark.parametrize(
    ("events", "fate", "taken"),
    [
        pytest.param([(Fate.ACCEPTED, 8)], Fate.ACCEPTED, 8, id="accepted"),
        pytest.param(
            [(Fate.ACCEPTED_IN_PART, 3), (Fate.ENDED, 0)],
            Fate.ACCEPTED_IN_PART,
            3,
            id="accepted in part, then left",
        ),
        pytest.param(
            [(Fate.TYPED_THROUGH, 2), (Fate.ENDED, 0)], Fate.ENDED, 2, id="typed in part, then left"
        ),
        pytest.param(
            [(Fate.ENDED, 0), (Fate.ACCEPTED, 8)], Fate.ACCEPTED, 8, id="told late of an acceptance"
        ),
        pytest.param([(Fate.ACCEPTED, 8), (Fate.ENDED, 0)], Fate.ACCEPTED, 8, id="stays accepted"),
        pytest.param([(None, 0)], Fate.OPEN, 0, id="nothing of it is known"),
    ],
)
def test_what_becomes_of_a_suggestion(
    events: list[tuple[Fate | None, int]], fate: Fate, taken: int
) -> None:
    journal = Journal()
    number = added(journal).number
    for each, characters in events:
        journal.happened(number, fate=each, taken=characters)
    (entry,) = journal.entries()
    assert (entry.fate, entry.taken, entry.shown) == (fate, taken, False)


def test_when_it_was_settled_counts_from_the_answer() -> None:
    clock = Clock()
    journal = Journal(clock)
    number = added(journal).number
    clock.now += 2
    journal.happened(number, shown=True)
    assert journal.entries()[0].settled is None
    journal.happened(number, fate=Fate.ACCEPTED)
    assert journal.entries()[0].settled == 2000
    assert journal.entries()[0].shown


def test_subscribers_are_told_of_what_is_new_and_of_what_changed() -> None:
    journal = Journal()
    told: list[Entry] = []
    end = journal.subscribe(told.append)
    number = added(journal).number
    journal.happened(number, shown=True)
    journal.happened(number, shown=True)  # which changes nothing
    journal.happened(number, fate=Fate.ACCEPTED)
    assert [(each.shown, each.fate) for each in told] == [
        (False, Fate.OPEN),
        (True, Fate.OPEN),
        (True, Fate.ACCEPTED),
    ]
    end()
    added(journal)
    assert len(told) == 3


def test_a_subscriber_that_fails_keeps_nobody_from_anything() -> None:
    journal = Journal()
    told: list[Entry] = []

    def fails(_: Entry) -> object:
        return 1 / 0

    journal.subscribe(fails)
    journal.subscribe(told.append)
    assert added(journal) in told
