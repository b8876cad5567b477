"""A document, somebody who types, an editor that asks, and a model whose words a test decides."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence

from lsp_completions.cache import Memory
from lsp_completions.completer import complete
from lsp_completions.generations import Generations
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import Outcome, Suggested
from lsp_completions.pipeline.uris import document_key
from lsp_completions.providers.base import Event, HttpRequest, Provider
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.request import Request, Selection, at_hand
from lsp_completions.secret import Secret
from lsp_completions.session import Shown
from lsp_completions.settings import Settings
from lsp_completions.trail import Trail
from tests.support.cursor import apply, cursor

MOST_OF_A_PIECE = 1000  # characters
PROVIDER = Sourcegraph(endpoint="http://127.0.0.1:1", token=Secret("t"), api_version=2)


class Stream:
    """One model stream, which says what and when a test wants."""

    def __init__(self) -> None:
        self.hung_up = asyncio.Event()
        self._events: asyncio.Queue[Event | Exception | None] = asyncio.Queue()

    def says(self, *texts: str) -> None:
        for text in texts:
            self._events.put_nowait(Event(name="completion", data=json.dumps({"deltaText": text})))

    def ends(self, error: Exception | None = None) -> None:
        self._events.put_nowait(error)

    async def __call__(self) -> AsyncGenerator[Event, None]:
        try:
            while (event := await self._events.get()) is not None:
                if isinstance(event, Exception):
                    raise event
                yield event
        except (GeneratorExit, asyncio.CancelledError):
            self.hung_up.set()
            raise


class Desk:
    """A document, somebody who types, an editor that asks, and a model."""

    def __init__(
        self, drawn: str, provider: Provider = PROVIDER, *, language: str = "python"
    ) -> None:
        text, self.offset = cursor(drawn)
        self.document = Document.open("file:///w/a.py", language, 1, text)
        self.provider = provider
        self.settings = Settings()
        self.memory = Memory()
        self.streams: list[Stream] = []
        self.trails: list[Trail] = []  # of what was asked, in its order
        self.asked = asyncio.Condition()
        self.generations = Generations(self._open)

    async def _open(self, request: HttpRequest) -> AsyncGenerator[Event, None]:
        stream = Stream()
        self.streams.append(stream)
        async for event in stream():
            yield event

    def types(self, text: str, *, closes: str = "") -> None:
        """Type at the cursor; an editor may close a bracket by itself."""
        self._becomes(self.offset, self.offset, text + closes)
        self.offset += len(text)

    def deletes(self, count: int) -> None:
        self._becomes(self.offset - count, self.offset, "")
        self.offset -= count

    def accepts(self, outcome: Outcome) -> None:
        assert isinstance(outcome, Suggested)
        edit = outcome.edits[0]
        self._becomes(edit.start, edit.end, edit.new_text)
        self.offset = edit.start + len(edit.new_text)

    def changes(self, old: str, new: str) -> None:
        """Change something elsewhere."""
        at = self.document.text.index(old)
        self._becomes(at, at + len(old), new)
        if at < self.offset:
            self.offset += len(new) - len(old)

    def becomes(self, drawn: str) -> None:
        """The document becomes another, by one change."""
        text, offset = cursor(drawn)
        old = self.document.text
        shorter = min(len(old), len(text))
        start = next((n for n in range(shorter) if old[n] != text[n]), shorter)
        most = shorter - start
        same = next((n for n in range(most) if old[-1 - n] != text[-1 - n]), most)
        if old != text:
            self._becomes(start, len(old) - same, text[start : len(text) - same])
        self.offset = offset

    def _becomes(self, start: int, end: int, text: str) -> None:
        self.document = self.document.spliced(start, end, text, (self.document.version or 0) + 1)
        self.memory.changed(document_key(self.document.uri), self.document)

    def asks(
        self,
        *,
        by_hand: bool = False,
        deadline: float | None = None,
        follow_typing: bool = True,
        selection: Selection | None = None,
    ) -> "asyncio.Task[Outcome]":
        request = Request(
            document=self.document,
            offset=self.offset,
            path="a.py",
            settings=self.settings,
            provider=at_hand(self.provider),
            current=lambda: self.document,
            deadline=deadline,
            by_hand=by_hand,
            follow_typing=follow_typing,
            selection=selection,
        )
        self.trails.append(request.trail)
        return asyncio.create_task(complete(request, self.generations, self.memory))

    def reports(self, outcome: Outcome) -> "asyncio.Task[Outcome]":
        """Report that a suggestion is accepted, before or after its change."""
        assert isinstance(outcome, Suggested)
        shown = Shown(document=outcome.document, edit=outcome.edits[0])
        then = shown.accepted(self.document)
        assert then is not None
        request = Request(
            document=then[0],
            offset=then[1],
            path="a.py",
            settings=self.settings,
            provider=at_hand(self.provider),
            current=lambda: self.document,
            ahead=True,
        )

        async def bounded() -> Outcome:
            async with asyncio.timeout(20):
                return await complete(request, self.generations, self.memory)

        return asyncio.create_task(bounded())

    async def sees(self, *, by_hand: bool = False, follow_typing: bool = True) -> str:
        """The document with the suggestion in it, or why there is none."""
        async with asyncio.timeout(20):
            outcome = await self.asks(by_hand=by_hand, follow_typing=follow_typing)
        if isinstance(outcome, Suggested):
            return apply(outcome.document.text, outcome.edits[0])
        return outcome.reason.name

    async def stream(self, number: int = 0) -> Stream:
        """The stream with that number, once it was asked for."""
        async with asyncio.timeout(20):
            while len(self.streams) <= number:  # noqa: ASYNC110 - nothing to be told by
                await asyncio.sleep(0)
        return self.streams[number]


class Told(Desk):
    """A desk whose models say what is given, one after another, in pieces of some size.

    `begun` counts how many were asked; when there are no more words the last are said again.
    """

    def __init__(
        self, drawn: str, language: str, said: Sequence[str], cut: int = MOST_OF_A_PIECE
    ) -> None:
        super().__init__(drawn, language=language)
        self.said, self.begun = list(said), 0
        self._cut = cut

    async def _open(self, request: HttpRequest) -> AsyncGenerator[Event, None]:
        said = self.said[min(self.begun, len(self.said) - 1)]
        self.begun += 1
        for at in range(0, len(said), self._cut):
            data = json.dumps({"deltaText": said[at : at + self._cut]})
            yield Event(name="completion", data=data)

    def moves(self, drawn: str, *said: str) -> None:
        """The document becomes another, and models say something else from now on."""
        self.becomes(drawn)
        self.said[self.begun :] = said
