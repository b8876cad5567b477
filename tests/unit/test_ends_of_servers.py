"""The servers of the tests leave nobody connected, whoever came when they ended."""

import asyncio
import gc
import socket
import warnings
from collections.abc import Callable

import pytest

from tests.support.proxies import Kind, ProxyServer
from tests.support.raw_http import RawServer, sse
from tests.support.sourcegraph import Answer, StandIn

Server = StandIn | RawServer | ProxyServer
SERVERS = [
    pytest.param(lambda: StandIn(Answer("")), id="the stand-in"),
    pytest.param(lambda: RawServer(sse(b"")), id="raw HTTP"),
    pytest.param(lambda: ProxyServer(Kind.HTTP, to=9), id="a proxy"),
]


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("make", SERVERS)
def test_who_comes_while_it_ends_is_hung_up(make: Callable[[], Server], turns: int) -> None:
    async def come_and_end() -> list[socket.socket]:
        async with make() as server:
            clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(4)]
            for _ in range(turns):
                await asyncio.sleep(0)
        return clients

    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        for client in asyncio.run(come_and_end()):
            client.close()
        gc.collect()
    assert [str(each.message) for each in complaints] == []
