"""The language server: one short handler per LSP method.

A handler runs when its message is dispatched and takes what it needs there; what takes time is the
coroutine it returns.
"""

import asyncio
import logging
import sys
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp_completions import __version__, convert, signed_in
from lsp_completions.backend import Backend
from lsp_completions.cache import Memory
from lsp_completions.completer import complete
from lsp_completions.configuration import (
    SECTION,
    config_file,
    editor_layers,
    section,
)
from lsp_completions.configuration.approvals import Approvals
from lsp_completions.configuration.in_force import Question, put_in_force
from lsp_completions.configuration.places import Places, Read
from lsp_completions.convert import Client, CommandCall, CompletionQuery
from lsp_completions.credentials.credential import CredentialOrigin, origin_of
from lsp_completions.credentials.logins import Logins
from lsp_completions.errors import CompletionsError, InvalidParams, NotAuthorized, TimedOut
from lsp_completions.generations import Generations
from lsp_completions.model_loading import ModelLoading
from lsp_completions.notices import Notices
from lsp_completions.once import first_time
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import (
    TOLD_BY_HAND,
    Outcome,
    Skipped,
    SkipReason,
    Suggested,
)
from lsp_completions.pipeline.uris import display_path, document_key, every_path, scheme_of
from lsp_completions.protocol import Server
from lsp_completions.providers.base import Event, HttpRequest, Provider
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.request import Request, Selection
from lsp_completions.session import Documents, Shown, Suggestions, TriggerKinds, Turns, Typing
from lsp_completions.settings import Menu, Settings, Trigger, keys
from lsp_completions.sharing.context_filters import ContextFilters
from lsp_completions.sharing.gate import Gate, Permission
from lsp_completions.site import Sites
from lsp_completions.switches import Scope, Switch, Switches
from lsp_completions.transport import Timeouts, Transport
from lsp_completions.transport.network import network_of

logger = logging.getLogger(__name__)

INLINE = types.TEXT_DOCUMENT_INLINE_COMPLETION
MENU = types.TEXT_DOCUMENT_COMPLETION

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

# Short: Neovim makes people press a key after a message that fills its line.
SMALL_MODEL = (
    "the small model {model} answers; for better ones set SRC_ENDPOINT and SRC_ACCESS_TOKEN, "
    "or `provider`"
)

# Where every menu that no trigger character opened was asked for by hand.
OPENS_NO_MENU_BY_ITSELF = ("Neovim",)

# Nothing waits for its menu, and until it is answered it asks for no other, whatever is typed.
ASKS_FOR_ONE_MENU_AT_A_TIME = ("helix",)

# What is typed has to be the beginning of an entry; to others it is enough that its letters occur.
MATCHES_BEGINNINGS = ("Neovim",)

CONTENT_MODIFIED = -32801

SEND, DO_NOT_SEND = "Send", "Don't send"

MOST_FOR_SETTINGS = 0.3  # seconds; editors that answer at all do so within milliseconds

Work = Callable[[], Coroutine[None, None, Outcome]]

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
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(message)s"
    )
    CompletionServer().serve_stdio(editor_pid=client_process_id)


