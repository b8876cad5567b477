"""Servers tell of themselves in a small file; what dead ones left is removed."""

import asyncio
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from lsp_completions.running import Presence, running, servers_folder


@pytest.fixture
def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(60)
    return process.pid


async def told(presence: Presence, folder: Path) -> None:
    presence.changed()
    file = servers_folder(folder) / f"{os.getpid()}.json"
    async with asyncio.timeout(20):
        while not file.exists():  # noqa: ASYNC110 - a thread writes it
            await asyncio.sleep(0.01)


async def test_a_server_is_listed_while_it_runs(tmp_path: Path) -> None:
    presence = Presence(lambda: lambda: {"editor": "Helix"}, tmp_path)
    await told(presence, tmp_path)
    (server,) = running(tmp_path)
    assert (server["pid"], server["editor"]) == (os.getpid(), "Helix")
    (file,) = servers_folder(tmp_path).iterdir()
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    await presence.aclose()
    assert running(tmp_path) == []
    assert list(servers_folder(tmp_path).iterdir()) == []
    presence.changed()  # which does nothing any more


async def test_many_changes_are_one_write(tmp_path: Path) -> None:
    writes: list[int] = []
    presence = Presence(lambda: lambda: writes.append(1) or {}, tmp_path)  # type: ignore[func-returns-value]
    for _ in range(100):
        presence.changed()
    await told(presence, tmp_path)
    for _ in range(100):
        presence.changed()
    await presence.aclose()
    assert len(writes) == 1


async def test_where_nothing_can_be_written_nothing_breaks(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    presence = Presence(lambda: dict, tmp_path / "file")
    presence.changed()
    await asyncio.sleep(0)
    await presence.aclose()
    assert running(tmp_path / "file") == []


def test_what_a_dead_server_left_is_removed(tmp_path: Path, gone: int) -> None:
    folder = servers_folder(tmp_path)
    folder.mkdir()
    for name, text in (
        (f"{gone}.json", "{}"),
        (f"{gone}.code", "x = 1"),
        (f"wants-code.{gone}.new", f"{gone}"),
        (f"{10**20}.json", "{}"),
        (f"{os.getpid()}.json", "half of i"),
        (f"{os.getpid()}.code.{os.getpid()}.new", "half of i"),
        (f"wants-code.{os.getpid()}.new", "half of i"),
    ):
        (folder / name).write_text(text)
    assert running(tmp_path) == []
    # Its own is being written, perhaps.
    assert {each.name for each in folder.iterdir()} == {
        f"{os.getpid()}.json",
        f"{os.getpid()}.code.{os.getpid()}.new",
        f"wants-code.{os.getpid()}.new",
    }


def test_the_newest_comes_first(tmp_path: Path) -> None:
    folder = servers_folder(tmp_path)
    folder.mkdir()
    for pid, started in ((os.getpid(), 1.0), (os.getppid(), 2.0)):
        (folder / f"{pid}.json").write_text(json.dumps({"started": started}))
    assert [each["started"] for each in running(tmp_path)] == [2.0, 1.0]
