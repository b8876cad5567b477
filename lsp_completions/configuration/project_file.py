"""`.lsp-completions.toml` in a workspace folder: what a project says for everybody who opens it.

Whoever wrote the project wrote this file, so nothing about it is taken for granted.
"""

import stat
from pathlib import Path

from lsp_completions.configuration.toml_file import UnreadableFile, read_toml
from lsp_completions.kinds import quoted
from lsp_completions.pipeline.uris import local_path, scheme_of

NAME = ".lsp-completions.toml"


def project_file(root: str) -> Path | None:
    """The file in a workspace folder, whether it exists or not; `None` in one that is on no disk.

    `root` is a URI.
    """
    if scheme_of(root) != "file":
        return None
    try:
        path = Path(local_path(root)) / NAME
        return path if path.is_absolute() else None
    except ValueError:
        return None


def read_project_file(file: Path) -> dict[str, object] | None:
    """What it says, `None` where there is none. Raises `UnreadableFile`."""
    try:
        real = file.resolve(strict=True)
        if not real.is_relative_to(file.parent.resolve()):
            raise UnreadableFile(f"The link {quoted(NAME)} leads out of its folder.")
        # To open a pipe would be to wait for whoever writes into it.
        if not stat.S_ISREG(real.stat().st_mode):
            raise UnreadableFile(f"{quoted(NAME)} is no file.")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, RuntimeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "a wrong path"
        raise UnreadableFile(f"{quoted(NAME)} could not be read: {why}.") from None
    return read_toml(real)
