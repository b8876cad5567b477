"""`lsp-completions check`: why nothing shows, step by step, for a person or a script."""

import json
import locale
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

import click

from lsp_completions import __version__
from lsp_completions.cli import impatient
from lsp_completions.cli.exits import Exit
from lsp_completions.cli.screen import can_draw
from lsp_completions.cli.words import wrapped
from lsp_completions.configuration import config_file
from lsp_completions.configuration.in_force import put_in_force
from lsp_completions.configuration.places import Places
from lsp_completions.diagnosis.examination import Subject, examine
from lsp_completions.diagnosis.steps import Step
from lsp_completions.errors import InvalidParams
from lsp_completions.on_disk import is_folder, is_there
from lsp_completions.visible import in_json

ALL_GOOD = (
    "All of this is right. If nothing shows all the same, `lsp-completions status` tells whether "
    "your editor has started its server, and `lsp-completions why` what came of its requests. What "
    "the editor's own settings say is not seen here."
)

SO_FAR_GOOD = "Nothing is wrong so far, but whether a suggestion comes is not known yet."


def check(path: str | None, *, as_json: bool) -> Exit:
    """Look at everything for the current folder, or a file or folder; returns the exit code."""
    subject, root = _subject(path)
    read = Places().read(subject.roots)
    own_file = str(config_file())
    found = put_in_force([*read.layers, *read.project], read.approved, own_file=own_file)

    steps: list[Step] = []
    page = None if as_json else Page(sys.stdout, os.environ)

    def told(step: Step) -> None:
        steps.append(step)
        if page is not None:
            page.add(step)

    began = time.monotonic()
    impatient.run(examine(read, found, subject, own_file, told))
    wrong = sum(step.ok is False for step in steps)
    if page is not None:
        page.end(steps)
    else:
        milliseconds = round((time.monotonic() - began) * 1000)
        about = {"version": __version__, "folder": str(root), "file": subject.file}
        click.echo(
            in_json(
                {
                    "ok": not wrong,
                    **about,
                    "milliseconds": milliseconds,
                    "steps": [_fields(step) for step in steps],
                }
            )
        )
    code = Exit.BACKEND if wrong else Exit.GOOD
    impatient.leave(code)
    return code


def _subject(path: str | None) -> tuple[Subject, Path]:
    """What to look at, and the workspace folder around it."""
    here = Path.cwd()
    given = here if path is None else here / Path(path).expanduser()
    if is_folder(given):
        # Any file there; its name says nothing to patterns such as `*.py`.
        uri = (given / "new-file").as_uri()
        return Subject(uri=uri, roots=(given.as_uri(),), file=None), given
    if not is_there(given):
        raise InvalidParams(f"There is no file or folder {json.dumps(path)}.")
    root = here if given.is_relative_to(here) else given.parent
    return Subject(uri=given.as_uri(), roots=(root.as_uri(),), file=str(given)), root


def _fields(step: Step) -> dict[str, object]:
    return {
        "name": step.name,
        "ok": step.ok,
        "sentence": step.sentence,
        "remedy": step.remedy or None,
        "details": dict(step.details),
    }


class Page:
    """The steps as a person reads them: a mark, what was looked at, what was found, what to do."""

    def __init__(self, stream: TextIO, environment: Mapping[str, str]) -> None:
        self._stream = stream
        self._colours = can_draw(stream, environment)
        self._marks = MARKS if shows_ticks(environment) else PLAIN_MARKS
        home = environment.get("HOME") or environment.get("USERPROFILE")
        self._home = home.rstrip("/\\") or None if home else None
        self._held: list[Step] = []

    def add(self, step: Step) -> None:
        """Show a step; those of which the same is unknown are shown together."""
        if self._held and (step.ok is not None or step.sentence != self._held[0].sentence):
            self._release()
        if step.ok is None and not step.lines:
            self._held.append(step)
        else:
            self._write(step)

    def end(self, steps: Sequence[Step]) -> None:
        """Say what all of them mean."""
        self._release()
        self._line("")
        if wrong := sum(step.ok is False for step in steps):
            self._line(f"{wrong} {'step is' if wrong == 1 else 'steps are'} wrong.")
        else:
            self._line(ALL_GOOD if steps[-1].ok else SO_FAR_GOOD)

    def _release(self) -> None:
        held, self._held = self._held, []
        if len(held) == 1:
            self._write(held[0])
        elif held:
            mark = self._marks[None]
            names = ", ".join(LABELS.get(step.name, step.name) for step in held)
            self._line(f"{mark} {names}: {held[0].sentence}", " " * (len(mark) + 1), mark=None)

    def _write(self, step: Step) -> None:
        mark, arrow = self._marks[step.ok], self._marks["remedy"]
        indent = " " * (len(mark) + 1 + LABEL + 1)
        label = LABELS.get(step.name, step.name)
        self._line(f"{mark} {label:{LABEL}} {step.sentence}", indent, mark=step.ok)
        for line in step.lines:
            deeper = indent + " " * (len(line) - len(line.lstrip()))
            self._line(line.lstrip(), f"{deeper}  ", first=deeper)
        if step.remedy:
            hanging = indent + " " * (len(arrow) + 1)
            self._line(f"{arrow} {step.remedy}", hanging, first=indent)

    def _line(self, text: str, indent: str = "", *, first: str = "", mark: object = "") -> None:
        """Write a line, which begins with a mark where one is named."""
        if self._home is not None:
            text = re.sub(rf"(?<![\w/\\]){re.escape(self._home)}(?=[/\\])", "~", text)
        text = wrapped(text, first=first, indent=indent, stream=self._stream)
        if self._colours and mark in COLOURS:
            plain = self._marks[mark]
            text = f"\x1b[{COLOURS[mark]}m{plain}\x1b[0m{text[len(plain) :]}"
        self._stream.write(f"{text}\n")
        self._stream.flush()


LABEL = 11
LABELS = {"switch": "allowed", "apiVersion": "API version", "sharing": "files"}
MARKS: Mapping[object, str] = {True: "✓", False: "✗", None: "-", "remedy": "→"}
PLAIN_MARKS: Mapping[object, str] = {True: "ok ", False: "BAD", None: "-  ", "remedy": "->"}
COLOURS: Mapping[object, int] = {True: 32, False: 31, None: 2}  # green, red, dim


def shows_ticks(environment: Mapping[str, str]) -> bool:
    """Whether a terminal has the letters for it."""
    if environment.get("TERM") in ("dumb", "linux"):
        return False
    if sys.platform == "win32":
        # The older console may show a box in place of a tick.
        return "WT_SESSION" in environment or "TERM_PROGRAM" in environment
    return locale.getencoding().lower().replace("-", "") == "utf8"
