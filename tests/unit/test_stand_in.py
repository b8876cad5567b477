"""The stand-in instance answers, refuses and takes notes as a real one does."""

import asyncio
import contextlib
import gzip
import http.client
import json
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
import trustme

from tests.support.extra import extra_cases
from tests.support.sourcegraph import (
    CODE,
    CUT,
    DEFAULT_MODEL,
    HEAD,
    RESET,
    STREAM,
    TOKEN,
    Answer,
    Exchange,
    Gate,
    Reply,
    Rules,
    StandIn,
    html_page,
    json_page,
    rate_limited,
    redirect,
    running_stand_in,
    second_factor,
    upstream_error,
    words,
)

ASK: dict[str, Any] = {
    "messages": [{"speaker": "human", "text": "<fim_prefix>a<fim_suffix>b<fim_middle>"}],
    "maxTokensToSample": 256,
    "stream": True,
}
CREDENTIAL = {"Authorization": f"token {TOKEN}"}


@dataclass(frozen=True)
class Received:
    """A reply as a client of another make reads it; `broken` when it was not whole."""

    status: int
    headers: dict[str, str]
    body: bytes
    broken: bool = False

    @property
    def text(self) -> str:
        return self.body.decode()


def ask(
    instance: StandIn,
    *,
    path: str = CODE,
    query: dict[str, str] | None = None,
    body: object = ASK,
    headers: dict[str, str] | None = None,
    method: str = "POST",
    context: ssl.SSLContext | None = None,
) -> Received:
    place = urlsplit(instance.url)
    assert place.hostname is not None
    connection: http.client.HTTPConnection
    if context is None:
        connection = http.client.HTTPConnection(place.hostname, instance.port, timeout=20)
    else:
        connection = http.client.HTTPSConnection(
            place.hostname, instance.port, timeout=20, context=context
        )
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    target = place.path + path + (f"?{urlencode(query)}" if query else "")
    try:
        connection.request(method, target, content, CREDENTIAL if headers is None else headers)
        reply = connection.getresponse()
        names = {name.lower(): value for name, value in reply.getheaders()}
        try:
            return Received(reply.status, names, reply.read())
        except http.client.IncompleteRead as exc:
            return Received(reply.status, names, exc.partial, broken=True)
    finally:
        connection.close()


def events(body: str) -> list[tuple[str, Any]]:
    """The events of a whole stream, each with its data decoded."""
    found = []
    for block in body.split("\n\n"):
        if block.strip():
            name, data = block.strip("\n").split("\n", 1)
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


@pytest.mark.parametrize(
    ("version", "answer", "expected"),
    [
        pytest.param(
            None,
            Answer("return ", "a <b>"),
            'event: completion\ndata: {"completion":"return ","stopReason":""}\n\n'
            'event: completion\ndata: {"completion":"return a \\u003cb\\u003e","stopReason":"stop"}'
            "\n\nevent: done\ndata: {}\n\n",
            id="the whole text so far in each event",
        ),
        pytest.param(
            "1",
            Answer("é", repeat_last=True, stop_reason="stop_sequence"),
            'event: completion\ndata: {"completion":"é","stopReason":""}\n\n'
            'event: completion\ndata: {"completion":"é","stopReason":"stop_sequence"}\n\n'
            "event: done\ndata: {}\n\n",
            id="the last text said twice",
        ),
        pytest.param(
            "9",
            Answer("return ", "a"),
            'event: completion\ndata: {"deltaText":"return "}\n\n'
            'event: completion\ndata: {"deltaText":"a"}\n\nevent: done\ndata: {}\n\n',
            id="new text only",
        ),
        pytest.param(
            "2",
            Answer("a", stop_reason="length"),
            'event: completion\ndata: {"deltaText":"a","stopReason":"length"}\n\n'
            "event: done\ndata: {}\n\n",
            id="new text with a reason",
        ),
        pytest.param("2", Answer(), "", id="nothing said, no done"),
        pytest.param(
            "2",
            Answer(error="stream error: GOAWAY"),
            'event: error\ndata: {"error":"stream error: GOAWAY"}\n\nevent: done\ndata: {}\n\n',
            id="error before the first text",
        ),
        pytest.param(
            "8",
            Answer("a", attribution_error="no", done=False),
            'event: completion\ndata: {"deltaText":"a"}\n\n'
            'event: attribution-error\ndata: "no"\n\n',
            id="attribution error and no done",
        ),
        pytest.param(
            "8",
            Answer(b": keep-alive\n\n", "a", last_blank_line=False),
            ': keep-alive\n\nevent: completion\ndata: {"deltaText":"a"}\n\nevent: done\ndata: {}\n',
            id="comment first, last blank line missing",
        ),
    ],
)
def test_streams(version: str | None, answer: Answer, expected: str) -> None:
    with running_stand_in(answer) as instance:
        received = ask(instance, query={"api-version": version} if version else None)
    assert (received.status, received.text, received.broken) == (200, expected, False)
    assert received.headers["content-type"] == "text/event-stream"
    assert received.headers["transfer-encoding"] == "chunked"


