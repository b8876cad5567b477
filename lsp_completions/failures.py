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
from lsp_completions.network import is_loopback, place


def explain(error: Exception, *, host: str, proxy: str | None) -> CompletionsError:
    """Turn `error`, met on the way to `host`, into ours."""
    way = f"{host} through the proxy {place(proxy)}" if proxy else host
    match error:
        case httpx.ConnectTimeout():
            return Unreachable(f"No connection to {way} in time.")
        case httpx.TimeoutException():
            return TimedOut(f"{host} did not answer in time.")
        case httpx.ProxyError():
            return Unreachable(f"The proxy {place(proxy or '')} refused to connect: {error}.")
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
            return Interrupted(f"The connection to {host} broke: {_reason(error)}.")


def _reason(error: BaseException) -> str:
    causes = list(_causes(error))
    for cause in causes:
        match cause:
            case ssl.SSLCertVerificationError():
                reason = getattr(cause, "verify_message", "") or cause.reason or str(cause)
                return (
                    f"its certificate is not trusted ({reason});"
                    " a company's own authority belongs in the system's store or in SSL_CERT_FILE"
                )
            case ssl.SSLError():
                reason = (cause.reason or str(cause)).replace("_", " ").lower()
                return f"TLS failed ({reason})"
            case socket.gaierror():
                return f"its name could not be resolved ({cause.strerror})"
            case _:
                pass
    numbers = [
        cause.errno for cause in causes if isinstance(cause, OSError) and cause.errno is not None
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
