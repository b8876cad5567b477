"""A language client for tests: real pipes, raw bytes where wanted, every wait bounded.

    with LspClient.start([sys.executable, "-m", "lsp_completions"]) as client:
        client.initialize()
        client.notify("textDocument/didOpen", {...})
        answer = client.request("textDocument/inlineCompletion", {...})  # the whole message
        assert client.stop() == 0  # shutdown, exit, exit code

`send` and `take` are the halves of `request`, for several requests in flight.
A request from the server is answered from `client.answers` (method -> result, or a function of its
params; NO_ANSWER leaves it unanswered), else by -32601.
"""

import json
import os
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

TIMEOUT = 60.0
"""Seconds before a test that waits gives up: far above what any answer takes, and what a start does
where others keep the machine busy."""

Message = dict[str, Any]


def framed(message: object) -> bytes:
    """`message` as bytes on the wire, header included; half a surrogate pair goes as an escape."""
    try:
        body = json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class LspClient:
    """One server process and its pipes."""

    NO_ANSWER = object()

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        *,
        read: bool = True,
        read_stderr: bool = True,
    ) -> None:
        self.process = process
        self.answers: dict[str, Any] = {"client/registerCapability": None}
        self.requests: list[Message] = []
        """Requests the server made, in order."""
        self.junk = b""
        """What stood on stdout outside any message."""
        self._inbox: deque[Message] = deque()
        self._arrived = threading.Condition()
        self._ended = False
        self._reading = False
        self._errors = bytearray()
        self._next_id = 1
        self._write_lock = threading.Lock()
        self._stderr_reader = threading.Thread(target=self._read_stderr, daemon=True)
        if read_stderr:
            self._stderr_reader.start()
        if read:
            self.start_reading()

    @classmethod
    def start(
        cls,
        argv: Sequence[str],
        env: Mapping[str, str | None] | None = None,
        cwd: Path | str | None = None,
        *,
        read: bool = True,
        read_stderr: bool = True,
    ) -> Self:
        """Start `argv`. `env` is laid over this process's environment; None removes a name.

        With `read=False` nothing reads the server's stdout until `start_reading`,
        with `read_stderr=False` nothing ever reads its stderr.
        """
        full: dict[str, str] = dict(os.environ)
        for name, value in (env or {}).items():
            if value is None:
                full.pop(name, None)
            else:
                full[name] = value
        return cls(
            subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=full,
                cwd=cwd,
                bufsize=0,
            ),
            read=read,
            read_stderr=read_stderr,
        )

    # ---- out

    def send_bytes(self, data: bytes) -> None:
        """Write `data` as it is."""
        stdin = self.process.stdin
        assert stdin is not None
        with self._write_lock:
            view = memoryview(data)
            while view:
                view = view[stdin.write(view) or 0 :]

    def send(self, method: str, params: object = None, *, id: int | str | None = None) -> int | str:
        """Send a request and return its id at once."""
        if id is None:
            id = self._next_id
            self._next_id += 1
        self.send_bytes(framed(request_message(id, method, params)))
        return id

    def notify(self, method: str, params: object = None) -> None:
        """Send a notification."""
        self.send_bytes(framed(notification_message(method, params)))

    def cancel(self, id: int | str) -> None:
        """Ask for the request `id` to be cancelled."""
        self.notify("$/cancelRequest", {"id": id})

    def close_stdin(self) -> None:
        """End the server's input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    # ---- in

    def request(self, method: str, params: object = None, timeout: float = TIMEOUT) -> Message:
        """Send a request and wait for its answer, the whole message."""
        return self.take(self.send(method, params), timeout)

    def result(self, method: str, params: object = None, timeout: float = TIMEOUT) -> Any:
        """Send a request and wait for its result; an error fails the test."""
        answer = self.request(method, params, timeout)
        assert "result" in answer, answer
        return answer["result"]

    def take(self, id: int | str | None, timeout: float = TIMEOUT) -> Message:
        """Wait for the answer to request `id` (None: an error that belongs to no request)."""
        return self._take(
            lambda m: "method" not in m and m.get("id", ...) == id, f"answer to {id!r}", timeout
        )

    def expect(self, method: str, timeout: float = TIMEOUT) -> Any:
        """Wait for a notification and return its params."""
        found = self._take(lambda m: m.get("method") == method, method, timeout)
        return found.get("params")

    def next(self, timeout: float = TIMEOUT) -> Message:
        """Wait for the next message of any kind (requests from the server excepted)."""
        return self._take(lambda m: True, "any message", timeout)

    def waiting(self) -> list[Message]:
        """Messages that arrived and nobody took yet."""
        with self._arrived:
            return list(self._inbox)

    def settle(self, method: str = "test/settle") -> None:
        """Wait until the server has dealt with all that was sent: an unknown request, answered."""
        assert self.request(method)["error"]["code"] in (-32601, -32002, -32600)

    def _take(self, wanted: Callable[[Message], bool], what: str, timeout: float) -> Message:
        deadline = time.monotonic() + timeout
        with self._arrived:
            while True:
                for message in self._inbox:
                    if wanted(message):
                        self._inbox.remove(message)
                        return message
                left = deadline - time.monotonic()
                if self._ended or left <= 0 or not self._arrived.wait(left):
                    why = "the server closed its output" if self._ended else f"{timeout} s passed"
                    raise AssertionError(
                        f"no {what}: {why}; waiting: {list(self._inbox)!r:.2000}; "
                        f"stderr: {self.stderr!r:.4000}"
                    )

    # ---- life

    def initialize(self, capabilities: object = None, **params: Any) -> Any:
        """The handshake; returns the result of `initialize`."""
        given = {"processId": None, "rootUri": None, "capabilities": capabilities or {}, **params}
        result = self.result("initialize", given)
        self.notify("initialized", {})
        return result

    def stop(self) -> int:
        """`shutdown`, `exit`; returns the exit code."""
        answer = self.request("shutdown")
        assert answer.get("result", ...) is None, answer
        self.notify("exit")
        return self.wait()

    def wait(self, timeout: float = TIMEOUT) -> int:
        """Wait for the process to end; returns its exit code."""
        return self.process.wait(timeout)

    @property
    def stderr(self) -> str:
        """What the server wrote to stderr so far."""
        return bytes(self._errors).decode("utf-8", "replace")

    def all_stderr(self) -> str:
        """What the server wrote to stderr, to the end of it."""
        self._stderr_reader.join(TIMEOUT)
        return self.stderr

    def wait_for_end_of_output(self) -> None:
        """Wait until nobody holds the far end of the server's stdout any more."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: self._ended, TIMEOUT)

    def kill(self) -> None:
        """End the process, whatever it is doing, and close the pipes."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(TIMEOUT)
        assert self.process.stdin is not None
        self.process.stdin.close()
        if not self._reading:
            assert self.process.stdout is not None
            self.process.stdout.close()
        if not self._stderr_reader.ident:
            assert self.process.stderr is not None
            self.process.stderr.close()
        # The threads that read see the end of output and close the other pipes,
        # unless somebody else still holds their far ends.

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    # ---- threads

    def start_reading(self) -> None:
        """Begin to read the server's stdout."""
        self._reading = True
        threading.Thread(target=self._read_stdout, daemon=True).start()

    def _read_stderr(self) -> None:
        with self.process.stderr as stderr:  # type: ignore[union-attr]
            while chunk := stderr.read(65536):
                self._errors += chunk

    def _read_stdout(self) -> None:
        buffer = bytearray()
        with self.process.stdout as stdout:  # type: ignore[union-attr]
            while chunk := stdout.read(65536):
                buffer += chunk
                while (message := self._cut(buffer)) is not None:
                    self._arrive(message)
        with self._arrived:
            self._ended = True
            self.junk += bytes(buffer)
            self._arrived.notify_all()

    def _cut(self, buffer: bytearray) -> Message | None:
        head = buffer.find(b"Content-Length: ")
        end = buffer.find(b"\r\n\r\n", head)
        if head < 0 or end < 0:
            return None
        length = int(buffer[head + 16 : end].split(b"\r\n")[0])
        if len(buffer) < end + 4 + length:
            return None
        self.junk += bytes(buffer[:head])
        message: Message = json.loads(buffer[end + 4 : end + 4 + length].decode("utf-8"))
        del buffer[: end + 4 + length]
        return message

    def _arrive(self, message: Message) -> None:
        if "method" in message and "id" in message:
            self.requests.append(message)
            self._answer(message)
        else:
            with self._arrived:
                self._inbox.append(message)
                self._arrived.notify_all()

    def _answer(self, message: Message) -> None:
        if self.answers.get(message["method"]) is self.NO_ANSWER:
            return
        reply: Message = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] in self.answers:
            result = self.answers[message["method"]]
            reply["result"] = result(message.get("params")) if callable(result) else result
        else:
            reply["error"] = {"code": -32601, "message": "the test's client does not know that"}
        try:
            self.send_bytes(framed(reply))
        except (OSError, ValueError):
            return  # the process or the test has ended


def request_message(id: object, method: str, params: object = None) -> Message:
    """A request as JSON; `params` left out where None."""
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else {**message, "params": params}


def notification_message(method: str, params: object = None) -> Message:
    """A notification as JSON; `params` left out where None."""
    message: Message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}
