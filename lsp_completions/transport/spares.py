"""A connection opened ahead of the request that will use it.

Leaving a stream closes its connection, so the next request would wait for another: two or three
times the way to the host and back, with TLS.
"""

import asyncio
import ssl
import time

import httpcore
from httpcore._async.http11 import HTTPConnectionState

_LEAST_QUIET = 0.02  # seconds, for what follows the handshake where the host is near


async def open_spare(
    connection: httpcore.AsyncHTTPConnection,
    *,
    origin: httpcore.Origin,
    backend: httpcore.AsyncNetworkBackend,
    context: ssl.SSLContext,
    keepalive_expiry: float,
    timeout: float,
) -> bool:
    """Connect, so that a pool takes `connection` for one that has been used and now waits.

    `False` when the host has closed it at once. Nothing stays open when this fails or is cancelled.
    """
    host = origin.host.decode("ascii")
    began = time.monotonic()
    stream = await backend.connect_tcp(host, origin.port, timeout=timeout)
    try:
        stream = await stream.start_tls(context, host, timeout=timeout)
        try:
            # With TLS 1.3 the host sends tickets after the handshake. As long as they lie unread
            # httpcore 1.0.9 takes the connection for closed. They need no longer than we did.
            async with asyncio.timeout(max(_LEAST_QUIET, time.monotonic() - began)):
                await stream.read(1)
        except TimeoutError:
            pass
        else:
            await stream.aclose()
            return False
    except BaseException:
        await stream.aclose()
        raise
    ready = httpcore.AsyncHTTP11Connection(origin, stream, keepalive_expiry)
    ready._state = HTTPConnectionState.IDLE
    ready._expire_at = time.monotonic() + keepalive_expiry
    connection._connection = ready
    return True
