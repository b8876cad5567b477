"""The life of a request, from cursor to edit. Read this first.

`complete` reads top to bottom; each step is a plain function of values in `pipeline/`.
Everything it needs was taken from the session when the editor asked, so nothing here waits
for the world but the model itself.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from lsp_completions.back_off import BackOff
from lsp_completions.cache import Diverged, Key, Memory, Piece, Place, Suggestion, known, rest_of
from lsp_completions.errors import CompletionsError
from lsp_completions.generations import Generation, Generations, MadeRoom
from lsp_completions.pipeline.anchor import Typed, anchor_at, around, typed_around
from lsp_completions.pipeline.asking import why_not_ask
from lsp_completions.pipeline.chats import family_for
from lsp_completions.pipeline.context import CursorContext, Windows, context_at
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.masking import without_secrets
from lsp_completions.pipeline.outcome import Outcome, Skipped, SkipReason, Suggested
from lsp_completions.pipeline.prompt import build_prompt
from lsp_completions.pipeline.rebase import cursor_after_typing, rebased, told_before
from lsp_completions.pipeline.trigger import Mode, mode_for
from lsp_completions.pipeline.uris import document_key
from lsp_completions.providers.base import Provider, livelier
from lsp_completions.settings import Multiline, Settings

ENOUGH_AFTER = 3.5  # seconds; whole lines are shown by then, however much is still to come
MOST_ATTEMPTS = 4  # more streams than that are not begun for one request
KEYS_BEFORE_ASKING = 2  # typed while a stream is silent, before another is asked
USUAL_WAIT = 0.7  # seconds until the first words, where no stream has told yet
OVERDUE = 1.5  # times the usual wait; half of all streams take longer than that one itself
SLOW = 1.0  # seconds
PAUSE_OF_A_SLOW_ONE = 0.3  # seconds; nearly all keys of a word come sooner
LOCAL_DELAY = 0.15  # seconds; each request takes all of the machine
OTHERS = 2


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
    asks knows that the document may be sent. One `ahead` was asked for by nobody yet: a model is
    asked once, and only where that costs little and nothing went wrong before.
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
    ahead: bool = False
    permission: Permission | None = None


async def complete(
    request: Request, generations: Generations, memory: Memory | None = None
) -> Outcome:
    """What to show at the cursor. Raises `ProviderError` where the provider failed.

    Without a `memory` nothing is remembered.
    """
    memory = memory or Memory()
    settings = request.settings
    document, offset = request.document, request.offset
    began = _now()
    ends = None if request.deadline is None else began + request.deadline

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

    limits = provider.limits.overridden(settings)
    multiline = settings.multiline
    if multiline is Multiline.AUTO and not limits.multiline:
        multiline = Multiline.NEVER

    def place_at(document: Document, offset: int) -> Place:
        context = context_at(
            document,
            offset,
            path=request.path,
            windows=Windows(prefix_chars=limits.prefix_chars, suffix_chars=limits.suffix_chars),
        )
        key = Key(
            document=document_key(document.uri),
            language_id=document.language_id,
            provider=provider,
            settings=settings,
        )
        return Place(key=key, document=document, context=context, mode=mode_for(context, multiline))

    place = place_at(document, offset)

    def ask(whom: Provider = provider) -> Piece:
        prompt = build_prompt(
            without_secrets(place.context),
            (),
            family=family_for(whom.prompts_for, chats=whom.chats),
            repository=settings.repository or repository,
            budget_chars=limits.prefix_chars + limits.suffix_chars + limits.excerpt_chars,
            single_line=place.mode is Mode.LINE,
        )
        generation = generations.start(
            whom, prompt, place.context, max_tokens=limits.max_tokens, document=place.key.document
        )
        return Piece(place=place, generation=generation)

    def ask_beside() -> Piece | None:
        """Ask once more while a stream is silent, where all that allowed the first still holds."""
        kept = permission is not None and permission.why_kept_back(provider) is not None
        if kept or request.current() is None or not generations.back_off.is_well(provider.host):
            return None
        return memory.add(ask())

    # What is typed now usually fits what a model has said, or is about to say.
    silent: Generation | None = None
    for _ in range(MOST_ATTEMPTS):
        try:
            pieces = fitting(place, memory, but=silent)
            if not pieces:
                if not request.by_hand:
                    refusal = why_not_ask(
                        place.context,
                        in_comments=settings.in_comments,
                        in_strings=settings.in_strings,
                    )
                    if refusal is not None:
                        return Skipped(reason=refusal)
                if request.ahead and not may_ask_ahead(provider, generations.back_off):
                    return Skipped(reason=SkipReason.NOT_AHEAD)
                if not request.by_hand and not request.ahead:
                    usual_wait = generations.usual_wait(provider)
                    async with asyncio.timeout_at(ends):
                        await asyncio.sleep(
                            pause_before(place.context, provider, settings, usual_wait)
                        )
                # Who said no lately is not asked again at every key.
                async with asyncio.timeout_at(ends):
                    rest = await generations.back_off.rest(provider.host, by_hand=request.by_hand)
                if rest is not None:
                    return Skipped(reason=SkipReason.BACKING_OFF, detail=rest)
                if request.current() is None:
                    return Skipped(reason=SkipReason.MOVED_ON)
                # The rules may have changed while something was waited for.
                if permission is not None and (kept := permission.why_kept_back(provider)):
                    return Skipped(reason=kept)
                # The other method may have asked meanwhile.
                pieces = fitting(place, memory, but=silent) or [memory.add(ask())]
            alone = provider.finishes_reading or request.ahead
            piece, suggestion, typed = await first_known(
                pieces,
                place,
                ask_again=None if alone else ask_beside,
                patience=OVERDUE * (generations.usual_wait(provider) or USUAL_WAIT),
                enough_at=began + ENOUGH_AFTER,
                ends=ends,
            )
            # Accepted while it was not known whether there is more of it.
            used_up = suggestion.text != "" and typed.text.startswith(suggestion.text)
            if not used_up and (suggestion.text or not piece.led):
                further = typed_on(request, place, seeing=rest_of(suggestion, typed, place))
                if further is None:
                    break
                memory.changed(place.key.document, further[0])
                place = place_at(*further)
            elif not used_up:
                # Of what follows an accepted suggestion no model was asked at this place.
                memory.drop(piece)
                silent = piece.generation
        except Diverged:
            now = request.current()
            if now is not None and not request.ahead:
                memory.changed(place.key.document, now)
            if (further := typed_on(request, place)) is not None:
                place = place_at(*further)
            # Asked the same once more a model would say the same once more.
            elif now is None or request.ahead or not is_as_asked(request, now):
                return Skipped(reason=SkipReason.MOVED_ON)
        except MadeRoom:
            return Skipped(reason=SkipReason.MOVED_ON)
        except TimeoutError:
            return Skipped(reason=SkipReason.TOO_SLOW)
    else:
        return Skipped(reason=SkipReason.MOVED_ON)
    if request.ahead:
        return Skipped(reason=SkipReason.NOT_AHEAD)

    # Asked by hand where something is shown already: what else could it be?
    cycles = request.by_hand and request.follow_typing and piece.shown and not typed.text
    refused = permission is not None and permission.why_kept_back(provider) is not None
    if cycles and not piece.others and not refused and request.current() is not None:
        how_many = 1 if provider.finishes_reading else OTHERS
        piece.others = await others(
            piece,
            [ask(livelier(provider)) for _ in range(how_many)],
            enough_at=_now() + ENOUGH_AFTER,
        )
    # A menu's entry may never have been looked at.
    piece.shown |= request.follow_typing
    # A menu has its own ways to choose, and other sources beside us.
    suggestions = (suggestion, *(piece.others if request.follow_typing else ()))
    edits = [edit for each in suggestions if (edit := rest_of(each, typed, place)) is not None]
    if not edits:
        return Skipped(reason=suggestion.nothing or SkipReason.NOTHING_NEW)

    if selection is not None:
        edits = [including(selection, edit, cursor=request.offset) for edit in edits]

    now = request.current()
    if not request.follow_typing:
        if now is None or rebased(edits[0], place.document, place.cursor, now) is None:
            return Skipped(reason=SkipReason.MOVED_ON)
        if place.document is not request.document:
            edits = [
                told_before(edit, place.document, request.offset, place.cursor) for edit in edits
            ]
        return Suggested(
            document=request.document, edits=tuple(edits), complete=suggestion.complete
        )
    fresh = [
        edit
        for each in edits
        if now is not None
        and (edit := rebased(each, request.document, request.offset, now)) is not None
    ]
    if now is None or not fresh:
        return Skipped(reason=SkipReason.MOVED_ON)
    return Suggested(document=now, edits=tuple(fresh), complete=suggestion.complete)


def is_as_asked(request: Request, now: Document) -> bool:
    """Whether nothing happened around the cursor since a request was made."""
    if now is request.document:
        return True
    anchor = anchor_at(request.document, request.offset)
    return any(not typed.text for typed in typed_around(anchor, now.length, partial(around, now)))


def fitting(place: Place, memory: Memory, *, but: Generation | None) -> list[Piece]:
    """What a model says there, but for one that has no more to say after what was accepted."""
    return [each for each in memory.fitting(place) if not each.led or each.generation is not but]


def typed_on(
    request: Request, place: Place, *, seeing: Edit | None = None
) -> tuple[Document, int] | None:
    """Where the user is by now, who typed on in the line while a menu was asked for.

    `None` where something else happened, or that fits what would be shown.
    Helix asks for no other menu meanwhile: what was typed is completed, or nothing is.
    """
    now = request.current()
    if request.follow_typing or request.ahead or request.selection is not None or now is None:
        return None
    if seeing is not None and rebased(seeing, place.document, place.cursor, now) is not None:
        return None
    cursor = cursor_after_typing(request.document, request.offset, now)
    if cursor is None or now is place.document:
        return None
    return now, cursor


async def first_known(
    pieces: Sequence[Piece],
    place: Place,
    *,
    ask_again: Callable[[], Piece | None] | None,
    patience: float,
    enough_at: float,
    ends: float | None,
) -> tuple[Piece, Suggestion, Typed]:
    """The first of the pieces to be known that fits what was typed, and what that was.

    Where nothing was said although more was typed, and `patience` seconds are over, another stream
    is asked beside it: its prompt knows what was typed. Raises `Diverged` where none
    fits any more, what ended the last of them early, or `TimeoutError`.
    """
    for piece in pieces:
        if piece.suggestion is not None and (typed := piece.typed(place.here)) is not None:
            return piece, piece.suggestion, typed
    failure: Exception = Diverged()
    tasks: dict[asyncio.Task[Suggestion], tuple[Piece, Typed]] = {}

    def begin(piece: Piece) -> None:
        if (typed := piece.typed(place.here)) is not None:
            telling = known(piece, typed.text, enough_at=enough_at, ends=ends)
            tasks[asyncio.create_task(telling, name="suggestion")] = piece, typed

    for piece in pieces:
        begin(piece)
    again_at = None
    if ask_again is not None and len(tasks) == 1:
        ((piece, typed),) = tasks.values()
        if not piece.said and piece.suggestion is None and len(typed.text) >= KEYS_BEFORE_ASKING:
            again_at = piece.generation.began + patience
    try:
        while tasks:
            left = None if again_at is None else max(0, again_at - _now())
            done, _ = await asyncio.wait(tasks, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if not done and again_at is not None and ask_again is not None:
                again_at = None
                if not any(piece.said for piece, _ in tasks.values()):
                    another = ask_again()
                    if another is not None:
                        begin(another)
            for task in done:
                piece, typed = tasks.pop(task)
                try:
                    return piece, task.result(), typed
                except (Diverged, TimeoutError, CompletionsError) as error:
                    failure = error if isinstance(failure, Diverged) else failure
        raise failure
    finally:
        for task in tasks:
            task.cancel()


async def others(
    piece: Piece, asked: Sequence[Piece], *, enough_at: float
) -> tuple[Suggestion, ...]:
    """What else a model says at the place of a piece, each once."""
    told = await asyncio.gather(
        *[known(each, "", enough_at=enough_at) for each in asked], return_exceptions=True
    )
    distinct = dict.fromkeys(
        each for each in told if isinstance(each, Suggestion) and each.text.strip()
    )
    shown = piece.suggestion.text if piece.suggestion is not None else ""
    return tuple(each for each in distinct if each.text != shown)


def may_ask_ahead(provider: Provider, back_off: BackOff) -> bool:
    """Whether a request that may turn out to be for nothing is all right."""
    # On this machine it would take the place of one that somebody waits for.
    return not provider.finishes_reading and back_off.is_well(provider.host)


def pause_before(
    context: CursorContext, provider: Provider, settings: Settings, usual_wait: float | None
) -> float:
    """How many seconds to wait for another key before a model is asked while the user types."""
    pause = settings.delay
    if pause is None:
        pause = LOCAL_DELAY if provider.finishes_reading else 0.0
    # A slow model cannot keep up with each key; it is asked where people stop to think.
    if usual_wait is not None and usual_wait > SLOW and context.line_prefix.strip():
        pause = max(pause, PAUSE_OF_A_SLOW_ONE)
    return pause


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
