"""How the process ends: at once, with the right exit code, leaving nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.echo_server import ARGV
from tests.support.lsp_client import LspClient

# Handlers here sleep for 30 s, longer than the client waits: who waits for one fails.
on_unix = pytest.mark.skipif(sys.platform == "win32", reason="signals and descriptors of Unix")


@pytest.fixture
def client() -> Iterator[LspClient]:
    with LspClient.start(ARGV) as client:
        client.initialize()
        yield client


BUSY = [
    pytest.param([], id="idle"),
    pytest.param([("test/wait", None)], id="a request waiting"),
    pytest.param([("test/slowCleanUp", None)], id="a request slow to clean up"),
    pytest.param([("test/stubborn", None)], id="a request that ignores cancelling"),
    pytest.param([("test/busyThread", None)], id="threads busy"),
    pytest.param([("test/ownThread", None)], id="a thread of its own busy"),
]


def make_busy(client: LspClient, requests: list[tuple[str, object]]) -> None:
    for method, params in requests:
        client.send(method, params)
    client.settle()


@pytest.mark.parametrize("requests", BUSY)
def test_exit_after_shutdown(client: LspClient, requests: list[tuple[str, object]]) -> None:
    make_busy(client, requests)
    assert client.stop() == 0
    assert "cleaned up" in client.all_stderr()


@pytest.mark.parametrize("requests", BUSY)
def test_exit_without_shutdown(client: LspClient, requests: list[tuple[str, object]]) -> None:
    make_busy(client, requests)
    client.notify("exit")
    assert client.wait() == 1
    assert "cleaned up" in client.all_stderr()


@pytest.mark.parametrize("requests", BUSY)
def test_end_of_input(client: LspClient, requests: list[tuple[str, object]]) -> None:
    make_busy(client, requests)
    client.close_stdin()
    assert client.wait() == 1
    assert "cleaned up" in client.all_stderr()


def test_end_of_input_after_shutdown(client: LspClient) -> None:
    """As Neovim leaves: it closes the pipe and sends no `exit`."""
    assert client.result("shutdown") is None
    client.close_stdin()
    assert client.wait() == 0


def test_end_of_input_in_the_middle_of_a_message(client: LspClient) -> None:
    client.send_bytes(b"Content-Length: 500\r\n\r\n{")
    client.close_stdin()
    assert client.wait() == 1


def test_answers_leave_before_the_process_does(client: LspClient) -> None:
    sent = [client.send("test/large", 50_000) for _ in range(5)]
    waiting = client.send("test/wait")
    client.close_stdin()
    for id in sent:
        assert len(client.take(id)["result"]) == 50_000
    assert client.take(waiting)["error"]["code"] == -32800
    assert client.wait() == 1


@pytest.mark.parametrize("ending", ["exit", "end of input"])
def test_before_initialize(ending: str) -> None:
    with LspClient.start(ARGV) as client:
        if ending == "exit":
            client.notify("exit")
        else:
            client.close_stdin()
        assert client.wait() == 1


def test_exit_sent_as_a_request(client: LspClient) -> None:
    assert client.result("shutdown") is None
    assert client.result("exit") is None
    assert client.wait() == 0


@on_unix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_signals(client: LspClient, name: str) -> None:
    waiting = client.send("test/wait")
    client.settle()
    number = signal.Signals[name]
    client.process.send_signal(number)
    assert client.wait() == 128 + number
    assert client.take(waiting)["error"]["code"] == -32800
    assert "cleaned up" in client.all_stderr()


@on_unix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "end of input"])
def test_the_end_comes_even_when_the_loop_is_stuck(client: LspClient, name: str) -> None:
    client.send("test/block", 30)
    client.send("test/echo", "unheard")
    if name == "end of input":
        client.close_stdin()
        assert client.wait() == 1
    else:
        time.sleep(0.1)  # whether it is blocked already or about to be makes no difference
        client.process.send_signal(signal.Signals[name])
        assert client.wait() == 128 + signal.Signals[name]


def test_a_clean_up_that_hangs_is_given_up() -> None:
    with LspClient.start([*ARGV, "--hang-at-end"]) as client:
        client.initialize()
        assert client.stop() == 0
        assert "cleaned up" in client.all_stderr()


def test_an_editor_that_does_not_read_does_not_keep_it() -> None:
    with LspClient.start(ARGV, read=False) as client:
        client.send("initialize", {"capabilities": {}})
        client.send("test/large", 1_000_000)
        client.send("shutdown")
        client.notify("exit")
        assert client.wait() == 0


@on_unix
def test_an_editor_that_closes_its_end_of_our_output(client: LspClient) -> None:
    # Our input stays open: only the failing write tells.
    with LspClient.start(ARGV, read=False) as other:
        assert other.process.stdout is not None
        other.process.stdout.close()
        other.send("initialize", {"capabilities": {}})
        assert other.wait() == 1


# ---- the editor's death


@contextmanager
def process(code: str, *args: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A Python process with a stdin that keeps it waiting."""
    argv = [sys.executable, "-c", code, *args]
    started = subprocess.Popen(argv, stdin=subprocess.PIPE)
    try:
        yield started
    finally:
        started.kill()
        started.wait()
        assert started.stdin is not None
        started.stdin.close()


@pytest.mark.parametrize("told", ["in initialize", "on the command line"])
def test_the_death_of_the_editor_while_the_pipe_is_held(told: str) -> None:
    """Here this test holds the pipe; in life it is a child the editor had started."""
    with process("input()") as editor:
        arguments = [f"--pid={editor.pid}"] if told == "on the command line" else []
        with LspClient.start([*ARGV, *arguments]) as client:
            client.initialize(processId=None if arguments else editor.pid)
            client.send("test/wait")
            client.settle()
            editor.kill()
            assert client.wait() == 1
            assert "cleaned up" in client.all_stderr()


def test_an_editor_that_cannot_be_seen_from_here_is_not_missed() -> None:
    with LspClient.start(ARGV) as client:
        client.initialize(processId=2**22 + 1)
        assert client.result("test/echo", "alive") == "alive"
        assert client.stop() == 0


WRAPPER = """
import subprocess, sys
server = subprocess.Popen(sys.argv[1:])
print(server.pid, file=sys.stderr, flush=True)
server.wait()
"""


@on_unix
def test_the_death_of_the_process_that_started_it() -> None:
    # The wrapper and the server share our pipes, so that no pipe ends with the wrapper.
    with LspClient.start([sys.executable, "-c", WRAPPER, *ARGV]) as client:
        client.initialize()
        pid = int(client.stderr.split()[0])
        client.process.kill()
        client.process.wait()
        client.wait_for_end_of_output()
        assert has_ended(pid)


def has_ended(pid: int) -> bool:
    """Whether a process that closed its pipes, and is no child of ours, ends."""
    for _ in range(1_000):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False
