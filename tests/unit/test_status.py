"""How things stand: the first thing that a user would want to know."""

import asyncio

import pytest

from lsp_completions.errors import (
    CompletionsError,
    ConfigurationError,
    NotAuthorized,
    TimedOut,
)
from lsp_completions.messages import Messages
from lsp_completions.pipeline.outcome import KEPT_BACK, SkipReason
from lsp_completions.protocol import Server
from lsp_completions.status import Facts, Standing, State, Status, standing
from lsp_completions.trail import Trail


def facts(why_not: SkipReason | None = None, trouble: CompletionsError | None = None) -> Facts:
    return Facts(
        why_not=why_not, trouble=trouble, provider="ollama", model="qwen", uri="file:///w/a.py"
    )


@pytest.mark.parametrize(
    ("given", "busy", "takes_long", "state", "reason"),
    [
        pytest.param(facts(), False, "", State.READY, "", id="all is well"),
        pytest.param(facts(), True, "", State.BUSY, "", id="somebody waits"),
        pytest.param(facts(), True, "Loading", State.STARTING, "", id="what takes long"),
        pytest.param(
            facts(SkipReason.SWITCHED_OFF, TimedOut("x")),
            True,
            "",
            State.OFF,
            "switchedOff",
            id="off, whatever else is wrong",
        ),
        pytest.param(
            facts(SkipReason.LANGUAGE_OFF), False, "", State.OFF, "languageOff", id="by language"
        ),
        pytest.param(
            facts(None, TimedOut("x")), True, "", State.WARNING, "timedOut", id="what passes"
        ),
        pytest.param(
            facts(None, NotAuthorized("x")), False, "", State.ERROR, "notAuthorized", id="lasts"
        ),
        pytest.param(
            facts(SkipReason.NO_PROVIDER, ConfigurationError("x")),
            False,
            "",
            State.ERROR,
            "configurationError",
            id="nobody to ask",
        ),
        pytest.param(facts(SkipReason.UNDECIDED), False, "", State.READY, "", id="not decided yet"),
        pytest.param(
            facts(SkipReason.BY_HAND_ONLY), False, "", State.READY, "byHandOnly", id="by hand only"
        ),
        pytest.param(
            facts(SkipReason.DOCUMENT_OUT_OF_STEP),
            False,
            "",
            State.WARNING,
            "documentOutOfStep",
            id="out of step",
        ),
    ],
)
def test_how_things_stand(
    given: Facts, busy: bool, takes_long: str, state: State, reason: str
) -> None:
    now = standing(given, busy=busy, takes_long=takes_long)
    assert (now.state, now.reason) == (state, reason)
    assert (now.provider, now.model, now.uri) == ("ollama", "qwen", "file:///w/a.py")
    assert bool(now.message) == bool(reason or takes_long)


@pytest.mark.parametrize("reason", sorted(KEPT_BACK - {SkipReason.UNDECIDED}, key=str))
def test_what_is_kept_back_is_said(reason: SkipReason) -> None:
    now = standing(facts(reason), busy=True, takes_long="")
    assert (now.state, now.reason, now.message) == (State.KEPT_BACK, reason.key, reason.value)


class Line:
    """A status line, and what it was told."""

    def __init__(self) -> None:
        self.why_not: SkipReason | None = None
        self.told: list[Standing] = []
        self.status = Status(
            Messages(Server("test", "1")),
            look=lambda _: facts(self.why_not),
            tell=self.told.append,
        )

    async def turns(self) -> list[State]:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return [each.state for each in self.told]


async def test_only_what_changes_is_told() -> None:
    line = Line()
    for _ in range(3):
        line.status.changed()
        line.status.changed()
        await line.turns()
    assert await line.turns() == [State.READY]
    line.why_not = SkipReason.SECRET_FILE
    line.status.look_at("file:///w/.env")
    assert await line.turns() == [State.READY, State.KEPT_BACK]


async def test_answers_that_come_at_once_make_nobody_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line()
    for _ in range(20):
        with line.status.asking(Trail()):
            await asyncio.sleep(0)
    assert await line.turns() == []
    monkeypatch.setattr("lsp_completions.status.SOON", 0)
    with line.status.asking(Trail()):
        while not line.status.busy:  # noqa: ASYNC110 - the loop's own timer
            await asyncio.sleep(0)
        assert await line.turns() == [State.BUSY]
    while line.status.busy:  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert await line.turns() == [State.BUSY, State.READY]
