"""The log: for its user alone, of bounded size, and never in anybody's way."""

import asyncio
import io
import logging
import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from lsp_completions import life_cycle, log_file
from lsp_completions.cli.log import Following, end_of, log
from lsp_completions.errors import ModelFailed
from lsp_completions.life_cycle import Lines, trace
from lsp_completions.log_file import OURS, Formatter, LogFile, log_folder, logs, process_of

logger = logging.getLogger(f"{OURS}.test")


@pytest.fixture(autouse=True)
def level() -> Iterator[None]:
    """The logger as it was."""
    logger = logging.getLogger(OURS)
    before = logger.level
    yield
    logger.setLevel(before)


async def written(folder: Path, *words: str, level: str = "warning") -> LogFile:
    log = LogFile(folder=folder)
    log.level(level)
    await log.begin("the first line")
    for word in words:
        logging.getLogger(f"{OURS}.server").info("%s", word)
        logging.getLogger(f"{OURS}.server").debug("of debugging: %s", word)
        logging.getLogger("somebody.else").critical("%s of a library", word)
    await log.aclose()
    return log


async def test_it_holds_what_we_say_and_not_what_libraries_say(tmp_path: Path) -> None:
    log = await written(tmp_path, "inline a.py: suggested")
    assert log.file is not None
    text = log.file.read_text()
    assert [line.partition(" INFO ")[2] for line in text.splitlines()] == [
        "the first line",
        "inline a.py: suggested",
    ]
    assert logs(tmp_path) == [log.file]
    assert process_of(log.file) == os.getpid()
    if os.name == "posix":
        assert stat.S_IMODE(log.file.stat().st_mode) == 0o600
        assert stat.S_IMODE(log.file.parent.stat().st_mode) == 0o700


async def test_more_is_written_where_more_is_asked_for(tmp_path: Path) -> None:
    log = await written(tmp_path, "a", level="debug")
    assert log.file is not None
    assert "of debugging: a" in log.file.read_text()


async def test_what_is_said_before_there_is_a_file_is_in_it(tmp_path: Path) -> None:
    log = LogFile(folder=tmp_path)
    log.hold("the first line")
    logging.getLogger(f"{OURS}.server").info("inline a.py: suggested")
    await log.begin("the first line")
    await log.aclose()
    assert log.file is not None
    assert [line.partition(" INFO ")[2] for line in log.file.read_text().splitlines()] == [
        "the first line",
        "inline a.py: suggested",
    ]


async def test_after_it_is_closed_nothing_is_written(tmp_path: Path) -> None:
    log = await written(tmp_path)
    assert log.file is not None
    logging.getLogger(OURS).warning("late")
    assert "late" not in log.file.read_text()


async def test_its_size_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "SIZE", 1000)
    log = await written(tmp_path, *(f"line {number}" for number in range(200)))
    assert log.file is not None
    sizes = [each.stat().st_size for each in log_folder(tmp_path).iterdir()]
    assert len(sizes) == 2
    assert max(sizes) <= 1000
    assert end_of(log.file, 2)[-1].endswith("line 199\n")
    assert len(end_of(log.file, 10)) == 10


async def test_the_logs_of_few_servers_are_kept(tmp_path: Path) -> None:
    folder = log_folder(tmp_path)
    folder.mkdir()
    for number in range(20):
        (folder / f"20260101-0000{number:02}-0.log").write_text("x")
        (folder / f"20260101-0000{number:02}-0.log.1").write_text("x")
    await written(tmp_path)
    assert len(logs(tmp_path)) == log_file.SERVERS
    assert (folder / "20260101-000019-0.log.1").exists()
    assert not (folder / "20260101-000000-0.log.1").exists()


async def test_where_none_can_be_written_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("not a folder")
    log = await written(tmp_path, "a")
    assert log.file is None
    with pytest.raises(NotADirectoryError):
        logs(tmp_path)


