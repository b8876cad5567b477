"""Documents under edits: exact, clamped, persistent, and as cheap when long as when short."""

import itertools
import random
import re
from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lsp_completions.pipeline import document as document_module
from lsp_completions.pipeline import rope as rope_module
from lsp_completions.pipeline.document import (
    Document,
    Position,
    Range,
    TextChange,
    apply_changes,
)
from lsp_completions.pipeline.positions import PositionEncoding
from lsp_completions.pipeline.rope import Branch, Measure, Node, Piece, Rope

UTF8, UTF16, UTF32 = PositionEncoding.UTF8, PositionEncoding.UTF16, PositionEncoding.UTF32


def opened(text: str) -> Document:
    return Document.open("file:///w/a.py", "python", 1, text)


def change(start: tuple[int, int], end: tuple[int, int], text: str) -> TextChange:
    return TextChange(Range(Position(*start), Position(*end)), text)


def changed(text: str, *changes: TextChange, encoding: PositionEncoding = UTF16) -> str:
    return apply_changes(opened(text), changes, encoding, 2).text


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        pytest.param("ab\ncd", change((1, 1), (1, 1), "X"), "ab\ncXd", id="insert"),
        pytest.param("ab\ncd", change((0, 1), (1, 1), ""), "ad", id="delete over a line end"),
        pytest.param("ab", change((0, 0), (0, 2), "x\ny"), "x\ny", id="replace all of a line"),
        pytest.param("a b\nc", change((1, 0), (1, 1), "X"), "a b\nX", id="space"),
        pytest.param("a\u2028b\nc", change((1, 0), (1, 1), "X"), "a\u2028b\nX", id="U+2028"),
        pytest.param("a\u2029b\nc", change((1, 0), (1, 1), "X"), "a\u2029b\nX", id="U+2029"),
        pytest.param("a\fb\nc", change((1, 0), (1, 1), "X"), "a\fb\nX", id="form feed"),
        pytest.param(
            "a\vb\x1cc\x85d\ne", change((1, 0), (1, 1), "X"), "a\vb\x1cc\x85d\nX", id="VT"
        ),
        pytest.param("a\rb", change((1, 1), (1, 1), "X"), "a\rbX", id="CR ends a line"),
        pytest.param("a\r\nb", change((0, 9), (0, 9), "X"), "aX\r\nb", id="before CRLF at most"),
        pytest.param("a\r\nb", change((0, 1), (1, 0), ""), "ab", id="CRLF deleted whole"),
        pytest.param("a\rb\nc", change((0, 1), (1, 1), "\r"), "a\r\nc", id="CR and LF meet"),
        pytest.param("a\rb", change((1, 0), (1, 0), "\n"), "a\r\nb", id="LF put after CR"),
        pytest.param("a\nb", change((0, 1), (0, 1), "\r"), "a\r\nb", id="CR put before LF"),
        pytest.param("ab", change((5, 3), (9, 9), "X"), "abX", id="beyond the last line"),
        pytest.param("ab\n", change((1, 0), (7, 0), "X"), "ab\nX", id="end beyond the last line"),
        pytest.param("abcd", change((0, 3), (0, 1), "X"), "aXd", id="start after end"),
        pytest.param("a😀b", change((0, 2), (0, 3), ""), "ab", id="inside a pair rounds down"),
        pytest.param("a\r", change((1, 0), (1, 0), "b"), "a\rb", id="after a last CR"),
        pytest.param("", change((0, 0), (0, 0), "a\r\n"), "a\r\n", id="into nothing"),
        pytest.param("a", TextChange(None, "b\n"), "b\n", id="full text"),
        pytest.param("\ufeffa", change((0, 1), (0, 2), "b"), "\ufeffb", id="byte-order mark"),
    ],
)
def test_change(before: str, edit: TextChange, after: str) -> None:
    assert changed(before, edit) == after


def test_changes_of_one_message_build_on_each_other() -> None:
    edits = [change((0, 0), (0, 0), "x\n"), change((1, 1), (1, 1), "y"), TextChange(None, "a")]
    assert changed("ab", *edits[:2]) == "x\nayb"
    assert changed("ab", *edits, change((0, 1), (0, 1), "b")) == "ab"


