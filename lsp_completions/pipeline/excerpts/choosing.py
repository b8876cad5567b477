"""The excerpts that fit a budget, signatures before bodies.

What was chosen once stays, in its order and to the letter, while it is still among the best:
whoever serves the model reads the same beginning once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lsp_completions.pipeline.excerpts.index import Index, Piece
from lsp_completions.pipeline.excerpts.query import Query
from lsp_completions.pipeline.excerpts.ranking import Ranked, Source, ranked
from lsp_completions.pipeline.prompt import Excerpt

FRAME = 40  # characters that a family's words around an excerpt take, more or less
LEAST_CHARS = 120  # of room, below which no excerpt is worth its frame
SURE = 0.4  # the least score of a definition that comes before lines that are merely alike


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """An excerpt, and what it was made of."""

    key: str
    excerpt: Excerpt

    @property
    def cost(self) -> int:
        """How much of the budget it takes."""
        return len(self.excerpt.text) + len(self.excerpt.path) + FRAME


def choose(
    query: Query, sources: Sequence[Source], *, chars: int, kept: Sequence[Chosen] = ()
) -> tuple[Chosen, ...]:
    """The excerpts for a budget of `chars` characters, the best first; of `kept` what still is.

    Nothing is in it that the model sees anyway, and nothing twice.
    """
    if chars < LEAST_CHARS:
        return ()
    order = ranked(query, sources)
    best = _taken(query, sources, order, chars)
    if not kept:
        return tuple(_composed(best, sources))
    staying = _staying(query, sources, best, kept)
    shown = frozenset(line.strip() for each in staying for line in each.excerpt.text.split("\n"))
    left = chars - sum(each.cost for each in staying)
    more = _taken(query, sources, order, left, shown) if left >= LEAST_CHARS else []
    return (*staying, *_composed(more, sources))


def _staying(
    query: Query, sources: Sequence[Source], best: Sequence["_Taken"], kept: Sequence[Chosen]
) -> list[Chosen]:
    """What was chosen before and still is: mostly among the best, unchanged, and not seen."""
    indexes = {source.index.key: source.index for source in sources}
    now = {
        (sources[each.source].index.key, sources[each.source].index.lines[n])
        for each in best
        for n in each.lines
    }
    staying = []
    for each in kept:
        lines = [line for line in each.excerpt.text.split("\n") if line.strip()]
        wanted = sum((each.key, line) in now for line in lines)
        seen = sum(line.strip() in query.visible for line in lines)
        if wanted * 2 >= len(lines) and seen * 2 < len(lines) and is_current(each, indexes):
            staying.append(each)
    return staying


def is_current(chosen: Chosen, indexes: Mapping[str, Index]) -> bool:
    """Whether the text an excerpt was taken from still has all of its lines."""
    index = indexes.get(chosen.key)
    if index is None:
        return False
    return all(not line or line in index.lines for line in chosen.excerpt.text.split("\n"))


@dataclass(slots=True, eq=False)
class _Taken:
    source: int
    piece: Piece
    lines: tuple[int, ...]


def _taken(
    query: Query,
    sources: Sequence[Source],
    order: Sequence[Ranked],
    chars: int,
    beside: frozenset[str] = frozenset(),
) -> list[_Taken]:
    """The best that fit, heads before bodies. What is shown `beside` them is not shown again."""
    left = chars
    taken: list[_Taken] = []
    shown: set[tuple[int, int]] = set()
    seen: set[str] = {*query.visible, *beside}
    files: set[int] = set()

    def cost_of(source: int, lines: Iterable[str]) -> int:
        cost = sum(len(line) + 1 for line in lines)
        return cost if source in files else cost + len(sources[source].index.path) + FRAME

    def take(each: Ranked) -> _Taken | None:
        nonlocal left
        source = sources[each.source]
        piece = source.index.pieces[each.piece]
        fresh = [n for n in piece.head if (each.source, n) not in shown]
        lines = [source.index.lines[n] for n in fresh]
        stripped = [line.strip() for line in lines]
        # What the model sees anyway is not shown once more.
        if sum(line in seen for line in stripped) * 2 >= len(fresh):
            return None
        cost = cost_of(each.source, lines)
        if cost > left:
            return None
        left -= cost
        files.add(each.source)
        shown.update((each.source, n) for n in fresh)
        seen.update(line for line in stripped if len(line) > 3)
        return _Taken(each.source, piece, tuple(fresh))

    def extend(more: _Taken) -> None:
        nonlocal left
        index = sources[more.source].index
        body = [n for n in more.piece.body if (more.source, n) not in shown]
        lines = [index.lines[n] for n in body]
        while body and cost_of(more.source, lines) > left:
            body.pop()
            lines.pop()
        if body:
            left -= cost_of(more.source, lines)
            shown.update((more.source, n) for n in body)
            more.lines = tuple(sorted({*more.lines, *body}))

    # What defines something comes first, all heads before the first body.
    for sure in (True, False):
        round_of_it: list[_Taken] = []
        for each in order:
            if left < LEAST_CHARS // 2:
                break
            named = bool(sources[each.source].index.pieces[each.piece].name)
            if (named and each.score >= SURE) is sure and (found := take(each)) is not None:
                round_of_it.append(found)
        for more in round_of_it:
            extend(more)
        taken += round_of_it
    return taken


def _composed(taken: Sequence[_Taken], sources: Sequence[Source]) -> Iterable[Chosen]:
    """One excerpt a file, its pieces in the file's order."""
    files: dict[int, list[_Taken]] = {}
    for each in taken:
        files.setdefault(each.source, []).append(each)
    for number, pieces in files.items():
        index = sources[number].index
        pieces.sort(key=lambda each: each.lines[0])
        numbers = sorted({n for each in pieces for n in each.lines})
        text = ""
        last: int | None = None
        for n in numbers:
            gap = last is not None and any(index.lines[m].strip() for m in range(last + 1, n))
            text += (
                ("\n" if gap and not index.lines[n].startswith((" ", "\t")) else "")
                + index.lines[n]
                + "\n"
            )
            last = n
        yield Chosen(
            key=index.key,
            excerpt=Excerpt(path=index.path, text=text.rstrip("\n"), document=index.key),
        )
