"""What the page has seen of the running servers, and what is new since it looked last. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

KEPT = 500  # requests; some megabytes in a page would be slow to draw

Told = Mapping[str, Any]
"""What a server tells of itself, as in `running`; or what is told to a page."""

ABOUT = ("pid", "version", "started", "editor", "editorVersion", "workspace", "status", "since")


class History:
    """Remembers the requests of servers that have ended as well."""

    def __init__(self) -> None:
        self._requests: dict[str, Told] = {}
        self._servers: list[Told] = []

    def all(self) -> Told:
        """What a page needs that has just been opened."""
        return {"servers": self._servers, "requests": list(self._requests.values())}

    def take(self, servers: Iterable[Told]) -> Told | None:
        """What is new or has changed; `None` where nothing has."""
        news: dict[str, Any] = {}
        listed: list[Told] = []
        requests: list[Told] = []
        for server in servers:
            listed.append({name: server.get(name) for name in ABOUT})
            outcomes = server.get("outcomes")
            for outcome in reversed(outcomes) if isinstance(outcomes, list) else ():
                if isinstance(outcome, Mapping) and isinstance(outcome.get("number"), int):
                    # One process number may be given to several servers in turn.
                    identity = f"{server['pid']}-{server.get('started')}-{outcome['number']}"
                    request = {**outcome, "id": identity, "pid": server["pid"]}
                    if self._requests.get(identity) != request:
                        self._requests[identity] = request
                        requests.append(request)
        while len(self._requests) > KEPT:
            del self._requests[next(iter(self._requests))]
        if listed != self._servers:
            self._servers = news["servers"] = listed
        if requests:
            news["requests"] = requests
        return news or None
