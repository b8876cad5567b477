"""Logging in and out as a process of its own, beside the stand-in Sourcegraph instance."""

import json
import os
import select
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.home import COMMAND, TIMEOUT, USER, Home, user
from tests.support.sourcegraph import (
    TOKEN,
    Reply,
    StandIn,
    html_page,
    json_page,
    redirect,
    running_stand_in,
)

on_unix = pytest.mark.skipif(sys.platform == "win32", reason="terminals and modes of Unix")


@pytest.fixture
def instance() -> Iterator[StandIn]:
    with running_stand_in(pages={USER: user()}) as instance:
        yield instance


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


# ---- logging in


def test_the_token_goes_into_the_keyring(home: Home, instance: StandIn) -> None:
    home.with_keyring("Remembering")
    ran = home.run("login", instance.url, typed=f"{TOKEN}\n")
    assert ran.returncode == 0, ran.stderr
    assert f"{instance.url}/user/settings/tokens/new" in ran.stderr
    assert (
        f"Logged in to {instance.url} as ada. It is stored in the system's keyring." in ran.stderr
    )
    assert json.loads(home.keyring.read_text()) == {f"lsp-completions {instance.url}": TOKEN}
    assert home.known() == [instance.url]
    assert TOKEN not in home.logins.read_text()
    (asked,) = instance.requests
    assert asked.headers["authorization"] == f"token {TOKEN}"


@pytest.mark.parametrize(
    ("keyring", "why"),
    [
        pytest.param("", "there is none on this machine", id="no keyring"),
        pytest.param("Forgetful", "it does not keep what it is given", id="one that forgets"),
        pytest.param("Careless", "there is none on this machine", id="one that writes anywhere"),
        pytest.param("Broken", "it failed (RuntimeError)", id="one that fails"),
    ],
)
def test_without_a_keyring_the_token_goes_into_a_file_of_the_user_s_own(
    home: Home, instance: StandIn, keyring: str, why: str
) -> None:
    if keyring:
        home.with_keyring(keyring)
    ran = home.run("login", instance.url, typed=TOKEN)
    assert ran.returncode == 0, ran.stderr
    assert f"The token is stored in the file {home.logins}, which" in ran.stderr
    assert f"and not in the system's keyring: {why}." in ran.stderr
    assert TOKEN in home.logins.read_text()
    if sys.platform != "win32":
        assert stat.S_IMODE(home.logins.stat().st_mode) == 0o600
        assert stat.S_IMODE(home.logins.parent.stat().st_mode) == 0o700
    assert [each.name for each in home.logins.parent.iterdir() if "-" in each.name] == []


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        pytest.param("{url}/", "{url}", id="a slash at its end"),
        pytest.param("{bare}", "{url}", id="without a scheme"),
        pytest.param("http://me:pw@{bare}", "{url}", id="a password in it"),
    ],
)
def test_the_address_as_people_write_it(
    home: Home, instance: StandIn, url: str, endpoint: str
) -> None:
    names = {"url": instance.url, "bare": instance.url.removeprefix("http://")}
    ran = home.run("login", url.format(**names), typed=TOKEN)
    assert ran.returncode == 0, ran.stderr
    assert home.known() == [endpoint.format(**names)]
    assert "pw" not in home.written() + ran.stderr


def test_an_instance_below_a_path(home: Home) -> None:
    with running_stand_in(pages={USER: user()}, prefix="/code") as instance:
        ran = home.run("login", instance.url, typed=TOKEN)
        assert ran.returncode == 0, ran.stderr
        assert f"{instance.url}/user/settings/tokens/new" in ran.stderr
        assert instance.url.endswith("/code")
        assert home.known() == [instance.url]


def test_the_configured_address_need_not_be_named(home: Home, instance: StandIn) -> None:
    ran = home.run("login", typed=TOKEN, env={"SRC_ENDPOINT": instance.url})
    assert ran.returncode == 0, ran.stderr
    assert home.known() == [instance.url]
    ran = home.run("login", typed=TOKEN)
    assert (ran.returncode, home.known()) == (0, [instance.url])  # the last login's


@pytest.mark.parametrize(
    ("page", "says"),
    [
        pytest.param(user(None), "does not know whose token this is", id="nobody's"),
        pytest.param(html_page(), "a web page", id="a page to sign in"),
        pytest.param(redirect("https://sso.example/"), "redirects", id="sent elsewhere"),
        pytest.param(html_page(502), "had no answer from it", id="a gateway alone"),
        pytest.param(json_page({"errors": [{"message": "not today"}]}), "not today", id="an error"),
        pytest.param(json_page([1]), "may not be a Sourcegraph instance", id="another JSON"),
        pytest.param(Reply(status=200, body="ok"), "something other", id="no JSON"),
    ],
)
def test_what_is_not_valid_is_not_stored(
    home: Home, instance: StandIn, page: Reply, says: str
) -> None:
    home.with_keyring("Remembering")
    instance.pages[USER] = page
    ran = home.run("login", instance.url, typed=TOKEN)
    assert ran.returncode == 3
    assert says in ran.stderr
    assert not home.logins.exists()
    assert not home.keyring.exists()


