"""What is wrong, and what to do about it, told apart."""

import pytest

from lsp_completions import errors
from lsp_completions.diagnosis.steps import failed, parted


@pytest.mark.parametrize(
    ("message", "sentence", "remedy"),
    [
        pytest.param("It is gone.", "It is gone.", "", id="one sentence"),
        pytest.param("It is gone. Look.", "It is gone.", "Look.", id="two"),
        pytest.param("It is gone; look. Or go.", "It is gone.", "Look. Or go.", id="a semicolon"),
        pytest.param(
            "No way (a; b. C); is it right?", "No way (a; b. C).", "Is it right?", id="brackets"
        ),
        pytest.param("Before 5.6, all.", "Before 5.6, all.", "", id="a number"),
        pytest.param("See e.g. this.", "See e.g. this.", "", id="a short word"),
        pytest.param("Gone. `x` tells.", "Gone.", "`x` tells.", id="a name"),
        pytest.param("", "", "", id="nothing"),
        pytest.param("a) b; c", "a) b; c", "", id="a bracket too many"),
    ],
)
def test_parted(message: str, sentence: str, remedy: str) -> None:
    assert parted(message) == (sentence, remedy)


@pytest.mark.parametrize(
    "kind",
    [
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, errors.CompletionsError)
    ],
)
def test_whatever_is_wrong_something_can_be_done(kind: type[errors.CompletionsError]) -> None:
    step = failed("x", kind("It is gone."), more=3)
    assert (step.ok, step.sentence) == (False, "It is gone.")
    assert step.remedy.endswith(".")
    assert step.details == {"error": kind.__name__, "more": 3}


def test_what_a_message_has_no_room_for_is_a_remedy() -> None:
    error = errors.ConfigurationError("It is gone. Look.", remedy="Look here, or there.")
    step = failed("x", error)
    assert (step.sentence, step.remedy) == ("It is gone.", "Look here, or there.")