def test_json_where_no_stream_was_asked_for() -> None:
    body = {key: value for key, value in ASK.items() if key != "stream"} | {"logprobs": 1}
    with running_stand_in(Answer("a<", "b")) as instance:
        received = ask(instance, body=body)
    assert received.text.startswith('{"completion":"a\\u003cb","stopReason":"stop",')
    assert json.loads(received.body)["logprobs"]["text_offset"] == [0, 2]
    assert received.headers["content-type"] == "application/json"


def test_upstream_error_where_no_stream_was_asked_for() -> None:
    with running_stand_in(Answer(error="Fireworks: unexpected status code 500: x")) as instance:
        received = ask(instance, body=ASK | {"stream": False})
    assert (received.status, received.text) == (503, "Fireworks: unexpected status code 500: x\n")


def test_a_client_that_accepts_gzip_gets_all_events_at_the_end() -> None:
    gate = Gate()
    with running_stand_in(Answer(HEAD, "a", gate, "b")) as instance:
        headers = CREDENTIAL | {"Accept-Encoding": "gzip, deflate"}
        connection = http.client.HTTPConnection("127.0.0.1", instance.port, timeout=20)
        connection.request("POST", CODE, json.dumps(ASK).encode(), headers)
        reply = connection.getresponse()
        assert instance.requests[0].bytes_sent == 0
        gate.open()
        assert reply.getheader("Content-Encoding") == "gzip"
        text = gzip.decompress(reply.read()).decode()
        assert [data.get("completion") for _, data in events(text)] == ["a", "ab", None]
        connection.close()
        refused = ask(instance, headers=CREDENTIAL | {"Accept-Encoding": "gzip;q=0"})
        assert "content-encoding" not in refused.headers


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_any_chunk_size_carries_the_same_bytes(size: int) -> None:
    with running_stand_in(
        [Answer("ö", "漢字𝒳"), Answer("ö", "漢字𝒳", chunk_bytes=size)]
    ) as instance:
        assert ask(instance).body == ask(instance).body


async def test_chunks_leave_one_by_one_where_they_are_split() -> None:
    # The second is inside the two bytes of "ö".
    async with (
        StandIn(Answer("ö", split_at=[3, 40])) as instance,
        asking(instance) as (reader, _),
    ):
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        sizes = []
        while (size := int(await reader.readline(), 16)) > 0:
            sizes.append(size)
            await reader.readexactly(size + 2)
        assert sizes[:2] == [3, 37]


