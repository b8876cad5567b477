"""Recorded sessions: what an editor said to our server in each scenario, and what it was answered.

A recording is one life of the server. A line of its file is one message, as JSON: the seconds from
the start, `>` from the editor or `<` to it, the message. The folders of the machine it was recorded
on, its processes and its ports are not in there: the edited files are below `file:///desk/work/`,
each in a folder named after its scenario.
"""

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.editors.scenarios import SCENARIOS, Case

FOLDER = Path(__file__).parent / "recordings"
SUFFIX = ".jsonl.gz"
CASES = {
    case.slug: case for each in SCENARIOS for end in each.line_ends for case in [Case(each, end)]
}
DESK = "/desk"
LEFT_OUT = {
    *("shutdown", "exit", "$/progress", "window/logMessage", "window/workDoneProgress/create"),
    *("lspCompletions/status", "didChangeStatus", "$/setTrace", "textDocument/didSave"),
}

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One message."""

    at: float
    from_editor: bool
    message: Message

    @property
    def method(self) -> str | None:
        """What is asked or told; `None` in an answer."""
        return self.message.get("method")

    @property
    def case(self) -> Case | None:
        """The scenario that begins with this message."""
        if self.method != "textDocument/didOpen":
            return None
        uri = self.message["params"]["textDocument"]["uri"]
        found = re.search(r"/work/(?:\d+-)?([^/]+)/[^/]*$", uri)
        return CASES.get(found[1]) if found else None


def read(path: Path) -> list[Entry]:
    """The entries of a recording that is kept."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [Entry(at, way == ">", message) for at, way, message in map(json.loads, file)]


def write(path: Path, entries: Sequence[Entry]) -> None:
    """Keep a recording; the same entries make the same file."""
    lines = (
        json.dumps([each.at, "<>"[each.from_editor], each.message], ensure_ascii=False) + "\n"
        for each in entries
    )
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


def condensed(raw: str) -> list[Entry]:
    """What is kept of what the recorder wrote; nothing where no scenario was played."""
    records = [json.loads(line) for line in raw.split("\n") if line]
    entries = list(
        _of_scenarios(
            Entry(each["at"], each["from"] == "editor", each["message"]) for each in records
        )
    )
    cases = [each for each in entries if each.case]
    if not cases:
        return []
    uris = [each.message["params"]["textDocument"]["uri"] for each in cases]
    desks = {uri.removeprefix("file://").partition("/work/")[0] for uri in uris}
    return [
        Entry(each.at, each.from_editor, _neutral(each.message, desks, each.method))
        for each in entries
    ]


def _of_scenarios(entries: Iterator[Entry]) -> Iterator[Entry]:
    """Leave out what was said of other documents, the farewell, and what is only shown."""
    others: set[str] = set()
    unwanted: set[object] = set()
    for entry in entries:
        message = entry.message
        params = message.get("params")
        uri = _uri(params)
        if entry.method == "textDocument/didOpen" and entry.case is None and uri:
            others.add(uri)
        if uri in others or entry.method in LEFT_OUT:
            unwanted.add((entry.from_editor, message.get("id", object())))
            continue
        if entry.method is None and (not entry.from_editor, message.get("id")) in unwanted:
            continue
        yield entry


def _uri(params: object) -> str | None:
    document = params.get("textDocument") if isinstance(params, dict) else None
    uri = document.get("uri") if isinstance(document, dict) else None
    return uri if isinstance(uri, str) else None


def _neutral(message: Message, desks: set[str], method: str | None) -> Message:
    text = json.dumps({key: value for key, value in message.items() if key != "jsonrpc"})
    for desk in sorted(desks, key=len, reverse=True):
        text = text.replace(json.dumps(desk)[1:-1], DESK)
    text = without_ports(re.sub(rf"{DESK}/work/\d+-", f"{DESK}/work/", text))
    neutral: Message = json.loads(text)
    if method == "initialize":
        neutral["params"]["processId"] = None
    return neutral


def without_ports(text: str) -> str:
    """What is said of the instance, which listens elsewhere each time."""
    return re.sub(r"\b127\.0\.0\.1:\d+", "127.0.0.1", text)
