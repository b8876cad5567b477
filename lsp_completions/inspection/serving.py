"""Serves the page on a port that the system chooses, until Ctrl-C."""

import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
        _Server(config).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Ends in order as well when its terminal is closed."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """See `uvicorn.Server`, which knows SIGINT and SIGTERM.

        A handler that raises will not do: what it interrupts may be a callback, whose exceptions
        nobody sees.
        """
        with super().capture_signals(), self._capturing(getattr(signal, "SIGHUP", None)):
            yield

    @contextmanager
    def _capturing(self, number: int | None) -> Iterator[None]:
        # Whoever is started with `nohup` stays.
        if number is None or signal.getsignal(number) is signal.SIG_IGN:
            yield
            return
        before = signal.signal(number, self.handle_exit)
        try:
            yield
        finally:
            signal.signal(number, before)
