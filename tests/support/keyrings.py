"""Keyrings for tests: chosen by `PYTHON_KEYRING_BACKEND`, also in other processes.

The entries of `Remembering` are in the JSON file that FAKE_KEYRING names.
"""

import json
import os
import threading
from pathlib import Path

from keyring.backend import KeyringBackend

NAMES = "tests.support.keyrings."


class Remembering(KeyringBackend):
    """Keeps what it is given."""

    priority = 5.0

    def get_password(self, service: str, username: str) -> str | None:
        return entries().get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        _write({**entries(), f"{service} {username}": password})

    def delete_password(self, service: str, username: str) -> None:
        kept = entries()
        del kept[f"{service} {username}"]
        _write(kept)


class Forgetful(Remembering):
    """Takes everything and keeps nothing."""

    def set_password(self, service: str, username: str, password: str) -> None:
        pass


class Careless(Remembering):
    """Writes plain files anywhere."""

    priority = 0.5


class Broken(Remembering):
    """Fails, and says what it was given."""

    def set_password(self, service: str, username: str, password: str) -> None:
        raise RuntimeError(f"cannot keep {password}")


class Locked(Remembering):
    """Lets nothing be read or deleted."""

    def get_password(self, service: str, username: str) -> str | None:
        raise RuntimeError("locked")


class Hanging(Remembering):
    """Never answers."""

    def get_password(self, service: str, username: str) -> str | None:
        threading.Event().wait()
        return None

    def set_password(self, service: str, username: str, password: str) -> None:
        threading.Event().wait()


def entries() -> dict[str, str]:
    """What `Remembering` keeps, by service and user name."""
    file = _file()
    found: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    return found


def _write(kept: dict[str, str]) -> None:
    _file().write_text(json.dumps(kept))


def _file() -> Path:
    return Path(os.environ["FAKE_KEYRING"])
