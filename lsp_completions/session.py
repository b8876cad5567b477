"""What is remembered between messages: documents, whose turn it is, what was suggested."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from lsp_completions.pipeline.anchor import Typed, anchor_at, around, typed_since
from lsp_completions.pipeline.document import Document, TextChange, apply_changes
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.outcome import Outcome, Skipped, SkipReason
from lsp_completions.pipeline.positions import PositionEncoding, units_at
from lsp_completions.pipeline.rebase import rebased
from lsp_completions.pipeline.uris import document_key

logger = logging.getLogger(__name__)


class Documents:
    """The open documents, each under one key however its URI is spelled.

    A document is replaced and never mutated, so whoever holds one holds a snapshot.
    """

    def __init__(self) -> None:
        self._open: dict[str, Document] = {}
        self._out_of_step: set[str] = set()

    def open(self, document: Document) -> None:
        """Remember a document; opening it again replaces it."""
        key = document_key(document.uri)
        self._open[key] = document
        self._out_of_step.discard(key)

    def change(
        self,
        uri: str,
        changes: Sequence[TextChange],
        encoding: PositionEncoding,
        version: int | None,
    ) -> None:
        """Apply the editor's changes in their order. One to an unopened document is dropped."""
        key = document_key(uri)
        document = self._open.get(key)
        if document is None:
            logger.warning("A change to a document that is not open was dropped.")
            return
        self._open[key] = apply_changes(document, changes, encoding, version)
        if any(change.range is None for change in changes):
            self._out_of_step.discard(key)

    def mark_out_of_step(self, uri: str) -> None:
        """A change was lost: the text is not trusted until it comes whole again."""
        self._out_of_step.add(document_key(uri))

    def close(self, uri: str) -> None:
        """Forget a document."""
        key = document_key(uri)
        self._open.pop(key, None)
        self._out_of_step.discard(key)

    def get(self, uri: str) -> Document | None:
        """The document as it is now; `None` when it is not open."""
        return self._open.get(document_key(uri))

    def all(self) -> Iterable[Document]:
        """The open documents as they are now."""
        return tuple(self._open.values())

    def is_out_of_step(self, uri: str) -> bool:
        """Whether a change to the document was lost."""
        return document_key(uri) in self._out_of_step


