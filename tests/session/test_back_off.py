"""When a host that failed is asked again."""

import asyncio
from collections.abc import Callable

import pytest

from lsp_completions.back_off import (
    BETWEEN_HANDS,
    FAILURES,
    LIMIT_MOST,
    NAMED_MOST,
    OWN_MOST,
    UNTIL_CHANGED,
    BackOff,
)
from lsp_completions.errors import (
    CompletionsError,
    ConfigurationError,
    Interrupted,
    ModelFailed,
    NoSuchApi,
    NotAllowed,
    NotAuthorized,
    ProviderError,
    RateLimited,
    Redirected,
    ServerFailed,
    SignInPage,
    TimedOut,
    TooLarge,
    UnknownModel,
    Unreachable,
    UnsupportedEditor,
)
from tests.support.clock import Clock

HOST = "sg.example.com"
OWN = "127.0.0.1:11434"


def limited(seconds: float | None = None) -> RateLimited:
    return RateLimited("limit", retry_after=seconds)


def longest() -> float:
    return 1.0


def none() -> float:
    return 0.0


async def waits(
    errors: list[CompletionsError], host: str = HOST, chance: Callable[[], float] = none
) -> list[float]:
    """How long is waited after each of these failures in a row, all made as soon as possible."""
    clock = Clock()
    back_off = BackOff(clock, chance)
    seconds = []
    for error in errors:
        back_off.attempt(host).failed(error)
        found = back_off._hosts.get(host)
        wait = max(found.until - clock.now, 0.0) if found is not None else 0.0
        assert (await back_off.rest(host) is not None) == (wait > 0)
        clock.now += wait
        assert await back_off.rest(host) is None
        seconds.append(wait)
    return seconds


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        pytest.param([limited(512)], [512], id="as long as told"),
        pytest.param([limited(0.2)], [1], id="at least a second"),
        pytest.param([limited(31 * 86400)], [NAMED_MOST], id="at most an hour"),
        pytest.param(
            [limited()] * 8, [30, 60, 120, 240, 480, LIMIT_MOST, 900, 900], id="no time named"
        ),
        pytest.param([limited(0)] * 4, [1, 2, 4, 8], id="told to come at once, and refused again"),
        pytest.param([limited(), limited(7), limited()], [30, 7, 60], id="told in between"),
        pytest.param([Unreachable("no")] * 5, [0, 0, 1, 2, 4], id="unreachable"),
        pytest.param(
            [TimedOut("late"), ServerFailed("500"), Interrupted("cut"), ModelFailed("503")],
            [0, 0, 1, 2],
            id="one trouble after the other",
        ),
        pytest.param(
            [Unreachable("no")] * 12, [0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60], id="at most so"
        ),
        pytest.param([ServerFailed("503", retry_after=9)], [9], id="a failure that names a time"),
        pytest.param([NotAuthorized("401")] * 2, [UNTIL_CHANGED] * 2, id="not authorized"),
        pytest.param([NotAllowed("403")], [UNTIL_CHANGED], id="not allowed"),
        pytest.param([NoSuchApi("404")], [UNTIL_CHANGED], id="no API"),
        pytest.param([UnsupportedEditor("406")], [UNTIL_CHANGED], id="only certain editors"),
        pytest.param([SignInPage("page")], [UNTIL_CHANGED], id="a page to sign in"),
        pytest.param([Redirected("302")], [UNTIL_CHANGED], id="a redirect"),
        pytest.param([ConfigurationError("header")], [UNTIL_CHANGED], id="cannot be sent"),
        pytest.param([UnknownModel("x")] * 3, [0, 0, 1], id="the next is of another model"),
        pytest.param([TooLarge("413")] * 9, [0] * 9, id="one document's own trouble"),
    ],
)
async def test_how_long_a_host_is_left_alone(
    errors: list[CompletionsError], expected: list[float]
) -> None:
    assert await waits(errors) == expected


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        pytest.param([Unreachable("no")] * 7, [0, 0, 1, 2, 4, OWN_MOST, 5], id="not started yet"),
        pytest.param([TimedOut("late")] * 9, [0] * 9, id="a slow model"),
        pytest.param([limited()] * 4, [1, 2, 4, OWN_MOST], id="busy"),
    ],
)
@pytest.mark.parametrize("host", [OWN, "localhost:8080", "[::1]:8080", "localhost"])
async def test_a_server_on_this_machine_is_left_alone_for_moments(
    host: str, errors: list[CompletionsError], expected: list[float]
) -> None:
    assert await waits(errors, host) == expected


