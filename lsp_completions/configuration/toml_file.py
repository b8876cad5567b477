"""Reads a settings file in TOML, or says in a sentence why it cannot be read."""

import tomllib
from pathlib import Path

from lsp_completions.kinds import quoted

MOST = 1_000_000  # bytes; a settings file is a page long, and whoever wrote it may be anybody


class UnreadableFile(Exception):
    """There is a file that cannot be read; the message is a sentence for the user."""


def read_toml(file: Path) -> dict[str, object] | None:
    """What a file holds, `None` where there is none. Raises `UnreadableFile`."""
    try:
        with file.open("rb") as opened:
            written = opened.read(MOST + 1)
        if len(written) > MOST:
            raise UnreadableFile(_sentence(file, "is too large"))
        # Editors on Windows may put a byte order mark first, which TOML does not allow.
        return tomllib.loads(written.decode("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        raise UnreadableFile(_sentence(file, "is not UTF-8")) from None
    except tomllib.TOMLDecodeError as error:
        raise UnreadableFile(_sentence(file, f"is not TOML: {error}")) from None
    except RecursionError:
        raise UnreadableFile(_sentence(file, "is nested too deeply")) from None
    except OSError as error:
        why = f"could not be read: {error.strerror or error}"
        raise UnreadableFile(_sentence(file, why)) from None


def _sentence(file: Path, what: str) -> str:
    return f"The settings file {quoted(file.name)} {what}."
