"""One request and its answer, down to the bytes on the wire."""

import asyncio
import gc
import gzip
import logging
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import httpx
import pytest

from lsp_completions.errors import (
    CompletionsError,
    ConfigurationError,
    Interrupted,
    Redirected,
    Refused,
    SignInPage,
    TimedOut,
    UnexpectedReply,
)
from lsp_completions.providers.base import Event
from lsp_completions.transport import Timeouts, exchange
from tests.support.asking import (
    DONE,
    ONE,
    PATIENT,
    SECRET,
    SHORT,
    ask,
    everything_behind,
    opened,
    read,
    read_from,
    texts,
)
from tests.support.raw_http import (
    CLOSE,
    HOLD,
    RESET,
    RawServer,
    Reply,
    Step,
    chunked,
    head,
    sse,
    whole,
)


@pytest.mark.parametrize(
    ("body", "events"),
    [
        pytest.param(ONE + DONE, [("completion", '{"deltaText":"a"}'), ("done", "{}")], id="named"),
        pytest.param(b"data: a\n\n", [("message", "a")], id="unnamed"),
        pytest.param(b"data: a\r\n\r\ndata: b\r\n\r\n", "ab", id="lines end with CRLF"),
        pytest.param(b"data: a\r\rdata: b\r\r", "ab", id="lines end with CR"),
        pytest.param(b"data: a\ndata: b\n\n", [("message", "a\nb")], id="data over two lines"),
        pytest.param(
            "data: a\u2028b\u2029c\u0085d\x0ce\n\n".encode(),
            [("message", "a\u2028b\u2029c\u0085d\x0ce")],
            id="characters that other places take for line ends",
        ),
        pytest.param("data: é😀\n\n".encode(), ["é😀"], id="characters of several bytes"),
        pytest.param(b"\xef\xbb\xbf" + ONE, [("completion", '{"deltaText":"a"}')], id="BOM"),
        pytest.param("data: \ufeff\n\n".encode(), ["\ufeff"], id="BOM that is text"),
        pytest.param(b"\xef", [], id="a part of a BOM and nothing else"),
        pytest.param(b"", [], id="nothing at all"),
        pytest.param(b": keep\n\nevent: done\n", [], id="no data in any event"),
        pytest.param(
            b'The model failed: {"detail": "busy"}\n',
            [("", 'The model failed: {"detail": "busy"}')],
            id="no stream but a sentence",
        ),
        pytest.param(
            b": keep\n\n:\n\ndata: a\n\n: alive\n\ndata: b\n\n: bye\n\n", "ab", id="comments"
        ),
        pytest.param(
            b"id: 7\ndata: a\n\n\n\n: ping\n\n\ndata: b\n\n", "ab", id="blank lines after an id"
        ),
        pytest.param(
            b"event: ping\n\nretry: 10\n\nid: 3\n\ndata:\n\ndata: a\n\n",
            "a",
            id="events without data",
        ),
        pytest.param(b"data: a\n\ndata: {}\n", ["a", "{}"], id="no blank line at the end"),
        pytest.param(b"data: a\n\ndata: {}", ["a", "{}"], id="no line end at the end"),
        pytest.param(b"data: a\r\n\r", "a", id="half a line end at the end"),
        pytest.param(b"data: [DONE]", ["[DONE]"], id="OpenAI's mark as the last line"),
        pytest.param(b"", [], id="nothing"),
        pytest.param(b"data: " + b"x" * 900_000 + b"\n\n", ["x" * 900_000], id="a long event"),
    ],
)
@pytest.mark.parametrize("size", [1, 7, None], ids=["by the byte", "in sevens", "at once"])
async def test_stream(body: bytes, events: Sequence[Any], size: int | None) -> None:
    if size and len(body) > 10_000:
        size *= 10_000
    parts = [body[i : i + size] for i in range(0, len(body), size)] if size else [body]
    received = await read_from(sse(*parts))
    expected = [event if isinstance(event, tuple) else ("message", event) for event in events]
    assert [(event.name, event.data) for event in received] == expected


