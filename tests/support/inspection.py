"""The page of `lsp-completions inspect`, served by the real process, and who asks for it."""

import http.client
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.support.home import COMMAND, Home

PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Inspection:
    """A running command."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self.process = process
        self.url = url
        parts = urlsplit(url)
        assert parts.port is not None
        self.port: int = parts.port
        self.root = parts.path

    def ask(
        self, path: str = "", *, root: str | None = None, method: str = "GET", **headers: str
    ) -> Answer:
        """What is answered below the root, or at another one."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            whole = (self.root if root is None else root) + path
            connection.putrequest(method, whole, skip_host="Host" in named)
            for name, value in named.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, told, answer.read())
        finally:
            connection.close()

    @contextmanager
    def events(self) -> Iterator[Iterator[tuple[str, Any]]]:
        """The server-sent events: their names and what they tell."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", f"{self.root}events")
        answer = connection.getresponse()

        def told() -> Iterator[tuple[str, Any]]:
            name = ""
            while line := answer.readline().decode().rstrip("\n"):
                yield from ()
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield name, json.loads(line.removeprefix("data: "))
                    answer.readline()

        try:
            yield told()
        finally:
            connection.close()

    def stop(self) -> None:
        """Press Ctrl-C, and wait for the end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)


@contextmanager
def running_inspection(
    home: Home, *options: str, env: Mapping[str, str] | None = None
) -> Iterator[Inspection]:
    process = subprocess.Popen(
        [*COMMAND, "inspect", *options],
        cwd=home.folder,
        env={**home.env, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    guard = threading.Timer(300, process.kill)
    guard.start()
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, process.stderr.read() if process.stderr else ""
        yield Inspection(process, url)
    finally:
        guard.cancel()
        if process.poll() is None:
            process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
        try:
            _, said = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert "Traceback" not in said, said
