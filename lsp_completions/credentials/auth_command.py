"""The user's own command that prints a token: `pass`, `op`, `src auth token`, or a script.

It runs without a shell, in the home folder, with an end to its time and its words. Neither it nor
what it prints is ever logged.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lsp_completions.errors import NoCredential
from lsp_completions.kinds import CommandLine, Headers, Token
from lsp_completions.programs import which
from lsp_completions.secret import Secret

PATIENCE = 10.0  # seconds; long enough to touch a key, too short to be forgotten
MOST = 64 * 1024  # characters; a token has some dozens, and headers a few thousand
LONGEST_LINE = 400  # characters looked at of what a program complains about
LASTS = 3600.0  # seconds that a token without an expiry is kept
LATEST_WORDS = 0.5  # seconds for the last output of a program that has ended

SETTING = "`authCommand`"
STOPPED = "The server is shutting down."


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What goes along with a request: a token, or headers. `expires` is in seconds since 1970."""

    token: Secret | None = None
    headers: tuple[tuple[str, Secret], ...] = ()
    expires: float | None = None


class Run:
    """One run of a command. `stop` may be called from any thread, at any time."""

    def __init__(self, command: CommandLine, *, endpoint: str, patience: float = PATIENCE) -> None:
        self._command = command
        self._endpoint = endpoint
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    @property
    def is_over(self) -> bool:
        """Whether the program does not run."""
        return self._process is None or self._process.poll() is not None

    def credential(self, now: Callable[[], float] = time.time) -> Credential:
        """Run it, and read what it prints; blocks. Raises `NoCredential`."""
        return credential_in(self._output(), now())

    def stop(self) -> None:
        """End the program, if it runs."""
        self._stopped = True
        if (process := self._process) is not None and process.poll() is None:
            _end(process)

    def _output(self) -> str:
        if self._stopped:
            raise NoCredential(STOPPED)
        program, *arguments = self._command.words
        found = which(program)
        if found is None:
            raise NoCredential(
                f"The program in {SETTING} was not found. Write its full path, since an editor "
                "started from a desktop may lack the PATH that your shell sets."
            )
        try:
            process = subprocess.Popen(
                [found, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # What an opened project holds is not to be run by chance.
                cwd=Path.home(),
                # `src auth token` is told by it which of its tokens is meant.
                env={**os.environ, "SRC_ENDPOINT": self._endpoint},
                start_new_session=sys.platform != "win32",
            )
        except (OSError, ValueError, RuntimeError) as error:
            # Its own text may hold the command.
            number = error.errno if isinstance(error, OSError) else None
            reason = os.strerror(number) if number is not None else type(error).__name__
            raise NoCredential(
                f"The program in {SETTING} could not be started: {reason}."
            ) from None
        self._process = process
        assert process.stdout is not None
        assert process.stderr is not None
        too_much = threading.Event()

        def overflow() -> None:
            too_much.set()
            _end(process)

        printed = _Listener(process.stdout, overflow)
        complained = _Listener(process.stderr, None)
        try:
            if self._stopped:
                raise NoCredential(STOPPED)
            code = process.wait(self._patience)
        except subprocess.TimeoutExpired:
            raise NoCredential(
                f"{SETTING} printed no token within {self._patience:g} seconds. It may wait for a "
                "password, which it has to ask for in a window of its own."
            ) from None
        finally:
            if process.poll() is None:
                _end(process)
                process.wait()
        # Something it has started may still hold the pipes.
        printed.join(LATEST_WORDS)
        complained.join(LATEST_WORDS)
        if too_much.is_set():
            raise NoCredential(f"{SETTING} printed far more than a token.")
        if code != 0:
            ended = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            raise NoCredential(f"{SETTING} {ended}{_complaint(complained.text)}")
        return printed.text


class _Listener(threading.Thread):
    """Reads a pipe to its end, in a thread of its own, and keeps its beginning."""

    def __init__(self, pipe: IO[bytes], overflow: Callable[[], None] | None) -> None:
        super().__init__(name="authCommand", daemon=True)
        self._pipe = pipe
        self._overflow = overflow
        self._heard = bytearray()
        self.start()

    @property
    def text(self) -> str:
        """What was read so far."""
        heard = bytes(self._heard)
        # PowerShell writes UTF-16 where it is asked to, with a mark before it.
        if heard[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return heard.decode("utf-16", "replace")
        return heard.decode("utf-8-sig", "replace")

    def run(self) -> None:
        with self._pipe, suppress(OSError, ValueError):
            while chunk := self._pipe.read1(8192):  # type: ignore[attr-defined]
                if len(self._heard) <= MOST:
                    self._heard += chunk
                elif self._overflow is not None:
                    self._overflow()
                    return


def credential_in(printed: str, now: float) -> Credential:
    """What a command printed: a token, or JSON. Raises `NoCredential`.

    Of several lines the first is the token where it looks like one: `pass` keeps notes below it.
    """
    text = printed.strip()
    if not text:
        raise NoCredential(f"{SETTING} printed nothing.")
    if text.startswith("{"):
        return _in_json(text, now)
    if (scheme := re.match(r"(bearer|token) +(?=\S+$)", text, re.IGNORECASE)) is not None:
        if scheme[1].lower() == "bearer":
            token = _token(text[scheme.end() :])
            return Credential(headers=(("Authorization", Secret(f"Bearer {token.reveal()}")),))
        text = text[scheme.end() :]
    first, *others = text.splitlines()
    if others and TOKEN_LIKE.fullmatch(first.strip()):
        text = first
    return Credential(token=_token(text))


def _in_json(text: str, now: float) -> Credential:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise NoCredential(
            f"What {SETTING} printed begins like JSON and is none. Print the token alone, or "
            '{"token": "…"}, or {"headers": {…}}.'
        ) from None
    expires = _expiration(said.get("expiration"), now)
    if (headers := said.get("headers")) is not None:
        problems: list[str] = []
        read = Headers().read(headers, lambda must, at="": problems.append(must))
        if problems or not read:
            # The names come from the command, and are not repeated.
            what = f"has one that {problems[0]}" if problems else "are none"
            raise NoCredential(f"The headers that {SETTING} printed cannot be sent: {what}.")
        if said.get("token") and any(name.lower() == "authorization" for name, _ in read):
            raise NoCredential(f"{SETTING} printed both a token and a header Authorization.")
        token = _token(said["token"]) if said.get("token") else None
        return Credential(token=token, headers=read, expires=expires)
    if not said.get("token"):
        raise NoCredential(f"{SETTING} printed JSON with neither `token` nor `headers` in it.")
    return Credential(token=_token(said["token"]), expires=expires)


def _token(text: object) -> Secret:
    problems: list[str] = []
    token = Token().read(text, lambda must, at="": problems.append(must))
    if token is None:
        must = problems[0] if problems else "must not be empty"
        raise NoCredential(f"The token that {SETTING} printed {must}.")
    return token


def _expiration(said: object, now: float) -> float | None:
    if said is None:
        return None
    if isinstance(said, bool) or not isinstance(said, int | float) or said != said:
        raise NoCredential(
            f"The `expiration` that {SETTING} printed must be a number: seconds since 1970."
        )
    if said <= now:
        raise NoCredential(f"What {SETTING} printed has expired already.")
    return float(said)


def _complaint(said: str) -> str:
    """The first line of an error, as the end of a sentence, unless a secret may stand in it."""
    line = next((line.strip() for line in said.splitlines() if line.strip()), "")
    line = "".join(character for character in line[:LONGEST_LINE] if character.isprintable())
    if not line or SECRET_LIKE.search(line):
        return "."
    return f": {line[:160].rstrip('.')}."


# Sourcegraph's tokens in all their forms; the oldest are a bare number.
TOKEN_LIKE = re.compile(r"(sg[a-z]{1,4}_[\w-]{16,}|[0-9a-f]{40})", re.ASCII)
# A long word that is no path and no ordinary word, or something after a word for a secret.
SECRET_LIKE = re.compile(
    r"sg[a-z]{1,4}_|\b(bearer|token|password|secret|key)\s*[:=]?\s+(?=\S*\d)\S{6,}"
    r"|(token|password|secret|key)\s*[:=]\s*\S{6,}"
    r"|(?=[A-Za-z0-9+/_=-]*\d)(?=[A-Za-z0-9+/_=-]*[A-Za-z])[A-Za-z0-9+_=-]{20,}",
    re.IGNORECASE,
)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a program and what it has started."""
    with suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
