"""The text of an open document: replaced by an edit, never mutated.

Whoever holds a `Document` holds a snapshot. Offsets and columns are in characters (code points);
`Position` is the editor's, in the editor's units. Every place is clamped into the text, and never
lies between CR and LF.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from lsp_completions.pipeline.positions import PositionEncoding, column_at
from lsp_completions.pipeline.rope import MAX_PIECE, MEASURE_OF, Measure, Rope


@dataclass(frozen=True, slots=True)
class Position:
    """A place as the editor gives it: the line from 0, and units before it in the line."""

    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Range:
    """From `start` up to but not including `end`, as the editor gives it."""

    start: Position
    end: Position


@dataclass(frozen=True, slots=True)
class TextChange:
    """Replace `range`, or everything where it is `None`, by `text`."""

    range: Range | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as the editor had it at one moment.

    `version` is the editor's number for that moment, `None` where it gave none.
    """

    uri: str
    language_id: str
    version: int | None
    _rope: Rope = field(repr=False)

    @staticmethod
    def open(uri: str, language_id: str, version: int | None, text: str) -> "Document":
        """The document with this text."""
        return Document(uri=uri, language_id=language_id, version=version, _rope=Rope.of(text))

    @property
    def length(self) -> int:
        """The number of characters."""
        return self._rope.size(Measure.CHARACTERS)

    @property
    def line_count(self) -> int:
        """The number of lines; an empty document has one."""
        return self._rope.size(Measure.LINE_ENDS) + 1

    @property
    def text(self) -> str:
        """All of it, joined anew each time: on a keystroke's path use `slice`."""
        return self._rope.slice(0, self.length)

    def slice(self, start: int, end: int) -> str:
        """The text in `[start, end)`, clamped."""
        return self._rope.slice(max(start, 0), min(end, self.length))

    def line(self, line: int) -> str:
        """Line number `line` with its end; empty where there is no such line."""
        if not 0 <= line < self.line_count:
            return ""
        last = line == self.line_count - 1
        end = self.length if last else self._rope.line_start(line + 1)
        return self._rope.slice(self._rope.line_start(line), end)

    def offset_at(self, line: int, column: int) -> int:
        """The offset of a column, counted in characters."""
        start, end = self._span(line)
        return min(start + max(column, 0), end)

    def place_at(self, offset: int) -> tuple[int, int]:
        """The line and column, counted in characters, of an offset."""
        offset = self._clamped(offset)
        line = self._rope.count(Measure.LINE_ENDS, offset)
        return line, offset - self._rope.line_start(line)

    def offset_of(self, position: Position, encoding: PositionEncoding) -> int:
        """The offset of the editor's `position`."""
        start, end = self._span(position.line)
        units = max(position.character, 0)
        measure = MEASURE_OF[encoding]
        if self._rope.size(measure) == self.length:
            return min(start + units, end)
        if end - start <= MAX_PIECE:
            return start + column_at(self._rope.slice(start, end), units, encoding)
        # A line of megabytes is not read to find a place in it.
        units += self._rope.count(measure, start)
        return min(self._rope.offset_after(units, encoding), end)

    def position_of(self, offset: int, encoding: PositionEncoding) -> Position:
        """The editor's position of an offset."""
        line, column = self.place_at(offset)
        measure = MEASURE_OF[encoding]
        if self._rope.size(measure) == self.length:
            return Position(line, column)
        start = self._rope.line_start(line)
        before = self._rope.count(measure, start)
        return Position(line, self._rope.count(measure, start + column) - before)

    def eol_at(self, line: int) -> str:
        r"""What ends a line there: the line's own end, else that of the line above, else `\n`."""
        if self.line_count == 1:
            return "\n"
        return self._rope.slice(*self._rope.line_end(min(max(line, 0), self.line_count - 2)))

    def replaced(
        self, start: tuple[int, int], end: tuple[int, int], text: str, version: int | None
    ) -> "Document":
        """The document with the text between two places, counted in characters, replaced."""
        return self.spliced(self.offset_at(*start), self.offset_at(*end), text, version)

    def spliced(self, start: int, end: int, text: str, version: int | None) -> "Document":
        """The document with the text between two offsets replaced; they may come in any order."""
        start, end = sorted((min(max(start, 0), self.length), min(max(end, 0), self.length)))
        return replace(self, version=version, _rope=self._rope.replaced(start, end, text))

    def _span(self, line: int) -> tuple[int, int]:
        """Where the content of a line starts and ends; the end of the text beyond the last."""
        if line < 0:
            return 0, 0
        if line >= self.line_count:
            return self.length, self.length
        last = line == self.line_count - 1
        return self._rope.line_start(line), self.length if last else self._rope.line_end(line)[0]

    def _clamped(self, offset: int) -> int:
        offset = min(max(offset, 0), self.length)
        return offset - (self._rope.slice(max(offset - 1, 0), offset + 1) == "\r\n")


def apply_changes(
    document: Document,
    changes: Iterable[TextChange],
    encoding: PositionEncoding,
    version: int | None,
) -> Document:
    """The document after `changes`, each of which starts from what the one before left."""
    for change in changes:
        if change.range is None:
            document = Document.open(document.uri, document.language_id, version, change.text)
            continue
        start = document.offset_of(change.range.start, encoding)
        end = (
            start
            if change.range.end == change.range.start
            else document.offset_of(change.range.end, encoding)
        )
        document = document.spliced(start, end, change.text, version)
    return document if document.version == version else replace(document, version=version)
