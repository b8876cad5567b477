"""The real process over stdio, beside the stand-in Sourcegraph instance."""

import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.cursor import cursor
from tests.support.grammars import NEEDED
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import (
    CUT,
    TOKEN,
    Answer,
    Gate,
    StandIn,
    html_page,
    rate_limited,
    running_stand_in,
)

INLINE = "textDocument/inlineCompletion"
MENU = "textDocument/completion"
SERVER = [sys.executable, "-m", "lsp_completions"]
NEOVIM: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
    "textDocument": {
        "inlineCompletion": {"dynamicRegistration": False},
        "completion": {"completionItem": {"snippetSupport": True}},
    },
    "workspace": {"executeCommand": {"dynamicRegistration": False}},
}
HELIX: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-8", "utf-32", "utf-16"]},
    "textDocument": {"completion": {"completionItem": {"snippetSupport": True}}},
    "workspace": {"executeCommand": {}},
}


class Editor:
    """An editor at work: one server process, documents with the cursor drawn in."""

    def __init__(self, client: LspClient, instance: StandIn) -> None:
        self.client = client
        self.instance = instance
        self._names = count(1)

    def open(
        self, drawn: str, *, language: str = "python", name: str = "", uri: str = ""
    ) -> dict[str, Any]:
        """Open a document; returns the params of a request at its cursor (utf-8 columns)."""
        text, offset = cursor(drawn)
        before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
        uri = uri or f"file:///w/{name or f'{next(self._names)}.py'}"
        document = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.client.notify("textDocument/didOpen", {"textDocument": document})
        last = before.rpartition("\n")[2]
        position = {"line": before.count("\n"), "character": len(last.encode())}
        return {"textDocument": {"uri": uri}, "position": position, "context": {"triggerKind": 1}}

    def type(self, at: dict[str, Any], text: str) -> dict[str, Any]:
        """Type `text` at the cursor; returns the params of a request at its end."""
        place = at["position"]
        change = {"range": {"start": place, "end": place}, "text": text}
        document = {"uri": at["textDocument"]["uri"], "version": None}
        changes = {"textDocument": document, "contentChanges": [change]}
        self.client.notify("textDocument/didChange", changes)
        moved = {"line": place["line"], "character": place["character"] + len(text.encode())}
        return {**at, "position": moved}

    def says(self, *steps: Any, **shape: Any) -> None:
        """What the model says from now on."""
        self.instance.script = Answer(*steps, **shape)

    @property
    def asked(self) -> int:
        """How many completions were asked of the instance so far."""
        return len(self.instance.completions)

    def wait_until_asked(self, times: int) -> None:
        """Wait until so many completions in all were asked of the instance."""
        self.instance.wait_until(lambda: self.asked == times)


def running_editor(
    capabilities: dict[str, Any],
    env: dict[str, str] | None = None,
    initializationOptions: dict[str, Any] | None = None,  # noqa: N803
    **params: Any,
) -> Iterator[Editor]:
    with (
        running_stand_in(Answer("pass")) as instance,
        LspClient.start(
            SERVER,
            env={"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": TOKEN, **(env or {})},
        ) as client,
    ):
        # What comes late has its own tests; on a busy machine anything may.
        options = {"menuDeadline": 30, **(initializationOptions or {})}
        client.initialize(
            capabilities, rootUri="file:///w", initializationOptions=options, **params
        )
        yield Editor(client, instance)
        assert client.stop() == 0
        for unwanted in (TOKEN, "Traceback", "never awaited", "Error"):
            assert unwanted not in client.stderr
        assert client.junk == b""


@pytest.fixture(scope="module")
def neovim() -> Iterator[Editor]:
    yield from running_editor(NEOVIM)


@pytest.fixture(scope="module")
def helix() -> Iterator[Editor]:
    yield from running_editor(HELIX)


def texts(result: Any) -> list[str]:
    return [item["insertText"] for item in result["items"]]


