"""The command line. Each command imports what it needs, so that `--version` answers at once."""

import gc
import sys

from lsp_completions import __version__

TERMINAL_NOTE = """\
lsp-completions is a language server: your editor starts it and talks to it.
Started by hand, it waits for an editor on its standard input; Ctrl-C ends it.
`lsp-completions --help` says what it can do without one.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        if given == ["--version"]:
            sys.stdout.write(f"lsp-completions {__version__}\n")
            return 0
        # Editors wait for their server, and the grammar of the commands takes long to import.
        if (wish := as_editors_start_it(given)) is not None:
            return serve(**wish)

        from lsp_completions.cli.commands import run

        return run(given)
    except KeyboardInterrupt:
        return 130  # as shells count Ctrl-C


def serve(client_process_id: int | None = None) -> int:
    """Serve one editor over standard input and output, until it ends."""
    import os
    import signal

    # Until the server takes it over. There is nothing to clean up yet, and an exception may come
    # where Python passes none on, in the middle of an import.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(TERMINAL_NOTE)

    # Among what is young only: a tenth of the start would go into looking through what is here to
    # stay, and without any of it 10 MB stay behind. `housekeeping.settle` ends that.
    gc.set_threshold(5_000, 1_000, 1_000)
    import linecache

    from lsp_completions.server import serve

    # attrs left the source of all methods that it made there, 2 MB: for tracebacks that show no
    # code of ours.
    linecache.clearcache()
    return serve(client_process_id=client_process_id)


def as_editors_start_it(arguments: list[str]) -> dict[str, int] | None:
    """What an editor wishes of `serve`, `None` where the arguments are not an editor's.

    Some LSP clients append `--stdio`, and `--clientProcessId` with a number, on their own.
    """
    wish = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name == "--clientProcessId":
            number = value if equals else next(rest, "")
            if not (number.isascii() and number.isdecimal()):
                return None
            wish["client_process_id"] = int(number)
        elif argument not in ("serve", "--stdio"):
            return None
    return wish
