"""One completion without an editor: of a file, at a place, as the server would answer it."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path

from lsp_completions.backend import Backend
from lsp_completions.completer import complete
from lsp_completions.errors import CompletionsError, InvalidParams
from lsp_completions.generations import Generations
from lsp_completions.grammars import load
from lsp_completions.model_loading import LONGEST, ModelLoading
from lsp_completions.on_disk import is_file, is_there
from lsp_completions.pipeline.asking import NEAR, why_not_ask
from lsp_completions.pipeline.context import context_at
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.languages import language_of
from lsp_completions.pipeline.markers import without_unfinished_marker
from lsp_completions.pipeline.outcome import Outcome, Skipped, SkipReason, Suggested
from lsp_completions.pipeline.uris import display_path, uri_of_path
from lsp_completions.providers.base import Event, HttpRequest
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.request import Request, at_hand
from lsp_completions.settings import Settings, Trigger
from lsp_completions.sharing.context_filters import ContextFilters
from lsp_completions.sharing.gate import Gate, Permission
from lsp_completions.site import Sites
from lsp_completions.switches import is_on
from lsp_completions.transport import Timeouts, Transport
from lsp_completions.transport.network import network_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the cursor stands: in characters from 1, before the character with that number."""

    file: str
    line: int
    column: int

    @staticmethod
    def read(text: str) -> "Place":
        """`FILE:LINE:COLUMN`, read from the right: there may be colons in the file's name."""
        file, *numbers = text.rsplit(":", 2)
        if not file or len(numbers) < 2 or not all(_is_number(number) for number in numbers):
            raise InvalidParams(
                f'"{_readable(text)}" names no place. Write the file, the line and the column, '
                "such as app.py:12:5."
            )
        line, column = map(int, numbers)
        if line < 1 or column < 1:
            raise InvalidParams("Lines and columns count from 1.")
        return Place(file=file, line=line, column=column)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """A file's text with the cursor in it."""

    document: Document
    offset: int
    path: str
    """What the model is told: the file's path below the folder one is in, or its name."""

    @property
    def line_prefix(self) -> str:
        """The cursor's line up to the cursor."""
        line, column = self.document.place_at(self.offset)
        return self.document.line(line)[:column]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of it. `first_text` and `total` are seconds from the request on.

    `first_text` is when there was something to show for the first time.
    """

    outcome: Outcome
    provider: str
    """Its name; empty where nobody was asked."""
    model: str
    """Its name; empty where the provider chose one of its own."""
    first_text: float
    total: float


def cursor_at(place: Place, language_id: str = "") -> Cursor:
    """The file at `place`. Raises `InvalidParams` where there is no such place."""
    file = Path(place.file)
    name = f'"{_readable(place.file)}"'
    if is_there(file) and not is_file(file):
        raise InvalidParams(f"{name} is no file.")
    try:
        # As editors read it: line ends as they are, and no mark at the beginning.
        with file.open(encoding="utf-8-sig", newline="") as opened:
            text = opened.read()
    except FileNotFoundError:
        raise InvalidParams(f"There is no file {name}.") from None
    except UnicodeDecodeError:
        raise InvalidParams(f"{name} is not text in UTF-8.") from None
    except OSError as error:
        raise InvalidParams(f"{name} cannot be read: {error.strerror or error}.") from None

    uri = _uri_of(file.absolute())
    document = Document.open(uri, language_id, None, text)
    if place.line > document.line_count:
        raise InvalidParams(
            f"{name} has no line {place.line}; its last one is {document.line_count}."
        )
    line, column = place.line - 1, place.column - 1
    length = len(document.line(line).rstrip("\r\n"))
    if column > length:
        raise InvalidParams(
            f"Line {place.line} of {name} has no column {place.column}; "
            f"its end is column {length + 1}."
        )
    return Cursor(
        document=document,
        offset=document.offset_at(line, column),
        path=display_path(uri, [_uri_of(Path.cwd())]),
    )


def why_not_while_typing(cursor: Cursor, settings: Settings) -> SkipReason | None:
    """What keeps suggestions from a place unless they are asked for by hand."""
    language = language_of(cursor.document.language_id, cursor.path)
    if not is_on(cursor.document.language_id, cursor.path, settings.languages):
        return SkipReason.LANGUAGE_OFF
    if settings.trigger is Trigger.MANUAL:
        return SkipReason.BY_HAND_ONLY
    context = context_at(
        cursor.document,
        cursor.offset,
        path=cursor.path,
        windows=NEAR,
        grammar=load(language),
    )
    return why_not_ask(context, in_comments=settings.in_comments, in_strings=settings.in_strings)


def _readable(name: str) -> str:
    """A name from the command line, whatever the locale makes of its bytes."""
    return os.fsencode(name).decode(errors="replace")


def _uri_of(path: Path) -> str:
    return uri_of_path(_readable(str(path)))


async def complete_once(
    cursor: Cursor,
    settings: Settings,
    *,
    show: Callable[[Edit], None],
    report: Callable[[str], None],
    progress: Callable[[str], None],
) -> Answer:
    """Complete at the cursor; `show` gets what would be suggested so far, as long as more comes.

    `report` is given a sentence for each thing in the environment that cannot be used, `progress`
    one for what takes a while. Raises `CompletionsError` where nobody could answer.
    """
    timeouts = Timeouts(
        connect=settings.connect_timeout,
        first_event=settings.first_event_timeout,
        total=settings.total_timeout,
    )
    transport = Transport(report=report, network=network_of(settings))
    watch = Watch(lambda asked: transport.events(asked, timeouts))
    sites = Sites(transport.events)
    filters = ContextFilters(transport.events, version=_version_by(sites))
    gate = Gate(filters)
    backend = Backend(progress, sites=sites, tell=report, also_ask=filters.begin)
    generations = Generations(watch.open_stream, replaced=backend.replaced)
    async with AsyncExitStack() as closing:
        closing.push_async_callback(transport.aclose)
        closing.push_async_callback(sites.aclose)
        closing.push_async_callback(filters.aclose)
        closing.push_async_callback(gate.aclose)
        closing.push_async_callback(generations.aclose)
        uri = cursor.document.uri
        gate.follow(settings, [_uri_of(Path.cwd())])
        gate.judge(uri)
        if (reason := await gate.decided(uri, None)) is not None:
            kept_back = Skipped(reason=reason)
            return Answer(outcome=kept_back, provider="", model="", first_text=0, total=0)
        # A server is as ready as this when its editor asks.
        await transport.prepared()
        closing.push_async_callback(backend.aclose)
        if (missing := backend.choose(settings)) is not None:
            report(str(missing))
        provider = await backend.provider()
        permission = Permission(gate, uri, settings.total_timeout)
        reason = await permission.decided(provider)
        trouble = gate.trouble(uri)
        if reason is SkipReason.CONTEXT_FILTERS_UNKNOWN and trouble is not None:
            raise trouble
        loading = ModelLoading(
            lambda asked, longest: transport.events(
                asked, replace(timeouts, first_event=longest, total=longest)
            ),
            lambda sentence, _: progress(sentence),
        )
        closing.push_async_callback(loading.aclose)
        await loading.wait(provider, LONGEST)
        language = language_of(cursor.document.language_id, cursor.path)
        request = Request(
            document=cursor.document,
            offset=cursor.offset,
            path=cursor.path,
            settings=settings,
            provider=at_hand(provider),
            current=lambda: cursor.document,
            permission=permission,
            by_hand=True,
            grammar=await asyncio.to_thread(load, language),
        )
        began = time.monotonic()
        shown_at: list[float] = []

        def show_growing(edit: Edit) -> None:
            shown_at.append(time.monotonic())
            show(edit)

        completing = asyncio.create_task(complete(request, generations))
        following = asyncio.create_task(
            watch.follow(request, show_growing if provider.shows_early else _not_yet)
        )
        try:
            await asyncio.wait([completing, following], return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended = time.monotonic()
            completing.cancel()
            following.cancel()
            await asyncio.wait([completing, following])
        if not following.cancelled():
            following.result()  # it ends by itself where something could not be shown
        return Answer(
            outcome=completing.result(),
            provider=provider.name,
            model=provider.model,
            first_text=min([*shown_at, ended]) - began,
            total=ended - began,
        )


def _version_by(sites: Sites) -> Callable[[Sourcegraph], Awaitable[str | None]]:
    async def version(instance: Sourcegraph) -> str | None:
        return (await sites.site(instance)).version

    return version


@dataclass(slots=True)
class Heard:
    """What came of one HTTP request so far."""

    events: list[Event] = field(default_factory=list)
    error: CompletionsError | None = None


class Watch:
    """Listens to streams, and finds what would be suggested if the model stopped now."""

    def __init__(self, opens: Callable[[HttpRequest], AsyncGenerator[Event, None]]) -> None:
        self._opens = opens
        self._heard: list[Heard] = []
        self._news = asyncio.Event()

    async def open_stream(self, request: HttpRequest) -> AsyncGenerator[Event, None]:
        """The stream of `request`, listened to."""
        heard = Heard()
        self._heard.append(heard)
        async with aclosing(self._opens(request)) as events:
            try:
                async for event in events:
                    heard.events.append(event)
                    self._news.set()
                    yield event
            except CompletionsError as error:
                heard.error = error
                raise

    async def follow(self, request: Request, show: Callable[[Edit], None]) -> None:
        """Show what there is whenever more has come, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            # The streams so far are played again to the completer itself, so that the suggestion
            # grows exactly into the one it ends with.
            generations = Generations(_replay(self._heard))
            try:
                outcome = await complete(request, generations)
            except CompletionsError:
                continue
            finally:
                await generations.aclose()
            if isinstance(outcome, Suggested):
                edit = outcome.edits[0]
                text = without_unfinished_marker(edit.new_text)
                if text.strip():
                    show(replace(edit, new_text=text))


def _not_yet(_: Edit) -> None:
    """What may not be shown before all of it has come."""


def _replay(heard: Iterable[Heard]) -> Callable[[HttpRequest], AsyncGenerator[Event, None]]:
    """What opens one stream after the other as they have been so far."""
    streams = iter([_played(list(each.events), each.error) for each in heard])
    return lambda _: next(streams, _played([], None))


async def _played(
    events: list[Event], error: CompletionsError | None
) -> AsyncGenerator[Event, None]:
    for event in events:
        yield event
    if error is not None:
        raise error


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10
