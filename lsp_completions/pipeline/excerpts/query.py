"""What is looked for: what stands around a cursor, as far as it says what is needed there."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice
from operator import itemgetter

from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.excerpts.words import LONGEST_LINE, fold, names_in, words_in
from lsp_completions.pipeline.imports import Import, imports_in

BEFORE, AFTER = 60, 12  # lines around the cursor that say what is needed
MOST_NAMES = 80  # around the cursor, the nearest
MOST_NEAR = 48  # words around it, the nearest


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


def query_at(context: CursorContext, imports: Iterable[Import] = ()) -> Query:
    """What to look for at the cursor. `imports` are those of the file, also far from here."""
    before, after = context.prefix.split("\n"), context.suffix.split("\n")
    words: dict[str, float] = {}
    names: dict[str, float] = {}

    def note(line: str, weight: float) -> None:
        for name in names_in(line[:LONGEST_LINE]):
            names[name] = max(names.get(name, 0.0), weight)
        for word in words_in(line[:LONGEST_LINE]):
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
    names = set(names_in(context.line_prefix[-LONGEST_LINE:]))
    dotted = _DOTTED.search(context.line_prefix[-LONGEST_LINE:])
    return names - {dotted["typed"]} if dotted else names


_DOTTED = re.compile(
    r"(?:(?P<receiver>[^\W\d]\w*)(?:\(\)|\[\w*\])?(?:\.|->|::|\?\.))?(?P<typed>[^\W\d]\w*|)$"
)
