"""The process of the embedded model: `python -m lsp_completions.local_model.process`.

One per user and model, shared by all servers. Each of them holds a lease, a connection that the
system closes when the server ends, however it ends. The process leaves when there is no lease any
more, or when none has been used for long; so it needs nobody to stop it.
"""

import asyncio
import hmac
import importlib
import json
import os
import secrets
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from lsp_completions.local_model.gguf import fim_tokens
from lsp_completions.pipeline.templates import FimTokens
from lsp_completions.visible import one_line

if TYPE_CHECKING:
    import argparse

# Seconds until the first lease, for whoever started the process and is about to take it.
FIRST_LEASE = 10.0
# Seconds without a lease: an editor that restarts its server finds the model loaded.
NO_LEASE = 2.0
# Seconds without a request, after which the memory is worth more than the 0.4 s of a start.
IDLE = 600.0
# Seconds: longer than a server holds the lock to see whether anybody does. Who waits for a process
# to leave would be there for nobody: the servers that want one start it then.
LOCK_WAIT = 0.2
REWRITE = 2.0  # seconds between looks at whether the file with our address is still there

# A prompt of 1,400 characters and a line of answer, with room for a user's larger windows.
CONTEXT_TOKENS = 2048
# Tokens read at a time. Only in between is an abandoned request noticed, and that only by one that
# asks for its progress; else a second later. What comes next waits 4 s with llama.cpp's usual 2,048
# and a third of a second with this, which reads all but as fast.
BATCH_TOKENS = 32
# Prompts that are kept beside the one at work, so that going back to another file costs nothing.
KEPT_PROMPTS_MIB = 64
SMALL_BYTES = 300 * 1024 * 1024  # a model of some 300 million parameters
# Each connection that is kept open holds a thread of llama.cpp's server, idle or not.
HTTP_THREADS = 32
MOST_THREADS = 4  # more read no faster what is this short, and the editor wants some as well


class Exit(IntEnum):
    """Why a process ended."""

    LEFT = 0
    """Nobody needed it any more."""
    OWNED = 3
    """Another one serves this model already."""
    NO_ENGINE = 4
    """xllamacpp is not installed."""
    NO_MODEL = 5
    """The file could not be loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a model process listens; kept in a file that only the user can read."""

    pid: int
    control_port: int
    """For leases."""
    port: int
    """For completions, over HTTP."""
    key: str = field(repr=False)
    """A random text that proves both sides to each other, and is the key of the HTTP API."""
    model: str
    fim: FimTokens | None = None
    """What the model has to fill in the middle with; `None` when its file does not tell."""

    @staticmethod
    def read(file: Path) -> "Address | None":
        """The address in a file; `None` when there is none that can be read."""
        try:
            read = json.loads(file.read_text(encoding="utf-8"))
            address = Address(**{**read, "fim": _fim_tokens(read.get("fim"))})
        except (OSError, ValueError, TypeError, AttributeError):
            return None
        numbers = (address.pid, address.control_port, address.port)
        texts = (address.key, address.model)
        is_whole = all(type(number) is int for number in numbers) and all(
            type(text) is str for text in texts
        )
        return address if is_whole else None

    def write(self, file: Path) -> None:
        """Put the address into a file, all at once."""
        fresh = file.with_name(f"{file.name}.{self.pid}")
        with suppress(FileNotFoundError):
            fresh.unlink()
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
            json.dump(asdict(self), opened)
        for _ in range(50):
            # Windows replaces no file that somebody is reading just now.
            with suppress(PermissionError):
                fresh.replace(file)
                return
            time.sleep(0.01)
        fresh.replace(file)

    def proof(self, role: str, challenge: str) -> str:
        """What only those who know the key can answer to a challenge."""
        return hmac.new(self.key.encode(), f"{role} {challenge}".encode(), "sha256").hexdigest()


def _fim_tokens(read: Any) -> FimTokens | None:
    """Tokens as they were put into JSON."""
    if read is None:
        return None
    tokens = FimTokens(**{**read, "others": tuple(read["others"])})
    texts = (tokens.prefix, tokens.suffix, tokens.middle, tokens.model_name, *tokens.others)
    if not all(type(text) is str for text in texts):
        raise TypeError("something other than texts")
    return tokens


