"""The life of a request, from cursor to edit. Read this first.

`complete` reads top to bottom; each step is a plain function of values in `pipeline/`.
Everything it needs was taken from the session when the editor asked, so nothing here waits
for the world but the model itself.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from lsp_completions.errors import NotAttributed, ProviderError
from lsp_completions.generations import Generation, Generations
from lsp_completions.pipeline import postprocess
from lsp_completions.pipeline.chats import family_for
from lsp_completions.pipeline.context import Windows, context_at
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit, edit_for
from lsp_completions.pipeline.masking import without_secrets
from lsp_completions.pipeline.outcome import Outcome, Skipped, SkipReason, Suggested
from lsp_completions.pipeline.prompt import build_prompt
from lsp_completions.pipeline.rebase import rebased
from lsp_completions.pipeline.stream import Candidate, Collector
from lsp_completions.pipeline.trigger import Mode, mode_for
from lsp_completions.providers.base import Provider
from lsp_completions.settings import Multiline, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The entry selected in the editor's menu: it would replace `[start, cursor)` with `text`."""

    start: int
    text: str


class Permission(Protocol):
    """Whether something of the document may be sent to a provider."""

    async def decided(self, provider: Provider) -> object:
        """Wait, not for long, for what is not known yet."""

    def why_kept_back(self, provider: Provider) -> SkipReason | None:
        """Why nothing may be sent, by what is known now; `None` when it may."""

    def repository(self, provider: Provider) -> str | None:
        """The name of the repository around the document, where the provider is to be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Everything a completion needs, taken at the moment the editor asked.

    `offset` is the cursor's, in code points. `path` is what the model is told. `provider` waits
    where the embedded model has to start first. `deadline` is in seconds and for all of it; `None`
    leaves it to the provider's own. `current` gives the document as it is by then;
    `follow_typing` asks for the edit in that document, and not in the one asked about. `by_hand`
    means that a person wants it now, whatever went wrong before. Without a `permission` whoever
    asks knows that the document may be sent.
    """

    document: Document
    offset: int
    path: str
    settings: Settings
    provider: Callable[[], Awaitable[Provider]]
    current: Callable[[], Document | None]
    selection: Selection | None = None
    deadline: float | None = None
    follow_typing: bool = True
    by_hand: bool = False
    permission: Permission | None = None


async def complete(request: Request, generations: Generations) -> Outcome:
    """What to show at the cursor. Raises `ProviderError` where the provider failed."""
    settings = request.settings
    document, offset = request.document, request.offset
    ends = None if request.deadline is None else _now() + request.deadline

    # An entry selected in the menu is completed as if it had been accepted already.
    if (selection := request.selection) is not None:
        if not selection.text.startswith(document.slice(selection.start, offset)):
            return Skipped(reason=SkipReason.SELECTION_DIFFERS)
        document = document.replaced(
            document.place_at(selection.start),
            document.place_at(offset),
            selection.text,
            document.version,
        )
        offset = selection.start + len(selection.text)

    # The embedded model may have to start first.
    try:
        async with asyncio.timeout_at(ends):
            provider = generations.whom(await request.provider())
            rest = await generations.back_off.rest(provider.host, by_hand=request.by_hand)
    except TimeoutError:
        return Skipped(reason=SkipReason.TOO_SLOW)

    repository = None
    # Not everything may be sent to everybody, and who decides that may have to be asked first.
    if (permission := request.permission) is not None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(ends):
                await permission.decided(provider)
        if (reason := permission.why_kept_back(provider)) is not None:
            return Skipped(reason=reason)
        repository = permission.repository(provider)

    # Who said no lately is not asked again at every key.
    if rest is not None:
        return Skipped(reason=SkipReason.BACKING_OFF, detail=rest)

    limits = provider.limits.overridden(settings)
    context = context_at(
        document,
        offset,
        path=request.path,
        windows=Windows(prefix_chars=limits.prefix_chars, suffix_chars=limits.suffix_chars),
    )
    multiline = settings.multiline
    if multiline is Multiline.AUTO and not limits.multiline:
        multiline = Multiline.NEVER
    mode = mode_for(context, multiline)
    prompt = build_prompt(
        without_secrets(context),
        (),
        family=family_for(provider.prompts_for, chats=provider.chats),
        repository=settings.repository or repository,
        budget_chars=limits.prefix_chars + limits.suffix_chars + limits.excerpt_chars,
        single_line=mode is Mode.LINE,
    )

    # The rules may have changed while something was waited for.
    if permission is not None and (reason := permission.why_kept_back(provider)) is not None:
        return Skipped(reason=reason)
    generation = generations.start(provider, prompt, max_tokens=limits.max_tokens)
    collector = Collector(context, mode, markers=prompt.special_tokens, reply=prompt.reply)
    try:
        candidate = await first_good(generation, collector, ends, early=provider.shows_early)
    except TimeoutError:
        return Skipped(reason=SkipReason.TOO_SLOW)
    except NotAttributed:
        return Skipped(reason=SkipReason.NOT_ATTRIBUTED)
    finally:
        generation.close()
    if candidate is None:
        return Skipped(reason=SkipReason.EMPTY)

    text = postprocess.finish(candidate.text, context, mode)
    edit = edit_for(text, context) if text else None
    if edit is None:
        return Skipped(reason=SkipReason.NOTHING_NEW)

    if selection is not None:
        edit = including(selection, edit, cursor=request.offset)

    now = request.current()
    if now is None or (fresh := rebased(edit, request.document, request.offset, now)) is None:
        return Skipped(reason=SkipReason.MOVED_ON)
    if not request.follow_typing:
        return Suggested(document=request.document, edits=(edit,), complete=candidate.complete)
    return Suggested(document=now, edits=(fresh,), complete=candidate.complete)


async def first_good(
    generation: Generation, collector: Collector, ends: float | None, *, early: bool = True
) -> Candidate | None:
    """The first candidate good enough to show; when time is up, or at a failure, the best so far.

    `ends` is a time of the event loop. With nothing to show for it, the failure or `TimeoutError`
    is raised. Where nothing may be shown `early`, only a stream that has ended well counts.
    """
    index = 0
    good: Candidate | None = None
    try:
        async with asyncio.timeout_at(ends):
            while (chunk := await generation.chunk(index)) is not None:
                index += 1
                good = good or collector.feed(chunk)
                if good is not None and early:
                    return good
    except NotAttributed:
        raise
    except (TimeoutError, ProviderError):
        if early and (candidate := collector.end(cut_off=True)) is not None:
            return candidate
        raise
    return good or collector.end()


def including(selection: Selection, edit: Edit, cursor: int) -> Edit:
    """The edit made after the selected entry, as one edit that holds the entry as well."""
    beyond = edit.end - (selection.start + len(selection.text))
    return Edit(start=selection.start, end=cursor + beyond, new_text=selection.text + edit.new_text)


def at_hand(provider: Provider) -> Callable[[], Awaitable[Provider]]:
    """A provider that need not be waited for."""

    async def ready() -> Provider:
        return provider

    return ready


def _now() -> float:
    return asyncio.get_running_loop().time()
