"""The language server: one short handler per LSP method.

A handler runs when its message is dispatched and takes what it needs there; what takes time is the
coroutine it returns.

by_hand          whether a person asked for a suggestion, or the editor by itself
requests         a request for a suggestion, from what it needs to its outcome
commands         what the editor may have executed
telling          how things stand, told to whoever shows it
editor_settings  the settings that the editor holds
"""

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp_completions import __version__, convert, signed_in
from lsp_completions.acceptance import Acceptance
from lsp_completions.configuration.following import Following
from lsp_completions.configuration.in_force import Question
from lsp_completions.convert import Client, CommandCall, CompletionQuery
from lsp_completions.credentials.credential import CredentialOrigin, origin_of
from lsp_completions.disclosure import Disclosure
from lsp_completions.errors import CompletionsError
from lsp_completions.journal import Journal, Method
from lsp_completions.log_file import Formatter, LogFile
from lsp_completions.messages import Messages
from lsp_completions.notices import Notices
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import SkipReason, Suggested
from lsp_completions.pipeline.uris import document_key
from lsp_completions.protocol import Server
from lsp_completions.running import TOLD, Presence
from lsp_completions.server import editor_settings
from lsp_completions.server.by_hand import ByHand
from lsp_completions.server.commands import ACCEPTED, Commands, offered
from lsp_completions.server.telling import Telling, described
from lsp_completions.session import Turns
from lsp_completions.settings import Menu, Settings

if TYPE_CHECKING:
    from lsp_completions.server.requests import Requests, Work
    from lsp_completions.service import Service
    from lsp_completions.statistics.keeper import Statistics
    from lsp_completions.transport import Transport

logger = logging.getLogger(__name__)

INLINE = types.TEXT_DOCUMENT_INLINE_COMPLETION
MENU = types.TEXT_DOCUMENT_COMPLETION

DID_SHOW = "textDocument/didShowCompletion"
DID_ACCEPT_PART = "textDocument/didPartiallyAcceptCompletion"
DID_FOCUS = "textDocument/didFocus"

# Not a space: VS Code would open its menu over the ghost text after every word.
TRIGGER_CHARACTERS = (".", "(", "[", "{", ":", "=", ",", ">", '"', "'", "/")

# What is typed has to be the beginning of an entry; to others it is enough that its letters occur.
MATCHES_BEGINNINGS = ("Neovim",)

MAY_COME_LATER = (SkipReason.TOO_SLOW, SkipReason.MOVED_ON, SkipReason.UNDECIDED)

CONTENT_MODIFIED = -32801

READERS: dict[str, Callable[[object], Any]] = {
    types.TEXT_DOCUMENT_DID_OPEN: convert.read_open,
    types.TEXT_DOCUMENT_DID_CHANGE: convert.read_change,
    types.TEXT_DOCUMENT_DID_CLOSE: convert.read_close,
    INLINE: convert.read_inline_completion,
    MENU: convert.read_completion,
    types.WORKSPACE_EXECUTE_COMMAND: convert.read_execute_command,
    DID_SHOW: convert.read_report,
    DID_ACCEPT_PART: convert.read_report,
    DID_FOCUS: convert.read_focus,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: convert.read_configuration_change,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: convert.read_workspace_folders_change,
}


def serve(*, client_process_id: int | None = None) -> NoReturn:
    """Serve one editor over standard input and output, until it ends."""
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setFormatter(Formatter("%(levelname)s %(message)s"))
    logging.basicConfig(handlers=[stderr], level=logging.WARNING)
    CompletionServer(stderr=stderr).serve_stdio(editor_pid=client_process_id)