@pytest.mark.parametrize(
    ("encoding", "character"),
    [
        pytest.param(UTF8, 5, id="utf-8"),
        pytest.param(UTF16, 3, id="utf-16"),
        pytest.param(UTF32, 2, id="utf-32"),
    ],
)
def test_each_encoding(encoding: PositionEncoding, character: int) -> None:
    edit = change((1, character), (1, character), "X")
    assert changed("é\na😀b", edit, encoding=encoding) == "é\na😀Xb"
    assert opened("é\na😀b").position_of(4, encoding) == Position(1, character)


def test_version_is_the_last_message_s_whatever_it_is() -> None:
    document = opened("a")
    assert apply_changes(document, [], UTF16, 7).version == 7
    assert apply_changes(document, [TextChange(None, "b")], UTF16, None).version is None
    assert apply_changes(document, [change((0, 0), (0, 0), "b")], UTF16, 0).version == 0


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("", [""], id="an empty text has one line"),
        pytest.param("a\nb", ["a\n", "b"], id="no end at the end"),
        pytest.param("a\n", ["a\n", ""], id="an empty last line"),
        pytest.param("a\r\nb\rc\n", ["a\r\n", "b\r", "c\n", ""], id="all three ends"),
        pytest.param("\r\r\n\n", ["\r", "\r\n", "\n", ""], id="ends in a row"),
        pytest.param(
            "a\fb\vc\x1cd\x1de\x1ef\x85g\u2028h\u2029i",
            ["a\fb\vc\x1cd\x1de\x1ef\x85g\u2028h\u2029i"],
            id="nothing else ends a line",
        ),
    ],
)
def test_lines_end_at_three_ends_and_no_other(text: str, lines: list[str]) -> None:
    document = opened(text)
    assert [document.line(line) for line in range(document.line_count)] == lines


def test_a_snapshot_does_not_change() -> None:
    before = opened("a\nb")
    after = before.replaced((0, 0), (1, 1), "c", 2)
    assert (before.text, before.version, after.text, after.version) == ("a\nb", 1, "c", 2)


@pytest.mark.parametrize(
    ("text", "line", "column", "offset", "place"),
    [
        pytest.param("ab\r\ncd", 0, 2, 2, (0, 2), id="end of content"),
        pytest.param("ab\r\ncd", 0, 3, 2, (0, 2), id="not between CR and LF"),
        pytest.param("ab\r\ncd", 1, 0, 4, (1, 0), id="after CRLF"),
        pytest.param("ab", 0, 10, 2, (0, 2), id="beyond a line without end"),
        pytest.param("ab\n", 1, 0, 3, (1, 0), id="the empty last line"),
        pytest.param("ab\n😀", 9, 9, 4, (1, 1), id="beyond the last line"),
        pytest.param("ab", -1, 4, 0, (0, 0), id="before the first line"),
        pytest.param("ab", 0, -3, 0, (0, 0), id="before the first column"),
        pytest.param("", 0, 0, 0, (0, 0), id="empty"),
        pytest.param("a = 1\rb = \r", 0, 10, 5, (0, 5), id="a lone CR ends a line"),
        pytest.param("a = 1\rb = \r", 1, 4, 10, (1, 4), id="after a lone CR"),
    ],
)
def test_clamping(text: str, line: int, column: int, offset: int, place: tuple[int, int]) -> None:
    document = opened(text)
    assert document.offset_at(line, column) == offset
    assert document.place_at(offset) == place
    for encoding in PositionEncoding:
        assert document.offset_of(Position(line, column * 4), encoding) >= offset


def test_an_offset_between_cr_and_lf_is_before_both() -> None:
    assert opened("ab\r\ncd").place_at(3) == (0, 2)
    assert opened("ab\r\ncd").place_at(99) == (1, 2)
    assert opened("ab\r\ncd").place_at(-1) == (0, 0)


