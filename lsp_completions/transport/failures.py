"""Why an exchange failed, as sentences: httpx's exceptions on one side, ours on the other.

A sentence names the host and the reason. It never quotes what we sent: httpx quotes a header it
cannot send, and that header may be the token.
"""

import errno
import os
import re
import socket
import ssl
from collections.abc import Iterator

import httpx

from lsp_completions.errors import (
    CompletionsError,
    ConfigurationError,
    Interrupted,
    TimedOut,
    UnexpectedReply,
    Unreachable,
)
from lsp_completions.proxy_address import ProxyAddress
from lsp_completions.transport.certificates import why_untrusted
from lsp_completions.transport.network import is_loopback


def explain(error: Exception, *, host: str, proxy: ProxyAddress | None) -> CompletionsError:
    """Turn `error`, met on the way to `host`, into ours."""
    way = f"{host} through the proxy {proxy.place}" if proxy else host
    match error:
        case httpx.ConnectTimeout():
            return Unreachable(f"No connection to {way} in time.")
        case httpx.TimeoutException():
            return TimedOut(f"{host} did not answer in time.")
        case httpx.ConnectError():
            reason = _reason(error)
            end = "" if reason.endswith("?") else "."
            return Unreachable(f"No connection to {way}: {reason}{end}")
        case httpx.LocalProtocolError() | httpx.UnsupportedProtocol():
            return ConfigurationError(f"The request to {host} could not be sent as configured.")
        case httpx.DecodingError():
            return UnexpectedReply(f"The answer of {host} could not be decompressed.")
        case httpx.RemoteProtocolError() if "without sending a response" in str(error):
            return Interrupted(f"{host} closed the connection without an answer.")
        case httpx.RemoteProtocolError() if "closed connection" in str(error):
            return Interrupted(f"The answer of {host} broke off.")
        case httpx.RemoteProtocolError():
            return UnexpectedReply(f"{host} does not speak HTTP as expected.")
        case _:
            reason = _reason(error)
            if "clientCertificate" in reason:
                return Unreachable(f"No connection to {host}: {reason}.")
            return Interrupted(f"The connection to {host} broke: {reason}.")


def _reason(error: BaseException) -> str:
    causes = list(_causes(error))
    for cause in causes:
        match cause:
            case ssl.SSLCertVerificationError():
                return f"its certificate {why_untrusted(cause)}"
            case ssl.SSLWantReadError() | ssl.SSLWantWriteError():
                pass
            case ssl.SSLError() if _wants_ours(cause):
                return (
                    "it wants a client certificate, or another one; name its file in"
                    " `clientCertificate`"
                )
            case ssl.SSLError():
                reason = (cause.reason or str(cause)).replace("_", " ").lower()
                hint = "; it may want a client certificate (`clientCertificate`)"
                return f"TLS failed ({reason})" + (hint if "handshake failure" in reason else "")
            case socket.gaierror():
                return f"its name could not be resolved ({cause.strerror})"
            case _:
                pass
    # The numbers of TLS are no system's: its "read again" would be a file that does not exist.
    numbers = [
        cause.errno
        for cause in causes
        if isinstance(cause, OSError)
        and not isinstance(cause, ssl.SSLError)
        and cause.errno is not None
    ]
    if not numbers:
        return str(error).rstrip(".") or "no reason given"
    # asyncio names the address in the message: Connect call failed ('127.0.0.1', 3080)
    tried = dict.fromkeys(
        address
        for cause in causes
        for address in re.findall(r"\('([0-9a-f.:%]+)', \d+", str(cause))
    )
    reason = os.strerror(numbers[-1]).lower()
    if errno.ECONNREFUSED in numbers:
        reason = "connection refused"
    if tried:
        reason += f" ({', '.join(tried)})"
    # On this machine it is the user who starts it.
    here = errno.ECONNREFUSED in numbers and tried and all(map(is_loopback, tried))
    return f"{reason}; is it running?" if here else reason


# What servers say of the certificate we showed, or did not show (RFC 8446, 6.2).
_OF_OURS = ("CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "UNKNOWN_CA", "CERTIFICATE_UNKNOWN")


def _wants_ours(error: ssl.SSLError) -> bool:
    reason = error.reason or ""
    return "ALERT" in reason and reason.endswith(_OF_OURS)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield `error` and what lies behind it; httpcore hides causes, yet contexts remain."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop(0)
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            waiting.extend(current.exceptions)
        waiting += [current.__cause__, current.__context__]
