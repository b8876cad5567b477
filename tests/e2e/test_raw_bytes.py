"""What a client may do to the protocol, by raw bytes: every request gets exactly one answer."""

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.echo_server import ARGV
from tests.support.lsp_client import LspClient, framed, notification_message, request_message

INLINE = "textDocument/inlineCompletion"
HERE = {"position": {"line": 7, "character": 0}}

ids = itertools.count(1_000)


@pytest.fixture(scope="module")
def running() -> Iterator[LspClient]:
    """A server after `initialize`, shared by rows that leave it so."""
    with LspClient.start(ARGV) as client:
        client.initialize()
        yield client
        assert client.stop() == 0
        assert client.junk == b""


@pytest.fixture(scope="module")
def uninitialized() -> Iterator[LspClient]:
    """A server before `initialize`, shared by rows that leave it so."""
    with LspClient.start(ARGV) as client:
        yield client


@pytest.fixture
def own() -> Iterator[LspClient]:
    """A server for one test."""
    with LspClient.start(ARGV) as client:
        yield client


@pytest.fixture(autouse=True)
def nothing_left_over(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each row takes the answers it causes: one too many fails."""
    yield
    if "running" in request.fixturenames:
        client: LspClient = request.getfixturevalue("running")
        client.settle()
        assert client.waiting() == []


def code(answer: dict[str, Any]) -> int | None:
    """The error code of `answer`, None for a result."""
    assert ("error" in answer) != ("result" in answer)
    assert answer["jsonrpc"] == "2.0"
    if "result" in answer:
        return None
    assert answer["error"]["message"]
    return int(answer["error"]["code"])


def log(client: LspClient) -> list[Any]:
    found: list[Any] = client.result("test/log")
    return found


# ---- bytes that are no message, or a strange one

HELLO = framed(request_message("hello", "test/echo", "hello"))
NO_IDS: list[Any] = [None, True, 1.5, [], {}, [1]]
BODY = HELLO.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"content-length: %d\r\n\r\n" % len(BODY) + BODY, id="lower case"),
        pytest.param(b"Content-Length:%d\r\n\r\n" % len(BODY) + BODY, id="no space"),
        pytest.param(b"Content-Length: %d\n\n" % len(BODY) + BODY, id="LF only"),
        pytest.param(b"Content-Type: utf8\r\n" + HELLO, id="another header before"),
        pytest.param(HELLO.replace(b"\r\n\r\n", b"\r\nX: y\r\n\r\n"), id="another header after"),
        pytest.param(b"\r\n\r\n" + HELLO, id="blank lines"),
        pytest.param(HELLO.replace(b": %d" % len(BODY), b": 999"), id="length too large"),
        pytest.param(b"Content-Length: 7\r\n" + HELLO, id="two lengths, the last counts"),
        pytest.param(HELLO.replace(b"\r\n\r\n", b" \t\r\n\r\n"), id="blanks after the number"),
        pytest.param(
            b"Content-Type: application/vscode-jsonrpc; charset=latin-1\r\n" + HELLO,
            id="another charset, which is not believed",
        ),
        pytest.param(framed([])[:-2] + HELLO, id="a body left out"),
        pytest.param(b"a line of chatter\n" + HELLO, id="chatter before"),
    ],
)
def test_header_variants(running: LspClient, data: bytes) -> None:
    # A length too large waits for the next header; here it comes at once.
    running.send_bytes(data + framed(notification_message("test/note", "next")))
    assert running.take("hello")["result"] == "hello"
    if data.startswith((framed([])[:-2], b"a line")):
        assert code(running.take(None)) == -32700


def test_a_message_may_come_one_byte_at_a_time(running: LspClient) -> None:
    for byte in HELLO + framed(request_message("é", "test/echo", "grüße 🎈")):
        running.send_bytes(bytes([byte]))
    assert running.take("hello")["result"] == "hello"
    assert running.take("é")["result"] == "grüße 🎈"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" + b"1,\n\n" * 500_000 + b"1]", id="blank lines in JSON"),
        pytest.param(b"content-" * 500_000 + b"{", id="beginnings of headers"),
        pytest.param(b"9" * 1_000_000, id="a number"),
        pytest.param(b'{"a":' * 200_000, id="objects within objects"),
        pytest.param(b'"' + b"\\ud83d" * 500_000 + b'"', id="halves of pairs"),
    ],
)
def test_no_body_keeps_it_busy(running: LspClient, body: bytes) -> None:
    running.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) + HELLO)
    assert running.take("hello")["result"] == "hello"
    assert code(running.take(None)) in (-32700, -32600)


@pytest.mark.parametrize("depth", [200, 900, 950, 980, 990, 1_100])
def test_what_is_nested_is_answered(running: LspClient, depth: int) -> None:
    id = next(ids)
    head, tail = json.dumps(request_message(id, "test/echo", [])).split("[]")
    text = head + "[" * depth + "]" * depth + tail
    running.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(text), text.encode()))
    answer = running.next()
    assert answer["id"] in (id, None)
    assert code(answer) in (None, -32700, -32603)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"Content-Length: 8\r\n\r\n{not it}", -32700, id="malformed JSON"),
        pytest.param(b"Content-Length: 4\r\n\r\n\xff\xfe\xfd\xfc", -32700, id="not UTF-8"),
        pytest.param(b"Content-Length: 0\r\n\r\n", -32700, id="an empty body"),
        pytest.param(framed([[]])[:-4] + b"[[[[", -32700, id="cut off"),
        pytest.param(
            b"Content-Length: 90000\r\n\r\n" + b"[" * 90_000, -32700, id="nested too deeply"
        ),
        pytest.param(b"Content-Length: 100000000000\r\n\r\n{}", -32700, id="100 GB announced"),
        pytest.param(b"X-Long: " + b"y" * 64_000_000 + b"\r\n\r\n", -32700, id="64 MB header"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", -32700, id="HTTP"),
        pytest.param(framed([]), -32600, id="an empty batch"),
        pytest.param(
            framed([request_message(next(ids), "test/echo")] * 2), -32600, id="a batch of requests"
        ),
        pytest.param(framed(17), -32600, id="a number"),
        pytest.param(framed("text"), -32600, id="a string"),
        pytest.param(framed(None), -32600, id="null"),
        pytest.param(framed({}), -32600, id="an empty object"),
        pytest.param(framed({"jsonrpc": "2.0"}), -32600, id="neither method nor id"),
        pytest.param(framed({"jsonrpc": "2.0", "method": 1, "id": None}), -32600, id="no method"),
        pytest.param(framed({"method": "test/note"}), -32600, id="a notification without jsonrpc"),
        *[
            pytest.param(framed(request_message(id, "test/echo")), -32600, id=f"id {id!r}")
            for id in NO_IDS
        ],
    ],
)
def test_bytes_that_are_no_message(running: LspClient, data: bytes, expected: int) -> None:
    running.send_bytes(data)
    # The error belongs to no request, and says so: "id": null is there.
    assert code(running.take(None)) == expected
    running.send_bytes(HELLO)
    assert running.take("hello")["result"] == "hello"


@pytest.mark.parametrize("off_by", [-20, -1, 1, 5, 30, 100_000])
def test_a_wrong_length_costs_at_most_its_own_message(running: LspClient, off_by: int) -> None:
    wrong = b"Content-Length: %d\r\n\r\n%s" % (len(BODY) + off_by, BODY)
    after = next(ids)
    running.send_bytes(wrong + framed(request_message(after, "test/echo", "after")))
    assert running.take(after)["result"] == "after"
    if off_by < 0:
        assert code(running.take(None)) == -32700
    else:
        assert running.take("hello")["result"] == "hello"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_rubbish_does_not_pile_up_in_memory(own: LspClient) -> None:
    def peak() -> int:
        status = Path(f"/proc/{own.process.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0])

    own.initialize()
    before = peak()
    for _ in range(16):
        own.send_bytes(b"y" * 4_000_000)
    own.send_bytes(b"\r\n\r\n")
    own.take(None)
    assert peak() - before < 16_000  # kB, of the 64,000 that were sent


def test_bytes_that_are_no_message_may_have_been_a_change(running: LspClient) -> None:
    running.send_bytes(b"Content-Length: 1\r\n\r\n{")
    running.take(None)
    assert ["lost", None] in log(running)


@pytest.mark.parametrize("number", range(9))
def test_ids_come_back_as_they_were(running: LspClient, number: int) -> None:
    id: Any = [0, -1, 2**53, 2**70, 1.0, "", "a", "1", "ü\u2028"][number]
    running.send_bytes(framed(request_message(id, "test/echo", "x")))
    answer = running.next()
    assert (answer["id"], type(answer["id"])) == (id, type(id))


# ---- requests whose parameters or method make no sense


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        pytest.param(INLINE, HERE, None, id="a good request"),
        pytest.param(INLINE, {**HERE, "context": {"triggerKind": 0}}, None, id="unknown enum"),
        pytest.param(INLINE, None, -32602, id="no params"),
        pytest.param(INLINE, [], -32602, id="params in an array"),
        pytest.param(INLINE, "text", -32602, id="params a string"),
        pytest.param(INLINE, {}, -32602, id="position missing"),
        pytest.param(INLINE, {"position": None}, -32602, id="position null"),
        pytest.param("textDocument/completion", None, -32602, id="no params, no reader"),
        pytest.param("textDocument/completion", {"position": 1}, -32602, id="bad, no reader"),
        pytest.param("test/read", {}, -32602, id="the reader has a bug"),
        pytest.param("test/echo", None, None, id="a method of our own without params"),
        pytest.param("textDocument/hover", {}, -32601, id="a method we do not offer"),
        pytest.param("no/such", None, -32601, id="an unknown method"),
        pytest.param("$/no/such", None, -32601, id="an unknown $ method"),
        pytest.param("x" * 100_000, None, -32601, id="a very long method"),
        pytest.param("initialize", {"capabilities": {}}, -32600, id="initialize again"),
        pytest.param("test/fail", "InvalidParams", -32602, id="the handler: invalid params"),
        pytest.param("test/fail", "JsonRpc", -32801, id="the handler: content modified"),
        pytest.param("test/fail", "TimedOut", -32803, id="the handler: an error of ours"),
        pytest.param("test/fail", "Bug", -32603, id="the handler: a bug"),
        pytest.param("test/fail", "Cancelled", -32800, id="the handler: cancelled"),
        pytest.param("test/fail", ["InvalidParams"], -32602, id="later: invalid params"),
        pytest.param("test/fail", ["JsonRpc"], -32801, id="later: content modified"),
        pytest.param("test/fail", ["TimedOut"], -32803, id="later: an error of ours"),
        pytest.param("test/fail", ["Bug"], -32603, id="later: a bug"),
        pytest.param("test/fail", ["Cancelled"], -32800, id="later: cancelled"),
        pytest.param("test/result", "set", -32603, id="a result that is not JSON"),
        pytest.param("test/result", "nan", -32603, id="a result that is not a number"),
        pytest.param("test/result", "surrogate", None, id="a result with half a pair"),
        pytest.param("test/result", "nested", None, id="a result of ours in plain JSON"),
        pytest.param("test/result", "enum", None, id="a result with an enum"),
        pytest.param("test/result", "null", None, id="a null result"),
    ],
)
def test_every_request_gets_its_answer(
    running: LspClient, method: str, params: object, expected: int | None
) -> None:
    answer = running.request(method, params)
    assert code(answer) == expected
    assert len(json.dumps(answer)) < 1_000


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        pytest.param({"id": "i", "method": "test/echo"}, -32600, id="no jsonrpc"),
        pytest.param({"jsonrpc": "1.0", "id": "i", "method": "a"}, -32600, id="another version"),
        pytest.param({"jsonrpc": "2.0", "id": "i"}, -32600, id="no method"),
        pytest.param({"jsonrpc": "2.0", "id": "i", "method": 5}, -32600, id="method a number"),
        pytest.param({"jsonrpc": "2.0", "id": "i", "method": None}, -32600, id="method null"),
    ],
)
def test_a_request_that_is_none_is_answered_by_its_id(
    running: LspClient, sent: object, expected: int
) -> None:
    running.send_bytes(framed(sent))
    assert code(running.take("i")) == expected


def test_results_are_plain_json(running: LspClient) -> None:
    assert running.result("test/result", "surrogate") == "a?b"
    assert running.result("test/result", "nested") == {"items": [{"line": 1, "character": 2}]}
    assert running.result("test/result", "enum") == [1]
    assert running.result("test/echo", {"jsonrpc": "2.0"}) == {"jsonrpc": "2.0"}
    assert running.result(INLINE, HERE) == {"items": [{"insertText": "line 7"}]}


def test_what_failed_is_told_without_its_words(own: LspClient) -> None:
    own.initialize()
    answers = [own.request("test/fail", "Bug"), own.request("test/fail", ["Bug"])]
    own.notify("textDocument/didChange", {"textDocument": "hunter2"})
    own.send_bytes(b"Content-Length: 9\r\n\r\n{hunter2}")
    answers.append(own.take(None))
    assert own.stop() == 0
    assert "hunter2" not in json.dumps(answers)
    assert "ValueError" in own.stderr  # where it was raised is said, of our own code
    assert "ValueError: " not in own.stderr
    assert "window/showMessage" not in {m.get("method") for m in own.waiting()}


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(notification_message("no/such", {}), id="unknown"),
        pytest.param(notification_message("$/setTrace", {"value": "loud"}), id="unknown enum"),
        pytest.param(notification_message("$/cancelRequest"), id="cancel without params"),
        pytest.param(notification_message("$/cancelRequest", {"id": [1]}), id="cancel of a list"),
        pytest.param(notification_message("$/cancelRequest", {"id": 77}), id="cancel of nothing"),
        pytest.param(notification_message("window/workDoneProgress/cancel", {}), id="progress"),
        pytest.param(notification_message("initialize", {}), id="initialize, not a request"),
        pytest.param(notification_message("shutdown"), id="shutdown, not a request"),
        pytest.param({"jsonrpc": "2.0", "id": 12345, "result": 1}, id="answer to nothing"),
        pytest.param({"jsonrpc": "2.0", "id": None, "error": {}}, id="error without a request"),
        pytest.param({"jsonrpc": "2.0", "id": 5, "error": "bad"}, id="error that is a string"),
    ],
)
def test_what_needs_no_answer_gets_none(running: LspClient, message: object) -> None:
    running.send_bytes(framed(message))
    running.settle()
    assert running.waiting() == []


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"textDocument": {"uri": "file:///a", "version": "2"}, "contentChanges": 1},
        {"textDocument": {"uri": "file:///a", "version": 1}, "contentChanges": [{"range": 1}]},
    ],
)
def test_a_change_that_cannot_be_read_is_not_lost_silently(
    running: LspClient, params: object
) -> None:
    before = log(running).count(["lost", "textDocument/didChange"])
    running.notify("textDocument/didChange", params)
    assert log(running).count(["lost", "textDocument/didChange"]) == before + 1


def test_settings_may_contain_anything(running: LspClient) -> None:
    settings = {"jsonrpc": "2.0", "id": 1, "method": "exit", "deep": {"jsonrpc": "2.0"}}
    running.notify("workspace/didChangeConfiguration", {"settings": settings})
    assert ["configured", settings] in log(running)


def test_a_notification_may_take_its_time_and_fail(running: LspClient) -> None:
    running.notify("test/later", "fail")
    running.notify("test/later", "well")
    assert running.expect("test/now") == "well"


# ---- order, and cancelling


def test_a_request_sees_the_changes_before_it_and_none_after(running: LspClient) -> None:
    data = b""
    sent = []
    for version in range(100, 120):
        document = {"uri": "file:///a", "version": version}
        change = {"textDocument": document, "contentChanges": [{"text": ""}]}
        sent.append(next(ids))
        data += framed(notification_message("textDocument/didChange", change))
        data += framed(request_message(sent[-1], "test/version"))
    running.send_bytes(data)
    assert [running.take(id)["result"] for id in sent] == list(range(100, 120))


def test_a_request_cancelled_in_the_same_breath_is_never_begun(running: LspClient) -> None:
    data = b""
    sent = [next(ids) for _ in range(30)]
    for id in sent:
        data += framed(request_message(id, "test/wait", id))
        data += framed(notification_message("$/cancelRequest", {"id": id}))
    live = next(ids)
    running.send_bytes(data + framed(request_message(live, "test/echo", "live")))
    assert [code(running.take(id)) for id in sent] == [-32800] * 30
    assert running.take(live)["result"] == "live"
    began = [entry[1] for entry in log(running) if entry[0] == "began"]
    assert set(began).isdisjoint(sent)


def test_a_running_request_is_cancelled(running: LspClient) -> None:
    id = running.send("test/wait", "once")
    running.settle()
    running.cancel(id)
    assert code(running.take(id)) == -32800
    running.settle()
    assert [entry for entry in log(running) if entry[1:] == ["once"]] == [
        ["began", "once"],
        ["ended", "once"],
    ]


@pytest.mark.parametrize("method", ["test/stubborn", "test/slowCleanUp"])
def test_cancelling_is_answered_at_once_whatever_the_handler_does(
    running: LspClient, method: str
) -> None:
    id = running.send(method)
    running.settle()
    running.cancel(id)
    running.cancel(id)
    assert code(running.take(id)) == -32800


def test_cancelling_what_is_answered_already_changes_nothing(running: LspClient) -> None:
    id = running.send("test/echo", 1)
    running.cancel(id)
    assert running.take(id)["result"] == 1


def test_two_requests_with_one_id_get_two_answers(running: LspClient) -> None:
    for _ in range(2):
        running.send("test/wait", id="twin")
    running.settle()
    running.cancel("twin")
    assert [code(running.take("twin")) for _ in range(2)] == [-32800, -32800]


def test_ids_of_another_type_are_other_ids(running: LspClient) -> None:
    number = next(ids)
    running.send("test/wait", id=number)
    running.cancel(str(number))
    running.settle()
    assert running.waiting() == []
    running.cancel(number)
    assert code(running.take(number)) == -32800


# ---- asking the editor


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param([{"a": 1}], [{"a": 1}], id="settings"),
        pytest.param([None], [None], id="no settings"),
        pytest.param(None, None, id="null"),
        pytest.param([{"jsonrpc": "2.0", "id": 1}], [{"jsonrpc": "2.0", "id": 1}], id="odd keys"),
    ],
)
def test_the_editor_is_asked_for_settings(
    running: LspClient, answer: object, expected: object
) -> None:
    running.answers["workspace/configuration"] = answer
    assert running.result("test/configuration") == expected
    assert running.requests[-1]["params"] == {"items": [{"section": "echo"}]}


def test_the_editor_may_refuse_or_answer_nonsense(running: LspClient) -> None:
    running.answers.pop("workspace/configuration", None)
    assert code(running.request("test/configuration")) == -32601
    running.answers["workspace/configuration"] = 17
    assert code(running.request("test/configuration")) == -32603


def test_an_answer_that_comes_too_late_is_dropped(own: LspClient) -> None:
    own.initialize()
    own.answers["workspace/configuration"] = LspClient.NO_ANSWER
    assert own.result("test/configurationGivenUp") == "given up"
    late = own.requests[-1]["id"]
    own.send_bytes(framed({"jsonrpc": "2.0", "id": late, "result": [1]}))
    assert own.result("test/echo", "well") == "well"
    assert own.stop() == 0
    assert "InvalidStateError" not in own.stderr


def test_notifications_and_progress(running: LspClient) -> None:
    running.result("test/progress")
    assert running.expect("$/progress") == {
        "token": "t",
        "value": {"kind": "begin", "title": "reading"},
    }
    assert running.expect("test/status") == {"where": {"line": 1, "character": 2}}
    assert running.expect("window/logMessage") == {"type": 4, "message": "hé"}


# ---- before initialize, after shutdown


@pytest.mark.parametrize("method", ["test/echo", "shutdown", INLINE, "no/such"])
def test_a_request_before_initialize(uninitialized: LspClient, method: str) -> None:
    assert code(uninitialized.request(method, HERE)) == -32002


def test_a_notification_before_initialize_is_dropped(own: LspClient) -> None:
    own.notify("test/note", "too early")
    own.initialize()
    assert log(own) == []


def test_bytes_that_are_no_message_before_initialize(own: LspClient) -> None:
    own.send_bytes(b"Content-Length: 2\r\n\r\nxx")
    assert code(own.take(None)) == -32700
    own.initialize()


def test_requests_after_shutdown(own: LspClient) -> None:
    own.initialize()
    assert own.result("shutdown") is None
    assert code(own.request("test/echo")) == -32600
    assert code(own.request("shutdown")) == -32600
    assert code(own.request("initialize", {"capabilities": {}})) == -32600
    own.notify("test/note", "too late")
    own.notify("exit")
    assert own.wait() == 0


def test_shutdown_answers_what_is_in_flight(own: LspClient) -> None:
    own.initialize()
    sent = [own.send("test/wait", number) for number in range(5)]
    own.settle()
    assert own.result("shutdown") is None
    assert [code(own.take(id)) for id in sent] == [-32800] * 5
    own.notify("exit")
    assert own.wait() == 0


def test_an_editor_with_odd_capabilities_is_initialized(own: LspClient) -> None:
    odd = {"general": {"staleRequestSupport": {"cancel": True}}, "textDocument": None}
    params = {"processId": "abc", "rootUri": 5, "capabilities": odd, "clientInfo": {}}
    assert own.result("initialize", params)["capabilities"]


def test_an_initialize_that_fails_may_be_tried_again(own: LspClient) -> None:
    assert code(own.request("initialize", {"initializationOptions": "fail"})) == -32602
    assert code(own.request("test/echo")) == -32002
    own.initialize()
    assert own.result("test/echo", 1) == 1


def test_capabilities(running: LspClient) -> None:
    with LspClient.start(ARGV) as client:
        assert client.initialize()["capabilities"] == {
            "positionEncoding": "utf-16",
            "textDocumentSync": {"openClose": False, "change": 2, "save": False},
            "completionProvider": {"triggerCharacters": ["."]},
            "inlineCompletionProvider": {},
        }


# ---- pipes


def test_what_is_printed_goes_to_stderr(own: LspClient) -> None:
    own.initialize()
    own.result("test/print")
    assert own.stop() == 0
    assert own.junk == b""
    assert "stray" in own.stderr
    assert "straight to the descriptor" in own.stderr
    assert "EOFError" in own.stderr  # a child that reads stdin takes nothing of ours


def test_busy_threads_do_not_make_it_deaf(own: LspClient) -> None:
    own.initialize()
    own.send("test/busyThread")
    assert own.result("test/echo", "heard") == "heard"


def test_an_editor_that_does_not_read_stops_nothing() -> None:
    with LspClient.start(ARGV, read=False) as client:
        client.send("initialize", {"capabilities": {}}, id="i")
        for number in range(20):
            client.send("test/large", 100_000, id=f"large {number}")
        client.notify("test/note", "it went on")
        client.send("test/log", id="log")
        client.start_reading()
        assert ["noted", "it went on"] in client.take("log")["result"]
        for number in range(20):
            assert len(client.take(f"large {number}")["result"]) == 100_000


def test_large_messages_both_ways(running: LspClient) -> None:
    text = 'é🎈\u2028\x00"\\' * 400_000
    assert running.result("test/echo", text) == text


def test_an_editor_that_does_not_read_stderr_stops_nothing() -> None:
    with LspClient.start(ARGV, read_stderr=False) as client:
        client.initialize()
        client.send_bytes(b"Content-Length: 1\r\n\r\n{" * 20_000)
        assert client.result("test/echo", "well") == "well"
        assert client.stop() == 0
