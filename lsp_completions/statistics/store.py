"""The database of statistics: one SQLite file in the state folder, for all servers of a user.

Each use opens it, and closes it again: it may be deleted at any time, and nobody holds it for long.
All of it blocks.
"""

import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from lsp_completions.on_disk import found_in, is_there
from lsp_completions.statistics.records import (
    AFTER,
    DAY,
    Batch,
    Held,
    NewerVersion,
    Nothing,
    Row,
    Suggestion,
    Unusable,
    is_sound,
)

FILE = "statistics.db"
VERSION = 1

KEPT_DAYS = 90
MOST_ROWS = 200_000  # suggestions: some 30 MB, more than anybody sees in that time
PATIENCE = 2.0  # seconds for another server, which writes for milliseconds


def database_file(folder: Path | None = None) -> Path:
    """Where it is, whether it exists or not. `folder` is the state folder of this program."""
    if folder is None:
        import platformdirs

        folder = platformdirs.user_state_path("lsp-completions", appauthor=False)
    return folder / FILE


def write(file: Path, batch: Batch, *, patience: float = PATIENCE) -> None:
    """Add what is new and renew what is known. Raises `Unusable`, with nothing written.

    `patience` is in seconds, for others that write. A file that is no database, or a damaged one,
    is put aside for a new one.
    """
    try:
        _write(file, batch, patience)
    except _Damaged:
        _put_aside(file)
        try:
            _write(file, batch, patience)
        except _Damaged as error:
            raise Unusable(str(error)) from error


def prune(file: Path, now: float, *, patience: float = PATIENCE) -> None:
    """Forget what is older than is kept. Raises `Unusable`."""
    if not _exists(file):
        return
    oldest = now - KEPT_DAYS * DAY
    with _opened(file, patience) as database, database:
        database.execute("DELETE FROM suggestion WHERE at < ?", (oldest,))
        database.execute(
            "DELETE FROM suggestion WHERE at < (SELECT at FROM suggestion ORDER BY at DESC "
            f"LIMIT 1 OFFSET {MOST_ROWS})"
        )
        database.execute("DELETE FROM skipped WHERE day < date(?, 'unixepoch')", (oldest,))


def read(file: Path, since: float) -> Held:
    """What was noted from a time on; nothing where there is no file. Raises `Unusable`."""
    if not _exists(file):
        return Held()
    names = ", ".join(COLUMNS)
    try:
        with _opened(file) as database:
            found = database.execute(
                f"SELECT {names}, {', '.join(KEPT)} FROM suggestion WHERE at >= ? ORDER BY at",
                (since,),
            ).fetchall()
            counted = database.execute(
                "SELECT day, reason, language, provider, count FROM skipped "
                "WHERE day >= date(?, 'unixepoch')",
                (since,),
            ).fetchall()
    except _Damaged as error:
        raise Unusable(str(error)) from error
    rows, nothings = list(map(_row, found)), dict(map(_nothing, counted))
    sound = all(is_sound(row.suggestion) for row in rows) and all(map(is_sound, nothings))
    if not sound or not all(isinstance(count, int) for count in nothings.values()):
        raise Unusable("it holds something else than was counted")
    return Held(rows=rows, nothings=nothings)


def delete(file: Path) -> bool:
    """Delete the database; returns whether there was one. Raises `OSError`."""
    files = _files(file)
    existed = any(map(is_there, files))
    for each in files:
        each.unlink(missing_ok=True)
    return existed


def _exists(file: Path) -> bool:
    """Whether there is one. Raises `Unusable` where that cannot be seen."""
    try:
        file.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise Unusable(error.strerror or str(error)) from error
    return True


class _Damaged(Exception):
    """The file is no database."""


COLUMNS = (
    *("server", "number", "first", "at", "method", "language", "provider", "model", "how"),
    *("sent", "first_text", "answered", "lines", "characters", "shown", "fate", "taken"),
)
KEPT = tuple(f"kept_{seconds}" for seconds in AFTER)
SCHEMA = f"""
    CREATE TABLE suggestion (
        server TEXT, number INTEGER, first INTEGER, at REAL, method TEXT, language TEXT,
        provider TEXT, model TEXT, how TEXT, sent REAL, first_text REAL, answered REAL,
        lines INTEGER, characters INTEGER, shown INTEGER, fate TEXT, taken INTEGER,
        {", ".join(f"{name} REAL" for name in KEPT)},
        PRIMARY KEY (server, number)
    ) WITHOUT ROWID;
    CREATE INDEX suggestion_at ON suggestion (at);
    CREATE TABLE skipped (
        day TEXT, reason TEXT, language TEXT, provider TEXT, count INTEGER,
        PRIMARY KEY (day, reason, language, provider)
    ) WITHOUT ROWID;
"""


