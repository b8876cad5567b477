r"""Every way auto-pairs leave closers behind the cursor, and what a model then says.

A row is a document with the cursor drawn in, and the document that is meant. The model says what is
missing alone, and with each part of what stands behind the cursor, down to half a word of it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.evaluation.overrun import markdown
from tests.support.cursor import apply, context_of, cursor
from tests.support.pipeline import suggested


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The document as it is, with its cursor, and as it is meant."""

    kind: str
    language: str
    drawn: str
    meant: str

    def said(self) -> Iterator[str]:
        """What models say here, from least to most."""
        before, after = self.drawn.split("<cursor>")
        assert self.meant.startswith(before), self
        missing = self.meant[len(before) :]
        if not missing.endswith(after):
            # What is behind the cursor gives way to what goes on after it.
            yield missing
            return
        alone = len(missing) - len(after)
        yield missing[:alone]
        for token in _TOKEN.finditer(after):
            word = token[0] if token[0][0].isalnum() else ""
            for end in range(
                min(token.start() + 3, token.end()) if word else token.end(), token.end() + 1
            ):
                yield missing[: alone + end]


# What models say at once, or not at all; long words come in pieces.
_TOKEN = re.compile(r'\s+|\w+|"""|\*/|/>|</|.')

PAIRS = ("()", "[]", "{}", '""', "''", "([])", "({})", "[{}]", '("")', "(())", "[[]]", '([""])')
BEHIND = ("", ";", ",", " {", ", b)", " + 1", " // c", " && b) {", "]")
INSIDE = ("a", "a, b", "a(b)", "a[0]", "{c: d}", "f(() => g(h))")
IN_QUOTES = ("a", "a b", "it is (", "no.1]")


def pairs() -> Iterator[Row]:
    """All pairs, with all that may stand behind them, and with all that may go in."""
    for pair in PAIRS:
        half = len(pair) // 2
        opened, closed = pair[:half], pair[half:]
        quoted = opened[-1] in "\"'"
        for behind in BEHIND:
            outer = {", b)": "(", " && b) {": "if (", "]": "["}.get(behind, "")
            for inside in IN_QUOTES if quoted else INSIDE:
                head = f"{outer or 'x = '}f{opened}"
                yield Row(
                    kind="pairs on one line",
                    language="typescript",
                    drawn=f"{head}<cursor>{closed}{behind}\n",
                    meant=f"{head}{inside}{closed}{behind}\n",
                )


def after_enter() -> Iterator[Row]:
    """Pairs that Enter has spread over three lines."""
    blocks = [
        ("function f() {", "return 1", "}"),
        ("const a = [", "1,\n  2,", "];"),
        ("call({", "a: 1,\n  b: [2],", "});"),
        ("call(", "a,\n  g(b),", ")"),
        ("run(() => {", "if (a) {\n    b()\n  }", "})"),
        ("const s = {", "a: {\n    b: 1,\n  },", "}"),
        ("it('works', async () => {", "expect(await f()).toBe(1)", "});"),
    ]
    for head, inside, tail in blocks:
        for below in ("", "\nnext()\n", "\n\nfunction g() {\n  return 2\n}\n"):
            for around in ("", "\n"):
                yield Row(
                    kind="pairs on three lines",
                    language="typescript",
                    drawn=f"{around}{head}\n  <cursor>\n{tail}{below or chr(10)}",
                    meant=f"{around}{head}\n  {inside}\n{tail}{below or chr(10)}",
                )
            # Enter was not pressed: the model begins with it.
            closer = tail.lstrip()
            yield Row(
                kind="pairs on one line, a block between them",
                language="typescript",
                drawn=f"{head}<cursor>{closer}{below or chr(10)}",
                meant=f"{head}\n  {inside}\n{closer}{below or chr(10)}",
            )


def rows() -> list[Row]:
    """All of them."""
    drawn = [
        Row(kind=kind, language=language, drawn=before, meant=meant)
        for kind, language, before, meant in DRAWN
    ]
    return [*pairs(), *after_enter(), *drawn]


