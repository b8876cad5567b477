"""All that stands between a question and its outcome, wired: what is open, who may be asked, how.

It knows editors no more than that somebody asks at a place in a document.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from functools import partial

from lsp_completions.backend import Backend
from lsp_completions.cache import Memory
from lsp_completions.completer import complete
from lsp_completions.configuration.following import Following
from lsp_completions.errors import CompletionsError, NotAuthorized
from lsp_completions.explanation import Now
from lsp_completions.generations import Generations
from lsp_completions.grammars import Grammars
from lsp_completions.messages import Messages
from lsp_completions.model_loading import ModelLoading
from lsp_completions.neighbours import Neighbours
from lsp_completions.notices import Notices
from lsp_completions.once import first_time
from lsp_completions.pipeline.asking import NEAR, why_not_ask
from lsp_completions.pipeline.balance import stack_before_line, statement_width
from lsp_completions.pipeline.chains import habits_of
from lsp_completions.pipeline.context import context_at
from lsp_completions.pipeline.document import Document, Position
from lsp_completions.pipeline.grammar import tree_of
from lsp_completions.pipeline.masking import without_secrets
from lsp_completions.pipeline.outcome import Outcome, Skipped, SkipReason
from lsp_completions.pipeline.positions import PositionEncoding
from lsp_completions.pipeline.syntax import head_of, is_unfinished, kind_at
from lsp_completions.pipeline.uris import display_path, document_key, every_path, scheme_of
from lsp_completions.providers.base import Event, HttpRequest, Provider
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.request import Request, Selection
from lsp_completions.session import Documents
from lsp_completions.settings import Trigger
from lsp_completions.sharing.context_filters import ContextFilters
from lsp_completions.sharing.gate import Gate, Permission
from lsp_completions.site import Sites
from lsp_completions.switches import Switches
from lsp_completions.trail import Trail
from lsp_completions.transport import Timeouts, Transport
from lsp_completions.transport.network import network_of

# Short: the next key may wipe it away.
SMALL_MODEL = (
    "The small model answers. For a better one run `lsp-completions login` or set `provider`."
)

# Of functions whose arguments or results hold texts, be they of documents that are closed.
CACHES = (
    habits_of,
    tree_of,
    head_of,
    is_unfinished,
    kind_at,
    without_secrets,
    stack_before_line,
    statement_width,
)


class Service:
    """Answers requests by the settings that are followed.

    `ended` is told when nothing is shown for a document any more, and why.
    """

    def __init__(
        self,
        following: Following,
        messages: Messages,
        notices: Notices,
        *,
        ended: Callable[[str, SkipReason], None],
        transport: Transport | None = None,
    ) -> None:
        self.documents = Documents()
        self.switches = Switches()
        self.memory = Memory()
        self.grammars = Grammars()
        self._following = following
        self._messages = messages
        self._notices = notices
        self._ended = ended
        self._introduced = False

        self.transport = transport or Transport(report=notices.problem, spares=True)
        self.sites = Sites(self.transport.events)
        self.filters = ContextFilters(self.transport.events, version=self._version)
        self.gate = Gate(self.filters, kept_back=self._keep_back)
        self.neighbours = Neighbours(self.gate, lambda: following.roots)
        self.backend = Backend(
            self._show_start,
            sites=self.sites,
            tell=notices.problem,
            also_ask=self.filters.begin,
        )
        self.generations = Generations(self._open_stream, replaced=self.backend.replaced)
        self.loading = ModelLoading(self._open_loading, messages.show_loading)

    @property
    def closings(self) -> tuple[Callable[[], Awaitable[object]], ...]:
        """What ends all that runs: each by itself, in any order."""
        return (
            self.loading.aclose,
            self.grammars.aclose,
            self.generations.aclose,
            self.neighbours.aclose,
            self.gate.aclose,
            self.filters.aclose,
            self.sites.aclose,
            self.transport.aclose,
            self.backend.aclose,
        )

    def rest(self) -> None:
        """Nothing happens: give up what the next request makes anew, such as trees of texts."""
        for each in CACHES:
            each.cache_clear()

    # ---- the settings

    def follow(self, *, changed: bool) -> None:
        """Act on the settings in force. `changed` says that they are not those of before."""
        settings = self._following.settings
        if changed:
            self.try_again()
            self.end_what_is_off()
        self.gate.follow(settings, self._following.roots)
        self.neighbours.follow(settings)
        self.transport.use(network_of(settings))
        missing = self.backend.choose(settings)
        if self._following.is_known:
            if missing is not None:
                self._notices.problem(str(missing))
            self.backend.get_ready()

    def try_again(self) -> None:
        """Something changed that may have mended what went wrong, such as a setting or a login."""
        self.generations.back_off.forget()
        self.gate.ask_anew()
        self.filters.try_again()
        self.backend.renew_credentials()
        self._notices.changed()

    async def get_ready(self) -> None:
        """Do what the first request would wait for."""
        # What speaks HTTP takes longer to import than an answer may take.
        await self.transport.prepared()
        self.backend.get_ready()
        self.loading.begin(self.backend.at_hand)

    # ---- documents

    def document_changed(self, uri: str) -> None:
        """A document has another text than before."""
        if (document := self.documents.get(uri)) is not None:
            self.memory.changed(document_key(uri), document)

    def end_for(self, uri: str, reason: SkipReason = SkipReason.MOVED_ON) -> None:
        """Nothing is shown for a document any more, nor asked."""
        self._ended(uri, reason)
        self.memory.forget(document_key(uri))
        self.generations.forget(document_key(uri))

    def _keep_back(self, uri: str, reason: SkipReason) -> None:
        """A document may not be sent any more, nor code of it beside another one."""
        self.end_for(uri, reason)
        self.generations.keep_back(document_key(uri))

    def end_what_is_off(self) -> None:
        """End what was begun where suggestions have been switched off since."""
        for document in self.documents.all():
            if (off := self._why_off(document, by_hand=True)) is not None:
                self.end_for(document.uri, off)

    # ---- requests

    def why_not(self, uri: str, *, by_hand: bool) -> SkipReason | None:
        """Why nothing can come for a document, as far as is known at once."""
        document = self.documents.get(uri)
        if document is None:
            return SkipReason.UNKNOWN_DOCUMENT
        if by_hand:
            self.gate.retry(uri)
        reason = self.gate.why_kept_back(uri)
        if reason is not None and reason is not SkipReason.UNDECIDED:
            return reason
        if (off := self._why_off(document, by_hand=by_hand)) is not None:
            return off
        if self.documents.is_out_of_step(uri):
            return SkipReason.DOCUMENT_OUT_OF_STEP
        return SkipReason.NO_PROVIDER if self.backend.problem is not None else None

    def why_not_in_general(self, uri: str | None) -> SkipReason | None:
        """Why nothing can come: for a document, or for none in particular where it is not open."""
        if uri is None or self.documents.get(uri) is None:
            return None if self.switches.everything else SkipReason.SWITCHED_OFF
        return self.why_not(uri, by_hand=False)

    def why_not_at(self, uri: str, position: Position, encoding: PositionEncoding) -> Now:
        """What keeps suggestions from a place at this moment, for who does not ask by hand."""
        reason = self.why_not(uri, by_hand=False)
        document = self.documents.get(uri)
        if reason is SkipReason.NO_PROVIDER and self.backend.problem is not None:
            return Now(reason=reason, detail=str(self.backend.problem))
        if reason is not None or document is None:
            return Now(reason=reason)
        settings = self._following.settings
        context = context_at(
            document,
            document.offset_of(position, encoding),
            path=display_path(uri, self._following.roots),
            windows=NEAR,
            grammar=self.grammars.of(document),
        )
        refusal = why_not_ask(
            context, in_comments=settings.in_comments, in_strings=settings.in_strings
        )
        if refusal is not None:
            return Now(reason=refusal)
        provider = self.backend.at_hand
        left = None if provider is None else self.generations.back_off.left(provider.host)
        return Now() if left is None else Now(reason=SkipReason.BACKING_OFF, detail=left)

    def request(
        self,
        document: Document,
        offset: int,
        *,
        selection: Selection | None = None,
        deadline: float | None = None,
        follow_typing: bool = True,
        by_hand: bool = False,
        ahead: bool = False,
        trail: Trail | None = None,
    ) -> Request:
        """What `complete` needs. For the parameters see `Request`."""
        settings, uri = self._following.settings, document.uri
        # How long to wait for what an instance says about itself: most is for the completion.
        patience = (settings.total_timeout if follow_typing else settings.menu_deadline) / 3
        return Request(
            document=document,
            offset=offset,
            path=display_path(uri, self._following.roots),
            settings=settings,
            provider=partial(self._provider, patience),
            current=partial(self.documents.get, uri),
            selection=selection,
            deadline=deadline,
            # An instance is asked about itself and its rules; a model may take its time to load.
            in_all=settings.total_timeout if self.backend.is_instance else None,
            follow_typing=follow_typing,
            by_hand=by_hand,
            ahead=ahead,
            permission=Permission(self.gate, uri, settings.total_timeout / 2),
            elsewhere=self.neighbours,
            grammar=self.grammars.of(document),
            trail=Trail() if trail is None else trail,
        )

    async def complete(self, request: Request) -> Outcome:
        """The outcome of a request. Raises `CompletionsError` where the provider failed."""
        if not self._following.is_known:
            # What the editor is about to say may keep the document back.
            await self._following.known()
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
            trouble = self.trouble(request.document.uri, outcome)
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

    async def complete_ahead(self, request: Request) -> None:
        """Have it in memory by the time that somebody asks."""
        await complete(request, self.generations, self.memory)

    def came_late(self) -> None:
        """An answer took too long: perhaps the model has to be loaded again."""
        self.loading.again(self.backend.at_hand)

    def trouble(self, uri: str, outcome: Outcome) -> CompletionsError | None:
        """What keeps the instance's rules from being known, where that is why nothing came."""
        if isinstance(outcome, Skipped) and outcome.reason is SkipReason.CONTEXT_FILTERS_UNKNOWN:
            return self.gate.trouble(uri)
        return None

    def _why_off(self, document: Document, *, by_hand: bool) -> SkipReason | None:
        """Why nothing is suggested in a document, to this request or at all."""
        settings, roots = self._following.settings, self._following.roots
        inside = not roots or scheme_of(document.uri) == "untitled"
        off = self.switches.why_off(
            document.language_id,
            display_path(document.uri, roots),
            settings.languages,
            in_workspace=inside or len(every_path(document.uri, roots)) > 1,
        )
        if off is None and settings.trigger is Trigger.MANUAL and not by_hand:
            return SkipReason.BY_HAND_ONLY
        return off

    # ---- who is asked, and how

    async def _provider(self, patience: float) -> Provider:
        settings = self._following.settings
        provider = await self.backend.provider(at_most=patience)
        await self.loading.wait(provider, settings.first_event_timeout)
        if self.backend.is_local and settings.provider is None:
            await asyncio.to_thread(self._introduce, provider)
        return provider

    def _introduce(self, provider: Provider) -> None:
        """Say, once for all, that it is the small model that answers."""
        if not self._introduced and first_time("of-the-local-model"):
            self._messages.inform(SMALL_MODEL)
        self._introduced = True

    def _show_start(self, sentence: str) -> None:
        """The embedded model starts: show it until it is there."""
        self._messages.show_until(self.backend.provider, sentence)

    def _open_stream(self, request: HttpRequest) -> AsyncGenerator[Event, None]:
        settings = self._following.settings
        timeouts = Timeouts(
            connect=settings.connect_timeout,
            first_event=settings.first_event_timeout,
            total=settings.total_timeout,
        )
        return self.transport.events(request, timeouts)

    def _open_loading(self, request: HttpRequest, longest: float) -> AsyncGenerator[Event, None]:
        connect = self._following.settings.connect_timeout
        timeouts = Timeouts(connect=connect, first_event=longest, total=longest)
        return self.transport.events(request, timeouts)

    async def _version(self, instance: Sourcegraph) -> str | None:
        return (await self.sites.site(instance)).version
