"""`lsp-completions inspect`: a page in the browser that shows requests as they happen."""

import importlib.util
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from lsp_completions.cli.asked_to_end import ending_in_order
from lsp_completions.cli.exits import Exit
from lsp_completions.cli.saying import say
from lsp_completions.errors import ConfigurationError

if TYPE_CHECKING:
    from lsp_completions.disclosure import Wish

DAYS = 30
NO_EXTRA = (
    "The page needs the extra `inspect`: install lsp-completions again with it, such as "
    "uv tool install '.[local,inspect]'."
)


def inspect(*, with_code: bool) -> Exit:
    """Serve the page until Ctrl-C; its address goes to standard output."""
    if any(importlib.util.find_spec(name) is None for name in ("starlette", "uvicorn")):
        raise ConfigurationError(NO_EXTRA)

    from lsp_completions.disclosure import Wish
    from lsp_completions.inspection.app import Sources
    from lsp_completions.inspection.serving import serve
    from lsp_completions.running import running

    wish = Wish() if with_code else None
    sources = Sources(
        servers=running,
        statistics=_statistics,
        code_of=None if wish is None else wish.code_of,
    )
    with ending_in_order(), ExitStack() as at_the_end:
        if sys.stderr.isatty():
            # Behind the ^C that a terminal shows; the shell's line comes below it.
            at_the_end.callback(click.echo, err=True)
        if wish is not None:
            at_the_end.callback(wish.end)
            _begin(wish)
        say("Open this address in a browser of this machine; Ctrl-C ends it.")
        serve(sources, tell=click.echo)
    return Exit.GOOD


def _begin(wish: "Wish") -> None:
    try:
        wish.begin()
    except OSError as error:
        raise ConfigurationError(f"The page cannot show code: {error.strerror or error}.") from None
    say("The page shows code: prompts, and what models say. It is kept as long as this runs.")


def _statistics() -> dict[str, object]:
    from lsp_completions.cli.stats import fields
    from lsp_completions.statistics.records import DAY, Unusable
    from lsp_completions.statistics.store import database_file, read
    from lsp_completions.statistics.summary import summarized

    try:
        held = read(database_file(), time.time() - DAYS * DAY)
    except Unusable as error:
        return {"days": DAYS, "message": f"The statistics cannot be read: {error}."}
    return {"days": DAYS, **fields(summarized(held))}
