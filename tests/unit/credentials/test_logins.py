"""The file with the logins, and the system's keyring."""

import json
import stat
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest

from lsp_completions.credentials import keychain
from lsp_completions.credentials.logins import Login, Logins
from lsp_completions.errors import ConfigurationError
from lsp_completions.secret import Secret
from tests.support import keyrings

URL = "https://sg.example.com"


def login(endpoint: str = URL, token: str | None = None) -> Login:
    kept = None if token is None else Secret(token)
    return Login(endpoint=endpoint, user="ada", since=date(2026, 5, 3), token=kept)


def test_they_come_back_as_they_were(tmp_path: Path) -> None:
    logins = Logins(tmp_path / "a" / "b")
    assert (logins.all(), logins.stamp()) == ([], None)
    logins.add(login())
    first = logins.stamp()
    logins.add(login("https://b", "sgp_secret"))
    assert Logins(tmp_path / "a" / "b").all() == [login(), login("https://b", "sgp_secret")]
    assert logins.stamp() not in (None, first)
    logins.add(login(URL, "sgp_2"))
    assert logins.all() == [login("https://b", "sgp_secret"), login(URL, "sgp_2")]
    logins.remove("https://b")
    logins.remove("https://c")
    assert logins.all() == [login(URL, "sgp_2")]
    logins.remove(URL)
    assert (logins.all(), logins.stamp()) == ([], None)
    logins.clear()
    assert list((tmp_path / "a" / "b").iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda logins: logins.add(login("https://b", "sgp_2")), id="a login"),
        pytest.param(lambda logins: logins.remove(URL), id="a logout"),
        pytest.param(lambda logins: logins.clear(), id="the last logout"),
    ],
)
def test_no_token_stays_of_a_login_that_was_broken_off(
    tmp_path: Path, change: Callable[[Logins], None]
) -> None:
    logins = Logins(tmp_path)
    logins.add(login(URL, "sgp_1"))
    (tmp_path / ".logins-abc").write_text("sgp_secret")
    change(logins)
    assert not [each for each in tmp_path.iterdir() if "sgp_secret" in each.read_text()]


@pytest.mark.skipif(sys.platform == "win32", reason="modes of Unix")
def test_only_the_user_may_read_it_whatever_it_was_before(tmp_path: Path) -> None:
    logins = Logins(tmp_path)
    logins.file.write_text("{}")
    logins.file.chmod(0o644)
    logins.add(login(URL, "sgp_secret"))
    assert stat.S_IMODE(logins.file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "held",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"logins": 7}', id="a number of them"),
        pytest.param(b'{"logins": [7, {}, {"endpoint": "a"}]}', id="none of ours"),
        pytest.param(b'{"logins": [{"endpoint": "", "since": "2026-05-03"}]}', id="no address"),
        pytest.param(b'{"logins": [{"endpoint": "a", "since": "once"}]}', id="no date"),
    ],
)
def test_a_broken_file_holds_no_login(tmp_path: Path, held: bytes) -> None:
    logins = Logins(tmp_path)
    logins.file.write_bytes(held)
    assert logins.all() == []
    logins.add(login())
    assert logins.all() == [login()]


def test_all_who_log_in_at_once_are_kept(tmp_path: Path) -> None:
    names = [f"https://{number}" for number in range(8)]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: Logins(tmp_path).add(login(name)), names))
    assert sorted(each.endpoint for each in Logins(tmp_path).all()) == names


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="could not be written"):
        Logins(tmp_path / "file").add(login(URL, "sgp_secret"))


def test_what_fails_half_way_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logins = Logins(tmp_path)
    logins.add(login())

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ConfigurationError, match="No space left"):
        logins.add(login("https://b", "sgp_secret"))
    assert logins.all() == [login()]
    assert not [each for each in tmp_path.iterdir() if "sgp_secret" in each.read_text()]


# ---- the keyring


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    monkeypatch.setenv("FAKE_KEYRING", str(tmp_path / "keyring.json"))

    def choose(name: str) -> None:
        monkeypatch.setattr("keyring.get_keyring", getattr(keyrings, name))
        for function in ("get_password", "set_password", "delete_password"):
            chosen = getattr(keyrings, name)()
            monkeypatch.setattr(f"keyring.{function}", getattr(chosen, function))

    return choose


def test_the_keyring_keeps_a_token(keyring: Callable[[str], None]) -> None:
    keyring("Remembering")
    assert keychain.read(URL) is None
    keychain.keep(URL, Secret("sgp_1"))
    assert keychain.read(URL) == Secret("sgp_1")
    assert keyrings.entries() == {f"lsp-completions {URL}": "sgp_1"}
    keychain.forget(URL)
    keychain.forget(URL)
    assert keychain.read(URL) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("Hanging", r"it did not answer within 0\.05 seconds", id="it hangs"),
        pytest.param("Broken", r"it failed \(RuntimeError\)", id="it fails"),
        pytest.param("Forgetful", "it does not keep what it is given", id="it forgets"),
        pytest.param("Careless", "there is none on this machine", id="it writes anywhere"),
    ],
)
def test_a_keyring_may_be_of_no_use(keyring: Callable[[str], None], name: str, why: str) -> None:
    keyring(name)
    patience = 0.05 if name == "Hanging" else 20
    with pytest.raises(keychain.NoKeyring, match=why) as raised:
        keychain.keep(URL, Secret("sgp_secret"), patience=patience)
    assert "secret" not in str(raised.value)


def test_there_may_be_none_at_all() -> None:
    with pytest.raises(keychain.NoKeyring, match="there is none on this machine"):
        keychain.read(URL)


def test_the_package_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keychain, "is_installed", lambda: False)
    with pytest.raises(keychain.NoKeyring, match="the extra `keyring`"):
        keychain.read(URL)


def test_no_file_holds_what_the_keyring_does(tmp_path: Path) -> None:
    Logins(tmp_path).add(login())
    (held,) = json.loads((tmp_path / "logins.json").read_text())["logins"]
    assert held == {"endpoint": URL, "user": "ada", "since": "2026-05-03"}