class CompletionServer(Server):
    """Speaks with one editor. `transport` is another way to ask models."""

    def __init__(
        self, transport: "Transport | None" = None, *, stderr: logging.Handler | None = None
    ) -> None:
        super().__init__("lsp-completions", __version__, READERS)
        self.client = Client()
        self.turns = Turns()
        self.by_hand = ByHand(lambda: self.client)
        self.shows_inline = False

        self.messages = Messages(self)
        self.notices = Notices(self.messages.warn)
        self.telling = Telling(
            self.messages,
            service=lambda: self.service,
            client=lambda: self.client,
            notify=self.protocol.notify,
            changed=lambda: self.presence.changed(),
        )
        self.following = Following(
            ask=self._ask,
            tell=self.notices.problem,
            changed=self._settings_changed,
            logged_in=self.try_again,
        )
        self.journal = Journal()
        self.acceptance = Acceptance(
            self.journal,
            current=lambda uri: self.service.documents.get(uri),
            next_request=lambda *where: self.requests.next_one(*where),
            ask=lambda request: self.service.complete_ahead(request),
            inserted=lambda *where: self.statistics.accepted(*where),
        )
        self.log = LogFile(stderr)
        self.presence = Presence(self._describe)
        self.disclosure = Disclosure()
        self.journal.subscribe(lambda _: self.presence.changed())
        self._transport = transport
        self.on_stop += [
            self.messages.aclose,
            self.acceptance.aclose,
            self.following.aclose,
            self.presence.aclose,
            self.disclosure.aclose,
            self.log.aclose,
        ]

        menu = types.CompletionOptions(trigger_characters=list(TRIGGER_CHARACTERS))
        for method, handler, options in (
            (types.INITIALIZE, self.initialize, None),
            (types.INITIALIZED, self.initialized, None),
            (types.TEXT_DOCUMENT_DID_OPEN, self.did_open, None),
            (types.TEXT_DOCUMENT_DID_CHANGE, self.did_change, None),
            (types.TEXT_DOCUMENT_DID_CLOSE, self.did_close, None),
            # Advertised whatever the editor says: Emacs and Neovim 0.11 ask without announcing it.
            (INLINE, self.inline_completion, types.InlineCompletionOptions()),
            (MENU, self.completion, menu),
            (types.WORKSPACE_EXECUTE_COMMAND, self.execute_command, None),
            (DID_SHOW, self.did_show, None),
            (DID_ACCEPT_PART, self.did_accept_part, None),
            (DID_FOCUS, self.did_focus, None),
            (signed_in.CHECK, self.check_status, None),
            (signed_in.SIGN_OUT, self.sign_out, None),
            (types.WORKSPACE_DID_CHANGE_CONFIGURATION, self.did_change_configuration, None),
            (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, self.did_change_folders, None),
        ):
            self.feature(method, options)(handler)
        for method in signed_in.SIGN_IN:
            self.feature(method)(self.sign_in)

    @cached_property
    def service(self) -> "Service":
        """What answers requests.

        Built when it is first needed, after `initialize` was answered: its modules take a fifth of
        all the time to start.
        """
        from lsp_completions.service import Service

        service = Service(
            self.following,
            self.messages,
            self.notices,
            ended=self._ended,
            transport=self._transport,
        )
        self.on_stop += service.closings
        self.on_rest.append(service.rest)
        service.follow(changed=False)
        self.journal.subscribe(lambda entry: self.statistics.note(entry))
        return service

    @cached_property
    def statistics(self) -> "Statistics":
        """What comes of suggestions, counted; built as late as what answers requests."""
        from lsp_completions.statistics.keeper import Statistics

        statistics = Statistics(self.service.documents.get)
        statistics.follow(on=self.settings.statistics)
        self.on_stop.append(statistics.aclose)
        return statistics

    @cached_property
    def requests(self) -> "Requests":
        """Requests for suggestions, begun and followed; built as late."""
        from lsp_completions.server.requests import Requests

        return Requests(
            self.service,
            following=self.following,
            turns=self.turns,
            client=lambda: self.client,
            telling=self.telling,
            messages=self.messages,
            notices=self.notices,
            journal=self.journal,
            disclosure=self.disclosure,
        )

    @cached_property
    def commands(self) -> Commands:
        """What the editor may have executed; built as late."""
        return Commands(
            self.service,
            following=self.following,
            acceptance=self.acceptance,
            journal=self.journal,
            messages=self.messages,
            status=self.telling.status,
            client=lambda: self.client,
            switched=self._switched,
        )

    @property
    def _is_built(self) -> bool:
        return "service" in self.__dict__

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.following.settings

    # ---- the session's life

    def initialize(self, params: object) -> None:
        """Learn who asks and what is set; decide what to offer."""
        self.client = self.messages.client = client = convert.read_client(params)
        self.shows_inline = client.advertises_inline
        self.position_encoding = client.encoding.value
        self.following.begin(client.roots, client.options, more_follows=client.configuration)

        if self.settings.menu is Menu.OFF:
            del self.handlers[MENU]
        elif self._menu_is_left_to_inline():
            self.options[MENU] = types.CompletionOptions()
        commands = offered(self.settings.command_suffix)
        self.options[types.WORKSPACE_EXECUTE_COMMAND] = types.ExecuteCommandOptions(commands)
        if not client.advertises_inline:
            logger.info("%s does not announce inline completion.", client.name or "The editor")

    def initialized(self, _: object) -> Coroutine[None, None, None]:
        """Ask for the settings, and for word of their changes; get ready for the first request."""
        return self._get_ready()

    async def _get_ready(self) -> None:
        if self.client.configuration:
            try:
                await editor_settings.follow(
                    self, self.following, register=self.client.dynamic_configuration
                )
            finally:
                self.following.all_known()
        self.following.may_ask = True
        self.following.configure()
        self.requests.tell_who_is_missing()
        self.telling.tell(self.service.backend.problem)
        editor = f"{self.client.name} {self.client.version}".strip() or "an editor"
        first = f"lsp-completions {__version__} serves {editor}"
        if self.settings.log_file:
            self.log.hold(first)  # the first request does not wait for the file
        await self.service.get_ready()
        if self.settings.log_file:
            await self.log.begin(first)
        self.presence.changed()
        await self.disclosure.begin()

    def _describe(self) -> Callable[[], dict[str, object]]:
        return partial(
            described,
            self.client,
            self.following.roots,
            self.log.file,
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
        self.following.look_for_changes()

    def did_change(self, change: convert.DocumentChange) -> None:
        """Apply an edit."""
        encoding = self.client.encoding
        self.service.documents.change(change.uri, change.changes, encoding, change.version)
        self.by_hand.changed(change)
        self.messages.typed()
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
        self.shows_inline = True
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
            return convert.inline_items(
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
        if self.settings.menu is Menu.OFF or (self._menu_is_left_to_inline() and not by_hand):
            logger.info("menu: %s", SkipReason.MENU_LEFT_TO_INLINE.value)
            return types.CompletionList(is_incomplete=False, items=[])
        work = self.requests.begin(query, Method.MENU, by_hand=by_hand)
        return self._menu_answer(query, work)

    async def _menu_answer(
        self, query: CompletionQuery, work: "Work"
    ) -> types.CompletionList | None:
        outcome, entry = await work()
        if isinstance(outcome, Suggested):
            return convert.menu_items(
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

    def _menu_is_left_to_inline(self) -> bool:
        return self.settings.menu is Menu.AUTO and self.shows_inline

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
        self.following.look_for_changes()

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
        self.following.notice_logins()
        return signed_in.signed_out(self.service.backend.problem)

    async def _signed_in(
        self,
        told: Callable[
            [CompletionsError | None, CredentialOrigin | None, str],
            dict[str, str],
        ],
    ) -> dict[str, str]:
        self.following.notice_logins()
        problem = self.service.backend.problem or self.telling.trouble
        origin = origin_of(self.settings, await asyncio.to_thread(self.following.logins.all))
        return told(problem, origin, self.service.backend.name)

    # ---- settings

    def did_change_configuration(self, pushed: object) -> Coroutine[None, None, None] | None:
        """Settings changed: ask for them where the editor answers, else take what it sent."""
        self.following.look_for_changes()
        if self.client.configuration:
            return editor_settings.fetch(self, self.following)
        editor_settings.take(pushed, self.following)
        return None

    def did_change_folders(self, change: convert.FoldersChange) -> None:
        """Folders were added to or removed from the workspace."""
        removed = {document_key(root) for root in change.removed}
        kept = [root for root in self.following.roots if document_key(root) not in removed]
        self.following.roots = (*kept, *change.added)
        self.service.gate.follow(self.settings, self.following.roots)
        self.following.look_for_changes()

    def _settings_changed(self, before: Settings) -> None:
        changed = self.settings != before
        if changed:
            self.telling.trouble = None
        if self._is_built:
            self.service.follow(changed=changed)
            self.statistics.follow(on=self.settings.statistics)
        if changed and self.following.may_ask:
            self.telling.tell(self.service.backend.problem)
        self.log.level(self.settings.log_level.value)

    def try_again(self) -> None:
        """Something changed that may have mended what went wrong."""
        self.telling.trouble = None
        if self._is_built:
            self.service.try_again()

    async def _ask(self, question: Question) -> bool | None:
        return await self.messages.ask(question, instead=self.notices.problem)


def is_older(version: int | None, other: int | None) -> bool:
    """Whether one version of a document came before another, as far as is told."""
    return version is not None and other is not None and version < other
