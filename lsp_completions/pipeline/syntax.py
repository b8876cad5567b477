"""What a grammar makes of the text around the cursor, where the extra `syntax` is installed.

Each answer may be `None`: there is no grammar for the language, or it makes nothing of this text.
Then the rules of brackets and indentation decide.
"""

import re
from dataclasses import replace
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from lsp_completions.pipeline.balance import stack_before_line
from lsp_completions.pipeline.brackets import CLOSERS, PARTNER, scan
from lsp_completions.pipeline.context import CursorContext, from_line_start
from lsp_completions.pipeline.grammar import faults_of, nodes_at, tree_of
from lsp_completions.pipeline.surroundings import lines_below, width_of

if TYPE_CHECKING:
    from tree_sitter import Node, Tree


MOST_FAULTS = 12  # a text with more is in another language, or in the middle of being changed


class Kind(Enum):
    """What a place in a text is part of."""

    CODE = "code"
    STRING = "a string"
    COMMENT = "a comment"


def misfit(text: str, replaced: int, context: CursorContext) -> int:
    """How badly a text goes with what stands around it: for comparing two at one place.

    `replaced` characters after the cursor give way to it. Always the same where nothing parses the
    language, or where it makes little of the text around the cursor.
    """
    if context.grammar is None:
        return 0
    head = head_of(context) + context.prefix[: len(context.prefix) - len(context.line_prefix)]
    line = context.line_prefix + text + context.line_suffix[replaced:]
    below = context.suffix[len(context.line_suffix) :]
    wholes = [head + line + below]
    found = scan(line, context.language, stack_before_line(context))
    # What begins a block may end it further down, or not yet.
    if missing := "".join(PARTNER.get(line[at], "") for at in reversed(found.opened)):
        wholes.append(f"{head}{line}\n{missing}{below}")
    trees = [tree for whole in wholes if (tree := tree_of(whole, context.grammar)) is not None]
    # What is wrong elsewhere may be so because the windows cut it.
    start, end = len(head), len(head) + len(line)
    return min([MOST_FAULTS, *(faults_of(tree, start, end) for tree in trees)])


def get_ready(context: CursorContext) -> None:
    """Do what does not depend on the text to come, while a model is silent: half of all there is.

    It is remembered for a few contexts; without it the first line of an answer waits for it.
    """
    if context.grammar is not None and not context.line_suffix.strip():
        head_of(_nearest(context))
        stack_before_line(context)


@lru_cache(maxsize=32)
def is_unfinished(text: str, context: CursorContext) -> bool:
    """The text ends in the middle of a statement, which what follows does not go on with.

    Never true where nothing parses the language, or where something follows on the cursor's line.
    """
    grammar, language = context.grammar, context.language
    text = text.rstrip()
    if grammar is None or context.line_suffix.strip() or not text:
        return False
    above = stack_before_line(context)
    if scan(context.line_prefix, language, above).in_words:
        return False
    nearest = _nearest(context)
    head = head_of(nearest) + nearest.prefix
    whole = head + text
    lines = (context.line_prefix + text).split("\n")
    width = min(width_of(line, context) for line in lines if line.strip())
    below = lines_below(context)
    if below and width_of(below[0], context) > width:
        whole += context.suffix
    elif not any(mark.isalpha() for mark in language.block_end):
        # What follows is a statement of its own, not what this one wants.
        open_here = scan(context.line_prefix + text, language, above).stack
        whole += "\n" + "".join(PARTNER.get(mark, "") for mark in reversed(open_here)) + "\n"
    elif below:
        whole += "\n;" + context.suffix
    else:
        return False  # Words that are missing at the end of a document cannot be made up.
    if (tree := tree_of(whole, grammar)) is None:
        return False
    end = len(head) + len(text)
    start = end - len(lines[-1])
    return 0 < faults_of(tree, start, end) < MOST_FAULTS


