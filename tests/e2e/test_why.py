"""Why there is a suggestion or none, asked of the real process; and how it says things stand."""

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.test_completions import HELIX, INLINE, MENU, NEOVIM, SERVER, Editor, running_editor
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import TOKEN, Answer, Gate, refusal

WHY = "lspCompletions.why"
STATUS = "lspCompletions/status"
BY_ITSELF = {"triggerKind": 2}
FOLLOWS: dict[str, Any] = {
    **NEOVIM,
    "window": {"workDoneProgress": True},
    "experimental": {"lspCompletionsStatus": True},
}


@pytest.fixture
def editor() -> Iterator[Editor]:
    yield from running_editor(FOLLOWS)


def why(editor: Editor, at: dict[str, Any] | None = None) -> dict[str, Any]:
    place = [] if at is None else [{**at["textDocument"], "position": at["position"]}]
    call = {"command": WHY, "arguments": place}
    answer: dict[str, Any] = editor.client.result("workspace/executeCommand", call)
    return answer


def asks(editor: Editor, at: dict[str, Any], method: str = INLINE) -> Any:
    return editor.client.result(method, {**at, "context": BY_ITSELF})


def stands(editor: Editor, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first thing that is told of how things stand and is what a test waits for."""
    while not wanted(told := editor.client.expect(STATUS)):
        pass
    found: dict[str, Any] = told
    return found


def is_(state: str) -> Callable[[dict[str, Any]], bool]:
    return lambda told: told["state"] == state


def test_a_suggestion_is_accounted_for_stage_by_stage(editor: Editor) -> None:
    editor.says("call(1)")
    at = editor.open("x = <cursor>\n", name="src/a.py")
    (item,) = asks(editor, at)["items"]
    answer = why(editor, at)
    entry = answer["entry"]
    times = [each for each in entry["times"].values() if each is not None]
    assert answer["reason"] is None
    assert "a suggestion of 7 characters: nothing yet" in answer["sentence"]
    assert (entry["path"], entry["line"], entry["method"]) == ("src/a.py", 1, "inline")
    assert (entry["how"], entry["provider"]) == ("asked anew", "sourcegraph")
    assert len(times) == 6
    assert times == sorted(times)
    editor.client.result("workspace/executeCommand", item["command"])
    # Without a place it is about the document that the user is in.
    assert why(editor)["entry"]["fate"] == "accepted"


@pytest.mark.parametrize(
    ("drawn", "options", "reason", "helps"),
    [
        pytest.param("a<cursor>b\n", {}, "insideWord", "end of the word", id="inside a word"),
        pytest.param(
            "# a <cursor>\n", {"inComments": False}, "inComment", "inComments", id="where"
        ),
        pytest.param(
            "x = <cursor>\n", {"exclude": ["*.py"]}, "excluded", "exclude", id="kept back"
        ),
        pytest.param(
            "x = <cursor>\n", {"languages": {"python": False}}, "languageOff", "languages", id="off"
        ),
        pytest.param(
            "x = <cursor>\n", {"trigger": "manual"}, "byHandOnly", "by hand", id="by hand only"
        ),
    ],
)
@pytest.mark.parametrize("asked", [True, False], ids=["asked", "not asked"])
def test_what_keeps_suggestions_away(
    drawn: str, options: dict[str, Any], reason: str, helps: str, asked: bool
) -> None:
    for editor in running_editor(FOLLOWS, initializationOptions=options):
        at = editor.open(drawn)
        if asked:
            assert asks(editor, at) == {"items": []}
        answer = why(editor, at)
        assert answer["reason"] == reason
        assert helps in answer["help"]
        assert (answer["entry"] is not None) == asked
        assert ("Nothing was asked here yet" in answer["text"]) != asked


def test_nothing_was_asked_and_nothing_speaks_against_it(editor: Editor) -> None:
    assert why(editor)["reason"] == "unknownDocument"
    answer = why(editor, editor.open("x = <cursor>\n"))
    assert (answer["reason"], answer["entry"]) == (None, None)
    assert "type" in answer["help"]


def test_the_model_had_nothing_to_add(editor: Editor) -> None:
    editor.says("")
    at = editor.open("x = <cursor>\n")
    asks(editor, at)
    answer = why(editor, at)
    assert answer["reason"] == "empty"
    assert answer["entry"]["times"]["firstText"] is None


def test_the_provider_fails_and_is_left_alone(editor: Editor) -> None:
    editor.instance.script = refusal(401, "Invalid access token.")
    at = editor.open("x = <cursor>\n")
    stands(editor, is_("ready"))
    asks(editor, at)
    answer = why(editor, at)
    assert answer["reason"] == "providerFailed"
    assert "check" in answer["help"]
    told = stands(editor, is_("error"))
    assert told["reason"] == "notAuthorized"
    assert told["message"] in answer["sentence"]
    asks(editor, at)
    assert why(editor, at)["reason"] == "backingOff"


def test_a_newer_request_and_one_taken_back(editor: Editor) -> None:
    gate = Gate()
    editor.says(gate, "1")
    at = editor.open("x = <cursor>\n")
    first = editor.client.send(INLINE, {**at, "context": BY_ITSELF})
    editor.wait_until_asked(1)
    second = editor.client.send(INLINE, {**at, "context": BY_ITSELF})
    assert editor.client.take(first)["result"] is None
    assert why(editor, at)["reason"] == "superseded"
    editor.client.cancel(second)
    assert editor.client.take(second)["error"]["code"] == -32800
    assert why(editor, at)["reason"] == "cancelled"
    # Once one has come to something, that is what counts.
    third = editor.client.send(INLINE, {**at, "context": BY_ITSELF})
    gate.open()
    assert editor.client.take(third)["result"]["items"]
    answer = why(editor, at)
    assert answer["reason"] is None
    assert answer["entry"]["how"] == "from a stream that ran already"
    assert answer["entry"]["times"]["sent"] < 0


def test_too_slow_for_a_menu() -> None:
    gate = Gate()
    for editor in running_editor(HELIX, initializationOptions={"menuDeadline": 1.0}):
        at = editor.open("x = <cursor>\n")
        # What may be sent is known from here on.
        editor.client.result(MENU, {**at, "context": {"triggerKind": 1}})
        editor.says(gate, "1")
        at = editor.type(at, "y = ")
        assert asks(editor, at, MENU)["items"] == []
        answer = why(editor, at)
        assert (answer["reason"], answer["entry"]["method"]) == ("tooSlow", "menu")
        gate.open()


def test_nobody_to_ask() -> None:
    with LspClient.start(SERVER, env={"SRC_ENDPOINT": "https://sg.example.com"}) as client:
        options = {"provider": "sourcegraph"}
        client.initialize(FOLLOWS, rootUri="file:///w", initializationOptions=options)
        told = client.expect(STATUS)
        assert (told["state"], told["provider"]) == ("error", "")
        document = {"uri": "file:///w/a.py", "languageId": "python", "version": 1, "text": "x = "}
        client.notify("textDocument/didOpen", {"textDocument": document})
        place = {"uri": "file:///w/a.py", "position": {"line": 0, "character": 4}}
        call = {"command": WHY, "arguments": [place]}
        answer = client.result("workspace/executeCommand", call)
        assert answer["reason"] == "noProvider"
        assert told["message"] in answer["sentence"]
        assert "login" in answer["help"]
        assert client.stop() == 0


def test_nobody_answers_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        host = f"127.0.0.1:{taken.getsockname()[1]}"
        env = {"SRC_ENDPOINT": f"http://{host}", "SRC_ACCESS_TOKEN": TOKEN}
        for editor in running_editor(FOLLOWS, env=env):
            at = editor.open("x = <cursor>\n")
            stands(editor, is_("ready"))
            asks(editor, at)
            told = stands(editor, lambda each: each["state"] in ("warning", "error"))
            assert (told["state"], told["reason"]) == ("warning", "unreachable")
            answer = why(editor, at)
            assert host in answer["sentence"]
            assert answer["reason"] in ("providerFailed", "contextFiltersUnknown")


@pytest.mark.parametrize(
    "arguments", [[3], [{"uri": 3}], [{"uri": "file:///w/a.py", "position": {"line": "x"}}]]
)
def test_places_that_make_no_sense(editor: Editor, arguments: list[Any]) -> None:
    call = {"command": WHY, "arguments": arguments}
    answer = editor.client.request("workspace/executeCommand", call)
    assert answer["error"]["code"] == -32602


def test_how_things_stand_follows_the_user(editor: Editor) -> None:
    assert stands(editor, is_("ready"))["provider"] == "sourcegraph"
    kept = editor.open("A=<cursor>\n", name=".env", language="dotenv")
    told = stands(editor, is_("keptBack"))
    assert told["reason"] == "secretFile"
    assert told["uri"] == kept["textDocument"]["uri"]
    at = editor.open("x = <cursor>\n")
    assert stands(editor, is_("ready"))["uri"] == at["textDocument"]["uri"]
    toggle = {"command": "lspCompletions.toggle", "arguments": [{"language": "python"}]}
    editor.client.result("workspace/executeCommand", toggle)
    assert stands(editor, is_("off"))["reason"] == "switchedOff"


def test_busy_while_somebody_waits(editor: Editor) -> None:
    gate = Gate()
    editor.says(gate, "1")
    at = editor.open("x = <cursor>\n")
    asked = editor.client.send(INLINE, {**at, "context": BY_ITSELF})
    stands(editor, is_("busy"))
    gate.open()
    editor.client.take(asked)
    stands(editor, is_("ready"))


def test_editors_that_do_not_ask_for_it_are_told_nothing() -> None:
    for editor in running_editor(NEOVIM):
        asks(editor, editor.open("x = <cursor>\n"))
        editor.client.settle()
        assert [each["method"] for each in editor.client.waiting() if "method" in each] == []


def test_silence_shows_as_progress(editor: Editor) -> None:
    gate = Gate()
    editor.client.answers["window/workDoneProgress/create"] = None
    editor.says(gate, "1")
    at = editor.open("x = <cursor>\n")
    asked = editor.client.send(INLINE, {**at, "context": BY_ITSELF})
    begun = editor.client.expect("$/progress")
    assert begun["value"]["title"] == f"Waiting for 127.0.0.1:{editor.instance.port}"
    assert stands(editor, is_("starting"))["message"] == begun["value"]["title"]
    gate.open()
    editor.client.take(asked)
    assert editor.client.expect("$/progress")["value"]["kind"] == "end"


def test_copilots_clients_hear_when_we_are_busy() -> None:
    gate = Gate()
    options = {"editorPluginInfo": {"name": "copilot.el", "version": "0.5.0"}}
    for editor in running_editor(NEOVIM, initializationOptions=options):
        editor.instance.script = Answer(gate, "1")
        at = editor.open("x = <cursor>\n")
        asked = editor.client.send(INLINE, {**at, "context": BY_ITSELF})
        while not (told := editor.client.expect("didChangeStatus"))["busy"]:
            pass
        assert (told["kind"], told["message"]) == ("Normal", "")
        gate.open()
        editor.client.take(asked)
        assert not editor.client.expect("didChangeStatus")["busy"]
