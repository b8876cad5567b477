"""A host that is far away by its name only, for what is not done on this machine."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FAR = "far.test"  # a name that nobody may register (RFC 6761)


@contextmanager
def leading_here(name: str = FAR) -> Iterator[None]:
    """As long as this is entered `name` is the address of this machine."""
    look_up = socket.getaddrinfo

    def found(host: Any, *args: Any, **options: Any) -> Any:
        is_it = host in (name, name.encode("ascii"))
        return look_up("127.0.0.1" if is_it else host, *args, **options)

    socket.getaddrinfo = found
    try:
        yield
    finally:
        socket.getaddrinfo = look_up