def applied(drawn: str, at: dict[str, Any], item: dict[str, Any]) -> str:
    """The document after `item` was accepted, line ends and all (utf-8 columns)."""
    edit = item.get("textEdit") or {"range": item["range"], "newText": item["insertText"]}
    start, end = edit["range"]["start"], edit["range"]["end"]
    assert start["line"] == end["line"] == at["position"]["line"]
    lines = cursor(drawn)[0].split("\n")
    line = lines[start["line"]].encode()
    lines[start["line"]] = (
        line[: start["character"]] + edit["newText"].encode() + line[end["character"] :]
    ).decode()
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("drawn", "says", "expected"),
    [
        pytest.param("x = <cursor>\n", ["4", "2\n"], "x = 42\n", id="rest of a line"),
        pytest.param("# 😀 é\nx = <cursor>\n", ["42"], "# 😀 é\nx = 42\n", id="after an emoji"),
        pytest.param("s = '😀' + <cursor>\n", ["t"], "s = '😀' + t\n", id="emoji on the line"),
        pytest.param(
            "a\x0cb\u2028c\nx = <cursor>\n", ["1"], "a\x0cb\u2028c\nx = 1\n", id="odd separators"
        ),
        pytest.param(
            "print(<cursor>)\n", ["'hi'", ")"], "print('hi')\n", id="closing bracket kept once"
        ),
        pytest.param(
            "print(<cursor>)\n", ["'hi'"], "print('hi')\n", id="without the rest it is inserted"
        ),
        pytest.param(
            "def f(x):\n    if x:\n        <cursor>\n",
            ["return 1\n", "    return 2\n", "\n", "def g"],
            "def f(x):\n    if x:\n        return 1\n",
            id="a line where one is wanted",
        ),
        pytest.param(
            "def f(x):<cursor>\n",
            ["\n    y = x\n", "    return y\n", "\n\n", "def g():\n"],
            "def f(x):\n    y = x\n    return y\n",
            id="a block where one is opened",
        ),
        pytest.param(
            "\tx = <cursor>\r\n", ["1\r\n"], "\tx = 1\r\n", id="line ends of the document"
        ),
    ],
)
@pytest.mark.parametrize("method", [INLINE, MENU])
def test_a_suggestion_becomes_exactly_this_text(
    neovim: Editor, method: str, drawn: str, says: list[str], expected: str
) -> None:
    neovim.says(*says)
    at = neovim.open(drawn)
    result = neovim.client.result(method, at)
    assert len(result["items"]) == 1
    item = result["items"][0]
    if item.get("insertTextFormat") == 2:
        # An editor indents the lines of a snippet like the first.
        line = cursor(drawn)[0].split("\n")[at["position"]["line"]]
        indent = line[: len(line) - len(line.lstrip())]
        item["textEdit"]["newText"] = item["textEdit"]["newText"].replace("\n", "\n" + indent)
    assert applied(drawn, at, item) == expected


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param({"initializationOptions": {"apiVersion": 1}}, id="cumulative events"),
        pytest.param({"initializationOptions": {"apiVersion": 2}}, id="deltas"),
        pytest.param({"initializationOptions": {"stream": False}}, id="one JSON body"),
    ],
)
def test_every_shape_of_reply_gives_the_same(shape: dict[str, Any]) -> None:
    for editor in running_editor(NEOVIM, **shape):
        editor.says("ré", "turn 😀\n", "more\n")
        assert texts(editor.client.result(INLINE, editor.open("x = <cursor>\n"))) == ["réturn 😀"]


def test_what_is_sent_is_the_code_around_the_cursor_and_who_asks(neovim: Editor) -> None:
    neovim.says("1")
    neovim.client.result(
        INLINE, neovim.open("before = 1\nx = <cursor> + 2\nafter = 3\n", name="pkg/m.py")
    )
    request = neovim.instance.completions[-1]
    prompt = request.json["messages"][0]["text"]
    assert "before = 1\nx = " in prompt
    assert " + 2\nafter = 3" in prompt
    assert "pkg/m.py" in prompt
    assert request.headers["authorization"] == f"token {TOKEN}"
    assert request.headers["x-requested-with"].startswith("lsp-completions ")
    assert request.headers["accept-encoding"] == "identity"


