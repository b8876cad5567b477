"""`lsp-completions models`: the models that can be chosen of whoever answers."""

from pathlib import Path

import click

from lsp_completions.cli import impatient
from lsp_completions.cli.exits import Exit
from lsp_completions.cli.saying import say
from lsp_completions.cli.words import wrapped
from lsp_completions.configuration import config_file
from lsp_completions.configuration.in_force import put_in_force
from lsp_completions.configuration.places import Places
from lsp_completions.diagnosis.listing import models_for
from lsp_completions.errors import CompletionsError
from lsp_completions.providers.model_lists import Listed
from lsp_completions.settings import Api
from lsp_completions.visible import in_json


def models(*, as_json: bool) -> Exit:
    """List them; returns the exit code."""
    code = _show(as_json=as_json)
    impatient.leave(code)
    return code


def _show(*, as_json: bool) -> Exit:
    read = Places().read([Path.cwd().as_uri()])
    found = put_in_force([*read.layers, *read.project], read.approved, own_file=str(config_file()))
    for problem in (*read.problems, *found.problems):
        say(f"Warning: {problem}")
    settings = found.settings
    try:
        provider, listed = impatient.run(
            models_for(settings, lambda sentence: say(f"Warning: {sentence}"))
        )
    except CompletionsError as error:
        if as_json:
            click.echo(in_json({"error": type(error).__name__, "message": str(error)}))
        else:
            say(f"Error: {error}")
        return Exit.BACKEND
    if as_json:
        fields = [_fields(each) for each in listed]
        click.echo(in_json({"provider": provider, "models": fields}))
        return Exit.GOOD
    width = max((len(each.name) for each in listed), default=0)
    for each in listed:
        mark = "*" if each.in_use else " "
        line = f"{mark} {each.name:{width}}  {_about(each)}".rstrip()
        click.echo(wrapped(line, indent=" " * min(width + 4, 24)))
    if not listed:
        say(f"{provider} lists no models.")
    elif any(each.in_use for each in listed):
        say(f"* is in use. The setting `{_setting(provider)}` names another.")
    else:
        say(f"None of them is in use. The setting `{_setting(provider)}` names one.")
    return Exit.GOOD


def _setting(provider: str) -> str:
    return "modelPath" if provider == Api.LOCAL else "model"


def _about(listed: Listed) -> str:
    reads = f"reads {listed.input_tokens:,} tokens" if listed.input_tokens is not None else ""
    title = listed.title if listed.title != listed.name else ""
    why_not = f"but {listed.why_not}" if listed.why_not else ""
    return ", ".join(filter(None, (title, listed.kind, reads, why_not)))


def _fields(listed: Listed) -> dict[str, object]:
    return {
        "name": listed.name,
        "title": listed.title or None,
        "kind": listed.kind or None,
        "inputTokens": listed.input_tokens,
        "inUse": listed.in_use,
        "whyNot": listed.why_not or None,
    }
