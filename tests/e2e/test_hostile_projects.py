"""Projects whose settings want code and tokens sent elsewhere, as each editor passes them on.

An editor reads them from a file of the project's; what it then says to a server is written out
here. Neither code nor token may arrive, and what the user set must go on working.
"""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_completions import INLINE, NEOVIM, SERVER, Editor, texts
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import TOKEN, Answer, StandIn, running_stand_in

THEIR_TOKEN = "sgp_" + "b" * 40
ASKS: dict[str, Any] = {
    **NEOVIM,
    "workspace": {"configuration": True},
    "window": {"showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}}},
}
DO_NOT_ASK: dict[str, Any] = {**NEOVIM}


@dataclass(frozen=True)
class Words:
    """What an editor says to a server it has started for a project."""

    capabilities: dict[str, Any]
    options: object = None
    configuration: object = None
    pushed: list[object] = field(default_factory=list)


def vs_code(root: Path, hostile: dict[str, object]) -> Words:
    """`vscode-languageclient` answers with the section, and sends it when it changes."""
    file = root / ".vscode" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({f"lspCompletions.{key}": value for key, value in hostile.items()}))
    read = json.loads(file.read_text())
    section = {key.removeprefix("lspCompletions."): value for key, value in read.items()}
    return Words(ASKS, None, section, [{"lspCompletions": section}])


def emacs(root: Path, hostile: dict[str, object]) -> Words:
    """Eglot takes `eglot-workspace-configuration` from there, lsp-mode its own variables."""
    plist = " ".join(f':{key} "{value}"' for key, value in hostile.items())
    (root / ".dir-locals.el").write_text(
        f"((nil . ((eglot-workspace-configuration . (:lspCompletions ({plist}))))))\n"
    )
    return Words({**ASKS, "window": {}}, {}, hostile, [{"lspCompletions": hostile}])


def helix(root: Path, hostile: dict[str, object]) -> Words:
    """The table `config` goes into `initializationOptions`, and again after `initialized`."""
    file = root / ".helix" / "languages.toml"
    file.parent.mkdir()
    lines = [f"{key} = {json.dumps(value)}" for key, value in hostile.items()]
    file.write_text("\n".join(["[language-server.lsp-completions.config]", *lines, ""]))
    config = tomllib.loads(file.read_text())["language-server"]["lsp-completions"]["config"]
    return Words(ASKS, config, None, [config])


def neovim(root: Path, hostile: dict[str, object]) -> Words:
    """With `exrc`: both `init_options` and `settings`, of which a section is asked for."""
    table = ", ".join(f"{key} = {json.dumps(value)}" for key, value in hostile.items())
    (root / ".nvim.lua").write_text(
        f"vim.lsp.config('lsp_completions', {{ init_options = {{ {table} }}, "
        f"settings = {{ lspCompletions = {{ {table} }} }} }})\n"
    )
    return Words(ASKS, hostile, hostile, [{"lspCompletions": hostile}])


def without_questions(root: Path, hostile: dict[str, object]) -> Words:
    """An editor that only pushes, such as older ones and plugins for Vim."""
    return Words(DO_NOT_ASK, hostile, None, [{"lspCompletions": hostile}])


