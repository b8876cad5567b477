"""Whatever a backend does, the real process ends the request in time, says why, and goes on."""

import asyncio
import contextlib
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from tests.e2e.test_completions import INLINE, NEOVIM, SERVER, texts
from tests.support import jumping_clocks
from tests.support.lsp_client import LspClient
from tests.support.raw_http import (
    CLOSE,
    HALF,
    HOLD,
    RESET,
    RawServer,
    Reply,
    Request,
    chunked,
    head,
    sse,
)
from tests.support.raw_http import whole as whole_reply
from tests.support.sourcegraph import TOKEN

# Seconds; the sentences name them, which is how it is seen that the deadline came and no other.
OPTIONS = {"connectTimeout": 2, "firstEventTimeout": 0.5, "totalTimeout": 0.9, "delay": 0}
FIRST, TOTAL = "within 0.5 s", "within 0.9 s"
DELTA = b'event: completion\ndata: {"deltaText":"1","completion":"1"}\n\n'
DONE = b"event: done\ndata: {}\n\n"
GOOD = sse(DELTA, DONE)
ENDLESS = head("Content-Type: text/event-stream")  # as long as the connection
STREAM = head("Content-Type: text/event-stream", "Transfer-Encoding: chunked")


class Backend(RawServer):
    """Knows nothing but completions; what it answers to those may be changed at any time."""

    says: Reply = GOOD
    loop: asyncio.AbstractEventLoop

    def reply(self, request: Request) -> Reply:
        if "ContextFilters" in request.line:
            return whole_reply(b'{"data":{"site":{"codyContextFilters":{"raw":null}}}}')
        if "/completions/code" not in request.line:
            return whole_reply(b"{}", status="404 Not Found")
        return self.says


