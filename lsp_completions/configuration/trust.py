"""The hosts that code may go to whoever names them: what the user approved of, kept on disk.

One list for all servers of a user, in a file that only the user may write.
"""

import json
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from lsp_completions.configuration.addresses import origin_of
from lsp_completions.errors import ConfigurationError, InvalidParams
from lsp_completions.kinds import Address, quoted
from lsp_completions.settings import Problem

PATIENCE = 10.0  # seconds for another process that writes the list, which takes milliseconds


def trust(origin: str, folder: Path | None = None) -> None:
    """Approve of a host from now on. Raises `ConfigurationError` where it cannot be remembered."""
    _change(lambda hosts: [*hosts, origin] if origin not in hosts else hosts, folder)


def distrust(origin: str, folder: Path | None = None) -> bool:
    """Take an approval back; returns whether there was one. Raises `ConfigurationError`."""
    if origin not in trusted(folder)[0]:
        return False
    _change(lambda hosts: [host for host in hosts if host != origin], folder)
    return True


def trusted(folder: Path | None = None) -> tuple[list[str], list[Problem]]:
    """The hosts approved of, first ones first, and what is wrong with the list."""
    file = trust_file(folder)
    try:
        if sys.platform != "win32" and file.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return [], [_problem(file, "does not count, since others may write it: chmod 600 it")]
        read = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [_problem(file, f"could not be read: {error.strerror or error}")]
    except (ValueError, RecursionError):
        return [], [_problem(file, "is not the JSON that was written there; delete it")]
    hosts = read.get("hosts") if isinstance(read, dict) else None
    if not isinstance(hosts, list):
        return [], [_problem(file, "is not the JSON that was written there; delete it")]
    return [host for host in hosts if isinstance(host, str)], []


def trust_file(folder: Path | None = None) -> Path:
    """The list, whether it exists or not. `folder` is the state folder of this program."""
    if folder is None:
        import platformdirs

        folder = platformdirs.user_state_path("lsp-completions", appauthor=False)
    return folder / "trusted-hosts.json"


def read_origin(address: str) -> str:
    """The host of an address that a person typed. Raises `InvalidParams`."""

    def wrong(must: str, at: str = "") -> None:
        raise InvalidParams(f"The address {quoted(address)} {must}.")

    read = Address().read(address, wrong)
    if read is None:
        raise InvalidParams("The address is empty.")
    return origin_of(read)


def _change(changed: Callable[[list[str]], list[str]], folder: Path | None) -> None:
    from filelock import FileLock, Timeout

    file = trust_file(folder)
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(file.with_suffix(".lock"), mode=0o600, timeout=PATIENCE):
            hosts, _ = trusted(folder)
            _write(file, json.dumps({"hosts": changed(hosts)}, indent=2) + "\n")
    except Timeout:
        raise ConfigurationError(
            f"{file} is being written by another process that does not end."
        ) from None
    except OSError as error:
        raise ConfigurationError(
            f"{file} could not be written: {error.strerror or error}."
        ) from error


def _write(file: Path, text: str) -> None:
    """Write a file, whole or not at all, for nobody else to read."""
    handle, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as opened:
            opened.write(text)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _problem(file: Path, what: str) -> Problem:
    return Problem(path="$", message=f"The list of trusted hosts {what}.", source=str(file))
