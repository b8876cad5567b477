"""Which other code may be shown to a model, and which of it is: the session's side of excerpts.

Nothing is read, searched or shown but what the gate lets through, for each document and provider,
and it is asked once more when a prompt is made. What is not ready by then is left out this time.
"""

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

from lsp_completions.pipeline.context import BYTE_ORDER_MARK
from lsp_completions.pipeline.document import Document, TextChange
from lsp_completions.pipeline.excerpts.choosing import Chosen, choose, is_current
from lsp_completions.pipeline.excerpts.index import Index, index_of
from lsp_completions.pipeline.excerpts.query import names_before, query_at
from lsp_completions.pipeline.excerpts.ranking import Source
from lsp_completions.pipeline.excerpts.words import fold
from lsp_completions.pipeline.imports import Import
from lsp_completions.pipeline.languages import Language, are_relatives, language_of
from lsp_completions.pipeline.masking import masked
from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.pipeline.prompt import Excerpt
from lsp_completions.pipeline.uris import display_path, document_key
from lsp_completions.providers.base import Provider
from lsp_completions.request import ExcerptQuery
from lsp_completions.settings import Context, Settings
from lsp_completions.sharing.gate import Gate
from lsp_completions.sharing.imported_files import Found, ImportedFiles

log = logging.getLogger(__name__)

MOST_OPEN = 20  # open documents that are searched, those looked at last
MOST_CHARS = 400_000  # of a document; what is longer was hardly written by hand
WAIT = 0.03  # seconds that a request waits for what is nearly ready
FRESH = 1.0  # seconds after which the index of a document that changed is made anew
LOOK_AGAIN = 5.0  # seconds after which files are looked at once more
MOST_FILES = 64  # read from the disk and remembered
MOVED = 8  # lines that the cursor may move before anew is chosen
EDITS = 4  # places remembered in each document
PLACE = 10  # lines that count as the same place
MOST_CHOICES = 32
MOST_BEHIND = 8  # imported files that are looked behind


Work = Callable[[], Coroutine[None, None, None]]


@dataclass(slots=True, eq=False)
class _Text:
    """A text that may be shown, as far as it is known."""

    uri: str
    language: Language
    document: Document | None = None
    """As it is now; `None` for a file that is not open."""
    index: Index | None = None
    indexed: Document | None = None
    """What the index was made of."""
    made_at: float = 0.0
    task: asyncio.Task[None] | None = None
    roots: tuple[str, ...] = ()
    """The workspace folders that the index has its path from."""
    edited: deque[int] = field(default_factory=lambda: deque(maxlen=EDITS))
    settled_for: Provider | None = None
    """To whom it may be sent or not, as the gate was asked last, and when."""
    settled_at: float = 0.0


@dataclass(slots=True, eq=False)
class _Imported:
    """The files that a document imports: their keys, and when they were looked for."""

    keys: tuple[str, ...] = ()
    asked: object = None
    at: float = 0.0
    task: asyncio.Task[None] | None = None


@dataclass(slots=True, eq=False)
class _Choice:
    """What was chosen at a place, and for which question."""

    asked: tuple[object, ...]
    line: int
    chosen: tuple[Chosen, ...]
    indexes: dict[str, Index]
    left_out: frozenset[str]
    """What was kept back."""
    names: set[str]


