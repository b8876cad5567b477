import pytest

from lsp_completions.errors import (
    CompletionsError,
    ConfigurationError,
    Interrupted,
    NotAuthorized,
    RateLimited,
    Refused,
    Reply,
    TimedOut,
    UnexpectedReply,
    Unreachable,
)
from lsp_completions.notices import MOST, PATIENCE, QUIET, Notices

BUSY = Refused("busy", reply=Reply(status=503, headers={}, body=""))
WRONG_MODEL = Refused("no such model", reply=Reply(status=400, headers={}, body=""))


@pytest.mark.parametrize(
    "error",
    [
        ConfigurationError("set it"),
        NotAuthorized("log in"),
        UnexpectedReply("a page"),
        Unreachable("no host"),
        WRONG_MODEL,
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_user_can_mend_is_told_at_once_and_once(error: CompletionsError) -> None:
    told: list[str] = []
    notices = Notices(told.append)
    for _ in range(10):
        notices.failed(error)
    assert told == [str(error)]


@pytest.mark.parametrize(
    "error", [TimedOut("late"), Interrupted("cut"), BUSY], ids=lambda error: type(error).__name__
)
def test_a_passing_trouble_is_told_when_it_goes_on(error: CompletionsError) -> None:
    told: list[str] = []
    notices = Notices(told.append)
    for _ in range(PATIENCE - 1):
        notices.failed(error)
    notices.worked()
    for _ in range(PATIENCE - 1):
        notices.failed(error)
    assert told == []
    notices.failed(error)
    notices.failed(error)
    assert told == [str(error)]


def test_what_comes_back_after_it_worked_is_told_again() -> None:
    told: list[str] = []
    notices = Notices(told.append)
    notices.failed(NotAuthorized("log in"))
    notices.worked()
    notices.failed(NotAuthorized("log in"))
    assert told == ["log in", "log in"]


def test_what_comes_and_goes_is_told_a_few_times_and_then_seldom() -> None:
    told: list[str] = []
    now = [0.0]
    notices = Notices(told.append, clock=lambda: now[0])

    def every_other_key_fails(seconds: int) -> None:
        for _ in range(seconds):
            notices.failed(NotAuthorized("log in"))
            notices.worked()
            now[0] += 1

    every_other_key_fails(100)
    notices.failed(Unreachable("no host"))
    assert told == ["log in"] * MOST + ["no host"]
    now[0] += QUIET
    every_other_key_fails(100)
    assert told.count("log in") == 2 * MOST


def test_two_causes_are_two_messages() -> None:
    told: list[str] = []
    notices = Notices(told.append)
    notices.problem("topK must be a number.")
    notices.problem("menu must be auto, on or off.")
    notices.problem("topK must be a number.")
    notices.failed(Unreachable("no host"))
    assert told == ["topK must be a number.", "menu must be auto, on or off.", "no host"]


def test_another_time_or_trace_is_the_same_cause() -> None:
    told: list[str] = []
    notices = Notices(told.append)
    notices.failed(RateLimited("more in 9 minutes", retry_after=540.0))
    notices.failed(RateLimited("more in 8 minutes", retry_after=480.0))
    notices.failed(RateLimited("a limit"))
    assert told == ["more in 9 minutes"]


def test_a_limit_that_is_over_in_a_moment_is_not_worth_a_word() -> None:
    told: list[str] = []
    notices = Notices(told.append)
    for _ in range(PATIENCE - 1):
        notices.failed(RateLimited("more in 9 seconds", retry_after=9.0))
    assert told == []


def test_after_a_change_a_failure_is_told_again_and_the_settings_are_not() -> None:
    told: list[str] = []
    notices = Notices(told.append)
    for _ in range(2 * MOST):
        notices.problem("topK must be a number.")
        notices.failed(ConfigurationError("set it"))
        notices.failed(NotAuthorized("log in"))
        notices.changed()
    assert told == ["topK must be a number.", "set it", *["log in"] * 2 * MOST]
