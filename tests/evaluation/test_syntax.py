"""What grammars add, on the code written for it. `README.md` has the whole tables."""

import pytest

from tests.evaluation.corpora import own_code
from tests.evaluation.syntax import milliseconds, places, statements, tables, total
from tests.support.grammars import NEEDED

pytestmark = NEEDED


def test_more_statements_of_several_lines_come_whole() -> None:
    figures = total(statements(own_code(), each=8))
    assert figures.trials > 5
    assert figures.parsed > figures.without
    assert figures.parsed >= 0.9 * figures.trials


def test_strings_and_comments_are_told_apart_no_worse() -> None:
    figures = total(places(own_code(), each=15))
    assert figures.trials > 50
    assert figures.parsed >= figures.without
    assert figures.parsed >= 0.97 * figures.trials


@pytest.mark.parametrize("what", [milliseconds, tables])
def test_they_are_drawn(what: object) -> None:
    assert callable(what)
    assert list(what(own_code()[:2]))