GOES_ON = "going on behind the closers"
NESTED = "closers of what stands around"
WORDS = "closers that are words or tags"
STRINGS = "in strings"

DRAWN: tuple[tuple[str, str, str, str], ...] = (
    (GOES_ON, "typescript", "f(<cursor>)\n", "f(a).then(b)\n"),
    (GOES_ON, "typescript", "f(<cursor>)\n", "f(a, b);\n"),
    (GOES_ON, "typescript", "for (<cursor>)\n", "for (const a of b) {\n"),
    (GOES_ON, "typescript", "if (<cursor>)\n", "if (a && (b || c)) {\n"),
    (GOES_ON, "typescript", "f(<cursor>)\n", "f(() => {\n  a()\n})\n"),
    (GOES_ON, "typescript", "x = [<cursor>]\n", "x = [a, b].map((c) => c[0])\n"),
    (GOES_ON, "typescript", 'x = "<cursor>"\n', 'x = "a" + b\n'),
    (GOES_ON, "typescript", 'f("<cursor>")\n', 'f("a", [b])\n'),
    (GOES_ON, "typescript", "x = a[<cursor>];\n", "x = a[0][1];\n"),
    (GOES_ON, "go", "func f(<cursor>)\n", "func f(a int) error {\n"),
    (GOES_ON, "python", "def f(<cursor>)\n", "def f(a, b=(1, 2)):\n"),
    (GOES_ON, "python", "x = {<cursor>}\n", "x = {a: b for a, b in c}\n"),
    (GOES_ON, "python", "print(<cursor>)\n", "print(a) if b else None\n"),
    (GOES_ON, "java", "public void f(<cursor>)\n", "public void f(int a) throws B {\n"),
    (GOES_ON, "rust", "fn f(<cursor>)\n", "fn f(a: &str) -> Result<(), B> {\n"),
    (GOES_ON, "php", "function f(<cursor>)\n", "function f(array $a): int {\n"),
    (GOES_ON, "css", "a:not(<cursor>)\n", "a:not(.b) {\n"),
    (NESTED, "typescript", "if (f(<cursor>)) {\n", "if (f(a)) {\n"),
    (NESTED, "typescript", "x = { a: [<cursor>] };\n", "x = { a: [{ b: 1 }, 2] };\n"),
    (NESTED, "typescript", "f(a, { b: (<cursor>) })\n", "f(a, { b: (c + d) })\n"),
    (NESTED, "typescript", "x = f(a)[<cursor>]\n", "x = f(a)[b(c)]\n"),
    (NESTED, "typescript", "import { <cursor> } from 'm'\n", "import { a, b } from 'm'\n"),
    (NESTED, "typescript", "f({ <cursor> })\n", "f({ a: 1, b })\n"),
    (NESTED, "typescript", "f(<cursor>, b)\n", "f({ a: 1 }, b)\n"),
    (NESTED, "typescript", "f(a, <cursor>)\n", "f(a, g(b))\n"),
    (NESTED, "typescript", "x = (<cursor>) => {\n", "x = (a: B) => {\n"),
    (NESTED, "typescript", "x = f((<cursor>) => a)\n", "x = f((a, b) => a)\n"),
    (NESTED, "typescript", "x: Map<<cursor>> = y\n", "x: Map<string, Set<A>> = y\n"),
    (NESTED, "typescript", "x = new Map<<cursor>>()\n", "x = new Map<string, A[]>()\n"),
    (NESTED, "java", "List<<cursor>> a = b();\n", "List<Map<A, B>> a = b();\n"),
    (NESTED, "rust", "let a: Vec<<cursor>> = b;\n", "let a: Vec<Option<C>> = b;\n"),
    (NESTED, "rust", "a.map(|b| <cursor>)\n", "a.map(|b| b.c())\n"),
    (NESTED, "rust", "#[derive(<cursor>)]\n", "#[derive(Debug, Clone)]\n"),
    (NESTED, "rust", "println!(<cursor>);\n", 'println!("{}", a);\n'),
    (NESTED, "go", "if err := f(<cursor>); err != nil {\n", "if err := f(a); err != nil {\n"),
    (NESTED, "go", "a := []int{<cursor>}\n", "a := []int{1, 2}\n"),
    (NESTED, "go", "a := map[<cursor>]string{}\n", "a := map[int]string{}\n"),
    (NESTED, "python", "x = [f(<cursor>) for f in g]\n", "x = [f(a) for f in g]\n"),
    (NESTED, "python", "x = a[<cursor>:]\n", "x = a[b + 1:]\n"),
    (NESTED, "python", "def f(<cursor>) -> int:\n", "def f(a: list[int]) -> int:\n"),
    (NESTED, "python", "assert f(<cursor>) == [1]\n", "assert f([1, 2]) == [1]\n"),
    (NESTED, "python", "with open(<cursor>) as f:\n", 'with open("a") as f:\n'),
    (NESTED, "c", "for (int i = 0; <cursor>) {\n", "for (int i = 0; i < n(a); i++) {\n"),
    (NESTED, "c", "if (!(<cursor>)) return;\n", "if (!(a & B)) return;\n"),
    (NESTED, "c", "a[<cursor>] = 1;\n", "a[b(c)] = 1;\n"),
    (NESTED, "cpp", "std::vector<<cursor>> a;\n", "std::vector<std::pair<A, B>> a;\n"),
    (NESTED, "csharp", "var a = new B { <cursor> };\n", "var a = new B { C = 1, D = f() };\n"),
    (NESTED, "lisp", "(let ((a <cursor>)))\n", "(let ((a (b c))))\n"),
    (NESTED, "clojure", "(defn f [<cursor>])\n", "(defn f [a & b])\n"),
    (NESTED, "shellscript", "a=$(<cursor>)\n", 'a=$(b "$c")\n'),
    (NESTED, "shellscript", "if [[ <cursor> ]]; then\n", "if [[ -n $a ]]; then\n"),
    (NESTED, "lua", "f({ <cursor> })\n", "f({ a = 1, b = {} })\n"),
    (NESTED, "ruby", "a.map { |b| <cursor> }\n", "a.map { |b| b[:c] }\n"),
    (NESTED, "perl", "my ($a) = @{<cursor>};\n", "my ($a) = @{$b->{c}};\n"),
    (NESTED, "php", "$a = [<cursor>];\n", "$a = ['b' => $c];\n"),
    (NESTED, "css", "a { color: rgb(<cursor>); }\n", "a { color: rgb(1, 2, 3); }\n"),
    (NESTED, "json", '{"a": [<cursor>]}\n', '{"a": [{"b": 1}]}\n'),
    (STRINGS, "typescript", "x = `a ${<cursor>}`\n", "x = `a ${b(c)}`\n"),
    (STRINGS, "typescript", "x = `<cursor>`;\n", "x = `a ${b} c`;\n"),
    (STRINGS, "typescript", "f('<cursor>', b)\n", "f('a', b)\n"),
    (STRINGS, "typescript", 'x = ["<cursor>", "b"]\n', 'x = ["a", "b"]\n'),
    (STRINGS, "typescript", "x = { 'a': '<cursor>' }\n", "x = { 'a': 'b' }\n"),
    (STRINGS, "python", 'f"{<cursor>}"\n', 'f"{a[b]}"\n'),
    (STRINGS, "python", 'x = f"a {<cursor>} b"\n', 'x = f"a {c:>4} b"\n'),
    (STRINGS, "python", 'def f():\n    """<cursor>"""\n', 'def f():\n    """Say a."""\n'),
    (STRINGS, "python", "x = a['<cursor>']\n", "x = a['b']\n"),
    (STRINGS, "python", "x = {'a': '<cursor>'}\n", "x = {'a': 'b'}\n"),
    (STRINGS, "ruby", 'puts "#{<cursor>}"\n', 'puts "#{a.b(:c)}"\n'),
    (STRINGS, "shellscript", 'echo "${<cursor>}"\n', 'echo "${a:-b}"\n'),
    (STRINGS, "shellscript", 'echo "$(<cursor>)"\n', 'echo "$(a b)"\n'),
    (STRINGS, "go", 'fmt.Printf("<cursor>")\n', 'fmt.Printf("%d (%s)\\n", a, b)\n'),
    (STRINGS, "go", 'A string `json:"<cursor>"`\n', 'A string `json:"a,omitempty"`\n'),
    (STRINGS, "html", '<a href="<cursor>"></a>\n', '<a href="/b"></a>\n'),
    (STRINGS, "html", '<a class="<cursor>" id="b">\n', '<a class="c d" id="b">\n'),
    (WORDS, "html", "<p><cursor></p>\n", "<p>a b</p>\n"),
    (WORDS, "html", "<ul><li><cursor></li></ul>\n", "<ul><li>a</li></ul>\n"),
    (WORDS, "html", "<ul>\n  <cursor>\n</ul>\n", "<ul>\n  <li>a</li>\n  <li>b</li>\n</ul>\n"),
    (WORDS, "html", "<<cursor>>\n", "<div>\n"),
    (WORDS, "typescriptreact", "<A b={<cursor>} />\n", "<A b={c.d} />\n"),
    (WORDS, "typescriptreact", "<A b={{ <cursor> }}>\n", "<A b={{ c: 1 }}>\n"),
    (WORDS, "typescriptreact", "return <A><cursor></A>\n", "return <A>{b}</A>\n"),
    (WORDS, "ruby", "def f(a)\n  <cursor>\nend\n", "def f(a)\n  a + 1\nend\n"),
    (WORDS, "ruby", "a.each do |b|\n  <cursor>\nend\n", "a.each do |b|\n  puts b\nend\n"),
    (WORDS, "lua", "f(function() <cursor> end)\n", "f(function() return 1 end)\n"),
    (WORDS, "lua", "if a then\n  <cursor>\nend\n", "if a then\n  b()\nend\n"),
    (WORDS, "shellscript", "if a; then\n  <cursor>\nfi\n", "if a; then\n  b c\nfi\n"),
    (WORDS, "c", "/* <cursor> */\n", "/* a (b) */\n"),
    (WORDS, "java", "/** <cursor> */\n", "/** Says a. */\n"),
    (WORDS, "css", "a {\n  <cursor>\n}\n", "a {\n  top: 0;\n  left: 0;\n}\n"),
    (WORDS, "latex", "\\frac{<cursor>}{b}\n", "\\frac{a}{b}\n"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What came of a row instead of the document meant."""

    row: Row
    said: str
    result: str


def failures(some: Sequence[Row], *, parsed: bool = False) -> tuple[int, list[Failure]]:
    """How many trials, and those that went wrong; `parsed` with the grammars of the languages."""
    wrong, trials = [], 0
    for row in some:
        text, _ = cursor(row.drawn)
        context = context_of(row.drawn, row.language, parsed=parsed)
        for said in row.said():
            trials += 1
            result = apply(text, suggested(context, said))
            if result != row.meant:
                wrong.append(Failure(row=row, said=said, result=result))
    return trials, wrong


def tables(*, parsed: bool = False) -> Iterator[str]:
    """In Markdown: how many of each kind come out as meant, and those that do not."""
    everything = rows()
    lines, wrong = [], []
    for kind in dict.fromkeys(row.kind for row in everything):
        some = [row for row in everything if row.kind == kind]
        trials, bad = failures(some, parsed=parsed)
        wrong += bad
        lines.append((kind, str(len(some)), str(trials), f"{1 - len(bad) / trials:.1%}"))
    yield "### Brackets: the document meant comes out\n"
    yield markdown(("kind", "rows", "trials", "as meant"), lines)
    for each in wrong:
        yield f"- {each.row.drawn!r} said {each.said!r}: {each.result!r}"
