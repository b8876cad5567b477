"""`status`, `why`, `log`, `report`, `paths` and `clean`, beside a server that runs."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp_completions.running import running
from tests.e2e.test_completions import INLINE, NEOVIM, SERVER
from tests.support.home import USER as USER_PAGE
from tests.support.home import user as page_of_user
from tests.support.leaks import found, fresh
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import Answer, StandIn, refusal, running_stand_in

TOKEN = fresh("sgp_")
CODE = fresh("quark_")
NAME = fresh("folder_")
BY_ITSELF = {"triggerKind": 2}
EXAMPLE = Path(__file__).parents[1] / "examples" / "unfinished.py"


class User:
    """Somebody with a home of their own, an editor that may run, and a terminal."""

    def __init__(self, home: Path, instance: StandIn) -> None:
        self.home = home
        self.instance = instance
        kinds = ("CONFIG", "STATE", "DATA")
        self.env: dict[str, str | None] = {
            **{f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in kinds},
            "XDG_RUNTIME_DIR": str(home),
            "HOME": str(home),
            "USERPROFILE": str(home),
            "COLUMNS": "80",
        }
        self.config = home / "config" / "lsp-completions" / "config.toml"
        self.config.parent.mkdir(parents=True)
        self.config.write_text(f'endpoint = "{instance.url}"\naccessToken = "{TOKEN}"\n')
        self.workspace = home / NAME
        self.workspace.mkdir()

    def run(self, *arguments: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
        env = {**os.environ, **{name: value for name, value in self.env.items() if value}}
        ran = subprocess.run(
            [*SERVER, *arguments],
            cwd=self.workspace,
            env=env,
            input=typed,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        for secret in (TOKEN, CODE):
            assert not found((ran.stdout + ran.stderr).encode(), secret)
        assert "Traceback" not in ran.stderr
        return ran

    def editor(self, client: LspClient, **options: Any) -> None:
        client.initialize(
            NEOVIM,
            rootUri=self.workspace.as_uri(),
            clientInfo={"name": "Neovim", "version": "0.12.0"},
            initializationOptions=options,
        )

    def opens(self, client: LspClient, name: str, text: str = f"{CODE} = ") -> dict[str, Any]:
        uri = (self.workspace / name).as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        client.notify("textDocument/didOpen", {"textDocument": document})
        at = {"line": 0, "character": len(text)}
        return {"textDocument": {"uri": uri}, "position": at, "context": BY_ITSELF}

    def waits_for(self, outcomes: int) -> dict[str, Any]:
        """The server's own words, once so many outcomes are in them."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            servers = running(self.home / "lsp-completions")
            if servers and len(servers[0]["outcomes"]) >= outcomes:
                for secret in (TOKEN, CODE):
                    assert not found(json.dumps(servers).encode(), secret)
                return servers[0]
            time.sleep(0.02)  # a file tells nobody that it is there
        raise AssertionError("the server tells nothing of itself")


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with running_stand_in(Answer("call(1)\n")) as instance:
        instance.rules = type(instance.rules)(token=TOKEN)
        yield User(tmp_path, instance)


def test_looking_on_from_a_terminal(user: User) -> None:
    with LspClient.start(SERVER, env=user.env) as client:
        user.editor(client)
        user.waits_for(0)
        assert "within 5 seconds what it counts" in user.run("stats").stderr
        client.result(INLINE, user.opens(client, "a.py"))
        client.result(INLINE, user.opens(client, ".env"))
        user.instance.script = refusal(401, f"Invalid access token {TOKEN}: {CODE}")
        client.result(INLINE, user.opens(client, "b.py"))
        server = user.waits_for(3)
        assert server["pid"] == client.process.pid

        ran = user.run("status")
        assert ran.returncode == 0
        assert f"Neovim 0.12.0, process {client.process.pid}, started" in ran.stdout
        assert f"  in ~/{NAME}\n" in ran.stdout
        assert "No suggestions come" in ran.stdout
        (told,) = json.loads(user.run("status", "--json").stdout)["servers"]
        assert told["status"]["state"] == "error"
        assert told["memory"] > 10_000_000
        assert "outcomes" not in told

        ran = user.run("why")
        rows = [line.split()[2] for line in ran.stdout.splitlines() if line[:1].isdigit()]
        assert rows == ["b.py:1", ".env:1", "a.py:1"]
        assert "What helps with the first: Ask by hand" in ran.stdout
        outcomes = json.loads(user.run("why", "--json").stdout)["outcomes"]
        assert [each["reason"] for each in outcomes] == ["providerFailed", "secretFile", None]

        ran = user.run("log")
        assert "inline a.py: suggested" in ran.stdout
        assert "which runs" in ran.stderr

        ran = user.run("clean", "--yes")
        assert ran.returncode == 1
        assert str(client.process.pid) in ran.stderr
        assert client.stop() == 0
    assert user.run("status").returncode == 1
    assert user.run("why").returncode == 1
    assert "suggestions" in user.run("stats").stdout.lower()
    assert "which has ended" in user.run("log").stderr


