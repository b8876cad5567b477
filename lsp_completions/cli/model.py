"""`lsp-completions model`: the small model that completes before there is an account."""

import click

from lsp_completions.cli.exits import Exit
from lsp_completions.cli.saying import say
from lsp_completions.local_model import files as model_files
from lsp_completions.visible import one_line


def install() -> Exit:
    """Install the model; its path goes to standard output, and what comes next to a person."""
    path = model_files.install(say)
    click.echo(path)
    if model_files.has_engine():
        say(
            "See what it suggests: lsp-completions complete FILE:LINE:COLUMN --provider local. "
            "It answers in editors too, unless your settings name somebody else."
        )
    else:
        say(
            "What runs it is still missing: install lsp-completions again with its extra `local`, "
            "as its README shows."
        )
    return Exit.GOOD


def show() -> Exit:
    """List the models of this machine, the one that is used first."""
    models = model_files.installed()
    width = max((len(model.name) for model in models), default=0)
    for model in models:
        line = f"{model.name:{width}}  {round(model.size / 1e6):4} MB  {model.path}"
        click.echo(one_line(line))
    if not models:
        say("No model is installed. `lsp-completions model install` installs one.")
    elif not model_files.has_engine():
        say(f"Warning: {model_files.NO_ENGINE}")
    return Exit.GOOD


def remove(name: str) -> Exit:
    """Delete a model."""
    say(f"Deleted {model_files.remove(name)}.")
    return Exit.GOOD
