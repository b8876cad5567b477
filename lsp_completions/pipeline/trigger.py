"""One line, or a block? Decided before the model is asked, and again by the first line it says."""

import re
from enum import Enum

from lsp_completions.pipeline.balance import statement_width
from lsp_completions.pipeline.brackets import code_of, scan
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.languages import Language
from lsp_completions.pipeline.surroundings import (
    is_blank_line,
    line_above,
    lines_below,
    width_of,
)


class Mode(Enum):
    """How much to suggest."""

    LINE = "one line, and never more"
    STATEMENT = "one line, and what belongs to it where it opens something"
    BLOCK = "up to the end of the block or paragraph the cursor is in, or is about to open"


def mode_for(context: CursorContext, multiline: str = "auto") -> Mode:
    """What to ask for where the cursor stands.

    A block is asked for where one has just been opened and has nothing in it yet, and at the end
    of the document. Where words follow on the line it is always one line. `multiline` is `auto`,
    `never` or `always`.
    """
    if multiline == "never" or _WORD.search(context.line_suffix):
        return Mode.LINE
    if multiline == "always":
        return Mode.BLOCK
    is_blank = is_blank_line(context)
    if is_blank and context.ends_at_bottom and not lines_below(context):
        # The end of the document: whatever comes next is being written now.
        return Mode.BLOCK
    if context.language.prose:
        return Mode.LINE
    opener = line_above(context) if is_blank else context.line_prefix
    if opener is None or not opens_block(opener, context.language):
        return Mode.STATEMENT
    if not is_blank and not _has_mark(opener, context.language):
        # Most calls and lists are closed where they are opened; the first line will tell.
        return Mode.STATEMENT
    width = width_of(opener, context) if is_blank else statement_width(context)
    return Mode.STATEMENT if _has_content(context, width) else Mode.BLOCK


def becomes_block(context: CursorContext, first_line: str) -> bool:
    """The model's first line, where one was asked for, opens something that is to be waited for.

    `first_line` is empty when the model began with a new line.
    """
    line, language = context.line_prefix + first_line, context.language
    if scan(line, language).in_words and not scan(line + context.line_suffix, language).in_words:
        return False  # A comment or string that the rest of the line ends.
    return opens_block(line, language) and not _has_content(context, width_of(line, context))


def opens_block(line: str, language: Language) -> bool:
    """What follows this line belongs to it: a block, or the rest of a list or statement."""
    code = code_of(line, language)
    return (
        code.endswith(("(", "[", "\\"))
        or _has_mark(line, language)
        or scan(code + "\n", language).stack != ()
    )


def _has_mark(line: str, language: Language) -> bool:
    """The line ends, or begins, as a line does that an indented block follows."""
    code = code_of(line, language)
    if not code or code.endswith(("(", "[")):
        return False
    if "</" in language.block_end and code.endswith(">"):
        tag = _LAST_TAG.search(code)
        return tag is not None and not code.endswith("/>") and tag[1].lower() not in _VOID_TAGS
    if (" " + code.lstrip()).endswith(language.block_start or "\n"):
        return True
    return (
        "end" in language.block_end
        and (_HEADER.match(code) or _HEADER_AT_END.search(code)) is not None
        and not _ENDS_HERE.search(code)
    )


def _has_content(context: CursorContext, width: int) -> bool:
    """What stands below is indented more than the line that would open a block."""
    below = lines_below(context)
    return bool(below) and width_of(below[0], context) > width


# Letters of any script: what follows the cursor may well be called `été`.
_WORD = re.compile(r"\w")
_LAST_TAG = re.compile(r"<([A-Za-z][\w:.-]*)(?:\s[^<>]*|)>$")
_VOID_TAGS = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "source",
        "track",
        "wbr",
    ]
)
# What opens a block in languages that end one with `end`, and have no mark at the line's end.
_HEADER = re.compile(
    r"\s*(?:local\s+|private\s+|mutable\s+|[\w.,\s]+=\s*)?"
    r"(?:def|class|module|if|unless|while|until|for|case|begin|function|struct|macro|switch|try"
    r"|elsif|elseif|when|rescue)\b"
)
# The parameters of a block, or of a function without a name.
_HEADER_AT_END = re.compile(r"(?:\bdo|\{)\s*\|[^|]*\|$|\bfunction\b[^()]*\([^()]*\)$")
_ENDS_HERE = re.compile(r"\bend\b[\s)\]},;]*$|\bthen\s+\S")
