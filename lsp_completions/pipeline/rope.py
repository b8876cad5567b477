"""A long text in short pieces: an edit costs the same however long the text or the line is.

The pieces hang in a tree whose nodes know how much is below them: characters, line ends, and the
units editors count in. An edit rebuilds one piece and the nodes above it and shares the others
with the text as it was, so an older text stays valid and costs nothing to keep.

**No piece ends between CR and LF**, so line ends can be counted piece by piece.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import NamedTuple

from lsp_completions.pipeline.positions import PositionEncoding, column_at, width_of

MAX_PIECE = 2048  # characters: copying and counting that many takes about a microsecond
MAX_CHILDREN = 32  # 100,000 lines are then four levels deep


class Measure(IntEnum):
    """What is counted; the value is its place in a `Size`."""

    CHARACTERS = 0
    LINE_ENDS = 1
    UTF8 = 2
    UTF16 = 3


MEASURE_OF = {
    PositionEncoding.UTF8: Measure.UTF8,
    PositionEncoding.UTF16: Measure.UTF16,
    PositionEncoding.UTF32: Measure.CHARACTERS,
}

Size = tuple[int, int, int, int]


class Piece(NamedTuple):
    """A stretch of text."""

    text: str
    size: Size


class Branch(NamedTuple):
    """Nodes in a row, all equally deep."""

    children: tuple["Node", ...]
    size: Size


Node = Piece | Branch


@dataclass(frozen=True, slots=True)
class Rope:
    """The whole text. Offsets are in characters and clamped by the caller."""

    root: Node

    @staticmethod
    def of(text: str) -> "Rope":
        """The rope that holds `text`."""
        return Rope(_root_of(_pieces(text)))

    def size(self, measure: Measure) -> int:
        """How much of `measure` there is."""
        return self.root.size[measure]

    def slice(self, start: int, end: int) -> str:
        """The text in `[start, end)`."""
        parts: list[str] = []
        _collect(self.root, start, end, parts)
        return "".join(parts)

    def count(self, measure: Measure, offset: int) -> int:
        """How much of `measure` lies before `offset`."""
        node = self.root
        count = 0
        while isinstance(node, Branch):
            for child in node.children:
                if offset <= child.size[0]:
                    break
                offset -= child.size[0]
                count += child.size[measure]
            node = child
        return count + (_size_of(node.text[:offset])[measure] if offset else 0)

    def line_start(self, line: int) -> int:
        """The offset at which line number `line` starts; there must be such a line."""
        return self.line_end(line - 1)[1] if line else 0

    def line_end(self, line: int) -> tuple[int, int]:
        """Where the CR, LF or CRLF of line number `line` starts and ends; it must have one."""
        piece, before, number = self._find(Measure.LINE_ENDS, line + 1)
        start, end = _line_end(piece.text, number)
        return before + start, before + end

    def offset_after(self, units: int, encoding: PositionEncoding) -> int:
        """The offset that has `units` before it, rounded down to the start of a character."""
        measure = MEASURE_OF[encoding]
        piece, before, units = self._find(measure, min(units, self.root.size[measure]))
        return before + column_at(piece.text, units, encoding)

    def replaced(self, start: int, end: int, text: str) -> "Rope":
        """The rope with `[start, end)` replaced by `text`."""
        # What is inserted between two pieces joins the left one. An LF that comes to stand after
        # a CR goes with it, to lie in the same piece.
        if text[-1:] in ("", "\r") and self.slice(end, end + 1) == "\n":
            end, text = end + 1, text + "\n"
        return Rope(_root_of(_replaced(self.root, start, end, text)))

    def _find(self, measure: Measure, amount: int) -> tuple[Piece, int, int]:
        """The piece in which `amount` is reached, the offset it starts at, and what is left."""
        node = self.root
        offset = 0
        while isinstance(node, Branch):
            for child in node.children:
                if amount <= child.size[measure]:
                    break
                amount -= child.size[measure]
                offset += child.size[0]
            node = child
        return node, offset, amount


def _line_end(text: str, number: int) -> tuple[int, int]:
    """Where the line end with this number, counted from 1, starts and ends."""
    if "\r" not in text:
        # Splitting is several times as fast as a search that stops at every match.
        end = len(text) - len(text.split("\n", number)[number])
        return end - 1, end
    return next(islice(_LINE_END.finditer(text), number - 1, None)).span()


def _collect(node: Node, start: int, end: int, parts: list[str]) -> None:
    if isinstance(node, Piece):
        parts.append(node.text[max(start, 0) : end])
        return
    for child in node.children:
        length = child.size[0]
        if start < length:
            _collect(child, start, end, parts)
        start -= length
        end -= length
        if end <= 0:
            break


def _replaced(node: Node, start: int, end: int, text: str) -> list[Node]:
    """What takes the place of `node`: any number of nodes, as deep as it was."""
    if isinstance(node, Piece):
        return _pieces(node.text[:start] + text + node.text[end:])

    children = node.children
    first = 0
    while start > children[first].size[0]:
        start -= children[first].size[0]
        end -= children[first].size[0]
        first += 1
    last = first
    rest = end
    while rest > children[last].size[0]:
        rest -= children[last].size[0]
        last += 1

    if first == last:
        changed = _replaced(children[first], start, end, text)
    else:
        changed = _replaced(children[first], start, children[first].size[0], text)
        changed += _replaced(children[last], 0, rest, "")

    if first == last and len(changed) == 1 and not _is_thin(changed[0]):
        size = _exchanged(node.size, children[first].size, changed[0].size)
        return [Branch((*children[:first], changed[0], *children[last + 1 :]), size)]
    # The neighbours take in what has become too little to stand alone.
    before, after = max(first - 1, 0), last + 2
    changed = _filled([*children[before:first], *changed, *children[last + 1 : after]])
    return _branches([*children[:before], *changed, *children[after:]])


def _filled(nodes: Sequence[Node]) -> list[Node]:
    """The same text in nodes of which none is thin, if there is enough for one."""
    filled: list[Node] = []
    for node in nodes:
        if filled and (_is_thin(filled[-1]) or _is_thin(node)):
            filled += _joined(filled.pop(), node)
        else:
            filled.append(node)
    return filled


def _joined(left: Node, right: Node) -> list[Node]:
    if isinstance(left, Piece) and isinstance(right, Piece):
        return _pieces(left.text + right.text)
    assert isinstance(left, Branch)
    assert isinstance(right, Branch)
    return _branches([*left.children, *right.children])


def _is_thin(node: Node) -> bool:
    if isinstance(node, Piece):
        return len(node.text) < MAX_PIECE // 4
    return len(node.children) < MAX_CHILDREN // 4


def _root_of(nodes: list[Node]) -> Node:
    while len(nodes) > 1:
        nodes = _branches(nodes)
    root = nodes[0] if nodes else Piece("", (0, 0, 0, 0))
    while isinstance(root, Branch) and len(root.children) == 1:
        root = root.children[0]
    return root


def _pieces(text: str) -> list[Node]:
    """Cut `text` into pieces; half-full ones where it takes several, with room to grow."""
    if len(text) <= MAX_PIECE:
        return [Piece(text, _size_of(text))] if text else []
    pieces: list[Node] = []
    step = _even_step(len(text), MAX_PIECE // 2)
    start = 0
    while start < len(text):
        end = start + step
        if text[end - 1 : end + 1] == "\r\n":
            end += 1
        piece = text[start:end]
        pieces.append(Piece(piece, _size_of(piece)))
        start = end
    return pieces


def _branches(nodes: list[Node]) -> list[Node]:
    """Hang `nodes` under branches, as `_pieces` does with text."""
    if not nodes:
        return []
    step = len(nodes)
    if step > MAX_CHILDREN:
        step = _even_step(step, MAX_CHILDREN // 2)
    return [_branch(tuple(nodes[start : start + step])) for start in range(0, len(nodes), step)]


def _branch(children: tuple[Node, ...]) -> Branch:
    characters, line_ends, utf8, utf16 = map(
        sum, zip(*(child.size for child in children), strict=True)
    )
    return Branch(children, (characters, line_ends, utf8, utf16))


def _even_step(length: int, step: int) -> int:
    """About `step`, so that the last of the parts is not much smaller than the others."""
    return -(-length // -(-length // step))


def _size_of(text: str) -> Size:
    length = len(text)
    line_ends = text.count("\n")
    if "\r" in text:
        line_ends += text.count("\r") - text.count("\r\n")
    if text.isascii():
        return length, line_ends, length, length
    return (
        length,
        line_ends,
        width_of(text, PositionEncoding.UTF8),
        width_of(text, PositionEncoding.UTF16),
    )


def _exchanged(whole: Size, old: Size, new: Size) -> Size:
    return (
        whole[0] - old[0] + new[0],
        whole[1] - old[1] + new[1],
        whole[2] - old[2] + new[2],
        whole[3] - old[3] + new[3],
    )


_LINE_END = re.compile(r"\r\n?|\n")
