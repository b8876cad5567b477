"""The instance itself: HTTP/1.1 on loopback, and a note of everything that was asked."""

import asyncio
import contextlib
import gzip
import json
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

import h11

from tests.support.accepting import stop_accepting
from tests.support.sourcegraph.answers import (
    CUT,
    HEAD,
    RESET,
    Action,
    Answer,
    Gate,
    Reply,
    event,
    go_json,
    refusal,
)
from tests.support.sourcegraph.pages import FILTERS, NO_FILTERS
from tests.support.sourcegraph.rules import (
    CODE,
    STREAM,
    Ask,
    Rules,
    UpstreamError,
    check_access,
    check_completion,
    check_messages,
)


@dataclass(eq=False)
class Exchange:
    """One request and what became of it. Times are `time.perf_counter()`."""

    connection: int
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    arrived_at: float
    """When the first byte of the request was read."""
    script: "Script | None" = None
    """As it was when the request arrived, however it is changed afterwards."""
    body: bytes = b""
    json: Any = None
    status: int | None = None
    """Of the reply; `None` until its head is sent."""
    sent_at: list[float] = field(default_factory=list)
    """When each event (or a body that is not a stream) was written."""
    bytes_sent: int = 0
    """Of the body, as far as it was handed to the socket."""
    finished_at: float | None = None
    """When the reply had been sent whole."""
    cut_at: float | None = None
    """When the instance itself cut the connection, as its script says."""
    hung_up_at: float | None = None
    """When the client closed the connection before the reply was whole."""

    @property
    def prompt(self) -> str:
        """The text of the last message."""
        return str(self.json["messages"][-1]["text"])

    @property
    def over(self) -> bool:
        """Whether nothing more will be sent, whatever the reason."""
        return (self.finished_at or self.cut_at or self.hung_up_at) is not None


Said = Answer | Reply
Script = Said | Sequence[Said] | Callable[[Exchange], Said]


class StandIn:
    """An instance that answers by script; see the package's docstring."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        rules: Rules | None = None,
        ssl_context: ssl.SSLContext | None = None,
        pages: Mapping[str, Reply] | None = None,
        prefix: str = "",
        port: int = 0,
    ) -> None:
        self.script: Script = script if script is not None else Answer("pass")
        self.rules = rules or Rules()
        self.pages = {FILTERS: NO_FILTERS, **(pages or {})}
        self.requests: list[Exchange] = []
        self.connections = 0
        """How many were ever accepted."""
        self.failures: list[Exception] = []
        """Mistakes in the script; the first is raised at the end."""
        self._prefix = prefix
        self._port = port
        self._ssl = ssl_context
        self._open: set[_Connection] = set()
        self._served = 0
        self._changed = threading.Condition()
        self._waiters: set[asyncio.Future[None]] = set()
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def url(self) -> str:
        """The endpoint to configure."""
        scheme = "https" if self._ssl else "http"
        host = "localhost" if self._ssl else "127.0.0.1"
        return f"{scheme}://{host}:{self._port}{self._prefix}"

    @property
    def port(self) -> int:
        return self._port

    @property
    def completions(self) -> list[Exchange]:
        """The requests for completions among all requests."""
        return [request for request in self.requests if request.path in (CODE, STREAM)]

    @property
    def hang_ups(self) -> list[Exchange]:
        """The requests whose client left before the reply was whole."""
        return [request for request in self.requests if request.hung_up_at is not None]

    @property
    def streaming(self) -> list[Exchange]:
        """The requests being answered right now."""
        return [request for request in self.requests if not request.over]

    @property
    def open_connections(self) -> int:
        return len(self._open)

    async def until(self, reached: Callable[[], object], *, patience: float | None = 60.0) -> None:
        """Wait in the instance's own loop until `reached()`; looked at after every change."""
        async with asyncio.timeout(patience):
            while not reached():
                waiter = asyncio.get_running_loop().create_future()
                self._waiters.add(waiter)
                try:
                    await waiter
                finally:
                    self._waiters.discard(waiter)

    def wait_until(self, reached: Callable[[], object], *, patience: float = 60.0) -> None:
        """The same from another thread."""
        with self._changed:
            if not self._changed.wait_for(reached, patience):
                raise TimeoutError("the stand-in did not come to what was waited for")

    def drop_connections(self) -> None:
        """Close every connection as a restarting server does; from any thread."""
        assert self._loop is not None
        try:
            here = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            here = False
        if not here:
            self._loop.call_soon_threadsafe(self.drop_connections)
            return
        for connection in list(self._open):
            connection.cut()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._server = await self._loop.create_server(
            lambda: _Connection(self), "127.0.0.1", self._port, ssl=self._ssl
        )
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        await stop_accepting(self._server)
        tasks = [connection.task for connection in self._open if connection.task is not None]
        self.drop_connections()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.until(lambda: not self._open)
        if self.failures:
            raise self.failures[0]

    def note(self) -> None:
        """Wake whoever waits for something to happen."""
        with self._changed:
            self._changed.notify_all()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def decide(self, exchange: Exchange) -> tuple[Said, Ask | None]:
        """What to say to a request: a refusal, a page, or what the script says."""
        refused = check_access(self.rules, exchange.headers)
        if refused is not None:
            return refused, None
        if exchange.path not in (CODE, STREAM):
            # Queries in GraphQL have one path, and their name after it.
            named = f"{exchange.path}?{next(iter(exchange.query), '')}"
            page = self.pages.get(named) or self.pages.get(exchange.path)
            return page or refusal(404, "404 page not found"), None
        ask = check_completion(
            self.rules,
            method=exchange.method,
            path=exchange.path,
            query=exchange.query,
            headers=exchange.headers,
            body=exchange.body,
            served=self._served,
        )
        if isinstance(ask, Reply):
            return ask, None
        self._served += 1
        said = self._said(exchange)
        if isinstance(said, Answer):
            # A scripted reply is the instance's own; only an answer comes from the model's server.
            try:
                check_messages(self.rules, exchange.path, ask.body)
            except UpstreamError as exc:
                said = Answer(error=str(exc)) if ask.stream else refusal(500, str(exc))
        return said, ask

    def _said(self, exchange: Exchange) -> Said:
        script = self.script if exchange.script is None else exchange.script
        if callable(script):
            return script(exchange)
        if isinstance(script, Answer | Reply):
            return script
        return script[min(self._served, len(script)) - 1]

    def path_below_prefix(self, path: str) -> str:
        return path[len(self._prefix) :] if path.startswith(self._prefix) else f"outside:{path}"


