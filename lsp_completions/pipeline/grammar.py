"""A grammar, as a value the stages are given or not, and the trees it makes of a text.

A tree is made of one byte for each character of the text, so places in both are the same. How long
that may take is counted in the parser's own steps: a text in the wrong language, or in none, can
keep it busy for seconds.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

# Hundreds of steps. Text that fills the windows takes up to 100 and rarely more than 60.
MOST_STEPS = 120


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """Reads one language. Equal only to itself, so it costs nothing as part of a key."""

    name: str
    make_parser: Callable[[], "Parser"] = field(repr=False)


# Those of one request, which asks for some of them several times; each takes 100 kB and more.
@lru_cache(maxsize=4)
def tree_of(text: str, grammar: Grammar) -> "Tree | None":
    """The tree of a text; `None` where it would take too long."""
    source = text.translate(_NO_NULLS) if "\0" in text else text
    source = source if source.isascii() else _NOT_ASCII.sub("x", source)
    whole = source.encode()
    read: dict[int, bytearray] = {}
    steps = 0

    def from_(at: int, _place: object) -> bytearray | bytes:
        if at >= len(whole):
            return b""
        if at not in read:
            if len(read) == len(_GIVEN):
                _GIVEN.append(bytearray())
            read[at] = _GIVEN[len(read)]
            read[at][:] = whole[at:]
        return read[at]

    def is_too_long(_at: int, _in_error: bool) -> bool:
        nonlocal steps
        steps += 1
        return steps > MOST_STEPS

    try:
        return grammar.make_parser().parse(from_, progress_callback=is_too_long)
    except ValueError:
        return None
    finally:
        for part in read.values():
            part.clear()


def faults_of(tree: "Tree", start: int = 0, end: int | None = None) -> int:
    """How much between two places does not go with the grammar: the less the better."""
    end = tree.root_node.end_byte if end is None else end
    faults = 0
    waiting = [tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.end_byte < start or node.start_byte > end:
            continue
        if node.is_missing:
            faults += 1
        elif node.has_error:
            faults += node.is_error
            waiting += node.children
        # Tokens that fit nothing.
        elif node.parent is not None and node.parent.is_error and node.child_count == 0:
            faults += 1
    return faults


def nodes_at(tree: "Tree", start: int, end: int) -> "list[Node]":
    """The nodes that hold `[start, end)`, the smallest first."""
    node = tree.root_node.descendant_for_byte_range(start, end)
    nodes = []
    while node is not None:
        nodes.append(node)
        node = node.parent
    return nodes


# What tree-sitter is given to read, the same for each text: version 0.26.1 never lets go of any.
_GIVEN: list[bytearray] = []
_NO_NULLS = {0: " "}
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
