"""Clients written for Copilot's server, and what all clients report: as they do it on the wire."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_completions import INLINE, MENU, NEOVIM, SERVER, Editor, running_editor, texts
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import Answer, Gate, rate_limited, refusal

EXECUTE = "workspace/executeCommand"
COPILOT_EL: dict[str, Any] = {
    "capabilities": {
        "workspace": {"workspaceFolders": True},
        "textDocument": {"inlineCompletion": {"dynamicRegistration": False}},
        "copilot": {"ipCodeCitation": False, "watchedFiles": False},
    },
    "workspaceFolders": [{"uri": "file:///w", "name": "w"}],
    "initializationOptions": {
        "editorInfo": {"name": "Emacs", "version": "30.1"},
        "editorPluginInfo": {"name": "copilot.el", "version": "0.5.0"},
        "networkProxy": {"host": "127.0.0.1", "port": 9},
    },
}


@pytest.fixture
def emacs() -> Iterator[Editor]:
    yield from running_editor(**COPILOT_EL)


def asks(at: dict[str, Any], kind: int = 2) -> dict[str, Any]:
    """A request in the manner of copilot.el: no version, but how the text is indented."""
    return {
        "textDocument": {"uri": at["textDocument"]["uri"]},
        "position": at["position"],
        "context": {"triggerKind": kind},
        "formattingOptions": {"tabSize": 4, "insertSpaces": True},
    }


def normalized(answer: Any) -> list[dict[str, Any]]:
    """The items, as copilot.el takes them: a list, or an object with one."""
    return answer if isinstance(answer, list) else answer["items"]


def inserted(client: LspClient, at: dict[str, Any], item: dict[str, Any], version: int) -> Any:
    """The editor makes the change; returns the request at its end."""
    change = {"range": item["range"], "text": item["insertText"]}
    document = {**at["textDocument"], "version": version}
    client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
    lines = item["insertText"].split("\n")
    start = item["range"]["start"]
    line = start["line"] + len(lines) - 1
    character = len(lines[-1]) + (start["character"] if len(lines) == 1 else 0)
    return {**asks(at), "position": {"line": line, "character": character}}


def test_a_session_of_copilot_el(emacs: Editor) -> None:
    client = emacs.client
    settings = {"telemetry": {"telemetryLevel": "off"}, "github": {"copilot": {"x": 1}}, "mcp": {}}
    client.notify("workspace/didChangeConfiguration", {"settings": settings})
    emacs.says("call(")
    at = emacs.open("x = <cursor>\n")
    client.notify("textDocument/didFocus", {"textDocument": at["textDocument"]})
    client.notify("textDocument/didFocus", {})
    (item,) = normalized(client.result(INLINE, asks(at)))
    # Items come back stripped to their command.
    stripped = {"item": {"command": item["command"]}}
    client.notify("textDocument/didShowCompletion", stripped)
    client.notify("textDocument/didPartiallyAcceptCompletion", {**stripped, "acceptedLength": 2})
    client.settle()
    assert emacs.asked == 1

    # It reports the acceptance first, then changes the text, then asks.
    emacs.says("1)\n")
    reported = client.send(EXECUTE, item["command"])
    after = inserted(client, at, item, version=2)
    (rest,) = normalized(client.result(INLINE, after))
    assert rest["insertText"] == "1)"
    assert client.take(reported)["result"] is None
    assert emacs.asked == 2
    shown = [each for each in client.waiting() if each.get("method") == "window/showMessage"]
    assert shown == []


def test_accepted_in_parts_to_its_end_what_comes_next_is_on_its_way(emacs: Editor) -> None:
    emacs.says("s = '😀' + (")
    at = emacs.open("<cursor>\n")
    (item,) = normalized(emacs.client.result(INLINE, asks(at)))
    part = {"item": {"command": item["command"]}}
    method = "textDocument/didPartiallyAcceptCompletion"
    for accepted in (3, 11):
        emacs.client.notify(method, {**part, "acceptedLength": accepted})
    emacs.client.settle()
    assert emacs.asked == 1
    emacs.says("t)\n")
    emacs.client.notify(method, {**part, "acceptedLength": 12})
    emacs.instance.wait_until(lambda: emacs.asked == 2)
    start = {"line": 0, "character": 0}
    change = {"range": {"start": start, "end": start}, "text": item["insertText"]}
    document = {**at["textDocument"], "version": 2}
    emacs.client.notify(
        "textDocument/didChange", {"textDocument": document, "contentChanges": [change]}
    )
    after = {**asks(at), "position": {"line": 0, "character": 12}}
    assert texts(emacs.client.result(INLINE, after)) == ["t)"]
    assert emacs.asked == 2


def test_nothing_is_asked_for_what_is_merely_shown(emacs: Editor) -> None:
    emacs.says("call(")
    (item,) = normalized(emacs.client.result(INLINE, asks(emacs.open("x = <cursor>\n"))))
    whole, stripped = {"item": item}, {"item": {"command": item["command"]}}
    told: Any
    for told in (whole, stripped, {"item": {}}, {"item": 3}, {}, None, 3):
        emacs.client.notify("textDocument/didShowCompletion", told)
        emacs.client.notify("textDocument/didPartiallyAcceptCompletion", told)
        emacs.client.notify("textDocument/didFocus", told)
    emacs.client.settle()
    assert emacs.asked == 1


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="plain"),
        pytest.param({"commandSuffix": ".window-2"}, id="with a suffix"),
    ],
)
def test_an_acceptance_reaches_us_by_our_name_and_by_copilots(options: dict[str, Any]) -> None:
    for editor in running_editor(NEOVIM, initializationOptions=options):
        for name in (None, "github.copilot.didAcceptCompletionItem"):
            editor.says("call(")
            (item,) = editor.client.result(INLINE, editor.open("x = <cursor>\n"))["items"]
            command = {**item["command"], "command": name or item["command"]["command"]}
            assert command["command"].endswith(options.get("commandSuffix", "")) or name
            assert editor.client.result(EXECUTE, command) is None
            editor.wait_until_asked(2 if name is None else 4)


def test_copilots_name_is_not_offered_and_ours_bear_the_suffix() -> None:
    with LspClient.start(SERVER) as client:
        result = client.initialize(NEOVIM, initializationOptions={"commandSuffix": "-2"})
        offered = result["capabilities"]["executeCommandProvider"]["commands"]
        assert offered == [
            f"lspCompletions.{name}-2"
            for name in ("didAcceptCompletion", "enable", "disable", "toggle", "why")
        ]
        assert client.stop() == 0


def test_after_an_acceptance_nobody_is_asked_where_the_stream_said_more(emacs: Editor) -> None:
    emacs.says("1\n    b = 2\n    return a\n")
    at = emacs.open("def f():\n    a = <cursor>\n")
    (item,) = normalized(emacs.client.result(INLINE, asks(at)))
    emacs.client.result(EXECUTE, item["command"])
    after = inserted(emacs.client, at, item, version=2)
    assert texts(emacs.client.result(INLINE, after)) == ["\n    b = 2"]
    assert emacs.asked == 1


def test_after_a_limit_nobody_is_asked_ahead(emacs: Editor) -> None:
    emacs.says("call(")
    at = emacs.open("x = <cursor>\n")
    (item,) = normalized(emacs.client.result(INLINE, asks(at)))
    emacs.instance.script = rate_limited("60")
    emacs.client.result(INLINE, asks(emacs.open("y = <cursor>\n")))
    asked = emacs.asked
    emacs.client.result(EXECUTE, item["command"])
    emacs.client.settle()
    emacs.client.result(INLINE, asks(emacs.open("z = <cursor>\n")))
    assert emacs.asked == asked


def test_one_ahead_is_given_up_with_its_document(emacs: Editor) -> None:
    emacs.says("call(")
    at = emacs.open("x = <cursor>\n")
    (item,) = normalized(emacs.client.result(INLINE, asks(at)))
    emacs.says(Gate(), "1)\n")
    emacs.client.result(EXECUTE, item["command"])
    emacs.instance.wait_until(lambda: emacs.asked == 2)
    emacs.client.notify("textDocument/didClose", {"textDocument": at["textDocument"]})
    emacs.instance.wait_until(lambda: len(emacs.instance.hang_ups) == 1)


def test_a_request_about_an_older_text_is_told_so(emacs: Editor) -> None:
    emacs.says("1")
    at = asks(emacs.open("x = <cursor>\n"))
    change = {"range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 0}}}
    document = {**at["textDocument"], "version": 5}
    changes = {"textDocument": document, "contentChanges": [{**change, "text": "y"}]}
    emacs.client.notify("textDocument/didChange", changes)
    for version, expected in ((4, -32801), (5, None), (6, None), (None, None), ("5", None)):
        asked = {**at, "textDocument": {**at["textDocument"], "version": version}, "data": [1]}
        answer = emacs.client.request(INLINE, asked)
        assert answer.get("error", {}).get("code") == expected
        if expected is None:
            assert texts(answer["result"]) == ["1"]


@pytest.mark.parametrize(
    "formatting",
    [
        pytest.param({"tabSize": "4", "insertSpaces": "true"}, id="texts"),
        pytest.param({"tabSize": 0}, id="an odd number"),
        pytest.param(None, id="null"),
        pytest.param([], id="a list"),
    ],
)
def test_what_is_said_about_formatting_is_tolerated(emacs: Editor, formatting: object) -> None:
    emacs.says("1")
    at = {**asks(emacs.open("x = <cursor>\n")), "formattingOptions": formatting}
    assert texts(emacs.client.result(INLINE, at)) == ["1"]


def test_cycling_gives_more_with_ids_of_their_own_and_the_first_stays_first(emacs: Editor) -> None:
    emacs.instance.script = [Answer("call(1)"), Answer("call(2)"), Answer("other(3)")]
    at = emacs.open("x = <cursor> # note\n")
    (first,) = normalized(emacs.client.result(INLINE, asks(at)))
    items = normalized(emacs.client.result(INLINE, asks(at, kind=1)))
    # The two others come as they are answered.
    assert [item["insertText"] for item in items[:1]] == ["call(1)"]
    assert {item["insertText"] for item in items[1:]} == {"call(2)", "other(3)"}
    assert {str(item["range"]) for item in items} == {str(first["range"])}
    ids = [item["command"]["arguments"][0] for item in (first, *items)]
    assert len(set(ids)) == 4
    assert emacs.asked == 3
    # The second of them is accepted: what comes next is asked for after that one.
    emacs.says(" + 1")
    emacs.client.result(EXECUTE, items[1]["command"])
    emacs.instance.wait_until(lambda: emacs.asked == 4 and not emacs.instance.streaming)
    prompt = emacs.instance.completions[-1].json["messages"][0]["text"]
    assert f"x = {items[1]['insertText']}" in prompt
    # A menu is for choosing among sources, not among ours.
    menu = emacs.client.result(MENU, {**asks(at), "context": {"triggerKind": 1}})
    assert [item["textEdit"]["newText"] for item in menu["items"]] == ["call(1)"]


def asked_of(client: LspClient, method: str, params: object = None) -> Any:
    """What is answered: the result, or the sentence of the refusal."""
    answer = client.request(method, params)
    return answer["result"] if "result" in answer else answer["error"]["message"]


def test_who_has_a_token_is_signed_in(emacs: Editor) -> None:
    client = emacs.client
    status = client.expect("didChangeStatus")
    assert status == {"busy": False, "kind": "Normal", "message": ""}
    assert asked_of(client, "checkStatus", {}) == {"status": "OK", "user": "sourcegraph"}
    for method in ("signIn", "signInInitiate", "signInConfirm"):
        told = asked_of(client, method, {"userCode": "1"})
        assert told == {"status": "AlreadySignedIn", "user": "sourcegraph"}
    assert "lsp-completions logout" in asked_of(client, "signOut")


def test_a_token_that_is_refused_signs_nobody_in(emacs: Editor) -> None:
    client = emacs.client
    assert client.expect("didChangeStatus")["kind"] == "Normal"
    emacs.instance.script = refusal(401, "Invalid access token.")
    client.result(INLINE, asks(emacs.open("x = <cursor>\n")))
    while (status := client.expect("didChangeStatus"))["kind"] == "Normal":
        assert status["busy"]  # the refusal takes a while
    assert status["kind"] == "Error"
    assert "token" in status["message"]
    assert asked_of(client, "checkStatus") == {"status": "NotAuthorized"}
    assert "lsp-completions login" in asked_of(client, "signIn")


def test_without_a_token_nobody_is_signed_in(tmp_path: Path) -> None:
    nobody = {"SRC_ENDPOINT": None, "SRC_ACCESS_TOKEN": None}
    with LspClient.start(SERVER, env=nobody) as client:
        client.initialize(
            COPILOT_EL["capabilities"],
            initializationOptions={
                **COPILOT_EL["initializationOptions"],
                "provider": "sourcegraph",
            },
        )
        client.expect("didChangeStatus")
        client.settle()
        assert asked_of(client, "checkStatus") == {"status": "NotSignedIn"}
        assert "lsp-completions login" in asked_of(client, "signIn", {})
        assert asked_of(client, "signOut") == {"status": "NotSignedIn"}
        assert client.stop() == 0


def test_switched_off_is_a_status_and_other_clients_are_told_none(emacs: Editor) -> None:
    client = emacs.client
    client.expect("didChangeStatus")
    client.result(EXECUTE, {"command": "lspCompletions.disable"})
    assert client.expect("didChangeStatus")["kind"] == "Inactive"
    client.result(EXECUTE, {"command": "lspCompletions.enable"})
    assert client.expect("didChangeStatus")["kind"] == "Normal"
    for editor in running_editor(NEOVIM):
        editor.says("1")
        editor.client.result(INLINE, editor.open("x = <cursor>\n"))
        editor.client.settle()
        told = [each.get("method") for each in editor.client.waiting()]
        assert "didChangeStatus" not in told
