"""The text around the cursor, cut to windows: what every later stage looks at.

The prefix window's start moves in steps, so that the prompts of successive keystrokes begin alike:
whoever serves the model reads that beginning once.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.grammar import Grammar
from lsp_completions.pipeline.languages import Language, language_of

BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """How many characters to look at on either side of the cursor, at most."""

    prefix_chars: int
    suffix_chars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorContext:
    r"""The text around the cursor. All of it has `\n` line ends only, and no byte order mark."""

    path: str
    """The path shown to a model: relative to the workspace, `/` between its parts."""
    language: Language
    offset: int
    """Where the cursor stands in the document, in code points. Edits count from here."""
    prefix: str
    """The text before the cursor, as far as the window reaches."""
    suffix: str
    """The text after the cursor, as far as the window reaches."""
    line_prefix: str
    """The cursor's line up to the cursor, within the window."""
    line_suffix: str
    """The cursor's line from the cursor on, within the window; no line end."""
    eol: str
    r"""How lines end where the cursor stands: `\n`, `\r\n` or `\r`."""
    indent: str
    """The white space the cursor's line begins with, also where the cursor stands inside it."""
    indent_unit: str
    """One level of indentation, as the text around the cursor shows it: a tab, or some spaces."""
    starts_at_top: bool
    """The prefix begins where the document does."""
    ends_at_bottom: bool
    """The suffix ends where the document does."""
    grammar: Grammar | None = None
    """What parses the language; `None` where that is not known."""

    def line_only(self) -> "CursorContext":
        """The same place with nothing but the cursor's line around it."""
        return replace(
            self,
            prefix=self.line_prefix,
            suffix=self.line_suffix,
            starts_at_top=False,
            ends_at_bottom=False,
        )


def context_at(
    document: Document,
    offset: int,
    *,
    path: str,
    windows: Windows,
    grammar: Grammar | None = None,
) -> CursorContext:
    """What stands around `offset`. The cost depends on the windows, not on the document."""
    line, column = document.place_at(offset)
    offset = document.offset_at(line, column)
    language = language_of(document.language_id, path)

    start = window_start(offset, windows.prefix_chars)
    prefix = _without_mark(_plain(document.slice(start, offset)), at_top=start == 0)
    if start > 0:
        before = document.slice(start - 1, start)
        if before == "\r":
            # The window begins between CR and LF; the line they end is outside.
            prefix = prefix.removeprefix("\n")
        elif before != "\n":
            prefix = from_line_start(prefix, windows.prefix_chars)

    end = min(offset + windows.suffix_chars, document.length)
    suffix = _without_mark(_plain(document.slice(offset, end)), at_top=offset == 0)
    if end < document.length:
        suffix = to_line_end(suffix, windows.suffix_chars)

    line_start = offset - column
    line_head = document.slice(line_start, min(line_start + _LONGEST_INDENT, document.length))
    indent = _INDENT.match(_without_mark(line_head, at_top=line_start == 0))
    whole_lines = prefix.split("\n")[1 if start else 0 :] + suffix.split("\n")[1:]
    return CursorContext(
        path=path,
        language=language,
        offset=offset,
        prefix=prefix,
        suffix=suffix,
        line_prefix=prefix.rpartition("\n")[2],
        line_suffix=suffix.partition("\n")[0],
        eol=document.eol_at(line),
        indent=indent[0] if indent else "",
        indent_unit=_indent_unit(whole_lines, cursor_line=prefix.count("\n") - bool(start))
        or language.indent_unit,
        starts_at_top=start == 0,
        ends_at_bottom=end == document.length,
        grammar=grammar,
    )


def window_start(length: int, size: int) -> int:
    """Where to cut a text of `length` characters so that at most `size` remain before its end.

    The start stays the same while a quarter of the window is typed, then moves by as much: a model
    reads a prompt that begins like the last one up to 30 times faster than one that slides along.
    """
    if length <= size:
        return 0
    step = max(size // 4, 1)
    return -(-(length - size) // step) * step


def from_line_start(text: str, size: int) -> str:
    """`text` from the start of its second line, where that is near enough for a window of `size`.

    A line too long to be left out is cut inside: part of it is better than nothing.
    """
    return text[text.find("\n", 0, _near(size)) + 1 :]


def to_line_end(text: str, size: int) -> str:
    """`text` up to the end of its last whole line, where that is near enough for `size`."""
    return text[: text.rfind("\n", max(len(text) - _near(size), 0)) + 1] or text


def _near(size: int) -> int:
    return max(size // 8, 1)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _without_mark(text: str, *, at_top: bool) -> str:
    return text.removeprefix(BYTE_ORDER_MARK) if at_top else text


def _indent_unit(lines: Iterable[str], cursor_line: int) -> str:
    """A tab where more lines begin with one, else by how much lines are most often indented more
    than the line before; empty where no line tells.

    A blank line says nothing but the one with the index `cursor_line`, which the editor has just
    indented.
    """
    tabs = spaces = above = 0
    steps: Counter[int] = Counter()
    for index, line in enumerate(lines):
        text = line.lstrip(" \t")
        if not text and index != cursor_line:
            continue
        if line.startswith("\t"):
            tabs += 1
            continue
        width = len(line) - len(text)
        spaces += width > 0
        # One space more is the second line of a `/**` comment; what is far more lines up with
        # something in the line above.
        if 2 <= width - above <= 8:
            steps[width - above] += 1
        above = width
    if tabs > spaces:
        return "\t"
    return " " * min(steps, key=lambda step: (-steps[step], step)) if steps else ""


_INDENT = re.compile(r"[ \t]*")
_LONGEST_INDENT = 1000  # characters; beyond that it is no indentation but a very odd line