@pytest.mark.parametrize(
    ("rules", "query", "changes", "status", "text"),
    [
        pytest.param(
            Rules(),
            {},
            {"headers": {}},
            401,
            "Private mode requires authentication.",
            id="no token",
        ),
        pytest.param(
            Rules(),
            {},
            {"headers": {"Authorization": "token sgp_other"}},
            401,
            "Invalid access token.",
            id="wrong token",
        ),
        pytest.param(
            Rules(),
            {},
            {"headers": {"Authorization": TOKEN}},
            401,
            "Invalid Authorization header.",
            id="token without its scheme",
        ),
        pytest.param(Rules(), {}, {"method": "GET"}, 405, "unsupported method GET", id="not POST"),
        pytest.param(
            Rules(enabled=False),
            {"api-version": "0"},
            {},
            401,
            "cody is not enabled: site admin has disabled it",
            id="switched off comes before the version",
        ),
        pytest.param(
            Rules(),
            {"api-version": "0"},
            {"body": b"{"},
            406,
            "Unsupported API Version (Please update your client)",
            id="version 0 comes before the body",
        ),
        pytest.param(
            Rules(versions=[1]),
            {"api-version": "2"},
            {},
            406,
            "Unsupported API Version (Please update your client)",
            id="a version newer than the server",
        ),
        pytest.param(
            Rules(),
            {},
            {"body": b'{"messages": ['},
            400,
            "could not decode request body",
            id="broken JSON",
        ),
        pytest.param(
            Rules(),
            {},
            {"body": ASK | {"maxTokensToSample": 1.5}},
            400,
            "could not decode request body",
            id="a number of the wrong kind",
        ),
        pytest.param(
            Rules(models=()),
            {},
            {"body": ASK | {"model": "fireworks/starcoder-16b"}},
            400,
            f'unsupported code completion model "fireworks/starcoder-16b" '
            f'(default "{DEFAULT_MODEL}")',
            id="a model that is not served",
        ),
        pytest.param(
            Rules(limit=0, retry_after="0"),
            {},
            {},
            429,
            "you exceeded the rate limit for code completions, only 0 requests are allowed per day"
            " at the moment to ensure the service stays functional.",
            id="too many requests",
        ),
        pytest.param(
            Rules(requested_with=True),
            {},
            {},
            400,
            "X-Requested-With header must be of the form: NAME VERSION",
            id="X-Requested-With required",
        ),
        pytest.param(
            Rules(context_filters=True),
            {"client-name": "lsp-completions", "client-version": "1.0.0"},
            {},
            406,
            "ClientCodyIgnoreCompatibilityError: please use one of the supported clients: "
            '"lsp-completions" is not one of them',
            id="client unknown to the filter check",
        ),
        pytest.param(
            Rules(context_filters=True),
            {"client-name": "vscode", "client-version": "v1"},
            {},
            400,
            'ClientCodyIgnoreCompatibilityError: no version: "v1"',
            id="client version that is none",
        ),
        pytest.param(
            Rules(),
            {},
            {"path": "/.api/client-config", "method": "GET"},
            404,
            "404 page not found",
            id="a page it does not have",
        ),
        pytest.param(
            Rules(),
            {},
            {"body": ASK | {"stream": False, "messages": []}},
            500,
            "Expected to receive exactly one message with the prompt",
            id="no message",
        ),
    ],
)
def test_refuses_in_one_line_of_text(
    rules: Rules, query: dict[str, str], changes: dict[str, Any], status: int, text: str
) -> None:
    with running_stand_in(Answer("never said"), rules=rules) as instance:
        received = ask(instance, query=query, **changes)
    assert (received.status, received.text) == (status, f"{text}\n")
    assert received.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("rules", "query", "changes"),
    [
        pytest.param(Rules(token=None), {}, {"headers": {}}, id="open to everybody"),
        pytest.param(
            Rules(), {}, {"headers": {"Authorization": f"Bearer {TOKEN}"}}, id="bearer token"
        ),
        pytest.param(Rules(), {"api-version": ""}, {}, id="empty version"),
        pytest.param(
            Rules(requested_with=True),
            {},
            {"headers": CREDENTIAL | {"X-Requested-With": "lsp-completions 1.0"}},
            id="X-Requested-With given",
        ),
        pytest.param(
            Rules(context_filters=True),
            {"client-name": "vscode", "client-version": "1.20.0"},
            {},
            id="client known to the filter check",
        ),
        pytest.param(
            Rules(models=["fireworks::v1::starcoder"]),
            {},
            {"body": ASK | {"model": "fireworks/starcoder"}},
            id="a model in its other spelling",
        ),
        pytest.param(Rules(models=()), {}, {"body": ASK | {"model": ""}}, id="the default model"),
        pytest.param(Rules(limit=1), {}, {}, id="below the limit"),
    ],
)
def test_lets_through(rules: Rules, query: dict[str, str], changes: dict[str, Any]) -> None:
    with running_stand_in(Answer("said"), rules=rules) as instance:
        received = ask(instance, query=query, **changes)
    assert (received.status, events(received.text)[0][1]["completion"]) == (200, "said")


