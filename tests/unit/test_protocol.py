"""What needs no process: registering features, capabilities, editors that initialize oddly."""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from lsp_completions.protocol import Server
from tests.support.extra import extra_path

COMPLETION = types.TEXT_DOCUMENT_COMPLETION


METHODS = ["a", "b", "initialize", "shutdown", "no/such", "$/x", "$/cancelRequest"]


def request(method: str, params: object, *, id: int = 0) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


class Talk:
    """A server without pipes."""

    def __init__(self) -> None:
        self.server = Server("name", "1.0")
        self.sent: list[dict[str, Any]] = []
        self.server.protocol.send = lambda body: self.sent.append(json.loads(body))

    def request(self, method: str, params: object = None) -> dict[str, Any]:
        self.server.protocol.receive([request(method, params)])
        return self.sent.pop()

    def capabilities(self, params: object = None) -> dict[str, Any]:
        found: dict[str, Any] = self.request("initialize", params)["result"]["capabilities"]
        return found


@pytest.fixture
def talk() -> Talk:
    return Talk()


def features(talk: Talk, *methods: str) -> None:
    for method in methods:
        talk.server.feature(method)(lambda params: None)


def test_nothing_is_offered_that_has_no_handler(talk: Talk) -> None:
    assert talk.capabilities() == {
        "positionEncoding": "utf-16",
        "textDocumentSync": {"openClose": False, "change": 2, "save": False},
    }


def test_handlers_are_offered(talk: Talk) -> None:
    features(
        talk,
        types.TEXT_DOCUMENT_DID_OPEN,
        types.TEXT_DOCUMENT_INLINE_COMPLETION,
        types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
        COMPLETION,
    )
    assert talk.capabilities() == {
        "positionEncoding": "utf-16",
        "textDocumentSync": {"openClose": True, "change": 2, "save": False},
        "completionProvider": {},
        "inlineCompletionProvider": {},
        "workspace": {
            "workspaceFolders": {"supported": True, "changeNotifications": True},
            "fileOperations": {},
        },
    }


def test_the_initialize_handler_decides_what_is_offered(talk: Talk) -> None:
    features(talk, COMPLETION, types.TEXT_DOCUMENT_INLINE_COMPLETION)

    @talk.server.feature(types.INITIALIZE)
    def initialize(params: object) -> None:
        assert params == {"processId": None}
        talk.server.position_encoding = "utf-8"
        talk.server.options[COMPLETION] = types.CompletionOptions(trigger_characters=["."])
        commands = types.ExecuteCommandOptions(commands=["a"])
        talk.server.options[types.WORKSPACE_EXECUTE_COMMAND] = commands
        del talk.server.handlers[types.TEXT_DOCUMENT_INLINE_COMPLETION]

    capabilities = talk.capabilities({"processId": None})
    assert capabilities["positionEncoding"] == "utf-8"
    assert capabilities["completionProvider"] == {"triggerCharacters": ["."]}
    assert capabilities["executeCommandProvider"] == {"commands": ["a"]}
    assert "inlineCompletionProvider" not in capabilities


@pytest.mark.parametrize("method", ["shutdown", "exit"])
def test_the_life_cycle_takes_no_handlers(talk: Talk, method: str) -> None:
    with pytest.raises(ValueError, match="on_stop"):
        talk.server.feature(method)


def test_a_method_has_one_handler(talk: Talk) -> None:
    features(talk, COMPLETION)
    with pytest.raises(ValueError, match="already"):
        talk.server.feature(COMPLETION)


