"""The floor: a server that is a loop and a list of lines, right only for what is measured."""

import asyncio
import io
import json
import os
import sys
from typing import Any

from tests.benchmarks.floors.prompt import PREFIX_CHARS, SUFFIX_CHARS, client, first_line

Message = dict[str, Any]
Lines = list[str]

documents: dict[str, Lines] = {}
tasks: dict[Any, asyncio.Task[None]] = {}


async def main() -> None:
    model = client()

    async def complete(message: Message) -> None:
        params = message["params"]
        lines, place = documents[params["textDocument"]["uri"]], params["position"]
        prefix, suffix = around(lines, place["line"], place["character"])
        try:
            text = await first_line(model, prefix, suffix)
            edit_range = {"start": place, "end": place}
            answer(message, result={"items": [{"insertText": text, "range": edit_range}]})
        except asyncio.CancelledError:
            answer(message, error={"code": -32800, "message": "cancelled"})
        finally:
            del tasks[message["id"]]

    reader = await stdin()
    while header := await reader.readline():
        length = int(header[16:])
        await reader.readline()
        message = json.loads(await reader.readexactly(length))
        match message["method"]:
            case "textDocument/didChange":
                lines = documents[message["params"]["textDocument"]["uri"]]
                for change in message["params"]["contentChanges"]:
                    apply(lines, change)
            case "textDocument/inlineCompletion":
                tasks[message["id"]] = asyncio.create_task(complete(message))
            case "$/cancelRequest":
                if (task := tasks.get(message["params"]["id"])) is not None:
                    task.cancel()
            case "textDocument/didOpen":
                document = message["params"]["textDocument"]
                documents[document["uri"]] = io.StringIO(document["text"], newline="").readlines()
            case "initialize":
                answer(message, result={"capabilities": {"textDocumentSync": 2}})
            case "shutdown":
                answer(message, result=None)
            case "exit":
                return
            case _ if "id" in message:
                answer(message, error={"code": -32601, "message": "unknown"})


def apply(lines: Lines, change: Message) -> None:
    """One change within one line, of ASCII: nothing else is measured."""
    start, end, text = change["range"]["start"], change["range"]["end"], change["text"]
    line = lines[start["line"]]
    assert end["line"] == start["line"]
    assert line.isascii()
    lines[start["line"]] = line[: start["character"]] + text + line[end["character"] :]


def around(lines: Lines, line: int, character: int) -> tuple[str, str]:
    before, start, room = [lines[line][:character]], line, PREFIX_CHARS - character
    while start > 0 and room > 0:
        start -= 1
        before.append(lines[start])
        room -= len(lines[start])
    after, end, room = [lines[line][character:]], line + 1, SUFFIX_CHARS
    while end < len(lines) and room > 0:
        after.append(lines[end])
        room -= len(lines[end])
        end += 1
    return "".join(reversed(before))[-PREFIX_CHARS:], "".join(after)[:SUFFIX_CHARS]


def answer(request: Message, **outcome: object) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": request["id"], **outcome}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


async def stdin() -> asyncio.StreamReader:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 26)
    if sys.platform == "win32":
        # Its event loop cannot read a pipe it has not made.
        loop.run_in_executor(None, feed, loop, reader)
    else:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


def feed(loop: asyncio.AbstractEventLoop, reader: asyncio.StreamReader) -> None:
    while data := os.read(sys.stdin.fileno(), 1 << 16):
        loop.call_soon_threadsafe(reader.feed_data, data)
    loop.call_soon_threadsafe(reader.feed_eof)


if __name__ == "__main__":
    asyncio.run(main())
