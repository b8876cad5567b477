"""What an instance answers: the model's words as steps, or an HTTP reply as it stands."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Any


class Gate:
    """A step that waits until the test opens it, from any thread."""

    def __init__(self) -> None:
        self._opened: Future[None] = Future()

    def open(self) -> None:
        """Let the answer go on, now or when it gets here."""
        if not self._opened.done():
            self._opened.set_result(None)

    async def wait(self) -> None:
        # Shielded: a client that hangs up here must not shut the gate for the next one.
        await asyncio.shield(asyncio.wrap_future(self._opened))


class Action(Enum):
    """A step that does something to the connection."""

    HEAD = "send the head now; otherwise it goes with the first byte of the body"
    CUT = "close the connection here, as a killed process does"
    RESET = "reset the connection here, as a dying network does"


HEAD, CUT, RESET = Action.HEAD, Action.CUT, Action.RESET

Step = str | bytes | float | Gate | Action


class Answer:
    """What the model says, step by step; sent as the request asks (cumulative, delta or JSON).

    A step is `str` (one event with this much more text), `float` (a pause in seconds), a `Gate`,
    `bytes` (put on the wire as they are, a keep-alive comment say) or an `Action`.

    - `delay`, `gap`: seconds before the first event, and between events.
    - `stop_reason`: of the last event; `None` is what instances do: `stop` in old versions, and no
      such key from version 5 on.
    - `error`, `attribution_error`: an event of that name after the last step. Where JSON was asked
      for, `error` becomes status 503.
    - `done=False` leaves the `done` event out, `last_blank_line=False` the very last line feed.
    - `repeat_last`: close a cumulative stream by saying the whole text once more with the reason.
    - `chunk_bytes`, `split_at`: cut the body into HTTP chunks of this size, or at these places,
      whatever they cut through.
    - `cut_after`: close the connection after this many bytes of body.
    - `content_type` and `headers` override or add to the reply's own.
    """

    def __init__(
        self,
        *steps: Step,
        delay: float = 0.0,
        gap: float = 0.0,
        stop_reason: str | None = None,
        error: str | None = None,
        attribution_error: str | None = None,
        done: bool = True,
        last_blank_line: bool = True,
        repeat_last: bool = False,
        chunk_bytes: int | None = None,
        split_at: Sequence[int] = (),
        cut_after: int | None = None,
        content_type: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.steps = steps
        self.delay = delay
        self.gap = gap
        self.stop_reason = stop_reason
        self.error = error
        self.attribution_error = attribution_error
        self.done = done
        self.last_blank_line = last_blank_line
        self.repeat_last = repeat_last
        self.chunk_bytes = chunk_bytes
        self.split_at = sorted(split_at)
        self.cut_after = cut_after
        self.content_type = content_type
        self.headers = dict(headers or {})

    @property
    def texts(self) -> list[str]:
        """The new text of each event."""
        return [step for step in self.steps if isinstance(step, str)]

    def pieces(self, part: bytes, start: int) -> Iterable[bytes]:
        """`part`, which begins `start` bytes into the body, as the HTTP chunks it is sent in."""
        cuts = [place - start for place in self.split_at if start < place < start + len(part)]
        if self.chunk_bytes is not None:
            cuts = list(range(self.chunk_bytes, len(part), self.chunk_bytes))
        for begin, end in pairwise([0, *cuts, len(part)]):
            yield part[begin:end]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An HTTP reply as it stands. `length` overrides `Content-Length`, to lie about it."""

    status: int
    body: str | bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    length: int | None = None
    cut_after: int | None = None

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else self.body.encode()


def refusal(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Reply:
    """One line of plain text, as every refusal of an instance is."""
    return Reply(status=status, body=f"{sentence}\n", headers=headers or {})


def rate_limited(
    retry_after: str | None = None, sentence: str = "", pro: bool | None = None
) -> Reply:
    """429: `retry_after` is sent as it is, seconds or a date; the body may be empty."""
    headers = {"X-RateLimit-Limit": "1", "X-RateLimit-Remaining": "0"}
    if retry_after is not None:
        headers["Retry-After"] = retry_after
    if pro is not None:
        headers["X-Is-Cody-Pro-User"] = "true" if pro else "false"
    return Reply(status=429, body=f"{sentence}\n" if sentence else "", headers=headers)


def upstream_error(status: int = 500, body: str = "", source: str = "Fireworks") -> Reply:
    """503: the model's own server said no to an instance that was asked for JSON."""
    return refusal(503, f"{source}: unexpected status code {status}: {body[:1024]}")


def html_page(status: int = 200, title: str = "Sign in") -> Reply:
    """A page meant for people: a login (200), a firewall (403), a proxy (502, 504)."""
    body = (
        f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>{title}</body></html>\n"
    )
    return Reply(status=status, body=body, content_type="text/html; charset=utf-8")


def second_factor(header: str = "X-Acme-U2F-Challenge") -> Reply:
    """401 from a proxy that asks for a second factor."""
    page = html_page(401, "One more step")
    return Reply(
        status=401, body=page.body, content_type=page.content_type, headers={header: "true"}
    )


def redirect(location: str, status: int = 302) -> Reply:
    """A redirect, such as the one to a company's sign-on."""
    body = f'<a href="{location}">Found</a>.\n\n'
    return Reply(
        status=status,
        body=body,
        content_type="text/html; charset=utf-8",
        headers={"Location": location},
    )


def json_page(value: Any, content_type: str = "text/plain; charset=utf-8") -> Reply:
    """A page of configuration: pretty-printed JSON, served as plain text."""
    return Reply(
        status=200,
        body=json.dumps(value, indent=4, ensure_ascii=False) + "\n",
        content_type=content_type,
    )


def words(text: str) -> Iterable[str]:
    """`text` in pieces the size of tokens: a word with the blanks before it."""
    start = 0
    for index in range(1, len(text)):
        if text[index].isspace() and not text[index - 1].isspace():
            yield text[start:index]
            start = index
    if text:
        yield text[start:]


def go_json(value: Any) -> str:
    """JSON as Go writes it: compact, and with what HTML could mistake for markup escaped."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return written


def event(name: str, data: str) -> bytes:
    """One server-sent event."""
    return f"event: {name}\ndata: {data}\n\n".encode()
