"""What is answered to whoever asks why."""

from dataclasses import replace

import pytest

from lsp_completions.explanation import HELP, LASTING, Now, explained, telling
from lsp_completions.journal import Asked, Entry, Fate, Method
from lsp_completions.pipeline.outcome import KEPT_BACK, SkipReason
from lsp_completions.trail import How, Times

EMPTY, OFF = SkipReason.EMPTY, SkipReason.SWITCHED_OFF


def entry(reason: SkipReason | None = None, detail: str = "", number: int = 1) -> Entry:
    return Entry(
        number=number,
        at=1000.0,
        asked=Asked(
            method=Method.INLINE,
            uri="file:///w/a.py",
            path="a.py",
            language="python",
            line=3,
            by_hand=False,
        ),
        provider="ollama",
        model="qwen",
        how=How.ASKED,
        reason=reason,
        detail=detail,
        times=Times(gate=0.04, prompt=1.25, sent=1.3, first_event=80, answered=250.4),
        candidates=2 if reason is None else 0,
        lines=3 if reason is None else 0,
        characters=40 if reason is None else 0,
        excerpts=2,
    )


def test_every_reason_says_what_would_help() -> None:
    assert set(SkipReason) - set(HELP) == {SkipReason.NOT_AHEAD}
    assert {SkipReason.UNDECIDED} == KEPT_BACK - LASTING
    assert all(sentence.endswith((".", "`.")) for sentence in HELP.values())


@pytest.mark.parametrize(
    ("now", "last", "sentence", "reason"),
    [
        pytest.param(Now(), None, "Nothing was asked here yet.", None, id="nothing was asked"),
        pytest.param(
            Now(reason=SkipReason.INSIDE_WORD),
            None,
            "Nothing was asked here yet. The cursor is inside a word.",
            "insideWord",
            id="nothing was asked, and would be in vain",
        ),
        pytest.param(Now(), entry(EMPTY), EMPTY.value, "empty", id="the last outcome"),
        pytest.param(
            Now(reason=OFF), entry(EMPTY), OFF.value, "switchedOff", id="what holds by now"
        ),
        pytest.param(
            Now(reason=SkipReason.INSIDE_WORD),
            entry(EMPTY),
            EMPTY.value,
            "empty",
            id="what passes counts less than the last outcome",
        ),
        pytest.param(
            Now(),
            entry(SkipReason.PROVIDER_FAILED, "It said no."),
            "It said no.",
            "providerFailed",
            id="the best words",
        ),
        pytest.param(
            Now(),
            entry(),
            "There was a suggestion of 3 lines, and 1 more: nothing yet.",
            None,
            id="a suggestion",
        ),
        pytest.param(
            Now(reason=SkipReason.STATEMENT_ENDED),
            entry(),
            "There was a suggestion of 3 lines, and 1 more: nothing yet. By now: "
            "Nothing is missing on this line.",
            "statementEnded",
            id="a suggestion, and none by now",
        ),
    ],
)
def test_the_sentence(now: Now, last: Entry | None, sentence: str, reason: str | None) -> None:
    answer = explained(now, last, at=1060.0)
    assert (answer["sentence"], answer["reason"]) == (sentence, reason)
    text = str(answer["text"])
    assert text.startswith(sentence)
    if answer["help"]:
        assert text.endswith(f"What helps: {answer['help']}")


def test_the_text_tells_when_who_and_how_long() -> None:
    assert str(explained(Now(), entry(EMPTY), at=1060.0)["text"]).splitlines()[1:4] == [
        "Asked 60 seconds ago in a.py, line 3 (inline, while typing).",
        "Answered by ollama (qwen), asked anew, with 2 excerpts.",
        "After milliseconds: allowed 0.0, prompt 1.2, sent 1.3, first event 80, answered 250.",
    ]


@pytest.mark.parametrize(
    ("sent", "first_event", "told"),
    [
        pytest.param(1.26, 80.4, "sent 1.3, first event 80", id="since the request"),
        pytest.param(-200.4, -3.25, "sent 200 before, first event 3.2 before", id="before it"),
        pytest.param(-0.04, 0.0, "sent 0.0, first event 0", id="at once"),
    ],
)
def test_a_stream_may_be_older_than_the_request(sent: float, first_event: float, told: str) -> None:
    last = entry(EMPTY)
    times = replace(last.times, sent=sent, first_event=first_event)
    assert told in str(explained(Now(), replace(last, times=times), at=1060.0)["text"])


def test_typing_on_explains_little_where_something_else_does() -> None:
    superseded, empty = entry(SkipReason.SUPERSEDED, number=2), entry(EMPTY)
    assert telling([superseded, empty]) is empty
    assert telling([superseded]) is superseded
    assert telling([]) is None


def test_what_became_of_it_is_told() -> None:
    import dataclasses

    taken = dataclasses.replace(entry(), fate=Fate.ACCEPTED)
    assert "accepted" in str(explained(Now(), taken, at=1060.0)["sentence"])
