import pytest

from lsp_completions.pipeline.asking import why_not_ask
from lsp_completions.pipeline.context import Windows, context_at
from lsp_completions.pipeline.document import Document
from tests.support.cursor import cursor


def why(drawn: str, language: str, **places: bool) -> str | None:
    text, offset = cursor(drawn)
    document = Document.open("file:///w/x", language, 1, text)
    windows = Windows(prefix_chars=4300, suffix_chars=716)
    reason = why_not_ask(context_at(document, offset, path="x", windows=windows), **places)
    return None if reason is None else reason.name


@pytest.mark.parametrize(
    ("drawn", "language"),
    [
        pytest.param("ca<cursor>ll()", "python", id="a name"),
        pytest.param("é<cursor>té = 1", "python", id="accents"),
        pytest.param("cafe<cursor>\u0301 = 1", "python", id="before an accent of its own"),
        pytest.param("中<cursor>文", "python", id="Chinese"),
        pytest.param("Stra<cursor>ße", "java", id="German"),
        pytest.param("हिन<cursor>्दी", "python", id="Hindi"),
        pytest.param("a<cursor>_b", "python", id="underscores"),
        pytest.param("x = '👩<cursor>\u200d💻'", "python", id="an emoji made of two"),
    ],
)
def test_inside_a_word_nobody_is_asked(drawn: str, language: str) -> None:
    assert why(drawn, language) == "INSIDE_WORD"


@pytest.mark.parametrize(
    ("drawn", "language"),
    [
        pytest.param("x = 1;<cursor>\n", "c", id="a semicolon"),
        pytest.param('println!("{}", x);<cursor>\n', "rust", id="after braces in a string"),
        pytest.param("const été = 1;<cursor>\n", "javascript", id="accents"),
        pytest.param('char *s = "中😀";<cursor>\n', "c", id="other scripts in a string"),
        pytest.param("a {\n  color: red;<cursor>\n}\n", "css", id="a style"),
        pytest.param("SELECT 1;<cursor>\n", "sql", id="a query"),
        pytest.param("if x {\n\ty()\n}<cursor>\n", "go", id="a block"),
        pytest.param("fn f() {\n    g(|| {\n        h();\n    });<cursor>\n", "rust", id="closers"),
        pytest.param("const f = () => {\n};<cursor>\n", "javascript", id="a function"),
        pytest.param("f() {\n  g\n}<cursor>\n", "shellscript", id="a shell's function"),
    ],
)
def test_after_the_end_of_a_statement_nobody_is_asked(drawn: str, language: str) -> None:
    assert why(drawn, language) == "STATEMENT_ENDED"


