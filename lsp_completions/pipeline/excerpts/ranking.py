"""Which pieces are wanted at a cursor, the best first.

Definitions of names around the cursor matter most; what is merely alike fills what is left.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nlargest
from math import log
from operator import itemgetter

from lsp_completions.pipeline.excerpts.index import K1, Index, Piece
from lsp_completions.pipeline.excerpts.query import Query
from lsp_completions.pipeline.imports import Import

MOST_WORDS = 20  # that are looked up; more of them changed nothing
MOST_POSTINGS = 1200
MOST_FREQUENT = 200  # pieces; a word in more of them says nothing
MOST_ALIKE = 80  # pieces
ALIKE_ALONE = 0.5  # of the score of a definition that is as much alike
OF_A_WHOLE = 0.45


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A text that may be searched now."""

    index: Index
    is_own: bool = False
    """It is the text around the cursor itself."""
    recency: float = 0.0
    """1 for what the user looked at last, towards 0 for what was left long ago."""
    edited: tuple[int, ...] = ()
    """The lines last edited in it."""
    only_edited: bool = False
    """Nothing else of it counts."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """A piece of a source, by their numbers, and how much speaks for it."""

    score: float
    source: int
    piece: int


def ranked(query: Query, sources: Sequence[Source]) -> list[Ranked]:
    """The pieces of all sources, the best first; not those that nothing speaks for."""
    known = _reasons(query, sources)
    alike = _alike(query, sources)
    likely = nlargest(
        MOST_ALIKE,
        (
            (score, number, piece)
            for number, table in enumerate(alike)
            for piece, score in table.items()
        ),
    )
    most = likely[0][0] if likely else 1.0
    found = []
    for number, piece in {*known, *((number, piece) for _, number, piece in likely)}:
        source = sources[number]
        near = _is_near(source.index.pieces[piece], source.edited)
        if source.only_edited and not near:
            continue
        # Lines that merely look alike say less than what defines something.
        share = 1.0 if source.index.pieces[piece].name else ALIKE_ALONE
        score = known.get((number, piece), 0.0) + share * alike[number].get(piece, 0.0) / most
        score += 0.1 * source.recency + 0.3 * near
        found.append(Ranked(score, number, piece))
    found.sort(key=lambda each: (-each.score, each.source, each.piece))
    return found


def _alike(query: Query, sources: Sequence[Source]) -> list[dict[int, float]]:
    """How alike the words of pieces are to those around the cursor, by source: BM25."""
    total = sum(len(source.index.pieces) for source in sources)
    telling: list[tuple[float, str, list[tuple[int, Sequence[tuple[int, int]]]]]] = []
    for word, weight in query.words.items():
        held = [
            (number, found)
            for number, source in enumerate(sources)
            if (found := source.index.postings.get(word)) is not None
        ]
        frequency = sum(len(found) for _, found in held)
        if 0 < frequency <= MOST_FREQUENT:
            rarity = weight * log(1 + (total - frequency + 0.5) / (frequency + 0.5))
            telling.append((rarity, word, held))
    telling.sort(reverse=True, key=itemgetter(0, 1))
    scores: list[dict[int, float]] = [{} for _ in sources]
    left = MOST_POSTINGS
    # What is rare and near says most; a bound, so that large projects cost no more than small ones.
    for rarity, _, held in telling[:MOST_WORDS]:
        for number, found in held if left > 0 else ():
            table, norms = scores[number], sources[number].index.norms
            for piece, count in found:
                score = rarity * count * (K1 + 1) / (count + norms[piece])
                table[piece] = table.get(piece, 0.0) + score
            left -= len(found)
    return scores


def _reasons(query: Query, sources: Sequence[Source]) -> dict[tuple[int, int], float]:
    """Which pieces define what is named around the cursor, and how sure that is."""
    meant = targets(query.imports, (source.index.path for source in sources))
    scores: dict[tuple[int, int], float] = {}

    def note(number: int, piece: int, score: float) -> None:
        at = (number, piece)
        scores[at] = max(scores.get(at, 0.0), score)

    # Which names are imported, by what they are called where they come from.
    imported: dict[str, float] = {}
    for each in query.imports:
        for here, there in each.names:
            near = query.names.get(here, 0.0)
            imported[there] = max(imported.get(there, 0.0), near)

    for number, source in enumerate(sources):
        # Where the top of the file is out of sight.
        for piece in source.index.importing if source.is_own else ():
            note(number, piece, 0.45)

    # What is imported as a whole: most of it may be meant.
    for number, source in enumerate(sources):
        if (through := meant.get(source.index.path)) is None:
            continue
        whole = [each for each in through if not each.names]
        if not whole or source.is_own:
            continue
        near = max(query.names.get(each.alias, 0.0) for each in whole)
        for pieces in source.index.defined.values():
            for piece in pieces:
                inner = bool(source.index.pieces[piece].holder)
                note(number, piece, OF_A_WHOLE + 0.3 * near - 0.15 * inner)

    modules = {each.alias: each for each in query.imports if each.alias}
    for name, near in query.names.items():
        held = [
            (n, found) for n, each in enumerate(sources) if (found := each.index.defined.get(name))
        ]
        count = sum(len(found) for _, found in held)
        for number, found in held:
            sure = 1.0 if sources[number].index.path in meant else 1 / count
            for piece in found:
                note(number, piece, 1.6 * near * sure)
    for name, near in imported.items():
        for number, source in enumerate(sources):
            path = source.index.path
            for piece in source.index.defined.get(name, ()):
                note(number, piece, (1.0 if path in meant else 0.8) + 1.2 * near)
    if query.receiver:
        alias = modules.get(query.receiver)
        for number, source in enumerate(sources):
            index = source.index
            for receiver in query.receivers:
                for piece in index.folded.get(receiver, ()):
                    note(number, piece, 1.5)
                for piece in index.held.get(receiver, ()):
                    note(number, piece, 1.6 + _begun(query, index.pieces[piece].name))
            # `client` may well be an `HttpClient`.
            for holder in index.ending.get(query.receivers[0], ()):
                for piece in index.folded.get(holder, ()):
                    note(number, piece, 0.8)
                for piece in index.held.get(holder, ()):
                    note(number, piece, 0.9 + _begun(query, index.pieces[piece].name))
            if alias is not None and alias in meant.get(index.path, ()):
                for name, found in index.defined.items():
                    for piece in found:
                        if not index.pieces[piece].holder:
                            note(number, piece, 1.4 + _begun(query, name))
    elif len(query.typed) > 1:
        for number, source in enumerate(sources):
            names = source.index.names
            for at in range(bisect_left(names, query.typed), len(names)):
                if not names[at].startswith(query.typed):
                    break
                for piece in source.index.defined[names[at]]:
                    note(number, piece, scores.get((number, piece), 0.3) + 1.0)
    return scores


def _begun(query: Query, name: str) -> float:
    return 0.8 if query.typed and name.startswith(query.typed) else 0.0


def _is_near(piece: Piece, lines: Sequence[int]) -> bool:
    return any(piece.head[0] - 4 <= line <= piece.head[-1] + 4 for line in lines)


def targets(imports: Iterable[Import], paths: Iterable[str]) -> dict[str, list[Import]]:
    """Which imports mean which of the files that there are."""
    found: dict[str, list[Import]] = {}
    there = set(paths)
    folders: dict[str, list[str]] = {}
    for path in there:
        folders.setdefault(path.rpartition("/")[0] + "/", []).append(path)
    for each in imports:
        for path in each.paths:
            meant = folders.get(path, []) if path.endswith("/") else [path]
            if meant := [one for one in meant if one in there]:
                for one in meant:
                    found.setdefault(one, []).append(each)
                break
    return found
