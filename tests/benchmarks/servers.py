"""The servers that are measured, each as a process with a client that keeps the time."""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

PATIENCE = 60.0
"""Seconds for an answer: stock pygls takes one and a half for a key in a line of 5 MB."""


@dataclass(frozen=True)
class Kind:
    """A kind of server and the command that is run for it.

    One that `completes` asks the stand-in instance.
    """

    name: str
    command: tuple[str, ...]
    completes: bool = True


def _module(name: str) -> tuple[str, ...]:
    return (sys.executable, "-m", name)


BARE = Kind("bare loop", _module("tests.benchmarks.floors.bare"))
PYGLS = Kind("stock pygls", _module("tests.benchmarks.floors.stock_pygls"))
OURS = Kind("ours", _module("lsp_completions"))
KINDS = (BARE, PYGLS, OURS)


PEERS = (("tabby-agent", "--lsp", "--stdio"), ("copilot-language-server", "--stdio"))


def peers_in(folder: Path) -> list[Kind]:
    """Other servers that npm installed there: `npm install tabby-agent` and the like.

    Without an account they complete nothing.
    """
    programs = folder / "node_modules" / ".bin"
    return [
        Kind(name, (str(programs / name), *arguments), completes=False)
        for name, *arguments in PEERS
        if (programs / name).exists()
    ]


CAPABILITIES = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {"synchronization": {}, "inlineCompletion": {}, "completion": {}},
}

WHO = {"name": "benchmark", "version": "1"}


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer and the moment (`time.perf_counter()`) at which its last byte was read."""

    message: dict[str, Any]
    at: float


class Server:
    """A running server. `started_in` is the time from its start to its answer to `initialize`."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self.process = process
        self.log = log
        self.started_in = 0.0
        self.unexpected: list[dict[str, Any]] = []
        """Answers to nothing that was asked, or second ones."""
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._last_id = 0
        self._reader = asyncio.create_task(self._read())

    def request(self, method: str, params: object) -> tuple[bytes, int, asyncio.Future[Answer]]:
        """A request to `write`, its id, and its answer to come."""
        self._last_id += 1
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[self._last_id] = answer
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        return framed(message), self._last_id, answer

    async def ask(self, method: str, params: object) -> Answer:
        data, _, answer = self.request(method, params)
        self.write(data)
        return await self.wait(answer)

    async def wait(self, answer: asyncio.Future[Answer]) -> Answer:
        async with asyncio.timeout(PATIENCE):
            return await answer

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def cpu_seconds(self) -> float | None:
        """The processor time the process has used, where the system tells it exactly."""
        if not sys.platform.startswith("linux"):
            return None
        # What clock_getcpuclockid() computes for a process.
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def resident_bytes(self) -> int | None:
        """The memory the process and its children hold, where the system tells without help."""
        if not sys.platform.startswith("linux"):
            return None
        return sum(map(_resident_bytes, _family(self.process.pid)))

    async def stop(self) -> None:
        try:
            async with asyncio.timeout(10):
                await self.ask("shutdown", None)
                self.write(framed({"jsonrpc": "2.0", "method": "exit"}))
                assert self.process.stdin is not None
                self.process.stdin.close()
                await self.process.wait()
        finally:
            if self.process.returncode is None:
                self.process.kill()
                await self.process.wait()
            await self._reader

    async def _read(self) -> None:
        stdout = self.process.stdout
        assert stdout is not None
        while header := await stdout.readline():
            length = int(header.partition(b":")[2])
            while (await stdout.readline()).strip():
                pass
            body = await stdout.readexactly(length)
            now = time.perf_counter()
            message = json.loads(body)
            if "method" in message:
                if "id" in message:
                    self.write(framed({"jsonrpc": "2.0", "id": message["id"], "result": None}))
            elif (answer := self._waiting.pop(message["id"], None)) is None:
                self.unexpected.append(message)
            elif not answer.done():
                answer.set_result(Answer(message, now))
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(RuntimeError(f"the server ended; see {self.log}"))


@asynccontextmanager
async def running(kind: Kind, settings: Mapping[str, str]) -> AsyncIterator[Server]:
    """A server that has answered `initialize`; `settings` are laid over the environment."""
    handle, log = tempfile.mkstemp(prefix="benchmark-", suffix=".log")
    try:
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            *kind.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=handle,
            cwd=ROOT,
            env=os.environ | settings,
            limit=1 << 26,
        )
    finally:
        os.close(handle)
    server = Server(process, Path(log))
    try:
        params = {
            "processId": os.getpid(),
            "rootUri": None,
            "capabilities": CAPABILITIES,
            "clientInfo": WHO,
            "initializationOptions": {"editorInfo": WHO, "editorPluginInfo": WHO},
        }
        answer = await server.ask("initialize", params)
        server.started_in = answer.at - began
        server.write(framed({"jsonrpc": "2.0", "method": "initialized", "params": {}}))
        yield server
    finally:
        await server.stop()
    server.log.unlink()


def _family(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text(encoding="ascii").split():
            yield from _family(int(child))


def _resident_bytes(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def notification(method: str, params: object) -> bytes:
    return framed({"jsonrpc": "2.0", "method": method, "params": params})


def framed(message: object) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
