"""Whose name goes along with the requests of real servers."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.home import COMMAND, USER, Home, user
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import TOKEN, Answer, StandIn, running_stand_in

INLINE = "textDocument/inlineCompletion"
URI = "file:///w/a.py"
AT = {
    "textDocument": {"uri": URI},
    "position": {"line": 0, "character": 4},
    "context": {"triggerKind": 2},
}
# The small model, which may be there, would answer in the place of an instance.
SOURCEGRAPH = 'provider = "sourcegraph"\nlogLevel = "debug"\n'


@pytest.fixture
def instance() -> Iterator[StandIn]:
    with running_stand_in(Answer("42\n"), pages={USER: user()}) as instance:
        yield instance


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.configure(SOURCEGRAPH)
    return home


@contextmanager
def server(home: Home, **env: str) -> Iterator[LspClient]:
    with LspClient.start(COMMAND, env={**home.env, **env}, cwd=home.folder) as client:
        client.initialize({"textDocument": {"inlineCompletion": {}}})
        document = {"uri": URI, "languageId": "python", "version": 1, "text": "x = \n"}
        client.notify("textDocument/didOpen", {"textDocument": document})
        yield client
        assert client.stop() == 0
        for unwanted in (TOKEN, "Traceback", "never awaited", "sgp_old"):
            assert unwanted not in client.all_stderr() + json.dumps(client.waiting())
        assert client.junk == b""


def texts(client: LspClient) -> list[str]:
    return [item["insertText"] for item in client.result(INLINE, AT)["items"]]


def told(client: LspClient) -> str:
    """The next message to the user."""
    message: str = client.expect("window/showMessage")["message"]
    return message


@pytest.mark.parametrize(
    "keyring", [pytest.param("Remembering", id="a keyring"), pytest.param("", id="a file")]
)
def test_running_servers_notice_a_login_and_a_logout(
    home: Home, instance: StandIn, keyring: str
) -> None:
    if keyring:
        home.with_keyring(keyring)
    with server(home) as one, server(home) as other:
        for client in (one, other):
            assert texts(client) == []
            assert "Run `lsp-completions login`" in told(client)
        assert home.run("login", instance.url, typed=TOKEN).returncode == 0
        assert texts(one) == texts(other) == ["42"]
        assert texts(one) == ["42"]
        assert home.run("logout").returncode == 0
        assert texts(one) == texts(other) == []
        assert "Run `lsp-completions login`" in told(one)
        assert home.run("login", instance.url, typed=TOKEN).returncode == 0
        assert texts(one) == texts(other) == ["42"]
    assert {asked.headers["authorization"] for asked in instance.requests} == {f"token {TOKEN}"}


def test_a_new_login_ends_the_wait_after_a_refused_token(home: Home, instance: StandIn) -> None:
    assert home.run("login", instance.url, typed=TOKEN).returncode == 0
    instance.rules = replace(instance.rules, token="sgp_new")
    with server(home) as client:
        assert texts(client) == []
        assert "does not accept the access token" in told(client)
        assert texts(client) == []
        assert home.run("login", instance.url, typed="sgp_new").returncode == 0
        assert texts(client) == ["42"]


def test_a_locked_keyring_is_told(home: Home, instance: StandIn) -> None:
    home.with_keyring("Remembering")
    assert home.run("login", instance.url, typed=TOKEN).returncode == 0
    with server(home.with_keyring("Locked")) as client:
        assert texts(client) == []
        said = told(client)
        assert "is in the system's keyring, which cannot be read: it failed (RuntimeError)" in said
    assert instance.completions == []


def test_a_login_goes_to_no_other_instance(home: Home, instance: StandIn) -> None:
    assert home.run("login", instance.url, typed=TOKEN).returncode == 0
    with (
        running_stand_in(Answer("x\n")) as other,
        server(home, SRC_ENDPOINT=other.url) as client,
    ):
        assert texts(client) == []
        host = other.url.removeprefix("http://")
        assert f"No access token for {host}" in told(client)
        assert other.requests == []


def test_the_configured_instance_chooses_among_logins(home: Home, instance: StandIn) -> None:
    with running_stand_in(Answer("last\n"), pages={USER: user()}) as last:
        assert home.run("login", instance.url, typed=TOKEN).returncode == 0
        assert home.run("login", last.url, typed=TOKEN).returncode == 0
        with server(home) as client:
            assert texts(client) == ["last"]
        with server(home, SRC_ENDPOINT=f"{instance.url}/") as client:
            assert texts(client) == ["42"]


def test_src_cli_s_file(home: Home, instance: StandIn) -> None:
    said = {"endpoint": instance.url, "accessToken": TOKEN, "additionalHeaders": {"x-gate": "1"}}
    (home.folder / "src-config.json").write_text(json.dumps(said))
    with server(home) as client:
        assert texts(client) == ["42"]
    (asked,) = instance.completions
    assert asked.headers["x-gate"] == "1"


def test_headers_of_the_environment_may_say_who_asks(home: Home, instance: StandIn) -> None:
    env = {
        "SRC_ENDPOINT": instance.url,
        "SRC_HEADERS": f'"Authorization: Bearer {TOKEN}\\nX-Gate: 1"',
        "SRC_HEADER_X_USER": "ada",
    }
    with server(home, **env) as client:
        assert texts(client) == ["42"]
    (asked,) = instance.completions
    assert asked.headers["authorization"] == f"Bearer {TOKEN}"
    assert (asked.headers["x-gate"], asked.headers["x_user"]) == ("1", "ada")
    with server(home, **env, SRC_ACCESS_TOKEN=TOKEN) as client:
        assert texts(client) == []
        assert "both an access token and a header Authorization" in told(client)


# ---- a command


class Printer:
    """A command that prints one line after the other of a file, the last one again and again."""

    def __init__(self, folder: Path, *lines: str) -> None:
        self.runs = folder / "runs"
        self.runs.touch()
        said = folder / "said.json"
        said.write_text(json.dumps(lines))
        script = folder / "prints_it.py"
        script.write_text(
            "import json, pathlib\n"
            f"runs = pathlib.Path({str(self.runs)!r})\n"
            "done = len(runs.read_text())\n"
            "runs.write_text('x' * (done + 1))\n"
            f"lines = json.loads(pathlib.Path({str(said)!r}).read_text())\n"
            "print(lines[min(done, len(lines) - 1)])\n"
        )
        self.setting = f"authCommand = {json.dumps([sys.executable, str(script)])}\n"

    @property
    def times(self) -> int:
        return len(self.runs.read_text())


@pytest.mark.parametrize(
    ("line", "authorization"),
    [
        pytest.param(TOKEN, f"token {TOKEN}", id="a token"),
        pytest.param(json.dumps({"token": TOKEN}), f"token {TOKEN}", id="JSON"),
        pytest.param(
            json.dumps({"headers": {"authorization": f"Bearer {TOKEN}"}, "expiration": 9e9}),
            f"Bearer {TOKEN}",
            id="headers",
        ),
    ],
)
def test_a_command_gives_the_token_once_for_all_requests(
    home: Home, instance: StandIn, line: str, authorization: str
) -> None:
    command = Printer(home.folder, line)
    home.configure(f'{SOURCEGRAPH}endpoint = "{instance.url}"\n{command.setting}')
    with server(home) as client:
        sent = [client.send(INLINE, AT) for _ in range(3)]
        assert [client.take(each)["result"] is None for each in sent] == [True, True, False]
        assert texts(client) == ["42"]
    assert command.times == 1
    assert {asked.headers["authorization"] for asked in instance.requests} == {authorization}


def test_a_command_is_asked_once_more_when_the_token_is_refused(
    home: Home, instance: StandIn
) -> None:
    command = Printer(home.folder, "sgp_old", TOKEN)
    home.configure(f'{SOURCEGRAPH}endpoint = "{instance.url}"\n{command.setting}')
    with server(home) as client:
        assert texts(client) == ["42"]
        assert texts(client) == ["42"]
        assert command.times == 2


def test_a_refused_token_is_not_asked_for_at_every_key(home: Home, instance: StandIn) -> None:
    command = Printer(home.folder, "sgp_old")
    home.configure(f'{SOURCEGRAPH}endpoint = "{instance.url}"\n{command.setting}')
    with server(home) as client:
        assert texts(client) == texts(client) == texts(client) == []
        assert "does not accept the access token" in told(client)
    assert command.times == 2


def test_a_command_that_fails_is_told_and_not_run_at_every_key(
    home: Home, instance: StandIn
) -> None:
    command = Printer(home.folder, "two words")
    home.configure(f'{SOURCEGRAPH}endpoint = "{instance.url}"\n{command.setting}')
    with server(home) as client:
        assert texts(client) == texts(client) == []
        assert "The token that `authCommand` printed must be the token alone" in told(client)
    assert command.times == 1
    assert instance.requests == []


def test_a_project_names_no_command(home: Home, instance: StandIn) -> None:
    command = Printer(home.folder, TOKEN)
    home.configure(f'{SOURCEGRAPH}endpoint = "{instance.url}"\n')
    options: dict[str, Any] = {"authCommand": command.setting.partition("= ")[2]}
    with LspClient.start(COMMAND, env=home.env, cwd=home.folder) as client:
        client.initialize({}, initializationOptions=options)
        document = {"uri": URI, "languageId": "python", "version": 1, "text": "x = \n"}
        client.notify("textDocument/didOpen", {"textDocument": document})
        assert texts(client) == []
        assert client.stop() == 0
    assert command.times == 0
