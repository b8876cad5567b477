"""What grammars add: statements of several lines come whole, strings and comments are told apart.

What is true of a place is read from the tree of the whole file; the stages see a window of it, in
which the rest of the cursor's line is missing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import median
from time import process_time
from typing import TYPE_CHECKING

from lsp_completions.grammars import load
from lsp_completions.pipeline.asking import why_not_ask
from lsp_completions.pipeline.context import context_at
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.grammar import Grammar, nodes_at, tree_of
from lsp_completions.pipeline.languages import language_of
from lsp_completions.pipeline.outcome import SkipReason
from tests.evaluation.corpora import Source
from tests.evaluation.holes import Hole
from tests.evaluation.overrun import RUNS_ON, WINDOWS, context_of, markdown
from tests.support.cursor import apply
from tests.support.pipeline import suggested

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MOST_LINES = 10
_STATEMENT = re.compile(
    "expression_statement|return_statement|lexical_declaration|variable_declaration|let_declaration"
    "|local_variable_declaration|local_declaration_statement|short_var_declaration"
    "|assignment_statement|assignment|declaration|call|function_call|throw_statement|raise_statement"
    "|command|pipeline"
)
_WORDS = re.compile("string|char_literal|character_literal|rune_literal|regex|heredoc|quoted")
_CODE_IN_WORDS = re.compile("interpolation|substitution|expansion")
_NOT_IN_WORDS = ("concatenated_string", "string_array", "template_string_type")


@dataclass(slots=True)
class Figures:
    """How many trials, and how many of them right without a grammar and with one."""

    trials: int = 0
    without: int = 0
    parsed: int = 0

    def add(self, without: bool, parsed: bool) -> None:
        self.trials += 1
        self.without += without
        self.parsed += parsed


def whole_tree(source: Source) -> "Tree | None":
    """The tree of a file, where it is one without a fault and each character is a byte."""
    grammar = load(language_of(source.language))
    if grammar is None or not source.text.isascii():
        return None
    tree = grammar.make_parser().parse(source.text.encode())
    return None if tree.root_node.has_error else tree


def statements_in(source: Source, *, each: int, seed: int = 0) -> list[Hole]:
    """Statements of several lines whose first line opens no bracket at its end."""
    tree = whole_tree(source)
    if tree is None:
        return []
    holes, waiting = [], [tree.root_node]
    while waiting:
        node = waiting.pop()
        if not _STATEMENT.fullmatch(node.type) or not _is_short(node):
            waiting += node.children
            continue
        start, end = node.start_byte, source.text.find("\n", node.end_byte)
        line, text = source.text.rfind("\n", 0, start) + 1, source.text[start:end].rstrip()
        alone = not source.text[line:start].strip() and source.text[node.end_byte : end] in (
            "",
            ";",
        )
        if end >= 0 and alone and text.partition("\n")[0].rstrip()[-1:] not in "([{":
            holes.append(
                Hole(
                    name=f"{source.name}:{node.start_point[0] + 1}",
                    language=source.language,
                    kind="a statement of several lines",
                    before=source.text[:start],
                    text=text,
                    after=source.text[end:],
                )
            )
    return Random(f"{seed} {source.name}").sample(holes, min(each, len(holes)))


def _is_short(node: "Node") -> bool:
    return 0 < node.end_point[0] - node.start_point[0] < MOST_LINES


def comes_whole(hole: Hole, *, parsed: bool) -> bool:
    """Whether just the statement comes out, where the model runs on into what follows."""
    edit = suggested(context_of(hole, parsed=parsed), hole.text + hole.after[:RUNS_ON])
    return apply(hole.before + hole.after, edit) == hole.before + hole.text + hole.after


def statements(sources: Sequence[Source], *, each: int = 4) -> dict[str, Figures]:
    """By language."""
    figures: dict[str, Figures] = {}
    for source in sources:
        for hole in statements_in(source, each=each):
            figures.setdefault(source.language, Figures()).add(
                comes_whole(hole, parsed=False), comes_whole(hole, parsed=True)
            )
    return figures


def places(sources: Sequence[Source], *, each: int = 20, seed: int = 0) -> dict[str, Figures]:
    """By language: how often a place is known to be in a string, in a comment or in neither."""
    figures: dict[str, Figures] = {}
    for source in sources:
        grammar, tree = load(language_of(source.language)), whole_tree(source)
        if grammar is None or tree is None:
            continue
        chance = Random(f"{seed} {source.name}")
        for _ in range(each):
            at = chance.randrange(1, len(source.text))
            true = _why_not(tree, at)
            figures.setdefault(source.language, Figures()).add(
                _told(source, at, None) is true, _told(source, at, grammar) is true
            )
    return figures


def _told(source: Source, at: int, grammar: Grammar | None) -> SkipReason | None:
    end = source.text.find("\n", at)
    text = source.text[:at] + (source.text[end:] if end >= 0 else "")
    document = Document.open("file:///x", source.language, 1, text)
    context = context_at(document, at, path="x", windows=WINDOWS, grammar=grammar)
    reason = why_not_ask(context, in_comments=False, in_strings=False)
    return reason if reason in (SkipReason.IN_COMMENT, SkipReason.IN_STRING) else None


def _why_not(tree: "Tree", at: int) -> SkipReason | None:
    for node in nodes_at(tree, at - 1, at + 1):
        if node.start_byte < at <= node.end_byte and node.is_named:
            if "comment" in node.type:
                return SkipReason.IN_COMMENT
            if node.end_byte > at and _CODE_IN_WORDS.search(node.type):
                return None
            if node.end_byte > at and _WORDS.search(node.type) and node.type not in _NOT_IN_WORDS:
                return SkipReason.IN_STRING
    return None


def milliseconds(sources: Sequence[Source], *, each: int = 5) -> dict[str, list[float]]:
    """By language: how long the processor takes to parse what the windows hold, in order."""
    times: dict[str, list[float]] = {}
    for source in sources:
        grammar = load(language_of(source.language))
        if grammar is None:
            continue
        document = Document.open("file:///x", source.language, 1, source.text)
        chance = Random(source.name)
        for _ in range(each):
            at = chance.randrange(len(source.text))
            context = context_at(document, at, path="x", windows=WINDOWS)
            began = process_time()
            tree_of.__wrapped__(context.prefix + context.suffix, grammar)
            times.setdefault(source.language, []).append(1000 * (process_time() - began))
    return {language: sorted(some) for language, some in times.items()}


def tables(sources: Sequence[Source]) -> Iterator[str]:
    """In Markdown."""
    head = ("language", "trials", "without grammars", "with grammars")
    yield "### Statements of several lines come whole\n"
    yield markdown(head, _rows(statements(sources)))
    yield "\n### Strings and comments are told apart\n"
    yield markdown(head, _rows(places(sources)))
    yield "\n### What the windows hold is parsed, in milliseconds\n"
    times = milliseconds(sources)
    yield markdown(
        ("language", "median", "19 of 20", "most"),
        [
            (
                language,
                *(f"{ms:.2f}" for ms in (median(some), some[len(some) * 19 // 20], some[-1])),
            )
            for language, some in sorted(times.items())
        ],
    )


def total(figures: dict[str, Figures]) -> Figures:
    result = Figures()
    for each in figures.values():
        result.trials += each.trials
        result.without += each.without
        result.parsed += each.parsed
    return result


def _rows(figures: dict[str, Figures]) -> list[tuple[str, ...]]:
    everything = [*sorted(figures.items()), ("all", replace(total(figures)))]
    return [
        (
            language,
            str(each.trials),
            f"{each.without / max(each.trials, 1):.1%}",
            f"{each.parsed / max(each.trials, 1):.1%}",
        )
        for language, each in everything
    ]
