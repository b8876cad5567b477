"""What we write is for its user alone, whichever part of us writes first."""

import asyncio
import logging
import os
import stat
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

from lsp_completions.configuration.trust import trust
from lsp_completions.credentials.logins import Login, Logins
from lsp_completions.local_model.client import _open_log
from lsp_completions.log_file import OURS, LogFile
from lsp_completions.once import first_time
from lsp_completions.private import make_private, write_private
from lsp_completions.running import make_servers_folder
from lsp_completions.secret import Secret
from lsp_completions.statistics.records import Batch
from lsp_completions.statistics.store import database_file, write


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """One that is not there yet, of somebody who lets everybody read what they make."""
    before = os.umask(0)
    yield tmp_path / "ours"
    os.umask(before)


def a_login(folder: Path) -> None:
    token = Secret("sgp_quark")
    login = Login(endpoint="https://a", user="ada", since=date(2026, 5, 3), token=token)
    Logins(folder).add(login)


def a_log(folder: Path) -> None:
    log, logger = LogFile(folder=folder), logging.getLogger(OURS)
    level = logger.level

    async def begin() -> None:
        await log.begin("the first line")
        await log.aclose()

    asyncio.run(begin())
    logger.setLevel(level)
    assert log.file is not None


@pytest.mark.parametrize(
    "make",
    [
        a_login,
        a_log,
        pytest.param(lambda folder: first_time("this", folder), id="what was told"),
        pytest.param(lambda folder: trust("https://a", folder), id="a trusted host"),
        pytest.param(lambda folder: write(database_file(folder), Batch()), id="statistics"),
        pytest.param(lambda folder: _open_log(folder / "model.log").close(), id="the model's log"),
        pytest.param(make_servers_folder, id="which servers run"),
    ],
)
def test_everything_is_for_its_user_alone(folder: Path, make: Callable[[Path], object]) -> None:
    make(folder)
    made = [folder, *folder.rglob("*")]
    assert folder.is_dir()
    if os.name == "posix":
        wanted = {each: 0o700 if each.is_dir() else 0o600 for each in made}
        assert {each: stat.S_IMODE(each.stat().st_mode) for each in made} == wanted


def test_what_could_not_be_written_whole_is_not_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_private(folder)
    write_private(folder / "a", "before")

    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space"):
        write_private(folder / "a", "quark")
    assert [each.read_text() for each in folder.iterdir()] == ["before"]
