"""Where names are defined, what is imported, and which lines of other texts are chosen."""

import pytest

from lsp_completions.pipeline.definitions import definitions_in
from lsp_completions.pipeline.excerpts.choosing import Chosen, choose
from lsp_completions.pipeline.excerpts.index import index_of
from lsp_completions.pipeline.excerpts.query import query_at
from lsp_completions.pipeline.excerpts.ranking import Source
from lsp_completions.pipeline.imports import imports_in
from lsp_completions.pipeline.languages import are_relatives, language_of
from tests.support.cursor import context_of


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        pytest.param(
            "python",
            "LIMIT: int = 3\n\n\nclass A(B):\n"
            "    async def f(\n        self,\n    ):\n        g = 1\n",
            ["LIMIT", "A", "f"],
            id="Python",
        ),
        pytest.param("python", "x.y = 1\na == b\nif x:\n    pass\n", [], id="no definitions"),
        pytest.param(
            "typescript",
            "export default class A {\n  private async go(x: number): Promise<void> {\n"
            "    this.stop(x);\n    each(x, () => {\n    });\n  }\n}\n"
            "export const f = () => 1;\ntype T = string;\ninterface I {\n}\n",
            ["A", "go", "f", "T", "I"],
            id="TypeScript",
        ),
        pytest.param(
            "go",
            "type T struct {\n\tA int\n}\n\nfunc (t *T) Do(x int) error {\n\treturn nil\n}\n\n"
            'const (\n\tOne = iota\n\tTwo\n)\n\nvar ErrX = errors.New("x")\n',
            ["T", "Do", "One", "Two", "ErrX"],
            id="Go",
        ),
        pytest.param(
            "rust",
            "pub(crate) struct A {\n}\nimpl Show for A {\n    pub async fn go(&self) {\n    }\n}\n"
            "pub const X: i32 = 1;\nmacro_rules! m {\n}\n",
            ["A", "A", "go", "X", "m"],
            id="Rust",
        ),
        pytest.param(
            "c",
            "#define MAX(a) (a)\nstruct node {\n  int x;\n};\n"
            "static int add(int a,\n    int b)\n{\n"
            "  return sub(a, b);\n}\nint sub(int a, int b);\n",
            ["MAX", "node", "add", "sub"],
            id="C",
        ),
        pytest.param(
            "java",
            "public final class A<T> {\n    private static final int MAX = 3;\n"
            "    public List<T> all(int x) {\n        return find(x);\n    }\n}\n"
            "record P(int x) {}\n",
            ["A", "MAX", "all", "P"],
            id="Java",
        ),
        pytest.param(
            "ruby",
            "class A < B\n  LIMIT = 3\n  def self.go(x)\n    1\n  end\nend\n",
            ["A", "LIMIT", "go"],
            id="Ruby",
        ),
        pytest.param("lua", "local M = {}\nfunction M.go(a)\nend\n", ["M", "go"], id="Lua"),
        pytest.param(
            "elixir", "defmodule A do\n  def go(x) do\n  end\nend\n", ["A", "go"], id="rest"
        ),
    ],
)
def test_definitions(language: str, text: str, expected: list[str]) -> None:
    found = definitions_in(text, text.split("\n"), language_of(language))
    assert [each.name for each in found] == expected


@pytest.mark.parametrize(
    ("language", "text", "lines"),
    [
        pytest.param(
            "python", "def f(\n    a,\n):\n    return a\n\n\nx\n", (0, 3, 4), id="by indentation"
        ),
        pytest.param("c", "int f(int a)\n{\n  x();\n}\ny\n", (0, 1, 4), id="a brace of its own"),
        pytest.param("ruby", "def f(a)\n  a\nend\nx\n", (0, 1, 3), id="a word that closes"),
        pytest.param("c", "int f(int a);\n  int g;\n", (0, 1, 1), id="a prototype"),
    ],
)
def test_how_far_a_definition_goes(language: str, text: str, lines: tuple[int, int, int]) -> None:
    found = next(definitions_in(text, text.split("\n"), language_of(language)))
    assert (found.start, found.head_end, found.end) == lines


