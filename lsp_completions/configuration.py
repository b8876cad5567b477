"""Where settings come from: the user's file, the environment and the editor.

The same names everywhere. What is read here is only found and unwrapped; `settings.resolve`
judges it.
"""

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from lsp_completions.kinds import quoted
from lsp_completions.settings import Layer, Problem, Settings, resolve

NAME = "lsp-completions"
SECTION = "lspCompletions"

# The variables that Sourcegraph's own command line reads.
VARIABLES = {"SRC_ENDPOINT": "endpoint", "SRC_ACCESS_TOKEN": "accessToken"}

# What clients tell other servers, and so us as well.
OTHERS = frozenset(
    ("editorInfo", "editorPluginInfo", "http", "telemetry", "github.copilot", "github-enterprise")
)


def load_user_layers(
    environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> tuple[list[Layer], list[Problem]]:
    """What the user set outside the editor, and what could not be read. Later layers win.

    `folder` is the user's config folder of this program, the platform's own by default.
    """
    environment = os.environ if environment is None else environment
    layers: list[Layer] = []
    problems: list[Problem] = []

    file = config_file(folder)
    try:
        # Editors on Windows may put a byte order mark first, which TOML does not allow.
        layers.append((str(file), section(tomllib.loads(file.read_text(encoding="utf-8-sig")))))
    except FileNotFoundError:
        pass
    except UnicodeDecodeError:
        problems.append(_unreadable(file, "is not UTF-8"))
    except tomllib.TOMLDecodeError as error:
        problems.append(_unreadable(file, f"is not TOML: {error}"))
    except OSError as error:
        problems.append(_unreadable(file, f"could not be read: {error.strerror or error}"))

    for variable, key in VARIABLES.items():
        if value := environment.get(variable):
            layers.append((variable, {key: value}))

    return layers, problems


# Where code goes, and what would go there with it.
GOES_ALONG = {"endpoint": ("accessToken", "headers"), "url": ("apiKey", "headers")}


def resolve_for_editor(own: Sequence[Layer], editor: Layer) -> tuple[Settings, tuple[Problem, ...]]:
    """The best settings there are, without an address that would lead a credential astray.

    An editor may pass on what stands in an opened project, such as VS Code's workspace settings;
    a credential goes to an address it was set with, and not to one from there.
    """
    settings, problems = resolve([*own, editor])
    mine, _ = resolve(own)
    source, raw = editor
    astray = {
        address: next(iter(theirs))
        for address, credentials in GOES_ALONG.items()
        if settings.source_of(address) == source
        and settings.value_of(address) != mine.value_of(address)
        and (
            theirs := [key for key in credentials if settings.source_of(key) not in (None, source)]
        )
    }
    if not astray or not isinstance(raw, Mapping):
        return settings, problems
    refused = tuple(
        Problem(
            path=f"$.{address}",
            message=f"{address} is not used, since {credential} was set elsewhere and may not be "
            "meant for it. Set both in one place.",
            source=source,
        )
        for address, credential in astray.items()
    )
    kept = {key: value for key, value in raw.items() if key not in astray}
    settings, problems = resolve([*own, (source, kept)])
    return settings, (*refused, *problems)


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


def _unreadable(file: Path, what: str) -> Problem:
    return Problem(
        path="$", message=f"The settings file {quoted(file.name)} {what}.", source=str(file)
    )
