"""A language server as people have one already: its completion menu has one entry, `second_item`.

Run by its path, with nothing installed: `python tests/support/second_server.py`. Each file it is
told of is noted in the file that the first argument names, so that a test can wait for that.
"""

import json
import sys
from pathlib import Path
from typing import Any

ITEM = "second_item"
"""What its menu offers at every place."""

CAPABILITIES = {"textDocumentSync": 1, "completionProvider": {"triggerCharacters": ["@"]}}


def read() -> dict[str, Any] | None:
    """The next message; `None` at the end."""
    length = 0
    while (line := sys.stdin.buffer.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    if not length:
        return None
    message: dict[str, Any] = json.loads(sys.stdin.buffer.read(length))
    return message


def write(message: dict[str, Any]) -> None:
    data = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
    sys.stdout.buffer.flush()


def answer(method: str) -> object:
    """What it says to a request; `null` to those that it does not know."""
    if method == "initialize":
        return {"capabilities": CAPABILITIES, "serverInfo": {"name": "second"}}
    if method == "textDocument/completion":
        return {"isIncomplete": False, "items": [{"label": ITEM, "kind": 6}]}
    return None


def main(noted: str | None) -> None:
    """Serve until the editor says that it is over, or is gone."""
    while (message := read()) is not None and message.get("method") != "exit":
        method = message.get("method")
        if method is not None and "id" in message:
            write({"id": message["id"], "result": answer(method)})
        elif method == "textDocument/didOpen" and noted:
            with Path(noted).open("a", encoding="utf-8") as file:
                file.write(message["params"]["textDocument"]["uri"] + "\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