def odd_editors() -> Iterator[Any]:
    capabilities: dict[str, object] = {
        "null": None,
        "a list": [],
        "unknown symbol kind": {
            "workspace": {"symbol": {"symbolKind": {"valueSet": [1, 999]}}},
            "textDocument": {"documentSymbol": {"symbolKind": {"valueSet": [999]}}},
        },
        "unknown completion tags and modes": {
            "textDocument": {
                "completion": {
                    "completionItem": {
                        "tagSupport": {"valueSet": [9]},
                        "insertTextModeSupport": {"valueSet": [1, 7]},
                        "documentationFormat": ["asciidoc"],
                    }
                }
            }
        },
        "unknown formats and operations": {
            "textDocument": {"semanticTokens": {"formats": ["absolute"]}},
            "workspace": {"workspaceEdit": {"resourceOperations": ["copy"]}},
        },
        "half of staleRequestSupport": {"general": {"staleRequestSupport": {"cancel": True}}},
        "inline completion true": {"textDocument": {"inlineCompletion": True}},
        "all null": {"textDocument": None, "workspace": None, "general": None, "window": None},
    }
    for name, odd in capabilities.items():
        yield pytest.param({"capabilities": odd}, id=f"capabilities: {name}")
    yield pytest.param(None, id="no params")
    yield pytest.param([], id="params a list")
    yield pytest.param({"processId": "abc"}, id="process id a string")
    yield pytest.param({"processId": True}, id="process id a truth")
    yield pytest.param({"processId": 2**80}, id="process id too large")
    yield pytest.param({"processId": -1}, id="process id negative")
    yield pytest.param({"processId": 0}, id="process id 0")
    yield pytest.param({"clientInfo": {}}, id="a client without a name")
    yield pytest.param({"trace": "loud"}, id="an unknown trace")
    yield pytest.param({"workspaceFolders": [{"uri": "file:///a"}]}, id="a nameless folder")


@pytest.mark.parametrize("params", [*odd_editors()])
def test_odd_editors_are_initialized_all_the_same(talk: Talk, params: object) -> None:
    features(talk, types.TEXT_DOCUMENT_INLINE_COMPLETION)
    assert talk.capabilities(params)["inlineCompletionProvider"] == {}
    assert talk.request("shutdown")["result"] is None


def test_recorded_editors_are_initialized() -> None:
    recorded = [*extra_path("editors/capabilities").glob("*.json")]
    assert recorded
    for file in recorded:
        params = json.loads(file.read_text(encoding="utf-8"))
        assert Talk().capabilities(params.get("params", params))


# ---- laws


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text("ab", max_size=2)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["id", "x"]), inner)
    ),
    max_leaves=4,
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | scalars,
        "id": st.integers(0, 3) | values,
        "method": st.sampled_from(METHODS) | values,
        "params": values,
        "result": values,
        "error": values,
    },
)


@given(st.lists(messages | values, max_size=8))
def test_every_request_gets_one_answer_and_nothing_else_gets_any(stream: list[Any]) -> None:
    talk = Talk()
    talk.server.feature("a")(lambda params: params)
    talk.server.feature("b")(lambda params: params["x"])
    talk.server.protocol.receive([request("initialize", None), *stream])

    wanted = Counter(
        message["id"] for message in stream if isinstance(message, dict) and is_request(message)
    )
    wanted[0] += 1  # initialize
    answers = Counter(answer["id"] for answer in talk.sent)
    del answers[None]
    assert answers == wanted


def is_request(message: dict[str, Any]) -> bool:
    id = message.get("id")
    names_a_request = isinstance(id, int | str) or (isinstance(id, float) and id.is_integer())
    is_answer = "method" not in message and ("result" in message or "error" in message)
    return names_a_request and not isinstance(id, bool) and not is_answer


async def test_nothing_is_kept_of_what_is_over() -> None:
    talk = Talk()

    @talk.server.feature("wait")
    async def wait(_params: object) -> None:
        await asyncio.Event().wait()

    @talk.server.feature("ask")
    async def ask(_params: object) -> None:
        asked = talk.server.protocol.send_request_async("no/such")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asked, 0)

    protocol = talk.server.protocol
    protocol.receive([request("initialize", None, id=0)])
    for id in range(200):
        protocol.receive([request("ask" if id % 2 else "wait", None, id=id)])
        await asyncio.sleep(0)
        cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}}
        protocol.receive([cancel])
    while protocol._tasks:
        await asyncio.wait(protocol._tasks)
        await asyncio.sleep(0)
    assert protocol._unanswered == {}
    assert protocol._asked == {}
