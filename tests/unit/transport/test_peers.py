"""Looking at a host's certificate, on the way that completions would go."""

import ssl
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import trustme

from lsp_completions.proxy_address import read_proxy_address
from lsp_completions.transport.network import Network
from tests.support.asking import opened
from tests.support.proxies import KINDS, Kind, ProxyServer
from tests.support.raw_http import RawServer

AUTHORITY = trustme.CA(organization_name="The company")
PEM = AUTHORITY.cert_pem.bytes().decode()


def certified(name: str, **options: Any) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert(name, common_name=name, **options).configure_cert(context)
    return context


async def test_trusted() -> None:
    ends = datetime(2040, 1, 2, tzinfo=UTC)
    async with (
        RawServer(ssl_context=certified("localhost", not_after=ends), name="localhost") as server,
        opened(ca_file=PEM) as transport,
    ):
        peer = await transport.look_at(server.url)
        assert (peer.subject, peer.issuer, peer.expires) == ("localhost", "The company", ends)
        assert peer.problem is None
        assert await transport.proxy_for(server.url) is None
        assert (await transport.authorities())[-1] == "a text (caFile)"
        assert server.requests == []
        await server.until(lambda: server.open == 0)


async def test_by_somebody_unknown() -> None:
    """Its name is what tells a company's firewall from somebody in between."""
    async with (
        RawServer(ssl_context=certified("localhost"), name="localhost") as server,
        opened() as transport,
    ):
        peer = await transport.look_at(server.url)
        assert peer.issuer == "The company"
        assert "`caFile`" in str(peer.problem)
        await server.until(lambda: server.open == 0)


async def test_expired() -> None:
    ended = datetime.now(UTC) - timedelta(days=1)
    begun = ended - timedelta(days=1)
    context = certified("localhost", not_after=ended, not_before=begun)
    async with (
        RawServer(ssl_context=context, name="localhost") as server,
        opened(ca_file=PEM) as transport,
    ):
        peer = await transport.look_at(server.url)
        assert "has expired" in str(peer.problem)


async def test_nobody_there() -> None:
    async with RawServer() as server:
        gone = server.url.replace("http:", "https:")
    async with opened() as transport:
        peer = await transport.look_at(gone)
    assert "connection refused" in str(peer.problem)


@pytest.mark.parametrize("hangs", [Kind.HTTP, Kind.SOCKS5])
async def test_proxy_that_says_nothing(hangs: Kind) -> None:
    async with ProxyServer(hangs, hangs=True) as proxy:
        network = Network(proxy=read_proxy_address(proxy.url))
        async with opened(network=network) as transport:
            peer = await transport.look_at("https://instance.test", seconds=0.1)
    assert str(peer.problem).endswith("within 0.1 s.")


@pytest.mark.parametrize("kind", KINDS)
async def test_through_a_proxy(kind: Kind) -> None:
    async with (
        RawServer(ssl_context=certified("instance.test")) as server,
        ProxyServer(kind, to=server.port, ssl_context=certified("localhost")) as proxy,
    ):
        network = Network(proxy=read_proxy_address(proxy.url), ca_file=PEM)
        async with opened(network=network) as transport:
            peer = await transport.look_at("https://instance.test/x")
            assert (peer.subject, peer.problem) == ("instance.test", None)
            found = await transport.proxy_for("https://instance.test/x")
            assert found is not None
            assert (found.source, str(found.address)) == ("proxy", proxy.url)
        await proxy.until_left()