class _CutError(Exception):
    """The script says that the connection ends here."""


class _Connection(asyncio.Protocol):
    """One connection: reads a request, lets a task answer it, reads the next."""

    def __init__(self, instance: StandIn) -> None:
        self.instance = instance
        self.task: asyncio.Task[None] | None = None
        self.exchange: Exchange | None = None
        self.number = 0
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
        self._transport: asyncio.Transport | None = None
        self._first_byte_at: float | None = None
        self._room = asyncio.Event()
        self._room.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.instance.connections += 1
        self.number = self.instance.connections
        self.instance._open.add(self)
        raw = transport.get_extra_info("socket")
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.instance.note()

    def data_received(self, data: bytes) -> None:
        if self._first_byte_at is None:
            self._first_byte_at = time.perf_counter()
        self._http.receive_data(data)
        self._read()

    def eof_received(self) -> bool:
        self._hung_up()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._room.set()
        self._hung_up()
        self.instance._open.discard(self)
        self.instance.note()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def cut(self, *, reset: bool = False) -> None:
        """Close at once, in the middle of whatever is going on."""
        assert self._transport is not None
        if self.exchange is not None and not self.exchange.over:
            self.exchange.cut_at = time.perf_counter()
        if self.task is not None and self.task is not asyncio.current_task():
            self.task.cancel()
        if reset:
            raw = self._transport.get_extra_info("socket")
            linger = "hh" if sys.platform == "win32" else "ii"
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack(linger, 1, 0))
        self._transport.abort()
        self.instance.note()

    def _hung_up(self) -> None:
        if self.exchange is not None and not self.exchange.over:
            self.exchange.hung_up_at = time.perf_counter()
            if self.task is not None:
                self.task.cancel()
            self.instance.note()

    def _read(self) -> None:
        """Take in what has arrived, up to the end of one request."""
        try:
            while (read := self._http.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(read, h11.Request):
                    self._begin(read)
                elif isinstance(read, h11.Data):
                    assert self.exchange is not None
                    self.exchange.body += bytes(read.data)
                elif isinstance(read, h11.EndOfMessage):
                    assert self.exchange is not None
                    self.task = asyncio.get_running_loop().create_task(self._answer(self.exchange))
        except h11.RemoteProtocolError:
            self.cut()

    def _begin(self, request: h11.Request) -> None:
        assert self._first_byte_at is not None
        target = urlsplit(request.target.decode("ascii"))
        self.exchange = Exchange(
            connection=self.number,
            method=request.method.decode("ascii"),
            path=self.instance.path_below_prefix(target.path),
            query=dict(parse_qsl(target.query, keep_blank_values=True)),
            headers={
                name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers
            },
            arrived_at=self._first_byte_at,
            script=self.instance.script,
        )
        self.instance.requests.append(self.exchange)
        if self.exchange.headers.get("expect", "").lower() == "100-continue":
            self._write(self._http.send(h11.InformationalResponse(status_code=100, headers=[])))
        self.instance.note()

    async def _answer(self, exchange: Exchange) -> None:
        with contextlib.suppress(ValueError):
            exchange.json = json.loads(exchange.body)
        self.instance.note()
        try:
            said, ask = self.instance.decide(exchange)
            if isinstance(said, Reply):
                await self._send_reply(exchange, said)
            else:
                assert ask is not None
                await self._send_answer(exchange, said, ask)
        except _CutError as exc:
            self.cut(reset=exc.args[0] is RESET)
            return
        except Exception as exc:
            self.instance.failures.append(exc)
            self.cut()
            return
        exchange.finished_at = time.perf_counter()
        self.task = None
        self.exchange = None
        self._first_byte_at = None
        self.instance.note()
        assert self._transport is not None
        if self._http.our_state is h11.MUST_CLOSE:
            self._transport.close()
            return
        self._http.start_next_cycle()
        if self._http.trailing_data[0]:
            self._first_byte_at = time.perf_counter()
        self._read()

    async def _send_reply(self, exchange: Exchange, reply: Reply) -> None:
        await _pause(reply.delay)
        content = reply.content
        length = len(content) if reply.length is None else reply.length
        head = {
            "Content-Type": reply.content_type,
            "Content-Length": str(length),
            "Cache-Control": "no-cache, max-age=0",
        }
        self._send_head(exchange, reply.status, head | dict(reply.headers))
        part = content if reply.cut_after is None else content[: reply.cut_after]
        if exchange.method == "HEAD":
            self._http.send(h11.EndOfMessage())
            return
        exchange.sent_at.append(time.perf_counter())
        exchange.bytes_sent += len(part)
        # Handed to the socket as it is: h11 would not let a wrong length through.
        self._write(part)
        await self._room.wait()
        if len(part) != length:
            raise _CutError(CUT)
        self._http.send(h11.Data(data=part))
        self._http.send(h11.EndOfMessage())

    async def _send_answer(self, exchange: Exchange, answer: Answer, ask: Ask) -> None:
        if not ask.stream:
            await self._send_json(exchange, answer, ask)
            return

        head = {
            "Content-Type": answer.content_type or "text/event-stream",
            "Cache-Control": "no-cache",
            "Transfer-Encoding": "chunked",
            "X-Accel-Buffering": "no",
        }
        if ask.gzip:
            head["Content-Encoding"] = "gzip"
        body = _Body(self, exchange, head | answer.headers, answer)
        held_back = b""
        async for part in _events(answer, ask):
            if part is HEAD:
                body.start()
            elif not isinstance(part, bytes):
                raise _CutError(part)
            elif ask.gzip:
                held_back += part
            else:
                await body.send(part)
        if held_back:
            await body.send(gzip.compress(held_back))
        body.start()
        self._write(self._http.send(h11.EndOfMessage()))

    async def _send_json(self, exchange: Exchange, answer: Answer, ask: Ask) -> None:
        text = ""
        async for part in _waited(answer, ask):
            if isinstance(part, str):
                text += part
            elif part in (CUT, RESET):
                raise _CutError(part)
        if answer.error is not None:
            await self._send_reply(exchange, refusal(503, answer.error, answer.headers))
            return
        reason = "stop" if answer.stop_reason is None else answer.stop_reason
        value: dict[str, Any] = {"completion": text, "stopReason": reason}
        if ask.body.get("logprobs"):
            value["logprobs"] = _logprobs(answer.texts)
        reply = Reply(
            status=200,
            body=go_json(value) + "\n",
            content_type=answer.content_type or "application/json",
            headers=answer.headers,
            cut_after=answer.cut_after,
        )
        await self._send_reply(exchange, reply)

    def _send_head(self, exchange: Exchange, status: int, headers: Mapping[str, str]) -> None:
        exchange.status = status
        self._write(
            self._http.send(h11.Response(status_code=status, headers=list(headers.items())))
        )

    def _write(self, data: bytes | None) -> None:
        assert self._transport is not None
        if data and not self._transport.is_closing():
            self._transport.write(data)


class _Body:
    """The body of a streamed answer: starts with its head, counts, and may be cut short."""

    def __init__(
        self, connection: _Connection, exchange: Exchange, head: Mapping[str, str], answer: Answer
    ) -> None:
        self._connection = connection
        self._exchange = exchange
        self._head = head
        self._answer = answer

    def start(self) -> None:
        if self._exchange.status is None:
            self._connection._send_head(self._exchange, 200, self._head)

    async def send(self, part: bytes) -> None:
        self.start()
        whole = len(part)
        if self._answer.cut_after is not None:
            part = part[: max(self._answer.cut_after - self._exchange.bytes_sent, 0)]
        self._exchange.sent_at.append(time.perf_counter())
        for piece in self._answer.pieces(part, self._exchange.bytes_sent):
            self._connection._write(self._connection._http.send(h11.Data(data=piece)))
            self._exchange.bytes_sent += len(piece)
            self._connection.instance.note()
            await self._connection._room.wait()
            # Let it leave on its own, so that the client may read it on its own.
            await asyncio.sleep(0)
        if len(part) < whole:
            raise _CutError(CUT)


async def _events(answer: Answer, ask: Ask) -> AsyncIterator[bytes | Action]:
    """The bytes of a stream, one event each, and the actions between them."""
    reason = answer.stop_reason
    if reason is None and ask.version < 5:
        reason = "stop"
    error = answer.error
    so_far, spoken, any_event = "", 0, False

    try:
        async for part in _waited(answer, ask):
            if not isinstance(part, str):
                yield part
                continue
            spoken += 1
            so_far += part
            any_event = True
            last = spoken == len(answer.texts) and error is None and not answer.repeat_last
            yield _completion(ask.version, so_far, part, reason if last else None)
    except TimeoutError:
        error = "context deadline exceeded"

    if answer.repeat_last and error is None:
        any_event = True
        yield _completion(ask.version, so_far, "", reason)
    if answer.attribution_error is not None:
        any_event = True
        yield event("attribution-error", go_json(answer.attribution_error))
    if error is not None:
        any_event = True
        yield event("error", go_json({"error": error}))
    if answer.done and any_event:
        last_event = event("done", "{}")
        yield last_event if answer.last_blank_line else last_event[:-1]


async def _waited(answer: Answer, ask: Ask) -> AsyncIterator[str | bytes | Action]:
    """The steps that send something, after the waits before them; `TimeoutError` when too late."""
    loop = asyncio.get_running_loop()
    deadline = None if ask.deadline is None else loop.time() + ask.deadline
    spoken = False
    async with asyncio.timeout_at(deadline):
        await _pause(answer.delay)
    for step in answer.steps:
        async with asyncio.timeout_at(deadline):
            if isinstance(step, Gate):
                await step.wait()
            elif isinstance(step, float | int):
                await _pause(step)
            elif isinstance(step, str):
                await _pause(answer.gap if spoken else 0.0)
                spoken = True
        if isinstance(step, str | bytes | Action):
            yield step


def _logprobs(texts: Sequence[str]) -> dict[str, Any]:
    offsets = [sum(len(text) for text in texts[:index]) for index in range(len(texts))]
    return {
        "tokens": list(texts),
        "token_logprobs": [-0.5] * len(texts),
        "top_logprobs": [{text: -0.5} for text in texts],
        "text_offset": offsets,
    }


def _completion(version: int, so_far: str, new: str, reason: str | None) -> bytes:
    if version < 2:
        return event("completion", go_json({"completion": so_far, "stopReason": reason or ""}))
    value = {"deltaText": new}
    if reason is not None:
        value["stopReason"] = reason
    elif version < 5:
        value["stopReason"] = ""
    return event("completion", go_json(value))


async def _pause(seconds: float) -> None:
    if seconds:
        await asyncio.sleep(seconds)


@contextlib.contextmanager
def running_stand_in(
    script: Script | None = None,
    *,
    rules: Rules | None = None,
    ssl_context: ssl.SSLContext | None = None,
    pages: Mapping[str, Reply] | None = None,
    prefix: str = "",
) -> Iterator[StandIn]:
    """A `StandIn` in a thread of its own, for tests without a loop and servers in processes."""
    instance = StandIn(script, rules=rules, ssl_context=ssl_context, pages=pages, prefix=prefix)
    started = threading.Event()
    failure: list[Exception] = []
    stop: list[Callable[[], object]] = []

    async def serve() -> None:
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        stop.append(lambda: loop.call_soon_threadsafe(over.set))
        async with instance:
            started.set()
            await over.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except Exception as exc:
            failure.append(exc)
        finally:
            started.set()

    thread = threading.Thread(target=run, name="stand-in", daemon=True)
    thread.start()
    started.wait()
    if failure:
        raise failure[0]
    try:
        yield instance
    finally:
        stop[0]()
        thread.join()
    if instance.failures:
        raise instance.failures[0]