def _write(file: Path, batch: Batch, patience: float) -> None:
    marks = ", ".join("?" * len(COLUMNS))
    with _opened(file, patience) as database, database:
        database.executemany(
            f"INSERT INTO suggestion ({', '.join(COLUMNS)}) VALUES ({marks}) "
            "ON CONFLICT DO UPDATE SET shown = excluded.shown, fate = excluded.fate, "
            "taken = excluded.taken",
            [[_storable(getattr(each, name)) for name in COLUMNS] for each in batch.suggestions],
        )
        database.executemany(
            "INSERT INTO skipped VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET count = count + excluded.count",
            [
                (each.day, each.reason, _storable(each.language), _storable(each.provider), count)
                for each, count in batch.nothings.items()
            ],
        )
        for (server, number, seconds), share in batch.kept.items():
            database.execute(
                f"UPDATE suggestion SET kept_{int(seconds)} = ? WHERE server = ? AND number = ?",
                (share, server, number),
            )


def _storable(value: object) -> object:
    """The same as SQLite takes it: it knows no half of a surrogate pair, which JSON can carry."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


@contextmanager
def _opened(file: Path, patience: float = PATIENCE) -> Iterator[sqlite3.Connection]:
    try:
        _make_private(file)
        with closing(sqlite3.connect(file, timeout=patience)) as database:
            _prepare(database)
            yield database
    except OSError as error:
        raise Unusable(error.strerror or str(error)) from error
    except sqlite3.OperationalError as error:
        raise Unusable(str(error)) from error
    except sqlite3.DatabaseError as error:
        raise _Damaged(str(error)) from error


def _make_private(file: Path) -> None:
    """Nobody else may read it, from the first moment on; SQLite makes its other files alike."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if sys.platform != "win32" and file.stat().st_mode & 0o077:
            file.chmod(0o600)


def _prepare(database: sqlite3.Connection) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise NewerVersion(f"version {version}")
    database.execute("PRAGMA synchronous = NORMAL")  # the last seconds may be lost, no more
    # With a log beside it nobody who reads waits for who writes. Changing to that waits for nobody:
    # where another server is in the way it is tried again by the next one.
    with suppress(sqlite3.OperationalError):
        database.execute("PRAGMA journal_mode = WAL")
    if version == VERSION:
        return
    with database:
        database.execute("BEGIN IMMEDIATE")
        # Another server may have been faster.
        if database.execute("PRAGMA user_version").fetchone() == (0,):
            for statement in SCHEMA.split(";"):
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {VERSION}")


def _put_aside(file: Path) -> None:
    try:
        file.replace(file.with_name(f"{FILE}.damaged"))
        for each in _files(file)[1:3]:
            each.unlink(missing_ok=True)
    except OSError as error:
        raise Unusable(str(error)) from error


def _files(file: Path) -> list[Path]:
    """The database, and what SQLite and we keep beside it. Raises `OSError`."""
    beside = [file.with_name(file.name + end) for end in ("-wal", "-shm", ".damaged")]
    return [file, *beside, *found_in(file.parent, waiting_names(file))]


def waiting_names(file: Path) -> str:
    """What the files are called that wait to be written into the database; a pattern."""
    return f"{file.name}.*.waiting"


def _row(values: Sequence[object]) -> Row:
    said = dict(zip(COLUMNS, values[: len(COLUMNS)], strict=True))
    said["shown"] = bool(said["shown"])
    kept = tuple(each if isinstance(each, float) else None for each in values[len(COLUMNS) :])
    return Row(suggestion=Suggestion(**said), kept=kept)  # type: ignore[arg-type]


def _nothing(values: Sequence[Any]) -> tuple[Nothing, int]:
    day, reason, language, provider, count = values
    return Nothing(day=day, reason=reason, language=language, provider=provider), count
