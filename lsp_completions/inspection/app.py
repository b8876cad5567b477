"""The page's own server: who may ask, and what is answered.

Only whoever knows the key, which is in the page's address, and asks this machine by its own name:
another page in the same browser knows neither, and reads nothing of an answer anyway.
"""

import asyncio
import contextlib
import hmac
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from lsp_completions.inspection.history import History, Told

LOOKS = 0.4  # seconds; servers write once a second at the most
QUIET = 15.0  # seconds without news until a page is told that we are still there

PAGE = {
    "": ("index.html", "text/html"),
    "page.css": ("page.css", "text/css"),
    "page.js": ("page.js", "text/javascript"),
    "drawing.js": ("drawing.js", "text/javascript"),
}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where what is shown comes from. All of them block.

    `code_of` gives the code of a request, by the server's process and the request's number; it is
    `None` where no code is shown in this run.
    """

    servers: Callable[[], Sequence[Told]]
    statistics: Callable[[], Told]
    code_of: Callable[[int, int], Told | None] | None = None


def app(sources: Sources, *, key: str, port: int) -> ASGIApp:
    """The page, for those who know the key."""
    live = Live(sources.servers)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        looking = asyncio.create_task(live.look(), name="looking")
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    async def events(_: Request) -> Response:
        return StreamingResponse(live.events(), media_type="text/event-stream")

    async def statistics(_: Request) -> Response:
        return Json(await asyncio.to_thread(sources.statistics))

    async def about(_: Request) -> Response:
        return Json({"code": sources.code_of is not None})

    async def code(request: Request) -> Response:
        if sources.code_of is None:
            return Json({"message": NO_CODE}, status_code=403)
        pid, number = request.path_params["pid"], request.path_params["number"]
        found = await asyncio.to_thread(sources.code_of, pid, number)
        if found is None:
            return Json({"message": CODE_GONE}, status_code=404)
        return Json(found)

    routes = [
        Route("/events", events),
        Route("/about", about),
        Route("/statistics", statistics),
        Route("/code/{pid:int}/{number:int}", code),
        *(Route(f"/{name}", _file(*about_it)) for name, about_it in PAGE.items()),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), key=key, port=port)


NO_CODE = "No code is shown in this run: start `lsp-completions inspect --with-code` for that."
CODE_GONE = "The server has no code of this request: it came before it was asked to keep some."


def _file(name: str, kind: str) -> Callable[[Request], Any]:
    content = (files("lsp_completions.inspection") / "page" / name).read_bytes()

    async def answer(_: Request) -> Response:
        return Response(content, media_type=kind)

    return answer


class Guard:
    """Lets nobody through who does not know the key, or who is led here by another page."""

    def __init__(self, inner: ASGIApp, *, key: str, port: int) -> None:
        self._inner = inner
        self._key = key.encode()
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or begin and end with the server."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        inside = self._admitted(scope)
        answer: ASGIApp
        if inside is None:
            answer = PlainTextResponse("Not for you.\n", status_code=403)
            inside = scope
        else:
            answer = self._inner

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        await answer(inside, receive, send_with_headers)

    def _admitted(self, scope: Scope) -> Scope | None:
        """The request without its key; `None` for one that is turned away."""
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        # A name that leads here although it is not ours is another page's trick.
        if host not in self._hosts:
            return None
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host}":
            return None
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return None
        if scope["method"] not in ("GET", "HEAD"):
            return None
        _, _, rest = scope["path"].partition("/")
        key, slash, path = rest.partition("/")
        if not hmac.compare_digest(key.encode(), self._key) or not slash:
            return None
        return {**scope, "path": f"/{path}", "raw_path": f"/{path}".encode()}


class Live:
    """What happens, told to all open pages."""

    def __init__(self, servers: Callable[[], Sequence[Told]]) -> None:
        self._servers = servers
        self._history = History()
        self._pages: set[asyncio.Queue[Told]] = set()

    async def look(self) -> None:
        """Look again and again."""
        while True:
            try:
                news = self._history.take(await asyncio.to_thread(self._servers))
            except Exception:  # noqa: BLE001 - one look that fails is followed by another
                news = None
            if news is not None:
                for page in self._pages:
                    page.put_nowait(news)
            await asyncio.sleep(LOOKS)

    async def events(self) -> AsyncGenerator[bytes, None]:
        """Server-sent events: first all that is known, then what is new."""
        news: asyncio.Queue[Told] = asyncio.Queue()
        self._pages.add(news)
        try:
            yield _event("all", self._history.all())
            while True:
                try:
                    async with asyncio.timeout(QUIET):
                        told = await news.get()
                except TimeoutError:
                    yield b": still here\n\n"
                else:
                    yield _event("news", told)
        finally:
            self._pages.discard(news)


class Json(JSONResponse):
    """Of anything that a server may tell."""

    def render(self, content: object) -> bytes:
        """As bytes, with a question mark where half of a surrogate pair stands."""
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


def _event(name: str, told: Told) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), Json(told).body)
