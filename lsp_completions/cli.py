"""The command line. It imports the server only to serve, so that `--version` answers at once."""

import argparse
import sys
from collections.abc import Sequence

from lsp_completions import __doc__ as subtitle
from lsp_completions import __version__

TERMINAL_NOTE = """\
lsp-completions is a language server: it waits for an editor on its standard input.
Configure your editor to start it, or see `lsp-completions --help`; Ctrl-D or Ctrl-C ends it.
"""


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    parser = argparse.ArgumentParser(
        prog="lsp-completions",
        description=subtitle,
        epilog=(
            "Started without arguments it serves one editor over standard input and output. "
            "It reads SRC_ENDPOINT and SRC_ACCESS_TOKEN from the environment, "
            "lsp-completions/config.toml from your config folder, and what the editor sends."
        ),
    )
    parser.add_argument("--version", action="version", version=f"lsp-completions {__version__}")
    # Some LSP clients append these two on their own.
    parser.add_argument(
        "--stdio", action="store_true", help="serve over standard input and output (the default)"
    )
    parser.add_argument(
        "--clientProcessId",
        dest="client_process_id",
        type=int,
        metavar="N",
        help="end when the process with this id ends",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = parser().parse_args(arguments)
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(TERMINAL_NOTE)

    from lsp_completions.server import serve

    return serve(client_process_id=options.client_process_id)