class Neighbours:
    """The open documents, the files that they import, and what of them was chosen last.

    Belongs to one event loop. `roots` gives the workspace folders.
    """

    def __init__(
        self,
        gate: Gate,
        roots: Callable[[], Sequence[str]],
        *,
        files: ImportedFiles | None = None,
        clock: Callable[[], float] = time.monotonic,
        wait: float = WAIT,
    ) -> None:
        self._gate = gate
        self._roots = roots
        self._clock = clock
        self._wait = wait
        self._files = files or ImportedFiles()
        # Those looked at last come last.
        self._open: OrderedDict[str, _Text] = OrderedDict()
        self._read: OrderedDict[str, _Text] = OrderedDict()
        self._imported: dict[str, _Imported] = {}
        self._choices: OrderedDict[str, _Choice] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._edited_last: OrderedDict[str, None] = OrderedDict()
        self._closed = False
        self._in_force = Settings()
        # One each: what they do is no hurry, and a dead network drive holds up no more than itself.
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="neighbours")
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="imports")

    def follow(self, settings: Settings) -> None:
        """What these settings keep back is shown to nobody, whenever they asked."""
        self._in_force = settings

    # ---- what is open

    def opened(self, document: Document) -> None:
        """A document was opened, or has another text than before by all of it."""
        key = document_key(document.uri)
        path = display_path(document.uri, self._roots())
        language = language_of(document.language_id, path)
        self._open.pop(key, None)
        self._choices.pop(key, None)
        self._open[key] = _Text(document.uri, language, document=document)
        # From now on the editor says what is in it.
        self._read.pop(key, None)
        self._files.forget(document.uri)

    def changed(self, document: Document, changes: Sequence[TextChange] = ()) -> None:
        """A document was edited."""
        text = self._open.get(document_key(document.uri))
        if text is None:
            self.opened(document)
            return
        text.document = document
        for change in changes:
            if change.range is not None:
                line = change.range.start.line
                near = [each for each in text.edited if abs(each - line) <= PLACE]
                for each in near:
                    text.edited.remove(each)
                text.edited.append(line)
                key = document_key(document.uri)
                self._edited_last[key] = None
                self._edited_last.move_to_end(key)

    def looked_at(self, uri: str) -> None:
        """The user looks at a document."""
        key = document_key(uri)
        if key in self._open:
            self._open.move_to_end(key)

    def closed(self, uri: str) -> None:
        """A document was closed: nothing of it is shown any more."""
        key = document_key(uri)
        self._open.pop(key, None)
        self._edited_last.pop(key, None)
        self._imported.pop(key, None)
        self._choices.pop(key, None)

    @property
    def is_busy(self) -> bool:
        """Whether something is being made ready."""
        return bool(self._tasks)

    async def aclose(self) -> None:
        """Look at nothing more."""
        self._closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._disk.shutdown(wait=False, cancel_futures=True)

    # ---- what is shown

    async def decided(self, query: ExcerptQuery) -> None:
        """Have ready, within a few milliseconds, what may be shown at a place."""
        if query.chars <= 0 or self._closed:
            return
        query = self._narrowed(query)
        provider, key = query.provider, document_key(query.document.uri)
        self.looked_at(query.document.uri)
        texts = self._candidates(key, query.settings)
        # Of the document itself whoever asks knows that it may be sent.
        others = [text for text in texts if document_key(text.uri) != key]
        own = [text for text in (self._open.get(key),) if text is not None]
        waiting = [*self._refreshed([*own, *others]), *self._settled(others, provider)]
        self._look_for_imports(key, query.settings)
        if waiting:
            # Not for the tasks' own ends: others wait for them as well.
            await asyncio.wait(waiting, timeout=self._wait)
        for _ in range(2):
            chosen = self._choose(query)
            # The disk may say something else by now.
            asking = [
                self._settle(text, provider)
                for each in chosen
                if each.key != key
                and (text := self._text(each.key)) is not None
                and self._gate.is_due(text.uri, provider)
            ]
            if not asking:
                return
            await asyncio.wait(asking, timeout=self._wait)

    def excerpts(self, query: ExcerptQuery) -> tuple[Excerpt, ...]:
        """What to show beside the text around the cursor, by what is ready and allowed now."""
        if query.chars <= 0 or self._closed:
            return ()
        chosen = self._choose(self._narrowed(query))
        return tuple(each.excerpt for each in chosen if self._is_allowed(each.key, query.provider))

    def _choose(self, query: ExcerptQuery) -> tuple[Chosen, ...]:
        try:
            return self._chosen(query)
        except Exception as error:  # noqa: BLE001
            # Without an excerpt a suggestion comes all the same.
            log.warning("No excerpts, choosing them failed (%s).", type(error).__name__)
            return ()

    def _chosen(self, query: ExcerptQuery) -> tuple[Chosen, ...]:
        provider, settings, key = query.provider, query.settings, document_key(query.document.uri)
        texts = self._candidates(key, settings)
        indexes = {document_key(text.uri): text.index for text in texts if text.index is not None}
        asked = (settings, query.chars, provider.host)
        line = query.document.place_at(query.context.offset)[0]
        names = names_before(query.context)
        before = self._choices.get(key)
        if before is not None and before.asked != asked:
            before = None
        if (
            before is not None
            and self._still_holds(before, line, names, indexes)
            and all(self._is_allowed(each.key, provider) for each in before.chosen)
            and not any(self._is_allowed(each, provider) for each in before.left_out)
        ):
            return before.chosen
        own = self._open.get(key)
        imports = own.index.imports if own is not None and own.index is not None else ()
        wanted = query_at(query.context, imports)
        sources = self._sources(key, texts, provider, settings)
        chosen = choose(wanted, sources, chars=query.chars, kept=before.chosen if before else ())
        left_out = frozenset(indexes.keys() - {source.index.key for source in sources})
        names |= wanted.names.keys()
        self._choices[key] = _Choice(asked, line, chosen, indexes, left_out, names)
        self._choices.move_to_end(key)
        while len(self._choices) > MOST_CHOICES:
            self._choices.popitem(last=False)
        return chosen

    def _still_holds(
        self, choice: _Choice, line: int, names: set[str], indexes: dict[str, Index]
    ) -> bool:
        """Whether nothing happened that would make another choice worth its price."""
        if abs(choice.line - line) > MOVED or indexes.keys() != choice.indexes.keys():
            return False
        changed = [key for key, index in indexes.items() if choice.indexes[key] is not index]
        if changed:
            if not all(is_current(each, indexes) for each in choice.chosen if each.key in changed):
                return False
            choice.indexes = indexes
        # A name was typed to its end whose definition somebody has.
        new = names - choice.names
        choice.names |= new
        return not any(
            name in index.defined or fold(name) in index.folded
            for name in new
            for index in indexes.values()
        )

    # ---- what may be searched

    def _narrowed(self, query: ExcerptQuery) -> ExcerptQuery:
        """The query, less what the settings in force by now do not let be searched."""
        settings, now = query.settings, self._in_force
        if settings == now:
            return query
        alone = Context.DOCUMENT in (settings.context, now.context)
        narrowed = replace(
            settings,
            context=Context.DOCUMENT if alone else settings.context,
            open_documents=settings.open_documents and now.open_documents,
            recent_edits=settings.recent_edits and now.recent_edits,
            imported_files=settings.imported_files and now.imported_files,
            distant_code=settings.distant_code and now.distant_code,
        )
        return replace(query, settings=narrowed)

    def _candidates(self, own: str, settings: Settings) -> list[_Text]:
        """The texts that the settings let be searched, the one around the cursor among them."""
        here = self._open.get(own)
        if here is None:
            return []
        found: dict[str, _Text] = {}
        if settings.distant_code:
            found[own] = here
        if settings.context is Context.DOCUMENT:
            return list(found.values())
        others = [key for key in reversed(self._open) if key != own]
        wanted = others[:MOST_OPEN] if settings.open_documents else []
        if settings.recent_edits:
            wanted += [key for key in reversed(self._edited_last) if key != own][:EDITS]
        if settings.imported_files:
            wanted += [key for key in self._imports_of(own) if key != own]
        for key in wanted:
            text = self._text(key)
            if text is not None and are_relatives(text.language, here.language):
                found[key] = text
        return list(found.values())

    def _sources(
        self, own: str, texts: Iterable[_Text], provider: Provider, settings: Settings
    ) -> list[Source]:
        """Of the texts those that this provider may see, and that are ready."""
        imported = self._imports_of(own) if settings.imported_files else ()
        order = {key: at for at, key in enumerate(self._open)}
        sources = []
        for text in texts:
            index = text.index
            if index is None or self._gate.why_kept_back(text.uri, provider) is not None:
                continue
            is_own = index.key == own
            by_itself = is_own or settings.open_documents or index.key in imported
            sources.append(
                Source(
                    index=index,
                    is_own=is_own,
                    recency=order.get(index.key, 0) / len(order),
                    edited=tuple(text.edited) if settings.recent_edits and not is_own else (),
                    only_edited=not by_itself,
                )
            )
        return sources

    def _is_allowed(self, key: str, provider: Provider) -> bool:
        text = self._text(key)
        return text is not None and self._gate.why_kept_back(text.uri, provider) is None

    def _text(self, key: str) -> _Text | None:
        return self._open.get(key) or self._read.get(key)

    def _settled(self, texts: Iterable[_Text], provider: Provider) -> list[asyncio.Task[None]]:
        """Have the gate look at those it has not looked at lately; what is worth waiting for."""
        waiting = []
        for text in texts:
            is_new = text.settled_for != provider
            if is_new or self._clock() - text.settled_at >= LOOK_AGAIN:
                task = self._settle(text, provider)
                if is_new:
                    waiting.append(task)
        return waiting

    def _settle(self, text: _Text, provider: Provider) -> asyncio.Task[None]:
        text.settled_for, text.settled_at = provider, self._clock()

        async def ask() -> None:
            await self._gate.decided(text.uri, provider)

        return self._begin(ask, "sharing of a neighbour")

    # ---- made ready in the background

    def _refreshed(self, texts: Iterable[_Text]) -> list[asyncio.Task[None]]:
        """Begin to make the indexes that are missing or old; returns what is worth waiting for."""
        pending = []
        for text in texts:
            document = text.document
            roots = tuple(self._roots())
            if document is None or (document is text.indexed and roots == text.roots):
                continue
            if document.length > MOST_CHARS:
                # What it was made of may be there no more.
                text.index = None
                continue
            if text.task is None or text.task.done():
                if text.index is not None and self._clock() - text.made_at < FRESH:
                    continue
                text.task = self._begin(partial(self._make_index, text, document, roots), "index")
            if text.index is None:
                pending.append(text.task)
        return pending

    async def _make_index(self, text: _Text, document: Document, roots: tuple[str, ...]) -> None:
        path, key = display_path(text.uri, roots), document_key(text.uri)
        loop = asyncio.get_running_loop()
        text.index = await loop.run_in_executor(
            self._threads, lambda: indexed(document.text, key, path, text.language)
        )
        text.indexed, text.roots, text.made_at = document, roots, self._clock()

    def _imports_of(self, own: str) -> tuple[str, ...]:
        imported = self._imported.get(own)
        return imported.keys if imported is not None else ()

    def _look_for_imports(self, own: str, settings: Settings) -> None:
        text = self._open.get(own)
        if (
            text is None
            or text.index is None
            or not settings.imported_files
            or settings.context is Context.DOCUMENT
        ):
            return
        imported = self._imported.setdefault(own, _Imported())
        if imported.task is not None and not imported.task.done():
            return
        roots = tuple(self._roots())
        asked = (text.index.imports, roots)
        if imported.asked == asked and self._clock() - imported.at < LOOK_AGAIN:
            return
        imported.asked, imported.at = asked, self._clock()
        imported.task = self._begin(partial(self._read_imports, own, text, imported), "imports")

    async def _read_imports(self, own: str, text: _Text, imported: "_Imported") -> None:
        """Find the files that are imported, and read those that may be read."""
        assert text.index is not None
        found = await self._found(text.uri, text.index.imports)
        found += await self._found_behind(text, found)
        keys = []
        for each in found:
            key = document_key(each.uri)
            if key != own and (key in self._open or await self._have_read(each)):
                keys.append(key)
        imported.keys = tuple(dict.fromkeys(keys))

    async def _found(self, uri: str, imports: Sequence[Import]) -> list[Found]:
        loop = asyncio.get_running_loop()
        roots = tuple(self._roots())
        return await loop.run_in_executor(self._disk, self._files.find, uri, imports, roots)

    async def _found_behind(self, text: _Text, found: Sequence[Found]) -> list[Found]:
        """The files that imported ones take the names from which they only pass on."""
        assert text.index is not None
        wanted = {there for each in text.index.imports for _, there in each.names}
        further: list[Found] = []
        for each in found[:MOST_BEHIND]:
            key = document_key(each.uri)
            if key not in self._open and not await self._have_read(each):
                continue
            near = self._text(key)
            if near is None or near.index is None:
                continue
            passed = wanted - near.index.defined.keys()
            behind = [
                one
                for one in near.index.imports
                if passed.intersection(here for here, _ in one.names)
                or any(there == "*" for _, there in one.names)
                # `export * from`, and headers that hold together others
                or not (one.names or one.alias)
            ]
            if behind:
                further += await self._found(each.uri, behind)
        return further

    async def _have_read(self, found: Found) -> bool:
        """Read a file, unless it is kept back or was read already as it is."""
        key = document_key(found.uri)
        known = self._read.get(key)
        is_as_read = known is not None and self._files.is_as_read(found)
        is_known = self._gate.why_kept_back(found.uri) is not SkipReason.UNKNOWN_DOCUMENT
        if not is_as_read or not is_known:
            # What the disk said of another file is not true of this one.
            self._gate.judge(found.uri)
        # Before anything is read of it.
        if await self._gate.decided(found.uri, None) is not None:
            self._drop(key, found.uri)
            return False
        if known is not None and is_as_read:
            self._read.move_to_end(key)
            return True
        path = display_path(found.uri, self._roots())
        language = language_of("", path)
        loop = asyncio.get_running_loop()

        def read() -> Index | None:
            text = self._files.read(found)
            return None if text is None else indexed(text, key, path, language)

        index = await loop.run_in_executor(self._disk, read)
        if index is None:
            self._drop(key, found.uri)
            return False
        if key not in self._open:
            self._read[key] = _Text(found.uri, language, index=index)
            self._read.move_to_end(key)
            while len(self._read) > MOST_FILES:
                oldest = next(iter(self._read))
                self._drop(oldest, self._read[oldest].uri)
        return True

    def _drop(self, key: str, uri: str) -> None:
        self._read.pop(key, None)
        if key not in self._open:
            self._files.forget(uri)
            self._gate.forget(uri)

    def _begin(self, work: Work, name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(_logged(work, name), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def indexed(text: str, key: str, path: str, language: Language) -> Index:
    """A text ready to be searched, its secrets masked; a matter of milliseconds, for a thread."""
    plain = text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")
    return index_of(masked(plain), key=key, path=path, language=language)


async def _logged(work: Work, name: str) -> None:
    # Without an excerpt a suggestion comes all the same.
    try:
        await work()
    except Exception as error:  # noqa: BLE001
        log.warning("Left out, %s failed (%s).", name, type(error).__name__)