async def test_stream_cut_anywhere() -> None:
    text = "event: completion\r\ndata: {“é😀”}\r\n\r\n: ping\n\ndata: b\n\nevent: done\ndata: {}"
    body = text.encode()
    replies = [sse(body[:i], body[i:]) for i in range(len(body))]
    async with RawServer(*replies) as server, opened() as transport:
        for _ in replies:
            events = await read(transport, ask(server.url))
            assert texts(events) == ["{“é😀”}", "b", "{}"]
        assert server.connections == 1


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        pytest.param(b'{"a":1}\n{"b":2}\n', ['{"a":1}', '{"b":2}'], id="a line each"),
        pytest.param(b'{"a":1}\r\n\r\n\n{"b":2}\r\n', ['{"a":1}', '{"b":2}'], id="CRLF, blanks"),
        pytest.param('{"a":"é😀\u2028"}\n'.encode(), ['{"a":"é😀\u2028"}'], id="several bytes"),
        pytest.param(b'\xef\xbb\xbf{"a":1}\n', ['{"a":1}'], id="BOM"),
        pytest.param(b'{"a":1}\n{"b":2}', ['{"a":1}', '{"b":2}'], id="no line end at the end"),
        pytest.param(b"", [], id="nothing"),
    ],
)
@pytest.mark.parametrize("size", [1, 7, None], ids=["by the byte", "in sevens", "at once"])
async def test_json_lines(body: bytes, lines: list[str], size: int | None) -> None:
    parts = [body[i : i + size] for i in range(0, len(body), size)] if size else [body]
    received = await read_from(sse(*parts, content_type="application/x-ndjson"))
    assert received == [Event(name="message", data=line) for line in lines]


async def test_a_line_comes_as_soon_as_it_is_whole() -> None:
    gate = asyncio.Event()
    start, _ = sse(content_type="application/x-ndjson")
    reply = [start, chunked(b'{"a":1}\n{"b"', end=False), gate, chunked(b":2}\n")]
    async with (
        RawServer(reply) as server,
        opened() as transport,
        aclosing(transport.events(ask(server.url), PATIENT)) as events,
    ):
        assert (await anext(events)).data == '{"a":1}'
        gate.set()
        assert (await anext(events)).data == '{"b":2}'


@pytest.mark.parametrize(
    ("body", "error"),
    [
        pytest.param(b'{"a":1}\n{"b":', Interrupted, id="cut off within a line"),
        pytest.param(b'{"a":"' + b"x" * 1_100_000, UnexpectedReply, id="a line without an end"),
    ],
)
async def test_json_lines_that_are_none(body: bytes, error: type[CompletionsError]) -> None:
    with pytest.raises(error):
        await read_from(sse(body, content_type="application/x-ndjson"))


@pytest.mark.parametrize(
    "content_type",
    [
        "text/event-stream",
        "text/event-stream; charset=utf-8",
        "Text/Event-Stream;charset=UTF-8",
        "text/event-stream; charset=iso-8859-1",
        "text/event-stream;charset=nonsense",
    ],
)
async def test_stream_is_utf_8_whatever_its_charset(content_type: str) -> None:
    events = await read_from(sse("data: é\n\n".encode(), content_type=content_type))
    assert texts(events) == ["é"]


@pytest.mark.parametrize(
    ("content_type", "body", "data"),
    [
        pytest.param("application/json", b'{"completion":"a"}', '{"completion":"a"}', id="JSON"),
        pytest.param("text/plain; charset=utf-8", b"{}\n", "{}\n", id="JSON served as plain text"),
        pytest.param("application/json", b"\xef\xbb\xbf{}", "{}", id="BOM"),
        pytest.param("application/json", '{"a":"é😀"}'.encode(), '{"a":"é😀"}', id="UTF-8"),
        pytest.param("application/json", b"\xe9", "\ufffd", id="not UTF-8"),
        pytest.param("x-text/event-stream-not", b"data: a\n\n", "data: a\n\n", id="another type"),
    ],
)
async def test_whole_answer_is_one_event_without_a_name(
    content_type: str, body: bytes, data: str
) -> None:
    events = await read_from(whole(body, content_type=content_type), stream=False)
    assert events == [Event(data=data)]


async def test_compressed_although_it_was_not_asked_for() -> None:
    body = gzip.compress(ONE + DONE)
    reply = [
        head(
            "Content-Type: text/event-stream",
            "Content-Encoding: gzip",
            f"Content-Length: {len(body)}",
        )
        + body
    ]
    async with RawServer(reply) as server, opened() as transport:
        assert texts(await read(transport, ask(server.url))) == ['{"deltaText":"a"}', "{}"]
        assert server.requests[0].headers["accept-encoding"] == "identity"