async def test_chance_makes_a_wait_longer_never_shorter_than_told() -> None:
    assert await waits([limited()] * 2, chance=longest) == [37.5, 75]
    assert await waits([limited(512)], chance=longest) == [512]


async def test_an_answer_clears_everything() -> None:
    clock = Clock()
    back_off = BackOff(clock, none)
    for _ in range(FAILURES - 1):
        back_off.attempt(HOST).failed(Unreachable("no"))
    back_off.attempt(HOST).worked()
    for _ in range(FAILURES - 1):
        back_off.attempt(HOST).failed(Unreachable("no"))
    assert await back_off.rest(HOST) is None
    back_off.attempt(HOST).failed(Unreachable("no"))
    assert await back_off.rest(HOST) == f"{HOST} is asked again in 1 second."


async def test_a_request_given_up_is_no_failure() -> None:
    back_off = BackOff(Clock(), none)
    for _ in range(9):
        back_off.attempt(HOST).given_up()
    assert await back_off.rest(HOST) is None


async def test_another_host_is_asked_meanwhile() -> None:
    back_off = BackOff(Clock(), none)
    back_off.attempt(HOST).failed(limited(60))
    assert await back_off.rest("other.example.com") is None


async def test_what_was_under_way_says_the_same_once() -> None:
    clock = Clock()
    back_off = BackOff(clock, none)
    together = [back_off.attempt(HOST) for _ in range(4)]
    for attempt in together:
        attempt.failed(limited())
    clock.now += 30
    assert await back_off.rest(HOST) is None


async def test_settings_and_logins_end_every_wait() -> None:
    back_off = BackOff(Clock(), none)
    late = back_off.attempt(HOST)
    back_off.attempt(HOST).failed(NotAuthorized("401"))
    back_off.forget()
    assert await back_off.rest(HOST) is None
    late.failed(NotAuthorized("with the old token"))
    assert await back_off.rest(HOST) is None


async def test_by_hand_a_wait_ends_but_not_at_every_key() -> None:
    clock = Clock()
    back_off = BackOff(clock, none)
    back_off.attempt(HOST).failed(limited(600))
    assert await back_off.rest(HOST) is not None
    assert await back_off.rest(HOST, by_hand=True) is None
    back_off.attempt(HOST).failed(limited(600))
    assert await back_off.rest(HOST, by_hand=True) is not None
    clock.now += BETWEEN_HANDS
    assert await back_off.rest(HOST, by_hand=True) is None


@pytest.mark.parametrize("end", ["worked", "failed", "given up", "forgotten"])
async def test_when_the_wait_is_over_one_tries_and_the_others_wait_for_it(end: str) -> None:
    clock = Clock()
    back_off = BackOff(clock, none)
    back_off.attempt(HOST).failed(limited(60))
    clock.now += 60
    assert await back_off.rest(HOST) is None
    trying = back_off.attempt(HOST)

    async def ask() -> str | None:
        rest = await back_off.rest(HOST)
        if rest is None:
            back_off.attempt(HOST)
        return rest

    others = [asyncio.create_task(ask()) for _ in range(2)]
    await asyncio.sleep(0)
    assert not any(other.done() for other in others)
    match end:
        case "worked":
            trying.worked()
            assert await asyncio.gather(*others) == [None, None]
        case "failed":
            trying.failed(limited(60))
            assert None not in await asyncio.gather(*others)
        case "given up":
            trying.given_up()
            done, waiting = await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
            assert [task.result() for task in done] == [None]
            assert len(waiting) == 1  # the next one tries
            waiting.pop().cancel()
        case _:
            back_off.forget()
            assert await asyncio.gather(*others) == [None, None]


async def test_a_trial_of_its_own_trouble_lets_the_next_one_try() -> None:
    clock = Clock()
    back_off = BackOff(clock, none)
    back_off.attempt(HOST).failed(limited(60))
    clock.now += 60
    back_off.attempt(HOST).failed(TooLarge("413"))
    assert await back_off.rest(HOST) is None


async def test_a_night_of_failures_is_no_trouble() -> None:
    assert (await waits([ProviderError("no")] * 3000))[-1] == 60