@pytest.mark.parametrize(
    ("path", "text", "names", "file"),
    [
        pytest.param("a/b/m.py", "from ..c.d import E as F\n", ["F"], "a/c/d.py", id="relative"),
        pytest.param(
            "a/b/m.py", "from a.c import (\n  D,  # why\n)\n", ["D"], "a/c.py", id="whole"
        ),
        pytest.param("src/a/m.py", "import a.c as d\n", [], "src/a/c.py", id="below src"),
        pytest.param("a/m.py", "from . import c\n", [], "a/c.py", id="a module of a package"),
        pytest.param("s/m.ts", "import {a as b} from './x.js'\n", ["b"], "s/x.ts", id="compiled"),
        pytest.param(
            "s/m.ts", "import D, {\n  e,\n} from '../y'\n", ["e"], "y/index.ts", id="index"
        ),
        pytest.param("s/m.js", "const { q } = require('./z')\n", ["q"], "s/z.js", id="required"),
        pytest.param("s/m.ts", "export * from '@/all'\n", [], "src/all.ts", id="passed on"),
        pytest.param("x/m.go", 'import (\n\tq "e.org/a/b"\n)\n', [], "b/", id="a Go package"),
        pytest.param(
            "src/x/m.rs", "use crate::a::{b::C, D as E};\n", ["C"], "src/a/b.rs", id="a Rust tree"
        ),
        pytest.param("src/x.rs", "mod deep;\n", [], "src/x/deep.rs", id="a Rust module"),
        pytest.param("src/m.c", '#include "in/b.h"\n', [], "include/in/b.h", id="a header"),
        pytest.param(
            "src/main/java/a/M.java",
            "package a;\nimport a.c.D;\n",
            ["D"],
            "src/main/java/a/c/D.java",
            id="a Java class",
        ),
        pytest.param("lua/m.lua", 'local M = require("a.b")\n', [], "lua/a/b.lua", id="Lua"),
        pytest.param("m.rb", "require_relative 'a/b'\n", [], "a/b.rb", id="Ruby"),
    ],
)
def test_imports(path: str, text: str, names: list[str], file: str) -> None:
    found = imports_in(text, language_of("", path), path)
    fitting = [each for each in found if file in each.paths]
    assert fitting
    if names:
        assert any([here for here, _ in each.names] == names for each in fitting)


def test_nobody_else_s_packages_are_looked_for() -> None:
    assert not imports_in("import React from 'react'\n", language_of("javascript"), "m.js")


def chosen_for(
    drawn: str,
    files: dict[str, str],
    *,
    chars: int = 1256,
    kept: tuple[Chosen, ...] = (),
) -> tuple[Chosen, ...]:
    context = context_of(drawn)
    sources = [
        Source(index=index_of(text, key=path, path=path, language=context.language))
        for path, text in files.items()
    ]
    return choose(query_at(context), sources, chars=chars, kept=kept)


def shown(drawn: str, files: dict[str, str], *, chars: int = 1256) -> str:
    return "\n".join(each.excerpt.text for each in chosen_for(drawn, files, chars=chars))


CLASS = '''\
class Account:
    """Money of somebody."""

    owner: str
    limit: int = 100

    def deposit(self, amount: int) -> None:
        check(amount)
        self.log.append(amount)
        for each in self.watchers:
            each.told(amount)
        self.total += amount
        self.count += 1
        self.when = now()
        self.saved = False
        self.is_new = False

    def close(self) -> None:
        self.owner = ""
'''


