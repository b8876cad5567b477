"""The language server: one short handler per LSP method.

A handler runs when its message is dispatched and takes what it needs there; what takes time is the
coroutine it returns.
"""

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp_completions import __version__, convert, signed_in, status
from lsp_completions.acceptance import Acceptance
from lsp_completions.configuration import (
    SECTION,
    section,
)
from lsp_completions.configuration.following import Following
from lsp_completions.configuration.in_force import Question
from lsp_completions.convert import Client, CommandCall, CompletionQuery
from lsp_completions.credentials.credential import CredentialOrigin, origin_of
from lsp_completions.disclosure import Disclosure
from lsp_completions.errors import CompletionsError, InvalidParams, TimedOut
from lsp_completions.journal import Asked, Entry, Journal, Method
from lsp_completions.log_file import LogFile
from lsp_completions.messages import Messages
from lsp_completions.notices import Notices
from lsp_completions.pipeline.document import Document, Position
from lsp_completions.pipeline.outcome import (
    TOLD_BY_HAND,
    Outcome,
    Skipped,
    SkipReason,
    Suggested,
)
from lsp_completions.pipeline.uris import display_path, document_key, local_path
from lsp_completions.protocol import Server
from lsp_completions.request import Request, Selection
from lsp_completions.running import TOLD, Presence
from lsp_completions.session import Insistence, TriggerKinds, Turns, Typing
from lsp_completions.settings import Menu, Settings, keys
from lsp_completions.switches import Scope, Switch
from lsp_completions.trail import Trail

if TYPE_CHECKING:
    from lsp_completions.service import Service
    from lsp_completions.statistics.keeper import Statistics
    from lsp_completions.transport import Transport

logger = logging.getLogger(__name__)

INLINE = types.TEXT_DOCUMENT_INLINE_COMPLETION
MENU = types.TEXT_DOCUMENT_COMPLETION

WHY = "lspCompletions.why"
ACCEPTED = "lspCompletions.didAcceptCompletion"
# What clients written for Copilot's server report. Never offered: VS Code registers what is offered
# for all its windows, and fails where another has it already.
ACCEPTED_IN_COPILOT = "github.copilot.didAcceptCompletionItem"
SWITCHES = {
    "lspCompletions.enable": Switch.ON,
    "lspCompletions.disable": Switch.OFF,
    "lspCompletions.toggle": Switch.OTHER,
}

DID_SHOW = "textDocument/didShowCompletion"
DID_ACCEPT_PART = "textDocument/didPartiallyAcceptCompletion"
DID_FOCUS = "textDocument/didFocus"

# Not a space: VS Code would open its menu over the ghost text after every word.
TRIGGER_CHARACTERS = (".", "(", "[", "{", ":", "=", ",", ">", '"', "'", "/")

# Where every menu that no trigger character opened was asked for by hand.
OPENS_NO_MENU_BY_ITSELF = ("Neovim",)

# Nothing waits for its menu, and until it is answered it asks for no other, whatever is typed.
ASKS_FOR_ONE_MENU_AT_A_TIME = ("helix",)

# A menu that comes by itself where insert mode begins looks like one asked for by hand. Whoever
# misses something there asks again and again.
ASKS_WHERE_TYPING_BEGINS = ("helix",)

# Where a command is executed, and nobody is told what came of it.
SHOWS_NO_ANSWER = ("helix",)

# What is typed has to be the beginning of an entry; to others it is enough that its letters occur.
MATCHES_BEGINNINGS = ("Neovim",)

CONTENT_MODIFIED = -32801

Work = Callable[[], Coroutine[None, None, tuple[Outcome, int]]]
"""Its result is an outcome, and the number of its entry in the journal."""

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
    logging.basicConfig(
        handlers=[stderr], level=logging.WARNING, format="%(levelname)s %(message)s"
    )
    CompletionServer(stderr=stderr).serve_stdio(editor_pid=client_process_id)


