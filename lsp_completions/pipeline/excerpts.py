"""Code from elsewhere that is worth showing: texts cut to pieces, ranked together, fit to a budget.

Definitions of names around the cursor matter most, signatures before bodies; what is merely alike
fills what is left. What was chosen once stays, in its order and to the letter, while it is still
among the best: whoever serves the model reads the same beginning once.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from itertools import islice
from math import log
from operator import itemgetter

from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.definitions import Definition, definitions_in
from lsp_completions.pipeline.imports import Import, imports_in
from lsp_completions.pipeline.languages import Language
from lsp_completions.pipeline.prompt import Excerpt

WINDOW_LINES = 12  # of code that defines nothing, or of a body: about what fits beside definitions
LONGEST_LINE = 300  # characters; what is longer is data, or made by a machine
SHORT_BODY = 8  # lines; a definition of no more is shown whole where there is room
OUTLINE_LINES = 14  # of a class: its fields and the heads of its methods
FRAME = 40  # characters that a family's words around an excerpt take, more or less
LEAST_CHARS = 120  # of room, below which no excerpt is worth its frame
MOST_NAMES = 80  # around the cursor, the nearest
MOST_NEAR = 48  # words around it, the nearest
MOST_WORDS = 20  # that are looked up; more of them changed nothing
MOST_POSTINGS = 1200
MOST_FREQUENT = 200  # pieces; a word in more of them says nothing
MOST_ALIKE = 80  # pieces
ALIKE_ALONE = 0.5  # of the score of a definition that is as much alike
OF_A_WHOLE = 0.45
SURE = 0.4  # the least score of a definition that comes before lines that are merely alike
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


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """A text, ready to be searched. Made of what may be sent: secrets are masked before."""

    key: str
    path: str
    """As it is shown to a model."""
    lines: tuple[str, ...]
    texts: frozenset[str]
    """The lines, whatever their number."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """An excerpt, and what it was made of."""

    key: str
    excerpt: Excerpt

    @property
    def cost(self) -> int:
        """How much of the budget it takes."""
        return len(self.excerpt.text) + len(self.excerpt.path) + FRAME


# ---- a text cut to pieces


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
    words_of = [_words_in(line) if len(line) <= LONGEST_LINE else () for line in lines]

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
        for word, count in words.items():
            postings.setdefault(word, []).append((number, count))
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
            if len(parts := _PARTS.findall(each.name)) > 1:
                ending.setdefault(parts[-1].lower(), []).append(fold(each.name))
            continue
        inside = [n for n in range(each.head_end, each.end) if lines[n].strip()]
        body = inside if len(inside) <= SHORT_BODY else inside[:1]
        add(head, body, each.name, holders[-1][1] if holders else "")
    for start, end in _windows(lines):
        add([n for n in range(start, end) if lines[n].strip()], ())
    average = sum(sizes) / len(sizes) if sizes else 1.0
    return Index(
        key=key,
        path=path,
        lines=tuple(lines),
        texts=frozenset(lines),
        pieces=tuple(pieces),
        postings=postings,
        defined=defined,
        names=tuple(sorted(defined)),
        folded=folded,
        held=held,
        ending=ending,
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


# ---- what is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What stands around a cursor, as far as it says what is needed there."""

    words: Mapping[str, float]
    names: Mapping[str, float]
    """How near each name is, 1 at the cursor."""
    imports: tuple[Import, ...]
    typed: str
    """The beginning of a name before the cursor."""
    receiver: str
    """What stands before the dot before it."""
    receivers: tuple[str, ...]
    """It, and the types it was declared with, folded."""
    visible: frozenset[str]
    """The lines that the model sees anyway, without their indentation."""


BEFORE, AFTER = 60, 12  # lines around the cursor that say what is needed


def query_at(context: CursorContext, imports: Iterable[Import] = ()) -> Query:
    """What to look for at the cursor. `imports` are those of the file, also far from here."""
    before, after = context.prefix.split("\n"), context.suffix.split("\n")
    words: dict[str, float] = {}
    names: dict[str, float] = {}

    def note(line: str, weight: float) -> None:
        for name in _NAME.findall(line[:LONGEST_LINE]):
            names[name] = max(names.get(name, 0.0), weight)
        for word in _words_in(line[:LONGEST_LINE]):
            words[word] = max(words.get(word, 0.0), weight)

    for distance, line in enumerate(reversed(before[-BEFORE:])):
        note(line, 1 / (1 + distance / 8))
    for distance, line in enumerate(after[:AFTER]):
        note(line, 0.6 / (1 + distance / 8))
    dotted = _DOTTED.search(context.line_prefix[-LONGEST_LINE:])
    typed, receiver = (dotted["typed"], dotted["receiver"] or "") if dotted else ("", "")
    # What is not typed to its end names nothing yet.
    if typed and not context.line_suffix[:1].isidentifier():
        names.pop(typed, None)
    seen = [line.strip() for line in (*before, *after)]
    here = imports_in(context.prefix, context.language, context.path)
    types = _types_of(receiver, context.prefix) if receiver else ()
    return Query(
        words=dict(nlargest(MOST_NEAR, words.items(), key=itemgetter(1))),
        names=dict(nlargest(MOST_NAMES, names.items(), key=itemgetter(1))),
        imports=tuple(dict.fromkeys((*here, *imports))),
        typed=typed,
        receiver=receiver,
        receivers=tuple(dict.fromkeys(map(fold, (receiver, *types)))) if receiver else (),
        visible=frozenset(line for line in seen if line),
    )