@pytest.mark.parametrize(
    ("rules", "messages", "text"),
    [
        pytest.param(
            Rules(),
            [{"speaker": "human", "text": "a"}, {"speaker": "assistant", "text": "b"}],
            "Expected to receive exactly one message with the prompt",
            id="two messages",
        ),
        pytest.param(
            Rules(),
            [{"speaker": "human", "text": " \n"}],
            "Prompt message text is empty",
            id="blank message",
        ),
        pytest.param(
            Rules(),
            [{"role": "user", "content": "a"}],
            "Prompt message text is empty",
            id="role and content are not known",
        ),
        pytest.param(
            Rules(backend="anthropic"),
            [{"speaker": "human", "text": "a"}, {"speaker": "human", "text": "b"}],
            "messages must alternate between human and assistant",
            id="turns that do not alternate",
        ),
        pytest.param(
            Rules(backend="anthropic"),
            [{"speaker": "assistant", "text": "a"}],
            "the first message must be human, and none empty",
            id="the model's turn first",
        ),
        pytest.param(
            Rules(backend="anthropic"),
            [{"speaker": "human", "text": "a"}, {"speaker": "assistant", "text": "x = "}],
            "final assistant content cannot end with trailing whitespace",
            id="an answer begun with a space at its end",
        ),
    ],
)
def test_messages_refused_upstream_are_told_inside_the_stream(
    rules: Rules, messages: list[dict[str, str]], text: str
) -> None:
    with running_stand_in(Answer("never said"), rules=rules) as instance:
        received = ask(instance, body=ASK | {"messages": messages})
    assert received.status == 200
    assert events(received.text) == [("error", {"error": text}), ("done", {})]


@pytest.mark.parametrize(
    ("reply", "status", "headers"),
    [
        pytest.param(rate_limited("589"), 429, {"retry-after": "589"}, id="seconds"),
        pytest.param(
            rate_limited("Thu, 02 May 2024 11:24:39 UTC", pro=False),
            429,
            {
                "retry-after": "Thu, 02 May 2024 11:24:39 UTC",
                "x-ratelimit-limit": "1",
                "x-ratelimit-remaining": "0",
                "x-is-cody-pro-user": "false",
            },
            id="date ending in UTC",
        ),
        pytest.param(html_page(), 200, {"content-type": "text/html; charset=utf-8"}, id="login"),
        pytest.param(html_page(502, "Bad Gateway"), 502, {}, id="proxy"),
        pytest.param(second_factor(), 401, {"x-acme-u2f-challenge": "true"}, id="second factor"),
        pytest.param(
            redirect("https://sso.example.com/"),
            302,
            {"location": "https://sso.example.com/"},
            id="redirect",
        ),
        pytest.param(upstream_error(500, "oh"), 503, {}, id="upstream"),
    ],
)
def test_ready_made_replies(reply: Reply, status: int, headers: dict[str, str]) -> None:
    with running_stand_in(reply) as instance:
        received = ask(instance)
    assert received.status == status
    assert headers.items() <= received.headers.items()
    if "UTC" in headers.get("retry-after", ""):
        assert parsedate_to_datetime(headers["retry-after"]).tzinfo is not None


def test_says_one_thing_after_the_other_and_stays_with_the_last() -> None:
    with running_stand_in([Reply(status=500, body="oh\n"), Answer("a")]) as instance:
        statuses = [ask(instance).status for _ in range(3)]
        instance.script = lambda request: Answer(request.prompt[-3:])
        last = ask(instance, body=ASK | {"messages": [{"speaker": "human", "text": "abcdef"}]})
    assert statuses == [500, 200, 200]
    assert events(last.text)[0][1]["completion"] == "def"


