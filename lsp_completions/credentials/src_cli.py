"""What the user told Sourcegraph's own command line: its variables and its file.

The names and their meaning are src-cli's. What is read here is only found and unwrapped;
`settings.resolve` judges it.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from lsp_completions.settings import Problem

Said = tuple[str, dict[str, object]]
"""Where it stands, in words for the user, and our names for what stands there."""

FILE = "src-config.json"
HEADERS = "SRC_HEADERS"
ONE_HEADER = "SRC_HEADER_"

# Each of them alone, so that a message names the one that is wrong.
VARIABLES = {
    "SRC_ENDPOINT": "endpoint",
    "SRC_ACCESS_TOKEN": "accessToken",
    "SRC_PROXY": "proxy",
}
KEYS = {
    "endpoint": "endpoint",
    "accessToken": "accessToken",
    "additionalHeaders": "headers",
    "proxy": "proxy",
}


def in_environment(environment: Mapping[str, str]) -> list[Said]:
    """What the variables say."""
    said: list[Said] = [
        (variable, {key: value})
        for variable, key in VARIABLES.items()
        if (value := environment.get(variable, "")).strip()
    ]
    if headers := headers_in(environment):
        which = HEADERS if environment.get(HEADERS) else f"{ONE_HEADER}…"
        said.append((which, {"headers": headers}))
    return said


def headers_in(environment: Mapping[str, str]) -> dict[str, str]:
    """The headers of all variables, by their names in lower case."""
    headers = _headers_of(environment.get(HEADERS, ""))
    for variable, value in environment.items():
        # Windows knows no lower case here.
        name = variable[len(ONE_HEADER) :].lower()
        if variable.upper().startswith(ONE_HEADER) and name and value.strip():
            headers[name] = value.strip()
    return headers


def _headers_of(text: str) -> dict[str, str]:
    """Lines of `name: value`, or a JSON object; a quote around all of it is the shell's."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1].strip()
    if text.startswith("{"):
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if isinstance(found, dict):
            return {
                str(name).strip().lower(): value.strip() if isinstance(value, str) else value
                for name, value in found.items()
                if value not in (None, "")
            }
    headers = {}
    # Some shells and service files have no way to write a line break but its escape.
    for line in text.replace("\\r", "").replace("\\n", "\n").splitlines():
        name, _, value = line.partition(":")
        if name.strip() and value.strip():
            headers[name.strip().lower()] = value.strip()
    return headers


def config_file(home: Path | None = None) -> Path:
    """Its file, whether it exists or not."""
    return (Path.home() if home is None else home) / FILE


def in_file(file: Path) -> tuple[Said | None, Problem | None]:
    """What the file says, and why it could not be read."""

    def unreadable(what: str) -> tuple[None, Problem]:
        message = f"src-cli's file {FILE} {what}."
        return None, Problem(path="$", message=message, source=str(file))

    try:
        held = json.loads(file.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return None, None
    except UnicodeDecodeError:
        return unreadable("is not UTF-8")
    except (ValueError, RecursionError):
        return unreadable("is not JSON")
    except OSError as error:
        return unreadable(f"could not be read: {error.strerror or error}")
    if not isinstance(held, dict):
        return unreadable("does not hold a JSON object")
    # What else stands there is src-cli's own business.
    ours = {KEYS[key]: value for key, value in held.items() if key in KEYS and value}
    return ((str(file), ours) if ours else None), None