async def test_request_goes_out_as_it_was_built() -> None:
    headers = (("Authorization", f"token {SECRET}"), ("X-Requested-With", " name 1.0 "))
    body = '{"text":"é\\ud800"}'.encode()
    async with RawServer(whole(b"{}")) as server, opened() as transport:
        url = server.url.replace("http://", "http://user:password@") + "?api-version=2"
        await read(transport, ask(url, headers=headers, body=body))
        (request,) = server.requests
    assert request.line == "POST /complete?api-version=2 HTTP/1.1"
    assert request.body == body
    assert request.headers["authorization"] == f"token {SECRET}"
    assert request.headers["x-requested-with"] == "name 1.0"


LOGIN = b"<!DOCTYPE html><html><title>Sign in</title></html>"


@pytest.mark.parametrize(
    ("reply", "kind", "sentence"),
    [
        pytest.param(
            whole(LOGIN, content_type="text/html; charset=utf-8"),
            SignInPage,
            "HOST answered with a web page, probably a login page."
            " Check the endpoint and the access token.",
            id="login page",
        ),
        pytest.param(
            [head("Location: https://user:pw@sso.example/in?x=y", status="302 Found"), CLOSE],
            Redirected,
            "HOST redirects to sso.example, which is not followed: the token is for the configured"
            " host only. Is the endpoint right?",
            id="redirect",
        ),
        pytest.param(
            [head("Location: /elsewhere", "Content-Length: 0", status="307 Temporary Redirect")],
            Redirected,
            "HOST redirects to another address, which is not followed: the token is for the"
            " configured host only. Is the endpoint right?",
            id="redirect within the host",
        ),
        pytest.param(
            [head(status="204 No Content")],
            UnexpectedReply,
            "HOST answered 204 and no text.",
            id="no content",
        ),
        pytest.param(
            whole(b""), UnexpectedReply, "HOST answered 200 and no text.", id="empty body"
        ),
        pytest.param(
            whole(b"x" * (2**20 + 1)),
            UnexpectedReply,
            "HOST answered with more than 1 MiB.",
            id="too long",
        ),
        pytest.param(
            sse(*[b"data: " + b"x" * 70_000] * 16),
            UnexpectedReply,
            "HOST sent an event of more than 1 MiB.",
            id="event too long",
        ),
        pytest.param(
            [head("Content-Type: text/event-stream", "Content-Encoding: gzip"), b"plain", CLOSE],
            UnexpectedReply,
            "The answer of HOST could not be decompressed.",
            id="not compressed as said",
        ),
        pytest.param(
            [CLOSE], Interrupted, "HOST closed the connection without an answer.", id="no answer"
        ),
        pytest.param([RESET], Interrupted, "The connection to HOST broke: ", id="reset"),
        pytest.param(
            [b"HTTP/1.1 200 O", CLOSE],
            Interrupted,
            "HOST closed the connection without an answer.",
            id="half a head",
        ),
        pytest.param(
            [b"SSH-2.0-OpenSSH_9.6\r\n\r\n", CLOSE],
            UnexpectedReply,
            "HOST does not speak HTTP as expected.",
            id="another protocol",
        ),
        pytest.param(
            [head("Content-Type: application/json", "Content-Length: 100"), b"{", CLOSE],
            Interrupted,
            "The answer of HOST broke off.",
            id="shorter than said",
        ),
        pytest.param(
            [*sse(ONE)[:1], b"zz\r\nwhat"],
            UnexpectedReply,
            "HOST does not speak HTTP as expected.",
            id="broken chunk",
        ),
        pytest.param(
            [head("Content-Type: text/event-stream"), b'data: {"deltaText":"a', CLOSE],
            Interrupted,
            "The answer of HOST broke off within an event.",
            id="cut where only the connection's end ends the body",
        ),
        pytest.param(
            sse(b'data: {"deltaText":"a'),
            Interrupted,
            "The answer of HOST broke off within an event.",
            id="cut by a gateway that ends the body properly",
        ),
    ],
)
async def test_failure_is_a_sentence(
    reply: Reply, kind: type[CompletionsError], sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with RawServer(reply) as server, opened() as transport:
        with pytest.raises(CompletionsError) as caught:
            await read(transport, ask(server.url))
        host = f"127.0.0.1:{server.port}"
    assert type(caught.value) is kind
    expected = sentence.replace("HOST", host)
    if expected.endswith(" "):
        assert str(caught.value).startswith(expected)
    else:
        assert str(caught.value) == expected
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param([chunked(ONE, ONE, end=False), RESET], id="reset"),
        pytest.param([chunked(ONE, ONE, end=False), b"20\r\ndata: x", CLOSE], id="within a chunk"),
        pytest.param([chunked(ONE, ONE, b"data: \xf0\x9f", end=False), CLOSE], id="within UTF-8"),
    ],
)
async def test_what_came_before_a_break_is_passed_on(rest: Reply) -> None:
    async with RawServer([*sse()[:1], *rest]) as server, opened() as transport:
        received = []
        with pytest.raises(Interrupted):  # noqa: PT012 - what is received before counts
            async with aclosing(transport.events(ask(server.url), PATIENT)) as events:
                async for event in events:
                    received.append(event.data)  # noqa: PERF401
        assert received == ['{"deltaText":"a"}'] * 2
        # The next request works.
        server.replies = [sse(ONE, DONE)]
        assert len(await read(transport, ask(server.url))) == 2


