"""Sessions recorded in VS Code, replayed with their own pauses against the real process.

VS Code cancels what is not answered before the next key, and asks again 40 ms after it.
"""

import sys
import time
from pathlib import Path

import pytest

from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.positions import PositionEncoding
from tests.session.test_recorded_edits import replayed, timed_messages_of
from tests.support.at_work import THINKS, continues
from tests.support.extra import extra_path
from tests.support.lsp_client import LspClient, Message
from tests.support.sourcegraph import TOKEN, StandIn, running_stand_in

SERVER = [sys.executable, "-m", "lsp_completions"]
INLINE = "textDocument/inlineCompletion"
CANCELLED = -32800
MODEL = "fireworks/starcoder-16b"
LEFT_OUT = {"workspace/didChangeConfiguration", "shutdown", "exit", "textDocument/didClose"}
END = "\nend_of_it = "


def replay(session: Path, client: LspClient) -> list[Message]:
    """Send what VS Code sent, when it sent it; returns the answers to what it asked."""
    client.answers["workspace/configuration"] = [None]
    asked: list[int | str] = []
    began = time.monotonic()
    for at, message in timed_messages_of(session):
        method, params, number = (
            message.get("method"),
            message.get("params") or {},
            message.get("id"),
        )
        if method is None or method in LEFT_OUT:
            continue
        time.sleep(max(0, began + at - time.monotonic()))
        if method == "initialize":
            client.result(method, {**params, "initializationOptions": {"model": MODEL}})
            began = time.monotonic() - at
        elif method == "$/cancelRequest":
            client.cancel(f"v{params['id']}")
        elif number is None:
            client.notify(method, params)
        else:
            asked.append(client.send(method, params, id=f"v{number}"))
    return [client.take(number) for number in asked]


def text_known_to(client: LspClient, instance: StandIn, document: Document) -> str:
    """The text as the server has it by now: what a model is told at its end."""
    uri = document.uri
    end = document.position_of(document.length, PositionEncoding.UTF16)
    place = {"line": end.line, "character": end.character}
    change = {"range": {"start": place, "end": place}, "text": END}
    client.notify(
        "textDocument/didChange",
        {
            "textDocument": {"uri": uri, "version": (document.version or 0) + 1},
            "contentChanges": [change],
        },
    )
    position = {"line": end.line + 1, "character": len(END) - 1}
    client.send(INLINE, {"textDocument": {"uri": uri}, "position": position})

    def told() -> list[str]:
        # One may be in the list before its body is there.
        prompts = [each.prompt for each in instance.completions if each.json is not None]
        return [prompt for prompt in prompts if END in prompt]

    instance.wait_until(lambda: bool(told()))
    prompt = told()[0]
    return prompt.partition(END)[0]


@pytest.mark.parametrize(
    ("name", "line", "most"),
    [
        pytest.param("vscode_slow", 2, 3, id="each key cancels"),
        pytest.param("vscode_suggestopen", 2, 8, id="with its menu open"),
        pytest.param("torture_vscode_lf_incremental", None, None, id="everything, LF"),
        pytest.param("torture_vscode_crlf_incremental", None, None, id="everything, CRLF"),
    ],
)
def test_every_request_is_answered_and_the_text_is_right(
    name: str, line: int | None, most: int | None
) -> None:
    session = extra_path(f"editors/sessions/{name}.jsonl")
    _, documents, questions = replayed(session)
    (document,) = documents.values()
    lines = document.text.split("\n")
    # The model knows how the line that is typed goes on.
    knows = ("".join(f"{each}\n" for each in lines[:line]), lines[line]) if line else ("never", "!")
    with (
        running_stand_in(continues(*knows, delay=THINKS)) as instance,
        LspClient.start(
            SERVER, env={"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": TOKEN}
        ) as client,
    ):
        answers = replay(session, client)
        assert len(answers) == questions
        for answer in answers:
            assert "result" in answer or answer["error"]["code"] == CANCELLED
        items = [(answer.get("result") or {}).get("items") for answer in answers]
        requests = len(instance.completions)
        shown = sum(1 for each in items if each)
        print(f"{name}: {questions} asked, {shown} with a suggestion, {requests} HTTP requests")
        assert requests <= (questions if most is None else most)
        assert text_known_to(client, instance, document).endswith(
            document.text.replace("\r\n", "\n")
        )
        assert client.stop() == 0
