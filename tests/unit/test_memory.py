"""How much is remembered: the newest places, of the documents asked in last."""

import gc
from types import SimpleNamespace
from typing import cast
from weakref import ref

from lsp_completions.cache import MOST, MOST_PER_DOCUMENT, MOST_WHOLE, Memory, Piece


class Remembered:
    """A piece as far as it can be old."""

    def __init__(self, document: str) -> None:
        self.asked = SimpleNamespace(document=document)
        self.generation = SimpleNamespace(close=lambda: None)
        self.is_faded = False

    def fade(self) -> None:
        self.is_faded = True


def piece(document: str) -> Piece:
    return cast(Piece, Remembered(document))


def remembered(memory: Memory) -> dict[str, list[Piece]]:
    return dict(memory._pieces)


def test_a_document_keeps_its_newest() -> None:
    memory = Memory()
    pieces = [memory.add(piece("a")) for _ in range(MOST_PER_DOCUMENT + 3)]
    assert remembered(memory) == {"a": pieces[: -MOST_PER_DOCUMENT - 1 : -1]}


def test_all_together_keep_those_of_the_documents_asked_in_last() -> None:
    memory = Memory()
    for name in ("old", "new"):
        for _ in range(MOST_PER_DOCUMENT):
            memory.add(piece(name))
    others = [f"{number}" for number in range(MOST - 2 * MOST_PER_DOCUMENT)]
    for name in others:
        memory.add(piece(name))
    memory.add(piece("new"))
    assert sum(map(len, remembered(memory).values())) == MOST
    assert len(remembered(memory)["old"]) == MOST_PER_DOCUMENT
    for _ in range(3):
        memory.add(piece("last"))
    assert len(remembered(memory)["old"]) == MOST_PER_DOCUMENT - 3
    for number in range(MOST):
        memory.add(piece(f"other {number}"))
    assert "old" not in remembered(memory)
    assert sum(map(len, remembered(memory).values())) == MOST


def test_only_the_newest_are_kept_with_all_that_was_asked() -> None:
    memory = Memory()
    pieces = [memory.add(piece(f"{number // 9}")) for number in range(MOST_WHOLE + 30)]
    assert [each.is_faded for each in pieces] == [True] * 30 + [False] * MOST_WHOLE


def test_of_a_closed_document_nothing_is_kept() -> None:
    memory = Memory()
    closed = [ref(memory.add(piece("closed"))) for _ in range(MOST_WHOLE // 2)]
    staying = memory.add(piece("open"))
    memory.forget("closed")
    gc.collect()
    assert [each() for each in closed] == [None] * len(closed)
    assert remembered(memory) == {"open": [staying]}
