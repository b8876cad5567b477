"""The logins of this user: to which instances, as whom, and where each token is kept.

One small file knows them all, and running servers watch it. A token is in the system's keyring,
or in that file, which nobody else may read.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from lsp_completions.errors import ConfigurationError
from lsp_completions.on_disk import found_in
from lsp_completions.secret import LoginToken, Secret

FILE = "logins.json"
LEFT_OVER = ".logins-*"
"""What a process leaves that is killed before the file is whole; it may hold tokens."""
PATIENCE = 10.0  # seconds; who holds the lock writes one small file


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """One login. `token` is `None` where the keyring keeps it; `user` is empty where unknown."""

    endpoint: str
    user: str
    since: date
    token: Secret | None = None

    @property
    def in_keyring(self) -> bool:
        """Whether the system's keyring keeps the token."""
        return self.token is None

    def with_token(self, token: Secret) -> "Login":
        """The same with its token in the file."""
        return replace(self, token=token)

    @property
    def credential(self) -> LoginToken:
        """Its token as a setting, which may have to be asked for first."""
        return LoginToken(self.endpoint, None if self.token is None else self.token.reveal())

    def told(self, today: date | None = None) -> str:
        """Such as "the login of 3 May, stored in the keyring"."""
        day = f"{self.since.day} {MONTHS[self.since.month - 1]}"
        if self.since.year != (today or date.today()).year:
            day += f" {self.since.year}"
        where = "the keyring" if self.in_keyring else "a file"
        return f"the login of {day}, stored in {where}"


MONTHS = (
    "January February March April May June July August September October November December"
).split()

Stamp = tuple[int, int, int] | None
"""What changes whenever the file does; `None` while there is none."""


class Logins:
    """The file with the logins, in the user's state folder unless another is given."""

    def __init__(self, folder: Path | None = None) -> None:
        if folder is None:
            import platformdirs

            folder = platformdirs.user_state_path("lsp-completions", appauthor=False)
        self.file = folder / FILE
        self._lock = folder / f"{FILE}.lock"

    def stamp(self) -> Stamp:
        """Cheap enough to be asked for at each request."""
        try:
            found = self.file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def all(self) -> list[Login]:
        """All logins, the last one last; none where the file cannot be read."""
        try:
            held = json.loads(self.file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return []
        raw = held.get("logins") if isinstance(held, dict) else None
        found = (_login(each) for each in raw) if isinstance(raw, list) else ()
        return [login for login in found if login is not None]

    def at(self, endpoint: str) -> Login | None:
        """The login to `endpoint`."""
        return next((login for login in self.all() if login.endpoint == endpoint), None)

    def last(self) -> Login | None:
        """The last login."""
        logins = self.all()
        return logins[-1] if logins else None

    def add(self, login: Login) -> None:
        """Remember a login in place of an earlier one to the same instance.

        Raises `ConfigurationError` where that cannot be written.
        """
        with self._changing() as logins:
            logins[:] = [each for each in logins if each.endpoint != login.endpoint]
            logins.append(login)

    def remove(self, endpoint: str) -> None:
        """Forget a login. Raises `ConfigurationError` where that cannot be written."""
        with self._changing() as logins:
            logins[:] = [each for each in logins if each.endpoint != endpoint]

    def clear(self) -> None:
        """Leave nothing behind."""
        self._remove_left_over()
        for file in (self.file, self._lock):
            with suppress(OSError):
                file.unlink(missing_ok=True)

    @contextmanager
    def _changing(self) -> Iterator[list[Login]]:
        from filelock import FileLock, Timeout

        folder = self.file.parent
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = FileLock(self._lock, mode=0o600, timeout=PATIENCE)
            with lock:
                logins = self.all()
                yield logins
                self._write(logins)
        except Timeout:
            raise ConfigurationError(
                f"Another lsp-completions is writing {self.file} and does not end."
            ) from None
        except OSError as error:
            raise ConfigurationError(
                f"{self.file} could not be written: {error.strerror or error}."
            ) from None

    def _write(self, logins: list[Login]) -> None:
        """Write the file as a whole, or leave it as it was; without logins there is none.

        Whoever writes holds the lock.
        """
        self._remove_left_over()
        if not logins:
            self.file.unlink(missing_ok=True)
            return
        text = json.dumps({"logins": [_raw(login) for login in logins]}, indent=2) + "\n"
        # Only the user may read it, from the first moment on: that is how mkstemp makes files.
        number, name = tempfile.mkstemp(prefix=".logins-", dir=self.file.parent)
        try:
            with os.fdopen(number, "w", encoding="utf-8") as opened:
                opened.write(text)
                opened.flush()
                os.fsync(opened.fileno())
            Path(name).replace(self.file)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise

    def _remove_left_over(self) -> None:
        with suppress(OSError):
            for file in found_in(self.file.parent, LEFT_OVER):
                file.unlink()


def how_protected() -> str:
    """What keeps others from reading the file."""
    if sys.platform == "win32":
        return "which your user profile keeps from others"
    return "which only you can read"


def _login(raw: object) -> Login | None:
    if not isinstance(raw, dict):
        return None
    endpoint, user, token = raw.get("endpoint"), raw.get("user"), raw.get("token")
    try:
        day = date.fromisoformat(str(raw.get("since")))
    except ValueError:
        return None
    if not isinstance(endpoint, str) or not endpoint:
        return None
    return Login(
        endpoint=endpoint,
        user=user if isinstance(user, str) else "",
        since=day,
        token=Secret(token) if isinstance(token, str) and token else None,
    )


def _raw(login: Login) -> Mapping[str, Any]:
    raw = {"endpoint": login.endpoint, "user": login.user, "since": login.since.isoformat()}
    return raw if login.token is None else {**raw, "token": login.token.reveal()}