def test_no_name_of_a_file_s_is_taken_for_a_line_of_the_log(user: User) -> None:
    forged = "2026-01-01 00:00:00.000 INFO inline mine.py: suggested (1 ms)"
    with LspClient.start(SERVER, env=user.env) as client:
        user.editor(client)
        for end in ("\n", "\r", "\u2028"):
            client.result(INLINE, user.opens(client, f"a.py{end}{forged}{end}.py"))
        log = Path(user.waits_for(3)["log"])
        # Editors keep what they show, some of them line by line.
        by_hand = {"context": {"triggerKind": 1}}
        client.result(INLINE, user.opens(client, f"a\n{forged}/.env") | by_hand)
        message = client.expect("window/showMessage")["message"]
        assert forged in message
        assert len(message.splitlines()) == 1
        assert client.stop() == 0
    lines = log.read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if forged in line]) >= 3
    assert not [line for line in lines if line.startswith(forged)]


def test_a_report_names_nobody(user: User) -> None:
    # Nobody has logged in: the token is in the settings file, and the instance knows whose it is.
    owner = fresh("owner_")
    user.instance.pages[USER_PAGE] = page_of_user(owner)
    with LspClient.start(SERVER, env=user.env) as client:
        user.editor(client)
        client.result(INLINE, user.opens(client, f"{NAME}.py"))
        user.waits_for(1)
        ran = user.run("report")
        assert client.stop() == 0
    assert ran.returncode == 0
    for part in ("# Report", "Python 3", "- endpoint: set", "### Neovim 0.12.0", "file.py:1"):
        assert part in ran.stdout
    assert "- accessToken: set, and kept to yourself" in ran.stdout
    assert "| suggested 7 characters |" in ran.stdout
    assert not found(ran.stdout.encode(), NAME)
    assert owner not in ran.stdout
    assert "- ok token: USER's, from PATH." in ran.stdout
    assert str(user.home) not in ran.stdout


def test_no_log_where_none_is_wanted(user: User) -> None:
    with LspClient.start(SERVER, env=user.env) as client:
        user.editor(client, logFile=False)
        client.result(INLINE, user.opens(client, "a.py"))
        assert user.waits_for(1)["log"] is None
        assert client.stop() == 0
    ran = user.run("log")
    assert (ran.returncode, ran.stdout) == (1, "")


def test_clean_leaves_what_the_user_wrote(user: User) -> None:
    with LspClient.start(SERVER, env=user.env) as client:
        user.editor(client)
        client.result(INLINE, user.opens(client, "a.py"))
        user.waits_for(1)
        assert client.stop() == 0
    state = user.home / "state" / "lsp-completions"
    (state / "told-something").touch()
    (state / "mine.txt").write_text("the user's")
    assert user.run("clean", typed="n\n").returncode == 1
    assert (state / "told-something").exists()
    assert user.run("clean", typed="y\n").returncode == 0
    assert [each.name for each in state.iterdir()] == ["mine.txt"]
    assert user.config.exists()
    assert not (user.home / "lsp-completions").exists()
    assert "nothing to remove" in user.run("clean").stderr
    assert user.run("clean", "--config", "--yes").returncode == 0
    assert not user.config.exists()


def test_paths_tell_what_is_there(user: User) -> None:
    ran = user.run("paths")
    assert ran.returncode == 0
    (settings,) = [line for line in ran.stdout.splitlines() if "your settings" in line]
    assert settings.split()[-1] == "~/config/lsp-completions/config.toml"
    assert "not there" not in settings
    listed = json.loads(user.run("paths", "--json").stdout)["paths"]
    assert {each["written"] for each in listed} == {"by us", "by you"}
    assert [each["path"] for each in listed if each["exists"]] == [str(user.config)]


@pytest.mark.parametrize(
    ("place", "code", "says"),
    [
        pytest.param("6:18", 0, "There would be a suggestion: “call(1)”", id="a suggestion"),
        pytest.param("1:5", 0, "While you type there is none", id="by hand only"),
    ],
)
def test_why_at_a_place(user: User, place: str, code: int, says: str) -> None:
    ran = user.run("why", f"{EXAMPLE}:{place}")
    assert says in ran.stdout
    assert ran.returncode == code


def test_why_at_a_place_that_is_kept_back(user: User) -> None:
    (user.workspace / ".env").write_text("A=")
    ran = user.run("why", ".env:1:3")
    assert ran.returncode == 1
    assert "Files of this name hold secrets" in ran.stdout
    assert "What helps: " in ran.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C goes to the whole console there")
def test_following_a_log(user: User) -> None:
    import signal

    with LspClient.start(SERVER, env=user.env) as client:
        user.editor(client)
        client.result(INLINE, user.opens(client, "a.py"))
        user.waits_for(1)
        env = {**os.environ, **{name: value for name, value in user.env.items() if value}}
        with subprocess.Popen(
            [*SERVER, "log", "-f"], env=env, stdout=subprocess.PIPE, encoding="utf-8"
        ) as follower:
            assert follower.stdout is not None
            while "a.py: suggested" not in follower.stdout.readline():
                pass
            client.result(INLINE, user.opens(client, "c.py"))
            while "c.py: suggested" not in follower.stdout.readline():
                pass
            follower.send_signal(signal.SIGINT)
            assert follower.wait(60) == 130
        assert client.stop() == 0
