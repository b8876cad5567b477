"""The embedded model, as a server sees it: a process that is there when it is needed.

`LocalModel.ready` finds the process that all servers of this user share, or starts it, and holds a
lease on it; `model_process` is the other side.
"""

import asyncio
import hashlib
import hmac
import os
import platform
import secrets
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedWriter
from pathlib import Path
from typing import Any

from lsp_completions import __version__
from lsp_completions.errors import ConfigurationError, LocalModelFailed
from lsp_completions.kinds import quoted
from lsp_completions.local_model import files as model_files
from lsp_completions.local_model.process import Address, Exit
from lsp_completions.pipeline.templates import FimTokens
from lsp_completions.private import make_private
from lsp_completions.programs import without_credentials
from lsp_completions.secret import Secret

START = 120.0  # seconds; a large model comes from a cold disk
ANSWER = 5.0  # seconds; a process that is alive answers within milliseconds
POLL = 0.03  # seconds between looks at whether the process is there, which takes some 0.5 s
BACK_OFF = 30.0  # seconds during which a model that failed is not tried again
MOST_STARTS = 4  # within a minute; a process that ends over and over would be started per keystroke
LOG_SIZE = 256 * 1024  # bytes; each start begins a new log from there on


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the model answers, and what proves that we may ask."""

    url: str
    key: Secret
    model_path: Path
    fim: FimTokens | None = None
    """What the model has to fill in the middle with; `None` when nobody could tell."""


class LocalModel:
    """The process with one model, started when it is first needed and as often as it is gone.

    `model_path` is the user's own file, or `None` for the installed one. `folder` is where the
    process is found, by default the same for all servers of this user.
    """

    def __init__(
        self,
        model_path: str | None = None,
        *,
        folder: Path | None = None,
        process_options: tuple[str, ...] = (),
    ) -> None:
        self._model_path = model_path
        self._folder = folder
        self._process_options = process_options
        self._lease: Lease | None = None
        self._starting: asyncio.Task[None] | None = None
        self._failure: tuple[float, Path, LocalModelFailed] | None = None
        self._starts: deque[float] = deque(maxlen=MOST_STARTS)

    async def ready(self, progress: Callable[[str], None] = lambda _: None) -> Endpoint:
        """Where the model answers the request about to come; waits until it is loaded.

        `progress` is given a sentence when that takes a while. Raises `ConfigurationError` when
        there is no model, and `LocalModelFailed` when it could not be started.
        """
        while True:
            if (lease := self._lease) is not None:
                if await lease.use():
                    return lease.endpoint
                lease.close()
                if lease is self._lease:
                    self._lease = None
            else:
                # Requests that come together wait for one start, which outlives each of them.
                if self._starting is None or self._starting.done():
                    self._starting = asyncio.create_task(self._start(progress), name="local model")
                    self._starting.add_done_callback(_look_at_error)
                starting = self._starting
                await asyncio.wait([starting])
                starting.result()

    async def aclose(self) -> None:
        """Give up the lease; the process leaves when it was the last."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        if self._lease is not None:
            await self._lease.aclose()
            self._lease = None

    async def _start(self, progress: Callable[[str], None]) -> None:
        """Take a lease on the process there is, else on one we start."""
        model, place = await asyncio.to_thread(self._prepare)
        self._refuse_what_failed(model)
        child: subprocess.Popen[bytes] | None = None
        told = False
        try:
            async with asyncio.timeout(START):
                while (lease := await place.lease()) is None:
                    if not told:
                        progress(f"Starting the model {model.stem}")
                        told = True
                    code = None if child is None else child.poll()
                    if code not in (None, Exit.LEFT, Exit.OWNED):
                        raise _failed(model, code, place.log)
                    if (child is None or code is not None) and not place.is_owned():
                        self._starts.append(time.monotonic())
                        child = place.spawn(model, self._process_options)
                    await asyncio.sleep(POLL)
            self._lease = lease
            return
        except TimeoutError:
            error = LocalModelFailed(
                f"The model {quoted(model.name)} did not start within {START:.0f} seconds. "
                f"What it said is in {place.log}."
            )
        except OSError as failed:
            error = LocalModelFailed(
                f"The model {quoted(model.name)} could not be started: {failed.strerror or failed}."
            )
        except LocalModelFailed as failed:
            error = failed
        self._failure = (time.monotonic(), model, error)
        raise error

    def _prepare(self) -> "tuple[Path, Place]":
        """Find the model and where its process is found. Blocks, on the disk and on imports."""
        import filelock  # noqa: F401 - takes longer to import than the event loop may wait

        model = model_files.find(self._model_path)
        if not model_files.has_engine():
            raise ConfigurationError(model_files.NO_ENGINE)
        try:
            return model, Place.of(model, self._folder)
        except OSError as error:
            raise LocalModelFailed(
                f"No place for the process of the model: {error.strerror or error}."
            ) from error

    def _refuse_what_failed(self, model: Path) -> None:
        now = time.monotonic()
        if self._failure is not None:
            when, failed, error = self._failure
            if failed == model and now - when < BACK_OFF:
                raise error
        if len(self._starts) == MOST_STARTS and now - self._starts[0] < 60:
            raise LocalModelFailed(
                f"The model {quoted(model.name)} ends again and again. What it said is in "
                f"{log_file()}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the process of one model is found."""

    address: Path
    """The file with the process's address, beside the lock that it holds while it lives."""
    log: Path

    @staticmethod
    def of(model: Path, folder: Path | None = None) -> "Place":
        """The place for a model. Raises an error where others could get at it."""
        folder = folder or runtime_folder()
        make_private(folder)
        file = model.resolve().stat()
        # A file that was replaced is another model, and a folder may be shared by machines.
        what = (model.resolve(), file.st_size, file.st_mtime_ns, __version__, platform.node())
        # A file's name need not be text.
        text = "\0".join(map(str, what)).encode("utf-8", "surrogatepass")
        name = hashlib.sha256(text).hexdigest()[:16]
        return Place(address=folder / f"model-{name}.json", log=log_file())

    async def lease(self) -> "Lease | None":
        """A lease on the process; `None` when there is none yet, or none any more."""
        address = Address.read(self.address)
        return None if address is None else await Lease.take(address)

    def is_owned(self) -> bool:
        """Whether there is a process, which may still be loading its model."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.address.with_suffix(".lock"), mode=0o600)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return True
        lock.release()
        return False

    def spawn(self, model: Path, options: tuple[str, ...]) -> "subprocess.Popen[bytes]":
        """Start a process that outlives us, and has nothing of the editor's."""
        # `-P`: a folder that an editor has opened must not be where modules come from.
        command = [sys.executable, "-P", "-m", "lsp_completions.local_model.process"]
        arguments = ["--model", str(model), "--address", str(self.address), *options]
        with _open_log(self.log) as log:
            child = subprocess.Popen(
                [*command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.address.parent,
                # A process that outlives its editor should not hold what it has no use for.
                env=without_credentials(os.environ),
                **_DETACHED,
            )
        # Somebody has to ask for its exit code, or the system keeps what is left of it.
        threading.Thread(target=child.wait, name="model process", daemon=True).start()
        return child


class Lease:
    """A connection to the process, which leaves when the last one is closed."""

    def __init__(
        self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.endpoint = Endpoint(
            url=f"http://127.0.0.1:{address.port}",
            key=Secret(address.key),
            model_path=Path(address.model),
            fim=address.fim,
        )
        self._reader = reader
        self._writer = writer
        self._asking = asyncio.Lock()
        self._asked = 0

    @staticmethod
    async def take(address: Address) -> "Lease | None":
        """A lease on the process at an address; `None` when that is not there any more."""
        writer = None
        try:
            async with asyncio.timeout(ANSWER):
                reader, writer = await asyncio.open_connection("127.0.0.1", address.control_port)
                challenge = secrets.token_hex(16)
                writer.write(f"{challenge}\n".encode())
                # The port may be a stranger's by now: who cannot prove to know the key, is one.
                proof, _, asked = (await reader.readline()).decode("ascii").strip().partition(" ")
                if hmac.compare_digest(proof, address.proof("process", challenge)):
                    writer.write(f"{address.proof('server', asked)}\n".encode())
                    if await reader.readline() == b"held\n":
                        lease, writer = Lease(address, reader, writer), None
                        return lease
        except (OSError, ValueError, OverflowError):
            pass
        finally:
            if writer is not None:
                writer.close()
        return None

    async def use(self) -> bool:
        """Announce a request; whether the process is there for it."""
        try:
            async with self._asking, asyncio.timeout(ANSWER):
                self._asked += 1
                answer = f"ready {self._asked}\n".encode()
                self._writer.write(f"{self._asked}\n".encode())
                # Answers to those who did not wait for them come first.
                while (line := await self._reader.readline()) != answer:
                    if not line:
                        return False
        except (OSError, ValueError):
            return False
        return True

    def close(self) -> None:
        """Give it up."""
        self._writer.close()

    async def aclose(self) -> None:
        """Give it up, and wait until that is done."""
        self.close()
        with suppress(OSError):
            async with asyncio.timeout(ANSWER):
                await self._writer.wait_closed()


def runtime_folder() -> Path:
    """The folder for what lives as long as this machine is up."""
    if os.name == "posix":
        for folder in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.getuid()}"):
            if folder and Path(folder).is_absolute() and os.access(folder, os.W_OK | os.X_OK):
                return Path(folder) / "lsp-completions"
    return lasting_folder()


def lasting_folder() -> Path:
    """What is taken for it where there is none."""
    return _state_folder() / "run"


def log_file() -> Path:
    """Where the processes say what goes wrong."""
    return _state_folder() / "model.log"


def _state_folder() -> Path:
    import platformdirs

    return platformdirs.user_state_path("lsp-completions", appauthor=False)


def _open_log(file: Path) -> BufferedWriter:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    how = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    with suppress(OSError):
        if file.stat().st_size > LOG_SIZE:
            how |= os.O_TRUNC
    return os.fdopen(os.open(file, how, 0o600), "ab")


def _failed(model: Path, code: int | None, log: Path) -> LocalModelFailed:
    match code:
        case Exit.NO_ENGINE:
            return LocalModelFailed(model_files.NO_ENGINE)
        case Exit.NO_MODEL:
            what = f"The file {quoted(model.name)} cannot be loaded as a model"
        case _:
            what = f"The process of the model {quoted(model.name)} ended (code {code})"
    return LocalModelFailed(f"{what}. What it said is in {log}.")


def _look_at_error(task: "asyncio.Task[None]") -> None:
    """Who waited may be gone; then nobody else does."""
    if not task.cancelled():
        task.exception()


# In a session of its own: no terminal, and no signal that is meant for the editor's processes.
_DETACHED: dict[str, Any]
if sys.platform == "win32":
    _DETACHED = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    _DETACHED = {"start_new_session": True}
