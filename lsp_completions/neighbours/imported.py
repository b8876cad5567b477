"""The files that open documents import: looked for and read in the background, if they may be."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from lsp_completions.neighbours.background import Background
from lsp_completions.neighbours.indexes import indexed
from lsp_completions.neighbours.texts import Text, Texts
from lsp_completions.pipeline.excerpts.index import Index
from lsp_completions.pipeline.imports import Import
from lsp_completions.pipeline.languages import language_of
from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.pipeline.uris import display_path, document_key
from lsp_completions.sharing.gate import Gate
from lsp_completions.sharing.imported_files import Found, ImportedFiles

LOOK_AGAIN = 5.0  # seconds after which files are looked at once more
MOST_FILES = 64  # read from the disk and remembered
MOST_BEHIND = 8  # imported files that are looked behind


@dataclass(slots=True, eq=False)
class _Looked:
    """What a document imports: the keys of the files, and when they were looked for."""

    keys: tuple[str, ...] = ()
    asked: object = None
    at: float = 0.0
    task: asyncio.Task[None] | None = None


class Imported:
    """Knows which files each open document imports, and keeps those read among the `texts`."""

    def __init__(
        self,
        texts: Texts,
        files: ImportedFiles,
        gate: Gate,
        background: Background,
        roots: Callable[[], Sequence[str]],
        clock: Callable[[], float],
    ) -> None:
        self._texts = texts
        self._files = files
        self._gate = gate
        self._background = background
        self._roots = roots
        self._clock = clock
        self._looked: dict[str, _Looked] = {}

    def by(self, own: str) -> tuple[str, ...]:
        """The keys of the files that a document imports, as far as they are known."""
        looked = self._looked.get(own)
        return looked.keys if looked is not None else ()

    def opened(self, uri: str) -> None:
        """What a file held when it was read is not asked for any more."""
        self._files.forget(uri)

    def closed(self, key: str) -> None:
        """Nobody asks for what a document imports any more."""
        self._looked.pop(key, None)
        self._drop_what_nobody_imports()

    def look(self, own: str) -> None:
        """Begin to look for what an open document imports, unless that was done lately."""
        text = self._texts.open.get(own)
        if text is None or text.index is None:
            return
        looked = self._looked.setdefault(own, _Looked())
        if looked.task is not None and not looked.task.done():
            return
        asked = (text.index.imports, tuple(self._roots()))
        if looked.asked == asked and self._clock() - looked.at < LOOK_AGAIN:
            return
        looked.asked, looked.at = asked, self._clock()
        work = partial(self._read_all, own, text.uri, text.index, looked)
        looked.task = self._background.begin(work, "imports")

    async def _read_all(self, own: str, uri: str, index: Index, looked: _Looked) -> None:
        """Find the files that are imported, and read those that may be read."""
        found = await self._found(uri, index.imports)
        found += await self._found_behind(index, found)
        keys = []
        for each in found:
            key = document_key(each.uri)
            if key != own and (key in self._texts.open or await self._have_read(each)):
                keys.append(key)
        looked.keys = tuple(dict.fromkeys(keys))
        if self._looked.get(own) is not looked:  # closed meanwhile
            self._drop_what_nobody_imports()

    async def _found(self, uri: str, imports: Sequence[Import]) -> list[Found]:
        roots = tuple(self._roots())
        return await self._background.from_disk(lambda: self._files.find(uri, imports, roots))

    async def _found_behind(self, index: Index, found: Sequence[Found]) -> list[Found]:
        """The files that imported ones take the names from which they only pass on."""
        wanted = {there for each in index.imports for _, there in each.names}
        further: list[Found] = []
        for each in found[:MOST_BEHIND]:
            key = document_key(each.uri)
            if key not in self._texts.open and not await self._have_read(each):
                continue
            near = self._texts.get(key)
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
        key, read = document_key(found.uri), self._texts.read
        known = read.get(key)
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
            read.move_to_end(key)
            return True
        path = display_path(found.uri, self._roots())
        language = language_of("", path)

        def indexed_file() -> Index | None:
            text = self._files.read(found)
            return None if text is None else indexed(text, key, path, language)

        index = await self._background.from_disk(indexed_file)
        if index is None:
            self._drop(key, found.uri)
            return False
        if key not in self._texts.open:
            read[key] = Text(found.uri, language, index=index)
            read.move_to_end(key)
            while len(read) > MOST_FILES:
                oldest = next(iter(read))
                self._drop(oldest, read[oldest].uri)
        return True

    def _drop_what_nobody_imports(self) -> None:
        wanted = {key for looked in self._looked.values() for key in looked.keys}
        for key, text in list(self._texts.read.items()):
            if key not in wanted:
                self._drop(key, text.uri)

    def _drop(self, key: str, uri: str) -> None:
        self._texts.read.pop(key, None)
        if key not in self._texts.open:
            self._files.forget(uri)
            self._gate.forget(uri)
