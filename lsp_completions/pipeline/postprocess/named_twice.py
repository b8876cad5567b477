"""What follows the cursor by its name, said again with another value."""

import re
from collections.abc import Iterator

from lsp_completions.pipeline.balance import stack_before_line
from lsp_completions.pipeline.brackets import scan
from lsp_completions.pipeline.context import CursorContext


def nothing_named_twice(text: str, context: CursorContext) -> str:
    """The text up to where it names an argument or a key that follows in the same brackets.

    Of `1, b=3)` in `f(a=|, b=2)` the `1`. Not where it says just what follows: how that overlaps
    is seen better as a whole. What stands on later lines is known by then.
    """
    rest = context.line_suffix
    if "," not in rest:
        return text
    stack = scan(context.line_prefix, context.language, stack_before_line(context)).stack
    if not stack or stack[-1] not in _SEPARATORS:
        return text
    there = {name: rest[at:].strip() for at, name in _named(rest, stack, context)}
    for at, name in _named(text, stack, context):
        said = text[at:].strip()
        if name in there and not said.startswith(there[name]) and not there[name].startswith(said):
            return text[:at].rstrip()
    return text


def _named(text: str, stack: tuple[str, ...], context: CursorContext) -> Iterator[tuple[int, str]]:
    """Where a comma stands before a name, and which name, within the innermost bracket."""
    found = scan(text, context.language, stack)
    end = found.closings[0][0] if found.closings else len(text)
    bracket = "{" if context.language.id in _WITH_COLONS else stack[-1]
    for named in _SEPARATORS[bracket].finditer(text, 0, end):
        if not any(opener < named.start(1) < closer for opener, closer in found.matched):
            yield named.start(), named[1]


def _before(separator: str) -> re.Pattern[str]:
    return re.compile(rf",\s*([\"']?[\w-]+[\"']?)\s*{separator}")


# What stands between a name and its value, by the bracket that both are in.
_SEPARATORS = {
    "(": _before(r"=(?![=>~])"),
    "{": _before(r"(?::(?!:)|=>|=(?![=>~]))"),
    "[": _before(r"=>"),
}
_WITH_COLONS = frozenset({"csharp", "php", "ruby", "swift"})