@contextmanager
def running(port: int = 0, host: str = "127.0.0.1") -> Iterator[Backend]:
    """A backend in a thread of its own."""
    loop = asyncio.new_event_loop()
    backend = Backend(port=port, host=host)
    backend.loop = loop
    loop.run_until_complete(backend.__aenter__())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield backend
    finally:
        asyncio.run_coroutine_threadsafe(backend.__aexit__(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.run_until_complete(asyncio.sleep(0))
        # Who came as the door was being closed is let in first.
        for _ in range(5):
            loop.run_until_complete(asyncio.sleep(0))
            for writer in list(backend.writers.values()):
                writer.transport.abort()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


numbers = count(1)


class Editor:
    """An editor that asks for one completion after another."""

    def __init__(self, client: LspClient, **options: float) -> None:
        self.client = client
        client.initialize(NEOVIM, rootUri="file:///w", initializationOptions={**OPTIONS, **options})

    def completes(self) -> list[str]:
        """What is suggested in a new document."""
        uri = f"file:///w/{next(numbers)}.py"
        document = {"uri": uri, "languageId": "python", "version": 1, "text": "x = "}
        self.client.notify("textDocument/didOpen", {"textDocument": document})
        place = {"line": 0, "character": 4}
        at = {"textDocument": {"uri": uri}, "position": place, "context": {"triggerKind": 2}}
        return texts(self.client.result(INLINE, at))

    def begins_anew(self) -> None:
        """Something is set otherwise, so that whoever failed is asked again."""
        settings = {**OPTIONS, "maxTokens": 10 + next(numbers)}
        self.client.notify(
            "workspace/didChangeConfiguration", {"settings": {"lspCompletions": settings}}
        )
        self.client.settle()
        while self.client.waiting():
            self.client.next()

    def warms_up(self) -> None:
        """The first completion may take longer than these deadlines allow."""
        for _ in range(20):
            if self.completes():
                return
            self.begins_anew()
        raise AssertionError(self.client.stderr)

    def told(self) -> list[str]:
        """The messages since then."""
        self.client.settle()
        waiting = [self.client.next() for _ in self.client.waiting()]
        return [each["params"]["message"] for each in waiting if "message" in each["params"]]


@contextmanager
def at_work(*argv: str) -> Iterator[tuple[Editor, Backend]]:
    """An editor that has asked once already."""
    with (
        running() as backend,
        LspClient.start(
            argv,
            env={
                "SRC_ENDPOINT": backend.url.removesuffix("/complete"),
                "SRC_ACCESS_TOKEN": TOKEN,
            },
        ) as client,
    ):
        editor = Editor(client)
        editor.warms_up()
        yield editor, backend
        assert client.stop() == 0
        for unwanted in (TOKEN, "Traceback", "never awaited"):
            assert unwanted not in client.stderr
        assert client.junk == b""


@pytest.fixture(scope="module")
def desk() -> Iterator[tuple[Editor, Backend]]:
    with at_work(*SERVER) as pair:
        yield pair


def pings(gap: float) -> Reply:
    """Comments for ever, or nearly."""
    return [
        STREAM,
        *[step for _ in range(200) for step in (chunked(b": ping\n\n", end=False), gap)],
    ]


def drips(text: bytes, gap: float) -> list[Any]:
    """One byte at a time."""
    return [step for byte in text for step in (chunked(bytes([byte]), end=False), gap)]


FAULTS = [
    pytest.param([HOLD], FIRST, id="says nothing"),
    pytest.param([b"HTTP/1.1 200", HOLD], FIRST, id="stops within the head"),
    pytest.param([STREAM, HOLD], FIRST, id="stops after the head"),
    pytest.param(pings(0.02), FIRST, id="keeps alive for ever"),
    pytest.param([STREAM, *drips(b": " + b"x" * 200, 0.02)], FIRST, id="drips a comment"),
    pytest.param([STREAM, *drips(DELTA * 9, 0.02)], "within", id="drips events"),
    pytest.param([STREAM, chunked(DELTA, end=False), HOLD], TOTAL, id="stops after some text"),
    pytest.param(
        [STREAM, chunked(DELTA, end=False), *pings(0.02)[1:]], TOTAL, id="text, then keep-alives"
    ),
    pytest.param(
        sse(*[b'event: completion\ndata: {"deltaText":"' + b"x" * 99_000] * 50),
        "more than 1 MiB",
        id="an event of 5 MB",
    ),
    pytest.param(
        [head("Content-Type: application/json", f"Content-Length: {6 * 10**6}"), b"[1," * 10**6],
        "more than 1 MiB",
        id="a page of megabytes",
    ),
    pytest.param([CLOSE], "closed the connection", id="hangs up"),
    pytest.param([b"HTTP/1.1 200 O", CLOSE], "closed the connection", id="hangs up in the head"),
    pytest.param([RESET], "broke", id="resets"),
    pytest.param([STREAM, chunked(DELTA, end=False), CLOSE], "broke off", id="hangs up in between"),
    pytest.param([STREAM, chunked(DELTA, end=False), RESET], "broke", id="resets in between"),
    pytest.param([HALF, HOLD], "closed the connection", id="ends its half"),
    pytest.param(
        [STREAM, chunked(DELTA, end=False), HALF, HOLD], "broke off", id="ends its half in between"
    ),
    pytest.param([ENDLESS, DELTA, RESET], "broke", id="resets a body without a length"),
    pytest.param([ENDLESS, DELTA[:-9], CLOSE], "broke off", id="cuts a body without a length"),
    pytest.param([STREAM, b"zz\r\nwhat"], "does not speak HTTP", id="a chunk that is none"),
    pytest.param(
        [head("Content-Type: text/event-stream", "Content-Length: 999"), DELTA, CLOSE],
        "broke off",
        id="shorter than said",
    ),
    pytest.param(
        [head("Content-Type: text/event-stream", "Content-Length: -5"), DELTA],
        "does not speak HTTP",
        id="a length that is none",
    ),
    pytest.param([b"SSH-2.0-OpenSSH\r\n\r\n", CLOSE], "does not speak HTTP", id="another protocol"),
    pytest.param([b"\x15\x03\x01\x00\x02\x02\x28", CLOSE], "", id="TLS where there should be none"),
    pytest.param(sse(b"event: completion\ndata: {\n\n"), "", id="an event that is no JSON"),
]


@pytest.mark.parametrize(("says", "why"), FAULTS)
def test_a_fault_ends_one_request_and_the_next_one_works(
    desk: tuple[Editor, Backend], says: Reply, why: str
) -> None:
    editor, backend = desk
    editor.begins_anew()
    backend.says = says
    # What passes by itself is told when it has happened often enough.
    told: list[str] = []
    for _ in range(5):
        assert editor.completes() == []
        told += editor.told()
    assert len(told) <= 1
    assert all(why in each for each in told), told
    backend.says = GOOD
    editor.begins_anew()
    assert editor.completes() == ["1"]


@pytest.mark.parametrize(
    "says",
    [
        pytest.param([ENDLESS, DELTA, CLOSE], id="a body without a length, no last event"),
        pytest.param([ENDLESS, DELTA, HALF, HOLD], id="it ends its half"),
        pytest.param([STREAM, chunked(DELTA, DONE, end=False), CLOSE], id="no last chunk"),
        pytest.param([STREAM, chunked(DELTA, DONE, end=False), HALF, HOLD], id="its half then"),
        pytest.param([STREAM, chunked(DELTA, DONE, end=False), RESET], id="a reset then"),
    ],
)
def test_an_end_that_tells_enough(desk: tuple[Editor, Backend], says: Reply) -> None:
    editor, backend = desk
    backend.says = says
    editor.begins_anew()
    for _ in range(2):
        assert editor.completes() == ["1"]
    assert editor.told() == []
    backend.says = GOOD
    assert editor.completes() == ["1"]


def ends(writer: asyncio.StreamWriter) -> None:
    writer.close()


def ends_its_half(writer: asyncio.StreamWriter) -> None:
    writer.write_eof()


def resets(writer: asyncio.StreamWriter) -> None:
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def has_waited(writer: asyncio.StreamWriter) -> None:
    writer.write(whole_reply(b"", status="408 Request Timeout")[0])  # type: ignore[arg-type]


@pytest.mark.parametrize("closes", [ends, ends_its_half, resets, has_waited])
def test_a_connection_closed_while_nothing_was_asked(
    desk: tuple[Editor, Backend], closes: Callable[[asyncio.StreamWriter], None]
) -> None:
    """Nobody notices, whether or not it is seen before the next request is on its way."""
    editor, backend = desk
    backend.says = GOOD
    editor.begins_anew()
    closed: set[int] = set()
    # Half of a connection still takes what is asked.
    backend.reply = lambda request: [HOLD] if request.connection in closed else GOOD  # type: ignore[method-assign]
    try:
        for _ in range(3):
            assert editor.completes() == ["1"]
            before = backend.requests[-1].connection
            closed.add(before)
            backend.loop.call_soon_threadsafe(closes, backend.writers[before])
            assert editor.completes() == ["1"]
            assert backend.requests[-1].connection > before
        assert editor.told() == []
    finally:
        del backend.reply


def test_what_an_instance_is_asked_first_is_part_of_the_time() -> None:
    """It says nothing, of itself or else: the answer comes before the stream is too late."""
    with running() as backend:
        said = backend.reply
        backend.reply = lambda request: (  # type: ignore[method-assign]
            said(request) if "ContextFilters" in request.line else [HOLD]
        )
        env = {"SRC_ENDPOINT": f"http://127.0.0.1:{backend.port}", "SRC_ACCESS_TOKEN": TOKEN}
        with LspClient.start(SERVER, env=env) as client:
            editor = Editor(client, totalTimeout=3, firstEventTimeout=3)
            assert editor.completes() == []
            why = client.result("workspace/executeCommand", {"command": "lspCompletions.why"})
            assert why["reason"] == "tooSlow"
            assert any("/completions/code" in each.line for each in backend.requests)
            assert client.stop() == 0


def test_most_faults_are_told(desk: tuple[Editor, Backend]) -> None:
    """The rows above would pass where nothing were ever told."""
    editor, backend = desk
    editor.begins_anew()
    backend.says = [HOLD]
    for _ in range(8):
        assert editor.completes() == []
    (told,) = editor.told()
    assert FIRST in told
    backend.says = GOOD
    editor.begins_anew()
    assert editor.completes() == ["1"]


def test_a_length_too_small_spoils_no_later_answer(desk: tuple[Editor, Backend]) -> None:
    editor, backend = desk
    size = len(DELTA)
    backend.says = [
        head("Content-Type: text/event-stream", f"Content-Length: {size}") + DELTA + DONE + DELTA
    ]
    editor.begins_anew()
    assert editor.completes() == ["1"]
    backend.says = GOOD
    for _ in range(3):
        editor.begins_anew()
        assert editor.completes() == ["1"]


def test_a_kept_connection_that_died_costs_nothing(desk: tuple[Editor, Backend]) -> None:
    """It is tried again on another, before anything came; and never after."""
    editor, backend = desk
    editor.begins_anew()
    assert editor.completes() == ["1"]
    before = len(backend.requests)
    served = iter([[CLOSE]])
    backend.reply = lambda request: next(served, GOOD)  # type: ignore[method-assign]
    try:
        assert editor.completes() == ["1"]
        assert len(backend.requests) == before + 2
    finally:
        del backend.reply
    assert editor.told() == []


@contextlib.contextmanager
def alone() -> Iterator[tuple[Editor, int]]:
    """An editor whose backend has answered and is gone, and the port that it had."""
    with contextlib.ExitStack() as first:
        backend = first.enter_context(running())
        url, port = backend.url.removesuffix("/complete"), backend.port
        with LspClient.start(
            SERVER, env={"SRC_ENDPOINT": url, "SRC_ACCESS_TOKEN": TOKEN}
        ) as client:
            editor = Editor(client)
            editor.warms_up()
            first.close()
            yield editor, port
            assert client.stop() == 0


def test_a_restart_while_nothing_was_asked_costs_nothing() -> None:
    with alone() as (editor, port):
        for _ in range(3):
            with running(port):
                assert editor.completes() == ["1"]
        assert editor.told() == []


def test_a_restart_costs_what_was_under_way() -> None:
    with alone() as (editor, port):
        for _ in range(5):
            assert editor.completes() == []
        assert all("onnect" in each for each in editor.told())
        with running(port):
            editor.begins_anew()
            assert editor.completes() == ["1"]


@pytest.mark.skipif(sys.platform == "win32", reason="stops a process")
@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param(lambda backend: None, id="and nothing else happened"),
        pytest.param(lambda backend: setattr(backend, "says", GOOD), id="and it answers again"),
    ],
)
def test_a_machine_that_slept_in_the_middle_of_an_answer(
    desk: tuple[Editor, Backend], meanwhile: Callable[[Backend], None]
) -> None:
    """All deadlines are over at once when it wakes."""
    editor, backend = desk
    editor.begins_anew()
    awake = threading.Event()
    asleep: list[int] = []

    async def sleeps(reader: asyncio.StreamReader) -> bool:
        editor.client.process.send_signal(signal.SIGSTOP)
        asleep.append(1)
        await asyncio.to_thread(awake.wait, 60)
        return True

    backend.says = [STREAM, sleeps, chunked(DELTA, DONE)]
    waker = threading.Timer(1.2, editor.client.process.send_signal, (signal.SIGCONT,))
    waker.start()
    found = editor.completes()
    awake.set()
    waker.join()
    assert asleep
    assert found in ([], ["1"])
    meanwhile(backend)
    backend.says = GOOD
    # Nothing has to be set otherwise first.
    assert editor.completes() == ["1"]
    assert editor.told() == []


