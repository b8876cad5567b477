"""What is open where: brackets, strings, comments, and how a suggestion goes with them."""

from time import process_time

import pytest

from lsp_completions.pipeline.balance import imbalance, statement_width
from lsp_completions.pipeline.brackets import code_of, scan
from lsp_completions.pipeline.languages import language_of
from tests.support.cursor import context_of

STACKS = [
    pytest.param("python", "f(a[1], {", "({", id="brackets"),
    pytest.param("python", "f(a) + g(", "(", id="what is closed is gone"),
    pytest.param("python", 'f(")")', "", id="a bracket in a string"),
    pytest.param("python", "f(')', '", "('", id="inside a string"),
    pytest.param("python", r"'it\'s", "'", id="an escaped quote"),
    pytest.param("python", r"'\\' + (", "(", id="an escaped backslash"),
    pytest.param("python", "x = 'open\ny(", "(", id="a string ends with its line"),
    pytest.param("python", '"""a\n(b', '"""', id="a string of several lines"),
    pytest.param("python", '"""a"""(', "(", id="a string of three quotes and its end"),
    pytest.param("python", "x # don't (\n[", "[", id="a comment ends with its line"),
    pytest.param("python", "x = '#' + (", "(", id="a comment mark in a string"),
    pytest.param("typescript", "a /* ( \n */ [", "[", id="a comment of several lines"),
    pytest.param("typescript", "a /* (", "/*", id="inside such a comment"),
    pytest.param("typescript", "x = `a\n${b", "`", id="a template of several lines"),
    pytest.param("typescript", "get('http://x', (", "((", id="slashes in an address"),
    pytest.param("rust", "fn f<'a>(x: &'a str", "(", id="a lifetime is no string"),
    pytest.param("lisp", "(list 'a `(b", "((", id="quoted lists are no strings"),
    pytest.param("lua", "f( --[[ ( ]] [", "([", id="a long comment"),
    pytest.param("typescript", 'a = /[("]/.test(b) + [', "[", id="a pattern"),
    pytest.param("typescript", "a = b / c + (d / e", "(", id="divisions"),
    pytest.param("typescript", "f(/\\/(/, [", "([", id="a slash in a pattern"),
    pytest.param("perl", "$a =~ s{b}{c}; (", "(", id="a pattern in brackets"),
    pytest.param("perl", "$a =~ s/(/{/g; [", "[", id="a pattern and what it gives way to"),
    pytest.param("perl", "if ($a =~ m#'# && (", "((", id="a pattern between other signs"),
    pytest.param("perl", "$h{s} / 2 + ('", "('", id="a key and a division"),
    pytest.param("python", "a /= b * (c / d", "(", id="no patterns there"),
    pytest.param("sql", "SELECT 'it''s' (", "(", id="a doubled quote"),
]


@pytest.mark.parametrize(("language", "text", "stack"), STACKS)
def test_what_is_open(language: str, text: str, stack: str) -> None:
    assert "".join(scan(text, language_of(language)).stack) == stack


@pytest.mark.parametrize(("language", "text", "stack"), STACKS)
def test_the_same_in_two_pieces(language: str, text: str, stack: str) -> None:
    lines = text.splitlines(keepends=True)
    inside: tuple[str, ...] = ()
    for line in lines:
        inside = scan(line, language_of(language), inside).stack
    assert "".join(inside) == stack


@pytest.mark.parametrize(
    ("inside", "text", "closers"),
    [
        pytest.param("(", "a)", ")", id="one"),
        pytest.param("([", "a] + b)", "])", id="two with something between"),
        pytest.param("(", "f(a))", ")", id="its own is not counted"),
        pytest.param('("', 'a")', '")', id="a quote and a bracket"),
        pytest.param("(", "a]", "", id="one that fits nothing"),
        pytest.param("", "a)", ")", id="one whose opener is not known"),
        pytest.param('"', "a) b", "", id="brackets inside the string"),
    ],
)
def test_what_is_closed(inside: str, text: str, closers: str) -> None:
    found = scan(text, language_of("typescript"), tuple(inside))
    assert "".join(mark for _, mark in found.closings) == closers


@pytest.mark.parametrize(
    ("line", "code"),
    [
        pytest.param("x = 1  # one", "x = 1", id="a comment"),
        pytest.param("x = '#'  ", "x = '#'", id="a comment mark in a string"),
        pytest.param("# all", "", id="nothing but a comment"),
    ],
)
def test_code_of_a_line(line: str, code: str) -> None:
    assert code_of(line, language_of("python")) == code


@pytest.mark.parametrize(
    ("drawn", "better", "worse"),
    [
        pytest.param("f(<cursor>)\n", "g(x)", "g(x", id="brackets"),
        pytest.param("f('<cursor>')\n", "x", "x'", id="quotes"),
        pytest.param("f({\n  <cursor>\n})\n", "a: 1", "a: 1 })", id="brackets below"),
        pytest.param("g(<cursor>\n", "x)", "x))", id="one too many"),
    ],
)
def test_the_balanced_text_is_better(drawn: str, better: str, worse: str) -> None:
    context = context_of(drawn, "typescript")
    assert imbalance(better, 0, context) < imbalance(worse, 0, context)


@pytest.mark.parametrize(
    ("drawn", "width"),
    [
        pytest.param("    f(a):<cursor>", 4, id="one line"),
        pytest.param("def f(a,\n      b):<cursor>", 0, id="begun on the line above"),
        pytest.param("  if a and \\\n      b:<cursor>", 2, id="continued with a backslash"),
        pytest.param("f(\n    a,\n    b<cursor>", 4, id="not closed yet"),
    ],
)
def test_where_a_statement_begins(drawn: str, width: int) -> None:
    assert statement_width(context_of(drawn, "python")) == width


@pytest.mark.parametrize("unit", ["(,", '{"', "[a\n", "(# a\n"])
def test_what_is_open_costs_the_next_bracket_nothing(unit: str) -> None:
    def least(count: int) -> float:
        taken = []
        for _ in range(5):
            began = process_time()
            scan(unit * count, language_of("python"))
            taken.append(process_time() - began)
        return min(taken)

    assert least(16_000) < 10 * least(4_000)  # four times as long; sixteen if it did
