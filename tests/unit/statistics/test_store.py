"""The database of statistics: private, shared by several servers, and never in anybody's way."""

import os
import sqlite3
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

from lsp_completions.statistics.records import (
    DAY,
    Batch,
    NewerVersion,
    Nothing,
    Suggestion,
    Unusable,
)
from lsp_completions.statistics.store import KEPT_DAYS, database_file, delete, prune, read, write

NOW = 1_800_000_000.0
ONE = Suggestion(
    server="s",
    number=1,
    first=1,
    at=NOW,
    method="inline",
    language="python",
    provider="sourcegraph",
    model="m",
    how="ASKED",
    sent=1.0,
    first_text=200.0,
    answered=250.5,
    lines=1,
    characters=8,
)
EMPTY = Nothing(day="2027-01-15", reason="EMPTY", language="python", provider="sourcegraph")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return database_file(tmp_path / "state")


def test_what_was_written_is_read_and_later_news_replaces_it(file: Path) -> None:
    write(file, Batch(suggestions=[ONE], nothings={EMPTY: 2}))
    write(
        file,
        Batch(
            suggestions=[replace(ONE, fate="ACCEPTED", taken=8, first=9)],
            nothings={EMPTY: 3},
            kept={("s", 1, 30): 1.0, ("s", 1, 600): 0.5},
        ),
    )
    held = read(file, NOW - DAY)
    assert [row.suggestion for row in held.rows] == [replace(ONE, fate="ACCEPTED", taken=8)]
    assert held.rows[0].kept == (1.0, None, 0.5)
    assert held.nothings == {EMPTY: 5}
    assert read(file, NOW + 2 * DAY).rows == []


def test_half_of_a_surrogate_pair_keeps_nothing_from_being_counted(file: Path) -> None:
    odd = replace(ONE, language="a\ud800", provider="b\udfff", model="c\ud83d")
    nothings = {replace(EMPTY, language=name): 1 for name in ("\ud800", "\udfff", "é😀")}
    write(file, Batch(suggestions=[odd, replace(ONE, number=2)], nothings=nothings))
    held = read(file, 0)
    names = {
        (each.language, each.provider, each.model) for each in (r.suggestion for r in held.rows)
    }
    assert names == {("a?", "b?", "c?"), ("python", "sourcegraph", "m")}
    assert {each.language: count for each, count in held.nothings.items()} == {"?": 2, "é😀": 1}


def test_what_waits_is_deleted_too(file: Path) -> None:
    file.parent.mkdir()
    file.with_name(f"{file.name}.abcd.waiting").touch()
    assert delete(file)
    assert list(file.parent.iterdir()) == []
    assert not delete(file)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a profile from others")
def test_nobody_else_may_read_it(file: Path) -> None:
    before = os.umask(0)
    try:
        write(file, Batch(suggestions=[ONE]))
        with sqlite3.connect(file) as other:  # keeps the files that SQLite has beside it
            other.execute("SELECT * FROM suggestion").fetchall()
            write(file, Batch(suggestions=[replace(ONE, number=2)]))
            modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in file.parent.iterdir()}
        other.close()
    finally:
        os.umask(before)
    assert set(modes) == {file.name, f"{file.name}-wal", f"{file.name}-shm"}
    assert set(modes.values()) == {0o600}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a profile from others")
def test_one_that_others_may_read_is_closed_to_them(file: Path) -> None:
    write(file, Batch(suggestions=[ONE]))
    file.chmod(0o644)
    write(file, Batch(suggestions=[ONE]))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_several_servers_write_at_once(file: Path) -> None:
    def work(server: int) -> None:
        for number in range(1, 11):
            one = replace(ONE, server=str(server), number=number)
            write(file, Batch(suggestions=[one], nothings={EMPTY: 1}))

    with ThreadPool(4) as pool:
        pool.map(work, range(4))
    held = read(file, 0)
    assert len(held.rows) == 40
    assert held.nothings == {EMPTY: 40}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"no database\n" * 100, id="another file"),
        pytest.param(b"SQLite format 3\0" + b"\xff" * 4096, id="a damaged one"),
    ],
)
def test_what_is_no_database_is_put_aside(file: Path, content: bytes) -> None:
    file.parent.mkdir()
    file.write_bytes(content)
    with pytest.raises(Unusable):
        read(file, 0)
    write(file, Batch(suggestions=[ONE]))
    assert len(read(file, 0).rows) == 1
    assert file.with_name("statistics.db.damaged").read_bytes() == content


def test_a_locked_one_is_left_alone(file: Path) -> None:
    write(file, Batch(suggestions=[ONE]))
    other = sqlite3.connect(file)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unusable, match="locked"):
            write(file, Batch(suggestions=[replace(ONE, number=2)]), patience=0)
    finally:
        other.close()
    assert len(read(file, 0).rows) == 1


def test_one_of_a_newer_version_is_left_as_it_is(file: Path) -> None:
    write(file, Batch(suggestions=[ONE]))
    with sqlite3.connect(file) as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(NewerVersion):
        write(file, Batch(suggestions=[ONE]))
    assert file.exists()


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda file: write(file, Batch(suggestions=[ONE])), id="to write"),
        pytest.param(lambda file: prune(file, NOW), id="to prune"),
        pytest.param(lambda file: read(file, 0), id="to read"),
    ],
)
def test_a_folder_in_its_place_is_said(file: Path, use: Callable[[Path], object]) -> None:
    file.mkdir(parents=True)
    with pytest.raises(Unusable):
        use(file)


def test_what_is_old_is_forgotten(file: Path) -> None:
    old = replace(ONE, number=2, at=NOW - (KEPT_DAYS + 1) * DAY)
    long_ago = replace(EMPTY, day="2026-01-01")
    write(file, Batch(suggestions=[ONE, old], nothings={EMPTY: 1, long_ago: 1}))
    prune(file, NOW)
    held = read(file, 0)
    assert [row.suggestion.number for row in held.rows] == [1]
    assert held.nothings == {EMPTY: 1}


def test_nothing_is_made_by_looking_or_pruning(file: Path) -> None:
    assert read(file, 0).rows == ()
    prune(file, NOW)
    assert not file.parent.exists()
    assert not delete(file)


def test_it_can_be_deleted(file: Path) -> None:
    write(file, Batch(suggestions=[ONE]))
    assert delete(file)
    assert list(file.parent.iterdir()) == []
