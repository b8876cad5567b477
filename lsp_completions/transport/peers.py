"""Who answers at an address: the certificate a host shows, looked at on the way we would go."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpcore
import httpx

from lsp_completions.errors import CompletionsError
from lsp_completions.proxy_address import ProxyAddress
from lsp_completions.transport.connections import Connections, dialer_to
from lsp_completions.transport.failures import explain
from lsp_completions.transport.network import place

# OpenSSL's X509_V_FLAG_NO_CHECK_TIME, for which Python has no name: an expired certificate is read.
_NO_CHECK_TIME = 0x200000


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A host's certificate. `problem` says why it is not trusted; then the rest may be missing."""

    subject: str = ""
    issuer: str = ""
    expires: datetime | None = None
    problem: CompletionsError | None = None


async def look_at(connections: Connections, url: str, *, seconds: float) -> Peer:
    """Look at the certificate of an `https` host; nothing is sent but the handshake.

    `seconds` bounds each of up to three handshakes.
    """
    target = httpx.URL(url)
    trusting = (await connections.trust()).context
    try:
        certificate, _ = await _shown(connections, target, trusting, trusting, seconds)
    except (httpcore.NetworkError, httpcore.TimeoutException, OSError) as error:
        proxy = await connections.proxy_for(target)
        problem = _explained(error, url, proxy.address if proxy else None)
    except CompletionsError as error:
        return Peer(problem=error)
    else:
        return _read(certificate, None)

    # It is not trusted: have a look at it all the same, to say who made it.
    try:
        unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        unverified.check_hostname = False
        unverified.verify_mode = ssl.CERT_NONE
        _, der = await _shown(connections, target, unverified, trusting, seconds)
        # Python reads a certificate's fields only where it is trusted: so by itself, just here.
        by_itself = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        by_itself.check_hostname = False
        by_itself.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | _NO_CHECK_TIME
        by_itself.load_verify_locations(cadata=der)
        certificate, _ = await _shown(connections, target, by_itself, trusting, seconds)
    except (httpcore.NetworkError, httpcore.TimeoutException, OSError, CompletionsError):
        return Peer(problem=problem)
    return _read(certificate, problem)


async def reach(connections: Connections, url: str, *, seconds: float) -> CompletionsError | None:
    """Connect to a host, or to the proxy before it, and hang up; returns why that failed."""
    target = httpx.URL(url)
    found = await connections.proxy_for(target)
    proxy = found.address if found else None
    host, port = target.raw_host.decode("ascii"), target.port or 80
    dialer = dialer_to(target, proxy, None)
    if proxy is not None and dialer is None:
        host, port = proxy.host, proxy.port  # it is handed requests whole
    try:
        stream = await (dialer or httpcore.AnyIOBackend()).connect_tcp(host, port, timeout=seconds)
    except (httpcore.NetworkError, httpcore.TimeoutException, OSError) as error:
        return _explained(error, url, proxy)
    except CompletionsError as error:
        return error
    await stream.aclose()
    return None


def _explained(error: Exception, url: str, proxy: ProxyAddress | None) -> CompletionsError:
    late = isinstance(error, httpcore.TimeoutException)
    met = httpx.ConnectTimeout(str(error)) if late else _as_httpx(error)
    return explain(met, host=place(url), proxy=proxy)


async def _shown(
    connections: Connections,
    target: httpx.URL,
    context: ssl.SSLContext,
    of_proxy: ssl.SSLContext,
    seconds: float,
) -> tuple[dict[str, Any], bytes]:
    """What is shown in one handshake: its fields, as far as it is trusted, and its bytes."""
    proxy = await connections.proxy_for(target)
    dialer = dialer_to(target, proxy.address if proxy else None, of_proxy)
    host = target.raw_host.decode("ascii")
    stream = await (dialer or httpcore.AnyIOBackend()).connect_tcp(
        host, target.port or 443, timeout=seconds
    )
    try:
        stream = await stream.start_tls(context, host, timeout=seconds)
        shown = stream.get_extra_info("ssl_object")
        return shown.getpeercert(), shown.getpeercert(binary_form=True)
    finally:
        await stream.aclose()


def _as_httpx(error: Exception) -> httpx.ConnectError:
    wrapped = httpx.ConnectError(str(error))
    wrapped.__cause__ = error
    return wrapped


def _read(certificate: dict[str, Any], problem: CompletionsError | None) -> Peer:
    ends = certificate.get("notAfter")
    return Peer(
        subject=_name(certificate.get("subject", ())),
        issuer=_name(certificate.get("issuer", ())),
        expires=datetime.fromtimestamp(ssl.cert_time_to_seconds(ends), UTC) if ends else None,
        problem=problem,
    )


def _name(parts: tuple[tuple[tuple[str, str], ...], ...]) -> str:
    """The name a person would use."""
    fields = {key: value for part in parts for key, value in part}
    for key in ("commonName", "organizationName", "organizationalUnitName"):
        if key in fields:
            return fields[key]
    return ""
