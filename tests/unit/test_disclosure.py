"""Code is shown on request and for no longer, and whatever goes wrong harms no completion."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lsp_completions import disclosure as module
from lsp_completions.disclosure import Disclosure, Wish
from lsp_completions.pipeline.outcome import Skipped, SkipReason
from lsp_completions.private import write_private
from lsp_completions.running import Presence, running, servers_folder
from lsp_completions.trail import Trail

ASKING = """
import sys
from pathlib import Path
from lsp_completions.disclosure import Wish

wish = Wish(Path(sys.argv[1]))
wish.begin()
print("asks", flush=True)
sys.stdin.read()
"""


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Disclosure]:
    monkeypatch.setattr(module, "EVERY", 0.01)
    disclosure = Disclosure(tmp_path)
    await disclosure.begin()
    yield disclosure
    await disclosure.aclose()


def note(server: Disclosure, number: int = 1) -> None:
    server.note(number, Trail(), Skipped(reason=SkipReason.EMPTY))


def code(folder: Path) -> Path:
    return servers_folder(folder) / f"{os.getpid()}.code"


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - threads write files, and other processes lock them
            await asyncio.sleep(0.01)


@contextmanager
def asking(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that asks for code."""
    with subprocess.Popen(
        [sys.executable, "-c", ASKING, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "asks\n"
        try:
            yield process
        finally:
            process.kill()


async def test_where_wishes_cannot_be_looked_for_there_is_none(tmp_path: Path) -> None:
    # Too long a name fails as a folder of another user does, for root as well.
    disclosure = Disclosure(tmp_path / ("x" * 300))
    await disclosure.begin()
    assert not disclosure.is_wanted
    note(disclosure)
    await disclosure.aclose()


async def test_code_stays_as_long_as_one_of_two_asks(tmp_path: Path, server: Disclosure) -> None:
    first, second = Wish(tmp_path), Wish(tmp_path)
    first.begin()
    second.begin()
    note(server)
    await until(code(tmp_path).exists)
    first.end()
    assert second.code_of(os.getpid(), 1) is not None
    note(server, 2)
    await until(lambda: second.code_of(os.getpid(), 2) is not None)
    second.end()
    assert list(servers_folder(tmp_path).iterdir()) == []
    assert not server.is_wanted
    note(server, 3)
    await server.aclose()
    assert list(servers_folder(tmp_path).iterdir()) == []


async def test_what_is_written_just_when_the_last_one_ends_is_removed(
    tmp_path: Path, server: Disclosure, monkeypatch: pytest.MonkeyPatch
) -> None:
    wish, writes = Wish(tmp_path), []

    def late(file: Path, text: str) -> None:
        monkeypatch.setattr(module, "EVERY", 1000)  # until it looks again
        wish.end()
        write_private(file, text)
        writes.append(file.exists())

    monkeypatch.setattr(module, "write_private", late)
    wish.begin()
    note(server)
    await until(lambda: bool(writes) and not code(tmp_path).exists())
    assert writes == [True]


async def test_who_was_killed_asks_no_more(tmp_path: Path, server: Disclosure) -> None:
    with asking(tmp_path) as process:
        note(server)
        await until(code(tmp_path).exists)
        process.kill()
        # Though nothing is asked of the server any more.
        await until(lambda: not any(servers_folder(tmp_path).iterdir()))
    assert not server.is_wanted


async def test_another_process_of_the_same_number_asks_for_nothing(
    tmp_path: Path, server: Disclosure
) -> None:
    wish = servers_folder(tmp_path) / f"{os.getpid()}.abcd.wish"
    wish.touch()
    note(server)
    await until(lambda: not wish.exists())
    await server.aclose()
    assert list(servers_folder(tmp_path).iterdir()) == []


@pytest.mark.parametrize("still_asked", [True, False])
async def test_a_server_removes_what_killed_ones_left(tmp_path: Path, still_asked: bool) -> None:
    wish = Wish(tmp_path)
    wish.begin()
    for name in (f"{os.getppid()}.code", f"{os.getppid()}.code.{os.getppid()}.new"):
        (servers_folder(tmp_path) / name).write_text("x = 1")
    if not still_asked:
        # As after a kill, with its number in use again.
        wish.end()
        (servers_folder(tmp_path) / f"{os.getppid()}.abcd.wish").touch()
        (servers_folder(tmp_path) / f"{os.getppid()}.code").write_text("x = 1")
    disclosure = Disclosure(tmp_path)
    await disclosure.begin()
    assert len(list(servers_folder(tmp_path).iterdir())) == (3 if still_asked else 0)
    await disclosure.aclose()
    wish.end()


async def test_half_of_a_surrogate_pair_is_shown_as_something_else(
    tmp_path: Path, server: Disclosure, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: dict[str, Any] = {"prompt": "x = '\ud800'", "before": "é😀"}
    monkeypatch.setattr("lsp_completions.stages.stages", lambda *_: said)
    wish = Wish(tmp_path)
    wish.begin()
    note(server)
    await until(lambda: wish.code_of(os.getpid(), 1) is not None)
    assert wish.code_of(os.getpid(), 1) == {"prompt": "x = '?'", "before": "é😀"}
    wish.end()


FOREIGN = ["a link", "another user's", "a file"] if os.name == "posix" else ["a file"]


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("which", ["the folder", "the one in it"])
async def test_a_folder_of_somebody_else_s_is_let_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, which: str
) -> None:
    folder, theirs = tmp_path / "run", tmp_path / "theirs"
    (theirs / "servers").mkdir(parents=True)
    for where in (theirs, theirs / "servers"):
        (where / f"{os.getppid()}.json").write_text(json.dumps({"editor": "a lie"}))
        (where / f"{os.getppid()}.abcd.wish").touch()
    at = folder if which == "the folder" else folder / "servers"
    at.parent.mkdir(exist_ok=True)
    match kind:
        case "a link":
            at.symlink_to(theirs if at == folder else theirs / "servers")
        case "a file":
            at.touch()
        case _:
            theirs.rename(folder)
            theirs = folder
            monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    before = sorted(theirs.rglob("*"))

    disclosure, presence = Disclosure(folder), Presence(lambda: dict, folder)
    await disclosure.begin()
    assert not disclosure.is_wanted
    note(disclosure)
    presence.changed()
    async with asyncio.timeout(30):
        while presence._writing is None or not presence._writing.done():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert running(folder) == []
    with pytest.raises(OSError, match=r"not a folder of yours|exists|cannot find|directory"):
        Wish(folder).begin()
    await presence.aclose()
    await disclosure.aclose()
    assert sorted(theirs.rglob("*")) == before
