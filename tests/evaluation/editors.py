"""The rhythms in which editors ask while somebody types, and what they leave on the screen."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

from tests.evaluation.edits import Edit
from tests.evaluation.keys import Key
from tests.evaluation.services import Answer, Service

AUTOMATIC, INVOKED, BY_CHARACTER, FOR_INCOMPLETE = 2, 1, 2, 3
TRIGGERS = frozenset(".([{:=,>\"'/")


@dataclass(slots=True, kw_only=True)
class Moment:
    """Something that changed what is seen."""

    at: float
    typed: int
    """How many keys were pressed by then."""
    cursor: int
    shown: str
    replaced: str = ""
    """What an answer took away that was still on the screen."""
    is_key: bool = False


@dataclass(slots=True, kw_only=True)
class Seen:
    """All that somebody saw who typed one edit."""

    moments: list[Moment] = field(default_factory=list)
    asked: int = 0
    answered: int = 0


class Editor:
    """A buffer, a cursor, and suggested text on the screen."""

    MENU = False
    patience = 15.0
    """Seconds in which the last request has to be answered."""

    def __init__(self, service: Service, edit: Edit, now: Callable[[], float]) -> None:
        self.seen = Seen()
        self._service = service
        self._now = now
        self._text = edit.before + edit.after
        self._prefix = edit.before
        self._cursor = len(edit.before)
        self._keys = 0
        self._shown = ""
        self._numbers = count(1)
        self._open: dict[int, int] = {}
        """Requests not answered yet, and how many keys were pressed when they were sent."""
        self._timer: asyncio.TimerHandle | None = None
        service.open(edit, self._told)

    async def type(self, keys: Sequence[Key], gaps: Sequence[float]) -> Seen:
        """Press the keys, each after its gap; then wait for what was asked."""
        for key, gap in zip(keys, gaps, strict=True):
            await asyncio.sleep(gap)
            self._press(key)
        await asyncio.sleep(self.patience)
        return self.seen

    def _press(self, key: Key) -> None:
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

    def _before_change(self) -> None: ...

    def _on_key(self, before: str, key: Key, typed: str) -> None:
        raise NotImplementedError

    def _ask(self, kind: int) -> None:
        self._timer = None
        number = next(self._numbers)
        self._open[number] = self._keys
        self.seen.asked += 1
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

    def _on_answer(self, number: int, keys: int, answer: Answer | None) -> None:
        shown = ""
        if answer is not None:
            between = self._text[answer.start : self._cursor]
            if answer.start > self._cursor or not answer.text.startswith(between):
                return
            shown = answer.text[len(between) :]
        elif keys != self._keys:
            return
        self._show(shown)

    def _show(self, shown: str) -> None:
        if shown != self._shown:
            replaced, self._shown = self._shown, shown
            self._note(replaced=replaced)

    def _note(self, *, replaced: str = "", is_key: bool = False) -> None:
        self.seen.moments.append(
            Moment(
                at=self._now(),
                typed=self._keys,
                cursor=self._cursor,
                shown=self._shown,
                replaced=replaced,
                is_key=is_key,
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


class Neovim(Editor):
    """Asks 200 ms after the last key, gives nothing up, and tells of changes in bundles."""

    def __init__(self, service: Service, edit: Edit, now: Callable[[], float]) -> None:
        super().__init__(service, edit, now)
        self._untold: list[tuple[str, Key]] = []
        self._telling: asyncio.TimerHandle | None = None

    def _on_key(self, before: str, key: Key, typed: str) -> None:
        if key.changes:
            self._untold.append((before, key))
            if self._telling is None:
                self._telling = asyncio.get_running_loop().call_later(0.15, self._tell)
        self._after(0.2, AUTOMATIC)

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

    What comes after the next key is dropped.
    """

    MENU = True

    def _on_key(self, before: str, key: Key, typed: str) -> None:
        if key.changes:
            self._service.change(before, key)
        word = self._text[: self._cursor][-2:]
        is_open, is_word = self._shown != "", typed.isalnum() or typed == "_"
        if is_open and self._incomplete and (is_word or typed in TRIGGERS):
            self._stop_timer()
            self._ask(FOR_INCOMPLETE)
        elif typed and typed in TRIGGERS:
            self._shown = self._shown if is_open else ""
            self._after(0.005, BY_CHARACTER)
        elif not is_word:
            self._shown = ""
            self._stop_timer()
        elif not is_open and len(word) == 2 and all(c.isalnum() or c == "_" for c in word):
            self._after(0.25, INVOKED)

    _incomplete = False

    def _on_answer(self, number: int, keys: int, answer: Answer | None) -> None:
        if keys == self._keys:
            self._incomplete = answer is not None and answer.is_incomplete
            super()._on_answer(number, keys, answer)


EDITORS = {"VS Code": VSCode, "Neovim": Neovim, "Helix": Helix}
