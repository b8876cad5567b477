"""A text cut to pieces, ready to be searched: definitions, and windows of lines."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lsp_completions.pipeline.definitions import Definition, definitions_in
from lsp_completions.pipeline.excerpts.lines import Lines
from lsp_completions.pipeline.excerpts.words import LONGEST_LINE, fold, parts_of, words_in
from lsp_completions.pipeline.imports import Import, imports_in
from lsp_completions.pipeline.languages import Language

Held = TypeVar("Held")

WINDOW_LINES = 12  # of code that defines nothing, or of a body: about what fits beside definitions
SHORT_BODY = 8  # lines; a definition of no more is shown whole where there is room
OUTLINE_LINES = 14  # of a class: its fields and the heads of its methods
K1, B = 1.2, 0.6  # as in BM25; pieces differ in length by design, so that length matters less


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Lines that are shown together or not at all."""

    head: tuple[int, ...]
    """The numbers of the lines that have to be shown: the signature, or all."""
    body: tuple[int, ...]
    """Those that are shown as well where there is room."""
    name: str
    """What it defines; empty for lines that are merely code."""
    holder: str
    """The class around it, folded."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Index:
    """A text, ready to be searched. Made of what may be sent: secrets are masked before."""

    key: str
    path: str
    """As it is shown to a model."""
    lines: Lines
    pieces: tuple[Piece, ...]
    postings: Mapping[str, Sequence[tuple[int, int]]]
    """By word: in which pieces it is, and how often."""
    defined: Mapping[str, Sequence[int]]
    """By name: the pieces that define it."""
    names: tuple[str, ...]
    """Those names, sorted."""
    folded: Mapping[str, Sequence[int]]
    """The same by names without case and underscores."""
    held: Mapping[str, Sequence[int]]
    """By the folded name of a class: the pieces that define what it has."""
    ending: Mapping[str, Sequence[str]]
    """By the last word of its name: the classes, folded, that are called so."""
    norms: tuple[float, ...]
    """How much the length of each piece counts against it."""
    imports: tuple[Import, ...]
    importing: tuple[int, ...]
    """The pieces that are mostly imports."""


def index_of(text: str, *, key: str, path: str, language: Language) -> Index:
    r"""A text with `\n` line ends, ready to be searched."""
    lines = text.split("\n")
    definitions = list(definitions_in(text, lines, language))
    pieces: list[Piece] = []
    sizes: list[int] = []
    postings: dict[str, list[tuple[int, int]]] = {}
    defined: dict[str, list[int]] = {}
    folded: dict[str, list[int]] = {}
    held: dict[str, list[int]] = {}
    ending: dict[str, list[str]] = {}
    words_of = [words_in(line) if len(line) <= LONGEST_LINE else () for line in lines]

    def add(head: Sequence[int], body: Sequence[int], name: str = "", holder: str = "") -> None:
        head = [at for at in head if len(lines[at]) <= LONGEST_LINE]
        if not head:
            return
        words: Counter[str] = Counter()
        for at in (*head, *body):
            words.update(words_of[at])
        if not words:
            return
        number = len(pieces)
        pieces.append(Piece(tuple(head), tuple(body), name, holder))
        sizes.append(sum(words.values()))
        # Most words of a piece are in it once: they share what says so.
        shared: dict[int, tuple[int, int]] = {}
        for word, count in words.items():
            posting = shared.setdefault(count, (number, count))
            postings.setdefault(word, []).append(posting)
        if name:
            defined.setdefault(name, []).append(number)
            folded.setdefault(fold(name), []).append(number)
            if holder:
                held.setdefault(holder, []).append(number)

    holders: list[tuple[int, str]] = []
    for at, each in enumerate(definitions):
        while holders and holders[-1][0] <= each.start:
            holders.pop()
        head = range(each.start, each.head_end)
        if each.holds_others:
            body = _outline(each, definitions, at, lines)
            add(head, body, each.name, holders[-1][1] if holders else "")
            holders.append((each.end, fold(each.name)))
            if len(parts := parts_of(each.name)) > 1:
                ending.setdefault(parts[-1].lower(), []).append(fold(each.name))
            continue
        inside = [n for n in range(each.head_end, each.end) if lines[n].strip()]
        body = inside if len(inside) <= SHORT_BODY else inside[:1]
        add(head, body, each.name, holders[-1][1] if holders else "")
    for start, end in _windows(lines):
        add([n for n in range(start, end) if lines[n].strip()], ())

    # Many a word is in one piece, once, as others are; and a list has room that it does not need.
    same: dict[tuple[object, ...], tuple[Any, ...]] = {}

    def kept(lists: Mapping[str, list[Held]]) -> dict[str, tuple[Held, ...]]:
        return {name: same.setdefault(tuple(held), tuple(held)) for name, held in lists.items()}

    average = sum(sizes) / len(sizes) if sizes else 1.0
    return Index(
        key=key,
        path=path,
        lines=Lines(lines),
        pieces=tuple(pieces),
        postings=kept(postings),
        defined=kept(defined),
        names=tuple(sorted(defined)),
        folded=kept(folded),
        held=kept(held),
        ending=kept(ending),
        norms=tuple(K1 * (1 - B + B * size / average) for size in sizes),
        imports=imports_in(text, language, path),
        importing=tuple(
            number
            for number, piece in enumerate(pieces)
            if sum(_IMPORTING.match(lines[at]) is not None for at in piece.head) * 2
            > len(piece.head)
        ),
    )


def _outline(
    around: Definition, definitions: Sequence[Definition], at: int, lines: Sequence[str]
) -> list[int]:
    """The lines of a class that say what it has: fields, and the heads of its methods."""
    shown: list[int] = []
    inner: int | None = None
    number, further = around.head_end, at + 1
    while number < around.end and len(shown) < OUTLINE_LINES:
        while further < len(definitions) and definitions[further].start < number:
            further += 1
        line = lines[number]
        if further < len(definitions) and definitions[further].start == number:
            each = definitions[further]
            shown += [n for n in range(each.start, each.head_end) if lines[n].strip()]
            number = max(each.end, number + 1)
            continue
        indent = len(line) - len(line.lstrip())
        if line.strip():
            inner = indent if inner is None else inner
            # Annotations and decorators say little without what they are for.
            if indent <= inner and not line.lstrip().startswith("@"):
                shown.append(number)
        number += 1
    return shown


def _windows(lines: Sequence[str]) -> list[tuple[int, int]]:
    """All of a text in windows, which end where a blank line is near enough."""
    windows, start = [], 0
    while start < len(lines):
        end = min(start + WINDOW_LINES, len(lines))
        if end < len(lines):
            for at in range(end, start + WINDOW_LINES // 2, -1):
                if not lines[at - 1].strip():
                    end = at
                    break
        windows.append((start, end))
        start = end
    return windows


_IMPORTING = re.compile(
    r"[ \t]*(?:import\b|from\b|use[ ]|using[ ]|#\s*include|(?:const|let|var|local)[^=]+=\s*require"
    r"|require|mod[ ]|[\w, ]+,?$|\)|\(|\})"
)
