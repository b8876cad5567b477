"""Holes cut into code: what stands around each, and what stood in it."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from tests.evaluation.corpora import Source

LINE_END = "rest of a line"
WHOLE_LINE = "a whole line"
MIDDLE = "middle of a line"
BLOCK = "body below its header"
BLOCK_BEHIND = "body behind its header"
BLOCK_AND_END = "body and its end"
STATEMENT = "a statement with its body"
LINES = (LINE_END, WHOLE_LINE, MIDDLE)
BLOCKS = (BLOCK, BLOCK_BEHIND, BLOCK_AND_END, STATEMENT)

MOST_LINES = 40  # of a body: longer than any model is asked for
MOST_CHARS = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """`text` is missing between `before`, where the cursor stands, and `after`."""

    name: str
    language: str
    kind: str
    before: str
    text: str
    after: str


def holes_in(sources: Sequence[Source], *, each: int, seed: int = 0) -> list[Hole]:
    """At most `each` holes of each kind in each file, the same ones every time."""
    return [hole for source in sources for hole in _holes(source, each, seed)]


def _holes(source: Source, each: int, seed: int) -> Iterator[Hole]:
    chance = Random(f"{seed} {source.language} {len(source.text)} {source.text[:80]}")
    spans = {
        LINE_END: list(_line_ends(source.text, chance)),
        WHOLE_LINE: list(_whole_lines(source.text)),
        MIDDLE: list(_middles(source.text, chance)),
        BLOCK: (bodies := list(_bodies(source))),
        BLOCK_BEHIND: [(source.text.rindex("\n", 0, start), end) for start, end in bodies],
        BLOCK_AND_END: [span for body in bodies if (span := _with_end(source, body)) is not None],
        STATEMENT: [span for body in bodies if (span := _with_header(source, body)) is not None],
    }
    for kind, found in spans.items():
        for start, end in chance.sample(found, min(each, len(found))):
            yield Hole(
                name=f"{source.name}:{source.text.count(chr(10), 0, start) + 1}",
                language=source.language,
                kind=kind,
                before=source.text[:start],
                text=source.text[start:end],
                after=source.text[end:],
            )


Span = tuple[int, int]

# `::` is one sign, `))` are two.
_WORD_OR_SIGN = re.compile(r"\w+|([^\w\s()\[\]{}])\1*|[^\w\s]")


def _line_ends(text: str, chance: Random) -> Iterator[Span]:
    """From some column of a line on, also inside a word, to its end."""
    for line in re.finditer(r"^[ \t]*(\S.*\S)$", text, re.MULTILINE):
        if chance.random() < 0.5:
            places = [found.start() for found in _WORD_OR_SIGN.finditer(line[1])][1:]
        else:
            places = list(range(1, len(line[1])))
        if places:
            yield line.start(1) + chance.choice(places), line.end()


def _whole_lines(text: str) -> Iterator[Span]:
    """A line whose indentation is there already."""
    for line in re.finditer(r"^[ \t]*(\S.*)$", text, re.MULTILINE):
        yield line.start(1), line.end()


def _middles(text: str, chance: Random) -> Iterator[Span]:
    """A few words and signs with others before and after them, or half a word and its rest."""
    for line in re.finditer(r"^[ \t]*(\S.*\S)$", text, re.MULTILINE):
        words = [found.span() for found in _WORD_OR_SIGN.finditer(line[1])]
        if len(words) < 3:
            continue
        first = chance.randrange(1, len(words) - 1)
        last = chance.randrange(first, min(len(words) - 1, first + 12))
        start = words[first][0]
        if words[first][1] - start > 2 and chance.random() < 0.3:
            start += chance.randrange(1, words[first][1] - start)
        yield line.start(1) + start, line.start(1) + words[last][1]


# What opens a block at a line's end, and what begins the line after it; `None` for indentation.
_BRACES = (re.compile(r"\{$"), re.compile(r"\}"))
_MARKS = {
    "ruby": (
        re.compile(
            r"^\s*(?:def|class|module|if|unless|while|begin)\b(?!.*\bend$)|\bdo(?: \|.*\|)?$"
        ),
        re.compile(r"(?:end|else|elsif|rescue|ensure)\b"),
    ),
    "lua": (
        re.compile(r"\b(?:then|do|else|repeat)$|\bfunction\b[^()]*\([^()]*\)$"),
        re.compile(r"(?:end|else|elseif|until)\b"),
    ),
    "shellscript": (
        re.compile(r"\b(?:then|do|else)$|\{$"),
        re.compile(r"(?:fi|done|else|elif)\b|\}"),
    ),
    "html": (re.compile(r"<(?!img|br|link|meta|input|hr)[a-z]\w*(?: [^<>]*)?>$"), re.compile("</")),
}


def _bodies(source: Source) -> Iterator[Span]:
    """The bodies of functions, loops, conditions and the like."""
    spans = _python_bodies(source.text) if source.language == "python" else _marked_bodies(source)
    for start, end in spans:
        body = source.text[start:end]
        # Some put a block's end as deep as its body.
        is_whole = source.language in _MARKS or body.count("{") == body.count("}")
        if is_whole and body.count("\n") < MOST_LINES and len(body) <= MOST_CHARS:
            yield start, end


def _python_bodies(text: str) -> Iterator[Span]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    lines = text.split("\n")
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list) or not isinstance(node, ast.stmt):
            continue
        first, last = body[0], body[-1]
        decorators = getattr(first, "decorator_list", None)
        line = min(each.lineno for each in (first, *(decorators or ())))
        if last.end_lineno is None or not lines[line - 2].rstrip().endswith(":"):
            continue
        first_line = lines[line - 1]
        start = sum(len(each) + 1 for each in lines[: line - 1])
        yield (
            start + len(first_line) - len(first_line.lstrip()),
            sum(len(each) + 1 for each in lines[: last.end_lineno]) - 1,
        )


def _marked_bodies(source: Source) -> Iterator[Span]:
    opens, closes = _MARKS.get(source.language, _BRACES)
    lines = source.text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    for index, header in enumerate(lines):
        if not header.strip() or not opens.search(header):
            continue
        depth = _width(header)
        last = None
        for other in range(index + 1, min(index + 2 * MOST_LINES, len(lines))):
            line = lines[other]
            if not line.strip():
                continue
            if _width(line) > depth:
                last = other
                continue
            if last is not None and _width(line) == depth and closes.match(line.lstrip()):
                first = lines[index + 1]
                if first.strip():
                    indent = len(first) - len(first.lstrip())
                    yield starts[index + 1] + indent, starts[last] + len(lines[last])
            break


def ends_block(line: str) -> bool:
    """The line does nothing but end a block."""
    return _END.fullmatch(line) is not None


def _with_end(source: Source, body: Span) -> Span | None:
    """A body and the line after it, where that ends the block and does nothing else."""
    start, end = body
    line = source.text[end + 1 :].partition("\n")[0]
    return (start, end + 1 + len(line)) if ends_block(line) else None


def _with_header(source: Source, body: Span) -> Span | None:
    """A statement of one header, its body and its end; no `if` that goes on with `else`."""
    start, end = body
    above = source.text.rindex("\n", 0, start)
    begin = source.text.rfind("\n", 0, above) + 1
    header = source.text[begin:above]
    if _CLOSERS_FIRST.match(header) or header.strip() == "{":
        return None
    if source.language != "python":
        whole = _with_end(source, body)
        if whole is None:
            return None
        end = whole[1]
    below = source.text[end:].lstrip()
    if _GOES_ON.match(below):
        return None
    return begin + len(header) - len(header.lstrip()), end


_END = re.compile(r"\s*(?:[])}]+[;,]?|end|done|fi|</\w+>)")
_CLOSERS_FIRST = re.compile(
    r"\s*(?:[])}]|else|elif|elsif|elseif|except|finally|rescue|ensure|catch)"
)
_GOES_ON = re.compile(r"(?:else|elif|elsif|elseif|except|finally|rescue|ensure|catch)\b")


def _width(line: str) -> int:
    line = line.expandtabs(8)
    return len(line) - len(line.lstrip())
