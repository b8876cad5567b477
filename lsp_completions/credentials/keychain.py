"""The system's keyring: the tokens of logins, where there is one.

The package `keyring` is an extra, and what it talks to may hang, or ask the user for a password:
every call has an end, and what does not come to one is left to itself.
"""

import importlib
import importlib.util
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from lsp_completions.secret import Secret

SERVICE = "lsp-completions"
PATIENCE = 5.0  # seconds; a keyring that is open answers within some hundred milliseconds
RECOMMENDED = 1  # the least priority of those that the package itself recommends

T = TypeVar("T")


class NoKeyring(Exception):
    """There is no keyring, or it gave no answer; says why, as the end of a sentence."""


def is_installed() -> bool:
    """Whether the package is there. Does not import it."""
    return importlib.util.find_spec("keyring") is not None


def read(endpoint: str, *, patience: float = PATIENCE) -> Secret | None:
    """The token kept for `endpoint`; `None` where there is none. Raises `NoKeyring`."""

    def get(keyring: Any) -> str | None:
        found = keyring.get_password(SERVICE, endpoint)
        return found if isinstance(found, str) and found else None

    found = _asked(get, patience)
    return None if found is None else Secret(found)


def keep(endpoint: str, token: Secret, *, patience: float = PATIENCE) -> None:
    """Keep the token for `endpoint`. Raises `NoKeyring` where it would not be there later."""

    def put(keyring: Any) -> bool:
        keyring.set_password(SERVICE, endpoint, token.reveal())
        # Some stand in for a keyring and keep nothing.
        return bool(keyring.get_password(SERVICE, endpoint) == token.reveal())

    if not _asked(put, patience):
        raise NoKeyring("it does not keep what it is given")


def forget(endpoint: str, *, patience: float = PATIENCE) -> None:
    """Remove the token kept for `endpoint`, if there is one. Raises `NoKeyring`."""

    def drop(keyring: Any) -> None:
        if keyring.get_password(SERVICE, endpoint) is not None:
            keyring.delete_password(SERVICE, endpoint)

    _asked(drop, patience)


def _asked(ask: Callable[[Any], T], patience: float) -> T:
    """What `ask` says of the keyring, in a thread of its own that nobody waits for at the end."""
    if not is_installed():
        raise NoKeyring("the extra `keyring` of lsp-completions is not installed")
    answers: queue.SimpleQueue[T | NoKeyring] = queue.SimpleQueue()

    def work() -> None:
        try:
            answers.put(ask(_keyring()))
        except NoKeyring as error:
            answers.put(error)
        except BaseException as error:  # noqa: BLE001 - each kind of keyring has its own
            # What it says may hold what it was given.
            answers.put(NoKeyring(f"it failed ({type(error).__name__})"))

    threading.Thread(target=work, name="keyring", daemon=True).start()
    try:
        answer = answers.get(timeout=patience)
    except queue.Empty:
        raise NoKeyring(f"it did not answer within {patience:g} seconds") from None
    if isinstance(answer, NoKeyring):
        raise answer
    return answer


def _keyring() -> Any:
    keyring = importlib.import_module("keyring")
    chosen = keyring.get_keyring()
    # Below that are those that refuse everything, and those that write plain files anywhere.
    if not chosen.priority >= RECOMMENDED:
        raise NoKeyring("there is none on this machine")
    return chosen
