"""The replay's tables, in Markdown: each policy in each editor, by how the model and hands are."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.evaluation.editors import EDITORS
from tests.evaluation.edits import Edit, edits
from tests.evaluation.oracle import USUAL, Model
from tests.evaluation.replay import CALM, POLICIES, Hands, Score, replayed

HEAD = (
    "policy",
    "requests a word",
    "wasted tokens a word",
    "first fitting text, s",
    "without it each time, s",
    "keys with fitting text",
    "flicker a word",
    "answered",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is varied: its name, the model, and the hands."""

    name: str
    model: Model = USUAL
    hands: Hands = CALM


STEADY = Hands(gaps=(0.09, 0.09), thinks=False)
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
        name="the editor indents and closes brackets, errs 0.3",
        model=Model(err=0.3),
        hands=Hands(assisted=True),
    ),
    Setting(name="90 ms between keys, errs 0.3", model=Model(err=0.3), hands=STEADY),
)


def tables(
    *,
    few: bool = False,
    editors: Sequence[str] = tuple(EDITORS),
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[str]:
    """One table for each setting and editor."""
    typed = edits()[::4] if few else edits()
    for setting in SETTINGS:
        for editor in editors:
            tell(f"{setting.name}: {editor}")
            yield table(setting, editor, typed)


def table(setting: Setting, editor: str, typed: Sequence[Edit]) -> str:
    rows = [
        row(
            policy,
            replayed(typed, policy=policy, editor=editor, model=setting.model, hands=setting.hands),
        )
        for policy in POLICIES
    ]
    lines = [HEAD, ("---", *["---:"] * (len(HEAD) - 1)), *rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"### {editor}: {setting.name}\n\n{text}\n"


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
    )
