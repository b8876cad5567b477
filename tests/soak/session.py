"""Somebody at several documents, a backend that misbehaves, and what must hold all along."""

import random
import sys
from itertools import count
from pathlib import Path
from typing import Any

from tests.soak.text import Text
from tests.support.lsp_client import LspClient, Message
from tests.support.sourcegraph import (
    CUT,
    RESET,
    TOKEN,
    Answer,
    Gate,
    Reply,
    StandIn,
    html_page,
    rate_limited,
    redirect,
    refusal,
)

INLINE, MENU = "textDocument/inlineCompletion", "textDocument/completion"
SERVER = [sys.executable, "-m", "lsp_completions"]
NAMES = (
    *("file:///w/a.py", "file:///w/b%20c.py", "file:///c%3A/w/d.py", "untitled:Untitled-1"),
    *("vscode-notebook-cell:/w/n.ipynb#W0", "vscode-notebook-cell:/w/n.ipynb#W1"),
)
BEGINNINGS = (
    "import os\n\n\ndef add(a, b):\n    c = \n    return c\n",
    "x = 1\r\ny = \r\n",
    "a = 1\rb = 2\r",
    "name = 1\u2028\x0c\x85\nvalue = 😀é\n",
    "",
)
KEYS = (*"abcxyz", *"   ", "(", ")", ".", "=", "\n", "\r\n", "é", "😀", "\u2028", "\t", "add(")
SAID = (
    "compute(a)\n    total = c\n    more = total\n\n",
    *("a\n", "😀é(1)\r\n", "", "\n    first()\n    second()\n", "f(g(h(1)))\n" * 30, "x" * 3_000),
)
OPTIONS: dict[str, Any] = {"menu": "on", "inComments": True, "inStrings": True, "delay": 0}
LEAST = 200  # characters before the cursor that every prompt holds


def some_answers(seed: int) -> Any:
    """A script of a backend on its worst day."""
    dice = random.Random(seed)

    def script(_: object) -> Any:
        if dice.random() < 0.15:
            return dice.choice(
                (
                    *(rate_limited("1"), refusal(500, "no"), html_page(), redirect("/elsewhere")),
                    *(Reply(status=200, body="{"), Reply(status=200, body="x" * 9_000, length=99)),
                    Answer(b"event: completion\ndata: {\n\n"),
                    Answer(b": ping\n\n" * 50, b"\xff\xfe\x00", "a"),
                )
            )
        text = dice.choice(SAID)
        size = dice.choice((1, 3, 100))
        steps: list[Any] = [text[at : at + size] for at in range(0, min(len(text), 400), size)]
        if dice.random() < 0.2:
            steps.insert(dice.randrange(len(steps) + 1), dice.choice((CUT, RESET, Gate(), 2.0)))
        return Answer(*steps, delay=dice.choice((0, 0.005, 0.05)), gap=dice.choice((0, 0.001)))

    return script


