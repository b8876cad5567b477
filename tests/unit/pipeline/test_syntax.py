"""What a grammar makes of the text around the cursor."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lsp_completions.pipeline.asking import why_not_ask
from lsp_completions.pipeline.edit import edit_for
from lsp_completions.pipeline.grammar import Grammar, tree_of
from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.pipeline.syntax import Kind, get_ready, is_unfinished, kind_at, misfit
from tests.support.cursor import apply, context_of, cursor
from tests.support.grammars import BOTH, NEEDED, grammar_of
from tests.support.pipeline import accepted, suggested

ABOVE = "".join(f"name_{n} = {n}\n" for n in range(400))  # more than the window holds
FUNCTIONS = "".join(
    f"def g_{n}(a):\n" + "    if a:\n        print(a)\n" * 12 + "    return a\n" for n in range(20)
)


@NEEDED
@pytest.mark.parametrize(
    ("language", "drawn", "kind"),
    [
        pytest.param("python", "x = 1 <cursor>", Kind.CODE, id="code"),
        pytest.param("python", 'x = "a <cursor>', Kind.STRING, id="a string not closed yet"),
        pytest.param("python", 'x = "a <cursor>"', Kind.STRING, id="a string closed already"),
        pytest.param(
            "python", 'x = f"a {b} c<cursor>', Kind.STRING, id="a string after code in it"
        ),
        pytest.param("python", "x = 1  # it is (<cursor>", Kind.COMMENT, id="a comment"),
        pytest.param(
            "python", 'def f():\n    """Say\n    so <cursor>', Kind.STRING, id="several lines"
        ),
        pytest.param("python", 'x = "a"; y<cursor>', Kind.CODE, id="after a string"),
        pytest.param("jsx", "a(`b ${c<cursor>", Kind.CODE, id="code in a template"),
        pytest.param("jsx", "a(`b\n c<cursor>", Kind.STRING, id="a template"),
        pytest.param("jsx", "/* a\n it's <cursor>", Kind.COMMENT, id="a block comment"),
        pytest.param("jsx", "/* a */ b<cursor>", Kind.CODE, id="after a block comment"),
        pytest.param("jsx", "x = <p>Don't <cursor></p>", Kind.CODE, id="words between tags"),
        pytest.param("html", "<p>Don't <cursor></p>", Kind.CODE, id="words in HTML"),
        pytest.param("html", "<!-- a <cursor>", Kind.COMMENT, id="a comment in HTML"),
        pytest.param("shellscript", "echo ${#a}<cursor>", Kind.CODE, id="no comment in a shell"),
    ],
)
def test_what_the_cursor_stands_in(language: str, drawn: str, kind: Kind) -> None:
    assert kind_at(context_of(drawn, language, parsed=True)) is kind


@NEEDED
@pytest.mark.parametrize(
    ("above", "kind"),
    [
        pytest.param('"""Says\n' + "so, isn't it.\n" * 320 + '"""\n', Kind.CODE, id="below"),
        pytest.param(ABOVE, Kind.CODE, id="in code"),
    ],
)
def test_a_window_may_begin_inside_a_string(above: str, kind: Kind) -> None:
    context = context_of(f"{above}x = f(<cursor>", parsed=True)
    assert not context.starts_at_top
    assert kind_at(context) is kind


def test_without_a_grammar_nothing_is_known() -> None:
    context = context_of("x = 1  # a<cursor>")
    assert kind_at(context) is None
    assert misfit("))", 0, context) == misfit("", 0, context)


@BOTH
@pytest.mark.parametrize(
    ("drawn", "reason"),
    [
        pytest.param("x = 1  # a (b<cursor>", SkipReason.IN_COMMENT, id="bracket in a comment"),
        pytest.param('x = "a<cursor>"', SkipReason.IN_STRING, id="string"),
        pytest.param("x = f(<cursor>", None, id="code"),
    ],
)
def test_strings_and_comments_are_left_alone(
    drawn: str, reason: SkipReason | None, parsed: bool
) -> None:
    context = context_of(drawn, parsed=parsed)
    assert why_not_ask(context, in_comments=False, in_strings=False) is reason
    assert why_not_ask(context) is None


@BOTH
@pytest.mark.parametrize(
    ("language", "drawn", "text", "result"),
    [
        pytest.param("python", "print(<cursor>)\n", "a)", "print(a)\n", id="a closer"),
        pytest.param(
            "go", "func f(<cursor>)\n", "a int) error {", "func f(a int) error {\n", id="more"
        ),
        pytest.param("typescript", "if (<cursor>) {\n}\n", "a) {", "if (a) {\n}\n", id="an opener"),
        pytest.param(
            "typescript",
            "for (; <cursor>)\n",
            "i++) {",
            "for (; i++) {\n",
            id="what is wrong in any case",
        ),
        pytest.param(
            "python",
            "g = f([(1, 2), <cursor>)])\ng.h()\n",
            "(3, 4)]",
            "g = f([(1, 2), (3, 4)])\ng.h()\n",
            id="a closer that is there already",
        ),
    ],
)
def test_what_follows_stands_once(
    language: str, drawn: str, text: str, result: str, parsed: bool
) -> None:
    edit = edit_for(text, context_of(drawn, language, parsed=parsed))
    assert apply(cursor(drawn)[0], edit) == result


