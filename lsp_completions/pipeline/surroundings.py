"""What stands around the cursor's line: how far lines are indented, which stand above and below."""

import re

from lsp_completions.pipeline.context import CursorContext

TAB_WIDTH = 4  # columns, where all lines are indented with tabs
MIXED_TAB_WIDTH = 8  # columns, where a tab stands for the first eight spaces of a line


def indent_of(line: str) -> str:
    """The white space a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def tab_width(context: CursorContext) -> int:
    """How many columns a tab stands for when it is compared with spaces."""
    if context.indent_unit.startswith("\t"):
        return TAB_WIDTH
    return MIXED_TAB_WIDTH if has_tabs(context) else max(len(context.indent_unit), 1)


def has_tabs(context: CursorContext) -> bool:
    """Some lines around the cursor begin with a tab."""
    return context.indent.startswith("\t") or "\n\t" in context.prefix or "\n\t" in context.suffix


def width_of(line: str, context: CursorContext) -> int:
    """How far a line is indented, in columns."""
    indent = indent_of(line)
    if "\t" not in indent:
        return len(indent)
    return len(indent.expandtabs(tab_width(context)))


def line_above(context: CursorContext) -> str | None:
    """The nearest line above the cursor's that is not blank; `None` where there is none."""
    head = context.prefix[: len(context.prefix) - len(context.line_prefix)].rstrip()
    return head.rpartition("\n")[2] if head else None


def lines_below(context: CursorContext) -> tuple[str, ...]:
    """The lines below the cursor's that are not blank, as far as the window reaches."""
    rest = context.suffix[len(context.line_suffix) :]
    return tuple(line.rstrip() for line in rest.split("\n") if line.strip())


def is_blank_line(context: CursorContext) -> bool:
    """Nothing but white space stands on the cursor's line."""
    return not context.line_prefix.strip() and not context.line_suffix.strip()


def says_something(line: str) -> bool:
    """The line is more than brackets and a keyword: two that are equal are no coincidence."""
    return has_words(line) and line.strip(" \t;:,{}()[]") not in _COMMON


def has_words(code: str) -> bool:
    """The code, a line or some, is more than brackets and a short keyword."""
    return len(_LETTERS.findall(code)) >= 5


_LETTERS = re.compile(r"\w")
_COMMON = frozenset(
    (
        *(
            [
                "break",
                "continue",
                "else",
                "finally",
                "begin",
                "default",
                "endif",
                "private",
                "public",
                "protected",
            ]
        ),
        *(
            f"return {value}"
            for value in [
                "None",
                "null",
                "nil",
                "true",
                "false",
                "True",
                "False",
                "err",
                "self",
                "this",
            ]
        ),
    )
)
