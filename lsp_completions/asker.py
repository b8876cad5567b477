"""What a model says at a place: remembered, from a stream that runs already, or asked for now.

What is typed now usually fits what a model has said, or is about to say. Only where nothing does
is one asked, and all that speaks against it stands in `Asker._why_not`.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from lsp_completions.back_off import BackOff
from lsp_completions.cache import Diverged, Key, Memory, Piece, Place, Suggestion, known, rest_of
from lsp_completions.errors import CompletionsError
from lsp_completions.generations import Generation, Generations, MadeRoom
from lsp_completions.pipeline.anchor import Typed, anchor_at, around, typed_around
from lsp_completions.pipeline.asking import why_not_ask
from lsp_completions.pipeline.candidates import MOST, ranked
from lsp_completions.pipeline.chats import family_for
from lsp_completions.pipeline.context import CursorContext, Windows, context_at
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.masking import without_secrets
from lsp_completions.pipeline.outcome import Skipped, SkipReason
from lsp_completions.pipeline.prompt import Excerpt, build_prompt
from lsp_completions.pipeline.rebase import cursor_after_typing, rebased
from lsp_completions.pipeline.trigger import Mode, mode_for
from lsp_completions.pipeline.uris import document_key
from lsp_completions.providers.base import Provider, livelier
from lsp_completions.request import ExcerptQuery, Request
from lsp_completions.settings import Multiline, Settings
from lsp_completions.trail import How

ENOUGH_AFTER = 3.5  # seconds; whole lines are shown by then, however much is still to come
MOST_ATTEMPTS = 4  # more streams than that are not begun for one request
KEYS_BEFORE_ASKING = 2  # typed while a stream is silent, before another is asked
OVERDUE = 1.5  # times the usual wait; half of all streams take longer than that one itself
SLOW = 1.0  # seconds
SPEECHLESS = 2  # answers without a word, in a row
THOUGHT = 0.3  # seconds; nearly all keys of a word come sooner
LOCAL_DELAY = 0.15  # seconds; each request takes all of the machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A suggestion, and what of it was typed already at the place it is for."""

    place: Place
    piece: Piece
    suggestion: Suggestion
    typed: Typed

    def edit(self, suggestion: Suggestion) -> Edit | None:
        """What is left of a suggestion for this place; `None` where nothing is."""
        return rest_of(suggestion, self.typed, self.place)