@pytest.mark.parametrize(
    ("typed", "code", "says"),
    [
        pytest.param("sgp_another\n", 3, "does not accept the access token", id="refused"),
        pytest.param("", 2, "No token was given", id="nothing"),
        pytest.param("\n\n", 2, "No token was given", id="blank"),
        pytest.param("sgp_é", 2, "plain ASCII", id="a character that fits no header"),
        pytest.param("sgp_a\nsgp_b", 2, "alone", id="two lines"),
        pytest.param("x" * 70_000, 2, "No token", id="far too much"),
    ],
)
def test_what_is_typed_may_be_wrong(
    home: Home, instance: StandIn, typed: str, code: int, says: str
) -> None:
    ran = home.run("login", instance.url, typed=typed)
    assert ran.returncode == code, ran.stderr
    assert says in ran.stderr
    assert not home.logins.exists()


def test_nobody_listens(home: Home) -> None:
    ran = home.run("login", "http://127.0.0.1:9", typed=TOKEN)
    assert ran.returncode == 3
    assert "127.0.0.1:9" in ran.stderr
    assert not home.logins.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["login", TOKEN], id="in place of the address"),
        pytest.param(["login", "sg.example.com", TOKEN], id="after the address"),
        pytest.param(["login", f"--token={TOKEN}"], id="as an option"),
        pytest.param(["login", "--token", TOKEN], id="as an option in two words"),
        pytest.param(["logout", TOKEN], id="to log out"),
    ],
)
def test_a_token_is_no_argument(home: Home, arguments: list[str]) -> None:
    ran = home.run(*arguments)  # nothing said repeats the token
    assert ran.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["login"], "Name the address", id="no address"),
        pytest.param(["login", "ftp://a"], "must begin with https://", id="another scheme"),
        pytest.param(["login", "a b"], "must be an address", id="no address at all"),
        pytest.param(["logout", "a.example"], "There is no login to https://a.example", id="none"),
    ],
)
def test_arguments_that_make_no_sense(home: Home, arguments: list[str], says: str) -> None:
    ran = home.run(*arguments)
    assert ran.returncode == 2
    assert says in ran.stderr


# ---- logging out


def test_logging_out_leaves_nothing_behind(home: Home, instance: StandIn) -> None:
    with running_stand_in(pages={USER: user("bob")}) as other:
        assert home.run("login", other.url, typed=TOKEN).returncode == 0
        home.with_keyring("Remembering")
        assert home.run("login", instance.url, typed=TOKEN).returncode == 0
        assert home.known() == [other.url, instance.url]

        ran = home.run("logout")
        assert ran.returncode == 2
        assert "Which login?" in ran.stderr
        assert other.url in ran.stderr

        ran = home.run("logout", instance.url)
        assert ran.returncode == 0, ran.stderr
        assert "stays valid until you revoke it" in ran.stderr
        assert json.loads(home.keyring.read_text()) == {}
        assert home.known() == [other.url]

        assert home.run("login", instance.url, typed=TOKEN).returncode == 0
        ran = home.run("logout", "--all")
        assert ran.returncode == 0, ran.stderr
        assert list(home.logins.parent.iterdir()) == []
        assert TOKEN not in home.written()
        ran = home.run("logout", "--all")
        assert (ran.returncode, ran.stderr) == (0, "There is no login.\n")


def test_a_keyring_that_does_not_let_go_is_told(home: Home, instance: StandIn) -> None:
    home.with_keyring("Remembering")
    assert home.run("login", instance.url, typed=TOKEN).returncode == 0
    ran = home.with_keyring("Locked").run("logout", "--all")
    assert ran.returncode == 3
    assert 'still in the system\'s keyring, where it is an entry of "lsp-completions"' in ran.stderr
    assert home.known() == [instance.url]  # so that it can be tried again
    assert home.with_keyring("Remembering").run("logout").returncode == 0
    assert TOKEN not in home.written()


def test_a_later_login_takes_the_place_of_an_earlier_one(home: Home, instance: StandIn) -> None:
    assert home.run("login", instance.url, typed=TOKEN).returncode == 0
    home.with_keyring("Remembering")
    assert home.run("login", instance.url, typed=TOKEN).returncode == 0
    assert TOKEN not in home.logins.read_text()
    assert home.known() == [instance.url]


# ---- on a terminal


@on_unix
def test_the_token_is_not_shown_on_a_terminal(home: Home, instance: StandIn) -> None:
    import pty

    terminal, theirs = pty.openpty()
    started = subprocess.Popen(
        [*COMMAND, "login"],
        cwd=home.folder,
        env=home.env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = ""
    try:
        shown += _until(terminal, "Address of your Sourcegraph instance")
        os.write(terminal, f"{instance.url}\n".encode())
        shown += _until(terminal, "Access token:")
        os.write(terminal, f"{TOKEN}\n".encode())
        shown += _until(terminal, "Logged in")
        shown += _until(terminal, None)
        assert started.wait(TIMEOUT) == 0
    finally:
        os.close(terminal)
        started.kill()
        started.wait()
    assert TOKEN not in shown
    assert home.known() == [instance.url]


def _until(terminal: int, wanted: str | None) -> str:
    """What a terminal shows until something stands there, or until the program ends."""
    shown = ""
    while wanted is None or wanted not in shown:
        ready, _, _ = select.select([terminal], [], [], TIMEOUT)
        assert ready, shown
        try:
            chunk = os.read(terminal, 4096)
        except OSError:  # Linux: the other end is closed
            chunk = b""
        if not chunk:
            assert wanted is None, shown
            break
        shown += chunk.decode()
    return shown
