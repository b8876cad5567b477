"""Framing, whole and byte by byte; the threads on real pipes; the death of a process."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_completions.stdio import Damage, Frames, Reader, Writer, frame, when_gone
from lsp_completions.stdio.framing import MAX_HEADER

TIMEOUT = 20.0

A = {"jsonrpc": "2.0", "id": 1, "method": "a", "params": {"text": "Content-Length: 7\r\n\r\n{}"}}
B = {"jsonrpc": "2.0", "id": 2, "method": "b", "params": {"text": "grüße 🎈"}}
DAMAGE = "damage"


def body(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode()


def wire(message: object, *, off_by: int = 0) -> bytes:
    """`message` framed, with a length that is wrong by `off_by`."""
    data = body(message)
    return b"Content-Length: %d\r\n\r\n%s" % (len(data) + off_by, data)


def fed(data: bytes, *, piece: int) -> list[object]:
    frames = Frames()
    found = []
    for start in range(0, len(data), piece):
        found += frames.feed(data[start : start + piece])
    return [DAMAGE if isinstance(item, Damage) else item for item in found]


STREAMS = [
    pytest.param(wire(A), [A], id="one message"),
    pytest.param(wire(A) + wire(B), [A, B], id="two messages"),
    pytest.param(b"content-length:%d\n\n" % len(body(A)) + body(A), [A], id="lower case, LF"),
    pytest.param(b"CONTENT-LENGTH :\t%d \r\n\r\n" % len(body(A)) + body(A), [A], id="odd spaces"),
    pytest.param(b"Content-Length: 0%d\r\n\r\n" % len(body(A)) + body(A), [A], id="leading zero"),
    pytest.param(
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n" + wire(A),
        [A],
        id="content type first",
    ),
    pytest.param(
        b"Content-Length: %d\r\nContent-Type: x\r\n\r\n" % len(body(A)) + body(A) + wire(B),
        [A, B],
        id="content type last",
    ),
    pytest.param(b"\r\n\n \r\n" + wire(A) + b"\r\n\r\n" + wire(B), [A, B], id="blank lines"),
    pytest.param(frame(b"\xef\xbb\xbf" + body(A)), [A], id="byte-order mark in the body"),
    pytest.param(frame(b"\r\n {\n\n}\r\n\r\n") + wire(B), [{}, B], id="blank lines in the JSON"),
    pytest.param(frame(b"[]") + frame(b"17") + frame(b"null"), [[], 17, None], id="no objects"),
    pytest.param(frame(b'{"a":') + wire(B), [DAMAGE, B], id="not JSON"),
    pytest.param(frame(b"{}{}") + wire(B), [DAMAGE, B], id="two values in one body"),
    pytest.param(frame(b"\xff\xfe") + wire(B), [DAMAGE, B], id="not UTF-8"),
    pytest.param(frame(b"[" * 100_000) + wire(B), [DAMAGE, B], id="nested too deeply"),
    pytest.param(frame(b"1" * 5_000) + wire(B), [DAMAGE, B], id="a number too long for Python"),
    pytest.param(frame(b"") + wire(B), [DAMAGE, B], id="an empty body"),
    pytest.param(frame(b"{") + frame(b"}") + wire(B), [DAMAGE, DAMAGE, B], id="twice not JSON"),
    pytest.param(b"Content-Length: x\r\n\r\n{}" + wire(B), [DAMAGE, B], id="length is no number"),
    pytest.param(b"Content-Length: -2\r\n\r\n{}" + wire(B), [DAMAGE, B], id="length is negative"),
    pytest.param(b"Content-Lenth: 2\r\n\r\n{}" + wire(B), [DAMAGE, B], id="length is misspelled"),
    pytest.param(b"{}\r\n\r\n" + wire(B), [DAMAGE, B], id="no header at all"),
    pytest.param(b"Content-Length: 9999\r\n" + wire(B), [B], id="the last length counts"),
    pytest.param(b"hello\n" + wire(B), [DAMAGE, B], id="a line of chatter"),
    pytest.param(b"h" * 3 * MAX_HEADER + wire(B), [DAMAGE, B], id="a long line of chatter"),
    pytest.param(
        b"X: " + b"h" * 3 * MAX_HEADER + b"\r\n" + wire(B), [DAMAGE, B], id="a long header line"
    ),
    pytest.param(b"Content-Length: 99999999999\r\n\r\n" + wire(B), [DAMAGE, B], id="100 GB"),
    pytest.param(
        b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n" + wire(B), [DAMAGE, B], id="a long number"
    ),
    pytest.param(wire(A, off_by=-1) + wire(B), [DAMAGE, B], id="length too small by one"),
    pytest.param(wire(A, off_by=-60) + wire(B), [DAMAGE, B], id="length too small by many"),
    pytest.param(wire(A, off_by=1) + wire(B), [A, B], id="length too large by one"),
    pytest.param(wire(A, off_by=24) + wire(B), [A, B], id="length ends in the next body"),
    pytest.param(wire(A, off_by=10**6) + wire(B), [A, B], id="length too large by a million"),
    pytest.param(wire(A, off_by=-1) + wire(A, off_by=1) + wire(B), [DAMAGE, A, B], id="both"),
    pytest.param(
        b"Content-Length: 1\r\n\r\n{x" + b"Content-Length: 1\r\n\r\n" + wire(B),
        [DAMAGE, DAMAGE, B],
        id="too short, then a body left out",
    ),
    pytest.param(
        b"Content-Length: 1000\r\n\r\n{xContent-Length: 30\r\n\r\n{y" + wire(B),
        [DAMAGE, DAMAGE, B],
        id="not JSON and too long",
    ),
    pytest.param(
        wire(A, off_by=45) + b"Content-Type: application/vscode-jsonrpc\r\n" + wire(B),
        [A, B],
        id="length too large, two header lines",
    ),
]


@pytest.mark.parametrize("piece", [1, 7, 10**9], ids=["byte by byte", "in sevens", "whole"])
@pytest.mark.parametrize(("stream", "found"), STREAMS)
def test_messages_in_a_stream(stream: bytes, found: list[object], piece: int) -> None:
    assert fed(stream, piece=piece) == found


@pytest.mark.parametrize("off_by", range(-len(body(A)), 2 * len(wire(B))))
def test_a_wrong_length_never_costs_the_next_message(off_by: int) -> None:
    for piece in (1, 10**9):
        assert fed(wire(A, off_by=off_by) + wire(B) + wire(B), piece=piece)[-2:] == [B, B]


def test_a_message_arrives_as_soon_as_it_is_complete() -> None:
    frames = Frames()
    assert frames.feed(wire(A)[:-1]) == []
    assert frames.feed(wire(A)[-1:]) == [A]


def test_what_is_too_long_is_refused_once_and_passed_over_in_bounded_memory() -> None:
    frames = Frames(max_body=1_000)
    text = body({"text": "x" * 100_000})
    [damage] = [item for _ in range(100) for item in frames.feed(frame(text))]
    assert isinstance(damage, Damage)
    assert len(frames._buffer) <= MAX_HEADER
    assert frames.feed(wire({})) == [{}]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(b"[" + b"1,\n\n" * 500_000 + b"1]", [1] * 500_001, id="JSON of blank lines"),
        pytest.param(b"\n" * 1_000_000, DAMAGE, id="nothing but blank lines"),
        pytest.param(b"content-" * 500_000 + b"{", DAMAGE, id="what a header begins with"),
        pytest.param(
            b"content-length: 1\n" * 30_000 + b"{", DAMAGE, id="lines that look like headers"
        ),
    ],
)
def test_no_body_takes_longer_than_its_length(text: bytes, found: object) -> None:
    # Where each line looked at all before it, this would take minutes.
    assert fed(frame(text) + wire(B), piece=65_536) == [found, B]


def test_a_reason_quotes_nothing() -> None:
    for data in (frame(b'{"secret": '), frame(b"secret\xff"), b"secret\n\n", frame(b"[" * 9_999)):
        [damage] = Frames().feed(data)
        assert isinstance(damage, Damage)
        assert "secret" not in damage.reason


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=5), st.integers(1, 40))
def test_whatever_is_framed_comes_out(values: list[object], piece: int) -> None:
    stream = b"".join(frame(json.dumps(value).encode()) for value in values)
    assert fed(stream, piece=piece) == values


rubbish = st.lists(
    st.binary(max_size=20)
    | st.sampled_from(
        [b"\r\n\r\n", b"\n\n", b"Content-Length:", b"Content-Length: 9\r\n\r\n", b"{"]
    )
    | st.builds(wire, json_values, off_by=st.integers(-5, 40)),
    max_size=6,
).map(b"".join)


@given(rubbish)
def test_rubbish_means_the_same_however_it_is_split(data: bytes) -> None:
    assert fed(data, piece=1) == fed(data, piece=10**9) == fed(data, piece=5)


@given(st.binary(max_size=60))
def test_a_message_survives_rubbish_before_it(data: bytes) -> None:
    assert fed(data + wire(A), piece=10**9)[-1] == A


# ---- threads


@pytest.fixture
def pipe() -> tuple[int, int]:
    return os.pipe()


def read_all(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def test_messages_are_written_in_order(pipe: tuple[int, int]) -> None:
    writer = Writer(pipe[1])
    for number in range(1_000):
        writer.write(frame(b"%d" % number))
    writer.start()
    writer.close()
    assert read_all(pipe[0]) == b"".join(frame(b"%d" % number) for number in range(1_000))


def test_an_editor_that_does_not_read_stops_no_writer(
    pipe: tuple[int, int],
) -> None:
    writer = Writer(pipe[1], max_unread=500_000)
    writer.start()
    for _ in range(10):
        writer.write(b"x" * 100_000)

    assert not writer.has_room.is_set()
    assert not writer.flush(0.01)

    writer.close()
    assert len(read_all(pipe[0])) == 1_000_000
    assert writer.has_room.is_set()
    assert writer.flush(TIMEOUT)


def test_an_editor_that_hangs_up_is_reported_once(pipe: tuple[int, int]) -> None:
    reports: list[str] = []
    broken = threading.Event()

    def on_broken() -> None:
        reports.append("broken")
        broken.set()

    writer = Writer(pipe[1], on_broken=on_broken)
    os.close(pipe[0])
    writer.start()
    writer.write(b"{}")
    assert broken.wait(TIMEOUT)
    writer.write(b"{}")
    assert writer.flush(TIMEOUT)
    assert writer.has_room.is_set()
    assert reports == ["broken"]


class Reading:
    """A reader on a pipe, and what it handed over."""

    def __init__(self, descriptor: int) -> None:
        self.batches: list[list[object]] = []
        self.ended = asyncio.Event()
        self.may_read = threading.Event()
        self.may_read.set()
        self.loop = asyncio.get_running_loop()
        self.arrived = asyncio.Event()
        Reader(
            descriptor,
            on_messages=self._on_messages,
            on_end=self._on_end,
            may_read=self.may_read,
        ).start(self.loop)

    def _on_end(self) -> None:
        self.loop.call_soon_threadsafe(self.ended.set)

    def _on_messages(self, batch: list[object]) -> None:
        self.batches.append(batch)
        self.arrived.set()


async def test_what_was_written_together_is_seen_together(pipe: tuple[int, int]) -> None:
    reading = Reading(pipe[0])
    os.write(pipe[1], wire(A) + wire(B))
    os.close(pipe[1])
    await asyncio.wait_for(reading.ended.wait(), TIMEOUT)
    assert reading.batches == [[A, B]]


async def test_nothing_more_is_read_while_the_editor_does_not_read(pipe: tuple[int, int]) -> None:
    reading = Reading(pipe[0])
    reading.may_read.clear()
    os.write(pipe[1], wire(A))
    await asyncio.wait_for(reading.arrived.wait(), TIMEOUT)
    os.write(pipe[1], wire(B))
    os.close(pipe[1])
    assert reading.batches == [[A]]
    assert not reading.ended.is_set()

    reading.may_read.set()
    await asyncio.wait_for(reading.ended.wait(), TIMEOUT)
    assert reading.batches == [[A], [B]]


# ---- the death of a process


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.wait()
    assert process.stdin is not None
    process.stdin.close()


@pytest.mark.parametrize("how", ["waits for it", "looks at intervals"])
def test_the_end_of_a_process_is_noticed(
    sleeper: "subprocess.Popen[bytes]", how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lsp_completions.stdio import watch

    if how == "looks at intervals":
        never: Callable[[int], None] = lambda pid: None  # noqa: E731
        monkeypatch.setattr(watch, "_end_of", never)
        monkeypatch.setattr(watch, "INTERVAL", 0.01)
    gone = threading.Event()
    assert when_gone(sleeper.pid, gone.set)
    assert not gone.is_set()
    sleeper.kill()
    sleeper.wait()
    assert gone.wait(TIMEOUT)


@pytest.mark.parametrize("pid", [0, -1, 2**30, 2**70], ids=["0", "-1", "none such", "no pid"])
def test_a_process_that_cannot_be_seen_is_not_watched(pid: int) -> None:
    assert not when_gone(pid, lambda: pytest.fail("it was"))
