"""Thousands of keys, requests and cancels against the real process: all is answered, nothing stays.

What happens is drawn from a seed.
"""

import random
import sys
from itertools import count
from pathlib import Path
from typing import Any

from tests.e2e.test_completions import HELIX, INLINE, MENU, SERVER
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import CUT, TOKEN, Answer, StandIn, rate_limited, running_stand_in

URIS = ("file:///w/a.py", "file:///w/b.py")
TEXT = "import os\n\n\ndef add(a, b):\n    c = \n    return c\n" + "# below\n" * 40
SAID = (
    "compute(a)\n    total = c\n    more = total\n\n",
    "a\n",
    "\n    first()\n    second()\n",
    "f(g(h(1)))\nnext = 2\nlast = 3\nthen = 4\nend = 5\n",
    "",
)
WARM, KEYS = 500, 2000


class Storm:
    """Somebody at two documents at once, who never waits for long."""

    def __init__(self, client: LspClient, seed: int) -> None:
        self.client = client
        self.dice = random.Random(seed)
        self.ids = count(1000 * seed)
        self.open_ids: list[str] = []
        self.columns: dict[str, int] = {}
        self.asked: list[str] = []

    def open(self, uri: str) -> None:
        document = {"uri": uri, "languageId": "python", "version": 1, "text": TEXT}
        self.client.notify("textDocument/didOpen", {"textDocument": document})
        self.columns[uri] = 8

    def close(self, uri: str) -> None:
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def changes(self, uri: str, start: int, end: int, text: str, line: int = 4) -> None:
        where = {
            "start": {"line": line, "character": start},
            "end": {"line": line, "character": end},
        }
        self.client.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": uri, "version": None},
                "contentChanges": [{"range": where, "text": text}],
            },
        )

    def asks(self, uri: str, method: str, kind: int) -> None:
        identity = f"storm-{next(self.ids)}"
        self.client.send(
            method,
            {
                "textDocument": {"uri": uri},
                "position": {"line": 4, "character": self.columns[uri]},
                "context": {"triggerKind": kind},
            },
            id=identity,
        )
        self.asked.append(identity)
        self.open_ids.append(identity)

    def key(self) -> None:
        """One key, and what an editor makes of it."""
        dice = self.dice
        uri = dice.choice(URIS)
        at = self.columns[uri]
        match dice.choices(("type", "delete", "line", "elsewhere", "reopen"), (70, 15, 8, 5, 2))[0]:
            case "type":
                self.changes(uri, at, at, dice.choice("abcf(=. "))
                self.columns[uri] += 1
            case "delete" if at > 8:
                self.changes(uri, at - 1, at, "")
                self.columns[uri] -= 1
            case "line":
                self.changes(uri, 8, at, "")
                self.columns[uri] = 8
            case "elsewhere":
                self.changes(uri, 0, 0, "#", line=dice.randrange(8, 30))
            case "reopen":
                self.close(uri)
                self.open(uri)
        if dice.random() < 0.8:
            self.asks(uri, INLINE, 2 if dice.random() < 0.95 else 1)
        if dice.random() < 0.4:
            self.asks(uri, MENU, 1)
        if self.open_ids and dice.random() < 0.5:
            self.client.cancel(dice.choice(self.open_ids[-6:]))
        if dice.random() < 0.1:
            self.client.settle()
        if self.open_ids and dice.random() < 0.05:
            self.client.take(self.open_ids.pop())

    def rests(self) -> None:
        """Every request has its answer; then nobody wants anything any more."""
        for identity in self.open_ids:
            self.client.take(identity)
        self.open_ids.clear()
        for uri in URIS:
            self.close(uri)
        self.client.settle()


def some_answers(seed: int) -> Any:
    dice = random.Random(seed)

    def script(_: object) -> Any:
        if dice.random() < 0.01:
            return rate_limited()
        text = dice.choice(SAID)
        size = dice.choice((1, 3, 100))
        steps: list[Any] = [text[at : at + size] for at in range(0, len(text), size)]
        if dice.random() < 0.1:
            steps.append(dice.choice((CUT, 5.0)))
        return Answer(*steps, delay=dice.choice((0, 0.005, 0.05)), gap=dice.choice((0, 0.002)))

    return script


def resident(client: LspClient) -> int:
    """Bytes of the process that are in memory; 0 where that cannot be known."""
    if sys.platform != "linux":
        return 0
    status = Path(f"/proc/{client.process.pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def test_after_a_storm_all_is_calm() -> None:
    with (
        running_stand_in() as instance,
        LspClient.start(
            SERVER, env={"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": TOKEN}
        ) as client,
    ):
        client.initialize(HELIX, rootUri="file:///w", initializationOptions={"menu": "on"})
        instance.script = some_answers(1)
        blow(client, instance, 1, WARM)
        before = resident(client)
        blow(client, instance, 2, KEYS)
        assert resident(client) <= before * 1.1

        assert instance.completions
        assert client.stop() == 0
        assert client.junk == b""
        for unwanted in (TOKEN, "Traceback", "never awaited"):
            assert unwanted not in client.stderr


def blow(client: LspClient, instance: StandIn, seed: int, keys: int) -> None:
    storm = Storm(client, seed)
    for uri in URIS:
        storm.open(uri)
    for _ in range(keys):
        storm.key()
    storm.rests()
    instance.wait_until(lambda: not instance.streaming)
    assert instance.open_connections <= 10
    assert not [each for each in client.waiting() if str(each.get("id", "")).startswith("storm")]