def test_a_mistake_in_the_script_fails_the_test() -> None:
    def script(_: Exchange) -> Answer:
        raise LookupError("oh")

    with (
        pytest.raises(LookupError),
        running_stand_in(script) as instance,
        contextlib.suppress(ConnectionError),
    ):
        ask(instance)


@pytest.mark.parametrize(
    ("answer", "received"),
    [
        pytest.param(
            Answer("abc", cut_after=29), b'event: completion\ndata: {"com', id="mid-event"
        ),
        pytest.param(
            # The two bytes of "ö" are the 39th and 40th.
            Answer("ö", cut_after=40),
            b'event: completion\ndata: {"completion":"\xc3',
            id="mid-character",
        ),
        pytest.param(Answer(HEAD, CUT), b"", id="after the head"),
    ],
)
def test_cut_in_the_middle(answer: Answer, received: bytes) -> None:
    with running_stand_in(answer) as instance:
        reply = ask(instance)
        assert (reply.broken, reply.body) == (True, received)
        assert instance.requests[0].cut_at is not None
        assert not instance.hang_ups


@pytest.mark.parametrize("action", [CUT, RESET])
def test_cut_before_the_head(action: Any) -> None:
    with running_stand_in(Answer(action)) as instance, pytest.raises(ConnectionError):
        ask(instance)


def test_content_length_that_lies() -> None:
    reply = Reply(
        status=200, body='{"completion":"a"', length=4000, content_type="application/json"
    )
    with running_stand_in(reply) as instance:
        assert ask(instance).broken


async def test_notes_who_hung_up_and_when() -> None:
    gate = Gate()
    async with StandIn(Answer("a", gate, "b")) as instance:
        async with asking(instance) as (reader, _):
            await reader.readuntil(b"data: ")
            assert [request.prompt for request in instance.streaming] == [_prompt()]
        await instance.until(lambda: instance.hang_ups)

        request = instance.requests[0]
        assert instance.hang_ups == [request]
        assert instance.streaming == []
        assert request.hung_up_at is not None
        assert request.arrived_at <= request.sent_at[0] <= request.hung_up_at
        assert request.finished_at is None
        assert request.bytes_sent > 0

        # The gate is not broken by the client that left while waiting at it.
        async with asking(instance) as (reader, _):
            await reader.readuntil(b"data: ")
            gate.open()
            await reader.readuntil(b"0\r\n\r\n")
        await instance.until(lambda: instance.open_connections == 0)
        assert instance.requests[1].finished_at is not None
        assert instance.hang_ups == [request]
    assert instance.connections == 2


async def test_a_client_that_only_stops_sending_counts_as_gone() -> None:
    async with StandIn(Answer("a", Gate())) as instance, asking(instance) as (reader, writer):
        await reader.readuntil(b"data: ")
        writer.write_eof()
        await instance.until(lambda: instance.hang_ups)


async def test_what_is_asked_is_told_of_once_it_was_read() -> None:
    """Whoever waits for it need not wait until something is answered."""
    async with StandIn(Answer(Gate())) as instance:
        _, writer = await asyncio.open_connection("127.0.0.1", instance.port)
        request = _request(instance)
        writer.write(request[:-1])
        await instance.until(lambda: instance.completions)
        writer.write(request[-1:])
        await instance.until(lambda: instance.completions[0].json, patience=20)
        writer.close()
        await writer.wait_closed()


async def test_one_connection_serves_many_requests() -> None:
    async with StandIn(Answer("a")) as instance, asking(instance) as (reader, writer):
        await reader.readuntil(b"0\r\n\r\n")
        for _ in range(2):
            writer.write(_request(instance))
            await reader.readuntil(b"0\r\n\r\n")
        # Two at once, the second before the first was answered.
        writer.write(_request(instance) * 2)
        for _ in range(2):
            await reader.readuntil(b"0\r\n\r\n")
        assert (len(instance.completions), instance.connections) == (5, 1)
        assert {request.connection for request in instance.requests} == {1}


async def test_a_restart_drops_all_connections() -> None:
    async with StandIn(Answer("a")) as instance, asking(instance) as (reader, _):
        await reader.readuntil(b"0\r\n\r\n")
        instance.drop_connections()
        assert await reader.read() == b""
        assert instance.hang_ups == []