def test_slices_are_clamped() -> None:
    document = opened("abc")
    assert (document.slice(-5, 2), document.slice(1, 99), document.slice(2, 1)) == ("ab", "bc", "")


@pytest.mark.parametrize(
    ("text", "line", "eol"),
    [
        pytest.param("a\r\nb\nc", 0, "\r\n", id="its own"),
        pytest.param("a\r\nb\nc", 1, "\n", id="its own, unlike others"),
        pytest.param("a\r\nb", 1, "\r\n", id="the last line has that above"),
        pytest.param("a\rb", 1, "\r", id="CR above"),
        pytest.param("\r\n", 0, "\r\n", id="the end alone"),
        pytest.param("a", 0, "\n", id="none anywhere"),
        pytest.param("a\r\nb", 9, "\r\n", id="beyond the last line"),
        pytest.param("a\r\nb", -1, "\r\n", id="before the first"),
    ],
)
def test_eol_at(text: str, line: int, eol: str) -> None:
    assert opened(text).eol_at(line) == eol


def test_lines() -> None:
    document = opened("a\r\nb\rc\n")
    assert [document.line(line) for line in range(-1, 5)] == ["", "a\r\n", "b\r", "c\n", "", ""]
    assert document.line_count == 4


def test_neither_repr_shows_the_text() -> None:
    assert "secret" not in repr(opened("secret"))


# An independent model: a plain string, and positions by way of the bytes editors count in.

LETTERS = "ab\r\n\té😀𝒰\u0301\f\u2028\ufeff"
TEXTS = st.text(alphabet=st.sampled_from(LETTERS), max_size=60) | st.sampled_from(
    ["\r", "\n", "\r\n", "\n\r", "", "x" * 40, "é" * 20, "😀\r\n" * 9]
)
POSITIONS = st.tuples(st.integers(0, 12), st.integers(0, 30) | st.just(2**31 - 1))
CODECS = {UTF8: ("utf-8", 1), UTF16: ("utf-16-le", 2), UTF32: ("utf-32-le", 4)}


def model_lines(text: str) -> list[str]:
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", text) + (
        [""] if not text or text[-1] in "\r\n" else []
    )


def model_offset(text: str, position: tuple[int, int], encoding: PositionEncoding) -> int:
    line, units = position
    lines = model_lines(text)
    if line >= len(lines):
        return len(text)
    codec, unit = CODECS[encoding]
    content = lines[line].rstrip("\r\n").encode(codec)
    before = content[: units * unit].decode(codec, "ignore")
    return sum(map(len, lines[:line])) + len(before)


def model_changed(
    text: str, start: tuple[int, int], end: tuple[int, int], new: str, encoding: PositionEncoding
) -> str:
    low, high = sorted((model_offset(text, start, encoding), model_offset(text, end, encoding)))
    return text[:low] + new + text[high:]


def nodes_of(node: Node) -> Iterator[Node]:
    yield node
    if isinstance(node, Branch):
        for child in node.children:
            yield from nodes_of(child)


def depth_of(node: Node) -> int:
    return 1 + depth_of(node.children[0]) if isinstance(node, Branch) else 1


def pieces_of(rope: Rope) -> list[str]:
    return [node.text for node in nodes_of(rope.root) if isinstance(node, Piece)]


def check_tree(rope: Rope) -> None:
    """What the tree promises, whatever was done to it."""
    pieces = pieces_of(rope)
    assert all(pieces) or pieces == [""]
    assert all(len(piece) <= rope_module.MAX_PIECE + 1 for piece in pieces)
    for left, right in itertools.pairwise(pieces):
        assert (left[-1], right[0]) != ("\r", "\n")
    for node in nodes_of(rope.root):
        if isinstance(node, Branch):
            assert len({depth_of(child) for child in node.children}) == 1
            sizes = zip(*(child.size for child in node.children), strict=True)
            assert node.size == tuple(map(sum, sizes))


