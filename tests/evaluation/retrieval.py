"""How much of what defines an answer is shown to the model, at several budgets.

For each hole every way to choose excerpts may use all files of the project; counted is the share of
the defining lines that it shows.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from lsp_completions.pipeline.context import CursorContext, Windows, context_at
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.excerpts import Index, Source, choose, index_of, query_at
from lsp_completions.pipeline.languages import language_of
from tests.evaluation.projects import Hole, Project

BUDGETS = (256, 512, 1024)  # tokens
CHARS_PER_TOKEN = 4
WINDOWS = Windows(prefix_chars=4300, suffix_chars=716)

Shown = Sequence[tuple[str, str]]
"""Lines that are shown, each with its path."""
Way = Callable[[Hole, CursorContext, int], Shown]


@dataclass
class Recall:
    """What one way reached."""

    way: str
    shares: dict[int, list[float]] = field(default_factory=dict)

    def mean(self, budget: int) -> float:
        found = self.shares[budget]
        return sum(found) / len(found)


def recalls(holes: Iterable[Hole], ways: dict[str, Way]) -> list[Recall]:
    """The share of defining lines that each way shows, hole by hole."""
    found = [Recall(name, {budget: [] for budget in BUDGETS}) for name in ways]
    for hole in holes:
        context = context_of(hole)
        for recall, way in zip(found, ways.values(), strict=True):
            for budget in BUDGETS:
                shown = set(way(hole, context, budget * CHARS_PER_TOKEN))
                share = sum((hole.defined_in, line) in shown for line in hole.lines)
                recall.shares[budget].append(share / len(hole.lines))
    return found


def context_of(hole: Hole) -> CursorContext:
    language = language_of("", hole.path)
    document = Document.open(f"file:///w/{hole.path}", language.id, 1, hole.text)
    return context_at(document, hole.offset, path=hole.path, windows=WINDOWS)


# ---- the ways


def nothing(hole: Hole, context: CursorContext, chars: int) -> Shown:
    return ()


def ours(hole: Hole, context: CursorContext, chars: int) -> Shown:
    indexes = _indexes(hole.project.name, hole.project)
    others = [Source(index=each) for each in indexes if each.path != hole.path]
    own = index_of(hole.text, key=hole.path, path=hole.path, language=context.language)
    query = query_at(context, own.imports)
    chosen = choose(query, [*others, Source(index=own, is_own=True)], chars=chars)
    return [
        (each.excerpt.path, line.strip())
        for each in chosen
        for line in each.excerpt.text.split("\n")
    ]


_CACHE: dict[str, tuple[Index, ...]] = {}


def _indexes(name: str, project: Project) -> tuple[Index, ...]:
    if name not in _CACHE:
        _CACHE[name] = tuple(
            index_of(text, key=path, path=path, language=language_of("", path))
            for path, text in project.files.items()
        )
    return _CACHE[name]


def open_tabs(hole: Hole, context: CursorContext, chars: int) -> Shown:
    """Windows of 60 lines, the most alike of each file by the words they share."""
    wanted = _set(context.prefix.split("\n")[-60:])
    best = []
    for path, text in hole.project.files.items():
        if path == hole.path:
            continue
        lines = text.split("\n")
        sets = _line_sets(path, text)
        windows = []
        for start in range(0, max(len(lines) - 59, 1), 5):
            there = frozenset().union(*sets[start : start + 60])
            either = len(wanted | there)
            windows.append((len(wanted & there) / either if either else 0.0, start))
        score, start = max(windows)
        best.append((score, path, lines[start : start + 60]))
    best.sort(key=lambda each: -each[0])
    return _filled([(path, lines) for score, path, lines in best if score > 0], chars)


BM25_LINES = 10


def bm25(hole: Hole, context: CursorContext, chars: int) -> Shown:
    """Windows of ten lines, ranked by BM25."""
    retriever, windows = _bm25_of(hole.project.name, hole.project)
    lines = context.prefix.split("\n")[-20:] + context.suffix.split("\n")[:5]
    query = [word for line in lines for word in _words(line)]
    scores = retriever.get_scores([word for word in query if word in retriever.vocab_dict])
    order = sorted(range(len(windows)), key=lambda n: -scores[n])
    return _filled(
        [windows[n] for n in order if windows[n][0] != hole.path and scores[n] > 0], chars
    )


_BM25: dict[str, tuple[object, list[tuple[str, list[str]]]]] = {}


def _bm25_of(name, project):  # type: ignore
    import bm25s

    if name not in _BM25:
        windows = []
        for path, text in project.files.items():
            lines = text.split("\n")
            for start in range(0, len(lines), BM25_LINES // 2):
                windows.append((path, lines[start : start + BM25_LINES]))
        retriever = bm25s.BM25()
        retriever.index(
            [[word for line in lines for word in _words(line)] or ["_"] for _, lines in windows],
            show_progress=False,
        )
        _BM25[name] = (retriever, windows)
    return _BM25[name]


def _filled(windows: Iterable[tuple[str, Sequence[str]]], chars: int) -> Shown:
    shown = []
    seen = set()
    for path, lines in windows:
        for line in lines:
            if (path, line) in seen:
                continue
            if len(line) + 1 > chars:
                return shown
            chars -= len(line) + 1
            seen.add((path, line))
            shown.append((path, line.strip()))
    return shown


@lru_cache(maxsize=1000)
def _line_sets(path: str, text: str) -> list[frozenset[str]]:
    return [_set([line]) for line in text.split("\n")]


def _set(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(word for line in lines for word in _words(line))


def _words(line: str) -> list[str]:
    return [
        part.lower()
        for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", line)
        if len(part) > 1
    ]


WAYS: dict[str, Way] = {
    "nothing": nothing,
    "open tabs, Jaccard": open_tabs,
    "BM25": bm25,
    "ours": ours,
}