@NEEDED
@pytest.mark.parametrize(
    ("language", "drawn", "text", "result"),
    [
        pytest.param(
            "javascript",
            "import util<cursor> from './a.js';\n",
            "s f",
            "import utils from './a.js';\n",
            id="half a word that follows",
        ),
        pytest.param(
            "lua",
            "f = function(...)\n  return a, <cursor>.\nend\n",
            "..",
            "f = function(...)\n  return a, ...\nend\n",
            id="a sign that is longer",
        ),
    ],
)
def test_a_grammar_tells_what_is_said_twice(
    language: str, drawn: str, text: str, result: str
) -> None:
    context = context_of(drawn, language, parsed=True)
    assert apply(cursor(drawn)[0], edit_for(text, context)) == result
    without = edit_for(text, replace(context, grammar=None))
    assert apply(cursor(drawn)[0], without) != result, "no grammar is needed for this row"


@NEEDED
@pytest.mark.parametrize(
    ("language", "drawn", "said", "result"),
    [
        pytest.param(
            "python",
            "def f():\n    <cursor>\n    return x\n",
            "x = 1 + \\\n        2\n    y = 3\n",
            "def f():\n    x = 1 + \\\n        2\n    return x\n",
            id="a backslash, which the rules know",
        ),
        pytest.param(
            "java",
            "class A {\n  void f() {\n    <cursor>\n    b();\n  }\n}\n",
            "Gson gson =\n        new Gson()\n            .a();\n    c();\n",
            "class A {\n  void f() {\n    Gson gson =\n        new Gson()\n            .a();\n"
            "    b();\n  }\n}\n",
            id="a value on the next line",
        ),
        pytest.param(
            "java",
            "class A {\n  void f() {\n    <cursor>\n    b();\n  }\n}\n",
            "var e =\n        assertThrows(\n            A.class,\n            b);\n    c();\n",
            "class A {\n  void f() {\n    var e =\n        assertThrows(\n            A.class,\n"
            "            b);\n    b();\n  }\n}\n",
            id="a value with brackets on the next lines",
        ),
        pytest.param(
            "go",
            "func f() {\n\t<cursor>\n\tb()\n}\n",
            "r := a().\n\t\tB().\n\t\tC()\n\td()\n",
            "func f() {\n\tr := a().\n\t\tB().\n\t\tC()\n\tb()\n}\n",
            id="a chain of calls",
        ),
        pytest.param(
            "javascript",
            "f();\n<cursor>\ng();\n",
            "const a = b &&\n  c;\nd();\n",
            "f();\nconst a = b &&\n  c;\ng();\n",
            id="an operator",
        ),
        pytest.param(
            "shellscript",
            "f\n<cursor>\ng\n",
            "a |\n  sort >b\nc\n",
            "f\na |\n  sort >b\ng\n",
            id="a pipe",
        ),
    ],
)
def test_a_statement_is_not_cut_in_its_middle(
    language: str, drawn: str, said: str, result: str
) -> None:
    assert accepted(drawn, said, language, parsed=True) == result


@BOTH
@pytest.mark.parametrize(
    ("language", "drawn", "said", "result"),
    [
        pytest.param(
            "javascript", "a = <cursor>\n  + c;\n", "b\n  + c;\n", "a = b\n  + c;\n", id="goes on"
        ),
        pytest.param("javascript", "<cursor>\ng();\n", "f();\nh();\n", "f();\ng();\n", id="whole"),
        pytest.param(
            "go",
            "func f() {\n\t<cursor>\n\tb()\n}\n",
            "a := (\nb\nc\n",
            "func f() {\n\ta := (\n\tb()\n}\n",
            id="without an end",
        ),
    ],
)
def test_what_is_at_its_end_goes_on_nowhere(
    language: str, drawn: str, said: str, result: str, parsed: bool
) -> None:
    assert accepted(drawn, said, language, parsed=parsed) == result


@NEEDED
@settings(max_examples=100, deadline=None)
@given(
    before=st.text(max_size=200),
    text=st.text(max_size=40),
    after=st.text(max_size=60),
    language=st.sampled_from(["python", "typescript", "rust", "html", "php", "shellscript"]),
)
def test_any_text_is_answered(before: str, text: str, after: str, language: str) -> None:
    drawn = f"{before}<cursor>{after}"
    if drawn.count("<cursor>") > 1:
        return
    context = context_of(drawn, language, parsed=True)
    kind_at(context)
    assert misfit(text, 0, context) >= 0
    edit = edit_for(text, context)
    assert edit is None or edit.start == context.offset
    assert suggested(context, text) == suggested(context, text, piecewise=True)


@NEEDED
@pytest.mark.parametrize(
    ("above", "begins"),
    [
        pytest.param("", "def f", id="a short text"),
        pytest.param(ABOVE, "name_", id="windows that are full"),
        pytest.param(FUNCTIONS, "def g_", id="where the outermost begins, and not inside it"),
    ],
)
def test_the_first_line_waits_for_one_look_at_what_is_near(above: str, begins: str) -> None:
    looked_at: list[str] = []

    class Counting:
        def __init__(self) -> None:
            self._parser = grammar_of("python").make_parser()

        def parse(self, read: Callable[[int, object], bytes], **more: object) -> object:
            looked_at.append(bytes(read(0, None)).decode())
            return self._parser.parse(read, **more)  # type: ignore[call-overload]

    counting = Grammar(name="python", make_parser=Counting)  # type: ignore[arg-type]
    drawn = f"{above}def f(a):\n    b = <cursor>\n    return b\n{ABOVE}"
    context = replace(context_of(drawn), grammar=counting)
    tree_of.cache_clear()
    get_ready(context)
    assert len(looked_at) == bool(above)
    looked_at.clear()
    assert not is_unfinished("a + 1", context)
    assert is_unfinished("a +", context)
    assert len(looked_at) == 2
    assert all(text.startswith(begins) and len(text) < 3500 for text in looked_at)
