"""Why an exchange failed, where no server of a test fails so reliably."""

import ssl

import httpx

from lsp_completions.errors import Interrupted
from lsp_completions.transport.failures import explain


def test_the_numbers_of_tls_are_no_system_s() -> None:
    """Its "read again" has the number of a file that does not exist."""
    error = httpx.ReadError("")
    try:
        try:
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "The operation did not complete")
        except ssl.SSLError:
            raise BrokenPipeError(32, "Broken pipe")  # noqa: B904 - as it comes
    except OSError as broken:
        error.__cause__ = broken
    explained = explain(error, host="sg.example.com", proxy=None)
    assert isinstance(explained, Interrupted)
    assert str(explained) == "The connection to sg.example.com broke: broken pipe."