class CompletionServer(Server):
    """Speaks with one editor. `transport` is another way to ask models."""

    def __init__(
        self, transport: "Transport | None" = None, *, stderr: logging.Handler | None = None
    ) -> None:
        super().__init__("lsp-completions", __version__, READERS)
        self.client = Client()
        self.turns = Turns()
        self.typing = Typing()
        self.trigger_kinds = TriggerKinds()
        self.shows_inline = False
        self._trouble_of_late: CompletionsError | None = None
        self._since = time.time()
        self._told_copilot: dict[str, object] | None = None
        self._told_why: set[tuple[str, SkipReason]] = set()
        self.insistence = Insistence()

        self.messages = Messages(self)
        self.notices = Notices(self.messages.warn)
        self.status = status.Status(self.messages, look=self._facts, tell=self._status_changed)
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
            next_request=self._next_request,
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
        commands = [name + self.settings.command_suffix for name in (ACCEPTED, *SWITCHES, WHY)]
        self.options[types.WORKSPACE_EXECUTE_COMMAND] = types.ExecuteCommandOptions(commands)
        if not client.advertises_inline:
            logger.info("%s does not announce inline completion.", client.name or "The editor")

    def initialized(self, _: object) -> Coroutine[None, None, None]:
        """Ask for the settings, and for word of their changes; get ready for the first request."""
        return self._get_ready()

    async def _get_ready(self) -> None:
        if self.client.configuration:
            try:
                await self._follow_configuration()
            finally:
                self.following.all_known()
        self.following.may_ask = True
        self.following.configure()
        self._tell_who_is_missing()
        self._tell_status(self.service.backend.problem)
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
            _described,
            self.client,
            self.following.roots,
            self.log.file,
            self.status.now,
            self._since,
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
        self.status.look_at(document.uri)
        self.following.look_for_changes()

    def did_change(self, change: convert.DocumentChange) -> None:
        """Apply an edit."""
        encoding = self.client.encoding
        self.service.documents.change(change.uri, change.changes, encoding, change.version)
        self.typing.changed(change.uri, change.changes, encoding)
        self.messages.typed()
        self.status.look_at(change.uri)
        if self.client.name in ASKS_FOR_ONE_MENU_AT_A_TIME:
            self.turns.end_late(change.uri, MENU, self.settings.menu_deadline)
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
        self.status.left(uri)
        self.statistics.closed(uri)
        self.service.gate.forget(uri)
        self.service.neighbours.closed(uri)
        key = document_key(uri)
        self._told_why = {told for told in self._told_why if told[0] != key}

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
        by_hand = self.trigger_kinds.is_by_hand(query.trigger_kind)
        by_hand = by_hand and not self.typing.just_typed(query.uri, query.position)
        return self._inline_answer(query, self._begin(query, INLINE, by_hand=by_hand))

    async def _inline_answer(
        self, query: CompletionQuery, work: Work
    ) -> types.InlineCompletionList | None:
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
        by_hand = query.invoked and not (
            self.client.name not in OPENS_NO_MENU_BY_ITSELF
            and self.typing.just_typed(query.uri, query.position)
        )
        if self.client.name in ASKS_WHERE_TYPING_BEGINS:
            by_hand = self.insistence.asked(query.uri, query.position) and by_hand
        if self.settings.menu is Menu.OFF or (self._menu_is_left_to_inline() and not by_hand):
            logger.info("menu: %s", SkipReason.MENU_LEFT_TO_INLINE.value)
            return types.CompletionList(is_incomplete=False, items=[])
        return self._menu_answer(query, self._begin(query, MENU, by_hand=by_hand))

    async def _menu_answer(self, query: CompletionQuery, work: Work) -> types.CompletionList | None:
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

    def _begin(self, query: CompletionQuery, method: str, *, by_hand: bool) -> Work:
        """Take what the request needs now; awaiting the result of what is returned answers it.

        A function and not its coroutine, since a request cancelled at once is never begun.
        """
        trail = Trail()
        self.following.look_for_changes()
        document = self.service.documents.get(query.uri)
        asked = Asked(
            method=Method.INLINE if method == INLINE else Method.MENU,
            uri=query.uri,
            path=display_path(query.uri, self.following.roots),
            language="" if document is None else document.language_id,
            line=query.position.line + 1,
            by_hand=by_hand,
        )
        prepared = self._prepare(query, method, by_hand=by_hand, trail=trail)
        if isinstance(prepared, SkipReason):
            run = partial(_skipped, prepared)
        else:
            turn = self.turns.take(query.uri, method)
            run = partial(turn.run, partial(self.service.complete, prepared))

        async def work() -> tuple[Outcome, int]:
            try:
                with self.status.asking(trail):
                    result = await run()
                if isinstance(result, Suggested) or result.reason in PROVIDER_ANSWERED:
                    self.notices.worked()
                    self._tell_status(None)
                elif result.reason is SkipReason.TOO_SLOW:
                    self.service.came_late()
            except CompletionsError as error:
                if isinstance(error, TimedOut):
                    self.service.came_late()
                self.notices.failed(error)
                self._tell_status(error)
                result = Skipped(reason=SkipReason.PROVIDER_FAILED, detail=str(error))
            except asyncio.CancelledError:
                self.journal.add(asked, trail, Skipped(reason=SkipReason.CANCELLED))
                raise
            if isinstance(result, Skipped) and result.reason in TOLD_BY_HAND:
                if (trouble := self.service.trouble(query.uri, result)) is not None:
                    self.notices.failed(trouble)
                    self._tell_status(trouble)
                    detail = f"{result.reason.value} {trouble}"
                    result = Skipped(reason=result.reason, detail=detail)
                self._say_why(query.uri, result.reason, by_hand=by_hand)
            self.status.changed()
            entry = self.journal.add(asked, trail, result)
            self.disclosure.note(entry.number, trail, result)
            _log_outcome(entry)
            return result, entry.number

        return work

    def _say_why(self, uri: str, reason: SkipReason, *, by_hand: bool) -> None:
        """Tell whoever asked by hand why nothing is sent of this document; once."""
        told = document_key(uri), reason
        if by_hand and told not in self._told_why:
            self._told_why.add(told)
            path = display_path(uri, self.following.roots)
            self.messages.inform(f"nothing for {path}: {reason.value}")

    def _prepare(
        self, query: CompletionQuery, method: str, *, by_hand: bool, trail: Trail
    ) -> Request | SkipReason:
        self.following.notice_logins()
        reason = self.service.why_not(query.uri, by_hand=by_hand)
        if reason is SkipReason.NO_PROVIDER:
            self._tell_who_is_missing()
        document = self.service.documents.get(query.uri)
        if reason is not None or document is None:
            return reason or SkipReason.UNKNOWN_DOCUMENT

        offset = document.offset_of(query.position, self.client.encoding)
        selection = None
        if (selected := query.selected) is not None:
            start = document.offset_of(selected.range.start, self.client.encoding)
            end = document.offset_of(selected.range.end, self.client.encoding)
            if start > offset or end != offset:
                return SkipReason.SELECTION_DIFFERS
            selection = Selection(start=start, text=selected.text)
        waits = method == INLINE or self.client.name in ASKS_FOR_ONE_MENU_AT_A_TIME
        return self.service.request(
            document,
            offset,
            selection=selection,
            deadline=None if waits else self.settings.menu_deadline,
            follow_typing=method == INLINE,
            by_hand=by_hand,
            trail=trail,
        )

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
            self.status.look_at(uri)
        self.following.look_for_changes()

    def _next_request(self, document: Document, offset: int) -> Request | None:
        """The request that the editor is about to make after an acceptance; `None` for none."""
        if self.service.why_not(document.uri, by_hand=False) is not None:
            return None
        return self.service.request(document, offset, ahead=True)

    # ---- commands

    def execute_command(self, call: CommandCall) -> dict[str, Any] | None:
        """A suggestion was accepted, or suggestions are switched."""
        suffix = self.settings.command_suffix
        if call.command in (ACCEPTED + suffix, ACCEPTED_IN_COPILOT):
            match call.arguments:
                case [str(identity), *_]:
                    self.acceptance.accepted(identity)
            return None
        if call.command == WHY + suffix:
            return self._why(*convert.read_place(call.arguments))
        for name, switch in SWITCHES.items():
            if call.command == name + suffix:
                return self._switch(switch, _scope_of(call))
        raise InvalidParams(f"There is no command {call.command[:100]}.")

    def _switch(self, switch: Switch, scope: Scope) -> dict[str, Any]:
        """Switch suggestions on or off; the state after it, for the editor to show."""
        enabled = self.service.switches.switch(switch, scope, self.settings.languages)
        self._told_why.clear()
        self.service.end_what_is_off()
        self._tell_status(self._trouble_of_late)
        if self.client.name in SHOWS_NO_ANSWER:
            where = f" for {scope.language}" if scope.language else ""
            where = " in this workspace" if scope.workspace else where
            self.messages.answer(f"Suggestions are {'on' if enabled else 'off'}{where}.")
        return {
            "enabled": enabled,
            "everything": self.service.switches.everything,
            "workspace": self.service.switches.workspace,
            "languages": self.service.switches.languages,
        }

    def _why(self, uri: str | None, position: Position | None) -> dict[str, Any]:
        """Why there is a suggestion or none: in a document's line, a document, or where we were."""
        from lsp_completions import explanation

        entries = self.journal.entries()
        if uri is None:
            uri = self.status.uri or (entries[0].asked.uri if entries else None)
        if uri is None:
            return explanation.explained(explanation.NOWHERE, None, at=time.time())
        key, now = document_key(uri), explanation.Now()
        here = [each for each in entries if document_key(each.asked.uri) == key]
        if position is not None:
            here = [each for each in here if each.asked.line == position.line + 1]
            now = self.service.why_not_at(uri, position, self.client.encoding)
        elif (reason := self.service.why_not(uri, by_hand=False)) is not None:
            now = explanation.Now(reason=reason)
        return explanation.explained(now, explanation.telling(here), at=time.time())

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
        problem = self.service.backend.problem or self._trouble_of_late
        origin = origin_of(self.settings, await asyncio.to_thread(self.following.logins.all))
        return told(problem, origin, self.service.backend.name)

    def _tell_status(self, trouble: CompletionsError | None) -> None:
        """How things are, told to clients that have a place to show it."""
        self._trouble_of_late = trouble
        self.status.changed()
        self._tell_copilot()

    def _tell_copilot(self) -> None:
        if not self.client.speaks_copilot:
            return
        told = signed_in.status(
            self._trouble_of_late,
            is_off=not self.service.switches.everything,
            busy=self.status.busy,
        )
        if told != self._told_copilot:
            self._told_copilot = told
            self.protocol.notify(signed_in.CHANGED, told)

    def _status_changed(self, now: status.Standing) -> None:
        self._tell_copilot()
        self._since = time.time()
        self.presence.changed()
        if self.client.follows_status:
            self.protocol.notify(status.CHANGED, now.fields())

    def _facts(self, uri: str | None) -> status.Facts:
        backend = self.service.backend
        return status.Facts(
            why_not=self.service.why_not_in_general(uri),
            trouble=backend.problem or self._trouble_of_late,
            provider=backend.name,
            model=backend.model,
            uri=uri,
        )

    # ---- settings

    def did_change_configuration(self, pushed: object) -> Coroutine[None, None, None] | None:
        """Settings changed: ask for them where the editor answers, else take what it sent."""
        self.following.look_for_changes()
        if self.client.configuration:
            return self._fetch_configuration()
        # What is pushed may be the settings of other servers.
        ours = section(pushed)
        if isinstance(ours, dict) and (not ours.keys().isdisjoint(keys()) or not ours):
            self.following.editor_says(ours)
        return None

    def did_change_folders(self, change: convert.FoldersChange) -> None:
        """Folders were added to or removed from the workspace."""
        removed = {document_key(root) for root in change.removed}
        kept = [root for root in self.following.roots if document_key(root) not in removed]
        self.following.roots = (*kept, *change.added)
        self.service.gate.follow(self.settings, self.following.roots)
        self.following.look_for_changes()

    async def _follow_configuration(self) -> None:
        if self.client.dynamic_configuration:
            method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
            options = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
            registration = types.Registration(id=SECTION, method=method, register_options=options)
            try:
                await self.client_register_capability_async(
                    types.RegistrationParams([registration])
                )
            except JsonRpcException as error:
                logger.info("The editor will not say when settings change: %s", error.message)
        await self._fetch_configuration()

    async def _fetch_configuration(self) -> None:
        item = types.ConfigurationItem(section=SECTION)
        try:
            answer = await self.workspace_configuration_async(types.ConfigurationParams([item]))
        except JsonRpcException as error:
            logger.info("The editor did not say its settings: %s", error.message)
            return
        self.following.editor_says(section(answer[0]) if answer else None)

    def _settings_changed(self, before: Settings) -> None:
        changed = self.settings != before
        if changed:
            self._trouble_of_late = None
        if self._is_built:
            self.service.follow(changed=changed)
            self.statistics.follow(on=self.settings.statistics)
        if changed and self.following.may_ask:
            self._tell_status(self.service.backend.problem)
        self.log.level(self.settings.log_level.value)

    def try_again(self) -> None:
        """Something changed that may have mended what went wrong."""
        self._trouble_of_late = None
        if self._is_built:
            self.service.try_again()

    # ---- to the user

    async def _ask(self, question: Question) -> bool | None:
        return await self.messages.ask(question, instead=self.notices.problem)

    def _tell_who_is_missing(self) -> None:
        """Say why nobody answers, unless the user is being asked just that."""
        problem = self.service.backend.problem
        if problem is not None and not self.following.approvals.is_open:
            self.notices.failed(problem)


