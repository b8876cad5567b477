"""Statements that go on in the next line, though they could be at their end: `a` and then `.b()`.

Some languages end statements where a line ends and they can end there. Whether one does is seen by
how others end: in a document that writes a semicolon after each statement of JavaScript, a line
without one goes on; and so does one that is written elsewhere and goes on there.
"""

import re
from functools import lru_cache

from lsp_completions.pipeline.context import CursorContext


def may_go_on(line: str, context: CursorContext) -> bool:
    """Whether a statement that could be over with `line`, a whole line of it, may not be."""
    if context.language.indent_sensitive or _COULD_END.search(line) is None:
        return False
    semicolons, going_on = habits_of(context)
    return semicolons or line.strip() in going_on


def goes_on(line: str) -> bool:
    """Whether a line begins with what no statement begins with."""
    return _GOES_ON.match(line) is not None


@lru_cache(maxsize=8)
def habits_of(context: CursorContext) -> tuple[bool, frozenset[str]]:
    """Whether statements end with semicolons and nothing else tells it, and lines that go on."""
    above = context.prefix[: len(context.prefix) - len(context.line_prefix)]
    code = f"{above}\n{context.suffix[len(context.line_suffix) :]}"
    with_one, without = len(_ENDED.findall(code)), len(_ENDED_WITHOUT.findall(code))
    semicolons = with_one >= max(_ENOUGH, _TIMES * without)
    going_on = frozenset(each.strip() for each in _LINE_BEFORE_A_LINK.findall(code))
    return semicolons and context.language.id in _MAY_DO_WITHOUT, going_on


# In others a line without a semicolon is an error, which their grammar knows, or as it should be.
_MAY_DO_WITHOUT = frozenset("javascript javascriptreact typescript typescriptreact".split())
_ENOUGH, _TIMES = 4, 4
_COULD_END = re.compile(r"[\w)\]'\"`$][ \t]*$")
_GOES_ON = re.compile(r"[ \t]*(?:\??\.(?!\.)\s*[\w#(\[]|[,?:]|&&|\|\||[-+*/%=<>]=?\s)")
_LINE_BEFORE_A_LINK = re.compile(r"^(.*[\w)\]'\"`$])[ \t]*\n(?=[ \t]*\??\.\w)", re.MULTILINE)
_ENDED = re.compile(r";[ \t]*(?://.*)?$", re.MULTILINE)
# What follows begins neither as what goes on nor with a closer. Lines that close something are
# written without a semicolon by many who write it everywhere else.
_ENDED_WITHOUT = re.compile(
    r"^[ \t]*[^\s)\]}/*@].*[\w)\]'\"`$][ \t]*\n\s*(?=[\w$@'\"`(\[{])", re.MULTILINE
)