def test_the_newest_request_wins_and_is_answered_by_the_stream_of_the_older(
    neovim: Editor,
) -> None:
    gate = Gate()
    neovim.says(gate, "re", "d\n")
    at = neovim.open("x = <cursor>\n")
    before = neovim.asked
    first = neovim.client.send(INLINE, at)
    neovim.instance.wait_until(lambda: neovim.asked == before + 1)
    second = neovim.client.send(INLINE, neovim.type(at, "r"))
    assert neovim.client.take(first)["result"] is None
    gate.open()
    assert texts(neovim.client.take(second)["result"]) == ["ed"]
    assert neovim.asked == before + 1
    neovim.instance.wait_until(lambda: not neovim.instance.streaming)


def test_what_is_typed_otherwise_is_asked_anew(neovim: Editor) -> None:
    neovim.instance.script = [Answer("red", Gate()), Answer("lue\n")]
    at = neovim.open("x = <cursor>\n")
    before = neovim.asked
    neovim.client.send(INLINE, at)
    neovim.instance.wait_until(lambda: neovim.asked == before + 1)
    second = neovim.client.send(INLINE, neovim.type(at, "b"))
    assert texts(neovim.client.take(second)["result"]) == ["lue"]
    neovim.instance.wait_until(lambda: not neovim.instance.streaming)


def test_menu_and_ghost_text_do_not_supersede_each_other(neovim: Editor) -> None:
    neovim.says("1")
    # The very first request may take longer than a menu waits.
    neovim.client.result(INLINE, neovim.open("y = <cursor>\n"))
    at = neovim.open("x = <cursor>\n")
    first, second = neovim.client.send(INLINE, at), neovim.client.send(MENU, at)
    assert neovim.client.take(first)["result"]["items"]
    assert neovim.client.take(second)["result"]["items"]


def test_cancelled_is_answered_so_at_once_and_hangs_up(neovim: Editor) -> None:
    neovim.says(Gate(), "late")
    before = neovim.asked
    request = neovim.client.send(INLINE, neovim.open("x = <cursor>\n"))
    neovim.instance.wait_until(lambda: neovim.asked == before + 1)
    neovim.client.cancel(request)
    assert neovim.client.take(request)["error"]["code"] == -32800
    neovim.instance.wait_until(lambda: not neovim.instance.streaming)


def test_thirty_requests_each_cancelled_at_once_cost_the_instance_nothing(neovim: Editor) -> None:
    neovim.says("1")
    at = neovim.open("x = <cursor>\n")
    before = neovim.asked
    ids = []
    for _ in range(30):
        ids.append(neovim.client.send(INLINE, at))
        neovim.client.cancel(ids[-1])
    live = neovim.client.result(INLINE, at)
    answers = [neovim.client.take(id) for id in ids]
    assert all(
        answer.get("error", {}).get("code") == -32800 or answer.get("result", 0) is None
        for answer in answers
    )
    assert texts(live) == ["1"]
    assert neovim.asked - before <= 30


def test_a_closed_document_gets_nothing_and_the_stream_is_hung_up_on(neovim: Editor) -> None:
    neovim.says(Gate(), "late")
    at = neovim.open("x = <cursor>\n")
    before = neovim.asked
    request = neovim.client.send(INLINE, at)
    neovim.instance.wait_until(lambda: neovim.asked == before + 1)
    neovim.client.notify("textDocument/didClose", {"textDocument": at["textDocument"]})
    assert neovim.client.take(request)["result"] == {"items": []}
    neovim.instance.wait_until(lambda: not neovim.instance.streaming)
    assert neovim.client.result(INLINE, at) == {"items": []}


@pytest.mark.parametrize(
    ("drawn", "said", "expected"),
    [
        pytest.param("# cfg\n<cursor>", "# Only if named\n", "# Only if named", id="a line"),
        pytest.param("bin/\n<cursor>", "a.xml\nb.xml\n", "a.xml\nb.xml", id="a block"),
        pytest.param("x = <cursor>", "f(", "f(", id="within a line"),
    ],
)
def test_a_model_that_goes_round_in_circles_is_hung_up_on(
    neovim: Editor, drawn: str, said: str, expected: str
) -> None:
    # Nothing comes after that, and no end.
    neovim.says(*[said] * 100, Gate())
    assert texts(neovim.client.result(INLINE, neovim.open(drawn))) == [expected]
    neovim.instance.wait_until(lambda: not neovim.instance.streaming)


