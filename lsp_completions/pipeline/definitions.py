"""Where a text defines its names, found by how such lines look.

A few regular expressions for each kind of language: they miss what is rare and know nothing of
scopes, but read a file of 2,000 lines within milliseconds, in any state of typing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lsp_completions.pipeline.languages import Language

LONGEST_HEAD = 12  # lines of a signature
LONGEST_BODY = 400  # lines that are looked through for the end of a definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A name, and the lines that define it: `[start, end)`, of which the head says what it is."""

    name: str
    start: int
    head_end: int
    """The line after the signature."""
    end: int
    holds_others: bool
    """It is a class or its like, whose lines define names of their own."""


def definitions_in(text: str, lines: Sequence[str], language: Language) -> Iterator[Definition]:
    r"""The definitions in a text with `\n` line ends, which `lines` are the lines of."""
    starts = _line_starts(text)
    line, seen = 0, -1
    for match in _looks_of(language).finditer(text):
        kind = match.lastgroup or "name"
        name = match[kind].rpartition("::")[2]
        if name in _NO_NAMES:
            continue
        at = match.start(kind)
        while line + 1 < len(starts) and starts[line + 1] <= at:
            line += 1
        if line == seen:
            continue
        seen = line
        head_end = _head_end(lines, line)
        indent = _indent(lines[line])
        has_block = kind in _WITH_BLOCK and not lines[head_end - 1].rstrip().endswith(";")
        holds = has_block and _HOLDS_OTHERS.search(match[0]) is not None
        end = _end(lines, head_end, indent) if has_block else head_end
        yield Definition(
            name=name,
            start=line,
            head_end=head_end,
            end=max(end, head_end),
            holds_others=holds,
        )


def _line_starts(text: str) -> list[int]:
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


def _head_end(lines: Sequence[str], start: int) -> int:
    """The line after the one that closes the brackets of a signature."""
    depth = 0
    for number in range(start, min(start + LONGEST_HEAD, len(lines))):
        line = lines[number]
        depth += line.count("(") + line.count("[") - line.count(")") - line.count("]")
        if depth <= 0:
            return number + 1
    return start + 1


def _end(lines: Sequence[str], start: int, indent: int) -> int:
    """The line after the block that is indented more; a closer at its own indent belongs to it."""
    end = start
    for number in range(start, min(start + LONGEST_BODY, len(lines))):
        line = lines[number]
        if not line.strip():
            continue
        if _indent(line) > indent:
            end = number + 1
            continue
        # A brace may open the block on a line of its own.
        if line.strip() == "{" and number == start:
            end = number + 1
            continue
        return number + 1 if _CLOSES.match(line) else end
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


_CLOSES = re.compile(r"[ \t]*(?:[})\]]|end\b)")
_HOLDS_OTHERS = re.compile(
    r"\b(?:class|interface|struct|enum|trait|impl|namespace|module|object|protocol|extension"
    r"|record|union|defmodule|contract)\b"
)
# Words that look like names where a statement looks like a definition.
_NO_NAMES = frozenset(
    "if for while switch catch return else do try with match when new throw delete in of await "
    "function def class elif unless until and or not case sizeof typeof using super".split()
)

