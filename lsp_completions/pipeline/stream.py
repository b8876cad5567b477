"""Streamed pieces of text, gathered until they are good enough to show."""

from collections.abc import Iterable
from dataclasses import dataclass

from lsp_completions.pipeline.again import least_again, said_again
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.echoes import without_echo
from lsp_completions.pipeline.extent import Extent
from lsp_completions.pipeline.markers import (
    LONGEST,
    as_tuple,
    find_marker,
    without_unfinished_marker,
)
from lsp_completions.pipeline.repetition import COPIES_TO_STOP_AT, loop_in_line, loop_in_lines
from lsp_completions.pipeline.trigger import Mode
from lsp_completions.pipeline.wrapping import begins_wrapped, is_fence

MAX_LINES = 100  # more than anyone reads before accepting
MAX_CHARS = 10_000  # three times what the usual limit of 256 tokens can hold
CUT_OFF = frozenset(("length", "max_tokens", "MAX_TOKENS"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of the model's text.

    `cumulative` means that `text` is everything so far (API version 1), else it is the new
    part only. `finish` is the provider's stop reason, opaque but for `length` and `max_tokens`
    (the text was cut off there); `None` while the stream goes on.
    """

    text: str
    cumulative: bool = False
    finish: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """The model's text from the cursor on, up to where a suggestion ends; not yet made to fit.

    `complete` means that it ends there by its own: a line or block, or all the model had to say.
    """

    text: str
    complete: bool


class Collector:
    """Gathers one stream. `feed` answers as soon as nothing more is wanted.

    `markers` are the special tokens of the model asked, beside those every model is watched for.
    """

    def __init__(
        self,
        context: CursorContext,
        mode: Mode,
        *,
        markers: Iterable[str] = (),
        max_lines: int = MAX_LINES,
        max_chars: int = MAX_CHARS,
    ) -> None:
        self._context = context
        self._mode = mode
        self._markers = as_tuple(markers)
        self._max_lines = max_lines
        self._max_chars = max_chars
        self._extent = Extent(context, mode)
        self._length = 0
        self._opening = ""  # as long as it may be what stands above the cursor, said again
        self._begun = False
        self._lines: list[str] = []  # whole ones, without their ends
        self._spoken: list[str] = []  # those of them that are not blank
        self._line: list[str] = []  # pieces of the line that is still coming
        self._line_length = 0
        self._tail = ""  # the last characters, where a marker may have begun
        self._looked_at = 0  # how much of the line was searched for loops
        self._wrapped = False  # the code stands in a fence, or after a sentence
        self._fences = 0
        self._done = False

    def feed(self, chunk: Chunk) -> Candidate | None:
        """Take the next piece of text; the candidate when it is good enough, once."""
        if self._done:
            return None
        candidate = self._take(chunk.text)
        if candidate is None and chunk.finish:
            candidate = self.end(cut_off_by_length=chunk.finish in CUT_OFF)
        return candidate

    def end(self, *, cut_off: bool = False, cut_off_by_length: bool = False) -> Candidate | None:
        """What there is when no more comes; `None` when that is nothing.

        `cut_off` says that the stream broke off or is not waited for any longer: only whole lines
        count then. Where the model's limit cut the text, a single unfinished line is kept.
        """
        if self._done:
            return None
        last = "".join(self._line)
        if not self._begun:
            text = self._opening + last
            after = said_again(text, self._context, whole=True, least=least_again(self._context))
            *lines, last = text[after:].split("\n")
            if (candidate := self._begin(lines)) is not None:
                return candidate
        self._done = True
        if cut_off or cut_off_by_length:
            last = without_unfinished_marker(last)
            if cut_off or any(line.strip() for line in self._lines):
                last = ""
        if self._wrapped:
            return self._candidate([*self._lines, last], complete=not cut_off)
        if last:
            self._extent.take(last if self._lines else without_echo(last, self._context))
        lines = [*self._lines, last][: self._extent.kept]
        return self._candidate(lines, complete=not (cut_off or cut_off_by_length))

    def _take(self, text: str) -> Candidate | None:
        # A marker may have begun in an earlier piece.
        seen = self._tail + text
        marker = find_marker(seen, self._context, self._markers)
        if marker is None:
            self._tail = seen[-LONGEST:].rpartition("\n")[2]
        else:
            line = "".join(self._line)
            before = line[: len(line) - len(self._tail)] + seen[: marker.start]
            if marker.opens and not (self._spoken or self._opening.strip() or before.strip()):
                # The end of the prompt said again: the answer begins after it.
                self._lines, self._line, self._line_length, self._tail = [], [], 0, ""
                return self._take(seen[marker.end :])
            self._line, text = [], before

        self._length += len(text)
        first, *rest = text.split("\n")
        self._line.append(first)
        self._line_length += len(first)
        for piece in rest:
            if (candidate := self._end_line()) is not None:
                return candidate
            self._line = [piece]
            self._line_length = len(piece)
            self._looked_at = 0
        if marker is not None:
            return self.end()

        if self._line_length >= self._looked_at + 2 * LONGEST:
            self._looked_at = self._line_length
            if loop_in_line("".join(self._line)) is not None:
                return self.end()
        if self._length > self._max_chars:
            return self.end(cut_off_by_length=True)
        return None

    def _end_line(self) -> Candidate | None:
        line = "".join(self._line).rstrip("\r")
        if self._begun:
            return self._end_new_line(line)
        self._opening += line + "\n"
        after = said_again(
            self._opening, self._context, whole=False, least=least_again(self._context)
        )
        return None if after is None else self._begin(self._opening[after:].split("\n")[:-1])

    def _begin(self, lines: list[str]) -> Candidate | None:
        """What comes now is new: whole lines that have come already, and all after them."""
        self._begun = True
        for line in lines:
            if (candidate := self._end_new_line(line)) is not None:
                return candidate
        return None

    def _end_new_line(self, line: str) -> Candidate | None:
        self._lines.append(line)
        if line.strip() and not self._spoken:
            self._wrapped = begins_wrapped(line + "\n", self._context.language)
        if self._wrapped:
            self._spoken.append(line)
            if is_fence(line):
                self._fences += 1
            if self._fences == 2:
                self._line = []
                return self.end()
            return None
        if line.strip():
            # Where the first line begins, the cursor's line has begun already.
            head = ""
            if len(self._lines) == 1:
                line = without_echo(line, self._context)
                head = self._context.line_prefix
            self._spoken.append(head + line)
        enough = self._extent.take(line)
        if (
            enough
            or loop_in_lines(self._spoken, COPIES_TO_STOP_AT)
            or len(self._lines) >= self._max_lines
        ):
            self._done = True
            return self._candidate(self._lines[: self._extent.kept], complete=True)
        return None

    def _candidate(self, lines: list[str], *, complete: bool) -> Candidate | None:
        text = "\n".join(lines)
        return Candidate(text=text, complete=complete) if text.strip() else None