FORGED = "2026-01-01 00:00:00.000 INFO inline mine.py: suggested (1 ms)"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\v", "\f", "\x85", "\u2028", "\n  "])
@pytest.mark.parametrize(
    "say",
    [
        pytest.param(lambda text: logger.info("inline %s: suggested", text), id="a file's name"),
        pytest.param(lambda text: logger.info("%s", ModelFailed(text)), id="what a server says"),
        pytest.param(lambda text: logger.info("%(path)s", {"path": text}), id="a name's value"),
        pytest.param(lambda text: logger.info(text), id="a library's sentence"),
        pytest.param(lambda text: logger.error("%s", trace(ModelFailed(text))), id="an error"),
        pytest.param(lambda text: logger.error("x", exc_info=ModelFailed(text)), id="an exception"),
    ],
)
async def test_nothing_forges_a_line(tmp_path: Path, say: Callable[[str], None], end: str) -> None:
    stderr = io.StringIO()
    handler = logging.StreamHandler(stderr)
    handler.setFormatter(Formatter("%(levelname)s %(message)s"))
    log = LogFile(handler, tmp_path)
    log.level("info")
    await log.begin("the first line")
    logger.addHandler(handler)
    try:
        say(f"a.py{end}{FORGED}")
    finally:
        logger.removeHandler(handler)
    await log.aclose()
    assert log.file is not None
    for text in (log.file.read_text(encoding="utf-8"), stderr.getvalue()):
        assert FORGED in text
        assert not [line for line in text.splitlines() if line.strip().startswith(FORGED)]


async def test_where_a_mistake_of_ours_happened_is_several_lines(tmp_path: Path) -> None:
    log = LogFile(folder=tmp_path)
    await log.begin("the first line")
    code = f"qua{'rk'}\n{FORGED}"
    try:
        raise ValueError(code)
    except ValueError as error:
        logger.error("failed: %s", trace(error))
        logger.exception("failed as well")
    await log.aclose()
    assert log.file is not None
    text = log.file.read_text(encoding="utf-8")
    assert text.count("ValueError\n  File ") == 2
    assert text.count(Path(__file__).name) == 2
    assert "quark" not in text


async def test_what_a_callback_was_given_is_not_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("quark")

    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(life_cycle._on_loop_error)
    try:
        loop.call_soon(fail, "quark")
        loop.call_soon(partial(fail, Lines("quark")), Lines("quark"))
        await asyncio.sleep(0)
    finally:
        loop.set_exception_handler(before)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert all("fail" in each and "ValueError" in each for each in said)
    assert not any("quark" in each.replace('ValueError("quark")', "") for each in said)


def test_a_file_s_name_does_nothing_to_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "20260101-000000-0.log"
    file.write_text("inline \x1b[2Ja.py: suggested\n", encoding="utf-8")
    monkeypatch.setattr("lsp_completions.cli.log.logs", lambda: [file])
    log(lines=9, follow=False)
    assert capsys.readouterr().out == "inline ␛[2Ja.py: suggested\n"


def test_following_several_logs(tmp_path: Path) -> None:
    folder = log_folder(tmp_path)
    folder.mkdir()
    ours, other = (folder / f"2026010{n}-000000-{os.getpid()}.log" for n in (1, 2))
    dead = folder / "20260103-000000-0.log"
    ours.write_text("one\ntwo\nthree\n")
    dead.write_text("long ago\n")
    following = Following(2, tmp_path)
    head = f"--- process {os.getpid()}\n"
    assert following.news() == [head, "two\n", "three\n"]
    assert following.news() == []
    with ours.open("a") as opened:
        opened.write("four\n")
    other.write_text("from the start\n")
    assert following.news() == ["four\n", head, "from the start\n"]
    # Full, and begun anew.
    ours.rename(ours.with_name(f"{ours.name}.1"))
    ours.write_text("five\n")
    assert following.news() == [head, "five\n"]
