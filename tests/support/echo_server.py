"""A server with one small feature for everything the protocol layer promises.

Run as `python -m tests.support.echo_server`, by the end-to-end tests of that layer.
"""

import asyncio
import logging
import os
import subprocess
import sys
import threading
import time
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp_completions.errors import InvalidParams, TimedOut
from lsp_completions.protocol import Server

ARGV = [sys.executable, "-m", "tests.support.echo_server"]


def read_inline(params: object) -> dict[str, Any]:
    """A reader as strict as ours are: an object with a position, or InvalidParams."""
    if not isinstance(params, dict) or not isinstance(params.get("position"), dict):
        raise InvalidParams("An inline completion needs a position.")
    return params


class EchoServer(Server):
    def on_unreadable(self, method: str | None, params: object) -> None:
        log.append(["lost", method])


def read_number(params: object) -> int:
    """A reader with a bug: what it raises for an object is no InvalidParams."""
    return int(params)  # type: ignore[call-overload, no-any-return]


server = EchoServer(
    "echo",
    "1.0",
    readers={types.TEXT_DOCUMENT_INLINE_COMPLETION: read_inline, "test/read": read_number},
)
log: list[Any] = []
"""What happened, in order; `test/log` returns it."""


@server.feature(types.INITIALIZE)
def initialize(params: object) -> None:
    options = params.get("initializationOptions") if isinstance(params, dict) else None
    if options == "fail":
        raise InvalidParams("This editor is not welcome.")


@server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION)
def inline_completion(params: dict[str, Any]) -> types.InlineCompletionList:
    text = f"line {params['position'].get('line')}"
    return types.InlineCompletionList(items=[types.InlineCompletionItem(insert_text=text)])


@server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["."]))
def completion(params: types.CompletionParams) -> list[types.CompletionItem]:
    return [types.CompletionItem(label=params.text_document.uri)]


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def did_change(params: types.DidChangeTextDocumentParams) -> None:
    log.append(["changed", params.text_document.version])


@server.feature("test/version")
def version(_params: object) -> Any:
    """Answers, later, with the version of the last change before this request."""
    seen = [entry[1] for entry in log if entry[0] == "changed"]

    async def answer() -> int:
        await asyncio.sleep(0)
        return int(seen[-1])

    return answer()


@server.feature("test/log")
def read_log(_params: object) -> list[Any]:
    return list(log)


@server.feature("test/note")
def note(params: object) -> None:
    log.append(["noted", params])


@server.feature("test/echo")
def echo(params: object) -> object:
    return params


@server.feature("test/read")
def read(number: int) -> int:
    return number


@server.feature("test/wait")
async def wait(params: object) -> None:
    """Until cancelled."""
    log.append(["began", params])
    try:
        await asyncio.Event().wait()
    finally:
        log.append(["ended", params])


@server.feature("test/stubborn")
async def stubborn(_params: object) -> str:
    """Takes a cancellation for nothing."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        log.append(["swallowed"])
    return "done all the same"


@server.feature("test/slowCleanUp")
async def slow_clean_up(_params: object) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(30)


@server.feature("test/fail")
def fail(params: object) -> object:
    kinds: dict[str, BaseException] = {
        "InvalidParams": InvalidParams("That is not a place."),
        "JsonRpc": JsonRpcException("changed meanwhile", -32801, {"why": "typing"}),
        "TimedOut": TimedOut("The provider did not answer within 7 s."),
        "Bug": ValueError("secret = 'hunter2'"),
        "Cancelled": asyncio.CancelledError(),
    }
    if isinstance(params, list):

        async def later() -> None:
            raise kinds[params[0]]

        return later()
    raise kinds[str(params)]


@server.feature("test/result")
def result(kind: object) -> object:
    return {
        "set": {1, 2},
        "nan": float("nan"),
        "surrogate": "a\ud83db",
        "nested": {"items": [types.Position(line=1, character=2)]},
        "enum": [types.CompletionItemKind.Text],
        "null": None,
    }[str(kind)]


@server.feature("test/large")
def large(size: object) -> str:
    return "x" * int(str(size))


@server.feature("test/print")
def say(_params: object) -> None:
    print("stray")
    os.write(1, b"straight to the descriptor\n")
    subprocess.run([sys.executable, "-c", "print('from a child', input())"], check=False)


@server.feature("test/block")
def block(seconds: object) -> None:
    time.sleep(float(str(seconds)))


@server.feature("test/busyThread")
def busy_thread(_params: object) -> Any:
    """A thread of the default executor that does not come back for a while."""
    threads = [asyncio.to_thread(time.sleep, 30) for _ in range(8)]
    return asyncio.gather(*threads)


@server.feature("test/ownThread")
def own_thread(_params: object) -> None:
    threading.Thread(target=time.sleep, args=(30,)).start()


@server.feature("test/configuration")
async def configuration(_params: object) -> object:
    item = types.ConfigurationItem(section="echo")
    return await server.workspace_configuration_async(types.ConfigurationParams(items=[item]))


@server.feature("test/configurationGivenUp")
async def configuration_given_up(_params: object) -> str:
    item = types.ConfigurationItem(section="echo")
    asked = server.workspace_configuration_async(types.ConfigurationParams(items=[item]))
    try:
        await asyncio.wait_for(asked, 0.01)
    except TimeoutError:
        return "given up"
    return "answered"


@server.feature("test/progress")
def progress(_params: object) -> None:
    server.work_done_progress.begin("t", types.WorkDoneProgressBegin(title="reading"))
    server.protocol.notify("test/status", {"where": types.Position(line=1, character=2)})
    server.window_log_message(types.LogMessageParams(type=types.MessageType.Log, message="h\u00e9"))


@server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
def configured(params: types.DidChangeConfigurationParams) -> None:
    log.append(["configured", params.settings])


@server.feature("test/later")
async def later(params: object) -> None:
    """A notification that takes its time, and then sends one."""
    await asyncio.sleep(0)
    if params == "fail":
        raise ValueError("secret = 'hunter2'")
    server.protocol.notify("test/now", params)


async def clean_up() -> None:
    sys.stderr.write("cleaned up\n")


async def fail_to_clean_up() -> None:
    raise ValueError("secret = 'hunter2'")


async def hang() -> None:
    await asyncio.Event().wait()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    server.on_stop += [fail_to_clean_up, clean_up]
    if "--hang-at-end" in sys.argv:
        server.on_stop.append(hang)
    pids = [int(word.removeprefix("--pid=")) for word in sys.argv if word.startswith("--pid=")]
    server.serve_stdio(editor_pid=pids[0] if pids else None)
