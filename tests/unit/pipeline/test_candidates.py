"""What else to offer: different, best first, never more than three in all."""

import pytest

from lsp_completions.cache import Suggestion
from lsp_completions.pipeline.candidates import MOST, ranked
from tests.support.cursor import context_of
from tests.support.grammars import BOTH, NEEDED


def offered(
    drawn: str, shown: str, *others: str | Suggestion, language: str = "python", parsed: bool
) -> list[str]:
    """The first, and what is offered beside it."""
    found = ranked(
        Suggestion(text=shown),
        [Suggestion(text=each) if isinstance(each, str) else each for each in others],
        context_of(drawn, language, parsed=parsed),
    )
    return [shown, *(each.text for each in found)]


@BOTH
@pytest.mark.parametrize(
    ("shown", "others", "offers"),
    [
        pytest.param("a", ["b", "c"], ["a", "b", "c"], id="as they came"),
        pytest.param("a", ["a", "b", "b"], ["a", "b"], id="each once"),
        pytest.param("a + b", ["a+b", "a  + b\n", "c"], ["a + b", "c"], id="white space alone"),
        pytest.param("a", ["", " \n"], ["a"], id="nothing"),
        pytest.param("a", ["b", "c", "d", "e"], ["a", "b", "c"], id="three at most"),
        pytest.param("a", ["f(b", "c"], ["a", "c", "f(b"], id="no open bracket first"),
        pytest.param("f(", ["b"], ["f(", "b"], id="what is shown stays first"),
        pytest.param(
            "a",
            [Suggestion(text="b", complete=False), "c"],
            ["a", "c", "b"],
            id="what was said to its end first",
        ),
    ],
)
def test_offers(
    shown: str, others: list[str | Suggestion], offers: list[str], parsed: bool
) -> None:
    assert offered("x = <cursor>\n", shown, *others, parsed=parsed) == offers
    assert len(offers) <= MOST


@NEEDED
@pytest.mark.parametrize(
    ("language", "drawn", "others"),
    [
        pytest.param("python", "x = <cursor>\n", ["a b", "a.b"], id="two names"),
        pytest.param(
            "go", "func f() {\n\t<cursor>\n}\n", ["a := := 1", "a := 1"], id="an operator"
        ),
        pytest.param(
            "javascript", "<cursor>\n", ["if (a) {\n  b c\n}", "if (a) {\n  b()\n}"], id="a block"
        ),
    ],
)
def test_what_goes_with_the_grammar_comes_first(
    language: str, drawn: str, others: list[str]
) -> None:
    found = offered(drawn, "z", *others, language=language, parsed=True)
    assert found == ["z", *reversed(others)]
    by_brackets = offered(drawn, "z", *others, language=language, parsed=False)
    assert by_brackets == ["z", *others], "no grammar is needed for this row"
