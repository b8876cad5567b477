"""The replay's tables, in Markdown: each policy in each editor, by how the model and hands are."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tests.evaluation.editors import EDITORS
from tests.evaluation.edits import Sitting, written
from tests.evaluation.habits import Habit, Takes
from tests.evaluation.hands import CALM, Hands
from tests.evaluation.oracle import USUAL, Model
from tests.evaluation.real import typed_for_real
from tests.evaluation.replay import POLICIES, Score, count, replayed, typed

HEAD = (
    "policy",
    "requests a word",
    "wasted tokens a word",
    "first fitting text, s",
    "without it each time, s",
    "keys with fitting text",
    "flicker a word",
    "answered",
    "keys saved a word",
    "next piece at once",
    "texts right",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is varied: its name, the model, and the hands."""

    name: str
    model: Model = USUAL
    hands: Hands = CALM


STEADY = Hands(gaps=(0.09, 0.09), thinks=False)
ASSISTED = Hands(assisted=True, slips=0.02)
SETTINGS = (
    *(
        Setting(
            name=f"first token after {ms} ms, errs 0.3", model=Model(first_after=ms / 1000, err=0.3)
        )
        for ms in (50, 150, 400, 1000)
    ),
    *(
        Setting(name=f"first token after 150 ms, errs {err}", model=Model(err=err))
        for err in (0.0, 0.6, 0.9)
    ),
    Setting(
        name="the editor indents and closes brackets, fingers slip, errs 0.3",
        model=Model(err=0.3),
        hands=ASSISTED,
    ),
    Setting(name="90 ms between keys, errs 0.3", model=Model(err=0.3), hands=STEADY),
    *(
        Setting(
            name=f"accepts {takes.value}{'' if tells else ', untold'}, errs {err}",
            model=Model(err=err),
            hands=replace(ASSISTED, habit=Habit(takes=takes, tells=tells)),
        )
        for err in (0.0, 0.3)
        for takes in Takes
        for tells in (True, False)
    ),
)


def tables(
    sittings: Sequence[Sitting],
    *,
    editors: Sequence[str] = tuple(EDITORS),
    only: str = "",
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[str]:
    """One table for each setting and editor."""
    for setting in SETTINGS:
        for editor in editors:
            if only in (title := f"{editor}: {setting.name}"):
                tell(title)
                yield table(setting, editor, sittings)


def table(setting: Setting, editor: str, sittings: Sequence[Sitting]) -> str:
    model, hands = setting.model, setting.hands
    scores = {
        policy: replayed(sittings, policy=policy, editor=editor, model=model, hands=hands)
        for policy in POLICIES
    }
    rows = [row(policy, score) for policy, score in scores.items()]
    return f"### {editor}: {setting.name}\n\n{markdown(rows)}\n"


def real_table(editors: Sequence[str], tell: Callable[[str], None]) -> str:
    """A few edits, each in real time and then in virtual time."""
    rows = []
    model = Model(err=0.3)
    for edit in written()[2::8]:
        for editor in editors:
            for way, type_one in (("real", typed_for_real), ("virtual", typed)):
                tell(f"{edit.name}: {editor}, {way}")
                score = Score()
                count(type_one(edit, editor=editor, model=model), score)
                rows.append(row(f"{edit.name}, {editor}, {way}", score))
    return markdown(rows)


def markdown(rows: Sequence[tuple[str, ...]]) -> str:
    lines = [HEAD, ("---", *["---:"] * (len(HEAD) - 1)), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def row(policy: str, score: Score) -> tuple[str, ...]:
    first = score.usual_first
    return (
        policy,
        f"{score.requests_a_word:.2f}",
        f"{score.wasted_a_word:.1f}",
        "never" if first is None else f"{first:.2f}",
        f"{score.usual_again:.2f}",
        f"{score.share:.0%}",
        f"{score.flicker_a_word:.3f}",
        f"{score.answered_ratio:.1%}",
        f"{score.saved_a_word:.2f}" if score.accepted else "—",
        "—" if score.ready_share is None else f"{score.ready_share:.0%} of {len(score.ready)}",
        f"{score.right} of {score.documents}",
    )