class CompletionServer(Server):
    """The server and what it remembers."""

    def __init__(self) -> None:
        super().__init__("lsp-completions", __version__, READERS)
        self.client = Client()
        self.documents = Documents()
        self.turns = Turns()
        self.typing = Typing()
        self.trigger_kinds = TriggerKinds()
        self.suggestions = Suggestions()
        self.switches = Switches()
        self._trouble_of_late: CompletionsError | None = None
        self._status: dict[str, object] | None = None
        self.roots: tuple[str, ...] = ()
        self.shows_inline = False

        self.notices = Notices(self._warn)
        self.settings = Settings()
        self._introduced = False
        self._said: set[str] = set()
        self._progressing: set[asyncio.Task[None]] = set()
        self._places = Places()
        self._read = Read()
        self._reading: asyncio.Task[None] | None = None
        self._approvals = Approvals(self._ask, self.notices.problem, self.configure)
        self._may_ask = False
        self.logins = Logins()
        self._logins_seen = self.logins.stamp()
        self._initial_options: object = None
        self._editor_settings: object = None
        self._settings_known = asyncio.Event()

        self.transport = Transport(report=self.notices.problem)
        self.sites = Sites(self.transport.events)
        self.filters = ContextFilters(self.transport.events, version=self._version)
        self.gate = Gate(self.filters, kept_back=self._end_for)
        self._told_why: set[tuple[str, SkipReason]] = set()
        self.backend = Backend(
            self._show_progress,
            sites=self.sites,
            tell=self.notices.problem,
            also_ask=self.filters.begin,
        )
        self.generations = Generations(self._open_stream, replaced=self.backend.replaced)
        self.loading = ModelLoading(self._open_loading, self._show_loading)
        self.memory = Memory()
        self._ahead: dict[str, asyncio.Task[None]] = {}
        self.on_stop += [
            self._end_progress,
            self._end_all_ahead,
            self.loading.aclose,
            self._approvals.aclose,
            self._end_reading,
            self.generations.aclose,
            self.gate.aclose,
            self.filters.aclose,
            self.sites.aclose,
            self.transport.aclose,
            self.backend.aclose,
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

    # ---- the session's life

    def initialize(self, params: object) -> None:
        """Learn who asks and what is set; decide what to offer."""
        self.client = client = convert.read_client(params)
        self.roots = client.roots
        self.shows_inline = client.advertises_inline
        self.position_encoding = client.encoding.value

        # Before it is read, so that nothing written meanwhile is missed.
        self._logins_seen = self.logins.stamp()
        self._initial_options = client.options
        self._adopt(self._places.read(self.roots))
        if not client.configuration:
            self._settings_known.set()

        if self.settings.menu is Menu.OFF:
            del self.handlers[MENU]
        elif self._menu_is_left_to_inline():
            self.options[MENU] = types.CompletionOptions()
        commands = [name + self.settings.command_suffix for name in (ACCEPTED, *SWITCHES)]
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
                self._settings_known.set()
        self._may_ask = True
        self.configure()
        self._tell_who_is_missing()
        self._tell_status(self.backend.problem)
        # What speaks HTTP takes longer to import than an answer may take.
        await self.transport.prepared()
        self.backend.get_ready()
        self.loading.begin(self.backend.at_hand)

    # ---- documents

    def did_open(self, document: Document) -> None:
        """Remember a document's text, and whether it may be sent."""
        self.documents.open(document)
        # It may have been open already, with another text.
        self.memory.changed(document_key(document.uri), document)
        self.gate.judge(document.uri)
        self._look_for_changes()

    def did_change(self, change: convert.DocumentChange) -> None:
        """Apply an edit."""
        self.documents.change(change.uri, change.changes, self.client.encoding, change.version)
        self.typing.changed(change.uri, change.changes, self.client.encoding)
        if self.client.name in ASKS_FOR_ONE_MENU_AT_A_TIME:
            self.turns.end_late(change.uri, MENU, self.settings.menu_deadline)
        if (document := self.documents.get(change.uri)) is not None:
            self.memory.changed(document_key(change.uri), document)

    def did_close(self, uri: str) -> None:
        """Forget a document, and show nothing for it any more."""
        self._end_for(uri)
        self.documents.close(uri)
        self.suggestions.forget(uri)
        self.gate.forget(uri)
        key = document_key(uri)
        self._told_why = {told for told in self._told_why if told[0] != key}

    def _end_for(self, uri: str, reason: SkipReason = SkipReason.MOVED_ON) -> None:
        """Nothing is shown for a document any more, nor asked."""
        self.turns.end(uri, reason)
        self._end_ahead(uri)
        self.memory.forget(document_key(uri))
        self.generations.forget(document_key(uri))

    def on_unreadable(self, method: str | None, params: object) -> None:
        """A change that could not be read leaves its document out of step."""
        if method == types.TEXT_DOCUMENT_DID_CHANGE and isinstance(params, dict):
            document = params.get("textDocument")
            uri = document.get("uri") if isinstance(document, dict) else None
            if isinstance(uri, str):
                self.documents.mark_out_of_step(uri)

    # ---- completions

    def inline_completion(
        self, query: CompletionQuery
    ) -> Coroutine[None, None, types.InlineCompletionList | None]:
        """Ghost text."""
        self.shows_inline = True
        document = self.documents.get(query.uri)
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
        outcome = await work()
        if isinstance(outcome, Suggested):
            return convert.inline_items(
                # Not the document as it is now: a key may have come while the answer got here.
                outcome.document,
                outcome.edits,
                self.client,
                command=ACCEPTED + self.settings.command_suffix,
                ids=self._remembered(outcome),
            )
        if outcome.reason is SkipReason.SUPERSEDED:
            return None
        return types.InlineCompletionList(items=[])

    def _remembered(self, outcome: Suggested) -> list[str]:
        """Ids for the suggestions, by which the editor will report what becomes of them."""
        return [
            self.suggestions.add(Shown(document=outcome.document, edit=edit))
            for edit in outcome.edits
        ]

    def completion(
        self, query: CompletionQuery
    ) -> Coroutine[None, None, types.CompletionList | None] | types.CompletionList:
        """Menu entries, unless the menu is left to the editor's other servers."""
        by_hand = query.invoked and not (
            self.client.name not in OPENS_NO_MENU_BY_ITSELF
            and self.typing.just_typed(query.uri, query.position)
        )
        if self.settings.menu is Menu.OFF or (self._menu_is_left_to_inline() and not by_hand):
            logger.info("menu: %s", SkipReason.MENU_LEFT_TO_INLINE.value)
            return types.CompletionList(is_incomplete=False, items=[])
        return self._menu_answer(query, self._begin(query, MENU, by_hand=by_hand))

    async def _menu_answer(self, query: CompletionQuery, work: Work) -> types.CompletionList | None:
        outcome = await work()
        if isinstance(outcome, Suggested):
            return convert.menu_items(
                outcome.document,
                outcome.document.offset_of(query.position, self.client.encoding),
                outcome.edits,
                self.client,
                command=ACCEPTED + self.settings.command_suffix,
                ids=self._remembered(outcome),
                detail=self.backend.model or self.backend.name,
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
        began = time.monotonic()
        self._look_for_changes()
        prepared = self._prepare(query, method, by_hand=by_hand)
        if isinstance(prepared, SkipReason):
            run = partial(_skipped, prepared)
        else:
            turn = self.turns.take(query.uri, method)
            run = partial(turn.run, partial(self._complete, prepared))

        async def work() -> Outcome:
            try:
                result = await run()
                if isinstance(result, Suggested) or result.reason in PROVIDER_ANSWERED:
                    self.notices.worked()
                    self._tell_status(None)
                elif result.reason is SkipReason.TOO_SLOW:
                    self.loading.again(self.backend.at_hand)
            except CompletionsError as error:
                if isinstance(error, TimedOut):
                    self.loading.again(self.backend.at_hand)
                self.notices.failed(error)
                self._tell_status(error)
                result = Skipped(reason=SkipReason.PROVIDER_FAILED, detail=str(error))
            if isinstance(result, Skipped) and result.reason in TOLD_BY_HAND:
                if (trouble := self._trouble(query.uri, result)) is not None:
                    self.notices.failed(trouble)
                self._say_why(query.uri, result.reason, by_hand=by_hand)
            _log_outcome(method, display_path(query.uri, self.roots), result, began)
            return result

        return work

    def _trouble(self, uri: str, outcome: Outcome) -> CompletionsError | None:
        """What keeps the instance's rules from being known, where that is why nothing came."""
        if isinstance(outcome, Skipped) and outcome.reason is SkipReason.CONTEXT_FILTERS_UNKNOWN:
            return self.gate.trouble(uri)
        return None

    def _say_why(self, uri: str, reason: SkipReason, *, by_hand: bool) -> None:
        """Tell whoever asked by hand why nothing is sent of this document; once."""
        told = document_key(uri), reason
        if by_hand and told not in self._told_why:
            self._told_why.add(told)
            path = display_path(uri, self.roots)
            self._say(types.MessageType.Info, f"nothing for {path}: {reason.value}")

    async def _version(self, instance: Sourcegraph) -> str | None:
        return (await self.sites.site(instance)).version

    def _prepare(
        self, query: CompletionQuery, method: str, *, by_hand: bool
    ) -> Request | SkipReason:
        self._notice_logins()
        document = self.documents.get(query.uri)
        if document is None:
            return SkipReason.UNKNOWN_DOCUMENT
        if by_hand:
            self.gate.retry(query.uri)
        reason = self.gate.why_kept_back(query.uri)
        if reason is not None and reason is not SkipReason.UNDECIDED:
            return reason
        if (off := self._why_off(document, by_hand=by_hand)) is not None:
            return off
        if self.documents.is_out_of_step(query.uri):
            return SkipReason.DOCUMENT_OUT_OF_STEP
        if self.backend.problem is not None:
            self._tell_who_is_missing()
            return SkipReason.NO_PROVIDER

        offset = document.offset_of(query.position, self.client.encoding)
        selection = None
        if (selected := query.selected) is not None:
            start = document.offset_of(selected.range.start, self.client.encoding)
            end = document.offset_of(selected.range.end, self.client.encoding)
            if start > offset or end != offset:
                return SkipReason.SELECTION_DIFFERS
            selection = Selection(start=start, text=selected.text)
        return Request(
            document=document,
            offset=offset,
            path=display_path(query.uri, self.roots),
            settings=self.settings,
            provider=partial(self._provider, self._patience(method)),
            current=partial(self.documents.get, query.uri),
            selection=selection,
            deadline=self.settings.menu_deadline
            if method == MENU and self.client.name not in ASKS_FOR_ONE_MENU_AT_A_TIME
            else None,
            follow_typing=method == INLINE,
            by_hand=by_hand,
            permission=Permission(self.gate, query.uri, self.settings.total_timeout / 2),
        )

    async def _complete(self, request: Request) -> Outcome:
        if not self._settings_known.is_set():
            # What the editor is about to say may keep the document back.
            try:
                async with asyncio.timeout(MOST_FOR_SETTINGS):
                    await self._settings_known.wait()
            except TimeoutError:
                self._settings_known.set()
            if (off := self._why_off(request.document, by_hand=request.by_hand)) is not None:
                return Skipped(reason=off)
        asked: list[Provider] = []

        async def provider() -> Provider:
            asked.append(await request.provider())
            return asked[-1]

        try:
            outcome = await complete(
                replace(request, provider=provider), self.generations, self.memory
            )
            trouble = self._trouble(request.document.uri, outcome)
            refused = isinstance(trouble, NotAuthorized) and asked
            if not refused or not self.backend.may_be_renewed(asked[-1]):
                return outcome
        except NotAuthorized:
            # The command that prints the token may have a newer one; it is asked once.
            if not asked or not self.backend.may_be_renewed(asked[-1]):
                raise
        self.generations.back_off.forget()
        self.gate.ask_anew()
        return await complete(request, self.generations, self.memory)

    def _patience(self, method: str) -> float:
        """How long to wait for what an instance says about itself: most is for the completion."""
        settings = self.settings
        return (settings.menu_deadline if method == MENU else settings.total_timeout) / 3

    async def _provider(self, patience: float) -> Provider:
        provider = await self.backend.provider(at_most=patience)
        await self.loading.wait(provider, self.settings.first_event_timeout)
        if self.backend.is_local and self.settings.provider is None:
            await asyncio.to_thread(self._introduce, provider)
        return provider

    def _introduce(self, provider: Provider) -> None:
        """Say, once for all, that it is the small model that answers."""
        if not self._introduced and first_time("of-the-local-model"):
            self._say(types.MessageType.Info, SMALL_MODEL.format(model=provider.model))
        self._introduced = True

    def _open_stream(self, request: HttpRequest) -> AsyncGenerator[Event, None]:
        timeouts = Timeouts(
            connect=self.settings.connect_timeout,
            first_event=self.settings.first_event_timeout,
            total=self.settings.total_timeout,
        )
        return self.transport.events(request, timeouts)

    def _open_loading(self, request: HttpRequest, longest: float) -> AsyncGenerator[Event, None]:
        connect = self.settings.connect_timeout
        timeouts = Timeouts(connect=connect, first_event=longest, total=longest)
        return self.transport.events(request, timeouts)

    # ---- what becomes of suggestions

    def did_show(self, report: convert.Report) -> None:
        """A suggestion is on the screen, which is no reason to ask for more."""
        logger.debug("shown: %s", report.identity)

    def did_accept_part(self, report: convert.Report) -> None:
        """The beginning of a suggestion was accepted, or the last of it."""
        if report.identity is None or (shown := self.suggestions.get(report.identity)) is None:
            return
        if shown.is_whole(report.accepted):
            self._accepted(report.identity)
        else:
            logger.info("accepted a part in %s", display_path(shown.uri, self.roots))

    def did_focus(self, uri: str | None) -> None:
        """The user looks at a document, perhaps after changing something elsewhere."""
        self._look_for_changes()

    def _accepted(self, identity: str) -> None:
        if (shown := self.suggestions.accept(identity)) is None:
            return
        logger.info("accepted in %s", display_path(shown.uri, self.roots))
        if (request := self._next(shown)) is None:
            return
        self._end_ahead(shown.uri)
        task = asyncio.create_task(self._ask_ahead(request), name="ahead")
        self._ahead[document_key(shown.uri)] = task

    def _next(self, shown: Shown) -> Request | None:
        """The request that the editor is about to make after an acceptance; `None` for none.

        The document may not show the acceptance yet. Where it shows something else, nobody knows
        what comes next.
        """
        now, uri = self.documents.get(shown.uri), shown.uri
        if now is None or self.documents.is_out_of_step(uri) or self.backend.problem is not None:
            return None
        if self._why_off(now, by_hand=False) is not None:
            return None
        if (then := shown.accepted(now)) is None:
            return None
        document, offset = then
        return Request(
            document=document,
            offset=offset,
            path=display_path(uri, self.roots),
            settings=self.settings,
            provider=partial(self._provider, self._patience(INLINE)),
            current=partial(self.documents.get, uri),
            ahead=True,
            permission=Permission(self.gate, uri, self.settings.total_timeout / 2),
        )

    async def _ask_ahead(self, request: Request) -> None:
        try:
            await complete(request, self.generations, self.memory)
        except CompletionsError as error:
            # Whoever asks for it next is told.
            logger.info("%s", error)

    def _end_ahead(self, uri: str) -> None:
        if (task := self._ahead.pop(document_key(uri), None)) is not None:
            task.cancel()

    async def _end_all_ahead(self) -> None:
        for task in self._ahead.values():
            task.cancel()
        await asyncio.gather(*self._ahead.values(), return_exceptions=True)

    # ---- commands

    def execute_command(self, call: CommandCall) -> dict[str, Any] | None:
        """A suggestion was accepted, or suggestions are switched."""
        suffix = self.settings.command_suffix
        if call.command in (ACCEPTED + suffix, ACCEPTED_IN_COPILOT):
            match call.arguments:
                case [str(identity), *_]:
                    self._accepted(identity)
            return None
        for name, switch in SWITCHES.items():
            if call.command == name + suffix:
                return self._switch(switch, _scope_of(call))
        raise InvalidParams(f"There is no command {call.command[:100]}.")

    def _switch(self, switch: Switch, scope: Scope) -> dict[str, Any]:
        """Switch suggestions on or off; the state after it, for the editor to show."""
        enabled = self.switches.switch(switch, scope, self.settings.languages)
        self._told_why.clear()
        self._end_what_is_off()
        self._tell_status(self._trouble_of_late)
        return {
            "enabled": enabled,
            "everything": self.switches.everything,
            "workspace": self.switches.workspace,
            "languages": self.switches.languages,
        }

    def _why_off(self, document: Document, *, by_hand: bool) -> SkipReason | None:
        """Why nothing is suggested in a document, to this request or at all."""
        path = display_path(document.uri, self.roots)
        inside = not self.roots or scheme_of(document.uri) == "untitled"
        off = self.switches.why_off(
            document.language_id,
            path,
            self.settings.languages,
            in_workspace=inside or len(every_path(document.uri, self.roots)) > 1,
        )
        if off is None and self.settings.trigger is Trigger.MANUAL and not by_hand:
            return SkipReason.BY_HAND_ONLY
        return off

    def _end_what_is_off(self) -> None:
        for document in self.documents.all():
            if (off := self._why_off(document, by_hand=True)) is not None:
                self._end_for(document.uri, off)

    # ---- for clients made for Copilot's server

    def check_status(self, _: object) -> Coroutine[None, None, dict[str, str]]:
        """Whether somebody is signed in."""
        return self._signed_in(signed_in.checked)

    def sign_in(self, _: object) -> Coroutine[None, None, dict[str, str]]:
        """Somebody wants to sign in, which is done elsewhere."""
        return self._signed_in(signed_in.signed_in)

    def sign_out(self, _: object) -> dict[str, str]:
        """Somebody wants to sign out, which is done elsewhere."""
        self._notice_logins()
        return signed_in.signed_out(self.backend.problem)

    async def _signed_in(
        self,
        told: Callable[
            [CompletionsError | None, CredentialOrigin | None, str],
            dict[str, str],
        ],
    ) -> dict[str, str]:
        self._notice_logins()
        problem = self.backend.problem or self._trouble_of_late
        origin = origin_of(self.settings, await asyncio.to_thread(self.logins.all))
        return told(problem, origin, self.backend.name)

    def _tell_status(self, trouble: CompletionsError | None) -> None:
        """How things are, told to clients that have a place to show it."""
        self._trouble_of_late = trouble
        status = signed_in.status(trouble, is_off=not self.switches.everything)
        if self.client.speaks_copilot and status != self._status:
            self._status = status
            self.protocol.notify(signed_in.CHANGED, status)

    # ---- settings

    def did_change_configuration(self, pushed: object) -> Coroutine[None, None, None] | None:
        """Settings changed: ask for them where the editor answers, else take what it sent."""
        self._look_for_changes()
        if self.client.configuration:
            return self._fetch_configuration()
        # What is pushed may be the settings of other servers.
        ours = section(pushed)
        if isinstance(ours, dict) and (not ours.keys().isdisjoint(keys()) or not ours):
            self._editor_settings = ours
            self.configure()
        return None

    def did_change_folders(self, change: convert.FoldersChange) -> None:
        """Folders were added to or removed from the workspace."""
        removed = {document_key(root) for root in change.removed}
        kept = [root for root in self.roots if document_key(root) not in removed]
        self.roots = (*kept, *change.added)
        self.gate.follow(self.settings, self.roots)
        self._look_for_changes()

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
        self._editor_settings = section(answer[0]) if answer else None
        self.configure()

    def _notice_logins(self) -> None:
        """Take over what `lsp-completions login` and `logout` did meanwhile."""
        stamp = self.logins.stamp()
        if stamp == self._logins_seen:
            return
        self._logins_seen = stamp
        self._adopt(self._places.read(self.roots))
        self.try_again()

    def configure(self) -> None:
        """Put the settings in force; what is wrong with them is told once."""
        found = put_in_force(
            [
                *self._read.layers,
                *editor_layers(self._initial_options, self._editor_settings),
                *self._read.project,
            ],
            self._approvals.origins,
            own_file=str(config_file()),
        )
        before = self.settings
        self.settings = found.settings
        if self.settings != before:
            self.try_again()
            self._end_what_is_off()
        self.gate.follow(self.settings, self.roots)
        for problem in found.problems:
            self.notices.problem(str(problem))
        self.transport.use(network_of(self.settings))
        if found.question is not None and self._may_ask:
            self._approvals.consider(found.question)
        if (missing := self.backend.choose(self.settings)) is not None:
            self.notices.problem(missing)
        if self._may_ask and self.settings != before:
            self._tell_status(self.backend.problem)
        if self._settings_known.is_set():
            self.backend.get_ready()
        # Ours alone: libraries write down what they are given.
        logging.getLogger("lsp_completions").setLevel(self.settings.log_level.value.upper())

    def _adopt(self, read: Read) -> None:
        self._read = read
        self._approvals.adopt(read.approved)
        for problem in read.problems:
            self.notices.problem(str(problem))
        self.configure()

    def _look_for_changes(self) -> None:
        """Read the files again that have a say, where one of them has changed."""
        if (self._reading is None or self._reading.done()) and self._places.have_changed(
            self.roots
        ):
            self._reading = asyncio.create_task(self._read_again(), name="settings files")

    async def _read_again(self) -> None:
        self._adopt(await asyncio.to_thread(self._places.read, self.roots))

    async def _end_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _ask(self, question: Question) -> bool | None:
        """Ask the user about a host; `None` where no answer comes."""
        if not self.client.message_actions:
            self.notices.problem(question.refusal)
        message = f"lsp-completions: {question.words}"
        actions = [types.MessageActionItem(title) for title in (SEND, DO_NOT_SEND)]
        asked = types.ShowMessageRequestParams(types.MessageType.Warning, message, actions)
        try:
            answer = await self.window_show_message_request_async(asked)
        except JsonRpcException as error:
            logger.info("The editor cannot ask: %s", error.message)
            return None
        return None if answer is None else answer.title == SEND

    def try_again(self) -> None:
        """Something changed that may have mended what went wrong, such as a setting or a login."""
        self.generations.back_off.forget()
        self.gate.ask_anew()
        self.filters.try_again()
        self.backend.renew_credentials()
        self.notices.changed()
        self._trouble_of_late = None

    # ---- to the user

    def _tell_who_is_missing(self) -> None:
        """Say why nobody answers, unless the user is being asked just that."""
        if (problem := self.backend.problem) is not None and not self._approvals.is_open:
            self.notices.failed(problem)

    def _warn(self, sentence: str) -> None:
        self._say(types.MessageType.Warning, sentence)

    def _say(self, kind: types.MessageType, sentence: str) -> None:
        self.window_show_message(types.ShowMessageParams(kind, f"lsp-completions: {sentence}"))

    def _show_progress(self, sentence: str) -> None:
        """The embedded model starts: show it until it is there."""
        if self.client.work_done_progress:
            self._show_until(self.backend.provider, sentence)

    def _show_loading(self, sentence: str, loading: "asyncio.Task[None]") -> None:
        """Ollama loads its model: show it until it is there, or say it once."""
        if self.client.work_done_progress:
            self._show_until(partial(asyncio.wait, [loading]), sentence)
        elif sentence not in self._said:
            self._said.add(sentence)
            self._say(types.MessageType.Info, f"{sentence}. Suggestions come when it is there.")

    def _show_until(self, ends: Callable[[], Awaitable[object]], sentence: str) -> None:
        task = asyncio.create_task(self._progress(ends, sentence), name="progress")
        self._progressing.add(task)
        task.add_done_callback(self._progressing.discard)

    async def _progress(self, ends: Callable[[], Awaitable[object]], sentence: str) -> None:
        token = f"lsp-completions-{uuid.uuid4()}"
        try:
            await self.work_done_progress.create_async(token)
        except JsonRpcException as error:
            logger.info("The editor shows no progress: %s", error.message)
            return
        self.work_done_progress.begin(token, types.WorkDoneProgressBegin(title=sentence))
        try:
            await ends()
        except CompletionsError:
            pass  # told by the request that waits for it
        finally:
            self.work_done_progress.end(token, types.WorkDoneProgressEnd())

    async def _end_progress(self) -> None:
        for task in self._progressing:
            task.cancel()
        await asyncio.gather(*self._progressing, return_exceptions=True)


PROVIDER_ANSWERED = (SkipReason.EMPTY, SkipReason.NOTHING_NEW, SkipReason.NOT_ATTRIBUTED)
MAY_COME_LATER = (SkipReason.TOO_SLOW, SkipReason.MOVED_ON, SkipReason.UNDECIDED)


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


def _log_outcome(method: str, path: str, outcome: Outcome, began: float) -> None:
    milliseconds = (time.monotonic() - began) * 1000
    what = "suggested" if isinstance(outcome, Suggested) else outcome.reason.value
    if isinstance(outcome, Skipped) and outcome.reason is SkipReason.BACKING_OFF:
        what = outcome.detail
    kind = "inline" if method == INLINE else "menu"
    logger.info("%s %s: %s (%.0f ms)", kind, path, what, milliseconds)
