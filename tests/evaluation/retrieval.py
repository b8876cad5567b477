"""How much of what defines an answer is shown to the model, at several budgets.

For each hole every way to choose excerpts may use all files of the project; counted is the share of
the defining lines that it shows.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from statistics import median
from typing import Any

from lsp_completions.pipeline.context import CursorContext, Windows, context_at
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.excerpts.choosing import choose
from lsp_completions.pipeline.excerpts.index import Index, index_of
from lsp_completions.pipeline.excerpts.query import query_at
from lsp_completions.pipeline.excerpts.ranking import Source
from lsp_completions.pipeline.languages import language_of
from tests.evaluation.projects import Hole, Project

BUDGETS = (256, 512, 1024)  # tokens
CHARS_PER_TOKEN = 4
WINDOWS = Windows(prefix_chars=4300, suffix_chars=716)
TAB_LINES = 60  # as the usual clients take from an open tab
# Of a window: small ones serve it better in some projects, large ones in others.
BM25_LINES = (10, 40)

Shown = Sequence[tuple[str, str]]
"""Lines that are shown, each with its path."""


@dataclass(frozen=True, kw_only=True)
class Recall:
    """What one way reached, by budget."""

    way: str
    shares: dict[int, float]


def recalls(holes: Sequence[Hole], ways: "Mapping[str, Way]") -> list[Recall]:
    """The mean share of defining lines that each way shows."""
    found: dict[str, dict[int, float]] = {name: dict.fromkeys(BUDGETS, 0.0) for name in ways}
    for hole in holes:
        context = context_of(hole)
        for name, way in ways.items():
            for budget in BUDGETS:
                shown = set(way(hole, context, budget * CHARS_PER_TOKEN))
                # A prototype says as much as what it announces.
                announced = {line for _, line in shown}
                there = sum(
                    (hole.defined_in, line) in shown or f"{line};" in announced
                    for line in hole.lines
                )
                found[name][budget] += there / len(hole.lines) / len(holes)
    return [Recall(way=name, shares=shares) for name, shares in found.items()]


def context_of(hole: Hole) -> CursorContext:
    """What the model sees around the hole in any case."""
    language = language_of("", hole.path)
    document = Document.open(f"file:///w/{hole.path}", language.id, 1, hole.text)
    return context_at(document, hole.offset, path=hole.path, windows=WINDOWS)


def table(found: Sequence[Recall]) -> str:
    """As Markdown."""
    rows = ["| | " + " | ".join(f"{budget} tokens" for budget in BUDGETS) + " |"]
    rows.append("| --- |" + " ---: |" * len(BUDGETS))
    for each in found:
        cells = (f"{each.shares[budget]:.1%}" for budget in BUDGETS)
        rows.append(f"| {each.way} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


# ---- the ways


def nothing(hole: Hole, context: CursorContext, chars: int) -> Shown:
    """The document alone."""
    return ()


def ours(hole: Hole, context: CursorContext, chars: int) -> Shown:
    """What is sent as excerpts; what stands around them in a prompt counts as well."""
    own = _own_index(hole)
    others = [Source(index=each) for each in _indexes(hole.project) if each.path != hole.path]
    query = query_at(context, own.imports)
    chosen = choose(query, [*others, Source(index=own, is_own=True)], chars=chars)
    return [
        (each.excerpt.path, line.strip())
        for each in chosen
        for line in each.excerpt.text.split("\n")
    ]


def open_tabs(hole: Hole, context: CursorContext, chars: int) -> Shown:
    """The window of each file that shares most words with the lines before the cursor."""
    return _filled(_best_tabs(hole, context.prefix), chars)


@lru_cache(maxsize=4)
def _best_tabs(hole: Hole, prefix: str) -> list[tuple[str, list[str]]]:
    wanted = frozenset(_words("\n".join(prefix.split("\n")[-TAB_LINES:])))
    best = []
    for path, text in hole.project.files.items():
        if path == hole.path:
            continue
        lines = text.split("\n")
        by_line = _by_line(text)
        windows = []
        for start in range(0, max(len(lines) - TAB_LINES + 1, 1), 5):
            there = frozenset[str]().union(*by_line[start : start + TAB_LINES])
            windows.append((len(wanted & there) / max(len(wanted | there), 1), start))
        score, start = max(windows)
        best.append((score, path, lines[start : start + TAB_LINES]))
    best.sort(key=lambda each: -each[0])
    return [(path, lines) for score, path, lines in best if score > 0]


def bm25(hole: Hole, context: CursorContext, chars: int, *, size: int) -> Shown:
    """Windows of all files, ranked by BM25 for the words around the cursor."""
    retriever, windows = _retriever(hole.project, size)
    lines = context.prefix.split("\n")[-20:] + context.suffix.split("\n")[:5]
    query = [word for word in _words("\n".join(lines)) if word in retriever.vocab_dict]
    if not query:
        return ()
    scores = retriever.get_scores(query)
    order = sorted(range(len(windows)), key=lambda number: -scores[number])
    best = [windows[n] for n in order[:200] if windows[n][0] != hole.path and scores[n] > 0]
    return _filled(best, chars)


Way = Callable[[Hole, CursorContext, int], Shown]
WAYS: dict[str, Way] = {
    "nothing": nothing,
    "open tabs, Jaccard": open_tabs,
    **{f"BM25, {size} lines": partial(bm25, size=size) for size in BM25_LINES},
    "ours": ours,
}


def _filled(windows: Iterable[tuple[str, Sequence[str]]], chars: int) -> Shown:
    """The first lines that fit, each once."""
    shown: dict[tuple[str, str], None] = {}
    for path, lines in windows:
        for line in lines:
            if (path, line.strip()) in shown:
                continue
            if len(line) + 1 > chars:
                return list(shown)
            chars -= len(line) + 1
            shown[path, line.strip()] = None
    return list(shown)


@lru_cache(maxsize=4)
def _own_index(hole: Hole) -> Index:
    language = language_of("", hole.path)
    return index_of(hole.text, key=hole.path, path=hole.path, language=language)


@cache
def _indexes(project: Project) -> tuple[Index, ...]:
    return tuple(
        index_of(text, key=path, path=path, language=language_of("", path))
        for path, text in project.files.items()
    )


@cache
def _retriever(project: Project, size: int) -> tuple[Any, list[tuple[str, list[str]]]]:
    # Only here: it brings much along, and the other tables do without.
    import bm25s

    windows = [
        (path, lines[start : start + size])
        for path, text in project.files.items()
        for lines in [text.split("\n")]
        for start in range(0, len(lines), size // 2)
    ]
    retriever = bm25s.BM25()
    texts = [_words("\n".join(lines)) or ["-"] for _, lines in windows]
    retriever.index(texts, show_progress=False)
    return retriever, windows


@lru_cache(maxsize=1000)
def _by_line(text: str) -> list[frozenset[str]]:
    return [frozenset(_words(line)) for line in text.split("\n")]


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text) if len(word) > 1]


# ---- how long it takes


@dataclass(frozen=True, kw_only=True)
class Times:
    """Milliseconds, for many open documents."""

    index: float
    """To get one of the documents ready, in the background."""
    middle: float
    """To choose anew, half of the time."""
    worst: float
    """To choose anew, in 99 of 100."""
    again: float
    """To get one ready after an edit."""


def times(text: str, *, documents: int = 20, lines: int = 2000, rounds: int = 200) -> Times:
    """With so many documents of so many lines, all made of `text`, and the cursor all over one."""
    source = text.split("\n")
    whole = "\n".join((source * (lines // len(source) + 1))[:lines])
    python = language_of("python")
    began = time.perf_counter()
    indexes = [
        index_of(whole, key=f"{n}", path=f"a/{n}.py", language=python) for n in range(documents)
    ]
    index = (time.perf_counter() - began) / documents
    document = Document.open("file:///a/0.py", "python", 1, whole)
    sources = [Source(index=each, is_own=each.key == "0") for each in indexes]
    taken = []
    for number in range(rounds):
        offset = document.length * number // rounds
        context = context_at(document, offset, path="a/0.py", windows=WINDOWS)
        began = time.perf_counter()
        choose(query_at(context, indexes[0].imports), sources, chars=1256)
        taken.append(time.perf_counter() - began)
    taken.sort()
    began = time.perf_counter()
    edited = document.spliced(document.length // 2, document.length // 2, "x", 2)
    index_of(edited.text, key="0", path="a/0.py", language=python)
    again = time.perf_counter() - began
    return Times(
        again=again * 1000,
        index=index * 1000,
        middle=median(taken) * 1000,
        worst=taken[len(taken) * 99 // 100] * 1000,
    )


def times_table(found: Times) -> str:
    """As a sentence."""
    return (
        "With 20 open documents of 2,000 lines: "
        f"{found.index:.0f} ms to get one ready and {found.again:.0f} ms after an edit, in the "
        f"background; {found.middle:.1f} ms (median) and {found.worst:.1f} ms (99 of 100) to "
        "choose anew."
    )