def _types_of(name: str, text: str) -> Iterator[str]:
    """The types that a name is declared with, or what it is made by."""
    for pattern in (
        rf"\b{name}\??[ ]?:[ ]?[&*\"']{{0,2}}(?:mut[ ])?(?:\w{{1,40}}[.])?([A-Z]\w{{1,80}})",
        rf"\b{name}[ ](?:\*|&)?(?:\w{{1,40}}\.)?([A-Z]\w{{1,80}})\b",
        rf"\b([A-Z]\w{{1,80}})(?:<[^<>\n]{{0,80}}>)?[ ][*&]?{name}\b",
        rf"\bstruct[ ](\w{{1,80}})[ ]\*?{name}\b",
        rf"\b{name}[ ]?:?=[ ]?(?:await[ ]|new[ ]|&)?(?:\w{{1,40}}(?:\.|::))?"
        r"(?:New|new_)?(\w{1,80})[({]",
        rf"\b{name}[ ]=[ ](\w{{1,80}})::",
    ):
        for match in islice(re.finditer(pattern, text), 4):
            yield match[1]


def names_before(context: CursorContext) -> set[str]:
    """The names on the cursor's line that are typed to their end."""
    names = set(_NAME.findall(context.line_prefix[-LONGEST_LINE:]))
    dotted = _DOTTED.search(context.line_prefix[-LONGEST_LINE:])
    return names - {dotted["typed"]} if dotted else names


def are_relatives(one: Language, other: Language) -> bool:
    """Whether code in one language says something about code in the other."""
    return one.id == other.id or any({one.id, other.id} <= family for family in _FAMILIES)


def fold(name: str) -> str:
    """A name without case and underscores, as `HttpClient` is called `http_client` elsewhere."""
    return name.replace("_", "").lower()


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


# ---- ranking


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked:
    score: float
    source: int
    piece: int


def ranked(query: Query, sources: Sequence[Source]) -> list[_Ranked]:
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
        found.append(_Ranked(score, number, piece))
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


# ---- fit to a budget


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
    return all(not line or line in index.texts for line in chosen.excerpt.text.split("\n"))


@dataclass(slots=True, eq=False)
class _Taken:
    source: int
    piece: Piece
    lines: tuple[int, ...]


def _taken(
    query: Query,
    sources: Sequence[Source],
    order: Sequence[_Ranked],
    chars: int,
    beside: frozenset[str] = frozenset(),
) -> list[_Taken]:
    """The best that fit, heads before bodies. What is shown `beside` them is not shown again."""
    left = chars
    taken: list[_Taken] = []
    shown: set[tuple[int, int]] = set()
    seen: set[str] = {*query.visible, *beside}
    files: set[int] = set()

    def cost_of(source: int, numbers: Iterable[int]) -> int:
        lines = sources[source].index.lines
        cost = sum(len(lines[n]) + 1 for n in numbers)
        return cost if source in files else cost + len(sources[source].index.path) + FRAME

    def take(each: _Ranked) -> _Taken | None:
        nonlocal left
        source = sources[each.source]
        piece, lines = source.index.pieces[each.piece], source.index.lines
        fresh = [n for n in piece.head if (each.source, n) not in shown]
        # What the model sees anyway is not shown once more.
        if sum(lines[n].strip() in seen for n in fresh) * 2 >= len(fresh) or not fresh:
            return None
        cost = cost_of(each.source, fresh)
        if cost > left:
            return None
        left -= cost
        files.add(each.source)
        shown.update((each.source, n) for n in fresh)
        seen.update(lines[n].strip() for n in fresh if len(lines[n].strip()) > 3)
        return _Taken(each.source, piece, tuple(fresh))

    def extend(more: _Taken) -> None:
        nonlocal left
        body = [n for n in more.piece.body if (more.source, n) not in shown]
        while body and cost_of(more.source, body) > left:
            body.pop()
        if body:
            left -= cost_of(more.source, body)
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
            excerpt=Excerpt(path=index.path, text=text.rstrip("\n")),
        )


# ---- words


_NAME = re.compile(r"[^\W\d]\w*")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+")
_DOTTED = re.compile(
    r"(?:(?P<receiver>[^\W\d]\w*)(?:\(\)|\[\w*\])?(?:\.|->|::|\?\.))?(?P<typed>[^\W\d]\w*|)$"
)
_IMPORTING = re.compile(
    r"[ \t]*(?:import\b|from\b|use[ ]|using[ ]|#\s*include|(?:const|let|var|local)[^=]+=\s*require"
    r"|require|mod[ ]|[\w, ]+,?$|\)|\(|\})"
)
_FAMILIES = tuple(
    frozenset(names.split())
    for names in (
        "javascript javascriptreact typescript typescriptreact vue svelte astro",
        "c cpp objective-c objective-cpp",
        "java kotlin groovy scala",
        "css scss less sass",
    )
)
# Words of languages, which say nothing about a text.
_STOP = frozenset(
    "self this def return if else elif for while in not and or is none null nil true false import "
    "from as class function func fn let const var val new try except catch finally raise throw "
    "with async await public private protected static void int str bool float string the of to a "
    "an pub use mod impl struct type interface end do then local require export default switch "
    "case break continue pass lambda yield del global match override final package using include "
    "std".split()
)


@lru_cache(maxsize=65536)
def _words_of(name: str) -> tuple[str, ...]:
    """The words in a name, and the name itself where it has several."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    words = [part for part in parts if len(part) > 1 and part not in _STOP]
    if len(parts) > 1:
        words.append(name)
    return tuple(words)


def _words_in(line: str) -> list[str]:
    return [word for name in _NAME.findall(line) for word in _words_of(name)]