class Leases:
    """The control port: who needs the model, and since when nobody does."""

    def __init__(self, address: Address, *, no_lease: float, idle: float) -> None:
        self.address = address
        self.over = asyncio.Event()
        self._no_lease = no_lease
        self._idle = idle
        self._held = 0
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def wait_for_first(self, seconds: float) -> None:
        """Begin to count."""
        self._leave_after("lease", seconds)
        self._leave_after("use", self._idle)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection; it is a lease once both sides have proved that they know the key."""
        try:
            challenge = secrets.token_hex(16)
            async with asyncio.timeout(5):
                asked = (await reader.readline()).decode("ascii").strip()
                writer.write(f"{self.address.proof('process', asked)} {challenge}\n".encode())
                answer = (await reader.readline()).decode("ascii").strip()
            if hmac.compare_digest(answer, self.address.proof("server", challenge)):
                await self._hold(reader, writer)
        except (OSError, ValueError, TimeoutError):
            pass
        finally:
            writer.close()

    async def _hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._held += 1
        self._stop("lease")
        try:
            writer.write(b"held\n")
            # Each line is a request about to come; after the answer there is time for it.
            while line := await reader.readline():
                self._leave_after("use", self._idle)
                writer.write(b"ready " + line)
        finally:
            self._held -= 1
            if not self._held:
                self._leave_after("lease", self._no_lease)

    def _leave_after(self, reason: str, seconds: float) -> None:
        self._stop(reason)
        self._timers[reason] = asyncio.get_running_loop().call_later(seconds, self.over.set)

    def _stop(self, reason: str) -> None:
        if reason in self._timers:
            self._timers.pop(reason).cancel()


def load(model: Path, key: str) -> tuple[Any, int]:
    """Load a model and serve it on loopback; the server, and its port."""
    engine = importlib.import_module("xllamacpp")
    threads = min(_processors(), MOST_THREADS)

    params = engine.CommonParams()
    try:
        params.model.path = str(model)
    except UnicodeEncodeError:
        raise RuntimeError("its name is no text, and the engine opens no such file") from None
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.ui = False
    params.endpoint_slots = False  # they hold prompts
    params.cors_origins = "https://none.invalid"  # no web page has business here
    params.n_threads_http = HTTP_THREADS
    params.verbosity = 1  # errors; from there on it logs requests

    params.n_ctx = CONTEXT_TOKENS
    params.n_batch = params.n_ubatch = BATCH_TOKENS
    params.n_parallel = 1
    params.cache_prompt = True
    params.cache_ram_mib = KEPT_PROMPTS_MIB
    params.fit_params = False
    params.warmup = False
    for pool in (params.cpuparams, params.cpuparams_batch):
        pool.n_threads = threads
        pool.poll = 0
    if model.stat().st_size < SMALL_BYTES:
        # Writing a token takes so little that two threads spend it waiting for each other:
        # 36 tokens a second with one, 25 with two, and no fewer while another program is busy.
        params.cpuparams.n_threads = 1

    server = engine.Server(params)
    port = urlsplit(server.listening_address).port
    if port is None:
        raise RuntimeError("The engine does not listen.")
    return server, port


def _processors() -> int:
    """How many we may run on, which may be fewer than there are."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


async def serve(options: "argparse.Namespace") -> NoReturn:
    """Load the model, then serve until nobody needs it any more."""
    key = secrets.token_urlsafe(32)
    # Here, so that all servers have it of one reading; between engine and address it would delay
    # whoever waits for the engine that is there.
    fim = fim_tokens(options.model)
    _engine, port = load(options.model, key)  # it serves as long as somebody holds it

    leases: Leases
    control = await asyncio.start_server(
        lambda reader, writer: leases.serve(reader, writer), "127.0.0.1", 0, limit=1024
    )
    address = Address(
        pid=os.getpid(),
        control_port=control.sockets[0].getsockname()[1],
        port=port,
        key=key,
        model=str(options.model),
        fim=fim,
    )
    leases = Leases(address, no_lease=options.no_lease, idle=options.idle)
    leases.wait_for_first(options.first_lease)
    address.write(options.address)

    while not leases.over.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(leases.over.wait(), REWRITE)
        # Somebody may have cleaned up.
        if not options.address.exists() and options.address.parent.is_dir():
            with suppress(OSError):
                address.write(options.address)
    # Before the port closes: who finds it closed starts another process, with a file of its own.
    if Address.read(options.address) == address:
        with suppress(OSError):
            options.address.unlink()
    leave(Exit.LEFT)


def main() -> NoReturn:
    """Serve one model, if no other process does."""
    # Each server imports this module, and reads no arguments.
    import argparse

    parser = argparse.ArgumentParser(prog="lsp_completions.local_model.process")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--address", type=Path, required=True, help="file to put the address into")
    parser.add_argument("--first-lease", type=float, default=FIRST_LEASE)
    parser.add_argument("--no-lease", type=float, default=NO_LEASE)
    parser.add_argument("--idle", type=float, default=IDLE)
    options = parser.parse_args()

    from filelock import FileLock, Timeout

    lock = FileLock(options.address.with_suffix(".lock"), mode=0o600)
    try:
        lock.acquire(timeout=LOCK_WAIT)
    except Timeout:
        leave(Exit.OWNED)
    # Threads that wait for each other asleep. By default they spin, and where another program
    # wants a core, one token takes a second: each thread waits for the one that does not run.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        asyncio.run(serve(options))
    except ModuleNotFoundError:
        leave(Exit.NO_ENGINE)
    except RuntimeError as error:
        sys.stderr.write(f"{time.strftime('%F %T')} {one_line(f'{options.model}: {error}')}\n")
        leave(Exit.NO_MODEL)
    except BaseException:  # noqa: BLE001 - threads of the engine would keep a broken process alive
        traceback.print_exc()
        leave(1)


def leave(code: int) -> NoReturn:
    """End at once, with the threads of the engine, whatever they do."""
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
