"""Ways to a host that do not lead straight there: a SOCKS proxy, a tunnel, a unix socket.

Each takes the place of the pool's own way to connect; what comes back is a stream to the host,
or an error that says what the proxy said. A stream that fails or is cancelled is closed.
"""

import asyncio
import base64
import re
import ssl
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from ipaddress import IPv4Address
from pathlib import Path

import httpcore
from httpcore import AsyncNetworkBackend, AsyncNetworkStream

from lsp_completions.errors import ProxyNotAuthorized, Unreachable
from lsp_completions.proxy_address import ProxyAddress
from lsp_completions.transport.certificates import why_untrusted
from lsp_completions.transport.network import address_of

WINDOWS = sys.platform == "win32"
_LONGEST_HEAD = 65536  # bytes of a proxy's answer before the tunnel begins


class Dialer(AsyncNetworkBackend):
    """Connects through a proxy."""

    def __init__(self, proxy: ProxyAddress, context: ssl.SSLContext | None = None) -> None:
        self._proxy = proxy
        self._context = context
        self._straight = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        """Return a stream to `host`; the timeout is for all of the way."""
        try:
            async with asyncio.timeout(timeout):
                return await self._dial(host, port)
        except TimeoutError:
            raise Unreachable(
                f"The proxy {self._proxy.place} made no connection to {host} within {timeout:g} s."
            ) from None

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def _dial(self, host: str, port: int) -> AsyncNetworkStream:
        raise NotImplementedError

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[AsyncNetworkStream]:
        """The connection to the proxy, closed unless all goes well."""
        stream = await self._straight.connect_tcp(self._proxy.host, self._proxy.port)
        try:
            yield stream
        except BaseException:
            await stream.aclose()
            raise

    def _refused(self, why: str) -> Unreachable:
        return Unreachable(f"The proxy {self._proxy.place} {why}.")

    def _wants_login(self, why: str) -> ProxyNotAuthorized:
        return ProxyNotAuthorized(f"The proxy {self._proxy.place} {why}.")


class UnixSocket(Dialer):
    """Leads every connection through a socket on this machine, behind which it goes on."""

    async def _dial(self, host: str, port: int) -> AsyncNetworkStream:
        if WINDOWS:
            raise self._refused("is a unix socket, which cannot be used on Windows")
        try:
            return await self._straight.connect_unix_socket(_expanded(self._proxy.path))
        except (OSError, httpcore.ConnectError) as error:
            raise self._refused(f"(a unix socket) cannot be used: {_lowered(error)}") from None


def _expanded(path: str) -> str:
    return str(Path(path).expanduser())


class Tunnel(Dialer):
    """Asks an HTTP proxy to `CONNECT`."""

    async def _dial(self, host: str, port: int) -> AsyncNetworkStream:
        async with self._opened() as stream:
            if self._proxy.scheme == "https":
                stream = await self._encrypted(stream)
            target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
            lines += [f"{name}: {value}" for name, value in login_header(self._proxy)]
            await stream.write("\r\n".join([*lines, "", ""]).encode("ascii"))
            head = b""
            while b"\r\n\r\n" not in head:
                part = await stream.read(4096)
                head += part
                if not part or len(head) > _LONGEST_HEAD:
                    raise self._refused("ended the connection" if not part else _NO_HTTP)
            status = re.match(rb"HTTP/1\.[01] (\d{3}) ?([^\r\n]*)", head)
            if status is None:
                raise self._refused(_NO_HTTP)
            if not status[1].startswith(b"2"):
                schemes = re.findall(rb"(?im)^proxy-authenticate:[ \t]*([\w-]+)", head)
                words = status[2].decode("ascii", "replace")[:100]
                if status[1] == b"407":
                    offered = [scheme.decode("ascii") for scheme in schemes]
                    raise self._wants_login(why_login_is_wanted(self._proxy, offered))
                words = "".join(filter(str.isprintable, words))
                raise self._refused(
                    f"refused to connect to {host}: {int(status[1])} {words}".rstrip()
                )
            if not head.endswith(b"\r\n\r\n"):
                raise self._refused(_NO_HTTP)  # nobody speaks before our handshake
            return stream

    async def _encrypted(self, stream: AsyncNetworkStream) -> AsyncNetworkStream:
        assert self._context is not None
        try:
            return await stream.start_tls(self._context, self._proxy.host)
        except (httpcore.ConnectError, ssl.SSLError) as error:
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, ssl.SSLError):
                cause = cause.__cause__ or cause.__context__
            if isinstance(cause, ssl.SSLCertVerificationError):
                sentence = f"cannot be used: its certificate {why_untrusted(cause)}"
                raise self._refused(sentence.rstrip("?")) from None
            raise self._refused("does not speak TLS as expected") from None