@pytest.mark.parametrize(
    ("said", "closes", "expected"),
    [
        pytest.param("compute();", ";", "const x = compute();", id="a semicolon"),
        pytest.param("f(a)", ")", "const x = f(a)", id="a bracket"),
        pytest.param("'a'", "'", "const x = 'a'", id="a quote"),
        pytest.param("[1, 2];", "];", "const x = [1, 2];", id="a bracket and a semicolon"),
    ],
)
def test_what_the_editor_adds_behind_the_cursor_stands_once(
    neovim: Editor, said: str, closes: str, expected: str
) -> None:
    neovim.says(said)
    at = neovim.open("const x = <cursor>\n", name=f"{abs(hash(said))}.ts", language="typescript")
    assert texts(neovim.client.result(INLINE, at)) == [said]
    neovim.type(at, closes)
    (item,) = neovim.client.result(INLINE, at)["items"]
    start, end = (item["range"][side]["character"] for side in ("start", "end"))
    line = f"const x = {closes}"
    assert line[:start] + item["insertText"] + line[end:] == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        pytest.param("re", [("turn x", 2)], id="typed as suggested, the rest follows the cursor"),
        pytest.param("ya", [], id="typed something else, nothing is shown"),
    ],
)
def test_a_document_that_moves_on_meanwhile(
    neovim: Editor, typed: str, expected: list[tuple[str, int]]
) -> None:
    gate = Gate()
    neovim.says(gate, "return x\n")
    at = neovim.open("<cursor>\n")
    before = neovim.asked
    request = neovim.client.send(INLINE, at)
    neovim.instance.wait_until(lambda: neovim.asked == before + 1)
    neovim.type(at, typed)
    neovim.client.settle()
    gate.open()
    items = neovim.client.take(request)["result"]["items"]
    assert [(i["insertText"], i["range"]["start"]["character"]) for i in items] == expected
    assert all(item["range"]["start"] == item["range"]["end"] for item in items)


def test_a_selected_menu_entry_is_completed_as_if_it_stood_there(neovim: Editor) -> None:
    neovim.says("(x)\n")
    at = neovim.open("pr<cursor>\n")
    start = {"line": 0, "character": 0}
    info = {"range": {"start": start, "end": at["position"]}, "text": "print"}
    at["context"]["selectedCompletionInfo"] = info
    result = neovim.client.result(INLINE, at)
    assert [(item["insertText"], item["range"]) for item in result["items"]] == [
        ("print(x)", info["range"])
    ]
    info["text"] = "open"
    assert neovim.client.result(INLINE, at) == {"items": []}


def test_acceptance_is_reported_by_a_command_that_never_fails(neovim: Editor) -> None:
    neovim.says("1")
    command = neovim.client.result(INLINE, neovim.open("x = <cursor>\n"))["items"][0]["command"]
    for arguments in (command["arguments"], command["arguments"], [], None, [3], ["never"]):
        call = {"command": command["command"], "arguments": arguments}
        assert neovim.client.result("workspace/executeCommand", call) is None
    answer = neovim.client.request("workspace/executeCommand", {"command": "no.such"})
    assert answer["error"]["code"] == -32602


@pytest.mark.parametrize(
    "uri", ["file:///", "", "file:///w/never_opened.py", "untitled:Never", "git:/w/a.py?x"]
)
def test_an_unopened_document_gets_nothing_and_is_not_read(neovim: Editor, uri: str) -> None:
    at = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
    assert neovim.client.result(INLINE, at) == {"items": []}


