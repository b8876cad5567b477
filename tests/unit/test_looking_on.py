"""What the commands that look on print, and what a report leaves out."""

import sys
from typing import Any

import pytest

from lsp_completions.cli.report import Neutral, servers, settings_in_force
from lsp_completions.cli.servers import about, memory_of, newest, table, what
from lsp_completions.settings import resolve
from tests.support.terminal import Tty

SETTINGS, _ = resolve(
    [
        (
            "a test",
            {
                "provider": "openai",
                "endpoint": "https://sg.corp.example",
                "url": "https://llm.corp.example:8443/v1",
                "proxy": "http://me:pw@proxy.corp.example:3128",
                "model": "fireworks::v1::deepseek-coder",
                "exclude": ["/secret/", "*.sql"],
                "accessToken": "sgp_0123456789",
                "maxTokens": 99,
                "logFile": False,
            },
        )
    ]
)


@pytest.mark.parametrize(
    ("sentence", "neutral"),
    [
        pytest.param(
            "https://sg.corp.example/x?y=1 answered 404.",
            "https://HOST answered 404.",
            id="an address",
        ),
        pytest.param("llm.corp.example:8443 is slow.", "HOST:8443 is slow.", id="a host"),
        pytest.param("By way of proxy.corp.example.", "By way of HOST.", id="at the end"),
        pytest.param(
            "http://127.0.0.1:11434 answered.", "http://127.0.0.1:11434 answered.", id="ourselves"
        ),
        pytest.param("Signed in as ada.", "Signed in as USER.", id="a user"),
        pytest.param("It is logged in as ada@x.org.", "It is logged in as USER.", id="an e-mail"),
        pytest.param(
            "Read /home/ada/work/a.py (ours), not C:\\Users\\ada\\b.",
            "Read PATH (ours), not PATH.",
            id="paths",
        ),
        pytest.param("~/src/secret is kept back.", "PATH is kept back.", id="below the home"),
        pytest.param('Set "xyz" to "a b".', 'Set "…" to "…".', id="what is quoted"),
        pytest.param(
            "This is github.com/corp/secret.", "This is REPOSITORY.", id="a repository's name"
        ),
        pytest.param(
            "First text after 231 ms, 3/4 of it.", "First text after 231 ms, 3/4 of it.", id="else"
        ),
    ],
)
def test_sentences_are_made_neutral(sentence: str, neutral: str) -> None:
    assert Neutral(SETTINGS, ["ada"])(sentence) == neutral


def test_settings_without_what_they_say_of_anybody() -> None:
    assert sorted(settings_in_force(SETTINGS)) == [
        "- accessToken: set, and kept to yourself",
        "- endpoint: set",
        "- exclude: 2 of them",
        "- logFile: false",
        "- maxTokens: 99",
        "- model: fireworks::v1::deepseek-coder",
        "- provider: openai",
        "- proxy: set",
        "- url: set",
    ]


@pytest.mark.parametrize(
    ("model", "named"),
    [
        pytest.param("/home/ada/models/x.gguf", "x.gguf", id="a path"),
        pytest.param("C:\\Users\\ada\\x.gguf", "x.gguf", id="a path in Windows"),
        pytest.param("mistralai/Codestral-22B-v0.1", "mistralai/Codestral-22B-v0.1", id="a name"),
    ],
)
def test_a_model_s_path_is_not_told(model: str, named: str) -> None:
    set_to, _ = resolve([("a test", {"model": model.replace("\\", "/")})])
    assert settings_in_force(set_to) == [f"- model: {named}"]
    server = {"status": {"state": "ready", "provider": "openai", "model": model}}
    said = servers([server], Neutral(SETTINGS, []))
    assert any(line.endswith(f"model {named}.") for line in said)


def outcome(at: float, reason: str | None = None, **other: Any) -> dict[str, Any]:
    return {
        "at": at,
        "method": "inline",
        "path": "src/a.py",
        "line": 12,
        "reason": reason,
        "message": "The model had nothing to add." if reason else None,
        "times": {"answered": 123.4},
        "how": "asked anew",
        "lines": 1,
        "characters": 1,
        "fate": None if reason else "nothing yet",
        **other,
    }


def test_the_table_has_a_line_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Tty())
    lines = "\n".join(
        table(
            [
                outcome(0, "empty", method="menu"),
                outcome(1, lines=3, fate="accepted", path="a/long/path/" * 5 + "b.py"),
            ]
        )
    ).splitlines()
    # The time of day is that of where the test runs.
    assert [line[8:] for line in lines] == [
        "      ms  where                       what",
        "     123  src/a.py:12                 menu: The model had nothing to",
        f"{'':38}add.",
        "     123  …/path/a/long/path/b.py:12  suggested 3 lines; accepted",
        f"{'':38}(asked anew)",
    ]
    assert max(map(len, lines)) < 80


def test_who_typed_on_is_left_out_unless_wanted() -> None:
    servers = [
        {"pid": 1, "outcomes": [outcome(3, "superseded"), outcome(1)]},
        {"pid": 2, "outcomes": [outcome(2, "empty")]},
    ]
    assert [(each["pid"], each["at"]) for each in newest(servers, everything=False)] == [
        (2, 2),
        (1, 1),
    ]
    assert len(newest(servers, everything=True)) == 3


@pytest.mark.parametrize(
    ("told", "words"),
    [
        pytest.param(outcome(0), "suggested 1 character", id="one character"),
        pytest.param(
            outcome(0, characters=9, fate="accepted"), "suggested 9 characters; accepted", id="fate"
        ),
        pytest.param(outcome(0, lines=2), "suggested 2 lines", id="lines"),
        pytest.param(outcome(0, "empty"), "The model had nothing to add.", id="nothing"),
    ],
)
def test_what_came_of_it(told: dict[str, Any], words: str) -> None:
    assert what(told) == words


def test_a_server_that_has_just_started_is_shown() -> None:
    assert about({"pid": 7, "started": 10.0, "since": 10.0, "status": None}, 12.0) == [
        "An editor, process 7, started 2 seconds ago",
        "  Just started, for 2 seconds",
    ]


def test_a_server_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Tty())
    folder = "/home/ada/some of her projects/" + "long/" * 20
    lines = about(
        {
            "pid": 1234567,
            "editor": "Visual Studio Code - Insiders",
            "editorVersion": "1.109.0-insider",
            "memory": 45_600_000,
            "workspace": [folder],
            "status": {"state": "error", "message": "No way. " * 20, "provider": "x"},
            "log": folder,
        },
        12.0,
    )
    shown = "\n".join(lines).splitlines()
    paths = [line for line in shown if "long/long" in line]
    assert paths == [f"  in {folder}", f"  log {folder}"]
    assert max(len(line) for line in shown if line not in paths) < 80


def test_what_a_server_has_to_say_is_said_once() -> None:
    message = "The model had nothing to add."
    lines = about(
        {
            "pid": 7,
            "editor": "Helix",
            "memory": 45_600_000,
            "status": {"state": "warning", "message": message, "provider": "x", "model": "y"},
            "outcomes": [outcome(5, "cancelled"), outcome(4, "empty")],
            "log": "/var/x.log",
        },
        12.0,
    )
    assert lines == [
        "Helix, process 7, started some time ago, 46 MB of memory",
        f"  Suggestions may not come, for some time, asking x (y): {message}",
        "  last 8 seconds ago, in src/a.py:12: the same",
        "  log /var/x.log",
    ]


def test_nobodys_memory_is_not_known() -> None:
    assert memory_of(2**22 + 1) is None