@pytest.mark.parametrize(
    ("reply", "status", "body"),
    [
        pytest.param(
            whole(b"Invalid access token.\n", content_type="text/plain", status="401 Unauthorized"),
            401,
            "Invalid access token.\n",
            id="plain text",
        ),
        pytest.param(
            whole(LOGIN, content_type="text/html", status="403 Forbidden"),
            403,
            LOGIN.decode(),
            id="a page of a firewall",
        ),
        pytest.param(
            sse(b'event: error\ndata: {"error":"limit"}\n\n', status="429 Too Many Requests"),
            429,
            'event: error\ndata: {"error":"limit"}\n\n',
            id="a stream",
        ),
        pytest.param(
            [head("Content-Length: 0", status="429 Too Many Requests")], 429, "", id="no body"
        ),
        pytest.param(
            [head("Content-Length: 9", status="500 "), b"half", CLOSE], 500, "half", id="cut"
        ),
        pytest.param(
            whole("é".encode() * 5000, status="503 Service Unavailable"),
            503,
            "é" * 2048,
            id="a long body",
        ),
    ],
)
async def test_refusal_carries_the_reply(reply: Reply, status: int, body: str) -> None:
    with pytest.raises(Refused) as caught:
        await read_from(reply)
    assert caught.value.reply is not None
    assert caught.value.reply.status == status
    assert caught.value.reply.body == body
    assert f" answered {status}" in str(caught.value)


async def test_refusal_has_lower_case_headers() -> None:
    reply = [
        head(
            "Retry-After: 5",
            "X-Acme-U2F-Challenge: true",
            "Content-Length: 0",
            status="401 Unauthorized",
        )
    ]
    with pytest.raises(Refused) as caught:
        await read_from(reply)
    assert caught.value.reply is not None
    assert caught.value.reply.headers["retry-after"] == "5"
    assert caught.value.reply.headers["x-acme-u2f-challenge"] == "true"


async def test_refusal_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_REFUSAL_SECONDS", 0.05)
    reply: Reply = [head("Content-Length: 99", status="500 Oops"), b"because", HOLD]
    with pytest.raises(Refused, match="answered 500 Oops") as caught:
        await read_from(reply)
    assert caught.value.reply is not None
    assert caught.value.reply.body == "because"


SHORT_IN_ALL = Timeouts(connect=30, first_event=30, total=0.1)
DRIP: list[Step] = [chunked(b": ping\n\n", end=False), 0.01]
PINGS: Reply = [*sse()[:1], *DRIP * 3000]


