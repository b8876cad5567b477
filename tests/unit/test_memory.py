"""How much is remembered: the newest places, of the documents asked in last."""

from types import SimpleNamespace
from typing import cast

from lsp_completions.cache import MOST, MOST_PER_DOCUMENT, Memory, Piece


def piece(document: str) -> Piece:
    return cast(Piece, SimpleNamespace(asked=SimpleNamespace(document=document)))


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
