"""Requests for suggestions: what each needs is taken when it comes, and it gets one outcome."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial

from lsp_completions.configuration.following import Following
from lsp_completions.convert import Client, CompletionQuery
from lsp_completions.disclosure import Disclosure
from lsp_completions.errors import CompletionsError, TimedOut
from lsp_completions.journal import Asked, Entry, Journal, Method
from lsp_completions.messages import Messages
from lsp_completions.notices import Notices
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import (
    TOLD_BY_HAND,
    Outcome,
    Skipped,
    SkipReason,
    Suggested,
)
from lsp_completions.pipeline.uris import display_path, document_key
from lsp_completions.request import Request, Selection
from lsp_completions.server.telling import Telling
from lsp_completions.service import Service
from lsp_completions.session import Turns
from lsp_completions.trail import Trail

logger = logging.getLogger(__name__)

# Nothing waits for its menu, and until it is answered it asks for no other, whatever is typed.
ASKS_FOR_ONE_MENU_AT_A_TIME = ("helix",)

ANSWER_IS_OUT = 0.002  # seconds

PROVIDER_ANSWERED = (SkipReason.EMPTY, SkipReason.NOTHING_NEW, SkipReason.NOT_ATTRIBUTED)

Work = Callable[[], Coroutine[None, None, tuple[Outcome, int]]]
"""Its result is an outcome, and the number of its entry in the journal."""


class Requests:
    """Begins requests, of which the newest for a document wins, and notes what came of them.

    `client` is the editor.
    """

    def __init__(
        self,
        service: Service,
        *,
        following: Following,
        turns: Turns,
        client: Callable[[], Client],
        telling: Telling,
        messages: Messages,
        notices: Notices,
        journal: Journal,
        disclosure: Disclosure,
    ) -> None:
        self._service = service
        self._following = following
        self._client = client
        self._telling = telling
        self._messages = messages
        self._notices = notices
        self._journal = journal
        self._disclosure = disclosure
        self._turns = turns
        self._told_why: set[tuple[str, SkipReason]] = set()

    def typed(self, uri: str) -> None:
        """More was typed: a menu that takes long gives way to the next."""
        if self._client().name in ASKS_FOR_ONE_MENU_AT_A_TIME:
            longest = self._following.settings.menu_deadline
            self._turns.end_late(uri, Method.MENU.value, longest)

    def closed(self, uri: str) -> None:
        """A document was closed; opened again, it is another."""
        key = document_key(uri)
        self._told_why = {told for told in self._told_why if told[0] != key}

    def switched(self) -> None:
        """Suggestions were switched: why there are none is worth another word."""
        self._told_why.clear()

    def begin(self, query: CompletionQuery, method: Method, *, by_hand: bool) -> Work:
        """Take what the request needs now; awaiting the result of what is returned answers it.

        A function and not its coroutine, since a request cancelled at once is never begun.
        """
        trail = Trail()
        self._following.look_for_changes()
        document = self._service.documents.get(query.uri)
        asked = Asked(
            method=method,
            uri=query.uri,
            path=display_path(query.uri, self._following.roots),
            language="" if document is None else document.language_id,
            line=query.position.line + 1,
            by_hand=by_hand,
        )
        prepared = self._prepare(query, method, by_hand=by_hand, trail=trail)
        if isinstance(prepared, SkipReason):
            run = partial(_skipped, prepared)
        else:
            turn = self._turns.take(query.uri, method.value)
            run = partial(turn.run, partial(self._service.complete, prepared))

        async def work() -> tuple[Outcome, int]:
            try:
                with self._telling.status.asking(trail):
                    result = await run()
                if isinstance(result, Suggested) or result.reason in PROVIDER_ANSWERED:
                    self._notices.worked()
                    self._telling.tell(None)
                elif result.reason is SkipReason.TOO_SLOW:
                    self._service.came_late()
            except CompletionsError as error:
                if isinstance(error, TimedOut):
                    self._service.came_late()
                self._notices.failed(error)
                self._telling.tell(error)
                result = Skipped(reason=SkipReason.PROVIDER_FAILED, detail=str(error))
            except asyncio.CancelledError:
                self._journal.add(asked, trail, Skipped(reason=SkipReason.CANCELLED))
                raise
            if isinstance(result, Skipped) and result.reason in TOLD_BY_HAND:
                if (trouble := self._service.trouble(query.uri, result)) is not None:
                    self._notices.failed(trouble)
                    self._telling.tell(trouble)
                    detail = f"{result.reason.value} {trouble}"
                    result = Skipped(reason=result.reason, detail=detail)
                self._say_why(query.uri, result.reason, by_hand=by_hand)
            self._telling.status.changed()
            entry = self._journal.add(asked, trail, result)
            self._disclosure.note(entry.number, trail, result)
            # After the answer: the thread that writes it waits for the interpreter.
            asyncio.get_running_loop().call_later(ANSWER_IS_OUT, _log_outcome, entry)
            return result, entry.number

        return work

    def _say_why(self, uri: str, reason: SkipReason, *, by_hand: bool) -> None:
        """Tell whoever asked by hand why nothing is sent of this document; once."""
        told = document_key(uri), reason
        if by_hand and told not in self._told_why:
            self._told_why.add(told)
            path = display_path(uri, self._following.roots)
            self._messages.inform(f"nothing for {path}: {reason.value}")

    def _prepare(
        self, query: CompletionQuery, method: Method, *, by_hand: bool, trail: Trail
    ) -> Request | SkipReason:
        self._following.notice_logins()
        reason = self._service.why_not(query.uri, by_hand=by_hand)
        if reason is SkipReason.NO_PROVIDER:
            self.tell_who_is_missing()
        document = self._service.documents.get(query.uri)
        if reason is not None or document is None:
            return reason or SkipReason.UNKNOWN_DOCUMENT

        offset = document.offset_of(query.position, self._client().encoding)
        selection = None
        if (selected := query.selected) is not None:
            start = document.offset_of(selected.range.start, self._client().encoding)
            end = document.offset_of(selected.range.end, self._client().encoding)
            if start > offset or end != offset:
                return SkipReason.SELECTION_DIFFERS
            selection = Selection(start=start, text=selected.text)
        waits = method is Method.INLINE or self._client().name in ASKS_FOR_ONE_MENU_AT_A_TIME
        return self._service.request(
            document,
            offset,
            selection=selection,
            deadline=None if waits else self._following.settings.menu_deadline,
            follow_typing=method is Method.INLINE,
            by_hand=by_hand,
            trail=trail,
        )

    def next_one(self, document: Document, offset: int) -> Request | None:
        """The request that the editor is about to make after an acceptance; `None` for none."""
        if self._service.why_not(document.uri, by_hand=False) is not None:
            return None
        return self._service.request(document, offset, ahead=True)

    def tell_who_is_missing(self) -> None:
        """Say why nobody answers, unless the user is being asked just that."""
        problem = self._service.backend.problem
        if problem is not None and not self._following.approvals.is_open:
            self._notices.failed(problem)


async def _skipped(reason: SkipReason) -> Outcome:
    return Skipped(reason=reason)


def _log_outcome(entry: Entry) -> None:
    what = "suggested" if entry.reason is None else entry.reason.value
    if entry.reason is SkipReason.BACKING_OFF:
        what = entry.detail
    asked = entry.asked
    logger.info("%s %s: %s (%.0f ms)", asked.method.value, asked.path, what, entry.times.answered)
