"""`lsp-completions complete`: one suggestion, for the eyes of a person or for a script."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from lsp_completions.cli.exits import Exit
from lsp_completions.cli.saying import say
from lsp_completions.cli.screen import Screen, can_draw
from lsp_completions.configuration import config_file
from lsp_completions.configuration.in_force import put_in_force
from lsp_completions.configuration.places import Places
from lsp_completions.configuration.sources import Kind, Layer, Source
from lsp_completions.errors import CompletionsError
from lsp_completions.oneshot import Answer, Cursor, Place, complete_once, cursor_at
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.outcome import Skipped, Suggested
from lsp_completions.visible import in_json, visible


def complete(place: str, *, language: str, chosen: Mapping[str, str | None], as_json: bool) -> Exit:
    """Show what would be suggested at `place`; returns the exit code.

    `chosen` are settings given on the command line. Raises `InvalidParams` where there is no such
    place, and any other `CompletionsError` where nobody could answer.
    """
    cursor = cursor_at(Place.read(place), language)
    read = Places().read([Path.cwd().as_uri()])
    command = Layer(Source(name="the command line", kind=Kind.OWN), chosen)
    found = put_in_force([*read.layers, *read.project, command], own_file=str(config_file()))
    for problem in (*read.problems, *found.problems):
        _warn(str(problem))

    draws = not as_json and can_draw(sys.stdout, os.environ)
    with Screen(sys.stdout) as screen:

        def show(edit: Edit) -> None:
            if draws:
                screen.draw(*_line_with(edit, cursor), whole=False)

        try:
            answer = asyncio.run(
                complete_once(
                    cursor,
                    found.settings,
                    show=show,
                    report=_warn,
                    progress=lambda what: None if as_json else say(f"{what} …"),
                )
            )
        except CompletionsError as error:
            if not as_json:
                raise
            _print_json(outcome="failure", reason=type(error).__name__, message=str(error))
            return Exit.BACKEND

        outcome = answer.outcome
        if as_json:
            _print_json(**_fields(answer, cursor))
        elif isinstance(outcome, Suggested):
            edit = outcome.edits[0]
            if draws:
                screen.draw(*_line_with(edit, cursor))
            else:
                text = edit.new_text
                click.echo(visible(text) if sys.stdout.isatty() else text)
    if not as_json:
        say(_summary(answer))
    return Exit.GOOD if isinstance(outcome, Suggested) else Exit.NOTHING


def _line_with(edit: Edit, cursor: Cursor) -> tuple[str, str, str]:
    """The cursor's line before the edit, the edit's text, and the line after it."""
    document = cursor.document
    number, start = document.place_at(edit.start)
    line = document.line(number).rstrip("\r\n")
    return line[:start], edit.new_text, line[start + edit.end - edit.start :]


def _summary(answer: Answer) -> str:
    if isinstance(answer.outcome, Skipped) and not answer.provider:
        return f"No suggestion. {answer.outcome.reason.value}"
    who = f"{answer.provider} ({answer.model})" if answer.model else answer.provider
    total = f"{_milliseconds(answer.total)} ms"
    match answer.outcome:
        case Suggested(complete=whole):
            first = f"{_milliseconds(answer.first_text)} ms"
            when = total if first == total else f"{first}, all of it after {total}"
            cut = "" if whole else " The answer was cut short."
            return f"First text after {when}, from {who}.{cut}"
        case Skipped(reason=reason):
            return f"No suggestion. {reason.value} It took {total}, from {who}."


def _fields(answer: Answer, cursor: Cursor) -> dict[str, Any]:
    common = {
        "provider": answer.provider or None,
        "model": answer.model or None,
        "totalMs": _milliseconds(answer.total),
    }
    match answer.outcome:
        case Suggested(edits=edits, complete=whole):
            edit = edits[0]
            return {
                "outcome": "suggestion",
                "text": edit.new_text,
                # What it replaces, up to but without the end; counted as on the command line.
                "start": _place(cursor, edit.start),
                "end": _place(cursor, edit.end),
                "complete": whole,
                **common,
                "firstTextMs": _milliseconds(answer.first_text),
            }
        case Skipped(reason=reason):
            return {
                "outcome": "nothing",
                "reason": reason.key,
                "message": reason.value,
                **common,
            }


def _place(cursor: Cursor, offset: int) -> dict[str, int]:
    line, column = cursor.document.place_at(offset)
    return {"line": line + 1, "column": column + 1}


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _print_json(**fields: object) -> None:
    click.echo(in_json(fields))


def _warn(sentence: str) -> None:
    say(f"Warning: {sentence}")