@pytest.mark.parametrize(
    ("params", "code"),
    [
        pytest.param({"context": None}, 0, id="no context"),
        pytest.param({"context": {"triggerKind": 0}}, 0, id="the older trigger kinds"),
        pytest.param({"position": {"line": 0.0, "character": 4.0}}, 0, id="numbers with a point"),
        pytest.param({"position": {"line": 99, "character": 99}}, 0, id="beyond the end"),
        pytest.param({"position": {"line": "0", "character": 4}}, -32602, id="a text for a number"),
        pytest.param({"position": None}, -32602, id="no position"),
        pytest.param({"textDocument": None}, -32602, id="no document"),
    ],
)
def test_strange_parameters_are_understood_or_refused(
    neovim: Editor, params: dict[str, Any], code: int
) -> None:
    neovim.says("1")
    answer = neovim.client.request(INLINE, {**neovim.open("x = <cursor>"), **params})
    assert answer.get("error", {"code": 0})["code"] == code


def test_a_change_that_cannot_be_read_leaves_its_document_silent_until_it_comes_whole(
    neovim: Editor,
) -> None:
    neovim.says("1")
    at = neovim.open("x = <cursor>\n")
    broken = {"textDocument": {**at["textDocument"], "version": 2}, "contentChanges": [{"text": 1}]}
    neovim.client.notify("textDocument/didChange", broken)
    assert neovim.client.result(INLINE, at) == {"items": []}
    whole = {**broken, "contentChanges": [{"text": "x = "}]}
    neovim.client.notify("textDocument/didChange", whole)
    assert texts(neovim.client.result(INLINE, at)) == ["1"]


def test_the_menu_is_left_to_others_where_ghost_text_is_shown(neovim: Editor) -> None:
    at = neovim.open("x.<cursor>\n")
    before = neovim.asked
    at["context"] = {"triggerKind": 2, "triggerCharacter": "."}
    assert neovim.client.result(MENU, at) == {"isIncomplete": False, "items": []}
    assert neovim.asked == before


def test_the_menu_serves_editors_without_ghost_text(helix: Editor) -> None:
    helix.says("foo(1)\n")
    at = helix.open("x.<cursor>\n")
    at["context"] = {"triggerKind": 2, "triggerCharacter": "."}
    (item,) = helix.client.result(MENU, at)["items"]
    assert item["label"] == "foo(1)"
    assert "preselect" not in item


def test_a_slow_model_does_not_hold_up_the_menu() -> None:
    for editor in running_editor(HELIX, initializationOptions={"menuDeadline": 0.05}):
        editor.says(Gate(), "late")
        result = editor.client.result(MENU, editor.open("x = <cursor>\n"))
        assert result == {"isIncomplete": True, "items": []}


def test_where_nothing_waits_for_a_menu_it_comes_late_or_gives_way_to_the_next() -> None:
    for editor in running_editor(
        HELIX, clientInfo={"name": "helix"}, initializationOptions={"menuDeadline": 0.001}
    ):
        gate = Gate()
        editor.says(gate, "late")
        asked = editor.client.send(MENU, editor.open("x = <cursor>\n"))
        editor.wait_until_asked(1)
        gate.open()
        (item,) = editor.client.take(asked)["result"]["items"]
        assert item["label"] == "late"

        gate = Gate()
        # On a busy machine another stream may be asked beside the silent one, with what was typed.
        editor.instance.script = lambda exchange, gate=gate: Answer(
            gate, "ter" if "la<fim_suffix>" in exchange.prompt else "later"
        )
        at = editor.open("y = <cursor>\n")
        asked = editor.client.send(MENU, at)
        editor.wait_until_asked(2)
        at = editor.type(at, "la")
        assert editor.client.take(asked)["result"] == {"isIncomplete": True, "items": []}
        asked = editor.client.send(MENU, at)
        gate.open()
        (item,) = editor.client.take(asked)["result"]["items"]
        assert item["textEdit"]["newText"] == "later"


def test_at_its_deadline_the_menu_gets_the_lines_that_are_there() -> None:
    for editor in running_editor(HELIX, initializationOptions={"menuDeadline": 0.5}):
        editor.says("\n    a = 1\n    b = ", Gate(), "late")
        at = editor.open("def f():<cursor>\n")
        # On a busy machine not even these may be there in time.
        while not (items := (result := editor.client.result(MENU, at))["items"]):
            assert result["isIncomplete"]
        assert result["isIncomplete"]
        assert [item["textEdit"]["newText"] for item in items] == ["\n    a = 1"]