class Asker:
    """Finds the suggestion for one request.

    `repository` is what the model is told of it. `began` and `ends` are times of the event loop.
    """

    def __init__(
        self,
        request: Request,
        provider: Provider,
        generations: Generations,
        memory: Memory,
        *,
        repository: str | None,
        began: float,
        ends: float | None,
    ) -> None:
        self._request = request
        self._settings = request.settings
        self._provider = provider
        self._generations = generations
        self._memory = memory
        self._repository = repository
        self._began = began
        self._ends = ends
        self._limits = provider.limits.overridden(request.settings)

    async def find(self, document: Document, offset: int) -> Found | Skipped:
        """What to suggest at `offset`, or why nothing. Raises what ended a stream early."""
        request, memory = self._request, self._memory
        place = self._place(document, offset)
        silent: Generation | None = None
        for _ in range(MOST_ATTEMPTS):
            try:
                pieces, asked = fitting(place, memory, but=silent), False
                if not pieces:
                    if (reason := await self._why_not(place)) is not None:
                        return reason
                    # The other method may have asked meanwhile.
                    pieces = fitting(place, memory, but=silent)
                    if asked := not pieces:
                        pieces = [memory.add(self._ask(place))]
                self._note(pieces[0], asked=asked)
                found = await self._first_known(pieces, place)
                if found.piece not in pieces:
                    self._note(found.piece, asked=True)
                suggestion, typed = found.suggestion, found.typed
                # Accepted while it was not known whether there is more of it.
                used_up = suggestion.text != "" and typed.text.startswith(suggestion.text)
                if not used_up and (suggestion.text or not found.piece.led):
                    further = typed_on(request, place, seeing=found.edit(suggestion))
                    if further is None:
                        return found
                    memory.changed(place.key.document, further[0])
                    place = self._place(*further)
                elif not used_up:
                    # Of what follows an accepted suggestion no model was asked at this place.
                    memory.drop(found.piece)
                    silent = found.piece.generation
            except Diverged:
                now = request.current()
                if now is not None and not request.ahead:
                    memory.changed(place.key.document, now)
                if (further := typed_on(request, place)) is not None:
                    place = self._place(*further)
                # Asked the same once more a model would say the same once more.
                elif now is None or request.ahead or not is_as_asked(request, now):
                    return Skipped(reason=SkipReason.MOVED_ON)
            except MadeRoom:
                return Skipped(reason=SkipReason.MOVED_ON)
            except TimeoutError:
                return Skipped(reason=SkipReason.TOO_SLOW)
        return Skipped(reason=SkipReason.MOVED_ON)

    async def others(self, found: Found) -> tuple[Suggestion, ...]:
        """What else a model says at the place, best first; nothing where it may not be asked."""
        if self._is_refused():
            return ()
        how_many = 1 if self._provider.finishes_reading else MOST - 1
        asked = [self._ask(found.place, livelier(self._provider)) for _ in range(how_many)]
        enough_at = _now() + ENOUGH_AFTER
        told = await asyncio.gather(
            *[known(each, "", enough_at=enough_at) for each in asked], return_exceptions=True
        )
        others = [each for each in told if isinstance(each, Suggestion)]
        return tuple(ranked(found.suggestion, others, found.place.context))

    async def _why_not(self, place: Place) -> Skipped | None:
        """Why no model is asked; waits first where that may spare the request."""
        request, settings, provider = self._request, self._settings, self._provider
        back_off = self._generations.back_off
        if not request.by_hand:
            refusal = why_not_ask(
                place.context, in_comments=settings.in_comments, in_strings=settings.in_strings
            )
            if refusal is not None:
                return Skipped(reason=refusal)
        if request.ahead and not may_ask_ahead(provider, back_off):
            return Skipped(reason=SkipReason.NOT_AHEAD)
        async with asyncio.timeout_at(self._ends):
            if not request.by_hand and not request.ahead:
                pause = pause_before(
                    place.context,
                    provider,
                    settings,
                    usual_wait=self._generations.usual_wait(provider),
                    said_nothing=self._generations.said_nothing(place.key.document),
                )
                await asyncio.sleep(pause)
            if request.elsewhere is not None:
                await request.elsewhere.decided(self._excerpt_query(place))
            # Who said no lately is not asked again at every key.
            rest = await back_off.rest(provider.host, by_hand=request.by_hand)
            permission = request.permission
            if permission and permission.why_kept_back(provider) is SkipReason.UNDECIDED:
                # Rules are new, and the disk has to be looked at by them.
                await permission.decided(provider)
        if rest is not None:
            return Skipped(reason=SkipReason.BACKING_OFF, detail=rest)
        if request.current() is None:
            return Skipped(reason=SkipReason.MOVED_ON)
        # The rules may have changed while something was waited for.
        if permission is not None:
            kept_back = permission.why_kept_back(provider)
            return None if kept_back is None else Skipped(reason=kept_back)
        return None

    def _note(self, piece: Piece, *, asked: bool) -> None:
        """Note whose words the answer is made of."""
        generation = piece.generation
        if asked:
            how = How.ASKED
        elif generation.ahead and not self._request.ahead:
            # From now on it is what the user was shown before.
            how, generation.ahead = How.AHEAD, False
        else:
            how = How.JOINED if piece.suggestion is None else How.MEMORY
        self._request.trail.follows(generation, how)
        self._request.trail.piece = piece

    def _is_refused(self) -> bool:
        """What allowed the first stream may not hold any more."""
        permission = self._request.permission
        kept = permission is not None and permission.why_kept_back(self._provider) is not None
        return kept or self._request.current() is None

    def _place(self, document: Document, offset: int) -> Place:
        limits, multiline = self._limits, self._settings.multiline
        if multiline is Multiline.AUTO and not limits.multiline:
            multiline = Multiline.NEVER
        context = context_at(
            document,
            offset,
            path=self._request.path,
            windows=Windows(prefix_chars=limits.prefix_chars, suffix_chars=limits.suffix_chars),
            grammar=self._request.grammar,
        )
        key = Key(
            document=document_key(document.uri),
            language_id=document.language_id,
            provider=self._provider,
            settings=self._settings,
        )
        return Place(key=key, document=document, context=context, mode=mode_for(context, multiline))

    def _excerpt_query(self, place: Place) -> ExcerptQuery:
        return ExcerptQuery(
            document=place.document,
            # What is masked here is masked there: only so is it seen that both are the same.
            context=without_secrets(place.context),
            provider=self._provider,
            settings=self._settings,
            chars=self._limits.excerpt_chars,
        )

    def _ask(self, place: Place, whom: Provider | None = None) -> Piece:
        """Begin a stream."""
        provider, limits = whom or self._provider, self._limits
        family = family_for(provider.prompts_for, chats=provider.chats)
        context = without_secrets(place.context)
        excerpts: Sequence[Excerpt] = ()
        if (elsewhere := self._request.elsewhere) is not None:
            excerpts = elsewhere.excerpts(self._excerpt_query(place))
        prompt = build_prompt(
            context,
            excerpts,
            family=family,
            repository=self._settings.repository or self._repository,
            budget_chars=limits.prompt_chars(chats=family.reply is not None),
            single_line=place.mode is Mode.LINE,
        )
        self._request.trail.has_prompt()
        generation = self._generations.start(
            provider,
            prompt,
            place.context,
            max_tokens=limits.max_tokens,
            document=place.key.document,
        )
        generation.ahead = self._request.ahead
        return Piece(place=place, generation=generation)

    def _ask_beside(self, place: Place) -> Piece | None:
        """Begin another stream while one is silent, where that is all right."""
        if self._is_refused() or not self._generations.back_off.is_well(self._provider.host):
            return None
        return self._memory.add(self._ask(place))

    async def _first_known(self, pieces: Sequence[Piece], place: Place) -> Found:
        alone = self._provider.finishes_reading or self._request.ahead
        piece, suggestion, typed = await first_known(
            pieces,
            place,
            ask_again=None if alone else partial(self._ask_beside, place),
            patience=OVERDUE * self._generations.usual_wait(self._provider),
            enough_at=self._began + ENOUGH_AFTER,
            ends=self._ends,
        )
        return Found(place=place, piece=piece, suggestion=suggestion, typed=typed)


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
                    suggestion = task.result()
                    return piece, suggestion, piece.counted(typed, suggestion)
                except (Diverged, TimeoutError, CompletionsError) as error:
                    failure = error if isinstance(failure, Diverged) else failure
        raise failure
    finally:
        for task in tasks:
            task.cancel()


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


