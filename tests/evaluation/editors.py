"""The rhythms in which editors ask while somebody types, and what they leave on the screen."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from tests.evaluation.edits import Edit, Sitting
from tests.evaluation.fitting import CLOSERS, fitting, flickers
from tests.evaluation.hands import Hands
from tests.evaluation.keys import Key, going_to, next_key, start_of, typing
from tests.evaluation.services import Answer, Service

AUTOMATIC, INVOKED, BY_CHARACTER, FOR_INCOMPLETE = 2, 1, 2, 3
AT_ONCE = 0.01  # seconds; what is remembered takes less, what is asked for takes longer
MOST_KEYS = 5000  # nobody gets there who is on the way
TRIGGERS = frozenset(".([{:=,>\"'/")


@dataclass(slots=True, kw_only=True)
class Moment:
    """Something that changed what is seen."""

    at: float
    typed: int
    """How many keys were pressed by then."""
    edit: int
    """Which one is made."""
    left: str
    """What is still to be typed; empty while something is being deleted."""
    shown: str
    replaced: str = ""
    """What an answer took away that was still on the screen."""
    is_key: bool = False
    taken: str = ""
    """What this key accepted."""


@dataclass(slots=True, kw_only=True)
class Seen:
    """All that somebody saw who typed one edit."""

    moments: list[Moment] = field(default_factory=list)
    asked: int = 0
    answered: int = 0
    began: float = 0.0
    """When the first key was pressed."""
    ready: list[bool] = field(default_factory=list)
    """Whether the next piece came at once, each time something was accepted and more is to come."""
    text: str = ""
    """What stands there in the end."""


class Editor:
    """A buffer, a cursor, and suggested text on the screen."""

    MENU = False
    patience = 15.0
    """Seconds in which the last request has to be answered."""

    def __init__(self, service: Service, sitting: Sitting, now: Callable[[], float]) -> None:
        self.seen = Seen()
        self._service = service
        self._now = now
        self._sitting = sitting
        self._number = 0
        self._text = self._edit.begun
        self._cursor = start_of(self._edit)
        self._keys = 0
        self._shown = ""
        self._replaced = 0
        self._item: Answer | None = None
        self._since = 0.0  # when what is shown came
        self._numbers = count(1)
        self._open: dict[int, int] = {}
        """Requests not answered yet, and how many keys were pressed when they were sent."""
        self._next_piece: tuple[int, float] | None = None
        self._wants_next = False
        self._timer: asyncio.TimerHandle | None = None
        service.open(self._edit, self._told)

    @property
    def _edit(self) -> Edit:
        return self._sitting.edits[self._number]

    async def type(self, hands: Hands, most_keys: int | None = None) -> Seen:
        """Make the edits, key by key; then wait for what was asked."""
        for number, edit in enumerate(self._sitting.edits):
            self._number = number
            await self._make(edit, hands, most_keys or MOST_KEYS)
        self.seen.text = self._text
        await asyncio.sleep(self.patience)
        return self.seen

    async def _make(self, edit: Edit, hands: Hands, most_keys: int) -> None:
        random, dice = hands.random(edit), hands.habit.random(edit) if hands.habit else None
        if self._cursor != (start := start_of(edit)):
            await asyncio.sleep(hands.goes_within(random))
            self._go(going_to(start))
        while self._keys < most_keys:
            key = next_key(edit, self._text, self._cursor, assisted=hands.assisted)
            if key is None:
                return
            await asyncio.sleep(hands.gap(key, random))
            if hands.habit is not None and dice is not None and self._shown:
                taken = hands.habit.taken(
                    edit,
                    self._text,
                    self._cursor,
                    shown=self._shown,
                    replaced=self._replaced,
                    seen=self._now() - self._since,
                    dice=dice,
                )
                if taken:
                    self._accept(taken, tells=hands.habit.tells)
                    continue
            rest = edit.rest_after(self._text[: self._cursor]) or ""
            if not (slip := hands.slip(key, rest, random)):
                self._press(key)
            for number, character in enumerate(slip):
                if number:
                    await asyncio.sleep(hands.gap(key, random))
                self._press(typing(character, self._cursor))

    def _press(self, key: Key) -> None:
        if not self._keys:
            self.seen.began = self._now()
        before, was_at = self._text, self._cursor
        self._before_change()
        self._text, self._cursor = key.applied(before), key.cursor
        self._keys += 1
        gone_on = self._text[was_at : self._cursor] if key.start >= was_at else None
        if gone_on and self._shown.startswith(gone_on):
            self._shown = self._shown[len(gone_on) :]
        else:
            self._shown = ""
        self._on_key(before, key, gone_on or "")
        self._note(is_key=True)

    def _go(self, key: Key) -> None:
        """Only the cursor moves."""
        self._before_change()
        self._cursor, self._shown = key.cursor, ""
        self._stop_timer()
        self._on_going()
        self._note()

    def _accept(self, taken: str, *, tells: bool) -> None:
        before, at, item = self._text, self._cursor, self._item
        is_whole = taken == self._shown
        end = at + (self._replaced if is_whole else 0)
        key = Key(start=at, end=end, new=taken, cursor=at + len(taken))
        self._before_change()
        self._text, self._cursor = key.applied(before), key.cursor
        self._keys += 1
        self._shown = self._shown[len(taken) :]
        assert item is not None
        identity, length = item.identity, len(item.text) - len(self._shown)
        self._wants_next = self._left.strip(CLOSERS) != ""
        self._on_accepting(before, key)
        if tells and identity:
            self._tell_of(identity, None if is_whole else length)
        self._note(is_key=True, taken=taken)

    def _before_change(self) -> None: ...

    def _on_going(self) -> None:
        """Most ask for nothing then."""

    def _on_accepting(self, before: str, key: Key) -> None:
        self._on_key(before, key, "")

    def _tell_of(self, identity: str, length: int | None) -> None:
        """An acceptance is reported: of so many characters, or all."""

    def _on_key(self, before: str, key: Key, typed: str) -> None:
        raise NotImplementedError

    def _ask(self, kind: int) -> None:
        self._timer = None
        number = next(self._numbers)
        self._open[number] = self._keys
        self.seen.asked += 1
        if self._wants_next:
            self._wants_next = False
            self._next_piece = number, self._now()
        self._service.ask(number, self._text, self._cursor, menu=self.MENU, kind=kind)

    def _after(self, seconds: float, kind: int) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._ask, kind)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _told(self, number: int, answer: Answer | None) -> None:
        if (keys := self._open.pop(number, None)) is None:
            return
        self.seen.answered += 1
        self._on_answer(number, keys, answer)
        if self._next_piece is not None and self._next_piece[0] == number:
            at_once = self._now() - self._next_piece[1] <= AT_ONCE
            self.seen.ready.append(at_once and fitting(self._shown, self._left))
            self._next_piece = None

    @property
    def _left(self) -> str:
        return self._edit.rest_after(self._text[: self._cursor]) or ""

    def _on_answer(self, number: int, keys: int, answer: Answer | None) -> None:
        shown = ""
        if answer is not None:
            between = self._text[answer.start : self._cursor]
            if answer.start > self._cursor or not answer.text.startswith(between):
                return
            shown = answer.text[len(between) :]
            self._item, self._replaced = answer, answer.replaced
        elif keys != self._keys:
            return
        self._show(shown)

    def _show(self, shown: str) -> None:
        if shown != self._shown:
            replaced, self._shown = self._shown, shown
            if not replaced or flickers(replaced, shown):
                self._since = self._now()
            self._note(replaced=replaced)

    def _note(self, *, replaced: str = "", is_key: bool = False, taken: str = "") -> None:
        self.seen.moments.append(
            Moment(
                at=self._now(),
                typed=self._keys,
                edit=self._number,
                left=self._left,
                shown=self._shown,
                replaced=replaced,
                is_key=is_key,
                taken=taken,
            )
        )


class VSCode(Editor):
    """Asks 40 ms after a key; gives the request before up with the next one."""

    def _before_change(self) -> None:
        for number in list(self._open):
            self._service.cancel(number)

    def _on_key(self, before: str, key: Key, typed: str) -> None:
        if key.changes:
            self._service.change(before, key)
        self._after(0.04, AUTOMATIC)

    def _on_answer(self, number: int, keys: int, answer: Answer | None) -> None:
        if keys == self._keys:
            super()._on_answer(number, keys, answer)

    def _tell_of(self, identity: str, length: int | None) -> None:
        if length is None:
            self._service.accepted(identity)
        else:
            self._service.accepted_part(identity, length)


class Neovim(Editor):
    """Asks 200 ms after the last key, gives nothing up, and tells of changes in bundles."""

    def __init__(self, service: Service, sitting: Sitting, now: Callable[[], float]) -> None:
        super().__init__(service, sitting, now)
        self._untold: list[tuple[str, Key]] = []
        self._telling: asyncio.TimerHandle | None = None

    def _on_key(self, before: str, key: Key, typed: str) -> None:
        if key.changes:
            self._untold.append((before, key))
            if self._telling is None:
                self._telling = asyncio.get_running_loop().call_later(0.15, self._tell)
        self._after(0.2, AUTOMATIC)

    def _on_going(self) -> None:
        self._after(0.2, AUTOMATIC)

    def _tell_of(self, identity: str, length: int | None) -> None:
        self._tell()
        if length is None:
            self._service.accepted(identity)

    def _tell(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
            self._telling = None
        for before, key in self._untold:
            self._service.change(before, key)
        self._untold.clear()

    def _ask(self, kind: int) -> None:
        self._tell()
        super()._ask(kind)


class Helix(Editor):
    """A menu: after two letters and 250 ms, or 5 ms after some characters; gives nothing up.

    Until one is answered no other is asked for, but by such a character; what comes late is shown
    if it fits by then. What is accepted is reported to nobody.
    """

    MENU = True

    def __init__(self, service: Service, sitting: Sitting, now: Callable[[], float]) -> None:
        super().__init__(service, sitting, now)
        self._waited_for: int | None = None
        self._incomplete = False

    def _on_key(self, before: str, key: Key, typed: str) -> None:
        if key.changes:
            self._service.change(before, key)
        is_word = typed.isalnum() or typed == "_"
        if is_word and self._shown:
            if self._incomplete:
                self._ask(FOR_INCOMPLETE)
            return
        self._shown = ""
        last = self._text[: self._cursor][-2:]
        if typed and typed in TRIGGERS:
            self._after(0.005, BY_CHARACTER)
        elif is_word and len(last) == 2 and all(c.isalnum() or c == "_" for c in last):
            if self._timer is not None or self._waited_for is None:
                self._after(0.25, INVOKED)
        elif not typed:
            self._close()

    def _on_going(self) -> None:
        self._close()

    def _on_accepting(self, before: str, key: Key) -> None:
        self._service.change(before, key)
        self._close()

    def _close(self) -> None:
        self._shown = ""
        self._waited_for = None
        self._stop_timer()

    def _ask(self, kind: int) -> None:
        super()._ask(kind)
        self._waited_for = max(self._open)

    def _on_answer(self, number: int, keys: int, answer: Answer | None) -> None:
        if number != self._waited_for:
            return
        self._waited_for = None
        self._incomplete = answer is not None and answer.is_incomplete
        super()._on_answer(number, keys, answer)


EDITORS = {"VS Code": VSCode, "Neovim": Neovim, "Helix": Helix}