@pytest.mark.parametrize(
    ("capabilities", "options", "offered"),
    [
        pytest.param(NEOVIM, {}, {}, id="ghost text: a menu by hand only"),
        pytest.param(NEOVIM, {"menu": "on"}, {"triggerCharacters"}, id="switched on"),
        pytest.param(HELIX, {}, {"triggerCharacters"}, id="no ghost text: it opens by itself"),
        pytest.param(HELIX, {"menu": "off"}, None, id="switched off"),
    ],
)
def test_what_the_menu_offers(
    capabilities: dict[str, Any], options: dict[str, str], offered: set[str] | None
) -> None:
    with LspClient.start(SERVER) as client:
        result = client.initialize(capabilities, initializationOptions=options)["capabilities"]
        provider = result.get("completionProvider")
        assert provider == offered or set(provider) == set(offered or ())
        assert " " not in (provider or {}).get("triggerCharacters", [])
        assert result["inlineCompletionProvider"] == {}
        assert client.stop() == 0


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param(rate_limited("60"), "limit", id="a rate limit"),
        pytest.param(html_page(), "page", id="a login page"),
    ],
)
def test_a_failure_is_told_once_until_it_has_worked_again(reply: Any, said: str) -> None:
    for editor in running_editor(NEOVIM):
        editor.instance.script = reply
        at = editor.open("x = <cursor>\n")
        by_itself = {**at, "context": {"triggerKind": 2}}
        for _ in range(3):
            assert editor.client.result(INLINE, by_itself) == {"items": []}
        assert editor.asked == 1
        assert said in editor.client.expect("window/showMessage")["message"]
        editor.says("1")
        assert texts(editor.client.result(INLINE, at)) == ["1"]
        assert not editor.client.waiting()
        editor.instance.script = reply
        # Elsewhere, since what was said here is remembered.
        at = editor.open("y = <cursor>\n")
        by_itself = {**at, "context": {"triggerKind": 2}}
        editor.client.result(INLINE, by_itself)
        assert said in editor.client.expect("window/showMessage")["message"]
        editor.says("1")
        editor.client.notify(
            "workspace/didChangeConfiguration", {"settings": {"lspCompletions": {"maxTokens": 9}}}
        )
        assert texts(editor.client.result(INLINE, by_itself)) == ["1"]


def test_a_broken_stream_shows_its_whole_lines_only(neovim: Editor) -> None:
    neovim.says("\n    a = 1\n    b = comp", CUT, "ute()\n")
    result = neovim.client.result(INLINE, neovim.open("def f():<cursor>\n"))
    assert texts(result) == ["\n    a = 1"]


def test_without_an_account_it_says_what_to_do_once_and_stays_quiet() -> None:
    with LspClient.start(SERVER) as client:
        client.initialize(NEOVIM, initializationOptions={"provider": "sourcegraph"})
        said = client.expect("window/showMessage")
        assert "Run `lsp-completions login`" in said["message"]
        document = {"uri": "file:///w/a.py", "languageId": "python", "version": 1, "text": "x = "}
        client.notify("textDocument/didOpen", {"textDocument": document})
        at = {"textDocument": {"uri": document["uri"]}, "position": {"line": 0, "character": 4}}
        for _ in range(3):
            assert client.result(INLINE, at) == {"items": []}
        assert not client.waiting()
        assert client.stop() == 0


