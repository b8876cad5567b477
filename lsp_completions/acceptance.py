"""What becomes of suggestions: shown, accepted, accepted in part; and what comes after them."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace

from lsp_completions.errors import CompletionsError
from lsp_completions.journal import Fate, Journal
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import Suggested
from lsp_completions.pipeline.positions import PositionEncoding, column_at
from lsp_completions.pipeline.uris import document_key
from lsp_completions.request import Request
from lsp_completions.session import Shown, Suggestions
from lsp_completions.statistics.kept import Lines

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Followed:
    """The suggestion that a document shows, and how many characters of it were taken so far."""

    shown: Shown
    text: str
    taken: int = 0


class Acceptance:
    """Remembers what was shown, and has the next piece ready when one is accepted.

    `next_request` makes the request that the editor is about to make there, or `None` where nothing
    may be asked; `ask` sends it. `inserted` is told of a text that is, or is about to be, in some
    lines of a document, by the number of its suggestion in the journal.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        current: Callable[[str], Document | None],
        next_request: Callable[[Document, int], Request | None],
        ask: Callable[[Request], Coroutine[None, None, None]],
        inserted: Callable[[int, str, str, Lines], None] = lambda *_: None,
    ) -> None:
        self._suggestions = Suggestions()
        self._journal = journal
        self._current = current
        self._next_request = next_request
        self._ask = ask
        self._inserted = inserted
        self._ahead: dict[str, asyncio.Task[None]] = {}
        self._followed: dict[str, Followed] = {}

    def shown(self, outcome: Suggested, entry: int) -> list[str]:
        """Ids for suggestions, by which the editor will report what becomes of them.

        `entry` is the number of the outcome in the journal.
        """
        shown = [Shown(document=outcome.document, edit=edit, entry=entry) for edit in outcome.edits]
        return [self._suggestions.add(each) for each in shown]

    def follow(self, outcome: Suggested, entry: int) -> None:
        """This is ghost text, whose fate shows in what is typed; the one before is over."""
        uri = outcome.document.uri
        self._passed_over(uri)
        shown = Shown(document=outcome.document, edit=outcome.edits[0], entry=entry)
        self._followed[document_key(uri)] = Followed(shown, shown.as_written())

    def changed(self, document: Document) -> None:
        """A document changed, perhaps as suggested."""
        key = document_key(document.uri)
        if (followed := self._followed.get(key)) is None:
            return
        shown, before = followed.shown, followed.taken
        taken = shown.taken(document, followed.text)
        if taken is None:
            self._passed_over(document.uri)
            return
        if taken > before:
            whole = taken == len(shown.edit.new_text)
            # Nobody types more than one character at a time.
            at_once = taken - before > 1
            fate = Fate.ACCEPTED_IN_PART if at_once else Fate.TYPED_THROUGH
            if whole and at_once:
                fate = Fate.ACCEPTED
            self._journal.happened(shown.entry, fate=fate, taken=taken)
            if at_once:
                first = document.place_at(shown.edit.start)[0]
                text = shown.edit.new_text[:taken]
                lines = Lines(first=first, last=first + text.count("\n"))
                self._inserted(shown.entry, text, shown.uri, lines)
            if whole:
                del self._followed[key]
        followed.taken = taken

    def _passed_over(self, uri: str) -> None:
        followed = self._followed.pop(document_key(uri), None)
        if followed is not None and not followed.taken:
            self._journal.happened(followed.shown.entry, fate=Fate.ENDED)

    def is_on_screen(self, identity: str) -> None:
        """A suggestion was shown."""
        if (shown := self._suggestions.get(identity)) is not None:
            self._journal.happened(shown.entry, shown=True)

    def accepted(self, identity: str) -> None:
        """A suggestion was accepted."""
        if (shown := self._suggestions.accept(identity)) is None:
            return
        logger.info("a suggestion was accepted")
        self._journal.happened(shown.entry, fate=Fate.ACCEPTED, taken=len(shown.edit.new_text))
        # The document may not show the acceptance yet. Where it shows something else, nobody knows
        # what comes next.
        now = self._current(shown.uri)
        if now is None or (then := shown.accepted(now)) is None:
            return
        self._tell_where(shown, now, *then)
        if (request := self._next_request(*then)) is None:
            return
        self.end(shown.uri)
        task = asyncio.create_task(self._ask_ahead(request), name="ahead")
        self._ahead[document_key(shown.uri)] = task

    def accepted_in_part(self, identity: str, units: int) -> None:
        """The beginning of a suggestion was accepted, in UTF-16 units, or the last of it."""
        if (shown := self._suggestions.get(identity)) is None:
            return
        if shown.is_whole(units):
            self.accepted(identity)
        else:
            logger.info("a part of a suggestion was accepted")
            self._journal.happened(shown.entry, fate=Fate.ACCEPTED_IN_PART, taken=units)
            text = shown.edit.new_text
            part = text[: column_at(text, units, PositionEncoding.UTF16)]
            now = self._current(shown.uri)
            # What follows the cursor stays until all is accepted.
            begun = replace(shown, edit=replace(shown.edit, end=shown.edit.start, new_text=part))
            if now is not None and (then := begun.accepted(now)) is not None:
                self._tell_where(begun, now, *then)

    def end(self, uri: str) -> None:
        """Ask no more for what comes next in a document."""
        if (task := self._ahead.pop(document_key(uri), None)) is not None:
            task.cancel()

    def forget(self, uri: str) -> None:
        """The document was closed."""
        self.end(uri)
        self._passed_over(uri)
        self._suggestions.forget(uri)

    async def aclose(self) -> None:
        """Ask for nothing any more."""
        for task in self._ahead.values():
            task.cancel()
        await asyncio.gather(*self._ahead.values(), return_exceptions=True)

    def _tell_where(self, shown: Shown, now: Document, then: Document, cursor: int) -> None:
        """Tell where the text of a suggestion is, which the editor may not have put in yet."""
        text = shown.edit.new_text
        last = then.place_at(cursor)[0]
        first = last - text.count("\n")
        lines = Lines(first=first, last=last if then is now else first)
        self._inserted(shown.entry, text, shown.uri, lines)

    async def _ask_ahead(self, request: Request) -> None:
        try:
            await self._ask(request)
        except CompletionsError as error:
            # Whoever asks for it next is told.
            logger.info("%s", error)
