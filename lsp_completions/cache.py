"""What models said lately, and the rule "typed as suggested".

A suggestion typed into, partly accepted, deleted back into, or left and returned to is in here:
it is found by the text around its place, and no request is made.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field, replace
from functools import cache, partial

from lsp_completions.errors import NotAttributed
from lsp_completions.generations import Generation, GivenUp, MadeRoom, SaidEnough
from lsp_completions.pipeline import postprocess
from lsp_completions.pipeline.anchor import (
    Anchor,
    Around,
    Typed,
    anchor_at,
    around,
    typed_around,
    typed_since,
)
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit, edit_for
from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.pipeline.stream import CUT_OFF, Candidate, Chunk, Collector
from lsp_completions.pipeline.syntax import get_ready
from lsp_completions.pipeline.trigger import Mode
from lsp_completions.pipeline.wrapping import is_fence
from lsp_completions.providers.base import Provider
from lsp_completions.settings import Settings

MOST_PER_DOCUMENT = 24  # places: a page of work
MOST = 160  # places in all documents; each holds the text around it, some 4 kB
MOST_WHOLE = 16  # of them, the newest, with the prompt and the windows: another 20 kB
# Characters before the first word that the clean-up may have dropped, such as a space too many.
MOST_DROPPED = 40

# Seconds between keys: who waits longer for a block lets it come whole.
IN_FULL_SWING = 0.3

# Seconds after which a request is on its way, and no model has said a word.
REQUEST_IS_OUT = 0.01


class Diverged(Exception):
    """What was typed is not what the model says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What a text is good for, beside its place."""

    document: str
    """The document's key."""
    language_id: str
    provider: Provider
    settings: Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a suggestion is wanted: in a document as it was at one moment."""

    key: Key
    document: Document
    context: CursorContext
    mode: Mode
    here: Around = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "here", around(self.document, self.context.offset))

    @property
    def cursor(self) -> int:
        """The offset of the cursor."""
        return self.context.offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """What is shown at a place: `text`, empty where there is nothing new to show.

    It takes the place of `replaced` characters after the cursor. `complete` is false where the
    model was cut short.
    """

    text: str
    replaced: int = 0
    complete: bool = True
    nothing: SkipReason | None = None
    """Why the text is empty."""


@dataclass(slots=True, kw_only=True, eq=False)
class Piece:
    """What a model says from one place on, as far as it makes one suggestion.

    It keeps the text around the place, and not the document.
    """

    place: InitVar[Place]
    generation: Generation
    led: str = ""
    """What the model has to say before this piece begins."""
    asked: Key = field(init=False)
    context: CursorContext = field(init=False)
    mode: Mode = field(init=False)
    anchor: Anchor = field(init=False)
    suggestion: Suggestion | None = None
    """`None` while it is not known."""
    early: bool = False
    """Whole lines were shown before all was said, or could have been: they are enough by now."""
    told: Suggestion | None = None
    """Whole lines that were shown before all was said."""
    shown: bool = False
    is_faded: bool = False
    """Only what it takes to suggest it again is there by now."""
    others: tuple[Suggestion, ...] = ()
    """What else the model would say, where the user wanted to know."""

    def __post_init__(self, place: Place) -> None:
        self.asked, self.context, self.mode = place.key, place.context, place.mode
        self.anchor = anchor_at(place.document, place.cursor)

    @property
    def key(self) -> Key:
        """What it is good for; another provider may have taken over from the one asked."""
        if self.asked.provider is self.generation.provider:
            return self.asked
        return replace(self.asked, provider=self.generation.provider)

    @property
    def start(self) -> int:
        """Where in all that the model says this piece begins."""
        return len(self.led)

    @property
    def said(self) -> str:
        """What the model has said from here on."""
        return self.generation.said[self.start :]

    @property
    def may_begin(self) -> bool:
        """Whether the model said what leads to this piece, or may yet."""
        said = self.generation.said
        if self.generation.said_all or len(said) >= len(self.led):
            return said.startswith(self.led)
        return self.led.startswith(said)

    def typed(self, here: Around) -> Typed | None:
        """What was typed since; `None` where something else happened, or the model says another."""
        typed = typed_since(self.anchor, here, replaced=self._replaced)
        if typed is None or not self.may_go_on(typed.text):
            return None
        return typed if self.suggestion is None else self.counted(typed, self.suggestion)

    def counted(self, typed: Typed, suggestion: Suggestion) -> Typed:
        """What was typed, counted from where a suggestion begins."""
        return replace(typed, text=self._counted(typed.text, suggestion.text))

    def _counted(self, typed: str, text: str) -> str:
        # The clean-up takes blank lines from before the text; the user may type them all the same.
        if text.startswith(typed) or typed.startswith(text):
            return typed
        dropped = self.said[: self._where(text) or 0]
        if dropped.strip() or not (dropped.startswith(typed) or typed.startswith(dropped)):
            return typed
        return typed[len(dropped) :]

    def is_wanted_in(self, length: int, text_at: Callable[[int], Around]) -> bool:
        """Whether a document is as the piece wants it, wherever the cursor is in it by now.

        `length` is the document's, and `text_at` gives what stands around an offset.
        """
        possible = typed_around(self.anchor, length, text_at, replaced=self._replaced)
        return any(self.may_go_on(typed.text) for typed in possible)

    def may_go_on(self, typed: str) -> bool:
        """Whether the model said, or may yet say, what was typed, and goes on after it."""
        if self.suggestion is None:
            return self.may_begin and may_agree(self.said, typed, echo=self.context.line_prefix)
        text = self.suggestion.text
        typed = self._counted(typed, text)
        if len(typed) < len(text) or not text:
            return text.startswith(typed)
        return typed.startswith(text) and self.led_by(typed) is not None

    def led_by(self, typed: str) -> str | None:
        """What the model says before the piece that follows this one, after `typed`.

        `None` where the model says nothing there, or something else.
        """
        if self.suggestion is None or not (text := self.suggestion.text):
            return None
        if (at := self._where(text)) is None:
            return None
        beyond, after = typed[len(text) :], self.said[at + len(text) :]
        if self.generation.said_all:
            goes_on = after.startswith(beyond) and after[len(beyond) :].strip() != ""
        else:
            goes_on = after.startswith(beyond) or beyond.startswith(after)
        return self.generation.said[: self.start + at + len(text)] + beyond if goes_on else None

    def made_of(self, candidate: Candidate | None) -> Suggestion:
        """The suggestion that what the model said makes at this place."""
        context = self.context
        text = postprocess.finish(candidate.text, context, self.mode) if candidate else ""
        edit = edit_for(text, context) if text else None
        if candidate is None:
            return Suggestion(text="", nothing=SkipReason.EMPTY)
        if edit is None:
            return Suggestion(text="", nothing=SkipReason.NOTHING_NEW)
        return Suggestion(
            text=edit.new_text,
            replaced=edit.end - context.offset,
            complete=candidate.complete,
        )

    def settle(self, suggestion: Suggestion) -> None:
        """This is the suggestion; what the model says after it is kept for when it is accepted."""
        self.suggestion = suggestion = self.grown(suggestion)
        self.keep_ahead_of(suggestion)

    def tell(self, suggestion: Suggestion) -> Suggestion:
        """Whole lines are shown before all is said; returns them."""
        self.early = True
        self.told = suggestion = self.grown(suggestion)
        self.keep_ahead_of(suggestion)
        return suggestion

    def fade(self) -> None:
        """Keep only what it takes to suggest it again, where that is known."""
        if self.suggestion is not None and self.generation.task.done():
            self.generation.forget_what_was_asked()
            self.context = self.context.line_only()
            self.is_faded = True

    def grown(self, suggestion: Suggestion) -> Suggestion:
        """A suggestion that goes on from what was shown already, which stays as it was."""
        if self.told is not None and not suggestion.text.startswith(self.told.text):
            return self.told
        return suggestion

    def keep_ahead_of(self, suggestion: Suggestion) -> None:
        """Keep what the model says after this, within bounds."""
        if text := suggestion.text:
            at = self._where(text) or 0
            self.generation.keep_ahead_of(self.start + at + len(text))

    def _where(self, text: str) -> int | None:
        """Where a suggestion stands in what was said; `None` where the clean-up changed it.

        Before it stands nothing but what the clean-up takes away. The same may stand there twice,
        as in `a = a`: then it is the one that ends a line.
        """
        said, echo, found = self.said, self.context.line_prefix.strip(), None
        at = said.find(text, 0, len(text) + MOST_DROPPED)
        while at >= 0:
            dropped = said[:at].strip()
            if not dropped or dropped == echo or is_fence(dropped):
                if not said[at + len(text) :].partition("\n")[0].strip():
                    return at
                found = at if found is None else found
            at = said.find(text, at + 1, len(text) + MOST_DROPPED)
        return found

    @property
    def _replaced(self) -> int:
        return self.suggestion.replaced if self.suggestion is not None else 0


def rest_of(suggestion: Suggestion, typed: Typed, now: Place) -> Edit | None:
    """What is left of a suggestion after `typed`, as an edit at the cursor; `None` for nothing."""
    rest = suggestion.text[len(typed.text) :]
    if not rest or not suggestion.text.startswith(typed.text):
        return None
    if typed.added:
        # What the editor has closed by itself is closed once.
        _, *closed = typed.added.split("\n")
        if closed:
            rest = rest.partition(f"\n{closed[0]}\n")[0].removesuffix(f"\n{closed[0]}")
        rest = postprocess.fit_below(rest, now.context)
        return edit_for(rest, now.context) if rest else None
    return Edit(start=now.cursor, end=now.cursor + suggestion.replaced, new_text=rest)


def may_agree(said: str, typed: str, *, echo: str = "") -> bool:
    """Whether one is the beginning of the other, but for white space before the first word.

    Models may say the beginning of the line again, `echo`, which is taken away later.
    """
    if said.startswith(typed) or typed.startswith(said) or is_fence(said.lstrip()[:3]):
        return True
    said, typed, echo = said.lstrip(), typed.lstrip(), echo.lstrip()
    if said.startswith(typed) or typed.startswith(said):
        return True
    whole = echo + typed
    return bool(echo) and (said.startswith(whole) or whole.startswith(said))


class Memory:
    """The pieces of all documents, newest first."""

    def __init__(self) -> None:
        self._pieces: OrderedDict[str, list[Piece]] = OrderedDict()
        self._whole: deque[Piece] = deque()

    def add(self, piece: Piece) -> Piece:
        """Remember a piece; returns it."""
        pieces = self._pieces.setdefault(piece.asked.document, [])
        self._pieces.move_to_end(piece.asked.document)
        pieces.insert(0, piece)
        del pieces[MOST_PER_DOCUMENT:]
        surplus = sum(map(len, self._pieces.values())) - MOST
        if surplus > 0:
            document, oldest = next(iter(self._pieces.items()))
            del oldest[-surplus:]
            if not oldest:
                self.forget(document)
        self._whole.append(piece)
        if len(self._whole) > MOST_WHOLE:
            self._whole.popleft().fade()
        return piece

    def drop(self, piece: Piece) -> None:
        """Forget a piece that came to nothing."""
        pieces = self._pieces.get(piece.asked.document, [])
        if piece in pieces:
            pieces.remove(piece)

    def fitting(self, place: Place) -> list[Piece]:
        """What a model says there; where that is not known yet, all that it may turn out to be.

        Where a suggestion is used up, the piece that follows it.
        """
        waiting: list[Piece] = []
        for piece in self._usable(place.key):
            if (typed := piece.typed(place.here)) is None:
                continue
            if piece.suggestion is None:
                waiting.append(piece)
            elif (text := piece.suggestion.text) == "" or len(typed.text) < len(text):
                return [piece]
            elif any(each.generation is piece.generation for each in waiting):
                continue  # the piece that follows it is waited for already
            elif (led := piece.led_by(typed.text)) is not None:
                following = Piece(place=place, generation=piece.generation, led=led)
                if piece.generation.error is not None:
                    look(following)
                    if following.suggestion is None:
                        continue  # half a line, of which no more comes
                return [self.add(following), *waiting]
        return waiting

    def changed(self, document: str, now: Document) -> None:
        """The document changed: streams that say something else by now are closed."""
        running = [each for each in self._pieces.get(document, []) if not each.generation.ended]
        text_at = cache(partial(around, now))
        wanted: set[Generation] = set()
        for piece in running:
            if piece.generation not in wanted and piece.is_wanted_in(now.length, text_at):
                wanted.add(piece.generation)
        for piece in running:
            if piece.generation not in wanted:
                piece.generation.close()

    def forget(self, document: str) -> None:
        """The document was closed, or may not be sent any more."""
        for piece in self._pieces.pop(document, []):
            piece.generation.close()
        self._whole = deque(each for each in self._whole if each.asked.document != document)

    def _usable(self, key: Key) -> Iterator[Piece]:
        for piece in list(self._pieces.get(key.document, [])):
            if piece.suggestion is None and (error := piece.generation.error) is not None:
                if piece.early or isinstance(error, SaidEnough):
                    look(piece)
                if piece.suggestion is None:
                    self.drop(piece)
                    continue
            if piece.key == key:
                yield piece


async def known(
    piece: Piece, typed: str, *, enough_at: float | None = None, ends: float | None = None
) -> Suggestion:
    """Wait for the suggestion of a piece, which has to go on fitting what was `typed`.

    From `enough_at` on, a time of the event loop, the whole lines so far are enough; at `ends`
    they have to be. Raises `Diverged`, what ended the stream early (`MadeRoom` among it), or
    `TimeoutError`, each with
    nothing to show for it.
    """
    began = _now()
    try:
        return await _known(piece, typed, enough_at, ends)
    except asyncio.CancelledError:
        # Lines were there, and the next key came before they were shown.
        if _now() - began < IN_FULL_SWING and _so_far(piece, beyond=typed) is not None:
            piece.early = True
        raise


async def _known(
    piece: Piece, typed: str, enough_at: float | None, ends: float | None
) -> Suggestion:
    with piece.generation.reading(), _getting_ready(piece):
        while piece.suggestion is None:
            look(piece)
            if piece.suggestion is not None:
                break
            if (error := piece.generation.error) is not None:
                given_up = isinstance(error, GivenUp) and not isinstance(error, MadeRoom)
                raise Diverged if given_up else error
            if not piece.may_go_on(typed):
                raise Diverged
            early = piece.generation.provider.shows_early
            late = early and (piece.early or (enough_at is not None and _now() >= enough_at))
            if late and (suggestion := _so_far(piece, beyond=typed)) is not None:
                return piece.tell(suggestion)
            try:
                soon = enough_at if early and not late else None
                async with asyncio.timeout_at(_first_of(soon, ends)):
                    await piece.generation.news()
            except TimeoutError:
                if ends is not None and _now() >= ends:
                    if early and (suggestion := _so_far(piece, beyond=typed)) is not None:
                        return piece.tell(suggestion)
                    raise
    if not piece.may_go_on(typed):
        raise Diverged
    return piece.suggestion


@contextmanager
def _getting_ready(piece: Piece) -> Iterator[None]:
    """What an answer would wait for is done while the model is silent, once it has been asked."""
    if piece.said or piece.mode is Mode.LINE:
        yield
        return
    soon = asyncio.get_running_loop().call_later(REQUEST_IS_OUT, get_ready, piece.context)
    try:
        yield
    finally:
        soon.cancel()


def look(piece: Piece) -> None:
    """Make the suggestion, if enough was said for it and it may be shown by now."""
    generation = piece.generation
    if not generation.said.startswith(piece.led):
        return
    if isinstance(generation.error, NotAttributed):
        piece.settle(Suggestion(text="", nothing=SkipReason.NOT_ATTRIBUTED))
        return
    if not generation.provider.shows_early and (not generation.ended or generation.error):
        return
    collector = _collector(piece)
    candidate = collector.feed(Chunk(text=piece.said))
    if candidate is None:
        if not generation.said_all:
            return
        broken = generation.error is not None
        candidate = collector.end(cut_off=broken, cut_off_by_length=generation.finish in CUT_OFF)
        if candidate is None and broken:
            return
    piece.settle(piece.made_of(candidate))


def _so_far(piece: Piece, *, beyond: str) -> Suggestion | None:
    """What the whole lines said so far make, where that is more than was typed."""
    collector = _collector(piece)
    candidate = collector.feed(Chunk(text=piece.said)) or collector.end(cut_off=True)
    suggestion = piece.made_of(candidate)
    typed = piece.counted(Typed(text=beyond), suggestion).text
    goes_on = suggestion.text.startswith(typed) and suggestion.text != typed
    return suggestion if goes_on else None


def _collector(piece: Piece) -> Collector:
    markers = piece.generation.prompt.special_tokens
    return Collector(piece.context, piece.mode, markers=markers)


def _first_of(*times: float | None) -> float | None:
    return min((time for time in times if time is not None), default=None)


def _now() -> float:
    return asyncio.get_running_loop().time()
