"""Where a credential comes from, and how long it is kept."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import date

import pytest

from lsp_completions.credentials import keychain
from lsp_completions.credentials.auth_command import Credential, Run
from lsp_completions.credentials.credential import (
    AGAIN,
    AtHand,
    CredentialOrigin,
    Credentials,
    FromCommand,
    FromKeyring,
    origin_of,
    source_of,
    with_credential,
)
from lsp_completions.credentials.logins import Login
from lsp_completions.errors import NoCredential
from lsp_completions.kinds import CommandLine
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.secret import LoginToken, Secret
from lsp_completions.settings import Settings, resolve
from tests.support.asking import eventually
from tests.support.clock import Clock

URL = "https://sg.example.com"
COMMAND = FromCommand(CommandLine(("print-it",)))
KEYRING = FromKeyring(URL)
INSTANCE = Sourcegraph(endpoint=URL)


def settings_with(**raw: object) -> Settings:
    settings, problems = resolve([("the test", {"endpoint": URL, **raw})])
    assert problems == ()
    return settings


IN_KEYRING = LoginToken(URL, None)
IN_FILE = LoginToken(URL, "sgp_1")
HEADER = {"authorization": "Bearer a"}


@pytest.mark.parametrize(
    ("raw", "source"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({"accessToken": "sgp_1"}, AtHand(), id="a token"),
        pytest.param({"headers": HEADER}, AtHand(), id="a header"),
        pytest.param({"headers": {"X-Gate": "1"}}, None, id="another header"),
        pytest.param({"authCommand": ["print-it"]}, COMMAND, id="a command"),
        pytest.param(
            {"authCommand": ["print-it"], "accessToken": "sgp_1"}, COMMAND, id="in place of a token"
        ),
        pytest.param({"accessToken": IN_KEYRING}, KEYRING, id="a login"),
        pytest.param({"accessToken": IN_FILE}, AtHand(), id="a login in a file"),
        pytest.param(
            {"accessToken": IN_KEYRING, "headers": HEADER}, AtHand(), id="a header before a login"
        ),
    ],
)
def test_where_it_comes_from(raw: dict[str, object], source: object) -> None:
    assert source_of(settings_with(**raw)) == source


@pytest.mark.parametrize(
    ("raw", "sentence", "user"),
    [
        pytest.param({"accessToken": "sgp_1"}, "from the test", "", id="a token"),
        pytest.param(
            {"headers": HEADER}, "the header Authorization from the test", "", id="header"
        ),
        pytest.param(
            {"authCommand": "a"}, "printed by `authCommand`, which the test names", "", id="command"
        ),
        pytest.param(
            {"accessToken": IN_KEYRING},
            "from the login of 3 May 2021, stored in the keyring",
            "ada",
            id="a login",
        ),
    ],
)
def test_it_is_told_where_it_comes_from(raw: dict[str, object], sentence: str, user: str) -> None:
    login = Login(endpoint=URL, user="ada", since=date(2021, 5, 3))
    origin = origin_of(settings_with(**raw), [login])
    assert origin == CredentialOrigin(sentence=sentence, user=user, is_login=bool(user))


def test_nothing_comes_from_nowhere() -> None:
    assert origin_of(settings_with(), []) is None


@pytest.mark.parametrize(
    ("token", "today", "told"),
    [
        pytest.param(None, (2026, 6, 1), "the login of 3 May, stored in the keyring", id="keyring"),
        pytest.param("a", (2026, 6, 1), "the login of 3 May, stored in a file", id="a file"),
        pytest.param(
            None, (2027, 1, 1), "the login of 3 May 2026, stored in the keyring", id="last year"
        ),
    ],
)
def test_how_a_login_is_told(token: str | None, today: tuple[int, int, int], told: str) -> None:
    login = Login(endpoint=URL, user="", since=date(2026, 5, 3))
    if token is not None:
        login = login.with_token(Secret(token))
    assert login.told(date(*today)) == told


def test_what_a_command_gives_takes_the_place_of_headers_of_the_same_name() -> None:
    own = (("AUTHORIZATION", Secret("x")), ("X-Gate", Secret("1")), ("X-Other", Secret("2")))
    headers = (("Authorization", Secret("Bearer b")), ("x-gate", Secret("3")))
    given = with_credential(replace(INSTANCE, headers=own), Credential(headers=headers))
    assert given.headers == (("X-Other", Secret("2")), *headers)
    given = with_credential(replace(INSTANCE, headers=own), Credential(token=Secret("t")))
    assert (given.token, given.headers) == (Secret("t"), own[1:])


# ---- over time


class Script(Run):
    """A command that answers by script: a credential, or a failure; the last one stays."""

    def __init__(self, *answers: Credential | str) -> None:
        super().__init__(COMMAND.command, endpoint=URL)
        self.answers = list(answers)
        self.times = 0
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def credential(self, now: Callable[[], float] = lambda: 0.0) -> Credential:
        self.times += 1
        assert self.may_go_on.wait(20)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, str):
            raise NoCredential(answer)
        return answer

    def stop(self) -> None:
        self.may_go_on.set()


def token(text: str, expires: float | None = None) -> Credential:
    return Credential(token=Secret(text), expires=expires)


class Bench:
    """Credentials over a script and a clock."""

    def __init__(self, *answers: Credential | str) -> None:
        self.script = Script(*answers)
        self.clock = Clock()
        self.credentials = Credentials(run=lambda command, at: self.script, clock=self.clock)

    async def token(self) -> str:
        given = await self.credentials.given(INSTANCE, COMMAND)
        assert given.token is not None
        return given.token.reveal()


async def test_all_who_ask_share_one_run_and_it_is_kept_for_an_hour() -> None:
    bench = Bench(token("a"), token("b"))
    assert await asyncio.gather(*[bench.token() for _ in range(4)]) == ["a"] * 4
    bench.clock.now += 3500
    assert await bench.token() == "a"
    assert bench.script.times == 1
    bench.clock.now += 200
    assert await bench.token() == "b"
    await bench.credentials.aclose()


async def test_shortly_before_its_end_it_is_renewed_while_the_old_one_serves() -> None:
    bench = Bench(token("a", 2000.0), token("b", 3000.0))
    assert await bench.token() == "a"
    bench.clock.now = 1950.0
    bench.script.may_go_on.clear()
    assert await bench.token() == "a"
    assert await bench.token() == "a"
    bench.script.may_go_on.set()
    async with asyncio.timeout(20):
        while await bench.token() == "a":  # noqa: ASYNC110 - nothing to be told by
            await asyncio.sleep(0.001)
    assert bench.script.times == 2
    await bench.credentials.aclose()


async def test_a_renewal_that_fails_is_told_when_the_old_one_has_ended() -> None:
    bench = Bench(token("a", 2000.0), "broken")
    assert await bench.token() == "a"
    bench.clock.now = 1950.0
    assert await bench.token() == "a"
    await eventually(lambda: bench.script.times == 2)
    bench.clock.now = 2001.0
    with pytest.raises(NoCredential, match="broken"):
        await bench.token()
    await bench.credentials.aclose()


async def test_after_a_failure_it_is_left_alone_for_a_while() -> None:
    bench = Bench("broken", token("a"))
    for _ in range(3):
        with pytest.raises(NoCredential, match="broken"):
            await bench.token()
    assert bench.script.times == 1
    bench.clock.now += AGAIN
    assert await bench.token() == "a"
    await bench.credentials.aclose()


async def test_a_change_of_anything_ends_that_wait() -> None:
    bench = Bench("broken", token("a"))
    with pytest.raises(NoCredential, match="broken"):
        await bench.token()
    bench.credentials.renew()
    assert await bench.token() == "a"
    await bench.credentials.aclose()


async def test_what_is_refused_is_asked_for_once_more() -> None:
    bench = Bench(token("a"), token("b"))
    old = await bench.credentials.given(INSTANCE, COMMAND)
    assert bench.credentials.refused(old, COMMAND)
    assert await bench.token() == "b"
    # Another request, which was under way with the old one, need not ask again.
    assert bench.credentials.refused(old, COMMAND)
    assert await bench.token() == "b"
    assert bench.script.times == 2
    new = await bench.credentials.given(INSTANCE, COMMAND)
    assert not bench.credentials.refused(new, COMMAND)
    bench.clock.now += AGAIN
    assert bench.credentials.refused(new, COMMAND)
    await bench.credentials.aclose()


async def test_who_waits_may_leave_and_the_others_are_served() -> None:
    bench = Bench(token("a"))
    bench.script.may_go_on.clear()
    first, second = (asyncio.create_task(bench.token()) for _ in range(2))
    await eventually(lambda: bench.script.times)
    first.cancel()
    bench.script.may_go_on.set()
    assert await second == "a"
    assert first.cancelled()
    await bench.credentials.aclose()


async def test_at_the_end_nobody_waits_for_it() -> None:
    bench = Bench(token("a"))
    bench.script.may_go_on.clear()
    waiting = asyncio.create_task(bench.token())
    await eventually(lambda: bench.script.times)
    await bench.credentials.aclose()
    with pytest.raises(NoCredential):
        await waiting


# ---- the keyring


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """What the keyring has, one answer after the other."""
    answers: list[str | None] = []

    def read(endpoint: str) -> Secret | None:
        assert endpoint == URL
        answer = answers.pop(0)
        if answer == "locked":
            raise keychain.NoKeyring("it is locked")
        return None if answer is None else Secret(answer)

    monkeypatch.setattr(keychain, "read", read)
    return answers


async def test_the_keyring_is_asked_once_per_login(kept: list[str | None]) -> None:
    credentials = Credentials()
    kept += ["a", "b"]
    for _ in range(2):
        assert (await credentials.given(INSTANCE, KEYRING)).token == Secret("a")
    credentials.renew()
    assert (await credentials.given(INSTANCE, KEYRING)).token == Secret("b")
    await credentials.aclose()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        pytest.param("locked", "which cannot be read: it is locked", id="locked"),
        pytest.param(None, "has no token for https://sg.example.com any more", id="gone"),
    ],
)
async def test_the_keyring_may_have_nothing(
    kept: list[str | None], answer: str | None, says: str
) -> None:
    credentials = Credentials()
    kept.append(answer)
    for _ in range(2):
        with pytest.raises(NoCredential, match=says):
            await credentials.given(INSTANCE, KEYRING)
    await credentials.aclose()


def test_a_token_that_is_not_at_hand_cannot_be_sent() -> None:
    with pytest.raises(RuntimeError, match="not asked for"):
        IN_KEYRING.reveal()
    assert IN_FILE.reveal() == "sgp_1"
    assert repr(IN_FILE) == repr(IN_KEYRING) == "***"