class Turn:
    """One request's turn: it runs its work until the work is done or the turn is taken away."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.began = loop.time()
        self._taken: asyncio.Future[Outcome] = loop.create_future()

    def take_away(self, reason: SkipReason) -> None:
        """End the turn; whoever waits in `run` gets `Skipped(reason)` at once."""
        if not self._taken.done():
            self._taken.set_result(Skipped(reason=reason))

    async def run(self, work: Callable[[], Coroutine[None, None, Outcome]]) -> Outcome:
        """What came of the work. Cancelled or taken away, it returns without waiting for it."""
        if self._taken.done():
            return self._taken.result()
        task = asyncio.create_task(work(), name="completion")
        task.add_done_callback(_note_failure)
        try:
            await asyncio.wait({task, self._taken}, return_when=asyncio.FIRST_COMPLETED)
            return self._taken.result() if self._taken.done() else task.result()
        finally:
            task.cancel()


def _note_failure(task: asyncio.Task[Outcome]) -> None:
    # Reading the exception keeps asyncio from reporting it a second time.
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.debug("A completion failed: %s", type(error).__name__)


class Turns:
    """For each document and method the newest request wins."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str, str], Turn] = {}

    def take(self, uri: str, method: str) -> Turn:
        """The newest request's turn; the one before it is over."""
        key = document_key(uri), method
        if (previous := self._newest.pop(key, None)) is not None:
            previous.take_away(SkipReason.SUPERSEDED)
        turn = self._newest[key] = Turn()
        return turn

    def end_late(self, uri: str, method: str, longest: float) -> None:
        """More was typed: a request older than `longest` seconds gives way to the next."""
        turn = self._newest.get((document_key(uri), method))
        if turn is not None and asyncio.get_running_loop().time() - turn.began > longest:
            turn.take_away(SkipReason.TOO_SLOW)

    def end(self, uri: str, reason: SkipReason = SkipReason.MOVED_ON) -> None:
        """The document was closed, or may not be sent any more: nothing is shown for it."""
        closed = document_key(uri)
        for key in [key for key in self._newest if key[0] == closed]:
            self._newest.pop(key).take_away(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A suggestion as it went to the editor: an edit in a document as it was."""

    document: Document
    edit: Edit
    entry: int = 0
    """The number of the outcome in the journal."""

    @property
    def uri(self) -> str:
        """The document's URI."""
        return self.document.uri

    def is_whole(self, accepted: int) -> bool:
        """Whether `accepted` UTF-16 units are all of its text."""
        text = self.edit.new_text
        return accepted >= units_at(text, len(text), PositionEncoding.UTF16)

    def as_written(self) -> str:
        """Its text with the document's line ends."""
        before, text = self.document, self.edit.new_text
        if "\n" not in text:
            return text
        return text.replace("\n", before.eol_at(before.place_at(self.edit.start)[0]))

    def taken(self, now: Document, text: str) -> int | None:
        """How many characters of its text stand in `now`, be they typed or accepted.

        `None` where something else happened at its place. `text` is the text as it is written.
        """
        before, edit = self.document, self.edit
        if now is before:
            return 0
        grown = len(text) - (edit.end - edit.start)
        if now.length - before.length == grown and text == now.slice(
            edit.start, edit.start + len(text)
        ):
            return len(edit.new_text)
        left = rebased(edit, before, edit.start, now)
        return None if left is None else len(edit.new_text) - len(left.new_text)

    def accepted(self, now: Document) -> tuple[Document, int] | None:
        """The document with the edit made, and where the cursor is then.

        `now` is the document as it is by now, with the edit or still without it; `None` where
        something else has become of it.
        """
        before, edit = self.document, self.edit
        eol = before.eol_at(before.place_at(edit.start)[0])
        text = edit.new_text.replace("\n", eol)
        after = before.spliced(edit.start, edit.end, text, before.version)
        cursor = edit.start + len(text)
        anchor = anchor_at(after, cursor)
        # The editor may have told of the edit already, and of others above it.
        moved = cursor + now.length - after.length
        for offset in dict.fromkeys((cursor, moved)):
            if 0 <= offset <= now.length and typed_since(anchor, around(now, offset)) == Typed(
                text=""
            ):
                return now, offset
        if (still := rebased(edit, before, edit.end, now)) is None:
            return None
        text = still.new_text.replace("\n", eol)
        return now.spliced(still.start, still.end, text, now.version), still.start + len(text)


class Suggestions:
    """The suggestions lately shown, by the id that the editor reports when one is accepted."""

    CAPACITY = 100  # what Copilot's server keeps as well

    def __init__(self) -> None:
        self._ids = count(1)
        self._shown: OrderedDict[str, Shown] = OrderedDict()

    def add(self, shown: Shown) -> str:
        """Remember a suggestion; returns its id."""
        identity = f"suggestion-{next(self._ids)}"
        self._shown[identity] = shown
        while len(self._shown) > self.CAPACITY:
            self._shown.popitem(last=False)
        return identity

    def get(self, identity: str) -> Shown | None:
        """The suggestion; `None` for an id not known, or no longer."""
        return self._shown.get(identity)

    def accept(self, identity: str) -> Shown | None:
        """The suggestion, which is not known any more from now on."""
        return self._shown.pop(identity, None)

    def forget(self, uri: str) -> None:
        """The document was closed."""
        key = document_key(uri)
        for identity in [
            each for each, shown in self._shown.items() if document_key(shown.uri) == key
        ]:
            del self._shown[identity]