def own_file(root: Path, hostile: dict[str, object]) -> Words:
    """`.lsp-completions.toml`, which is read whatever the editor."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in hostile.items()]
    (root / ".lsp-completions.toml").write_text("\n".join([*lines, ""]))
    return Words(ASKS)


EDITORS = [vs_code, emacs, helix, neovim, without_questions, own_file]
Project = Callable[[Path, dict[str, object]], Words]


@contextmanager
def opened(
    words: Words, own: StandIn, root: Path, answer: object, env: dict[str, str | None] | None = None
) -> Iterator[Editor]:
    """An editor with the project open; `answer` is what its user says to a question."""
    state = root.parent / "state"
    environment: dict[str, str | None] = {
        "SRC_ENDPOINT": own.url,
        "SRC_ACCESS_TOKEN": TOKEN,
        "XDG_STATE_HOME": str(state),
        **(env or {}),
    }
    with LspClient.start(SERVER, env=environment, cwd=root) as client:
        client.answers["workspace/configuration"] = [words.configuration]
        if answer is not UNKNOWN:
            client.answers["window/showMessageRequest"] = answer
        client.initialize(
            words.capabilities, rootUri=root.as_uri(), initializationOptions=words.options
        )
        for pushed in words.pushed:
            client.notify("workspace/didChangeConfiguration", {"settings": pushed})
        yield Editor(client, own)
        assert client.stop() == 0
        for unwanted in (TOKEN, THEIR_TOKEN, "Traceback", "never awaited"):
            assert unwanted not in client.stderr


UNKNOWN = object()  # the editor does not know the request
SEND = {"title": "Send"}
DO_NOT_SEND = {"title": "Don't send"}


def questions(client: LspClient) -> list[dict[str, Any]]:
    return [
        request["params"]
        for request in client.requests
        if request["method"] == "window/showMessageRequest"
    ]


def said(client: LspClient) -> str:
    """All messages the user saw."""
    return "\n".join(
        message["params"]["message"]
        for message in client.waiting()
        if message["method"] == "window/showMessage"
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def own() -> Iterator[StandIn]:
    with running_stand_in(Answer("mine")) as instance:
        yield instance


@pytest.fixture
def attacker() -> Iterator[StandIn]:
    with running_stand_in(Answer("theirs")) as instance:
        yield instance


ACCOUNT: dict[str, object] = {"endpoint": "ADDRESS", "accessToken": THEIR_TOKEN}
ADDRESS: dict[str, object] = {"endpoint": "ADDRESS"}
SERVER_OF_THEIRS: dict[str, object] = {"provider": "openai", "url": "ADDRESS"}
PROXY: dict[str, object] = {"proxy": "ADDRESS"}


@pytest.mark.parametrize(
    ("project", "hostile", "answer"),
    [
        *(pytest.param(each, ACCOUNT, None, id=f"{each.__name__}: an account") for each in EDITORS),
        *(pytest.param(each, ADDRESS, None, id=f"{each.__name__}: an address") for each in EDITORS),
        pytest.param(vs_code, SERVER_OF_THEIRS, UNKNOWN, id="nobody can be asked"),
        pytest.param(helix, SERVER_OF_THEIRS, LspClient.NO_ANSWER, id="nobody answers"),
        pytest.param(neovim, SERVER_OF_THEIRS, DO_NOT_SEND, id="the user says no"),
        pytest.param(vs_code, PROXY, None, id="a proxy"),
    ],
)
def test_no_code_and_no_token_goes_where_a_project_wants_it(
    project: Project,
    hostile: dict[str, object],
    answer: object,
    root: Path,
    own: StandIn,
    attacker: StandIn,
) -> None:
    wishes = {key: attacker.url if value == "ADDRESS" else value for key, value in hostile.items()}
    with opened(project(root, wishes), own, root, answer) as editor:
        for _ in range(2):
            at = editor.open("x = <cursor>\n", uri=f"{root.as_uri()}/{editor.asked}.py")
            assert texts(editor.client.result(INLINE, at)) == ["mine"]
        message = said(editor.client)
        asked = questions(editor.client)
    assert attacker.connections == 0
    assert len(asked) <= 1
    if asked:
        assert f"Send code to {attacker.url}" in asked[0]["message"]
        assert "an opened project may have set that" in asked[0]["message"]
        assert [action["title"] for action in asked[0]["actions"]] == ["Send", "Don't send"]
    if asked and answer in (UNKNOWN, None):
        assert f"lsp-completions trust {attacker.url}" in message
    # Whatever was wished is told once, in one way or the other.
    assert asked or "not used" in message or "does not count from here" in message
    assert not (root.parent / "state" / "lsp-completions" / "trusted-hosts.json").exists()


@pytest.mark.parametrize("project", [vs_code, helix])
def test_a_user_with_nothing_set_is_not_lured_either(
    project: Project, root: Path, own: StandIn, attacker: StandIn
) -> None:
    words = project(root, {"endpoint": attacker.url, "accessToken": THEIR_TOKEN})
    nothing: dict[str, str | None] = {"SRC_ENDPOINT": None, "SRC_ACCESS_TOKEN": None}
    with_own = {**nothing, "XDG_CONFIG_HOME": str(root.parent)}
    (root.parent / "lsp-completions").mkdir()
    (root.parent / "lsp-completions" / "config.toml").write_text('provider = "sourcegraph"\n')
    with opened(words, own, root, DO_NOT_SEND, with_own) as editor:
        at = editor.open("x = <cursor>\n", uri=f"{root.as_uri()}/a.py")
        assert editor.client.result(INLINE, at) == {"items": []}
    assert attacker.connections == own.connections == 0


def test_what_was_approved_of_is_sent_with_its_own_token_and_remembered(
    root: Path, own: StandIn, attacker: StandIn
) -> None:
    hostile: dict[str, object] = {"endpoint": attacker.url, "accessToken": THEIR_TOKEN}
    words = helix(root, hostile)
    list_of_hosts = root.parent / "state" / "lsp-completions" / "trusted-hosts.json"
    for answer in (SEND, UNKNOWN):  # the second time nobody is asked
        with opened(words, own, root, answer) as editor:
            for number in range(200):
                at = editor.open("x = <cursor>\n", uri=f"{root.as_uri()}/{number}.py")
                editor.client.result(INLINE, at)
                if attacker.requests:
                    break
            assert len(questions(editor.client)) == (1 if answer is SEND else 0)
        assert {each.headers["authorization"] for each in attacker.requests} == {
            f"token {THEIR_TOKEN}"
        }
        assert json.loads(list_of_hosts.read_text()) == {"hosts": [attacker.url]}
        if sys.platform != "win32":
            assert list_of_hosts.stat().st_mode & 0o777 == 0o600
        attacker.requests.clear()


def test_running_servers_notice_trust_and_its_end(
    root: Path, own: StandIn, attacker: StandIn
) -> None:
    hostile: dict[str, object] = {"endpoint": attacker.url, "accessToken": THEIR_TOKEN}
    with opened(helix(root, hostile), own, root, None) as editor:
        names = count()
        state = {"XDG_STATE_HOME": str(root.parent / "state")}

        def goes_to() -> str:
            before = len(own.completions)
            at = editor.open("x = <cursor>\n", uri=f"{root.as_uri()}/{next(names)}.py")
            editor.client.result(INLINE, at)
            return "own" if len(own.completions) > before else "attacker"

        assert goes_to() == "own"
        for command, whom in (([], "attacker"), (["--remove"], "own")):
            subprocess.run(
                [*SERVER, "trust", attacker.url, *command],
                env={**os.environ, **state},
                check=True,
                capture_output=True,
                timeout=60,
            )
            assert any(goes_to() == whom for _ in range(200))


def test_a_project_may_have_less_sent_and_more_tidily(root: Path, own: StandIn) -> None:
    words = own_file(root, {"exclude": ["/gen/"], "maxTokens": 7})
    with opened(words, own, root, UNKNOWN) as editor:
        at = editor.open("x = <cursor>\n", uri=f"{root.as_uri()}/gen/a.py")
        assert editor.client.result(INLINE, at) == {"items": []}
        at = editor.open("x = <cursor>\n", uri=f"{root.as_uri()}/a.py")
        assert texts(editor.client.result(INLINE, at)) == ["mine"]
        assert own.completions[-1].json["maxTokensToSample"] == 7
        own_file(root, {"exclude": ["/gen/"], "maxTokens": 9, "multiline": "never"})
        for number in range(200):
            at = editor.open("x = <cursor>\n", uri=f"{root.as_uri()}/{number}.py")
            editor.client.result(INLINE, at)
            if own.completions[-1].json["maxTokensToSample"] == 9:
                break
        else:
            pytest.fail("the change was not noticed")
        assert ".lsp-completions.toml" not in said(editor.client)
