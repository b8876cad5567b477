"""Whether a person asked for a suggestion, or the editor by itself; few editors say so."""

import time
from collections.abc import Callable, Sequence

from lsp_completions.convert import Client, CompletionQuery, DocumentChange
from lsp_completions.pipeline.document import Position, TextChange
from lsp_completions.pipeline.positions import PositionEncoding, units_at
from lsp_completions.pipeline.uris import document_key

# Where every menu that no trigger character opened was asked for by hand.
OPENS_NO_MENU_BY_ITSELF = ("Neovim",)

# A menu that comes by itself where insert mode begins looks like one asked for by hand. Whoever
# misses something there asks again and again.
ASKS_WHERE_TYPING_BEGINS = ("helix",)


class ByHand:
    """Tells by what was typed and asked before. `client` is the editor, as it is known by then."""

    def __init__(
        self, client: Callable[[], Client], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._typing = Typing(clock)
        self._insistence = Insistence(clock)
        self._trigger_kinds = TriggerKinds()

    def changed(self, change: DocumentChange) -> None:
        """Note what was changed in a document."""
        self._typing.changed(change.uri, change.changes, self._client().encoding)

    def is_inline(self, query: CompletionQuery) -> bool:
        """Note a request for ghost text; whether a person made it."""
        may_be = self._trigger_kinds.is_by_hand(query.trigger_kind)
        return may_be and not self._typing.just_typed(query.uri, query.position)

    def is_menu(self, query: CompletionQuery) -> bool:
        """Note a request for a menu; whether a person made it."""
        is_by_hand = query.invoked and not (
            self._client().name not in OPENS_NO_MENU_BY_ITSELF
            and self._typing.just_typed(query.uri, query.position)
        )
        if self._client().name in ASKS_WHERE_TYPING_BEGINS:
            is_by_hand = self._insistence.asked(query.uri, query.position) and is_by_hand
        return is_by_hand


class Typing:
    """The last key, to tell a menu that opens by itself from one asked for by hand.

    Editors that open menus by themselves send the same trigger kind for both; the one that comes by
    itself comes right after a single character, at its end.
    """

    AT_ONCE = 0.15  # seconds; editors ask within 50 ms of a key, a second key takes longer

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: tuple[str, Position, float] | None = None

    def changed(self, uri: str, changes: Sequence[TextChange], encoding: PositionEncoding) -> None:
        """Note what was changed."""
        self._last = None
        if len(changes) == 1 and (where := changes[0].range) and where.start == where.end:
            text = changes[0].text
            if len(text) == 1 and text.isprintable():
                units = where.start.character + units_at(text, 1, encoding)
                after = Position(where.start.line, units)
                self._last = document_key(uri), after, self._clock()

    def just_typed(self, uri: str, position: Position) -> bool:
        """Whether the cursor stands right after a character typed this moment."""
        if self._last is None:
            return False
        key, after, when = self._last
        return (key, after) == (document_key(uri), position) and (
            self._clock() - when < self.AT_ONCE
        )


class Insistence:
    """Questions at one place soon after each other, to tell who asks by hand.

    Helix asks wherever insert mode begins, and says of it what it says of a question by hand.
    """

    TIMES = 3  # one came by itself where a key was typed, one where insert mode began again
    SOON = 2.0  # seconds

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._place: tuple[str, Position] | None = None
        self._times: list[float] = []

    def asked(self, uri: str, position: Position) -> bool:
        """Note a question; whether the user insists on it."""
        place, now = (document_key(uri), position), self._clock()
        if place != self._place or now - self._times[-1] > self.SOON:
            self._times.clear()
        self._place = place
        self._times.append(now)
        return len(self._times) >= self.TIMES


class TriggerKinds:
    """The kinds that the editor gives its requests for ghost text, to tell which are by hand.

    Since LSP 3.18 those by hand have kind 1 and automatic ones kind 2; older clients say 0 and 1.
    """

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def is_by_hand(self, kind: int | None) -> bool:
        """Whether a request of this kind may be by hand; 1 may be, unless 0 was seen."""
        if kind is not None:
            self._seen.add(kind)
        return kind == 0 or (kind == 1 and 0 not in self._seen)
