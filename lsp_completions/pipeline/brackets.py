"""Brackets, strings and comments, told apart by a scanner that knows no grammar.

It is right about almost all code, and where it is wrong it is wrong for one line only: a quote
that is not closed on its line stops being a string there.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from lsp_completions.pipeline.languages import Language

PARTNER = {"(": ")", "[": "]", "{": "}"}
CLOSERS = frozenset(PARTNER.values())

COMMENT = "//"
"""Stands on the stack for a comment that ends with its line, whatever the language's mark."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a text leaves open, and what it closes that was opened before it.

    A string's quotes are brackets too: the second one closes the first.
    """

    stack: tuple[str, ...]
    """What is open at the end, outermost first: brackets, quotes, comment marks."""
    closings: tuple[tuple[int, str], ...]
    """Where a closer stands whose opener stands before the text, and which closer, in order."""
    matched: tuple[tuple[int, int], ...]
    """Where an opener and its closer both stand in the text, in the order of the closers."""
    opened: tuple[int, ...]
    """Where the openers stand that the text leaves open, outermost first."""
    strays: int
    """How many closers fit nothing that is open where they stand."""

    @property
    def in_words(self) -> bool:
        """The text ends inside a string or a comment."""
        return bool(self.stack) and self.stack[-1] not in PARTNER


def scan(text: str, language: Language, inside: Sequence[str] = ()) -> Scan:
    """Read `text`, which begins inside what `inside` lists (the `stack` of what stands before)."""
    rules = _rules(language)
    stack: list[tuple[str, int]] = [(mark, -1) for mark in inside]
    closings: list[tuple[int, str]] = []
    matched: list[tuple[int, int]] = []
    strays = 0
    # Where in the stack the comment is that ends with its line.
    comment = next((n for n, mark in enumerate(inside) if mark == COMMENT), -1)

    def close(at: int, mark: str) -> None:
        _, opened = stack.pop()
        if opened >= 0:
            matched.append((opened, at))
        else:
            closings.append((at, mark))

    position, end = 0, len(text)
    while position < end:
        top = stack[-1][0] if stack else ""
        if top in rules.rest_of:
            # Inside a string or a block comment only its end counts.
            rest = rules.rest_of[top].match(text, position)
            assert rest is not None
            position = rest.end()
            if position == end:
                break
            mark = rules.end_of[top]
            if text.startswith(mark, position):
                close(position, mark)
                position += len(mark)
            else:
                # The line ends, and this string with it.
                stack.pop()
            continue
        found = rules.token.search(text, position)
        if found is None:
            break
        mark, start, position = found.group(), found.start(), found.end()
        if found.lastgroup == "pattern":
            continue
        if mark == "\n":
            if comment >= 0:
                del stack[comment:]
                comment = -1
        elif mark in CLOSERS:
            if stack and PARTNER.get(stack[-1][0]) == mark:
                close(start, mark)
            elif comment >= 0 and stack[comment][1] >= 0:
                pass  # In a comment of the text's own, brackets are words.
            elif not stack or stack[-1][0] == COMMENT:
                closings.append((start, mark))
            else:
                strays += 1
        elif mark in PARTNER:
            stack.append((mark, start))
        elif comment >= 0:
            pass
        elif mark == rules.line_comment:
            comment = len(stack)
            stack.append((COMMENT, start))
        else:
            stack.append((mark, start))
    return Scan(
        stack=tuple(mark for mark, _ in stack),
        closings=tuple(closings),
        matched=tuple(matched),
        opened=tuple(at for _, at in stack if at >= 0),
        strays=strays,
    )


def code_of(line: str, language: Language) -> str:
    """The line without its trailing comment and white space."""
    if not language.line_comment or language.line_comment not in line:
        return line.rstrip()
    found = scan(line, language)
    if COMMENT not in found.stack:
        return line.rstrip()
    return line[: found.opened[found.stack.index(COMMENT)]].rstrip()


# Where an apostrophe is a lifetime, a label, a transpose or a quoted list rather than a string.
_APOSTROPHE_IS_NO_QUOTE = frozenset(
    [
        "rust",
        "lisp",
        "emacs-lisp",
        "scheme",
        "clojure",
        "fennel",
        "haskell",
        "elm",
        "ocaml",
        "fsharp",
        "scala",
        "ada",
        "vhdl",
        "verilog",
        "matlab",
        "vb",
        "latex",
        "markdown",
        "restructuredtext",
        "asciidoc",
        "org",
        "plaintext",
        "git-commit",
        "typst",
        "html",
        "xml",
        "assembly",
        "asm",
        "nim",
    ]
)
_BACKTICK_IS_NO_QUOTE = frozenset(
    [
        "lisp",
        "emacs-lisp",
        "scheme",
        "clojure",
        "fennel",
        "ocaml",
        "verilog",
        "latex",
        "haskell",
        "rust",
        "python",
        "c",
        "cpp",
    ]
)
_BACKTICK_SPANS_LINES = frozenset(
    [
        "javascript",
        "javascriptreact",
        "typescript",
        "typescriptreact",
        "vue",
        "svelte",
        "astro",
        "go",
    ]
)
_THREE_APOSTROPHES = frozenset(
    ["python", "starlark", "mojo", "gdscript", "toml", "groovy", "dart", "coffeescript", "elixir"]
)
_NO_THREE_QUOTES = frozenset(["c", "vb", "vbs", "csv", "sql", "pascal", "shellscript", "bat"])
# Where a slash that follows no value begins a pattern: its quotes and brackets are words.
_PATTERN = (
    r"(?:(?<=[=(,:!&|?~])|(?<=[=(,:!&|?~] ))/(?![*/ ])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/"
)
_PATTERNS = {
    **dict.fromkeys(
        [
            "javascript",
            "javascriptreact",
            "typescript",
            "typescriptreact",
            "vue",
            "svelte",
            "ruby",
            "crystal",
            "coffeescript",
            "groovy",
        ],
        _PATTERN,
    ),
    "perl": _PATTERN
    + r"|(?<![\w$@%&>])(?:m|qr)([!/|,%#])(?:\\.|(?!\2)[^\\\n])*\2"
    + r"|(?<![\w$@%&>])(?:s|tr|y)([!/|,%#])(?:(?:\\.|(?!\3)[^\\\n])*\3){2}",
}
# Comments that may hold anything but are no place to write one's own.
_LONG_COMMENTS = {"lua": ("--[[", "]]")}


@dataclass(frozen=True, slots=True)
class _Rules:
    token: re.Pattern[str]
    line_comment: str
    rest_of: dict[str, re.Pattern[str]]
    """What a string or comment holds, by the mark that begins it."""
    end_of: dict[str, str]
    """What ends it."""


@lru_cache(maxsize=64)
def _rules(language: Language) -> _Rules:
    name = language.id
    quotes = ['"']
    if name not in _APOSTROPHE_IS_NO_QUOTE:
        quotes.append("'")
    if name not in _BACKTICK_IS_NO_QUOTE:
        quotes.append("`")
    triples = [] if name in _NO_THREE_QUOTES else ['"""']
    if name in _THREE_APOSTROPHES:
        triples.append("'''")
    # A backslash takes the next character with it.
    rest_of, end_of = {}, {}
    for quote in quotes:
        line_end = "" if quote == "`" and name in _BACKTICK_SPANS_LINES else r"\n"
        rest_of[quote] = re.compile(rf"(?:[^{quote}\\{line_end}]+|\\[^\n])*+\\?")
        end_of[quote] = quote
    for quote in triples:
        rest_of[quote] = re.compile(
            rf"(?:[^{quote[0]}\\]+|\\.|{quote[0]}(?!{quote[1:]}))*+", re.DOTALL
        )
        end_of[quote] = quote
    marks = []
    if (comment := language.block_comment or _LONG_COMMENTS.get(name)) is not None:
        begin, finish = comment
        marks.append(re.escape(begin))
        rest_of[begin] = re.compile(rf"(?:(?!{re.escape(finish)}).)*+", re.DOTALL)
        end_of[begin] = finish
    if language.line_comment:
        # `#` in `$#` and `//` in `http://` begin no comment.
        marks.append(r"(?<![:\w$\\])" + re.escape(language.line_comment))
    patterns = [f"(?P<pattern>{_PATTERNS[name]})"] if name in _PATTERNS else []
    token = "|".join([*patterns, *marks, *triples, r"[][(){}\n]", "[" + "".join(quotes) + "]"])
    return _Rules(
        token=re.compile(token),
        line_comment=language.line_comment,
        rest_of=rest_of,
        end_of=end_of,
    )
