"""`lsp-completions report`: all that a report of a bug needs, and nothing of yours.

No code, no token, and no name: paths, hosts and users are made neutral.
"""

import importlib.metadata
import importlib.util
import platform
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path, PurePath, PureWindowsPath
from typing import Any
from urllib.parse import urlsplit

import click

from lsp_completions import __version__
from lsp_completions.cli import impatient
from lsp_completions.cli.exits import Exit
from lsp_completions.cli.saying import say
from lsp_completions.cli.servers import newest, what
from lsp_completions.cli.words import clock
from lsp_completions.configuration import config_file
from lsp_completions.configuration.in_force import put_in_force
from lsp_completions.configuration.places import Places
from lsp_completions.credentials.logins import Logins
from lsp_completions.diagnosis.examination import Subject, examine
from lsp_completions.diagnosis.steps import Step
from lsp_completions.running import running
from lsp_completions.secret import Secret
from lsp_completions.settings import Settings, knobs
from lsp_completions.visible import one_line, visible

PARTS = (
    *("pygls", "lsprotocol", "httpx", "httpcore", "truststore", "platformdirs", "click"),
    *("filelock", "pathspec", "xllamacpp", "keyring", "tree-sitter"),
)
MODEL = r"[\w.:/@+-]{1,80}"
MARKS = {True: "ok", False: "BAD", None: "-"}
COMMON_HOSTS = ("127.0.0.1", "localhost", "::1", "api.mistral.ai")


def report() -> Exit:
    """Print the report, in Markdown; returns the exit code."""
    here = Path.cwd()
    subject = Subject(uri=(here / "new-file").as_uri(), roots=(here.as_uri(),), file=None)
    read = Places().read(subject.roots)
    own_file = str(config_file())
    found = put_in_force([*read.layers, *read.project], read.approved, own_file=own_file)
    steps: list[Step] = []
    say("Looking at everything, which takes up to half a minute …")
    impatient.run(examine(read, found, subject, own_file, steps.append))

    # A token need not be a login's: then only the instance says whose it is.
    users = [str(step.details["user"]) for step in steps if step.details.get("user")]
    neutral = Neutral(found.settings, users)
    lines = [
        *("# Report of lsp-completions", ""),
        *versions(),
        *("", "## Settings that are not the default", ""),
        *(settings_in_force(found.settings) or ["None."]),
        *("", "## Running servers", ""),
        *(servers(running(), neutral) or ["None."]),
        *("", "## What `check` says", ""),
        *(checked(steps, neutral)),
    ]
    click.echo(visible("\n".join(lines)))
    say("It holds no code, no token, and no name of yours. Look at it before you send it.")
    impatient.leave(Exit.GOOD)
    return Exit.GOOD


def versions() -> list[str]:
    """What runs, and on what."""
    frozen = "a zip file" if ".zip" in __file__ or ".pyz" in __file__ else "files"
    return [
        f"- lsp-completions {__version__}, from {frozen}",
        f"- Python {platform.python_version()} ({platform.python_implementation()})",
        f"- {platform.system()} {platform.release()}, {platform.machine()}",
        f"- encoding {sys.getfilesystemencoding()}",
        f"- {', '.join(f'{name} {_version(name)}' for name in PARTS)}",
    ]


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        there = importlib.util.find_spec(name.replace("-", "_")) is not None
        return "of an unknown version" if there else "missing"


def settings_in_force(settings: Settings) -> list[str]:
    """Those that were set: values where they say nothing of anybody, else that there is one."""
    lines = []
    for knob in knobs():
        source = settings.source_of(knob.key)
        if source is None:
            continue
        lines.append(f"- {knob.key}: {_told(knob.key, settings.value_of(knob.key))}")
    return lines


def _told(key: str, value: object) -> str:
    match value:
        case Secret():
            return "set, and kept to yourself"
        case bool() | int() | float():
            return str(value).lower()
        case Enum():
            return str(value.value)
        case str() if key == "model" and re.fullmatch(MODEL, value):
            return _model(value)
        case tuple() | list():
            return f"{len(value)} of them"
        case _:
            return "set"


def _model(name: str) -> str:
    """A model's name; llama.cpp has the path of its file for one, which names a user."""
    return PureWindowsPath(name).name if _IS_PATH.match(name) else name


