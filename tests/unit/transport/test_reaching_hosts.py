"""Names, addresses, certificates and proxies on the way to a host."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trustme

from lsp_completions.errors import (
    Unreachable,
)
from lsp_completions.transport import Timeouts
from lsp_completions.transport.connections import ReapingPool
from tests.support.asking import (
    DONE,
    ONE,
    ask,
    opened,
    pool_of,
    read,
    reason,
)
from tests.support.raw_http import CLOSE, HOLD, RawServer, chunked, head, sse


class TestUnreachable:
    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
    async def test_nobody_listens(self, host: str) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            url = f"http://{host}:{port}"
            assert await reason(url) == (
                f"No connection to {host}:{port}: connection refused (127.0.0.1); is it running?"
            )

    async def test_nobody_listens_on_any_address(self, localhost_is_both: None) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            assert await reason(f"http://localhost:{port}") == (
                f"No connection to localhost:{port}: connection refused (::1, 127.0.0.1);"
                " is it running?"
            )

    async def test_unknown_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def unknown(*_: object, **__: object) -> None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", unknown)
        assert await reason("https://nowhere.example") == (
            "No connection to nowhere.example: its name could not be resolved"
            " (Name or service not known)."
        )

    async def test_name_that_cannot_be_looked_up(self) -> None:
        assert (await reason(f"https://{'a' * 70}.example")).startswith("No connection to aaa")

    async def test_no_answer_to_the_knock(self) -> None:
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            port = full.getsockname()[1]
            fillers = [socket.socket() for _ in range(4)]
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", port))
            timeouts = Timeouts(connect=0.1, first_event=30, total=30)
            try:
                sentence = await reason(f"http://127.0.0.1:{port}", timeouts)
            finally:
                for filler in fillers:
                    filler.close()
        assert sentence in (
            f"No connection to 127.0.0.1:{port} in time.",
            # Where the kernel queues more than it was told to.
            f"127.0.0.1:{port} did not answer within 30 s.",
        )

    async def test_server_without_tls(self) -> None:
        async with RawServer([CLOSE]) as server:
            url = server.url.replace("http:", "https:")
            timeouts = Timeouts(connect=0.2, first_event=30, total=30)
            assert (await reason(url, timeouts)).startswith(
                f"No connection to 127.0.0.1:{server.port}"
            )

    async def test_handshake_without_an_answer(self) -> None:
        timeouts = Timeouts(connect=0.1, first_event=30, total=30)
        async with RawServer([HOLD]) as server:
            url = server.url.replace("http:", "https:")
            assert await reason(url, timeouts) == (
                f"No connection to 127.0.0.1:{server.port} in time."
            )
            await server.until(lambda: server.open == 0)

    async def test_server_that_answers_a_handshake_in_plain_text(self) -> None:
        async def rude(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(rude, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            assert (await reason(f"https://127.0.0.1:{port}")).startswith(
                f"No connection to 127.0.0.1:{port}: TLS failed ("
            )


class TestTls:
    async def test_authority_of_our_own(self, authority: trustme.CA, tmp_path: Path) -> None:
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        async with (
            RawServer(sse(ONE, DONE), ssl_context=certified(authority), name="localhost") as server,
            opened(ca_file=str(tmp_path / "ca.pem")) as transport,
        ):
            assert len(await read(transport, ask(server.url))) == 2
            assert len(await read(transport, ask(server.url))) == 2
            assert server.connections == 1

    async def test_authority_nobody_knows(self, authority: trustme.CA) -> None:
        async with RawServer(ssl_context=certified(authority), name="localhost") as server:
            assert await reason(server.url) == (
                f"No connection to localhost:{server.port}: its certificate is not trusted"
                " (unable to get local issuer certificate); put your company's authority into"
                " the system's store, or name its file in `caFile`."
            )

    async def test_chain_without_the_one_in_between(self, tmp_path: Path) -> None:
        root = trustme.CA()
        between = root.create_child_ca()
        root.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        leaf = between.issue_cert("localhost")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        leaf.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
        leaf.cert_chain_pems[0].write_to_path(str(tmp_path / "leaf.pem"))
        context.load_cert_chain(tmp_path / "leaf.pem", tmp_path / "key.pem")
        async with RawServer(ssl_context=context, name="localhost") as server:
            sentence = await reason(server.url, ca_file=str(tmp_path / "ca.pem"))
        assert sentence.startswith(f"No connection to localhost:{server.port}: its certificate")
        assert "unable to get local issuer certificate" in sentence

    async def test_certificate_for_another_host(
        self, authority: trustme.CA, tmp_path: Path
    ) -> None:
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("elsewhere.example").configure_cert(context)
        async with RawServer(ssl_context=context, name="localhost") as server:
            sentence = await reason(server.url, ca_file=str(tmp_path / "ca.pem"))
        assert sentence == (
            f"No connection to localhost:{server.port}: its certificate is for another host"
            " (Hostname mismatch, certificate is not valid for 'localhost'); is the address right?"
        )

    async def test_given_authorities_add_to_the_others(
        self, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = trustme.CA()
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        other.cert_pem.write_to_path(str(tmp_path / "other.pem"))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        async with opened(ca_file=str(tmp_path / "other.pem")) as transport:
            for each in (authority, other):
                async with RawServer(
                    sse(ONE), ssl_context=certified(each), name="localhost"
                ) as server:
                    assert len(await read(transport, ask(server.url))) == 1

    async def test_files_that_are_missing(
        self, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
        (tmp_path / "broken.pem").write_text("no certificate")
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        problems: list[str] = []
        async with (
            RawServer(ssl_context=certified(authority), name="localhost") as server,
            opened(ca_file=str(tmp_path / "broken.pem"), report=problems.append) as transport,
        ):
            with pytest.raises(Unreachable):
                await read(transport, ask(server.url))
        assert problems[0] == (
            f"The certificates in {tmp_path / 'missing.pem'} (SSL_CERT_FILE) could not be read:"
            " No such file or directory."
        )
        assert str(tmp_path / "broken.pem") in problems[1]
        assert len(problems) == 2


class TestLocalhost:
    """A model server often listens on one of the two addresses only."""

    @pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
    async def test_either_address_will_do(self, address: str, localhost_is_both: None) -> None:
        async with (
            RawServer(sse(ONE), host=address, name="localhost") as server,
            opened() as transport,
        ):
            assert len(await read(transport, ask(server.url))) == 1


class TestProxies:
    async def test_plain_http_goes_through_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with RawServer(sse(ONE, DONE)) as proxy, opened() as transport:
            monkeypatch.setenv("HTTP_PROXY", f"http://me:secret@127.0.0.1:{proxy.port}")
            for _ in range(2):
                events = await read(transport, ask("http://model.example/complete"))
                assert len(events) == 2
            assert proxy.requests[0].line == "POST http://model.example/complete HTTP/1.1"
            assert proxy.requests[0].headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"
            assert proxy.connections == 1
            assert isinstance(await pool_of(transport), ReapingPool)

    async def test_tls_goes_through_a_tunnel(
        self, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        context = certified(authority, "model.example")
        async with (
            RawServer(sse(ONE, DONE), ssl_context=context) as server,
            tunnel_to(server.port) as proxy,
            opened(ca_file=str(tmp_path / "ca.pem")) as transport,
        ):
            monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{proxy}")
            for _ in range(2):
                assert len(await read(transport, ask("https://model.example/complete"))) == 2
            assert server.connections == 1

    async def test_nothing_is_lost_behind_it(
        self, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        context = certified(authority, "model.example")
        async with (
            RawServer([*sse()[:1], chunked(ONE, end=False), HOLD], ssl_context=context) as server,
            tunnel_to(server.port) as proxy,
            opened(ca_file=str(tmp_path / "ca.pem"), max_connections=1) as transport,
        ):
            monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{proxy}")
            request = ask("https://model.example/complete")
            for turn in range(0, 160, 2):
                reader = asyncio.create_task(read(transport, request))
                for _ in range(turn):
                    await asyncio.sleep(0)
                reader.cancel()
                await asyncio.wait([reader])
            await server.until(lambda: server.open <= 1)  # the one for the next request
            server.replies = [sse(ONE, DONE)]
            assert len(await read(transport, request)) == 2

    async def test_proxy_that_refuses(self, monkeypatch: pytest.MonkeyPatch) -> None:
        refusal = head("Content-Length: 0", status="407 Proxy Authentication Required")
        async with RawServer([refusal]) as proxy:
            monkeypatch.setenv("ALL_PROXY", f"http://me:secret@127.0.0.1:{proxy.port}")
            assert await reason("https://model.example") == (
                f"The proxy 127.0.0.1:{proxy.port} does not accept the user name and password"
                " in its address."
            )

    async def test_proxy_that_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            place = f"127.0.0.1:{taken.getsockname()[1]}"
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@{place}")
            assert await reason("https://model.example") == (
                f"No connection to model.example through the proxy {place}:"
                " connection refused (127.0.0.1); is it running?"
            )

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
    async def test_this_machine_is_never_proxied(
        self, host: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ALL_PROXY", "http://192.0.2.1:1")
        async with RawServer(sse(ONE), name=host) as server, opened() as transport:
            assert len(await read(transport, ask(server.url))) == 1

    @pytest.mark.parametrize(
        ("proxy", "why"),
        [
            ("ftp://192.0.2.1:1", "must begin with http://, https://, socks5:// or unix:"),
            ("http://me:se/cret@[", "must be an address such as http://proxy.example.com:3128"),
        ],
    )
    async def test_proxy_that_cannot_be_used(
        self, proxy: str, why: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """We go without it, and say so once."""
        monkeypatch.setenv("ALL_PROXY", proxy)
        monkeypatch.setattr(socket, "getaddrinfo", all_names_are_here)
        problems: list[str] = []
        async with RawServer(sse(ONE)) as server, opened(report=problems.append) as transport:
            for _ in range(2):
                url = f"http://model.example:{server.port}/complete"
                assert len(await read(transport, ask(url, headers=()))) == 1
        (problem,) = problems
        assert problem.startswith(f"The proxy that ALL_PROXY names is not used: it {why}")
        assert "cret" not in problem

    async def test_exceptions_that_cannot_be_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://192.0.2.1:1")
        monkeypatch.setenv("NO_PROXY", "10.0.0.0/8,[::1],.corp,*.x,ht!tp,model.example")
        monkeypatch.setattr(socket, "getaddrinfo", all_names_are_here)
        problems: list[str] = []
        async with RawServer(sse(ONE)) as server, opened(report=problems.append) as transport:
            url = f"http://model.example:{server.port}/complete"
            assert len(await read(transport, ask(url, headers=()))) == 1
        assert problems == [
            "NO_PROXY holds 'ht!tp', which is neither a name nor a network; ignored."
        ]


@asynccontextmanager
async def tunnel_to(port: int) -> AsyncIterator[int]:
    """A proxy that leads to `port` whatever host it is asked for; its own port."""
    pumps: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while part := await reader.read(65536):
                writer.write(part)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        there = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        pumps.update(
            (
                asyncio.create_task(pump(reader, there[1])),
                asyncio.create_task(pump(there[0], writer)),
            )
        )

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        await asyncio.gather(*pumps)


def certified(authority: trustme.CA, name: str = "localhost") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


looked_up = socket.getaddrinfo


def all_names_are_here(_host: object, *args: Any, **options: Any) -> Any:
    return looked_up("127.0.0.1", *args, **options)


@pytest.fixture
def localhost_is_both(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(host: Any, *args: Any, **options: Any) -> Any:
        names = ("::1", "127.0.0.1") if host in ("localhost", b"localhost") else (host,)
        return [answer for name in names for answer in looked_up(name, *args, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", both)
