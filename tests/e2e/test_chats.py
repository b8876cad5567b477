"""Models that chat, behind the stand-in instance: from the real process' request to the item."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import TOKEN, Answer, Rules, StandIn, running_stand_in, words
from tests.support.sourcegraph.pages import NEW, model, models

INLINE = "textDocument/inlineCompletion"
SERVER = [sys.executable, "-m", "lsp_completions"]
NEOVIM: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-8"]},
    "textDocument": {"inlineCompletion": {"dynamicRegistration": False}},
}
ADD = "def add(a, b):\n    return "
AFTER = "\n\nprint(add(1, 2))\n"
AT_RETURN = {"line": 1, "character": 11}
LISTED = "/.api/modelconfig/supported-models.json"


@contextmanager
def running_server(instance: StandIn, **settings: Any) -> Iterator[LspClient]:
    env = {"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": TOKEN}
    with LspClient.start(SERVER, env=env) as client:
        client.initialize(
            NEOVIM, rootUri="file:///w", initializationOptions={"lspCompletions": settings}
        )
        yield client
        assert client.stop() == 0
        assert "Traceback" not in client.stderr


def suggested(client: LspClient, text: str, position: dict[str, int]) -> list[str]:
    """What is inserted where the cursor is."""
    uri = "file:///w/add.py"
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    result = client.result(
        INLINE,
        {"textDocument": {"uri": uri}, "position": position, "context": {"triggerKind": 1}},
    )
    return [item["insertText"] for item in result["items"]]


@pytest.mark.parametrize("version", [1, 2])
def test_a_claude_goes_on_with_an_answer_that_was_begun(version: int) -> None:
    answer = Answer(*words(" a + b\n</missing-code>\n\nThis adds both."), chunk_bytes=7)
    rules = Rules(backend="anthropic")
    with (
        running_stand_in(answer, rules=rules) as instance,
        running_server(
            instance, model="anthropic/claude-3-5-haiku-latest", apiVersion=version
        ) as client,
    ):
        assert suggested(client, ADD + AFTER, AT_RETURN) == ["a + b"]
        (asked,) = instance.completions
        first, last = asked.json["messages"]
        assert first["speaker"] == "human"
        assert "    return <cursor-here/>\n\nprint" in first["text"]
        assert last == {"speaker": "assistant", "text": "<missing-code>return"}
        assert asked.json["stopSequences"] == ["</missing-code>"]
        assert asked.json["temperature"] == 0.2


@pytest.mark.parametrize("version", [1, 2])
def test_the_fence_of_an_openai_model_is_not_inserted(version: int) -> None:
    said = "Here's the completed function:\n\n```python\ndef add(a, b):\n    return a + b\n```\n"
    with (
        running_stand_in(Answer(*words(said)), rules=Rules(backend="any")) as instance,
        running_server(instance, model="openai/gpt-4o-mini", apiVersion=version) as client,
    ):
        assert suggested(client, ADD + AFTER, AT_RETURN) == ["a + b"]
        (asked,) = instance.completions
        assert [message["speaker"] for message in asked.json["messages"]] == ["human"]
        assert "Path: add.py" in asked.prompt


def test_a_model_is_told_in_words_where_the_instance_says_that_it_chats() -> None:
    chosen = model("acme::v1::the-model", capabilities=["chat", "autocomplete"])
    with (
        running_stand_in(
            Answer(*words("<missing-code>a + b</missing-code>")),
            rules=Rules(backend="any"),
            pages={**NEW, LISTED: models(chosen)},
        ) as instance,
        running_server(instance) as client,
    ):
        assert suggested(client, ADD + AFTER, AT_RETURN) == ["a + b"]
        (asked,) = instance.completions
        assert asked.json["model"] == "acme/the-model"
        assert "<cursor-here/>" in asked.prompt


def test_no_secret_is_in_any_turn() -> None:
    key = "AKIA" + "QRSTUVWXYZ234567"
    line = f'key, other = "{key}", '
    with (
        running_stand_in(Answer("None"), rules=Rules(backend="anthropic")) as instance,
        running_server(instance, model="anthropic/claude-3-haiku") as client,
    ):
        position = {"line": 0, "character": len(line)}
        assert suggested(client, line + f"\nsame = '{key}'\n", position) == ["None"]
        (asked,) = instance.completions
        assert key[4:] not in str(asked.json)
        assert asked.prompt.startswith("<missing-code>key, other = ")
