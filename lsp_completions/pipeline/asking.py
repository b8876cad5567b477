"""May a model be asked where the cursor stands? Each refusal is a `SkipReason` with a sentence."""

import re
import unicodedata

from lsp_completions.pipeline.balance import stack_before_line
from lsp_completions.pipeline.brackets import COMMENT, PARTNER, Scan, scan
from lsp_completions.pipeline.context import CursorContext, Windows
from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.pipeline.syntax import Kind, kind_at

NEAR = Windows(prefix_chars=4000, suffix_chars=4000)
"""Enough to know it, where nobody is to be asked."""


def why_not_ask(
    context: CursorContext, *, in_comments: bool = True, in_strings: bool = True
) -> SkipReason | None:
    """Why no model is asked here while the user types; `None` where one is.

    `in_comments` and `in_strings` say whether one is asked there.
    """
    if context.line_suffix and _is_of_word(context.line_suffix[0]):
        return SkipReason.INSIDE_WORD
    found = scan(context.line_prefix, context.language, stack_before_line(context))
    inside = found.stack[-1] if found.stack else ""
    # Who wants suggestions everywhere need not wait for a parser.
    parsed = None if in_comments and in_strings else kind_at(context)
    match parsed or _kind_of(inside, found, context):
        case Kind.COMMENT:
            return None if in_comments else SkipReason.IN_COMMENT
        case Kind.STRING:
            return None if in_strings else SkipReason.IN_STRING
    # What stands in open brackets goes on, as the first part of `for (;;)` does, and a block does
    # that was opened on this line. A space after the end says that there is to be more.
    is_open = bool(found.opened) or inside in ("(", "[")
    if not is_open and not context.line_suffix.strip() and _is_ended(context):
        return SkipReason.STATEMENT_ENDED
    return None


def _kind_of(inside: str, found: Scan, context: CursorContext) -> Kind:
    """What the cursor stands in, as brackets and quotes tell."""
    # In a comment brackets are open, too.
    if COMMENT in found.stack or inside in (context.language.block_comment or ()):
        return Kind.COMMENT
    return Kind.STRING if inside and inside not in PARTNER else Kind.CODE


def _is_ended(context: CursorContext) -> bool:
    """The line ends a statement, and is no beginning of one that goes on in it."""
    line = context.line_prefix
    if line.endswith(";") and context.language.id in _ENDED_BY_SEMICOLON:
        return _LABEL.match(line) is None
    has_blocks = "}" in context.language.block_end and "else" in context.language.block_continuation
    if not has_blocks or not _CLOSERS.fullmatch(line):
        # After a `}` with code before it there may be anything: `f'{a}`, `x{}`, `{ a } from`.
        return False
    indent = line[: len(line) - len(line.lstrip())]
    above = context.prefix[: len(context.prefix) - len(line)].split("\n")
    opener = next((each for each in reversed(above) if _opens(each, indent)), "")
    return _LISTS_NAMES.match(opener) is None


def _opens(line: str, indent: str) -> bool:
    rest = line.removeprefix(indent)
    return line.startswith(indent) and not rest[:1].isspace() and line.rstrip().endswith("{")


def _is_of_word(character: str) -> bool:
    """Letters of any script, as in `été`, and marks on them that are characters of their own."""
    return (
        character.isalnum()
        or character in "_\u200c\u200d"
        or unicodedata.category(character).startswith("M")
    )


# Elsewhere `;` joins two on one line (Python, Ruby, shells), separates, or is not of the code.
_ENDED_BY_SEMICOLON = frozenset(
    "c cpp csharp java javascript javascriptreact typescript typescriptreact astro svelte vue dart "
    "scala rust php groovy objective-c objective-cpp zig d solidity haxe glsl verilog perl awk nix "
    "css scss less proto3 thrift sql pascal ada vhdl matlab".split()
)
_LABEL = re.compile(r"\s*(?:case\b.*:|default\s*:)")
_CLOSERS = re.compile(r"\s*}[)\]}]*;?")
# `from` follows, or an alias.
_LISTS_NAMES = re.compile(r"\s*(?:import|export|use|from)\b")
