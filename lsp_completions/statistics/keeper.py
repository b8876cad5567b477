"""Counts what comes of suggestions while the server runs, and writes it down now and then.

Nothing of it is on the way of a completion: what happens is noted in memory, and a thread writes.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Protocol

from lsp_completions.journal import Entry, Fate
from lsp_completions.pipeline.document import Document, TextChange
from lsp_completions.pipeline.uris import document_key
from lsp_completions.statistics.kept import Lines, share_kept
from lsp_completions.statistics.records import (
    AFTER,
    DAY,
    SOON,
    Batch,
    NewerVersion,
    Nothing,
    Suggestion,
    Unusable,
)
from lsp_completions.trail import How

logger = logging.getLogger(__name__)

LATER = 60.0  # seconds until it is tried again where it could not be written
PATIENCE = 0.4  # seconds for other servers, which write for milliseconds; an end waits for it
AT_THE_END = 0.2  # seconds; what cannot be written then waits for the next server
MOST_WAITING = 500  # suggestions; hours of work where nothing can be written
MOST_WATCHED = 50  # accepted suggestions; ten minutes of quick work
LONGEST_NAME = 200  # characters; names come from editors and providers


class Timer(Protocol):
    """Something to be called later."""

    def cancel(self) -> None:
        """Do not call it."""


Later = Callable[[float, Callable[[], None]], Timer]


@dataclass(slots=True, kw_only=True, eq=False)
class Watched:
    """Where something was accepted."""

    number: int
    text: str
    lines: Lines
    timers: list[Timer] = field(default_factory=list)


class Statistics:
    """Counts for one server. `current` gives a document as it is now; `clock` is `time.time`.

    `later` calls something after some seconds.
    """

    def __init__(
        self,
        current: Callable[[str], Document | None],
        *,
        file: Path | None = None,
        clock: Callable[[], float] = time.time,
        later: Later | None = None,
    ) -> None:
        self._current = current
        self._file = file
        self._clock = clock
        self._later = later or _later
        self._server = secrets.token_hex(8)
        self._on = True
        self._suggestions: dict[int, Suggestion] = {}
        self._nothings: dict[Nothing, int] = {}
        self._looks: dict[tuple[int, int], tuple[str, str]] = {}
        """By number and seconds: what was accepted, and what stands there."""
        self._watched: dict[str, list[Watched]] = {}
        self._last: dict[str, tuple[Entry, int]] = {}
        """A document's last suggestion, and the number of the first of those it belongs to."""
        self._timer: Timer | None = None
        self._writing: asyncio.Task[None] | None = None
        self._pruned_at: float | None = None
        self._told = False

    def follow(self, *, on: bool) -> None:
        """Count from now on, or no more; then what waits is not written either."""
        self._on = on
        if not on:
            self._suggestions.clear()
            self._nothings.clear()
            self._looks.clear()
            for key in list(self._watched):
                self._drop(key)

    def note(self, entry: Entry) -> None:
        """An outcome is new, or more is known of it."""
        if not self._on:
            return
        if entry.reason is None:
            first = self._first_of(entry)
            self._suggestions[entry.number] = _suggestion(self._server, entry, first)
            key = document_key(entry.asked.uri)
            if key not in self._last or self._last[key][0].number <= entry.number:
                self._last[key] = entry, first
            while len(self._suggestions) > MOST_WAITING:
                del self._suggestions[next(iter(self._suggestions))]
        else:
            day = datetime.fromtimestamp(entry.at, UTC).date().isoformat()
            where = Nothing(
                day=day,
                reason=entry.reason.name,
                language=entry.asked.language[:LONGEST_NAME],
                provider=entry.provider,
            )
            self._nothings[where] = self._nothings.get(where, 0) + 1
        self._write_soon(SOON)

    def accepted(self, number: int, text: str, uri: str, lines: Lines) -> None:
        """A text of the suggestion with that number is, or is about to be, in these lines."""
        if not self._on or not text.strip():
            return
        watched = self._watched.setdefault(document_key(uri), [])
        if any(each.number == number and each.text == text for each in watched):
            return  # seen in the document, and reported as well
        for other in [each for each in watched if each.number == number]:
            # More of it was accepted.
            _stop(other)
            watched.remove(other)
        while len(watched) >= MOST_WATCHED:
            _stop(watched.pop(0))
        new = Watched(number=number, text=text, lines=lines)
        new.timers = [self._later(after, partial(self._look, uri, new, after)) for after in AFTER]
        watched.append(new)

    def changed(self, uri: str, changes: Sequence[TextChange]) -> None:
        """A document was changed."""
        if not self._watched or (watched := self._watched.get(document_key(uri))) is None:
            return
        for each in list(watched):
            if (lines := each.lines.after(changes)) is None:
                _stop(each)
                watched.remove(each)
            else:
                each.lines = lines

    def closed(self, uri: str) -> None:
        """A document was closed: what becomes of what stands in it is not known any more."""
        self._drop(document_key(uri))
        self._last.pop(document_key(uri), None)

    async def aclose(self) -> None:
        """Write what waits, and no more."""
        for key in list(self._watched):
            self._drop(key)
        if self._timer is not None:
            self._timer.cancel()
        if self._writing is not None:
            await self._writing
        if self._on and self._waits:
            await self._write(last=True)
        self._on = False

    def _first_of(self, entry: Entry) -> int:
        """The number of the suggestion that this one goes on from; its own where it is new."""
        if (waiting := self._suggestions.get(entry.number)) is not None:
            return waiting.first
        key = document_key(entry.asked.uri)
        last, first = self._last.get(key, (None, entry.number))
        if last is not None and last.number > entry.number:
            return entry.number  # news of one that is written down already, which keeps its own
        if last is None or (last.number < entry.number and not _goes_on(last, entry)):
            first = entry.number
        return first

    @property
    def _waits(self) -> bool:
        return bool(self._suggestions or self._nothings or self._looks)

    def _look(self, uri: str, watched: Watched, after: int) -> None:
        """What stands there now."""
        if after == AFTER[-1]:
            self._watched.get(document_key(uri), [watched]).remove(watched)
        document = self._current(uri)
        if document is None or not self._on:
            return
        start = document.offset_at(watched.lines.first, 0)
        end = document.offset_at(watched.lines.last + 1, 0)
        self._looks[watched.number, after] = watched.text, document.slice(start, end)
        self._write_soon(SOON)

    def _drop(self, key: str) -> None:
        for each in self._watched.pop(key, []):
            _stop(each)

    def _write_soon(self, wait: float) -> None:
        if self._timer is None and self._writing is None:
            self._timer = self._later(wait, self._begin)

    def _begin(self) -> None:
        self._timer = None
        if self._on and self._waits:
            self._writing = asyncio.create_task(self._write(), name="statistics")
            self._writing.add_done_callback(self._written)

    def _written(self, task: asyncio.Task[None]) -> None:
        self._writing = None
        if not task.cancelled() and self._on and self._waits:
            self._write_soon(LATER if self._told else SOON)

    async def _write(self, *, last: bool = False) -> None:
        suggestions, self._suggestions = self._suggestions, {}
        nothings, self._nothings = self._nothings, {}
        looks, self._looks = self._looks, {}
        now = self._clock()
        prunes = not last and (self._pruned_at is None or now - self._pruned_at > DAY)
        try:
            await asyncio.to_thread(
                _written_down,
                self._file,
                self._server,
                suggestions,
                nothings,
                looks,
                prune_at=now if prunes else None,
                last=last,
            )
        except Unusable as error:
            self._failed(error)
            if self._on:
                # Later news of the same suggestion stay.
                self._suggestions = {**suggestions, **self._suggestions}
                self._looks = {**looks, **self._looks}
                for where, count in nothings.items():
                    self._nothings[where] = self._nothings.get(where, 0) + count
        except Exception as error:  # noqa: BLE001 - who only counts breaks nothing
            self._failed(error)
        else:
            self._told = False
            if prunes:
                self._pruned_at = now

    def _failed(self, error: Exception) -> None:
        if not self._told:
            kind = str(error) if isinstance(error, Unusable) else type(error).__name__
            logger.info("statistics cannot be written: %s", kind)
        self._told = True
        if isinstance(error, NewerVersion):
            self.follow(on=False)