class Session:
    """One person, and one server."""

    def __init__(self, client: LspClient, instance: StandIn, *, seed: int, encoding: str) -> None:
        self.client, self.instance, self.encoding = client, instance, encoding
        self.dice = random.Random(seed)
        self.seed = seed
        self.ids = count()
        self.texts: dict[str, Text] = {}
        self.cursors: dict[str, int] = {}
        self.asked: dict[str, tuple[str, str, int]] = {}
        self.shown: list[tuple[str, str, Message]] = []
        self.checked = 0
        self.misbehaves()

    def misbehaves(self) -> None:
        """From now on the backend answers as it likes."""
        self.instance.script = some_answers(self.dice.randrange(10**9))

    # ---- documents

    def opens(self, uri: str, text: str) -> None:
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.client.notify("textDocument/didOpen", {"textDocument": document})
        self.texts[uri], self.cursors[uri] = Text(text, self.encoding), len(text)

    def closes(self, uri: str) -> None:
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        del self.texts[uri]

    def changes(self, uri: str, *edits: tuple[int, int, str]) -> None:
        text, told = self.texts[uri], []
        for start, end, new in edits:
            start = text.snapped(start)
            end = max(start, text.snapped(end))
            told.append(text.replaced(start, end, new))
            self.cursors[uri] = text.snapped(start + len(new))
        document = {"uri": uri, "version": None}
        params = {"textDocument": document, "contentChanges": told}
        self.client.notify("textDocument/didChange", params)

    def replaces_all(self, uri: str) -> None:
        text = self.dice.choice(BEGINNINGS)
        self.texts[uri].text, self.cursors[uri] = text, len(text)
        document = {"uri": uri, "version": None}
        params = {"textDocument": document, "contentChanges": [{"text": text}]}
        self.client.notify("textDocument/didChange", params)

    # ---- requests

    def asks(self, uri: str, method: str, kind: int) -> str:
        id = f"s{self.seed}-{next(self.ids)}"
        offset = self.cursors[uri]
        place = self.texts[uri].place(offset)
        at = {"textDocument": {"uri": uri}, "position": place, "context": {"triggerKind": kind}}
        self.client.send(method, at, id=id)
        self.asked[id] = uri, self.texts[uri].text, offset
        return id

    def takes(self, id: str) -> None:
        """The answer, of which there is one; what it holds is at its place."""
        uri, text, offset = self.asked.pop(id)
        answer = self.client.take(id)
        if "error" in answer:
            assert answer["error"]["code"] in (-32800, -32801), answer
            return
        model = Text(text, self.encoding)
        for item in (answer["result"] or {"items": []})["items"]:
            where = (item.get("textEdit") or item)["range"]
            assert where["start"]["line"] == where["end"]["line"], item
            # An answer is for the document as it is by then.
            same = uri in self.texts and self.texts[uri].text == text
            if same and "insertText" in item and "textEdit" not in item:
                start, end = model.offset(where["start"]), model.offset(where["end"])
                assert start <= offset <= end, (item, offset)
                self.shown.append((uri, text, item))

    def accepts(self) -> None:
        uri, text, item = self.shown.pop()
        if uri in self.texts and self.texts[uri].text == text:
            edge = self.texts[uri]
            start, end = (edge.offset(item["range"][side]) for side in ("start", "end"))
            self.changes(uri, (start, end, item["insertText"]))
        if self.dice.random() < 0.5:
            self.client.result("workspace/executeCommand", item["command"])

    # ---- time

    def key(self) -> None:
        """One key, and what an editor makes of it."""
        dice = self.dice
        if not self.texts or (len(self.texts) < len(NAMES) and dice.random() < 0.05):
            closed = [name for name in NAMES if name not in self.texts]
            self.opens(dice.choice(closed), dice.choice(BEGINNINGS))
        uri = dice.choice([*self.texts])
        cursor, size = self.cursors[uri], len(self.texts[uri].text)
        what = ("type", "delete", "many", "all", "jump", "close", "rename", "folders", "settings")
        match dice.choices(what, (70, 10, 4, 1, 6, 2, 2, 1, 1))[0]:
            case "type":
                self.changes(uri, (cursor, cursor, dice.choice(KEYS)))
            case "delete":
                self.changes(uri, (cursor - dice.randrange(1, 6), cursor, ""))
            case "many":
                edits = [(dice.randint(0, size), dice.randint(0, size)) for _ in range(3)]
                self.changes(uri, *((min(e), min(max(e), min(e) + 9), "q\n") for e in edits))
            case "all":
                self.replaces_all(uri)
            case "jump":
                self.cursors[uri] = self.texts[uri].snapped(dice.randint(0, size))
            case "close":
                self.closes(uri)
            case "rename":
                text, free = self.texts[uri].text, [n for n in NAMES if n not in self.texts]
                self.closes(uri)
                self.opens(dice.choice([*free, uri]), text)
            case "folders":
                one = [{"uri": "file:///w/sub", "name": "s"}]
                event = dice.choice(({"added": one, "removed": []}, {"added": [], "removed": one}))
                self.client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
            case "settings":
                self.sets(maxTokens=dice.randrange(20, 300))
        if size > 20_000 and uri in self.texts:
            self.replaces_all(uri)
        if uri in self.texts and dice.random() < 0.7:
            self.asks(uri, dice.choice((INLINE, INLINE, MENU)), dice.choice((1, 2, 2, 2)))
        if self.asked and dice.random() < 0.4:
            self.client.cancel(dice.choice([*self.asked][-5:]))
        if len(self.asked) > 8:
            self.takes(next(iter(self.asked)))
        if self.shown and dice.random() < 0.1:
            self.accepts()

    def sets(self, **settings: Any) -> None:
        values = {"lspCompletions": {**OPTIONS, **settings}}
        self.client.notify("workspace/didChangeConfiguration", {"settings": values})

    def _why(self, uri: str) -> object:
        at = {"uri": uri, "position": self.texts[uri].place(self.cursors[uri])}
        call = {"command": "lspCompletions.why", "arguments": [at]}
        return self.client.request("workspace/executeCommand", call)

    def checks(self) -> None:
        """All is answered; the server has the texts we have, and the next request works."""
        for id in [*self.asked]:
            self.takes(id)
        self.shown.clear()
        self.instance.script = Answer("1\n")
        for uri, text in self.texts.items():
            self.checked += 1
            # Whoever failed is asked again; on a busy machine all may take its time.
            patient = {"firstEventTimeout": 30, "totalTimeout": 40}
            self.sets(maxTokens=300 + self.checked % 99, **patient)
            mark = f"mark_{self.seed}_{self.checked} = "
            self.changes(uri, (len(text.text), len(text.text), f"\n{mark}"))
            id = self.asks(uri, INLINE, 2)
            self.asked.pop(id)
            answer = self.client.take(id)
            assert answer["result"]["items"], (uri, answer, self._why(uri))
            # One may be in the list before its body is there.
            prompts = [each.prompt for each in self.instance.completions[-9:] if each.json]
            expected = text.text[-LEAST:].replace("\r\n", "\n").replace("\r", "\n")
            told = "\n".join(prompts).replace("\r\n", "\n").replace("\r", "\n")
            assert expected in told, (uri, expected, prompts)
        assert not [m for m in self.client.waiting() if str(m.get("id", "")).startswith("s")]
        while self.client.waiting():
            self.client.next()
        self.instance.requests.clear()
        self.sets()
        self.misbehaves()

    def rests(self) -> None:
        """Nobody wants anything any more."""
        self.checks()
        for uri in [*self.texts]:
            self.closes(uri)
        self.client.settle()
        self.instance.wait_until(lambda: not self.instance.streaming)


def footprint(client: LspClient) -> tuple[int, int, int]:
    """Kilobytes in memory, descriptors and threads of the server; zeros where nobody can say."""
    if sys.platform != "linux":
        return 0, 0, 0
    folder = Path(f"/proc/{client.process.pid}")
    status = (folder / "status").read_text(encoding="ascii")
    fields = dict(line.split(":", 1) for line in status.splitlines())
    open_files = len([*(folder / "fd").iterdir()])
    return int(fields["VmRSS"].split()[0]), open_files, int(fields["Threads"])


def environment(instance: StandIn) -> dict[str, str | None]:
    """What leads a server to the stand-in."""
    return {"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": TOKEN}
