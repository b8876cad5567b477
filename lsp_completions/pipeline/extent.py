"""Where a suggestion ends, by indentation and brackets: while it streams, and on the whole text.

A block's last line is certain as soon as the line after it has come, or when it is the line that
closes the block.
"""

from lsp_completions.pipeline.balance import statement_width
from lsp_completions.pipeline.brackets import CLOSERS, PARTNER, scan
from lsp_completions.pipeline.chains import goes_on, may_go_on
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.surroundings import (
    indent_of,
    is_blank_line,
    line_above,
    lines_below,
    says_something,
    width_of,
)
from lsp_completions.pipeline.syntax import is_unfinished
from lsp_completions.pipeline.trigger import Mode, becomes_block, opens_block

MOST_LINES_OF_A_STATEMENT = 12  # that nothing but its syntax holds together


class Extent:
    """Takes a text line by line, and knows when it is at its end.

    `kept` counts the lines that belong to the suggestion, blank ones between them included.
    """

    def __init__(self, context: CursorContext, mode: Mode) -> None:
        self.kept = 0
        self.ended = False
        self._context = context
        self._mode = mode
        self._taken = 0
        self._blank = is_blank_line(context)
        self._below = lines_below(context)
        self._header = 0  # how far the line that opens the block is indented
        self._header_is_ours = False
        self._stack: tuple[str, ...] = ()  # what the text itself has opened and not closed
        self._started = False
        self._may_continue = False
        self._paragraph: int | None = None  # its indentation; a blank line ends a paragraph
        self._after_blank = False
        self._continued = False
        self._lines: list[str] = []
        self._going_on = 0  # lines of a statement that was not at its end where the rules were
        self._in_chain = False  # the statement could be over, and the next line tells
        self._two_spaces = False  # a level, in a document that is indented with tabs

    def take(self, line: str) -> bool:
        """Look at one whole line, without its end. True when nothing after it is wanted."""
        if self.ended:
            return True
        self._taken += 1
        self._lines.append(line)
        if self._going_on:
            self._take_rest(line)
            return self.ended
        if self._in_chain:
            self._take_link(line)
            return self.ended
        self._take(line)
        if self.ended and self._may_go_on(line):
            if self._is_unfinished(self.kept):
                self.ended, self._going_on = False, 1
                if self.kept < self._taken:
                    self._take_rest(line)
            elif self.kept == self._taken and self._may_be_chained(line):
                self.ended, self._in_chain = False, True
        return self.ended

    def _may_go_on(self, line: str) -> bool:
        """Whether it matters that a statement is not at its end."""
        if self._mode is Mode.LINE or not self.kept or self._stack:
            return False
        if self._mode is Mode.STATEMENT:
            return True
        # At the end of a document, and of what was missing in it, nothing is to go on.
        return bool(self._below) and line.strip() != self._below[0].strip()

    def _take_rest(self, line: str) -> None:
        """Look for the end of a statement that goes on; without one it is left where it was."""
        self._going_on += 1
        # Hardly a statement has blank lines in it; a model that says other code begins with one.
        if self._going_on > MOST_LINES_OF_A_STATEMENT or not line.strip():
            self.ended = True
        elif not self._is_unfinished(self._taken):
            self.kept = self._taken
            self._going_on = 0
            self._in_chain = self._mode is not Mode.BLOCK and self._may_be_chained(line)
            self.ended = self._mode is not Mode.BLOCK and not self._in_chain

    def _take_link(self, line: str) -> None:
        """Take another line of a chain, and what is open in it; what does not go on ends it."""
        if not self._stack and (not goes_on(line) or self._taken > MOST_LINES_OF_A_STATEMENT):
            self.ended = True
        else:
            self._keep(line)
            self.ended = not self._stack and not self._may_be_chained(line)

    def _may_be_chained(self, line: str) -> bool:
        if self._stack or (self._below and goes_on(self._below[0])):
            return False  # What goes on stands there already.
        whole = self._context.line_prefix + line if self._taken == 1 else line
        return may_go_on(whole, self._context)

    def _is_unfinished(self, count: int) -> bool:
        text = "\n".join(self._lines[:count])
        # A quote may close a string that the cursor is in; with its line it is over in any case.
        opened = scan(text + "\n", self._context.language).opened
        return bool(opened) or is_unfinished(text, self._context)

    def _take(self, line: str) -> None:
        if not self._started:
            self._take_first(line)
        elif self._continued or (self._stack and self._stack[-1] not in PARTNER):
            # Inside a string, a comment or a statement that goes on, indented in any way.
            self._keep(line)
        elif line.strip():
            self._take_next(line)
            self._after_blank = False
        else:
            self._after_blank = True

    def _take_first(self, line: str) -> None:
        context = self._context
        if not line.strip():
            self._take_blank_before_first()
            return
        width = width_of(context.line_prefix + line, context)
        if self._taken > 1 and not self._blank:
            # The model went on to a new line: that line is the suggestion.
            self._start(width_of(line, context), ours=True)
            self._keep(line)
            self.ended = True
        elif self._mode is not Mode.BLOCK:
            self._start(width, ours=True)
            self._keep(line)
            self.ended = self._mode is Mode.LINE or not becomes_block(context, line)
        elif self._blank:
            above = line_above(context)
            if above is None or not opens_block(above, context.language):
                self._paragraph = width
            self._start(self._header_of(width), ours=False)
            self._take_next(line)
        else:
            self._start(statement_width(context), ours=False)
            self._keep(line)

    def _take_blank_before_first(self) -> None:
        if self._blank:
            return  # Blank lines before the first one are dropped later on.
        context = self._context
        if self._taken == 1 and self._mode is Mode.STATEMENT:
            if becomes_block(context, ""):
                self._mode = Mode.BLOCK
            elif context.line_suffix.strip():
                self.ended = True
        if self._mode is Mode.LINE:
            self.ended = True
        if self._mode is Mode.BLOCK:
            self._start(statement_width(context), ours=False)

    def _start(self, header: int, *, ours: bool) -> None:
        self._started = True
        self._header = header
        self._header_is_ours = ours

    def _header_of(self, width: int) -> int:
        """The indentation of the line that opened the block whose first line has this `width`."""
        above = line_above(self._context)
        if above is None:
            return -1
        return min(width_of(above, self._context), width - 1)

    def _take_next(self, line: str) -> None:
        context, language = self._context, self._context.language
        code = line.strip()
        at_cursor = self.kept == 0 and self._blank
        width = width_of(context.line_prefix + line, context) if at_cursor else self._width(line)
        closes = code[0] in CLOSERS
        ends_block = code.startswith(language.block_end or "\n") and width <= self._header

        continues = width in (self._header, self._paragraph) and code.startswith(
            language.block_continuation or "\n"
        )
        if self._repeats_below(line, width) or (self._ends_paragraph(width) and not continues):
            self.ended = True
        elif continues:
            self._keep_unless(
                self._below and self._below[0].lstrip().startswith(code.split()[0]), line
            )
        elif self._may_continue:
            # `else` did not follow, or its brace stands on a line of its own.
            self._may_continue = False
            self._keep_unless(code not in PARTNER, line)
        elif closes and self._stack:
            self._keep(line)
            if not self._stack and width <= self._header:
                self._end_block()
        elif closes or ends_block:
            is_ours = self._header_is_ours and not closes
            self._keep_unless(not is_ours and self._closed_below(code, width), line)
            if not self._stack:
                self._end_block()
        else:
            is_inside = bool(self._stack) and not language.indent_sensitive
            self._keep_unless(width < self._header + (0 if is_inside else 1), line)

    def _width(self, line: str) -> int:
        """How far a line after the first is indented, where the document may be with tabs.

        Spaces are taken for four a level, until a line would be outside of the block although
        nothing has closed it, and is as deep as the cursor's if they are two.
        """
        context = self._context
        width = width_of(line, context)
        indent = indent_of(line)
        depth = len(context.indent)
        if not indent or indent.strip(" ") or context.indent != "\t" * depth or not depth:
            return width
        if "}" in context.language.block_end and len(indent) == 2 * depth:
            is_outside = width <= self._header and not self._stack
            self._two_spaces |= is_outside and line.strip()[0] not in CLOSERS
        return 2 * width if self._two_spaces else width

    def _keep_unless(self, ended: object, line: str) -> None:
        if ended:
            self.ended = True
        else:
            self._keep(line)

    def _keep(self, line: str) -> None:
        if self.kept == 0:
            self._stack = opened_by(line, self._context)
            if shares_opener(line, self._context):
                self._header_is_ours = False
        else:
            self._stack = scan(line + "\n", self._context.language, self._stack).stack
        self.kept = self._taken
        self._continued = line.endswith("\\")

    def _ends_paragraph(self, width: int) -> bool:
        return (
            self._paragraph is not None
            and self._after_blank
            and not self._stack
            and width <= self._paragraph
        )

    def _end_block(self) -> None:
        """The block is closed. Only where braces stand alone may `else` follow on its own line."""
        above = line_above(self._context) or ""
        opener = self._context.line_prefix.strip() or above.strip()
        if opener in PARTNER and self._context.language.block_continuation:
            self._may_continue = True
        else:
            self.ended = True

    def _closed_below(self, code: str, width: int) -> bool:
        """The document already has the line that closes the block."""
        context = self._context
        if context.line_suffix.strip()[:1] in CLOSERS and context.line_suffix.strip():
            return False  # What closes it follows on the line itself, and is matched up later.
        marks = tuple(CLOSERS)
        if code[0] not in CLOSERS:
            # An `else` below shows that the block goes on, and that `end` is further down.
            marks = context.language.block_end + context.language.block_continuation
        if code.startswith("</"):
            marks = (code.partition(">")[0],)
        for line in self._below:
            below = width_of(line, context)
            if below <= max(width, self._header):
                return below >= min(width, self._header) and line.lstrip().startswith(marks)
        return not context.ends_at_bottom

    def _repeats_below(self, line: str, width: int) -> bool:
        if not self._below or self.kept == 0:
            return False
        below, context = self._below[0], self._context
        return (
            line.strip() == below.strip()
            and says_something(below)
            and not opens_block(below, context.language)
            and abs(width - width_of(below, context)) < width_of(context.indent_unit, context)
        )


def opened_by(first_line: str, context: CursorContext) -> tuple[str, ...]:
    """What the first line of a text opens, beside what the rest of the cursor's line opens too."""
    stack = scan(first_line + "\n", context.language).stack
    return stack[:-1] if shares_opener(first_line, context) else stack


def shares_opener(first_line: str, context: CursorContext) -> bool:
    """The first line opens the block that the rest of the cursor's line opens."""
    opener = context.line_suffix.rstrip()[-1:]
    return opener in PARTNER and first_line.rstrip().endswith(opener)


def cut(text: str, context: CursorContext, mode: Mode) -> str:
    """The text up to where the suggestion ends."""
    extent = Extent(context, mode)
    lines = text.split("\n")
    for line in lines:
        if extent.take(line):
            break
    return "\n".join(lines[: extent.kept])