def _later(wait: float, call: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(wait, call)


def _written_down(
    file: Path | None,
    server: str,
    suggestions: dict[int, Suggestion],
    nothings: dict[Nothing, int],
    looks: dict[tuple[int, int], tuple[str, str]],
    *,
    prune_at: float | None,
    last: bool,
) -> None:
    # A library of its own, which nothing needs before.
    from lsp_completions.statistics.store import database_file, prune
    from lsp_completions.statistics.waiting import write_all, write_or_wait

    where = database_file() if file is None else file
    kept = {(server, number, after): share_kept(*texts) for (number, after), texts in looks.items()}
    batch = Batch(suggestions=list(suggestions.values()), nothings=nothings, kept=kept)
    if last:
        write_or_wait(where, batch, patience=AT_THE_END)
    else:
        write_all(where, batch, patience=PATIENCE)
    if prune_at is not None:
        with suppress(Unusable):  # another day; what was counted is written
            prune(where, prune_at, patience=PATIENCE)


def _suggestion(server: str, entry: Entry, first: int) -> Suggestion:
    return Suggestion(
        server=server,
        number=entry.number,
        first=first,
        at=entry.at,
        method=entry.asked.method.value,
        language=entry.asked.language[:LONGEST_NAME],
        provider=entry.provider,
        model=entry.model[:LONGEST_NAME],
        how="" if entry.how is None else entry.how.name,
        sent=entry.times.sent,
        first_text=entry.times.first_text,
        answered=entry.times.answered,
        lines=entry.lines,
        characters=entry.characters,
        shown=entry.shown,
        fate=entry.fate.name,
        taken=entry.taken,
    )


def _goes_on(last: Entry, entry: Entry) -> bool:
    """Whether an entry is the rest of the last one, or the same again."""
    return (
        entry.how in (How.MEMORY, How.JOINED)
        and entry.characters == last.characters - last.taken
        and last.fate is not Fate.ACCEPTED
        and last.asked.line <= entry.asked.line <= last.asked.line + last.lines
    )


def _stop(watched: Watched) -> None:
    for timer in watched.timers:
        timer.cancel()