@pytest.mark.parametrize(
    ("reply", "timeouts", "sentence"),
    [
        pytest.param([HOLD], SHORT, "did not answer within 0.1 s.", id="silence"),
        pytest.param([*sse()[:1], HOLD], SHORT, "sent no text within 0.1 s.", id="only a head"),
        pytest.param(PINGS, SHORT, "sent no text within 0.1 s.", id="only keep-alive comments"),
        pytest.param(
            [*sse()[:1], chunked(b"data: half", end=False), HOLD],
            SHORT,
            "sent no text within 0.1 s.",
            id="half an event",
        ),
        pytest.param([HOLD], SHORT_IN_ALL, "did not answer within 0.1 s.", id="silence, in all"),
        pytest.param(
            [*sse()[:1], chunked(ONE, end=False), HOLD],
            SHORT_IN_ALL,
            "did not finish within 0.1 s.",
            id="no end",
        ),
        pytest.param(
            [*sse()[:1], chunked(ONE, end=False), *DRIP * 3000],
            SHORT_IN_ALL,
            "did not finish within 0.1 s.",
            id="drop by drop",
        ),
        pytest.param(
            [head("Content-Type: application/json", "Content-Length: 9"), b"{", HOLD],
            SHORT_IN_ALL,
            "sent no text within 0.1 s.",
            id="half a body",
        ),
    ],
)
async def test_deadline(reply: Reply, timeouts: Timeouts, sentence: str) -> None:
    async with RawServer(reply, sse(ONE, DONE)) as server, opened() as transport:
        with pytest.raises(TimedOut) as caught:
            await read(transport, ask(server.url), timeouts)
        assert str(caught.value) == f"127.0.0.1:{server.port} {sentence}"
        await server.until(lambda: server.open == 0)
        # The next request works.
        assert len(await read(transport, ask(server.url))) == 2


async def test_first_event_has_no_deadline_of_its_own_where_none_was_asked_for() -> None:
    events = await read_from([0.2, *whole(b"{}")], timeouts=SHORT, stream=False)
    assert texts(events) == ["{}"]


async def test_deadline_while_all_connections_are_busy() -> None:
    async with (
        RawServer([HOLD]) as server,
        opened(max_connections=1) as transport,
    ):
        first = asyncio.create_task(read(transport, ask(server.url)))
        await server.until(lambda: server.requests)
        with pytest.raises(TimedOut, match=r"No connection to .* became free within 0\.1 s\."):
            await read(transport, ask(server.url), SHORT)
        first.cancel()
        await asyncio.wait([first])


class TestConfiguration:
    @pytest.mark.parametrize(
        ("value", "name"),
        [
            pytest.param(f"token {SECRET}\n\tx", "Authorization", id="line break"),
            pytest.param(f"token {SECRET}é", "Authorization", id="letter outside ASCII"),
            pytest.param(f"token {SECRET}\x00", "Authorization", id="control character"),
            pytest.param(SECRET, "Bad Name", id="blank in the name"),
            pytest.param(SECRET, "Größe", id="name outside ASCII"),
        ],
    )
    async def test_header_that_cannot_be_sent(self, value: str, name: str) -> None:
        with pytest.raises(ConfigurationError) as caught:
            await read_from(whole(b"{}"), headers=((name, value),))
        assert "cannot be sent" in str(caught.value)
        assert not any(SECRET in repr(error) for error in everything_behind(caught.value))

    async def test_headers_about_the_body_are_ours(self) -> None:
        headers = (("Content-Length", "1"), ("transfer-encoding", "chunked"))
        async with RawServer(whole(b"{}")) as server, opened() as transport:
            await read(transport, ask(server.url, headers=headers))
            assert server.requests[0].body == b"{}"
            assert "transfer-encoding" not in server.requests[0].headers

    @pytest.mark.parametrize(
        "url", ["", "model.example", "ftp://model.example", "https://", "https://[", "http://a:b/"]
    )
    async def test_endpoint_that_is_no_url(self, url: str) -> None:
        with pytest.raises(ConfigurationError, match="The endpoint must be a URL"):
            async with opened() as transport:
                await read(transport, ask(url))


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(sse(ONE, DONE), id="a stream that ends"),
        pytest.param(whole(b"{}"), id="a whole answer"),
    ],
)
async def test_what_was_sent_does_not_wait_for_the_garbage_collector(reply: Reply) -> None:
    async with RawServer(reply) as server, opened() as transport:
        await read(transport, ask(server.url))  # imports and connects
        gc.collect()
        gc.disable()
        try:
            body = b'{"prompt": "quark"}'
            await read(transport, ask(server.url, body=body))
            await asyncio.sleep(0)
            held = [each for each in gc.get_objects() if isinstance(each, httpx.Request)]
            assert not [each for each in held if each.content == body]
        finally:
            gc.enable()