async def test_a_client_that_does_not_read_holds_nobody_up() -> None:
    async with StandIn([Answer("x" * 20_000_000), Answer("b")]) as instance:
        async with asking(instance) as (_, stuck):
            await instance.until(lambda: instance.streaming and instance.streaming[0].bytes_sent)
            async with asking(instance) as (reader, _):
                await reader.readuntil(b"0\r\n\r\n")
            assert instance.requests[0].finished_at is None
            stuck.transport.abort()
        await instance.until(lambda: instance.hang_ups)


async def test_gives_up_at_the_deadline_the_client_names() -> None:
    async with (
        StandIn(Answer("a", Gate()), rules=Rules(deadline=True)) as instance,
        asking(instance, "X-Timeout-Ms: 20\r\n") as (reader, _),
    ):
        stream = await reader.readuntil(b"0\r\n\r\n")
    assert b'{"error":"context deadline exceeded"}' in stream


def test_tls() -> None:
    authority = trustme.CA()
    server, client = (
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH),
        ssl.create_default_context(),
    )
    authority.issue_cert("localhost", "127.0.0.1").configure_cert(server)
    authority.configure_trust(client)
    with running_stand_in(Answer("a"), ssl_context=server) as instance:
        assert instance.url.startswith("https://localhost:")
        assert ask(instance, context=client).status == 200


def test_an_instance_below_a_path_with_pages() -> None:
    pages = {"/.api/client-config": json_page({"autoCompleteEnabled": True})}
    with running_stand_in(Answer("a"), prefix="/sourcegraph", pages=pages) as instance:
        assert instance.url.endswith("/sourcegraph")
        assert ask(instance).status == 200
        page = ask(instance, path="/.api/client-config", method="GET", body=b"")
        outside = _raw_status(instance, CODE)
    assert page.text == '{\n    "autoCompleteEnabled": true\n}\n'
    assert page.headers["content-type"] == "text/plain; charset=utf-8"
    assert outside == 404


def test_words_keep_the_text() -> None:
    text = "  return a\n\tif b:\n"
    assert list(words(text)) == ["  return", " a", "\n\tif", " b:", "\n"]
    assert list(words("")) == []


def test_runs_by_hand() -> None:
    command = [sys.executable, "-m", "tests.support.sourcegraph", "--port", "0", "--delay", "0"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [*command, "--answer", r"return a\n"], stdout=subprocess.PIPE, text=True, cwd=root
    ) as process:
        assert process.stdout is not None
        variables = dict(pair.split("=", 1) for pair in process.stdout.readline().split())
        port = urlsplit(variables["SRC_ENDPOINT"]).port
        assert port is not None
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        credential = {"Authorization": f"token {variables['SRC_ACCESS_TOKEN']}"}
        connection.request("POST", CODE, json.dumps(ASK).encode(), credential)
        text = connection.getresponse().read().decode()
        connection.close()
        told = process.stdout.readline()
        process.terminate()
    assert [data.get("completion") for _, data in events(text)] == [
        "return",
        "return a",
        "return a\n",
        None,
    ]
    assert told.startswith(f"POST {CODE} 200 finished after ")


# Exchanges recorded from real instances, kept outside the project.


def test_same_replies_as_recorded_for_the_same_requests() -> None:
    compared = 0
    for row in extra_cases("cases/recorded_code_exchanges.jsonl"):
        with running_stand_in(_answer(row), rules=_rules(row)) as instance:
            received = _replay(instance, row)
        _compare(row, received)
        compared += 1
    assert compared > 0


def test_same_refusals_and_pages_as_recorded() -> None:
    compared = 0
    for row in extra_cases("cases/recorded_config_exchanges.jsonl"):
        path = urlsplit(row["url"]).path
        if not path.startswith("/.api/"):
            continue
        page = Reply(
            status=200,
            body=row["response_body"] or "",
            content_type=row["response_headers"]["content-type"],
        )
        pages = {} if path in (CODE, STREAM) else {path: page}
        with running_stand_in(_answer(row), rules=_rules(row), pages=pages) as instance:
            received = _replay(instance, row)
        _compare(row, received)
        compared += 1
    assert compared > 0


