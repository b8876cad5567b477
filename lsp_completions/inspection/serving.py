"""Serves the page on a port that the system chooses, until Ctrl-C."""

import secrets
import socket
from collections.abc import Callable

import uvicorn

from lsp_completions.inspection.app import Sources, app

LOOPBACK = "127.0.0.1"
LAST_WORDS = 1  # second for answers that go on for ever


def serve(sources: Sources, *, tell: Callable[[str], None]) -> None:
    """Serve until the process is asked to end. `tell` is given the address once it answers."""
    key = secrets.token_urlsafe(32)
    with socket.socket() as listening:
        listening.bind((LOOPBACK, 0))
        port = listening.getsockname()[1]
        config = uvicorn.Config(
            app(sources, key=key, port=port),
            log_config=None,
            log_level="critical",
            access_log=False,  # the key is in every address
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            ws="none",
            timeout_graceful_shutdown=LAST_WORDS,
        )
        listening.listen()
        tell(f"http://{LOOPBACK}:{port}/{key}/")
        uvicorn.Server(config).run(sockets=[listening])
