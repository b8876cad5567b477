"""The end of a server in a loop that ends, too."""

import asyncio
from contextlib import suppress

# Accepted, its transport made, told to its protocol, whose task begins.
TURNS = 4


async def stop_accepting(server: asyncio.Server) -> None:
    """Close a server; who was accepted before is connected by the time this returns.

    In the turns between, nobody knows of a connection: a server that is closed in one of them
    leaves it open for good, as does a loop that ends (Python 3.11 to 3.13).
    """
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        with suppress(NotImplementedError):  # Windows
            loop.remove_reader(listening.fileno())
    for _ in range(TURNS):
        await asyncio.sleep(0)
    server.close()
