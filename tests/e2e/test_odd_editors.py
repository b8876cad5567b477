"""Editors that say odd things to the real process, and do them: it answers, and completes."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.test_completions import INLINE, MENU, Editor, running_editor, texts
from tests.support.lsp_client import framed, notification_message, request_message

# All that is known to have gone wrong with somebody's `initialize`, at once.
ODD: dict[str, Any] = {
    "general": {
        "positionEncodings": ["utf-7", 5, "utf-8"],
        "staleRequestSupport": {"cancel": True},
    },
    "workspace": {
        "symbol": {"symbolKind": {"valueSet": [1, 999]}},
        "workspaceEdit": {"resourceOperations": ["copy"]},
        "executeCommand": None,
        "configuration": "yes",
    },
    "textDocument": {
        "inlineCompletion": True,
        "documentSymbol": None,
        "semanticTokens": {"formats": ["absolute"], "requests": 1},
        "completion": {
            "completionItem": {
                "tagSupport": {"valueSet": [9]},
                "insertTextModeSupport": {"valueSet": [1, 7, "x"]},
                "documentationFormat": ["asciidoc"],
                "snippetSupport": "perhaps",
            }
        },
    },
    "window": {"showMessage": [], "workDoneProgress": 1},
}


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    yield from running_editor(
        ODD,
        clientInfo={"version": 3},
        trace="loud",
        workDoneToken=[1],
        workspaceFolders=[{"uri": "file:///w"}, {"name": "nowhere"}, None, 7],
        initializationOptions={"menu": "on", "surprise": {"jsonrpc": "2.0", "id": 1}},
    )


def is_well(editor: Editor) -> None:
    """The next request works."""
    editor.says("1")
    at = editor.open("x = <cursor>\n")
    assert texts(editor.client.result(INLINE, at)) == ["1"]
    editor.client.notify("textDocument/didClose", {"textDocument": at["textDocument"]})


def test_it_is_initialized_and_completes(editor: Editor) -> None:
    is_well(editor)


ELSEWHERE = {"uri": "file:///w/never opened.py", "version": 4}
DEEP: Any = None
for _ in range(300):
    DEEP = {"lspCompletions": [DEEP]}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        pytest.param(
            "textDocument/didChange",
            {"textDocument": ELSEWHERE, "contentChanges": [{"text": "x"}]},
            id="a change of a document that is not open",
        ),
        pytest.param(
            "textDocument/didChange",
            {"textDocument": ELSEWHERE, "contentChanges": [{"range": None, "text": "x"}]},
            id="a range that is null",
        ),
        pytest.param(
            "textDocument/didClose",
            {"textDocument": ELSEWHERE},
            id="the end of a document that is not open",
        ),
        pytest.param("textDocument/didSave", {"textDocument": ELSEWHERE}, id="a save"),
        pytest.param("textDocument/didOpen", {"textDocument": None}, id="no document opened"),
        pytest.param(
            "workspace/didChangeWorkspaceFolders",
            {"event": {"added": [{"uri": "%"}, None], "removed": [3]}},
            id="odd folders",
        ),
        pytest.param("workspace/didChangeWorkspaceFolders", {"event": []}, id="no folders"),
        pytest.param(
            "workspace/didChangeConfiguration", {"settings": DEEP}, id="settings nested deeply"
        ),
        pytest.param(
            "workspace/didChangeConfiguration",
            {"settings": {"lspCompletions": {"maxTokens": 10**300, "delay": 1e308}}},
            id="settings with huge numbers",
        ),
        pytest.param("workspace/didChangeWatchedFiles", {"changes": 1}, id="watched files"),
        pytest.param("notebookDocument/didOpen", {"notebookDocument": {}}, id="a notebook"),
        pytest.param("initialized", {"again": True}, id="initialized once more"),
        pytest.param("$/setTrace", {"value": "loud"}, id="a trace"),
        pytest.param("textDocument/didFocus", {"textDocument": 1}, id="a focus on nothing"),
        pytest.param("textDocument/didShowCompletion", None, id="nothing was shown"),
    ],
)
def test_an_odd_notification_costs_itself(editor: Editor, method: str, params: object) -> None:
    editor.client.notify(method, params)
    editor.client.settle()
    editor.client.notify("workspace/didChangeConfiguration", {"settings": {"lspCompletions": {}}})
    is_well(editor)


FAR = 2**31 - 1


@pytest.mark.parametrize("method", [INLINE, MENU])
@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"position": {"line": 0, "character": 4.0}}, id="a float"),
        pytest.param({"position": {"line": FAR, "character": FAR}}, id="far beyond the end"),
        pytest.param({"position": {"line": 10**300, "character": 10**300}}, id="further still"),
        pytest.param({"position": {"line": -1, "character": 0}}, id="before the beginning"),
        pytest.param({"position": [0, 4]}, id="a pair"),
        pytest.param({"textDocument": {"uri": ""}}, id="a document without a name"),
        pytest.param({"textDocument": {"uri": "\ud800"}}, id="half a pair for a name"),
        pytest.param({"textDocument": {"uri": "%ff%fe://" + "x" * 70_000}}, id="a long name"),
        pytest.param({"textDocument": {}}, id="no name"),
        pytest.param({"context": None}, id="no context"),
        pytest.param({"context": {"triggerKind": 99, "triggerCharacter": 3}}, id="odd context"),
        pytest.param(
            {"context": {"triggerKind": 1, "selectedCompletionInfo": {"text": "x"}}},
            id="a selection without a range",
        ),
        pytest.param({"options": None, "workDoneToken": [], "partialResultToken": 1}, id="more"),
    ],
)
def test_an_odd_request_is_answered(editor: Editor, method: str, odd: dict[str, Any]) -> None:
    editor.says("1")
    at = editor.open("x = <cursor>\n")
    answer = editor.client.request(method, {**at, **odd})
    if "error" in answer:
        assert answer["error"]["code"] == -32602
    else:
        assert isinstance(answer["result"]["items"], list)
    editor.client.notify("textDocument/didClose", {"textDocument": at["textDocument"]})
    is_well(editor)


def test_a_storm_of_twins_and_cancels_is_answered_one_by_one(editor: Editor) -> None:
    editor.says("1")
    at = editor.open("x = <cursor>\n")
    data = b""
    for _ in range(100):
        data += framed(request_message("twin", INLINE, at))
        data += framed(notification_message("$/cancelRequest", {"id": "twin"}))
        data += framed(request_message("twin", MENU, at))
        data += framed(notification_message("$/cancelRequest", {"id": "other"}))
        data += framed(notification_message("$/cancelRequest", {"id": "twin"}))
    before = editor.asked
    editor.client.send_bytes(data)
    answers = [editor.client.take("twin") for _ in range(200)]
    assert {answer["error"]["code"] for answer in answers} == {-32800}
    is_well(editor)
    assert editor.asked - before <= 2
    assert not [each for each in editor.client.waiting() if "id" in each]
