"""There when the eye arrives, without a flood of requests: a small part of the typing replay.

All times are virtual, so they are exact on any machine.
"""

from itertools import islice, pairwise

import pytest

from tests.evaluation.editors import EDITORS
from tests.evaluation.edits import Sitting, drawing, drawn, real, written
from tests.evaluation.fitting import fitting, tokens_of
from tests.evaluation.habits import Habit, Takes
from tests.evaluation.hands import Hands
from tests.evaluation.keys import keys_of
from tests.evaluation.oracle import Model, Oracle
from tests.evaluation.real import typed_for_real
from tests.evaluation.replay import (
    POLICIES,
    SERVER,
    Typed,
    replayed,
    typed,
)
from tests.evaluation.tables import SETTINGS, table

GAP = 0.09
STEADY = Hands(gaps=(GAP, GAP), thinks=False)
WORD = drawn(
    "word",
    "python",
    "import shop\n\n\ndef bill(items, rate):\n    total = «calculate_total(items, rate)\n"
    "    print(total)\n    return round(total, 2)»\n",
)
KEYS_OF_THE_WORD = len("calculate_total(")


def fitting_moments(one: Typed) -> list[tuple[float, bool]]:
    """When something changed, and whether fitting text was on the screen then."""
    return [(moment.at, fitting(moment.shown, moment.left)) for moment in one.seen.moments]


def first_fitting(one: Typed) -> float:
    return next(at for at, fits in fitting_moments(one) if fits)


def test_a_word_of_sixteen_keys_takes_few_requests() -> None:
    one = typed(WORD, hands=STEADY, most_keys=KEYS_OF_THE_WORD)
    assert one.oracle.requests <= 3
    assert one.seen.asked >= KEYS_OF_THE_WORD
    assert one.seen.answered == one.seen.asked


def test_text_comes_as_soon_as_its_line_is_known() -> None:
    model = Model(first_after=0.15)
    one = typed(WORD, model=model, hands=STEADY, most_keys=KEYS_OF_THE_WORD)
    line = "alculate_total(items, rate)\n"
    after = model.first_after + (len(tokens_of(line)) - 1) / model.tokens_a_second
    assert first_fitting(one) - one.oracle.asked_at[0] <= after + 0.05


@pytest.mark.parametrize("at", range(1, 6))
def test_after_a_divergence_fitting_text_comes_soon(at: int) -> None:
    model = Model(errs_first_at=at, tokens_a_second=1000)
    one = typed(WORD, model=model, hands=STEADY)
    first = first_fitting(one)
    # The key that is not what stood there.
    lost = next(each.at for each in one.seen.moments if each.at > first and not each.shown)
    back = next(at for at, fits in fitting_moments(one) if fits and at > lost)
    assert back - lost <= model.first_after + GAP


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(Model(err=0.6), id="that errs"),
        pytest.param(Model(first_after=1.0, err=0.3), id="that is slow"),
    ],
)
def test_every_request_is_answered(editor: str, model: Model) -> None:
    score = replayed(written()[::9], editor=editor, model=model)
    assert score.answered == score.asked > 0


def test_a_stream_that_is_wanted_again_and_again_is_not_given_up() -> None:
    """In VS Code nobody waits for it between a key and the request after it."""
    model = Model(tokens_a_second=10)
    one = typed(WORD, model=model, hands=STEADY, most_keys=KEYS_OF_THE_WORD)
    assert one.oracle.requests == 1


@pytest.mark.parametrize("says", ["…\n", "\n", "total = 7\n", ""])
def test_a_slow_model_that_never_fits_is_not_flooded(
    says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty keys in four seconds, each with a request, and an answer after 800 ms."""
    monkeypatch.setattr(Oracle, "answer", lambda self, prefix: [says])
    edit = drawn("forty", "python", "«total = compute_everything(given, os.path)»\n")
    hands = Hands(gaps=(0.1, 0.1), thinks=False)
    one = typed(edit, model=Model(first_after=0.8), hands=hands, most_keys=40)
    assert one.seen.answered == one.seen.asked == 40
    assert one.oracle.most_at_once == 1
    assert 1 <= one.oracle.requests <= 7


def test_what_is_typed_as_suggested_is_asked_once() -> None:
    line = "return total(items) * rate"
    sitting = drawn("line", "python", f"def bill(items, rate):\n    «{line}»\n")
    one = typed(sitting, most_keys=len(line) - 1)
    assert one.oracle.requests == 1
    assert one.seen.answered == one.seen.asked == len(line) - 1


def test_the_replay_is_the_same_each_time() -> None:
    edit = written()[0]
    model = Model(err=0.6)
    first, second = (typed(edit, model=model) for _ in range(2))
    assert first.seen == second.seen
    assert first.oracle.asked_at == second.oracle.asked_at


@pytest.mark.parametrize("editor", ["VS Code", "Helix"])
def test_the_real_process_does_the_same_in_real_time(editor: str) -> None:
    """As far as that can be said of a machine that may stand still for a moment."""
    one = typed_for_real(WORD, editor=editor, hands=STEADY, most_keys=KEYS_OF_THE_WORD)
    assert one.seen.answered == one.seen.asked
    assert 1 <= one.oracle.requests <= KEYS_OF_THE_WORD / 2
    assert fitting_moments(one)[-1][1]


@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy != SERVER])
@pytest.mark.parametrize("editor", ["VS Code", "Neovim"])
def test_no_worse_than_the_policies_in_use(policy: str, editor: str) -> None:
    model = Model(err=0.3)
    some = written()[::8]
    ours = replayed(some, editor=editor, model=model)
    theirs = replayed(some, editor=editor, model=model, policy=policy)
    assert ours.share >= theirs.share
    assert ours.flicker_a_word <= theirs.flicker_a_word + 0.01
    assert ours.answered_ratio == 1.0
    if theirs.share > 0.5:  # who shows next to nothing asks for next to nothing
        assert ours.requests_a_word <= theirs.requests_a_word * 1.1
        assert ours.wasted_a_word <= theirs.wasted_a_word * 1.1


@pytest.mark.parametrize("sitting", [*written(), *real()], ids=lambda sitting: sitting.name)
@pytest.mark.parametrize("assisted", [False, True])
def test_the_keys_make_the_edit(sitting: Sitting, assisted: bool) -> None:
    for edit in sitting.edits:
        text = edit.begun
        keys = [*islice(keys_of(edit, assisted=assisted), len(text) + 3 * len(edit.text))]
        for key in keys:
            text = key.applied(text)
        assert text == edit.made
        assert all(one.cursor != next.cursor or next.changes for one, next in pairwise(keys))


@pytest.mark.parametrize("sitting", real(), ids=lambda sitting: sitting.name)
def test_edits_in_one_document_are_drawn_as_they_are_read(sitting: Sitting) -> None:
    assert drawn(sitting.name, sitting.language, drawing(sitting)) == sitting


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize("takes", Takes)
def test_what_is_accepted_need_not_be_typed(editor: str, takes: Takes) -> None:
    """With fingers that slip, brackets that close by themselves, and deletions in between."""
    hands = Hands(assisted=True, slips=0.05, habit=Habit(takes=takes))
    number = list(Takes).index(takes)
    score = replayed(real()[number::8][:2], editor=editor, model=Model(err=0.3), hands=hands)
    assert score.right == score.documents == 2
    assert score.answered == score.asked > 0
    assert score.accepted > 0
    assert score.saved_a_word > 0


def test_the_tables_name_all_policies() -> None:
    shown = table(SETTINGS[0], "VS Code", written()[:1])
    assert all(f"| {policy} |" in shown for policy in POLICIES)