JUMPS = [
    pytest.param({"wall": 3600.0}, id="slept for an hour"),
    pytest.param({"wall": 3600.0, "monotonic": 3600.0}, id="slept, and all clocks went on"),
    pytest.param({"monotonic": 3600.0}, id="slept, and its time was wrong anyway"),
    pytest.param({"wall": -86_400.0}, id="the clock was set back"),
]


Jump = Callable[..., None]


@pytest.fixture(scope="module")
def sleeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Editor, Backend, Jump]]:
    """A process whose clocks may jump."""
    file = tmp_path_factory.mktemp("clocks") / "jumps"
    with at_work(sys.executable, jumping_clocks.__file__, str(file)) as (editor, backend):
        yield editor, backend, jumping_clocks.Clocks(file).jump


@pytest.mark.parametrize("by", JUMPS)
def test_a_machine_that_slept_while_nothing_was_asked(
    sleeper: tuple[Editor, Backend, Jump], by: dict[str, float]
) -> None:
    """What was connected before may be dead by now without a word, so that it is not used."""
    editor, backend, jump = sleeper
    editor.begins_anew()
    assert editor.completes() == ["1"]
    before = backend.requests[-1].connection
    assert editor.completes() == ["1"]
    assert backend.requests[-1].connection == before
    jump(**by)
    assert editor.completes() == ["1"]
    assert backend.requests[-1].connection > before
    assert editor.told() == []


@pytest.mark.parametrize("by", JUMPS)
def test_a_clock_that_jumps_in_the_middle_of_an_answer(
    sleeper: tuple[Editor, Backend, Jump], by: dict[str, float]
) -> None:
    editor, backend, jump = sleeper
    editor.begins_anew()

    async def jumps(_: asyncio.StreamReader) -> bool:
        jump(**by)
        return True

    backend.says = [STREAM, jumps, chunked(DELTA, DONE)]
    found = editor.completes()
    # All deadlines may be over.
    assert found in ([], ["1"]) if "monotonic" in by else found == ["1"]
    backend.says = GOOD
    assert editor.completes() == ["1"]
    assert editor.told() == []