_NO_HTTP = "does not answer as an HTTP proxy does"


def login_header(proxy: ProxyAddress) -> list[tuple[str, str]]:
    """The header with the proxy's user and password, when it has them."""
    if not proxy.has_login:
        return []
    login = f"{proxy.username}:{proxy.password}".encode()
    return [("Proxy-Authorization", f"Basic {base64.b64encode(login).decode('ascii')}")]


def why_login_is_wanted(proxy: ProxyAddress, schemes: list[str]) -> str:
    """What a proxy's 407 means, to follow on "The proxy X"; `schemes` are the logins it takes."""
    if schemes and "basic" not in [scheme.lower() for scheme in schemes]:
        return (
            f"wants a login by {' or '.join(schemes)}, and only Basic is spoken here; a local proxy"
            " that logs in to it, such as px or cntlm, helps"
        )
    if proxy.has_login:
        return "does not accept the user name and password in its address"
    return (
        "wants a user name and a password; put them into its address:"
        f" {proxy.scheme}://USER:PASSWORD@{proxy.place}"
    )


class Socks(Dialer):
    """SOCKS 5 (RFC 1928), with user and password (RFC 1929); the proxy looks up the name."""

    async def _dial(self, host: str, port: int) -> AsyncNetworkStream:
        async with self._opened() as stream:
            reply = _Exactly(stream)
            login = self._proxy.has_login
            await stream.write(b"\x05\x02\x00\x02" if login else b"\x05\x01\x00")
            version, method = await self._read(reply, 2)
            if version != 5:
                raise self._refused("does not speak SOCKS 5")
            if method == 2 and login:
                await self._log_in(stream, reply)
            elif method != 0:
                raise self._wants_login(
                    "wants a login of a kind that is not spoken here"
                    if login
                    else "wants a user name and a password; put them into its address:"
                    f" socks5://USER:PASSWORD@{self._proxy.place}"
                )
            await stream.write(b"\x05\x01\x00" + _socks_address(host) + port.to_bytes(2, "big"))
            version, status, _, kind = await self._read(reply, 4)
            if version != 5:
                raise self._refused("does not speak SOCKS 5")
            if status:
                why = _SOCKS_STATUS.get(status, f"error {status}")
                raise self._refused(f"refused to connect to {host}: {why}")
            length = {1: 4, 4: 16}.get(kind) or (await self._read(reply, 1))[0]
            await self._read(reply, length + 2)
            return stream

    async def _log_in(self, stream: AsyncNetworkStream, reply: "_Exactly") -> None:
        username, password = self._proxy.username.encode(), self._proxy.password.encode()
        if len(username) > 255 or len(password) > 255:
            raise self._refused("takes no user name or password of more than 255 letters")
        await stream.write(
            b"\x01" + bytes([len(username)]) + username + bytes([len(password)]) + password
        )
        _, status = await self._read(reply, 2)
        if status:
            raise self._wants_login("does not accept the user name and password in its address")

    async def _read(self, reply: "_Exactly", count: int) -> bytes:
        content = await reply.read(count)
        if len(content) < count:
            raise self._refused("ended the connection")
        return content


class _Exactly:
    """Reads no byte more than asked for: the next ones are the host's."""

    def __init__(self, stream: AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, count: int) -> bytes:
        content = b""
        while len(content) < count:
            part = await self._stream.read(count - len(content))
            if not part:
                break
            content += part
        return content


_SOCKS_STATUS = {
    1: "general failure",
    2: "its rules do not allow it",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "it took too long",
    7: "it does not know how",
    8: "it does not know this kind of address",
}


def _socks_address(host: str) -> bytes:
    address = address_of(host)
    if address is not None:
        return (b"\x01" if isinstance(address, IPv4Address) else b"\x04") + address.packed
    name = host.encode("ascii")
    return b"\x03" + bytes([len(name)]) + name


def _lowered(error: BaseException) -> str:
    cause: BaseException | None = error
    while cause is not None and not (isinstance(cause, OSError) and cause.strerror):
        cause = cause.__cause__ or cause.__context__
    reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(error)
    return reason[:1].lower() + reason[1:]
