"""`lsp-completions trust`: the hosts that code may go to whoever names them."""

import click

from lsp_completions.cli.exits import Exit
from lsp_completions.cli.saying import say
from lsp_completions.configuration.trust import distrust, read_origin, trust, trusted


def add(address: str) -> Exit:
    """Approve of a host."""
    origin = read_origin(address)
    trust(origin)
    say(
        f"Your code may go to {origin} when your editor's settings name it. "
        "Running servers notice at their next request."
    )
    return Exit.GOOD


def remove(address: str) -> Exit:
    """Take an approval back."""
    origin = read_origin(address)
    if distrust(origin):
        say(f"No code goes to {origin} any more, unless your own settings name it.")
        return Exit.GOOD
    say(f"{origin} was not trusted; `lsp-completions trust` lists the hosts that are.")
    return Exit.NOTHING


def show() -> Exit:
    """List them."""
    hosts, problems = trusted()
    for problem in problems:
        say(f"Warning: {problem}")
    for host in hosts:
        click.echo(host)
    if not hosts:
        say("No host is trusted beside those that your own settings name.")
    return Exit.GOOD