def _nearest(context: CursorContext) -> CursorContext:
    """As much of the prefix as says whether a statement is at its end: parsing takes its time.

    It begins at the outermost line that is some way above the cursor, so that little is cut.
    """
    text = context.prefix
    if len(text) > _FAR:
        text = from_line_start(text[-_FAR:], _FAR)
    start, least, at = 0, _FAR, 0
    for line in text[:-_NEAR].split("\n"):
        code = line.lstrip()
        if code and code[0] not in CLOSERS and len(line) - len(code) < least:
            start, least = at, len(line) - len(code)
        at += len(line) + 1
    if (nearest := text[start:]) == context.prefix:
        return context
    return replace(context, prefix=nearest, starts_at_top=False)


@lru_cache(maxsize=8)
def kind_at(context: CursorContext) -> Kind | None:
    """What the cursor stands in; `None` where the grammar does not tell."""
    if (grammar := context.grammar) is None or context.language.id not in _TELLS_BETTER:
        return None
    text = head_of(context) + context.prefix
    if (tree := tree_of(text, grammar)) is None:
        return None
    end = len(text)
    if _ends_in_comment(tree, end) and not text.endswith(_COMMENT_ENDS):
        return Kind.COMMENT
    # What is not closed makes no sense to a parser: close it, and see whether it does then.
    for mark in _marks(text, context):
        closed = tree_of(text + mark, grammar)
        if closed is None:
            continue
        for node in nodes_at(closed, end, end + len(mark)):
            is_closed = node.start_byte < end and node.end_byte == end + len(mark)
            if not is_closed or node.has_error:
                continue
            if len(mark) > 1 and faults_of(closed) > faults_of(tree):
                break
            if _is_comment(node):
                return Kind.COMMENT
            if _is_string(node):
                return Kind.STRING
    return Kind.CODE


def _ends_in_comment(tree: "Tree", end: int) -> bool:
    return any(_is_comment(node) for node in nodes_at(tree, max(end - 1, 0), end))


@lru_cache(maxsize=8)
def head_of(context: CursorContext) -> str:
    """What to put before the window so that it makes sense, where it begins inside something."""
    text, grammar = context.prefix, context.grammar
    if context.starts_at_top or grammar is None:
        return ""
    if context.language.id == "php":
        return "<?php\n"
    if (tree := tree_of(text, grammar)) is None or (least := faults_of(tree)) < _TOO_MANY_FAULTS:
        return ""
    best = ""
    # A window may begin inside a string or a comment, whose end then looks like a beginning.
    for begin, finish in _spanning_lines(context):
        found = text.find(finish)
        if found < 0 or (begin != finish and 0 <= text.find(begin) < found):
            continue
        tree = tree_of(f"{begin}\n{text}", grammar)
        if tree is not None and (faults := faults_of(tree)) < least / 2:
            best, least = f"{begin}\n", faults
    return best


def _spanning_lines(context: CursorContext) -> list[tuple[str, str]]:
    pairs = [('"""', '"""'), ("'''", "'''"), ("`", "`"), ("[[", "]]")]
    if context.language.block_comment is not None:
        pairs.append(context.language.block_comment)
    return pairs


def _marks(text: str, context: CursorContext) -> list[str]:
    """What may close what the cursor is in, the likeliest first."""
    line = context.line_prefix
    marks = [mark for mark in ('"', "'", "`") if mark in line]
    for begin, finish in _spanning_lines(context):
        if text.rfind(begin) >= max(text.rfind(finish), 0):
            marks.insert(0, finish) if begin != finish else marks.append(finish)
    stack = scan(text, context.language).stack
    inside = stack[-1] if stack else ""
    if inside in marks:
        marks.remove(inside)
        marks.insert(0, inside)
    return marks


def _is_comment(node: "Node") -> bool:
    return node.is_named and "comment" in node.type


def _is_string(node: "Node") -> bool:
    return node.is_named and _STRING.search(node.type) is not None


# Where it knows strings and comments that a scanner does not: code in strings and words in markup,
# strings that begin above the window. Elsewhere the scanner was right as often, or more often.
_TELLS_BETTER = frozenset("python shellscript html javascriptreact typescriptreact".split())
_NEAR, _FAR = 1200, 2500  # characters
_TOO_MANY_FAULTS = 8  # more than an unfinished line makes
_COMMENT_ENDS = ("*/", "-->", "]]", "--}}", "\n")
_STRING = re.compile(r"string|char_literal|character_literal|rune_literal|heredoc|regex|quoted")
