"""Everything an editor says once it is initialized: one short handler per LSP method.

Built when the first of it comes, since its modules take longer to import than all that an editor
waits for at the start.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp_completions import __version__, convert, signed_in
from lsp_completions.acceptance import Acceptance
from lsp_completions.convert import Client, CommandCall, CompletionQuery
from lsp_completions.convert.items import inline_items, menu_items
from lsp_completions.credentials.credential import CredentialOrigin, origin_of
from lsp_completions.disclosure import Disclosure
from lsp_completions.errors import CompletionsError
from lsp_completions.journal import Journal, Method
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import SkipReason, Suggested
from lsp_completions.pipeline.uris import document_key
from lsp_completions.running import TOLD, Presence
from lsp_completions.server import editor_settings
from lsp_completions.server.by_hand import ByHand
from lsp_completions.server.commands import Commands
from lsp_completions.server.offered import (
    ACCEPTED,
    DID_ACCEPT_PART,
    DID_FOCUS,
    DID_SHOW,
    INLINE,
    MENU,
)
from lsp_completions.server.requests import Requests, Work
from lsp_completions.server.telling import Telling, described
from lsp_completions.service import Service
from lsp_completions.session import Turns
from lsp_completions.settings import Menu, Settings
from lsp_completions.statistics.keeper import Statistics

if TYPE_CHECKING:
    from lsp_completions.protocol import Handler
    from lsp_completions.server import CompletionServer
    from lsp_completions.transport import Transport

logger = logging.getLogger(__name__)

# What is typed has to be the beginning of an entry; to others it is enough that its letters occur.
MATCHES_BEGINNINGS = ("Neovim",)

MAY_COME_LATER = (SkipReason.TOO_SLOW, SkipReason.MOVED_ON, SkipReason.UNDECIDED)

CONTENT_MODIFIED = -32801


class Conversation:
    """All that one editor and `server` have to do with each other once they know each other.

    `transport` is another way to ask models.
    """

    def __init__(self, server: "CompletionServer", transport: "Transport | None" = None) -> None:
        self._server = server
        self._following = following = server.following
        self.turns = Turns()
        self.by_hand = ByHand(lambda: server.client)
        self.journal = Journal()
        self.disclosure = Disclosure()
        self.presence = Presence(self._describe)
        self.service = Service(
            following, server.messages, server.notices, ended=self._ended, transport=transport
        )
        self.telling = Telling(
            server.messages,
            self.service,
            client=lambda: server.client,
            notify=server.protocol.notify,
            changed=self.presence.changed,
        )
        self.requests = Requests(
            self.service,
            following=following,
            turns=self.turns,
            client=lambda: server.client,
            telling=self.telling,
            messages=server.messages,
            notices=server.notices,
            journal=self.journal,
            disclosure=self.disclosure,
        )
        self.statistics = Statistics(self.service.documents.get)
        self.acceptance = Acceptance(
            self.journal,
            current=self.service.documents.get,
            next_request=self.requests.next_one,
            ask=self.service.complete_ahead,
            inserted=self.statistics.accepted,
        )
        self.commands = Commands(
            self.service,
            following=following,
            acceptance=self.acceptance,
            journal=self.journal,
            messages=server.messages,
            status=self.telling.status,
            client=lambda: server.client,
            switched=self._switched,
        )
        self.journal.subscribe(lambda _: self.presence.changed())
        self.journal.subscribe(self.statistics.note)
        self.service.follow(changed=False)
        self.statistics.follow(on=self.settings.statistics)

        self.handlers: dict[str, Handler] = {
            types.TEXT_DOCUMENT_DID_OPEN: self.did_open,
            types.TEXT_DOCUMENT_DID_CHANGE: self.did_change,
            types.TEXT_DOCUMENT_DID_CLOSE: self.did_close,
            INLINE: self.inline_completion,
            MENU: self.completion,
            types.WORKSPACE_EXECUTE_COMMAND: self.execute_command,
            DID_SHOW: self.did_show,
            DID_ACCEPT_PART: self.did_accept_part,
            DID_FOCUS: self.did_focus,
            types.WORKSPACE_DID_CHANGE_CONFIGURATION: self.did_change_configuration,
            types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: self.did_change_folders,
            signed_in.CHECK: self.check_status,
            **dict.fromkeys(signed_in.SIGN_IN, self.sign_in),
            signed_in.SIGN_OUT: self.sign_out,
        }

        # Last: what could not be built is built anew for the next message.
        server.on_stop += [
            *self.service.closings,
            self.acceptance.aclose,
            self.statistics.aclose,
            self.presence.aclose,
            self.disclosure.aclose,
        ]
        server.on_rest.append(self.service.rest)

    @property
    def client(self) -> Client:
        """Who speaks with us."""
        return self._server.client

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._following.settings

    # ---- the session's life

    async def begin(self) -> None:
        """The settings are known: get ready for the first request."""
        self._following.may_ask = True
        self._following.configure()
        self.requests.tell_who_is_missing()
        self.telling.tell(self.service.backend.problem)
        editor = f"{self.client.name} {self.client.version}".strip() or "an editor"
        first = f"lsp-completions {__version__} serves {editor}"
        if self.settings.log_file:
            self._server.log.hold(first)  # the first request does not wait for the file
        await self.service.get_ready()
        if self.settings.log_file:
            await self._server.log.begin(first)
        self.presence.changed()
        await self.disclosure.begin()

    def _describe(self) -> Callable[[], dict[str, object]]:
        return partial(
            described,
            self.client,
            self._following.roots,
            self._server.log.file,
            self.telling.status.now,
            self.telling.since,
            self.journal.entries()[:TOLD],
        )

    # ---- documents

    def did_open(self, document: Document) -> None:
        """Remember a document's text, and whether it may be sent."""
        self.service.documents.open(document)
        # It may have been open already, with another text.
        self.service.document_changed(document.uri)
        self.service.gate.judge(document.uri)
        self.service.neighbours.opened(document)
        self.service.grammars.begin(document)
        self.telling.status.look_at(document.uri)
        self._following.look_for_changes()

    def did_change(self, change: convert.DocumentChange) -> None:
        """Apply an edit."""
        encoding = self.client.encoding
        self.service.documents.change(change.uri, change.changes, encoding, change.version)
        self.by_hand.changed(change)
        self._server.messages.typed()
        self.telling.status.look_at(change.uri)
        self.requests.typed(change.uri)
        self.service.document_changed(change.uri)
        self.statistics.changed(change.uri, change.changes)
        if (document := self.service.documents.get(change.uri)) is not None:
            self.service.neighbours.changed(document, change.changes)
            self.acceptance.changed(document)

    def did_close(self, uri: str) -> None:
        """Forget a document, and show nothing for it any more."""
        self.service.end_for(uri)
        self.service.documents.close(uri)
        self.acceptance.forget(uri)
        self.telling.status.left(uri)
        self.statistics.closed(uri)
        self.service.gate.forget(uri)
        self.service.neighbours.closed(uri)
        self.requests.closed(uri)

    def _ended(self, uri: str, reason: SkipReason) -> None:
        self.turns.end(uri, reason)
        self.acceptance.end(uri)

    def on_unreadable(self, method: str | None, params: object) -> None:
        """A change that could not be read leaves its document out of step."""
        if method == types.TEXT_DOCUMENT_DID_CHANGE and isinstance(params, dict):
            document = params.get("textDocument")
            uri = document.get("uri") if isinstance(document, dict) else None
            if isinstance(uri, str):
                self.service.documents.mark_out_of_step(uri)

    # ---- completions

    def inline_completion(
        self, query: CompletionQuery
    ) -> Coroutine[None, None, types.InlineCompletionList | None]:
        """Ghost text."""
        self._server.shows_inline = True
        document = self.service.documents.get(query.uri)
        if document is not None and is_older(query.version, document.version):
            # Its place is one in a text that is gone. A number ahead of ours is let pass: messages
            # come in their order, so it is a client's own way of counting.
            raise JsonRpcException("The document has changed since.", CONTENT_MODIFIED)
        by_hand = self.by_hand.is_inline(query)
        return self._inline_answer(self.requests.begin(query, Method.INLINE, by_hand=by_hand))

    async def _inline_answer(self, work: "Work") -> types.InlineCompletionList | None:
        outcome, entry = await work()
        if isinstance(outcome, Suggested):
            self.acceptance.follow(outcome, entry)
            return inline_items(
                # Not the document as it is now: a key may have come while the answer got here.
                outcome.document,
                outcome.edits,
                self.client,
                command=ACCEPTED + self.settings.command_suffix,
                ids=self.acceptance.shown(outcome, entry),
            )
        if outcome.reason is SkipReason.SUPERSEDED:
            return None
        return types.InlineCompletionList(items=[])

    def completion(
        self, query: CompletionQuery
    ) -> Coroutine[None, None, types.CompletionList | None] | types.CompletionList:
        """Menu entries, unless the menu is left to the editor's other servers."""
        by_hand = self.by_hand.is_menu(query)
        if self.settings.menu is Menu.OFF or (
            self._server.menu_is_left_to_inline() and not by_hand
        ):
            logger.info("menu: %s", SkipReason.MENU_LEFT_TO_INLINE.value)
            return types.CompletionList(is_incomplete=False, items=[])
        work = self.requests.begin(query, Method.MENU, by_hand=by_hand)
        return self._menu_answer(query, work)

    async def _menu_answer(
        self, query: CompletionQuery, work: "Work"
    ) -> types.CompletionList | None:
        outcome, entry = await work()
        if isinstance(outcome, Suggested):
            return menu_items(
                outcome.document,
                outcome.document.offset_of(query.position, self.client.encoding),
                outcome.edits,
                self.client,
                command=ACCEPTED + self.settings.command_suffix,
                ids=self.acceptance.shown(outcome, entry),
                detail=self.service.backend.model or self.service.backend.name,
                # The editor is to ask again at each key: whether that fits is known here.
                is_incomplete=not outcome.complete or self.client.name not in MATCHES_BEGINNINGS,
            )
        if outcome.reason is SkipReason.SUPERSEDED:
            return None
        may_come = outcome.reason in MAY_COME_LATER
        return types.CompletionList(is_incomplete=may_come, items=[])

    # ---- what becomes of suggestions

    def did_show(self, report: convert.Report) -> None:
        """A suggestion is on the screen, which is no reason to ask for more."""
        logger.debug("shown: %s", report.identity)
        if report.identity is not None:
            self.acceptance.is_on_screen(report.identity)

    def did_accept_part(self, report: convert.Report) -> None:
        """The beginning of a suggestion was accepted, or the last of it."""
        if report.identity is not None:
            self.acceptance.accepted_in_part(report.identity, report.accepted)

    def did_focus(self, uri: str | None) -> None:
        """The user looks at a document, perhaps after changing something elsewhere."""
        if uri is not None:
            self.service.neighbours.looked_at(uri)
            self.telling.status.look_at(uri)
        self._following.look_for_changes()

    def execute_command(self, call: CommandCall) -> dict[str, Any] | None:
        """A suggestion was accepted, suggestions are switched, or somebody asks why."""
        return self.commands.execute(call)

    def _switched(self) -> None:
        self.requests.switched()
        self.telling.again()

    # ---- for clients made for Copilot's server

    def check_status(self, _: object) -> Coroutine[None, None, dict[str, str]]:
        """Whether somebody is signed in."""
        return self._signed_in(signed_in.checked)

    def sign_in(self, _: object) -> Coroutine[None, None, dict[str, str]]:
        """Somebody wants to sign in, which is done elsewhere."""
        return self._signed_in(signed_in.signed_in)

    def sign_out(self, _: object) -> dict[str, str]:
        """Somebody wants to sign out, which is done elsewhere."""
        self._following.notice_logins()
        return signed_in.signed_out(self.service.backend.problem)

    async def _signed_in(
        self,
        told: Callable[
            [CompletionsError | None, CredentialOrigin | None, str],
            dict[str, str],
        ],
    ) -> dict[str, str]:
        self._following.notice_logins()
        problem = self.service.backend.problem or self.telling.trouble
        origin = origin_of(self.settings, await asyncio.to_thread(self._following.logins.all))
        return told(problem, origin, self.service.backend.name)

    # ---- settings

    def did_change_configuration(self, pushed: object) -> Coroutine[None, None, None] | None:
        """Settings changed: ask for them where the editor answers, else take what it sent."""
        self._following.look_for_changes()
        if self.client.configuration:
            return editor_settings.fetch(self._server, self._following)
        editor_settings.take(pushed, self._following)
        return None

    def did_change_folders(self, change: convert.FoldersChange) -> None:
        """Folders were added to or removed from the workspace."""
        removed = {document_key(root) for root in change.removed}
        kept = [root for root in self._following.roots if document_key(root) not in removed]
        self._following.roots = (*kept, *change.added)
        self.service.gate.follow(self.settings, self._following.roots)
        self._following.look_for_changes()

    def settings_changed(self, *, changed: bool) -> None:
        """The settings were put in force. `changed` says that they are not those of before."""
        if changed:
            self.telling.trouble = None
        self.service.follow(changed=changed)
        self.statistics.follow(on=self.settings.statistics)
        if changed and self._following.may_ask:
            self.telling.tell(self.service.backend.problem)

    def try_again(self) -> None:
        """Something changed that may have mended what went wrong."""
        self.telling.trouble = None
        self.service.try_again()


def is_older(version: int | None, other: int | None) -> bool:
    """Whether one version of a document came before another, as far as is told."""
    return version is not None and other is not None and version < other
