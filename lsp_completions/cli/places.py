"""`lsp-completions paths` and `clean`: the files we use, and those of them that we wrote."""

import os
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import click

from lsp_completions.cli.exits import Exit
from lsp_completions.cli.saying import say
from lsp_completions.cli.words import short, size
from lsp_completions.on_disk import found_in, is_folder
from lsp_completions.visible import in_json

STATE, DATA, RUNTIME = "state", "data", "runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file or a folder; `pattern` names several in it."""

    path: Path
    what: str
    folder: str = ""
    """Which of our folders it is in, for the README; empty where somebody else wrote it."""
    pattern: str = ""

    def files(self) -> list[Path]:
        """Those that are there. Raises `OSError` where that cannot be seen."""
        if self.pattern:
            return found_in(self.path, self.pattern)
        try:
            self.path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [self.path]

    @property
    def ours(self) -> bool:
        """We wrote it; what is not is the user's or somebody else's."""
        return bool(self.folder)

    @property
    def name(self) -> str:
        """As a person reads it."""
        return str(self.path / self.pattern)


def places() -> list[Place]:
    """All of them, whether they exist or not."""
    import platformdirs

    from lsp_completions.configuration import config_file, project_files
    from lsp_completions.configuration.machine_file import machine_file
    from lsp_completions.configuration.trust import trust_file
    from lsp_completions.credentials.logins import LEFT_OVER, Logins
    from lsp_completions.local_model.client import lasting_folder, log_file, runtime_folder
    from lsp_completions.local_model.files import data_folder
    from lsp_completions.log_file import log_folder
    from lsp_completions.running import servers_folder

    state = platformdirs.user_state_path("lsp-completions", appauthor=False)
    logins, trusted = Logins().file, trust_file()
    project = project_files([Path.cwd().as_uri()])
    theirs = [
        Place(path=config_file(), what="your settings"),
        *(Place(path=each, what="settings of this folder") for each in project),
        Place(path=machine_file(), what="settings of this machine"),
    ]
    ours = {
        STATE: [
            Place(path=logins.parent, pattern=f"{logins.name}*", what="logins"),
            Place(path=logins.parent, pattern=LEFT_OVER, what="logins that were broken off"),
            Place(path=trusted.parent, pattern=f"{trusted.stem}.*", what="hosts that you trust"),
            Place(path=state, pattern="told-*", what="what you were told once"),
            Place(path=state, pattern="statistics*", what="statistics"),
            Place(path=log_folder(), what="logs of the servers"),
            Place(path=log_file(), what="log of the small model"),
            Place(path=lasting_folder(), what="in place of a runtime folder"),
        ],
        DATA: [Place(path=data_folder(), what="models that were installed")],
        RUNTIME: [
            Place(path=servers_folder(), pattern="*.json*", what="which servers run"),
            Place(path=servers_folder(), pattern="*.code*", what="prompts that inspect shows"),
            Place(path=servers_folder(), pattern="*.wish", what="who looks at prompts"),
            Place(path=runtime_folder(), pattern="model-*", what="the small model's process"),
        ],
    }
    return [
        *theirs,
        *(replace(each, folder=name) for name, found in ours.items() for each in found),
    ]


def written_for_the_readme() -> str:
    """What we write, as a table in Markdown."""
    rows = [f"| {each.what} | {each.folder} |" for each in places() if each.ours]
    return "\n".join(["| what | folder |", "| --- | --- |", *rows])


def paths(*, as_json: bool) -> Exit:
    """List them; returns the exit code."""
    found = places()
    if as_json:
        listed = [
            {
                "path": each.name,
                "what": each.what,
                "written": "by us" if each.ours else "by you",
                "exists": _is_there(each),
            }
            for each in found
        ]
        click.echo(in_json({"paths": listed}))
        return Exit.GOOD
    for title, ours in (("Written by you or your administrator:", False), ("Written by us:", True)):
        click.echo(title)
        for each in found:
            if each.ours is ours:
                # The path last: it may be long, and is copied.
                click.echo(f"  {each.what:28} {_told(each):>10}  {short(each.name)}")
    return Exit.GOOD


def _is_there(place: Place) -> bool | None:
    """Whether there is any of it; `None` where that cannot be seen."""
    try:
        return bool(place.files())
    except OSError:
        return None


def _told(place: Place) -> str:
    try:
        files = place.files()
    except OSError:
        return "unreadable"
    return size(sum(map(_size, files))) if files else "not there"


def clean(*, yes: bool, config: bool) -> Exit:
    """Remove all that we wrote, after a question; returns the exit code."""
    from lsp_completions.configuration import config_file
    from lsp_completions.credentials.logins import Logins
    from lsp_completions.local_model.client import lasting_folder
    from lsp_completions.running import running

    if servers := [*running(), *running(lasting_folder())]:
        numbers = ", ".join(sorted({str(each["pid"]) for each in servers}))
        say(
            f"Editors are still using lsp-completions (process {numbers}), which would write "
            "again. Close them first."
        )
        return Exit.NOTHING
    wanted = [each for each in places() if each.ours]
    if config:
        wanted.append(Place(path=config_file(), what="your settings"))
    found: list[tuple[Place, Path]] = []
    left = 0
    for each in wanted:
        try:
            found += [(each, file) for file in each.files()]
        except OSError as error:
            left += 1
            say(f"{each.path} cannot be looked into: {error.strerror or error}.")
    if not found:
        _remove_empty_folders(wanted)
        if left:
            return Exit.BACKEND
        say("There is nothing to remove.")
        return Exit.GOOD
    logins = Logins().all()
    for each, file in found:
        say(f"  {each.what}: {short(str(file))} ({size(_size(file))})")
    if logins:
        say(f"  and {len(logins)} {'token' if len(logins) == 1 else 'tokens'} in the keyring")
    if not yes and not click.confirm("Remove all of this?", default=False, err=True):
        say("Nothing was removed.")
        return Exit.NOTHING
    if logins:
        from lsp_completions.cli.login import logout

        logout(None, every=True)
    for _, file in found:
        try:
            _remove(file)
        except OSError as error:
            left += 1
            say(f"{file} could not be removed: {error.strerror or error}.")
    _remove_empty_folders(wanted)
    if left:
        return Exit.BACKEND
    kept = "" if config else " Your settings are where they were."
    say(f"Removed.{kept} What `setup` added to an editor's files stands there still.")
    return Exit.GOOD


def _remove(file: Path) -> None:
    if is_folder(file) and not file.is_symlink():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)


def _remove_empty_folders(places: Iterable[Place]) -> None:
    folders = {each.path if each.pattern else each.path.parent for each in places}
    # Those within others first.
    for folder in sorted(folders, key=lambda each: -len(each.parts)):
        # Not the folder of somebody else's files: those below it have our name.
        if "lsp-completions" in folder.parts:
            with suppress(OSError):
                folder.rmdir()


def _size(path: Path) -> int:
    if not is_folder(path) or path.is_symlink():
        return _size_of(path)
    within = (Path(top) / name for top, _, names in os.walk(path) for name in names)
    return sum(_size_of(each) for each in within if not each.is_symlink())


def _size_of(file: Path) -> int:
    try:
        found = file.stat()
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
