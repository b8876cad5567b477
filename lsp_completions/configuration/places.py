"""The files that have a say, read together and again when one of them has changed."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lsp_completions.configuration import (
    config_file,
    load_user_layers,
    project_files,
    project_layers,
)
from lsp_completions.configuration.machine_file import machine_file
from lsp_completions.configuration.sources import Layer
from lsp_completions.configuration.trust import trust_file, trusted
from lsp_completions.settings import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What they say, the environment included."""

    layers: tuple[Layer, ...] = ()
    """Of the machine and of the user. Later ones win."""
    project: tuple[Layer, ...] = ()
    """Of the workspace folders."""
    approved: frozenset[str] = frozenset()
    """The hosts that code may go to whoever names them."""
    problems: tuple[Problem, ...] = ()


class Places:
    """Remembers how the files looked when they were read."""

    def __init__(self) -> None:
        self._roots: tuple[str, ...] = ()
        self._files: tuple[Path, ...] = ()
        self._stamps: tuple[object, ...] = ()
        self._good: tuple[Layer, ...] | None = None

    def read(self, roots: Iterable[str]) -> Read:
        """Read all of them. `roots` are the workspace folders, as URIs."""
        self._roots = roots = tuple(roots)
        self._files = (machine_file(), config_file(), trust_file(), *project_files(roots))
        self._stamps = _stamps(self._files)  # before, so that no change is missed
        layers, problems = load_user_layers()
        project, of_project = project_layers(roots)
        approved, of_list = trusted()
        # A file that is being written may be broken for a moment; what it kept back stays so.
        if self._good is None or not problems:
            self._good = tuple(layers)
        return Read(
            layers=self._good,
            project=tuple(project),
            approved=frozenset(approved),
            problems=(*problems, *of_project, *of_list),
        )

    def have_changed(self, roots: Iterable[str]) -> bool:
        """Whether one of them looks otherwise than when it was read: a `stat` for each."""
        return tuple(roots) != self._roots or _stamps(self._files) != self._stamps


def _stamps(files: Iterable[Path]) -> tuple[object, ...]:
    return tuple(map(_stamp, files))


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