def _rules(row: dict[str, Any]) -> Rules:
    """The rules of the instance a row was recorded from, as far as its answers tell."""
    body = row["request_body"] if isinstance(row["request_body"], dict) else {}
    model = str(body.get("model") or "")
    if urlsplit(row["url"]).path == CODE:
        backend = "anthropic" if not model or model.startswith("anthropic") else "fireworks"
    else:
        # Only the model of 2025 minds that the last turn is empty.
        backend = "any" if model else "fireworks"
    refused = row["status"] == 400
    default = (row["response_body"] or "").rpartition('(default "')[2][:-3] if refused else ""
    credential = "" if row["response_body"] == "Invalid access token.\n" else TOKEN
    private = "sourcegraph.sourcegraph.com" in row["url"] or row["status"] == 401
    sent = row["request_headers"].get("authorization")
    return Rules(
        token=(credential or "another") if private or sent else None,
        models=() if refused else None,
        default_model=default or DEFAULT_MODEL,
        backend=backend,
    )


def _answer(row: dict[str, Any]) -> Answer | Reply:
    """The script that says what was said when the row was recorded."""
    if row["status"] == 429:
        headers = row["response_headers"]
        return rate_limited(headers["retry-after"], pro=headers["x-is-cody-pro-user"] == "true")
    if not row["response_headers"]["content-type"].startswith("text/event-stream"):
        return Answer("never said")
    said = [data for name, data in events(row["response_body"]) if name == "completion"]
    texts: list[str] = []
    for data in said:
        so_far = "".join(texts)
        texts.append(
            data["deltaText"] if "deltaText" in data else data["completion"][len(so_far) :]
        )
    reason = said[-1].get("stopReason") if said else None
    return Answer(*texts, stop_reason=reason)


def _replay(instance: StandIn, row: dict[str, Any]) -> Received:
    place = urlsplit(row["url"])
    credential = row["request_headers"].get("authorization")
    headers = dict(row["request_headers"])
    headers.pop("transfer-encoding", None)
    if credential is not None:
        headers["authorization"] = f"token {TOKEN}"
    if not place.path.startswith("/.api/completions"):
        headers.pop("accept-encoding", None)
    return ask(
        instance,
        path=place.path,
        query=dict(parse_qsl(place.query, keep_blank_values=True)),
        body=b"" if row["request_body"] is None else row["request_body"],
        headers=headers,
        method=row["method"],
    )


def _compare(row: dict[str, Any], received: Received) -> None:
    """Status, content type and body are those recorded, to the byte where the recorder kept it."""
    assert received.status == row["status"], row["id"]
    assert received.headers["content-type"] == row["response_headers"]["content-type"], row["id"]
    if row.get("sse_merged_by_recorder"):
        assert events(received.text) == events(row["response_body"]), row["id"]
    else:
        assert received.text == (row["response_body"] or ""), row["id"]
    for name in ("retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "x-is-cody-pro-user"):
        if row["status"] == 429:
            assert received.headers[name] == row["response_headers"][name], row["id"]


def _request(instance: StandIn, headers: str = "") -> bytes:
    content = json.dumps(ASK).encode()
    head = (
        f"POST {CODE} HTTP/1.1\r\nHost: 127.0.0.1:{instance.port}\r\n"
        f"Authorization: token {TOKEN}\r\nContent-Length: {len(content)}\r\n{headers}\r\n"
    )
    return head.encode() + content


@asynccontextmanager
async def asking(
    instance: StandIn, headers: str = ""
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection on which one request has been sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", instance.port)
    try:
        writer.write(_request(instance, headers))
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def _prompt() -> str:
    return str(ASK["messages"][0]["text"])


def _raw_status(instance: StandIn, path: str) -> int:
    with socket.create_connection(("127.0.0.1", instance.port), timeout=20) as connection:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: token {TOKEN}\r\n"
        connection.sendall(f"{head}Connection: close\r\nContent-Length: 0\r\n\r\n".encode())
        return int(connection.makefile("rb").readline().split()[1])