# Each alternative has one group: the name, called by whether a block follows it or not. Repetitions
# are bounded, so that time is linear in the text.
_WITH_BLOCK = ("name", "block", "method")
_PYTHON = r"""
    ^[ \t]{0,40}(?:async[ ]{1,4})?(?:def|class)[ \t]{1,4}(?P<name>\w{1,80})
    | ^(?P<value>[^\W\d]\w{0,80})[ \t]{0,40}(?::[^=\n#]{1,120})?=(?![=])
    | ^type[ ]{1,4}(?P<alias>\w{1,80})
"""
_SCRIPT = r"""
    ^[ \t]{0,40}(?:(?:export|default|declare|abstract|async)[ ]{1,4}){0,4}
      (?:function\b[ ]{0,2}\*?|class|interface|enum|namespace|module)[ ]{1,4}(?P<name>[\w$]{1,80})
    | ^(?:export[ ]{1,4})?(?:default[ ]{1,4})?(?:declare[ ]{1,4})?
      (?:const[ ]{1,4}enum|const|let|var|type)[ ]{1,4}(?P<block>[\w$]{1,80})
    | ^[ \t]{1,40}(?:(?:public|private|protected|static|async|get|set|readonly|override|abstract)
      [ ]{1,4}){0,4}[*\#]?(?P<method>[\w$]{1,80})[ ]?(?:<[^>\n(]{1,80}>)?
      \((?=[^\n]{0,200}[{,(;][ ]{0,8}$)(?![^\n]{0,200}(?:\)[ ]{0,4};?$|=>))
"""
_GO = r"""
    ^func[ ]{1,4}(?:\([^)\n]{0,80}\)[ ]{0,4})?(?P<name>\w{1,80})
    | ^type[ ]{1,4}(?P<block>\w{1,80})
    | ^(?:var|const)[ ]{1,4}(?P<value>\w{1,80})
    | ^\t(?P<member>[A-Z]\w{0,80})(?=[ ](?:[\w.*\[\]]{1,80}[ ])?=|$)
"""
_RUST = r"""
    ^[ \t]{0,40}(?:pub(?:\([^)\n]{0,40}\))?[ ])?
      (?:(?:default|async|unsafe|const|extern(?:[ ]"[^"\n]{0,20}")?)[ ]){0,3}
      (?:fn|struct|enum|trait|union|mod|macro_rules!)[ ]{1,4}(?P<name>\w{1,80})
    | ^[ \t]{0,40}(?:pub(?:\([^)\n]{0,40}\))?[ ])?(?:const|static|type)[ ](?:mut[ ])?
      (?P<value>\w{1,80})
    | ^(?:unsafe[ ])?impl\b(?:<[^>\n]{0,80}>)?[ ](?:[\w:<>]{1,80}[ ]for[ ])?(?P<block>\w{1,80})
"""
_C = r"""
    ^[ \t]{0,8}(?:typedef[ ]{1,4})?(?:template[ ]?<[^>\n]{0,80}>[ ]?)?
      (?:enum[ ]class|struct|class|enum|union|namespace)[ ]{1,4}(?P<name>\w{1,80})
      (?=[ \w:,]{0,80}(?:\{|$))
    | ^\#[ \t]{0,8}define[ \t]{1,8}(?P<value>\w{1,80})
    | ^(?!return\b|else\b|typedef\b|using\b|\#)(?:[\w:<>,*&~\[\]]{1,60}[ \t*&]{1,8}){1,6}
      (?P<block>[\w:~]{1,80})[ ]?\((?=[^\n]{0,200}[,;){][ ]{0,4}(?:const[ ]{0,4})?$)
    | ^(?:typedef|using)[ ][^\n;{]{0,120}?(?P<member>\w{1,80})[ ]?(?:;|=)
    | ^\}[ ]{0,4}(?P<alias>\w{1,80});
"""
_JAVA = r"""
    ^[ \t]{0,40}(?:@\w{1,40}[ ])?(?:(?:public|private|protected|internal|static|final|abstract
      |sealed|open|override|data|inline|suspend|partial|virtual|async|readonly|extern|default
      |synchronized|native|companion|case|implicit|lazy|mutating|fileprivate|lateinit|required
      |func(?=[ ]func))[ ]{1,4}){0,6}
      (?:class|interface|enum(?:[ ]class)?|record|struct|trait|object|protocol|extension|fun|func
      |def|function|namespace|mixin)[ ]{1,4}(?:<[^>\n]{0,60}>[ ])?(?:[\w<>?]{1,40}\.)?
      (?P<name>[\w$]{1,80})
    | ^[ \t]{0,12}(?:(?:public|private|protected|internal|static|final|abstract|override|virtual
      |async|synchronized|default|sealed|native|extern|partial)[ ]{1,4}){1,6}
      (?:[\w<>\[\],.?]{1,80}[ ]{1,4}){0,3}(?P<block>\w{1,80})[ ]?\(
    | ^[ \t]{0,12}(?:(?:public|private|protected|internal|static|final|const|readonly|lateinit
      |override|lazy)[ ]{1,4}){0,6}(?:val|var|let|const|static)[ ]{1,4}
      (?:[\w<>\[\],.?]{1,80}[ ]{1,4}){0,2}(?P<value>\w{1,80})
"""
_RUBY = r"""
    ^[ \t]{0,40}(?:def[ ](?:self\.)?|class[ ]|module[ ])(?P<name>[\w:]{1,80}[?!=]?)
    | ^[ \t]{0,8}(?P<value>[A-Z][A-Z\d_]{0,80})[ ]?=(?![=~>])
    | ^[ \t]{0,8}attr_(?:reader|accessor|writer)[ ]:(?P<member>\w{1,80})
"""
_LUA = r"""
    ^[ \t]{0,40}(?:local[ ])?function[ ](?:\w{1,80}[.:]){0,3}(?P<name>\w{1,80})
    | ^(?:local[ ])?(?:\w{1,80}\.){0,3}(?P<value>\w{1,80})[ ]?=
"""
_OTHER = r"""
    ^[ \t]{0,40}(?:(?:pub|public|private|export|static|local|async)[ ]){0,3}
      (?:defmodule|defmacrop?|defp?|class|fn|func|function|proc|sub|struct|enum|trait|interface
      |module|object|record|type|data|newtype|message|service|rpc|procedure|contract|define
      |macro|component)[ ]{1,4}(?P<name>[\w.:?!-]{1,80})
    | ^(?P<block>[\w-]{1,80})[ ]?\(\)[ ]?\{
    | ^(?:(?:let|val|var|const|export|local|readonly)[ ]){0,2}(?P<value>[^\W\d]\w{0,80})[ ]?:?=(?!=)
"""


def _looks_of(language: Language) -> "re.Pattern[str]":
    return _LOOKS.get(language.id, _LOOK_OF_OTHERS)


def _compiled(pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern, re.MULTILINE | re.VERBOSE)


_LOOKS = {
    id: _compiled(pattern)
    for ids, pattern in (
        ("python mojo starlark gdscript", _PYTHON),
        ("javascript javascriptreact typescript typescriptreact astro svelte vue", _SCRIPT),
        ("go", _GO),
        ("rust", _RUST),
        ("c cpp objective-c objective-cpp glsl", _C),
        ("java csharp kotlin scala swift php dart groovy haxe solidity d", _JAVA),
        ("ruby crystal", _RUBY),
        ("lua", _LUA),
    )
    for id in ids.split()
}
_LOOK_OF_OTHERS = _compiled(_OTHER)