PROVIDER_ANSWERED = (SkipReason.EMPTY, SkipReason.NOTHING_NEW, SkipReason.NOT_ATTRIBUTED)
MAY_COME_LATER = (SkipReason.TOO_SLOW, SkipReason.MOVED_ON, SkipReason.UNDECIDED)


def _described(
    client: Client,
    roots: Sequence[str],
    log: Path | None,
    now: status.Standing | None,
    since: float,
    entries: Sequence[Entry],
) -> dict[str, object]:
    """What a server tells of itself to the user's other processes."""
    return {
        "editor": client.name,
        "editorVersion": client.version,
        "workspace": [local_path(root) or root for root in roots],
        "log": None if log is None else str(log),
        "status": None if now is None else now.fields(),
        "since": round(since, 3),
        "outcomes": [entry.fields() for entry in entries],
    }


def _scope_of(call: CommandCall) -> Scope:
    """What a command is about: the language or the workspace it names, or everything."""
    match call.arguments[:1]:
        case () | (None,):
            return Scope()
        case ({"language": str(language)},) if language.strip():
            return Scope(language=language)
        case ({"workspace": True},):
            return Scope(workspace=True)
        case ({**rest},) if not rest:
            return Scope()
    raise InvalidParams(
        f'{call.command[:100]} takes {{"language": "…"}}, {{"workspace": true}} or nothing.'
    )


def is_older(version: int | None, other: int | None) -> bool:
    """Whether one version of a document came before another, as far as is told."""
    return version is not None and other is not None and version < other


async def _skipped(reason: SkipReason) -> Outcome:
    return Skipped(reason=reason)


def _log_outcome(entry: Entry) -> None:
    what = "suggested" if entry.reason is None else entry.reason.value
    if entry.reason is SkipReason.BACKING_OFF:
        what = entry.detail
    asked = entry.asked
    logger.info("%s %s: %s (%.0f ms)", asked.method.value, asked.path, what, entry.times.answered)
