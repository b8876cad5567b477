"""Addresses of servers, compared and shown: which of them are the same place."""

from urllib.parse import urlsplit

USUAL_PORTS = {"http": 80, "https": 443}


def origin_of(address: str) -> str:
    """Its scheme, host and port, in one spelling: where code sent to it would arrive.

    A host with letters beyond ASCII is written as the network has it, so that none looks like
    another.
    """
    parts = urlsplit(address)
    scheme, host = parts.scheme.lower(), _ascii(parts.hostname or "")
    port = "" if parts.port in (None, USUAL_PORTS.get(scheme)) else f":{parts.port}"
    return f"{scheme}://[{host}]{port}" if ":" in host else f"{scheme}://{host}{port}"


def is_same(one: str | None, other: str | None) -> bool:
    """Whether both are the same address, with its path; `None` is like nothing."""
    if one is None or other is None:
        return False
    return (origin_of(one), _path(one)) == (origin_of(other), _path(other))


def _path(address: str) -> str:
    return urlsplit(address).path.rstrip("/")


def _ascii(host: str) -> str:
    host = host.lower().rstrip(".")
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return ascii(host)[1:-1]
