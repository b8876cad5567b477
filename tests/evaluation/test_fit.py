"""Suggestions that fit, on the code written for it: a small part of `overrun`, all of `brackets`.

The floors are slightly below what is measured. `README.md` has the whole tables.
"""

import pytest

from tests.evaluation import brackets
from tests.evaluation.corpora import own_code
from tests.evaluation.holes import BLOCKS, LINES, holes_in
from tests.evaluation.overrun import ALONE, NOISES, Tallies, counted, shown, trials
from tests.support.cursor import apply, context_of
from tests.support.grammars import NEEDED
from tests.support.pipeline import suggested


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(False, id="by brackets and indentation"),
        pytest.param(True, id="with grammars", marks=NEEDED),
    ],
)
def tallies(request: pytest.FixtureRequest) -> Tallies:
    parsed = bool(request.param)
    return counted(trials(holes_in(own_code(), each=1 if parsed else 3), parsed=parsed))


@pytest.mark.parametrize(
    ("kinds", "floor"),
    [pytest.param(LINES, 0.995, id="lines"), pytest.param(BLOCKS, 0.995, id="blocks")],
)
def test_the_true_text_alone_comes_out_untouched(
    tallies: Tallies, kinds: tuple[str, ...], floor: float
) -> None:
    assert tallies.of(kinds, noises=(ALONE,)).share >= floor


@pytest.mark.parametrize(
    ("kinds", "floor"),
    [pytest.param(LINES, 0.99, id="lines"), pytest.param(BLOCKS, 0.99, id="blocks")],
)
def test_only_the_true_text_comes_out(
    tallies: Tallies, kinds: tuple[str, ...], floor: float
) -> None:
    assert tallies.of(kinds).share >= floor


@pytest.mark.parametrize("kind", dict.fromkeys(row.kind for row in brackets.rows()))
def test_closers_behind_the_cursor_stand_once(kind: str) -> None:
    trials, wrong = brackets.failures([row for row in brackets.rows() if row.kind == kind])
    assert trials
    assert wrong == []


def test_the_code_has_many_languages_and_all_kinds_of_holes() -> None:
    sources = own_code()
    assert len({source.language for source in sources}) >= 15
    holes = holes_in(sources, each=3)
    assert {hole.kind for hole in holes} == {*LINES, *BLOCKS}
    assert holes == holes_in(own_code(), each=3)
    for hole in holes:
        assert any(hole.before + hole.text + hole.after == source.text for source in sources)


def test_what_went_wrong_can_be_looked_at() -> None:
    (hole, *_) = holes_in(own_code(), each=1)
    (trial,) = trials([hole], [ALONE])
    assert trial.exact
    assert hole.text[:10] in shown(trial)
    assert len(NOISES) > 8


@NEEDED
def test_a_header_is_at_its_end_where_a_blank_line_follows() -> None:
    (text,) = (source.text for source in own_code() if source.name == "Mailbox.cs")
    before, header, after = text.partition("public void Dispose()")
    context = context_of(f"{before}<cursor>{after}", "csharp", parsed=True)
    edit = suggested(context, f"{header}\n\nnamespace Post.Office\n")
    assert apply(before + after, edit) == text