def test_settings_come_from_the_file_the_environment_and_the_editor(tmp_path: Path) -> None:
    folder = tmp_path / "lsp-completions"
    folder.mkdir()
    (folder / "config.toml").write_text('model = "from-file"\nmaxTokens = 7\ntopK = "many"\n')
    with (
        running_stand_in(Answer("1")) as instance,
        LspClient.start(
            SERVER,
            env={
                "SRC_ENDPOINT": instance.url,
                "SRC_ACCESS_TOKEN": TOKEN,
                "XDG_CONFIG_HOME": str(tmp_path),
            },
        ) as client,
    ):
        client.answers["workspace/configuration"] = [{"maxTokens": 9, "temperature": 0.5}]
        client.initialize(
            {**NEOVIM, "workspace": {"configuration": True}},
            initializationOptions={"lspCompletions": {"maxTokens": 8, "topP": 0.25}},
        )
        said = client.expect("window/showMessage")["message"]
        assert "$.topK" in said
        assert "many" not in said
        editor = Editor(client, instance)
        at = editor.open("x = <cursor>\n")
        # The editor's answer may come after its first question.
        for _ in range(50):
            editor.client.result(INLINE, at)
            body = instance.completions[-1].json
            if body["maxTokensToSample"] == 9:
                break
        assert (body["model"], body["maxTokensToSample"]) == ("from-file", 9)
        assert (body["temperature"], body["topP"]) == (0.5, 0.25)


# ---- what is not sent


def test_as_long_as_a_settings_file_cannot_be_read_nothing_is_sent(tmp_path: Path) -> None:
    (tmp_path / "lsp-completions").mkdir()
    file = tmp_path / "lsp-completions" / "config.toml"
    file.write_text('exclude = ["*.py"\n')
    for editor in running_editor(NEOVIM, {"XDG_CONFIG_HOME": str(tmp_path)}):
        said = editor.client.expect("window/showMessage")["message"]
        assert "is not TOML" in said
        assert "nothing is sent" in said
        at = editor.open("x = <cursor>\n")
        assert editor.client.result(INLINE, at) == {"items": []}
        assert not editor.instance.completions
        file.write_text('exclude = ["*.sql"]\n')
        at = editor.open("y = <cursor>\n")
        # The file is read beside the first question.
        for _ in range(50):
            if items := editor.client.result(INLINE, at)["items"]:
                break
        assert [item["insertText"] for item in items] == ["pass"]


@pytest.mark.parametrize(
    ("uri", "sent"),
    [
        pytest.param("file:///w/.env", False, id="secrets"),
        pytest.param("file:///w/%2eenv", False, id="secrets, percent-encoded"),
        pytest.param("file:///c%3A/w/id_rsa", False, id="a key on a drive"),
        pytest.param("untitled:.netrc", False, id="secrets not saved yet"),
        pytest.param("git:/w/a.py?x", False, id="no file"),
        pytest.param("file:///w/.env.example", True, id="an example"),
        pytest.param("untitled:Untitled-1", True, id="untitled"),
    ],
)
def test_what_holds_secrets_is_not_sent(neovim: Editor, uri: str, sent: bool) -> None:
    def told() -> int:
        methods = [message.get("method") for message in neovim.client.waiting()]
        return methods.count("window/showMessage")

    neovim.says("1")
    told_before = told()
    asked = neovim.asked
    at = neovim.open("A = <cursor>\n", language="properties", uri=uri)
    assert bool(neovim.client.result(MENU, at)["items"]) is sent
    for _ in range(2):
        assert texts(neovim.client.result(INLINE, at)) == (["1"] if sent else [])
        at = neovim.type(at, "3")
    assert (neovim.asked > asked) is sent
    # Asked for by hand, the reason is told; once for all spellings of a document.
    assert told() - told_before <= (0 if sent else 1)


def test_what_the_user_excludes_is_not_sent(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "secret").mkdir(parents=True)
    (real / "secret" / "a b.py").write_text("x = \n")
    (real / "link.py").symlink_to(real / "secret" / "a b.py")
    (tmp_path / "w").symlink_to(real)
    options = {"exclude": ["**/secret/**"]}
    for editor in running_editor(NEOVIM, initializationOptions=options):
        editor.says("1")
        for name in ("secret/a%20b.py", "s%65cret/a%20b.py", "link.py"):
            at = editor.open("x = <cursor>\n", uri=f"{(tmp_path / 'w').as_uri()}/{name}")
            assert editor.client.result(INLINE, at) == {"items": []}
        assert editor.asked == 0
        at = editor.open("x = <cursor>\n", uri=f"{(tmp_path / 'w').as_uri()}/b.py")
        assert texts(editor.client.result(INLINE, at)) == ["1"]


