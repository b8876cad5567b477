"""Where settings come from: logins, files, the environment and the editor.

The same names everywhere. What is read here is only found and unwrapped; `settings.resolve`
judges it, and `in_force` whether it counts.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from lsp_completions.configuration.machine_file import machine_layers
from lsp_completions.configuration.project_file import project_file, read_project_file
from lsp_completions.configuration.sources import Kind, Layer, Source
from lsp_completions.configuration.toml_file import UnreadableFile, read_toml
from lsp_completions.credentials import src_cli
from lsp_completions.credentials.logins import Logins
from lsp_completions.kinds import NOT_READ
from lsp_completions.settings import Problem

NAME = "lsp-completions"
SECTION = "lspCompletions"

# What clients tell other servers, and so us as well.
OTHERS = frozenset(
    [
        *("editorInfo", "editorPluginInfo", "networkProxy", "http", "telemetry", "mcp"),
        *("github", "github.copilot", "github-enterprise"),
    ]
)


def load_user_layers(
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    *,
    home: Path | None = None,
    logins: Logins | None = None,
) -> tuple[list[Layer], list[Problem]]:
    """What was set outside the editor, and what could not be read. Later layers win.

    `folder` is the user's config folder of this program, the platform's own by default, and `home`
    the folder where src-cli has its file.
    """
    environment = os.environ if environment is None else environment
    # What is configured comes before all of them; among themselves, the last one counts.
    layers = [
        Layer(
            Source(name=login.told(), kind=Kind.OWN, place=f"the login to {login.endpoint}"),
            {"endpoint": login.endpoint, "accessToken": login.credential},
        )
        for login in (Logins() if logins is None else logins).all()
    ]
    machine, problems = machine_layers()
    layers += machine

    said, problem = src_cli.in_file(src_cli.config_file(home))
    if said is not None:
        name, values = said
        layers.append(Layer(Source(name=name, kind=Kind.OWN), values))
    if problem is not None:
        problems.append(problem)

    file = config_file(folder)
    own, own_problems = _read(file, Kind.OWN, read_toml)
    layers += own
    problems += own_problems

    for name, values in src_cli.in_environment(environment):
        source = Source(name=name, kind=Kind.OWN, place="the environment")
        layers.append(Layer(source, values))

    return layers, problems


def project_layers(roots: Iterable[str]) -> tuple[list[Layer], list[Problem]]:
    """What the workspace folders say themselves, and what could not be read. `roots` are URIs."""
    layers: list[Layer] = []
    problems: list[Problem] = []
    for file in project_files(roots):
        found, wrong = _read(file, Kind.PROJECT, read_project_file)
        layers += found
        problems += wrong
    return layers, problems


def project_files(roots: Iterable[str]) -> list[Path]:
    """The files of workspace folders, whether they exist or not."""
    return [file for root in roots if (file := project_file(root)) is not None]


def editor_layers(*said: object) -> list[Layer]:
    """What the editor said, its first word first."""
    source = Source(name="the editor's settings", kind=Kind.EDITOR)
    return [Layer(source, section(each)) for each in said]


def config_file(folder: Path | None = None) -> Path:
    """The user's file, whether it exists or not."""
    if folder is None:
        import platformdirs

        folder = platformdirs.user_config_path(NAME, appauthor=False)
    return folder / "config.toml"


def section(raw: object) -> object:
    """Our part of what an editor or a file holds.

    It may come alone, under `lspCompletions`, or with that name and a dot before each key; what
    is meant for other servers is left out.
    """
    if not isinstance(raw, Mapping):
        return raw
    nested = raw.get(SECTION)
    dotted = {
        key.removeprefix(f"{SECTION}."): value
        for key, value in raw.items()
        if key.startswith(f"{SECTION}.")
    }
    if dotted and (nested is None or isinstance(nested, Mapping)):
        return {**(nested or {}), **dotted}
    if SECTION in raw:
        return nested
    return {key: value for key, value in raw.items() if key not in OTHERS}


def _read(
    file: Path, kind: Kind, read: Callable[[Path], object]
) -> tuple[list[Layer], list[Problem]]:
    """What a file says, if there is one, and what is wrong with it."""
    source = Source(name=str(file), kind=kind, path=file)
    try:
        said = read(file)
    except UnreadableFile as error:
        # It may have kept anything back.
        unknown = Layer(source, {"exclude": [NOT_READ]})
        sentence = f"{error} Until then nothing is sent."
        return [unknown], [Problem(path="$", message=sentence, source=str(file))]
    return [] if said is None else [Layer(source, section(said))], []
