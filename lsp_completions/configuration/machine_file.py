"""What an administrator sets for everybody on this machine, and what nobody else may change.

    endpoint = "https://sourcegraph.example.com"
    exclude = ["**/customers/**"]
    locked = ["provider", "endpoint"]

It counts only where nobody but an administrator can have written it.
"""

import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from lsp_completions.configuration.sources import Kind, Layer, Source
from lsp_completions.configuration.toml_file import UnreadableFile, read_toml
from lsp_completions.kinds import NOT_READ, quoted
from lsp_completions.settings import Problem, is_known


def machine_file() -> Path:
    """The file, whether it exists or not. No variable of the user's leads elsewhere."""
    if sys.platform == "win32":
        import platformdirs

        return platformdirs.site_config_path("lsp-completions", appauthor=False) / "config.toml"
    if sys.platform == "darwin":
        return Path("/Library/Application Support/lsp-completions/config.toml")
    return Path("/etc/lsp-completions/config.toml")


def machine_layers(file: Path | None = None) -> tuple[list[Layer], list[Problem]]:
    """What the file says, and what is wrong with it."""
    file = machine_file() if file is None else file
    try:
        if (why := _why_not_to_be_believed(file)) is not None:
            return [], [Problem(path="$", message=why, source=str(file))]
        values = read_toml(file)
    except FileNotFoundError:
        return [], []
    except (UnreadableFile, OSError) as error:
        why = str(error) if isinstance(error, UnreadableFile) else f"{error.strerror}."
        message = f"What this machine's administrator set cannot be read. {why} {_TILL_THEN}"
        # It may have kept anything back.
        source = Source(name=str(file), kind=Kind.MACHINE, path=file)
        unknown = Layer(source, {"exclude": [NOT_READ]})
        return [unknown], [Problem(path="$", message=message, source=str(file))]
    if values is None:
        return [], []
    locked, problems = _locked(values.pop("locked", []), file)
    source = Source(name=str(file), kind=Kind.MACHINE, path=file, locked=locked)
    return [Layer(source, values)], problems


_TILL_THEN = "Until it can, nothing is sent."


def _locked(value: object, file: Path) -> tuple[frozenset[str], list[Problem]]:
    """The names in the list `locked`, and what is wrong with it."""
    if isinstance(value, Mapping) or not isinstance(value, list):
        message = "locked must be a list of names of settings."
        return frozenset(), [Problem(path="$.locked", message=message, source=str(file))]
    problems = [
        Problem(
            path=f"$.locked[{index}]",
            message=f"There is no setting {quoted(key)} to lock.",
            source=str(file),
        )
        for index, key in enumerate(value)
        if not is_known(key)
    ]
    return frozenset(key for key in value if is_known(key)), problems


def _why_not_to_be_believed(file: Path) -> str | None:
    """Why others than an administrator may have written it, as a sentence."""
    if sys.platform == "win32":
        # Everybody may make folders where programs keep what is common to all users.
        for path in (file, file.parent):
            if not _is_of_administrators(path):
                return f"{path} does not count, since it does not belong to the administrators."
        return None
    mode = file.stat().st_mode
    if stat.S_IMODE(mode) & (stat.S_IWGRP | stat.S_IWOTH):
        return f"{file} does not count, since others than its owner may write it: chmod 644 it."
    return None


if sys.platform == "win32":

    def _is_of_administrators(path: Path) -> bool:
        """Whether a file or folder belongs to the administrators or the system."""
        import ctypes
        from ctypes import wintypes

        if not path.exists():
            raise FileNotFoundError(path)
        security = ctypes.WinDLL("advapi32", use_last_error=True)
        owner, descriptor, text = ctypes.c_void_p(), ctypes.c_void_p(), wintypes.LPWSTR()
        is_file, owner_only = 1, 1  # SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION
        failed = security.GetNamedSecurityInfoW(
            wintypes.LPCWSTR(str(path)),
            is_file,
            owner_only,
            ctypes.byref(owner),
            None,
            None,
            None,
            ctypes.byref(descriptor),
        )
        if failed or not security.ConvertSidToStringSidW(owner, ctypes.byref(text)):
            return False
        # The descriptor and the text are a few bytes, read once; they are left to the process.
        return text.value in ("S-1-5-32-544", "S-1-5-18")