def test_what_is_excluded_follows_the_settings() -> None:
    for editor in running_editor(NEOVIM):
        editor.says("1")
        at = editor.open("x = <cursor>\n", name="gen/a.py")
        for exclude, sent in ((["/gen/"], False), (["/other/"], True), (["gen/["], False)):
            changed = {"settings": {"lspCompletions": {"exclude": exclude}}}
            editor.client.notify("workspace/didChangeConfiguration", changed)
            assert texts(editor.client.result(INLINE, at)) == (["1"] if sent else [])
        assert "gen/a.py" in editor.client.expect("window/showMessage")["message"]
        assert "nothing is sent" in editor.client.expect("window/showMessage")["message"]
        assert editor.asked == 1


def test_what_the_editor_is_about_to_exclude_is_not_sent_before() -> None:
    asks_for_settings = {**NEOVIM, "workspace": {"configuration": True}}
    with (
        running_stand_in(Answer("1")) as instance,
        LspClient.start(
            SERVER, env={"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": TOKEN}
        ) as client,
    ):
        told = threading.Event()

        def settings(_: object) -> list[dict[str, Any]]:
            assert told.wait(60)
            return [{"exclude": ["*.py"]}]

        client.answers["workspace/configuration"] = settings
        client.initialize(asks_for_settings, rootUri="file:///w")
        editor = Editor(client, instance)
        asked = client.send(INLINE, editor.open("x = <cursor>\n"))
        told.set()
        assert client.take(asked)["result"] == {"items": []}
        assert editor.asked == 0
        assert client.stop() == 0


def test_an_editor_that_never_tells_its_settings_has_none() -> None:
    with (
        running_stand_in(Answer("1")) as instance,
        LspClient.start(
            SERVER, env={"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": TOKEN}
        ) as client,
    ):
        client.answers["workspace/configuration"] = LspClient.NO_ANSWER
        client.initialize({**NEOVIM, "workspace": {"configuration": True}}, rootUri="file:///w")
        at = Editor(client, instance).open("x = <cursor>\n")
        assert texts(client.result(INLINE, at)) == ["1"]
        assert client.stop() == 0


def test_a_secret_in_the_text_is_masked(neovim: Editor) -> None:
    neovim.says("2")
    secret = "0123456789abcdef" * 2 + "01234567"
    at = neovim.open(f"t = 'sgp_{secret}'\nx = <cursor>\nu = 'sgp_{secret}'\n")
    assert texts(neovim.client.result(INLINE, at)) == ["2"]
    sent = neovim.instance.completions[-1].json["messages"][0]["text"]
    assert secret not in sent
    assert sent.count(f"sgp_{'x' * 40}") == 2


def test_a_document_excluded_meanwhile_gets_nothing_and_its_stream_is_hung_up_on(
    neovim: Editor,
) -> None:
    neovim.says(Gate(), "late")
    at = neovim.open("x = <cursor>\n", name="soon_secret.py")
    before = neovim.asked
    request = neovim.client.send(INLINE, at)
    neovim.instance.wait_until(lambda: neovim.asked == before + 1)
    settings = {"lspCompletions": {"exclude": ["soon_secret.py"]}}
    neovim.client.notify("workspace/didChangeConfiguration", {"settings": settings})
    assert neovim.client.take(request)["result"] == {"items": []}
    neovim.instance.wait_until(lambda: not neovim.instance.streaming)
    neovim.client.notify("workspace/didChangeConfiguration", {"settings": {"lspCompletions": {}}})


@NEEDED
def test_grammars_are_loaded_when_documents_are_opened(neovim: Editor) -> None:
    drawn = "class A {\n  void f() {\n    <cursor>\n    b();\n  }\n}\n"
    whole = "Gson gson =\n        new Gson();"
    neovim.says(f"{whole}\n    c();\n")
    # Whoever asks before it is there gets what indentation tells.
    for number in range(20):
        at = neovim.open(drawn, language="java", name=f"A{number}.java")
        answer = neovim.client.request(INLINE, at)
        if texts(answer["result"]) == [whole]:
            return
        assert texts(answer["result"]) == ["Gson gson ="]
    pytest.fail("no grammar was loaded")
