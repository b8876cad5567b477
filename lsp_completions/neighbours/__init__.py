"""Which other code may be shown to a model, and which of it is: the session's side of excerpts.

Nothing is read, searched or shown but what the gate lets through, for each document and provider,
and it is asked once more when a prompt is made. What is not ready by then is left out this time.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from lsp_completions.neighbours.background import Background
from lsp_completions.neighbours.choices import Choice, Choices
from lsp_completions.neighbours.imported import LOOK_AGAIN, Imported
from lsp_completions.neighbours.indexes import Indexes
from lsp_completions.neighbours.texts import Text, Texts
from lsp_completions.pipeline.document import Document, TextChange
from lsp_completions.pipeline.excerpts.choosing import Chosen, choose
from lsp_completions.pipeline.excerpts.query import names_before, query_at
from lsp_completions.pipeline.excerpts.ranking import Source
from lsp_completions.pipeline.languages import language_of
from lsp_completions.pipeline.prompt import Excerpt
from lsp_completions.pipeline.uris import display_path, document_key
from lsp_completions.providers.base import Provider
from lsp_completions.request import ExcerptQuery
from lsp_completions.settings import Context, Settings
from lsp_completions.sharing.gate import Gate
from lsp_completions.sharing.imported_files import ImportedFiles

log = logging.getLogger(__name__)

WAIT = 0.03  # seconds that a request waits for what is nearly ready


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
        self._texts = Texts()
        self._background = Background()
        self._indexes = Indexes(self._background, roots, clock)
        self._imported = Imported(
            self._texts, files or ImportedFiles(), gate, self._background, roots, clock
        )
        self._choices = Choices()
        self._closed = False
        self._in_force = Settings()

    def follow(self, settings: Settings) -> None:
        """What these settings keep back is shown to nobody, whenever they asked."""
        self._in_force = settings

    # ---- what is open

    def opened(self, document: Document) -> None:
        """A document was opened, or has another text than before by all of it."""
        path = display_path(document.uri, self._roots())
        self._texts.opened(document, language_of(document.language_id, path))
        self._choices.forget(document_key(document.uri))
        self._imported.opened(document.uri)

    def changed(self, document: Document, changes: Sequence[TextChange] = ()) -> None:
        """A document was edited."""
        if document_key(document.uri) in self._texts.open:
            self._texts.changed(document, changes)
        else:
            self.opened(document)

    def looked_at(self, uri: str) -> None:
        """The user looks at a document."""
        self._texts.looked_at(document_key(uri))

    def closed(self, uri: str) -> None:
        """A document was closed: nothing of it is shown any more."""
        key = document_key(uri)
        self._texts.closed(key)
        self._imported.closed(key)
        self._choices.forget(key)

    @property
    def is_busy(self) -> bool:
        """Whether something is being made ready."""
        return self._background.is_busy

    async def aclose(self) -> None:
        """Look at nothing more."""
        self._closed = True
        await self._background.aclose()

    # ---- what is shown

    async def decided(self, query: ExcerptQuery) -> None:
        """Have ready, within a few milliseconds, what may be shown at a place."""
        if query.chars <= 0 or self._closed:
            return
        query = self._narrowed(query)
        provider, key = query.provider, document_key(query.document.uri)
        self.looked_at(query.document.uri)
        texts = self._texts.candidates(key, self._imported.by(key), query.settings)
        # Of the document itself whoever asks knows that it may be sent.
        others = [text for text in texts if document_key(text.uri) != key]
        own = [text for text in (self._texts.open.get(key),) if text is not None]
        waiting = [*self._indexes.refreshed([*own, *others]), *self._settled(others, provider)]
        if query.settings.imported_files and query.settings.context is not Context.DOCUMENT:
            self._imported.look(key)
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
                and (text := self._texts.get(each.key)) is not None
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
        texts = self._texts.candidates(key, self._imported.by(key), settings)
        indexes = {document_key(text.uri): text.index for text in texts if text.index is not None}
        asked = (settings, query.chars, provider.host)
        line = query.document.place_at(query.context.offset)[0]
        names = names_before(query.context)
        before = self._choices.last(key, asked)
        if (
            before is not None
            and before.still_holds(line, names, indexes)
            and all(self._is_allowed(each.key, provider) for each in before.chosen)
            and not any(self._is_allowed(each, provider) for each in before.left_out)
        ):
            return before.chosen
        own = self._texts.open.get(key)
        imports = own.index.imports if own is not None and own.index is not None else ()
        wanted = query_at(query.context, imports)
        sources = self._sources(key, texts, provider, settings)
        chosen = choose(wanted, sources, chars=query.chars, kept=before.chosen if before else ())
        left_out = frozenset(indexes.keys() - {source.index.key for source in sources})
        names |= wanted.names.keys()
        self._choices.keep(key, Choice(asked, line, chosen, indexes, left_out, names))
        return chosen

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

    def _sources(
        self, own: str, texts: Iterable[Text], provider: Provider, settings: Settings
    ) -> list[Source]:
        """Of the texts those that this provider may see, and that are ready."""
        imported = self._imported.by(own) if settings.imported_files else ()
        order = {key: at for at, key in enumerate(self._texts.open)}
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
        text = self._texts.get(key)
        return text is not None and self._gate.why_kept_back(text.uri, provider) is None

    def _settled(self, texts: Iterable[Text], provider: Provider) -> list[asyncio.Task[None]]:
        """Have the gate look at those it has not looked at lately; what is worth waiting for."""
        waiting = []
        for text in texts:
            is_new = text.settled_for != provider
            if is_new or self._clock() - text.settled_at >= LOOK_AGAIN:
                task = self._settle(text, provider)
                if is_new:
                    waiting.append(task)
        return waiting

    def _settle(self, text: Text, provider: Provider) -> asyncio.Task[None]:
        text.settled_for, text.settled_at = provider, self._clock()

        async def ask() -> None:
            await self._gate.decided(text.uri, provider)

        return self._background.begin(ask, "sharing of a neighbour")