@pytest.mark.parametrize(
    ("drawn", "files", "expected"),
    [
        pytest.param(
            "from bank import Account\n\na = <cursor>\n",
            {"bank.py": CLASS},
            [
                "class Account:",
                "    def deposit(self, amount: int) -> None:",
                "    limit: int = 100",
            ],
            id="a class by its outline",
        ),
        pytest.param(
            "def f(a: Account):\n    a.<cursor>\n",
            {"bank.py": CLASS},
            ["    def close(self) -> None:"],
            id="methods of a declared type",
        ),
        pytest.param(
            "account.dep<cursor>\n",
            {"bank.py": CLASS},
            ["    def deposit(self, amount: int) -> None:"],
            id="a method that is being typed",
        ),
        pytest.param(
            "import bank\n\nbank.<cursor>\n",
            {"bank.py": "def open_account(owner):\n    return 1\n"},
            ["def open_account(owner):"],
            id="what a module offers",
        ),
        pytest.param(
            "from bank import fee as charge\n\nx = charge<cursor>\n",
            {"bank.py": "def fee(amount):\n    return 1\n"},
            ["def fee(amount):"],
            id="under another name",
        ),
        pytest.param(
            "total = fees_of(<cursor>\n",
            {"a.py": "def fees_of(\n    account,\n    year,\n):\n    return 1\n"},
            ["def fees_of(", "    account,", "    year,", "):"],
            id="a signature of several lines",
        ),
    ],
)
def test_what_defines_a_name_is_shown(
    drawn: str, files: dict[str, str], expected: list[str]
) -> None:
    lines = shown(drawn, files).split("\n")
    assert [line for line in expected if line not in lines] == []


def test_heads_come_before_bodies() -> None:
    text = "".join(f"def step_{n}(a, b):\n    return {n} * a\n\n\n" for n in range(8))
    lines = shown(
        "from m import *\n\nstep_1, step_6\nx = step_<cursor>\n", {"m.py": text}, chars=260
    )
    assert lines.count("def step_") == 8
    assert lines.count("return") < 8


def test_one_line_is_shown_once() -> None:
    text = "def shared(one, two):\n    return one\n"
    result = shown("x = shared(<cursor>\n", {"a.py": text, "b.py": text})
    assert result.count("def shared(one, two):") == 1


def test_what_fits_no_more_is_left_out() -> None:
    files = {"a.py": f"def long_one({', '.join(f'argument_{n}' for n in range(20))}):\n    pass\n"}
    assert shown("long_one(<cursor>\n", files, chars=200) == ""
    assert shown("long_one(<cursor>\n", files, chars=400) != ""


def test_what_was_chosen_stays_while_it_is_among_the_best() -> None:
    files = {
        "a.py": "def first(one):\n    return one\n",
        "b.py": "def second(two):\n    return two\n",
    }
    before = chosen_for("first(<cursor>\n", files)
    after = chosen_for("first(second(<cursor>\n", files, kept=before)
    assert before
    assert after[: len(before)] == before
    assert [each.key for each in after] == ["a.py", "b.py"]
    # By itself the nearer one would be first.
    anew = chosen_for("first(1)\n\n\n\nsecond(<cursor>\n", files)
    assert anew[0].key == "b.py"


def test_what_changed_does_not_stay() -> None:
    before = chosen_for("first(<cursor>\n", {"a.py": "def first(one):\n    return one\n"})
    after = chosen_for("first(<cursor>\n", {"a.py": "def first(two):\n    return 2\n"}, kept=before)
    assert [each.excerpt.text for each in after] == ["def first(two):\n    return 2"]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("python", "python", True),
        ("typescript", "javascriptreact", True),
        ("c", "cpp", True),
        ("python", "typescript", False),
        ("plaintext", "python", False),
    ],
)
def test_relatives(one: str, other: str, expected: bool) -> None:
    assert are_relatives(language_of(one), language_of(other)) is expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("(" * 50_000, id="brackets"),
        pytest.param("a " * 50_000, id="words"),
        pytest.param("from . import (" + "a, " * 30_000, id="an import without an end"),
        pytest.param("public " * 20_000 + "\n", id="modifiers"),
        pytest.param("\n" * 50_000, id="blank lines"),
        pytest.param("use a::{" * 2_000, id="trees"),
    ],
)
@pytest.mark.parametrize("language", ["python", "typescript", "java", "c", "rust", "go", "lua", ""])
def test_odd_texts_take_no_longer(language: str, text: str) -> None:
    index = index_of(text, key="k", path="a", language=language_of(language))
    assert len(index.pieces) <= len(index.lines) * 2