def servers(found: Sequence[Mapping[str, Any]], neutral: "Neutral") -> list[str]:
    """The running servers with their last outcomes."""
    lines: list[str] = []
    for server in found:
        told = server.get("status") or {}
        model = _model(str(told.get("model") or "not named"))
        editor = f"{server.get('editor') or 'An editor'} {server.get('editorVersion') or ''}"
        lines += [
            *(f"### {editor.strip()}", ""),
            f"lsp-completions {server.get('version')}, folders: "
            f"{len(server.get('workspace') or ())}, {told.get('state')}, "
            f"provider {told.get('provider') or 'none'}, model {model}.",
        ]
        if told.get("message"):
            lines.append(neutral(str(told["message"])))
        lines.append("")
        if outcomes := newest([server], everything=True):
            lines.append("| time | method | language | where | after ms | how | what |")
            lines.append("| --- | --- | --- | --- | --- | --- | --- |")
        for each in outcomes:
            times = each.get("times") or {}
            stages = ", ".join(f"{k} {v:.0f}" for k, v in times.items() if v is not None)
            cells = (
                clock(each.get("at")),
                f"{each.get('method')}{' by hand' if each.get('byHand') else ''}",
                str(each.get("language")),
                f"file{PurePath(str(each.get('path'))).suffix}:{each.get('line')}",
                stages,
                each.get("how") or "",
                each.get("reason") or what(each),
            )
            lines.append(f"| {' | '.join(one_line(cell).replace('|', '/') for cell in cells)} |")
        lines.append("")
    return lines


def checked(steps: Iterable[Step], neutral: "Neutral") -> list[str]:
    """What `check` found."""
    return [f"- {MARKS[step.ok]} {step.name}: {neutral(step.sentence)}" for step in steps]


class Neutral:
    """Makes sentences neutral: no path, no host that `settings` name, no user of a login.

    `users` are others who are known.
    """

    def __init__(self, settings: Settings, users: Iterable[str] = ()) -> None:
        hosts = {
            host
            for key in ("endpoint", "url", "proxy")
            if (host := _host_of(settings.value_of(key))) and host not in COMMON_HOSTS
        }
        logins = Logins().all()
        hosts |= {host for each in logins if (host := _host_of(each.endpoint))}
        names = {each.user for each in logins if each.user} | set(users)
        self._words = [(host, "HOST") for host in hosts] + [(name, "USER") for name in names]
        self._words.sort(key=lambda each: -len(each[0]))

    def __call__(self, sentence: str) -> str:
        """The sentence without them."""
        sentence = _URL.sub(_neutral_address, sentence)
        for word, instead in self._words:
            sentence = re.sub(
                rf"(?<![\w.-]){re.escape(word)}(?![\w-])", instead, sentence, flags=re.IGNORECASE
            )
        sentence = _AS_USER.sub(r"\1USER", sentence)
        sentence = _QUOTED.sub('"…"', sentence)
        sentence = _PATH.sub(r"\1PATH", sentence)
        return _REPOSITORY.sub("REPOSITORY", sentence)


def _host_of(value: object) -> str:
    text = value if isinstance(value, str) else str(getattr(value, "address", value) or "")
    try:
        return urlsplit(text if "//" in text else f"//{text}").hostname or ""
    except ValueError:
        return ""


def _neutral_address(found: re.Match[str]) -> str:
    scheme, rest = found[1], found[2]
    host = rest.partition("/")[0].rpartition("@")[2]
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return f"{scheme}://{host if name in COMMON_HOSTS else 'HOST'}"


_IS_PATH = re.compile(r"[/\\~.]|[A-Za-z]:[\\/]")
_URL = re.compile(r"\b([a-z][a-z0-9+.-]*)://([^\s,;)\]}\"'`]*[^\s,;)\]}\"'`.:?!])")
_QUOTED = re.compile(r'"[^"]*"')
_AS_USER = re.compile(r"\b((?:signed|logged) in as |belongs to |user )[^\s,;]*[^\s,;.]")
_PATH = re.compile(
    r"(^|[\s(:])(?:~|[A-Za-z]:|\\\\[^\s\\]+)?(?:[\\/][^\s,;:()\\/]*[^\s,;:()\\/.])+[\\/]?"
)
_REPOSITORY = re.compile(r"\b[\w-]+(?:\.[\w-]+)+/[\w./-]*\w")