@pytest.mark.parametrize(
    ("drawn", "language"),
    [
        # Before what an editor has closed
        pytest.param("print(<cursor>)", "python", id="before a parenthesis"),
        pytest.param("print(a[<cursor>])", "python", id="before two brackets"),
        pytest.param('x = "<cursor>"', "python", id="before a quote"),
        pytest.param("f(<cursor>);", "c", id="before a parenthesis and a semicolon"),
        pytest.param("x = {<cursor>}", "javascript", id="before a brace"),
        pytest.param("x = '<cursor>😀'", "python", id="before an emoji"),
        pytest.param("foo<cursor>$bar", "php", id="before a sign"),
        # Semicolons that end nothing
        pytest.param("for (i = 0;<cursor>)", "c", id="in the head of a loop"),
        pytest.param("for (let i = 0; i < n;<cursor>", "javascript", id="in one that is open"),
        pytest.param("fn f() { a();<cursor>", "rust", id="in a block on the line"),
        pytest.param("case 1: x();<cursor>\n", "c", id="in a case"),
        pytest.param("int x; <cursor>\n", "c", id="after a space"),
        pytest.param("import a;<cursor>", "python", id="Python joins with it"),
        pytest.param("a; b;<cursor>", "shellscript", id="a shell joins with it"),
        pytest.param("def f; 1;<cursor>", "ruby", id="Ruby joins with it"),
        pytest.param("[1; 2;<cursor>]", "ocaml", id="OCaml separates with it"),
        pytest.param("x = [1, 2; 3;<cursor>", "matlab", id="rows of a matrix"),
        pytest.param("&amp;<cursor>", "html", id="the end of a character's name"),
        pytest.param("one; two;<cursor>\n", "markdown", id="prose"),
        pytest.param("let x = 1;<cursor> // note\n", "javascript", id="before a comment"),
        # Braces that end nothing
        pytest.param("x = f'{a}<cursor>'", "python", id="an f-string"),
        pytest.param("x = f'{a}<cursor>", "python", id="an open f-string"),
        pytest.param("x = `${a}<cursor>", "javascript", id="a template"),
        pytest.param('x = "#{a}<cursor>"', "ruby", id="Ruby's string"),
        pytest.param('"${x}<cursor>"', "kotlin", id="Kotlin's string"),
        pytest.param("<div style={a}<cursor>", "javascriptreact", id="an attribute in JSX"),
        pytest.param("<p>{name}<cursor>\n", "typescriptreact", id="text in JSX"),
        pytest.param("    Some(x) => { y }<cursor>\n", "rust", id="an arm of a match"),
        pytest.param("use a::{b, c}<cursor>", "rust", id="names in use"),
        pytest.param("x := T{}<cursor>\n", "go", id="a value in Go"),
        pytest.param("arr = new int[]{1}<cursor>", "java", id="a list in Java"),
        pytest.param("x = {'a': 1}<cursor>\n", "python", id="a dict"),
        pytest.param("a = {}<cursor>", "lua", id="a table"),
        pytest.param("import { a }<cursor>", "javascript", id="names to import"),
        pytest.param("import {\n  a,\n}<cursor>\n", "typescript", id="names on lines"),
        pytest.param("try { x() }<cursor>", "java", id="before a catch"),
        pytest.param("} <cursor>\n", "c", id="a space after a brace"),
        pytest.param("list.map { x }<cursor>", "kotlin", id="a chain"),
        pytest.param("echo ${x}<cursor>\n", "shellscript", id="a shell's variable"),
        pytest.param("x=${HOME}<cursor>", "makefile", id="a make's variable"),
        pytest.param("key: {{ .Values.x }}<cursor>\n", "yaml", id="a template in YAML"),
        pytest.param("\\frac{a}{b}<cursor>", "latex", id="LaTeX"),
        pytest.param("see {this}<cursor>\n", "markdown", id="braces in prose"),
        pytest.param('{"a": {}<cursor>}', "json", id="JSON"),
        pytest.param("$x{$y}<cursor>", "perl", id="Perl"),
        # Words
        pytest.param("// done;<cursor>\n", "c", id="the end of a comment"),
        pytest.param("/// x }<cursor>", "rust", id="a doc comment"),
        pytest.param("/* a;<cursor>\n*/", "c", id="a block comment"),
        pytest.param("#!/bin/sh;<cursor>", "shellscript", id="a shebang"),
        pytest.param("x = r'a;<cursor>'", "python", id="a raw string"),
        pytest.param('"""\na;<cursor>\n"""', "python", id="three quotes"),
        pytest.param('s = "a;<cursor>', "c", id="an open string"),
        pytest.param("let s = 'a}<cursor>'", "javascript", id="a brace in a string"),
    ],
)
def test_wherever_something_may_be_missing_a_model_is_asked(drawn: str, language: str) -> None:
    assert why(drawn, language) is None


@pytest.mark.parametrize(
    ("drawn", "language", "expected"),
    [
        pytest.param("x = 1  # no<cursor>\n", "python", "IN_COMMENT", id="after code"),
        pytest.param("/* no<cursor>\n*/", "c", "IN_COMMENT", id="a block comment"),
        pytest.param("/// no<cursor>", "rust", "IN_COMMENT", id="a doc comment"),
        pytest.param("<!-- é<cursor> -->", "html", "IN_COMMENT", id="markup"),
        pytest.param("x = 'no<cursor>'", "python", "IN_STRING", id="a string"),
        pytest.param('"""\nno 中<cursor>\n"""', "python", "IN_STRING", id="three quotes"),
        pytest.param("x = `no<cursor>`", "javascript", "IN_STRING", id="a template"),
        pytest.param("x = 1  # no\ny = <cursor>", "python", None, id="below a comment"),
        pytest.param("x = 'no'<cursor>", "python", None, id="after a string"),
        pytest.param("url = 'http://x' + <cursor>", "javascript", None, id="slashes in a string"),
    ],
)
def test_comments_and_strings_where_they_are_off(
    drawn: str, language: str, expected: str | None
) -> None:
    assert why(drawn, language, in_comments=False, in_strings=False) == expected
    assert why(drawn, language) is None
