"""One line, a statement, or a block."""

import pytest

from lsp_completions.pipeline.trigger import Mode, becomes_block, mode_for
from tests.support.cursor import context_of

MODES = [
    pytest.param("python", "def f():\n    <cursor>\n\nx = 1\n", Mode.BLOCK, id="a new body"),
    pytest.param("python", "def f():<cursor>\n\nx = 1\n", Mode.BLOCK, id="after its header"),
    pytest.param("python", "def f():  # why\n    <cursor>\nx\n", Mode.BLOCK, id="after a comment"),
    pytest.param(
        "python", "def f(a,\n      b):<cursor>\nx\n", Mode.BLOCK, id="two lines of header"
    ),
    pytest.param("python", "def f():\n    <cursor>\n    g()\n", Mode.STATEMENT, id="with a body"),
    pytest.param("python", "a = 1\n<cursor>\nb = 2\n", Mode.STATEMENT, id="between statements"),
    pytest.param("python", "a = 1\n<cursor>\n\n", Mode.BLOCK, id="at the end of the document"),
    pytest.param("python", "a = <cursor>\n", Mode.STATEMENT, id="in a statement"),
    pytest.param("python", "f(<cursor>\n", Mode.STATEMENT, id="in a call"),
    pytest.param("python", "f(<cursor>)\n", Mode.STATEMENT, id="between brackets"),
    pytest.param("python", "a = <cursor> + b\n", Mode.LINE, id="words follow"),
    pytest.param("python", "a = <cursor> + é\n", Mode.LINE, id="words of any script follow"),
    pytest.param("typescript", "if (a) {<cursor>}\n", Mode.BLOCK, id="between braces"),
    pytest.param("typescript", "f(() => {<cursor>})\n", Mode.BLOCK, id="between braces in a call"),
    pytest.param("ruby", "def f\n  <cursor>\nend\n", Mode.BLOCK, id="a method"),
    pytest.param("ruby", "a.each do\n  <cursor>\nend\n", Mode.BLOCK, id="a block after do"),
    pytest.param("lua", "if a then<cursor>\nend\n", Mode.BLOCK, id="after then"),
    pytest.param("lua", "if a then b() end\n<cursor>\nc()\n", Mode.STATEMENT, id="closed at once"),
    pytest.param("html", "<ul>\n  <cursor>\n</ul>\n", Mode.BLOCK, id="after an opening tag"),
    pytest.param("html", "<br>\n<cursor>\n<p>\n", Mode.STATEMENT, id="after an empty tag"),
    pytest.param("markdown", "# A\n\n<cursor>\n\n# B\n", Mode.LINE, id="prose"),
]


@pytest.mark.parametrize(("language", "drawn", "mode"), MODES)
def test_mode(language: str, drawn: str, mode: Mode) -> None:
    assert mode_for(context_of(drawn, language), "auto") is mode


@pytest.mark.parametrize(("language", "drawn", "mode"), MODES)
def test_settings_decide(language: str, drawn: str, mode: Mode) -> None:
    context = context_of(drawn, language)
    assert mode_for(context, "never") is Mode.LINE
    words_follow = any(character.isalnum() for character in context.line_suffix)
    assert mode_for(context, "always") is (Mode.LINE if words_follow else Mode.BLOCK)


@pytest.mark.parametrize(
    ("drawn", "first_line", "expected"),
    [
        pytest.param("<cursor>\nx\n", "def f():", True, id="a header"),
        pytest.param("<cursor>\nx\n", "y = [", True, id="a list"),
        pytest.param("<cursor>\nx\n", "y = f(1,", True, id="an argument list"),
        pytest.param("<cursor>\nx\n", "y = 1", False, id="a statement"),
        pytest.param("<cursor>\n    x\n", "def f():", False, id="the body is there"),
        pytest.param("f(<cursor>)\n", "", True, id="a new line after a bracket"),
        pytest.param("x = 1<cursor>\n", "", False, id="a new line after a statement"),
        pytest.param('"""<cursor>\n', "Say.", True, id="a string"),
        pytest.param('"""<cursor>"""\n', "Say.", False, id="a string whose end is there"),
    ],
)
def test_the_first_line_decides_again(drawn: str, first_line: str, expected: bool) -> None:
    assert becomes_block(context_of(drawn, "python"), first_line) is expected
