"""Ways to an instance that do not lead straight there, through the real transport."""

import asyncio
import logging
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
import trustme

from lsp_completions.errors import ProxyNotAuthorized, TimedOut
from lsp_completions.proxy_address import NO_PROXY, read_proxy_address
from lsp_completions.transport import Timeouts, Transport
from lsp_completions.transport.network import Network
from tests.support.asking import (
    DONE,
    ONE,
    PATIENT,
    ask,
    eventually,
    failure,
    opened,
    pool_of,
    read,
    reason,
)
from tests.support.proxies import KINDS, Kind, ProxyServer
from tests.support.raw_http import CLOSE, HOLD, RawServer, Step, chunked, sse

TLS = "https://instance.test/complete"
PLAIN = "http://instance.test/complete"
WITH_LOGIN = [Kind.HTTP, Kind.HTTPS, Kind.SOCKS5]

AUTHORITY = trustme.CA()


def certified(name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert(name).configure_cert(context)
    return context


def by(proxy: ProxyServer | str, **settings: Any) -> Network:
    address = proxy if isinstance(proxy, str) else proxy.url
    return Network(proxy=read_proxy_address(address), ca_file=PEM, **settings)


PEM = AUTHORITY.cert_pem.bytes().decode()


@asynccontextmanager
async def instance_behind(
    kind: Kind, *, tls: bool = True, **options: Any
) -> AsyncIterator[tuple[RawServer, ProxyServer]]:
    context = certified("instance.test") if tls else None
    async with (
        RawServer(sse(ONE, DONE), ssl_context=context) as server,
        ProxyServer(kind, to=server.port, ssl_context=certified("localhost"), **options) as proxy,
    ):
        yield server, proxy


class TestTheWay:
    @pytest.mark.parametrize("piecemeal", [False, True], ids=["whole", "in single bytes"])
    @pytest.mark.parametrize("kind", KINDS)
    async def test_leads_to_tls(self, kind: Kind, piecemeal: bool) -> None:
        """The proxy looks the name up; its connections are kept as others are."""
        async with (
            instance_behind(kind, piecemeal=piecemeal) as (server, proxy),
            opened(network=by(proxy)) as transport,
        ):
            for _ in range(2):
                assert len(await read(transport, ask(TLS))) == 2
            assert proxy.asked == ["" if kind is Kind.UNIX else "instance.test:443"]
            assert server.connections == proxy.connections == 1
            assert server.requests[0].line == "POST /complete HTTP/1.1"
            assert "proxy-authorization" not in server.requests[0].headers

    @pytest.mark.parametrize("kind", KINDS)
    async def test_leads_to_plain_http(self, kind: Kind) -> None:
        async with (
            instance_behind(kind, tls=False) as (server, proxy),
            opened(network=by(proxy)) as transport,
        ):
            for _ in range(2):
                assert len(await read(transport, ask(PLAIN))) == 2
            handed_over = kind in (Kind.HTTP, Kind.HTTPS)
            target = PLAIN if handed_over else "/complete"
            assert server.requests[0].line == f"POST {target} HTTP/1.1"
            assert proxy.connections == 1

    @pytest.mark.parametrize("url", [TLS, PLAIN], ids=["TLS", "plain"])
    @pytest.mark.parametrize("kind", WITH_LOGIN)
    async def test_user_and_password(
        self, kind: Kind, url: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """As they are, whatever their letters; in no log, however much is logged."""
        caplog.set_level(logging.DEBUG)
        for library in ("httpx", "httpcore"):
            caplog.set_level(logging.DEBUG, logger=library)
        async with (
            instance_behind(kind, tls=url is TLS, login=(r"CORP\jané", "a:b/c@d#e")) as (_, proxy),
            opened(network=by(proxy.url_with(r"CORP\jan%C3%A9:a:b%2Fc@d%23e"))) as transport,
        ):
            assert len(await read(transport, ask(url))) == 2
        assert "b/c@d" not in caplog.text
        assert "Basic" not in caplog.text

    @pytest.mark.parametrize(
        ("host", "named"),
        [
            ("192.0.2.7", "\xc0\x00\x02\x07"),
            ("[2001:db8::7]", "\x20\x01\x0d\xb8" + "\0" * 11 + "\7"),
        ],
    )
    async def test_addresses_by_socks(self, host: str, named: str) -> None:
        async with (
            instance_behind(Kind.SOCKS5, tls=False) as (_, proxy),
            opened(network=by(proxy)) as transport,
        ):
            assert len(await read(transport, ask(f"http://{host}:8080/"))) == 2
            assert proxy.asked == [f"{named}:8080"]

    async def test_ipv6_address_by_tunnel(self) -> None:
        async with (
            ProxyServer(Kind.HTTP, says=b"HTTP/1.1 403 No\r\n\r\n") as proxy,
        ):
            await reason("https://[2001:db8::7]:8443/", network=by(proxy))
            assert proxy.asked == ["[2001:db8::7]:8443"]


class TestWhichProxy:
    async def test_this_machine_is_never_proxied(self) -> None:
        async with (
            RawServer(sse(ONE)) as server,
            opened(network=by("http://192.0.2.1:1")) as transport,
        ):
            assert len(await read(transport, ask(server.url))) == 1

    async def test_the_setting_takes_the_place_of_the_environment(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ALL_PROXY", "http://192.0.2.1:1")
        async with (
            instance_behind(Kind.SOCKS5) as (_, proxy),
            opened(network=by(proxy)) as transport,
        ):
            assert len(await read(transport, ask(TLS))) == 2

    @pytest.mark.parametrize(
        ("proxy", "exceptions"),
        [
            pytest.param(NO_PROXY, "", id="no proxy by setting"),
            pytest.param(read_proxy_address("192.0.2.2:1"), ".test", id="an exception"),
        ],
    )
    async def test_straight_there(
        self, proxy: Any, exceptions: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ALL_PROXY", "http://192.0.2.1:1")
        monkeypatch.setenv("NO_PROXY", exceptions)
        monkeypatch.setattr(socket, "getaddrinfo", all_names_are_here)
        async with (
            RawServer(sse(ONE)) as server,
            opened(network=Network(proxy=proxy)) as transport,
        ):
            url = f"http://instance.test:{server.port}/"
            assert len(await read(transport, ask(url))) == 1


async def login_wanted(url: str, proxy: Any) -> str:
    """What is said where a login is what is missing."""
    error = await failure(url, network=by(proxy))
    assert isinstance(error, ProxyNotAuthorized)
    return str(error)


class TestRefusals:
    @pytest.mark.parametrize("url", [TLS, PLAIN], ids=["TLS", "plain"])
    @pytest.mark.parametrize("kind", WITH_LOGIN)
    async def test_wants_a_login(self, kind: Kind, url: str) -> None:
        async with instance_behind(kind, tls=url is TLS, login=("me", "secret")) as (_, proxy):
            assert await login_wanted(url, proxy) == (
                f"The proxy {proxy.place} wants a user name and a password; put them into its"
                f" address: {kind}://USER:PASSWORD@{proxy.place}."
            )
            assert await login_wanted(url, proxy.url_with("me:wrong")) == (
                f"The proxy {proxy.place} does not accept the user name and password in its"
                " address."
            )

    @pytest.mark.parametrize("url", [TLS, PLAIN], ids=["TLS", "plain"])
    async def test_wants_a_login_of_another_kind(self, url: str) -> None:
        async with instance_behind(
            Kind.HTTP, tls=url is TLS, login=("me", "secret"), offers=("Negotiate", "NTLM")
        ) as (_, proxy):
            assert await login_wanted(url, proxy) == (
                f"The proxy {proxy.place} wants a login by Negotiate or NTLM, and only Basic is"
                " spoken here; a local proxy that logs in to it, such as px or cntlm, helps."
            )

    @pytest.mark.parametrize(
        ("kind", "says", "why"),
        [
            pytest.param(
                Kind.HTTP,
                b"HTTP/1.1 403 Forbidden by policy\r\n\r\n<html>",
                "refused to connect to instance.test: 403 Forbidden by policy",
                id="its rules forbid it",
            ),
            pytest.param(
                Kind.HTTP,
                b"HTTP/1.0 502\r\n\r\n",
                "refused to connect to instance.test: 502",
                id="no reason given",
            ),
            pytest.param(
                Kind.HTTP,
                b"SSH-2.0-x\r\n\r\n",
                "does not answer as an HTTP proxy does",
                id="no HTTP",
            ),
            pytest.param(
                Kind.HTTP,
                b"HTTP/1.1 200 OK\r\n\r\nhello",
                "does not answer as an HTTP proxy does",
                id="text within the tunnel",
            ),
            pytest.param(
                Kind.HTTP,
                b"HTTP/1.1 200 OK\r\n" + b"x" * 70_000,
                "does not answer as an HTTP proxy does",
                id="a head without an end",
            ),
            pytest.param(
                Kind.HTTP, b"HTTP/1.1 200", "ended the connection", id="it ends in the middle"
            ),
            pytest.param(
                Kind.SOCKS5,
                b"\x05\x02\x00\x01",
                "refused to connect to instance.test: its rules do not allow it",
                id="SOCKS: its rules forbid it",
            ),
            pytest.param(
                Kind.SOCKS5,
                b"\x05\x05\x00\x01",
                "refused to connect to instance.test: connection refused",
                id="SOCKS: nobody there",
            ),
            pytest.param(
                Kind.SOCKS5,
                b"\x05\x63\x00\x01",
                "refused to connect to instance.test: error 99",
                id="SOCKS: an unknown error",
            ),
            pytest.param(Kind.SOCKS5, b"HTTP/1.1", "does not speak SOCKS 5", id="SOCKS: HTTP"),
            pytest.param(
                Kind.SOCKS5, b"\x05\x00\x00\x01\x7f", "ended the connection", id="SOCKS: the middle"
            ),
        ],
    )
    @pytest.mark.parametrize("piecemeal", [False, True], ids=["whole", "in single bytes"])
    async def test_says_no(self, kind: Kind, says: bytes, why: str, piecemeal: bool) -> None:
        if piecemeal:
            says = says[:600]
        async with ProxyServer(kind, says=says, piecemeal=piecemeal) as proxy:
            sentence = await reason(TLS, network=by(proxy))
            if len(says) < 600:
                assert sentence == f"The proxy {proxy.place} {why}."
            await proxy.until_left()

    @pytest.mark.parametrize("kind", [Kind.HTTP, Kind.HTTPS, Kind.SOCKS5])
    async def test_accepts_and_says_nothing(self, kind: Kind) -> None:
        """The time to connect is for all of the way."""
        timeouts = Timeouts(connect=0.1, first_event=30, total=30)
        async with ProxyServer(kind, ssl_context=certified("localhost"), hangs=True) as proxy:
            assert await reason(TLS, timeouts, network=by(proxy)) == (
                f"The proxy {proxy.place} made no connection to instance.test within 0.1 s."
            )
            await proxy.until_left()

    async def test_accepts_a_request_and_says_nothing(self) -> None:
        timeouts = Timeouts(connect=30, first_event=0.1, total=30)
        async with ProxyServer(Kind.HTTP, hangs=True) as proxy:
            assert await reason(PLAIN, timeouts, network=by(proxy)) == (
                f"instance.test through the proxy {proxy.place} did not answer within 0.1 s."
            )
            await proxy.until_left()

    @pytest.mark.parametrize("kind", KINDS)
    async def test_handshake_with_the_host_hangs(self, kind: Kind) -> None:
        # Enough to be through the proxy by then, on a busy machine too.
        timeouts = Timeouts(connect=1, first_event=30, total=30)
        async with (
            silence() as port,
            ProxyServer(kind, to=port, ssl_context=certified("localhost")) as proxy,
        ):
            assert await reason(TLS, timeouts, network=by(proxy)) == (
                f"No connection to instance.test through the proxy {proxy.place} in time."
            )
            await proxy.until_left()

    @pytest.mark.parametrize("kind", KINDS)
    async def test_comments_do_not_put_the_end_off(self, kind: Kind) -> None:
        timeouts = Timeouts(connect=30, first_event=30, total=0.3)
        drip: list[Step] = [chunked(b": ping\n\n", end=False), 0.01]
        async with (
            instance_behind(kind) as (server, proxy),
            opened(network=by(proxy)) as transport,
        ):
            await read(transport, ask(TLS))
            server.replies = [[*sse()[:1], chunked(ONE, end=False), *drip * 3000]]
            with pytest.raises(TimedOut, match="did not finish within"):
                await read(transport, ask(TLS), timeouts)
            await proxy.until_left()

    @pytest.mark.parametrize("kind", [Kind.HTTP, Kind.SOCKS5])
    async def test_is_not_there(self, kind: Kind) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            place = f"127.0.0.1:{taken.getsockname()[1]}"
            assert await reason(TLS, network=by(f"{kind}://me:secret@{place}")) == (
                f"No connection to instance.test through the proxy {place}:"
                " connection refused (127.0.0.1); is it running?"
            )

    @pytest.mark.skipif(sys.platform == "win32", reason="has no unix sockets")
    async def test_socket_is_not_there(self) -> None:
        assert await reason(TLS, network=by("/no/such/socket")) == (
            "The proxy /no/such/socket (a unix socket) cannot be used: no such file or directory."
        )

    async def test_unix_socket_on_windows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("lsp_completions.transport.dialers.WINDOWS", True)
        assert await reason(TLS, network=by("/run/proxy")) == (
            "The proxy /run/proxy is a unix socket, which cannot be used on Windows."
        )

    async def test_certificate_of_the_proxy(self) -> None:
        async with ProxyServer(Kind.HTTPS, ssl_context=certified("localhost")) as proxy:
            network = Network(proxy=read_proxy_address(proxy.url))
            assert (await reason(TLS, network=network)).startswith(
                f"The proxy {proxy.place} cannot be used: its certificate is not trusted ("
            )

    async def test_proxy_without_tls(self) -> None:
        async with ProxyServer(Kind.HTTP, says=b"x" * 9) as proxy:
            network = by(proxy.url.replace("http:", "https:"))
            timeouts = Timeouts(connect=0.2, first_event=30, total=30)
            assert (await reason(TLS, timeouts, network=network)).startswith(
                f"The proxy {proxy.place} "
            )


@asynccontextmanager
async def silence() -> AsyncIterator[int]:
    """A host that takes a connection and says nothing; its port."""

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65536):
            pass
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


class TestLeaving:
    @pytest.mark.parametrize("kind", KINDS)
    async def test_at_every_turn(self, kind: Kind) -> None:
        """Nothing is lost, here or at the proxy."""
        async with (
            instance_behind(kind) as (server, proxy),
            opened(network=by(proxy), max_connections=1, spares=True) as transport,
        ):
            await read(transport, ask(TLS))
            server.replies = [[*sse()[:1], chunked(ONE, end=False), HOLD]]
            for turn in range(0, 160, 2):
                reader = asyncio.create_task(read(transport, ask(TLS)))
                for _ in range(turn):
                    await asyncio.sleep(0)
                reader.cancel()
                await asyncio.sleep(0)
                reader.cancel()
                await asyncio.wait([reader])
            pool = await pool_of(transport)
            await eventually(lambda: pool.connections and pool.connections[0].is_idle())
            await (await transport.prepared()).drop_idle()
            await proxy.until_left()
            assert pool.connections == []
            server.replies = [sse(ONE, DONE)]
            assert len(await read(transport, ask(TLS))) == 2

    @pytest.mark.parametrize("kind", KINDS)
    async def test_while_it_says_nothing(self, kind: Kind) -> None:
        async with (
            ProxyServer(kind, ssl_context=certified("localhost"), hangs=True) as proxy,
            opened(network=by(proxy)) as transport,
        ):
            reader = asyncio.create_task(read(transport, ask(TLS)))
            await proxy.until_reached()
            reader.cancel()
            await asyncio.wait([reader])
            await proxy.until_left()

    async def test_a_kept_connection_that_died(self) -> None:
        async with (
            instance_behind(Kind.SOCKS5) as (server, proxy),
            opened(network=by(proxy)) as transport,
        ):
            server.replies = [sse(ONE, DONE), [CLOSE], sse(ONE, DONE)]
            for _ in range(2):
                assert len(await read(transport, ask(TLS))) == 2
            assert proxy.connections == 2


class TestChangingSettings:
    async def test_streams_go_on_and_new_requests_go_the_new_way(self) -> None:
        gate = asyncio.Event()
        slow = [*sse()[:1], chunked(ONE, end=False), gate, chunked(DONE)]
        async with (
            instance_behind(Kind.HTTP) as (server, old),
            instance_behind(Kind.SOCKS5) as (_, new),
            opened(network=by(old)) as transport,
        ):
            server.replies = [slow]
            async with aclosing(transport.events(ask(TLS), PATIENT)) as events:
                await anext(events)
                transport.use(by(new))
                assert len(await read(transport, ask(TLS))) == 2
                assert new.connections == 1
                gate.set()
                assert [event.name async for event in events] == ["done"]
            await old.until_left()
            await eventually(lambda: not transport._retiring)
            assert new.open == 1

    async def test_a_change_that_is_none_keeps_connections(self) -> None:
        async with (
            instance_behind(Kind.HTTP) as (_, proxy),
            opened(network=by(proxy)) as transport,
        ):
            for _ in range(2):
                assert len(await read(transport, ask(TLS))) == 2
                transport.use(by(proxy))
            assert proxy.connections == 1

    async def test_while_getting_ready(self) -> None:
        async with instance_behind(Kind.HTTP) as (_, proxy):
            transport = Transport()
            getting_ready = asyncio.create_task(transport.prepared())
            await asyncio.sleep(0)
            transport.use(by(proxy))
            connections = await getting_ready
            assert connections._network == by(proxy)
            assert len(await read(transport, ask(TLS))) == 2
            await transport.aclose()
            await proxy.until_left()


class TestPlainText:
    async def test_a_token_without_encryption_is_told_once(self) -> None:
        problems: list[str] = []
        async with (
            instance_behind(Kind.SOCKS5, tls=False) as (_, proxy),
            opened(network=by(proxy), report=problems.append) as transport,
        ):
            await read(transport, ask(PLAIN, headers=(("Accept", "x"),)))
            assert problems == []
            for _ in range(2):
                await read(transport, ask(PLAIN))
        assert problems == [
            "The token and your code go to instance.test without encryption; use https:// where"
            " the server has it."
        ]

    async def test_this_machine_needs_none(self) -> None:
        problems: list[str] = []
        async with (
            RawServer(sse(ONE)) as server,
            opened(report=problems.append) as transport,
        ):
            await read(transport, ask(server.url))
        assert problems == []


def all_names_are_here(_host: object, *args: Any, **options: Any) -> Any:
    return looked_up("127.0.0.1", *args, **options)


looked_up = socket.getaddrinfo


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
