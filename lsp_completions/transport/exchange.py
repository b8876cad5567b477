"""One request and its answer.

An exchange is a task of its own that is cancelled at most once, by whatever comes first: the
reader leaving, or a deadline. httpx 0.28.1 loses connections to a second cancel, and the model
behind them goes on generating.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

from lsp_completions.errors import (
    CompletionsError,
    ConfigurationError,
    Interrupted,
    ProxyNotAuthorized,
    Redirected,
    Refused,
    Reply,
    SignInPage,
    TimedOut,
    UnexpectedReply,
    Unreachable,
)
from lsp_completions.providers.base import Event, HttpRequest
from lsp_completions.transport.connections import Connections
from lsp_completions.transport.dialers import why_login_is_wanted
from lsp_completions.transport.event_stream import (
    BOM,
    MAX_BYTES,
    chunks_of,
    line_events,
    stream_events,
)
from lsp_completions.transport.failures import explain
from lsp_completions.transport.network import is_loopback, place

if TYPE_CHECKING:
    from lsp_completions.transport import Timeouts

log = logging.getLogger(__name__)

# Of an answer that is no success, as much as a sentence about it could need.
_MAX_REFUSAL_BYTES = 4096
# How long the explanation may take that follows such a status.
_REFUSAL_SECONDS = 1.0
# How long the body may take to end after the provider's last event; usually it has ended already.
_DRAIN_SECONDS = 0.1
# How many events may wait for the reader, a task that does little else.
_READ_AHEAD = 64
# A reused connection that the server has closed meanwhile shows as one of these.
_DEAD_CONNECTION = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)
# httpx lets some of what anyio and the resolver raise pass as it is.
_NETWORK_TROUBLE = (httpx.HTTPError, OSError, UnicodeError, ExceptionGroup)
# A stream of JSON objects, one a line, as Ollama sends it.
_JSON_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")
_PAGES = ("text/html", "application/xhtml+xml")
# What our HTTP library says itself about the body.
_FRAMING = ("content-length", "transfer-encoding")
# What must not be read on the way.
_CREDENTIALS = ("authorization", "api-key", "x-api-key")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e]*")


class _Stage(Enum):
    """How far an exchange has come."""

    WAITING = auto()  # for a free connection
    CONNECTING = auto()
    SENT = auto()
    ANSWERED = auto()  # with a status; no event yet
    STREAMING = auto()
    FINISHED = auto()  # the provider has sent its last event


class Exchange:
    """One request and its answer, in a task of its own."""

    def __init__(
        self, connections: Connections, request: HttpRequest, timeouts: "Timeouts"
    ) -> None:
        self._connections = connections
        self._request = request
        self._timeouts = timeouts
        self._host = self._way = place(request.url)
        self._stage = _Stage.WAITING
        self._connected = False
        self._socket: httpcore.AsyncNetworkStream
        self._cancelled = False
        self._closing = False
        # The events, then how it ended: `None`, or what went wrong.
        self._inbox: asyncio.Queue[Event | BaseException | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(_READ_AHEAD)
        self._end: BaseException | None = Interrupted(f"The request to {self._host} was stopped.")
        self._deadlines: list[asyncio.TimerHandle] = []
        self._too_late: Callable[[float], CompletionsError] | None = None
        self.task = asyncio.create_task(self._run(), name="exchange")
        self.task.add_done_callback(lambda _: self._inbox.put_nowait(self._end))

    async def next_event(self) -> Event | None:
        """Return the next event, `None` at the end of the answer."""
        match await self._inbox.get():
            case Event() as event:
                self._room.release()
                return event
            case BaseException() as error:
                raise error
            case None:
                return None

    async def leave(self) -> None:
        """Hang up unless the provider has finished; being cancelled here leaves nothing undone."""
        if self._stage is not _Stage.FINISHED:
            self.cancel()
            await asyncio.wait([self.task])

    def cancel(self) -> None:
        """Hang up; only the first call does anything, and none once the connection is closing.

        httpx loses a connection when even one cancel comes while it is being closed or given back.
        """
        if not self._cancelled:
            self._cancelled = True
            if not self._closing:
                self.task.cancel()

    async def _run(self) -> None:
        self._deadline(self._timeouts.total, self._total_is_over)
        if self._request.stream:
            self._deadline(self._timeouts.first_event, self._first_event_is_due)
        try:
            await self._talk()
            self._end = None
        except asyncio.CancelledError:
            if not self._cancelled:
                raise
            if isinstance(self._end, TimedOut) and not self._connected:
                # Silence on a kept connection: the path to the host may have died (sleep, NAT),
                # and the other kept ones with it.
                await self._connections.drop_idle()
            elif isinstance(self._end, Interrupted) and self._stage is not _Stage.WAITING:
                # What is typed next is asked soon.
                self._have_a_spare()
        except Exception as error:  # noqa: BLE001 - raised where the events are read
            self._end = error
        finally:
            self._drop_deadlines()
            self._too_late = None  # it holds us
            if self._stage is _Stage.FINISHED:
                self._end = None

    async def _talk(self) -> None:
        request = self._built()
        found = await self._connections.proxy_for(request.url)
        proxy = None if found is None else found.address
        if proxy is not None:
            self._way = f"{self._host} through the proxy {proxy.place}"
        try:
            try:
                await self._attempt(request)
            except _DEAD_CONNECTION:
                if self._connected or self._stage is not _Stage.SENT:
                    raise
                # The server closed a kept connection just as we used it. Others may be as dead,
                # so the second attempt makes a new one.
                await self._connections.drop_idle()
                if self._cancelled:
                    raise asyncio.CancelledError from None
                self._stage = _Stage.WAITING
                self._closing = False
                await self._attempt(request)
            return
        except _NETWORK_TROUBLE as error:
            failure = explain(error, host=self._host, proxy=proxy)
            log.debug("%s (%s)", failure, type(error).__name__)
        # Outside the handler: httpx's exception may quote a header, so ours keeps no link to it.
        raise failure

    def _built(self) -> httpx.Request:
        for name, value in self._request.headers:
            if not _HEADER.fullmatch(f"{name}:{value}"):
                raise ConfigurationError(
                    f"The header {name!a} holds a character that cannot be sent, such as a line"
                    " break or a letter outside ASCII."
                )
        url = _read_url(self._request.url)
        if url is None:
            raise ConfigurationError("The endpoint must be a URL: https:// or http:// and a host.")
        if (
            url.scheme == "http"
            and not is_loopback(url.host.lower().rstrip("."))
            and any(name.lower() in _CREDENTIALS for name, _ in self._request.headers)
        ):
            self._connections.warn_of_plain_text(self._host)
        return self._connections.client.build_request(
            self._request.method,
            url,
            headers=[
                (name, value.strip())
                for name, value in self._request.headers
                if name.lower() not in _FRAMING
            ],
            content=self._request.body,
            # Only connecting is timed by httpx: its other limits start anew with each read.
            timeout=httpx.Timeout(None, connect=self._timeouts.connect),
            extensions={"trace": self._trace},
        )

    async def _attempt(self, request: httpx.Request) -> None:
        # A URL's user and password must not take the place of the token.
        auth = httpx.Auth() if "authorization" in request.headers else httpx.USE_CLIENT_DEFAULT
        response = await self._connections.client.send(request, stream=True, auth=auth)
        try:
            if response.status_code == 408 and not self._connected:
                # The server's word that a kept connection has waited long enough has crossed our
                # request (RFC 9110, 15.5.9).
                raise httpx.RemoteProtocolError("It had timed out.")
            self._stage = _Stage.ANSWERED
            if response.is_success and self._request.stream:
                self._have_a_spare()
            await self._read(response)
        finally:
            await response.aclose()
            # httpx 0.28 has a response and its stream hold each other, and with them the request's
            # body, until somebody looks for garbage.
            response.stream = httpx.ByteStream(b"")

    async def _trace(self, name: str, info: dict[str, Any]) -> None:
        match name:
            case "connection.connect_tcp.started":
                self._stage = _Stage.CONNECTING
                self._connected = True
            case "connection.connect_tcp.complete":
                self._socket = info["return_value"]
            case "connection.start_tls.failed":
                # httpcore 1.0.9 leaves the socket open when a handshake is cancelled.
                await self._socket.aclose()
            case "http11.send_request_headers.started":
                self._stage = _Stage.SENT
            case "http11.send_request_body.complete" if not self._connected:
                # On a kept connection, so this host is one that answers.
                if self._request.stream:
                    self._have_a_spare()
            case "http11.response_closed.started":
                self._closing = True
            case _:
                pass

    def _have_a_spare(self) -> None:
        if self._connections.spares is not None:
            url = httpx.URL(self._request.url)
            self._connections.spares.want(url, timeout=self._timeouts.connect)

    async def _read(self, response: httpx.Response) -> None:
        if response.status_code == 407:
            await self._read_proxy_refusal(response)
        if response.is_redirect:
            raise Redirected(
                f"{self._host} redirects to {_target(response)}, which is not followed: the token"
                " is for the configured host only. Is the endpoint right?"
            )
        if not response.is_success:
            await self._read_refusal(response)
        media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type == "text/event-stream":
            await self._read_events(stream_events(response, self._host))
        elif media_type in _JSON_LINES:
            await self._read_events(line_events(response, self._host))
        elif media_type in _PAGES and self._request.stream:
            raise self._web_page()
        else:
            await self._read_whole(response, declared_page=media_type in _PAGES)

    async def _read_proxy_refusal(self, response: httpx.Response) -> None:
        """Raise what a proxy says that is handed requests whole."""
        found = await self._connections.proxy_for(response.request.url)
        if found is not None and found.address.scheme in ("http", "https"):
            schemes = [
                value.partition(" ")[0] for value in response.headers.get_list("proxy-authenticate")
            ]
            why = why_login_is_wanted(found.address, schemes)
            raise ProxyNotAuthorized(f"The proxy {found.address.place} {why}.")

    async def _read_refusal(self, response: httpx.Response) -> None:
        """Raise `Refused` with the beginning of the body, as far as it comes in time."""
        body = bytearray()
        status = f"{response.status_code} {response.reason_phrase}".strip()

        def refused() -> Refused:
            return Refused(
                f"{self._host} answered {status}.",
                reply=Reply(
                    status=response.status_code,
                    headers=dict(response.headers),
                    body=_decoded(body[:_MAX_REFUSAL_BYTES]),
                ),
            )

        self._too_late = lambda _: refused()
        self._deadline(_REFUSAL_SECONDS, lambda: self._expire(refused()))
        try:
            async with chunks_of(response) as chunks:
                async for chunk in chunks:
                    body += chunk
                    if len(body) > _MAX_REFUSAL_BYTES:
                        break
        except httpx.HTTPError:
            pass  # the status says enough
        raise refused()

    async def _read_whole(self, response: httpx.Response, *, declared_page: bool) -> None:
        body = bytearray()
        async with chunks_of(response) as chunks:
            async for chunk in chunks:
                body += chunk
                # Gateways call JSON a page as well.
                if declared_page and body.removeprefix(BOM).lstrip().startswith(b"<"):
                    raise self._web_page()
                if len(body) > MAX_BYTES:
                    raise UnexpectedReply(f"{self._host} answered with more than 1 MiB.")
        if not body.strip():
            raise UnexpectedReply(
                f"{self._host} answered {response.status_code} and no text.", empty=True
            )
        self._inbox.put_nowait(Event(data=_decoded(body)))

    def _web_page(self) -> SignInPage:
        return SignInPage(
            f"{self._host} answered with a web page, probably a login page."
            " Check the endpoint and the access token."
        )

    async def _read_events(self, events: AsyncGenerator[Event, None]) -> None:
        async with aclosing(events):
            async for event in events:
                if self._stage is _Stage.FINISHED:
                    continue
                if event.data:
                    self._stage = _Stage.STREAMING
                    await self._room.acquire()
                    self._inbox.put_nowait(event)
                if event.name == "done" or event.data == "[DONE]":
                    self._stage = _Stage.FINISHED
                    self._drop_deadlines()
                    self._deadline(_DRAIN_SECONDS, self.cancel)

    def _first_event_is_due(self) -> None:
        if self._stage is not _Stage.STREAMING:
            self._expire(self._late(self._timeouts.first_event))

    def _total_is_over(self) -> None:
        self._expire(self._late(self._timeouts.total))

    def _late(self, seconds: float) -> CompletionsError:
        if self._too_late is not None:
            return self._too_late(seconds)
        match self._stage:
            case _Stage.WAITING:
                return TimedOut(f"No connection to {self._host} became free within {seconds:g} s.")
            case _Stage.CONNECTING:
                return Unreachable(f"No connection to {self._way} within {seconds:g} s.")
            case _Stage.SENT:
                return TimedOut(f"{self._way} did not answer within {seconds:g} s.")
            case _Stage.ANSWERED:
                return TimedOut(f"{self._host} sent no text within {seconds:g} s.")
            case _:
                return TimedOut(f"{self._host} did not finish within {seconds:g} s.")

    def _expire(self, error: CompletionsError) -> None:
        if not self._cancelled:
            self._end = error
            self.cancel()

    def _deadline(self, seconds: float, then: Callable[[], None]) -> None:
        self._deadlines.append(asyncio.get_running_loop().call_later(seconds, then))

    def _drop_deadlines(self) -> None:
        for deadline in self._deadlines:
            deadline.cancel()
        self._deadlines.clear()


def _decoded(body: bytes | bytearray) -> str:
    return body.removeprefix(BOM).decode("utf-8", "replace")


def _read_url(url: str) -> httpx.URL | None:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return None
    return parsed if parsed.scheme in ("http", "https") and place(url) else None


def _target(response: httpx.Response) -> str:
    location = _read_url(response.headers.get("location", ""))
    return place(str(location)) if location else "another address"
