"""Texts made ready to be searched, in the background: anew when they change, not at each key."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from lsp_completions.neighbours.background import Background
from lsp_completions.neighbours.texts import Text
from lsp_completions.pipeline.context import BYTE_ORDER_MARK
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.excerpts.index import Index, index_of
from lsp_completions.pipeline.languages import Language
from lsp_completions.pipeline.masking import masked
from lsp_completions.pipeline.uris import display_path, document_key

MOST_CHARS = 400_000  # of a document; what is longer was hardly written by hand
FRESH = 1.0  # seconds after which the index of a document that changed is made anew


class Indexes:
    """Sees to it that texts have an index, which is kept with each of them."""

    def __init__(
        self, background: Background, roots: Callable[[], Sequence[str]], clock: Callable[[], float]
    ) -> None:
        self._background = background
        self._roots = roots
        self._clock = clock

    def refreshed(self, texts: Iterable[Text]) -> list[asyncio.Task[None]]:
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
                work = partial(self._make, text, document, roots)
                text.task = self._background.begin(work, "index")
            if text.index is None:
                pending.append(text.task)
        return pending

    async def _make(self, text: Text, document: Document, roots: tuple[str, ...]) -> None:
        path, key = display_path(text.uri, roots), document_key(text.uri)
        text.index = await self._background.computed(
            lambda: indexed(document.text, key, path, text.language)
        )
        text.indexed, text.roots, text.made_at = document, roots, self._clock()


def indexed(text: str, key: str, path: str, language: Language) -> Index:
    """A text ready to be searched, its secrets masked; a matter of milliseconds, for a thread."""
    plain = text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")
    return index_of(masked(plain), key=key, path=path, language=language)