@settings(max_examples=300, deadline=None)
@given(
    limits=st.sampled_from([(4, 8), (16, 8), (2048, 32)]),
    encoding=st.sampled_from(PositionEncoding),
    text=TEXTS,
    edits=st.lists(st.tuples(POSITIONS, POSITIONS, TEXTS), max_size=12),
)
def test_any_edits_leave_what_a_plain_string_would_be(
    limits: tuple[int, int],
    encoding: PositionEncoding,
    text: str,
    edits: list[tuple[tuple[int, int], tuple[int, int], str]],
) -> None:
    max_piece, max_children = limits
    with (
        patch.multiple(rope_module, MAX_PIECE=max_piece, MAX_CHILDREN=max_children),
        patch.object(document_module, "MAX_PIECE", max_piece),
    ):
        document = opened(text)
        for version, (start, end, new) in enumerate(edits):
            before, before_text = document, text
            document = apply_changes(document, [change(start, end, new)], encoding, version)
            text = model_changed(text, start, end, new, encoding)
            assert document.text == text
            assert before.text == before_text

        check_tree(document._rope)
        lines = model_lines(text)
        assert document.line_count == len(lines)
        assert [document.line(line) for line in range(len(lines))] == lines
        assert document.length == len(text)
        for line, units in [(0, 0), (1, 3), (2, 9), (3, 1), (len(lines) - 1, 5), (99, 0)]:
            offset = model_offset(text, (line, units), encoding)
            assert document.offset_of(Position(line, units), encoding) == offset
            assert document.offset_at(*document.place_at(offset)) == offset
            position = document.position_of(offset, encoding)
            assert document.offset_of(position, encoding) == offset
            assert position.line < len(lines)
            assert document.slice(offset - 7, offset + 7) == text[max(offset - 7, 0) : offset + 7]


def rebuilt(before: Document, after: Document) -> tuple[int, int]:
    """How many pieces and branches of `after` are not shared with `before`."""
    shared = {id(node) for node in nodes_of(before._rope.root)}
    new = [node for node in nodes_of(after._rope.root) if id(node) not in shared]
    pieces = sum(isinstance(node, Piece) for node in new)
    return pieces, len(new) - pieces


LINE = "    value = compute(alpha, beta)  # é\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(LINE * 1_000, 500, id="1,000 lines"),
        pytest.param(LINE * 10_000, 5_000, id="10,000 lines"),
        pytest.param(LINE * 100_000, 50_000, id="100,000 lines"),
        pytest.param("abcd😀" * 1_000_000, 0, id="one line of 5 MB"),
    ],
)
def test_a_keystroke_costs_the_same_in_any_text(text: str, line: int) -> None:
    document = opened(text)
    most = (0, 0)
    for typed in range(3_000):
        column = typed % 30
        edit = change((line, column), (line, column), "x")
        after = apply_changes(document, [edit], UTF16, typed)
        if typed % 100 == 0:
            most = max(most, rebuilt(document, after))
        document = after
    pieces, branches = most
    assert pieces <= 2
    assert branches <= depth_of(document._rope.root) <= 4


def test_the_tree_stays_full_and_shallow_whatever_is_done_to_it() -> None:
    chance = random.Random(7)
    document = opened(LINE * 3_000)
    for version in range(4_000):
        start = chance.randrange(document.length + 1)
        if chance.random() < 0.5:
            document = document.spliced(start, start, LINE * chance.randrange(4), version)
        else:
            document = document.spliced(start, start + chance.randrange(200), "", version)
    check_tree(document._rope)
    pieces = pieces_of(document._rope)
    assert len(pieces) < 8 * document.length / rope_module.MAX_PIECE
    assert depth_of(document._rope.root) <= 4

    while document.length > 100:
        document = document.spliced(document.length // 3, document.length // 3 + 3_000, "", None)
    check_tree(document._rope)
    assert len(pieces_of(document._rope)) == 1


def test_a_large_paste_and_its_undo() -> None:
    document = opened(LINE * 10)
    pasted = document.spliced(100, 100, LINE * 20_000, 2)
    check_tree(pasted._rope)
    assert pasted._rope.size(Measure.LINE_ENDS) == 20_010
    undone = pasted.spliced(100, 100 + len(LINE) * 20_000, "", 3)
    check_tree(undone._rope)
    assert undone.text == document.text