def is_as_asked(request: Request, now: Document) -> bool:
    """Whether nothing happened around the cursor since a request was made."""
    if now is request.document:
        return True
    anchor = anchor_at(request.document, request.offset)
    return any(not typed.text for typed in typed_around(anchor, now.length, partial(around, now)))


def may_ask_ahead(provider: Provider, back_off: BackOff) -> bool:
    """Whether a request that may turn out to be for nothing is all right."""
    # On this machine it would take the place of one that somebody waits for.
    return not provider.finishes_reading and back_off.is_well(provider.host)


def pause_before(
    context: CursorContext,
    provider: Provider,
    settings: Settings,
    *,
    usual_wait: float,
    said_nothing: int,
) -> float:
    """How many seconds to wait for another key before a model is asked while the user types.

    `said_nothing` counts how often in a row it had no answer.
    """
    pause = settings.delay
    if pause is None:
        pause = LOCAL_DELAY if provider.finishes_reading else 0.0
    # A slow model cannot keep up with each key, and one without an answer has none a key later
    # either: they are asked where people stop to think.
    if (usual_wait > SLOW or said_nothing >= SPEECHLESS) and context.line_prefix.strip():
        pause = max(pause, THOUGHT)
    return pause


def _now() -> float:
    return asyncio.get_running_loop().time()
