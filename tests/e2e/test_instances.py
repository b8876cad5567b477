"""The real process beside instances that say different things about themselves."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import (
    TOKEN,
    Answer,
    Exchange,
    Gate,
    Reply,
    Rules,
    StandIn,
    running_stand_in,
)
from tests.support.sourcegraph.pages import (
    CLIENT_CONFIG,
    EVERYTHING,
    MODELS,
    NEW,
    OLD,
    config,
)

INLINE = "textDocument/inlineCompletion"
MENU = "textDocument/completion"
SERVER = [sys.executable, "-m", "lsp_completions"]
CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-8"]},
    "textDocument": {"inlineCompletion": {}, "completion": {"completionItem": {}}},
}
numbers = count(1)


@contextmanager
def editing(
    pages: Mapping[str, Reply],
    *said: Any,
    rules: Rules | None = None,
    capabilities: dict[str, Any] = CAPABILITIES,
    heard: int | None = None,
    **settings: int | str,
) -> Iterator[tuple[LspClient, StandIn]]:
    """An editor and an instance, which has said all about itself: has answered `heard` questions.

    How long a machine takes for that is nothing to test.
    """
    if heard is None:
        heard = 3 if MODELS in pages else 5
    answer = Answer(*(said or ("a + b\n",)))
    with (
        running_stand_in(answer, pages=pages, rules=rules) as instance,
        LspClient.start(
            SERVER, env={"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": TOKEN}
        ) as client,
    ):
        client.initialize(capabilities, rootUri="file:///w", initializationOptions=settings)
        instance.wait_until(
            lambda: len([each for each in questions(instance) if each.over]) >= heard
        )
        client.settle()
        yield client, instance
        assert client.stop() == 0
        for unwanted in (TOKEN, "Traceback", "never awaited", "was destroyed"):
            assert unwanted not in client.all_stderr()


def questions(instance: StandIn) -> list[Exchange]:
    """What the instance was asked about itself."""
    return [each for each in instance.requests if named(each) in EVERYTHING]


def named(asked: Exchange) -> str:
    return asked.path + "".join(f"?{name}" for name in asked.query)


def suggested(client: LspClient) -> list[str]:
    return [item["insertText"] for item in client.result(INLINE, opened(client))["items"]]


def menu(client: LspClient) -> Any:
    return client.result(MENU, {**opened(client), "context": {"triggerKind": 1}})


def opened(client: LspClient) -> dict[str, Any]:
    """The cursor's place in a document that nobody has seen yet, so that nothing is remembered."""
    uri = f"file:///w/{next(numbers)}.py"
    document = {"uri": uri, "languageId": "python", "version": 1, "text": "x = \n"}
    client.notify("textDocument/didOpen", {"textDocument": document})
    return {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 4}}


@pytest.mark.parametrize(
    ("pages", "version", "asked"),
    [
        pytest.param(NEW, "2", "fireworks/starcoder", id="a new one"),
        pytest.param(OLD, "1", None, id="an old one"),
        pytest.param({}, "1", None, id="one that says nothing"),
    ],
)
def test_the_first_completion_is_asked_for_as_it_wants(
    pages: Mapping[str, Reply], version: str, asked: str | None
) -> None:
    with editing(pages) as (client, instance):
        assert suggested(client) == ["a + b"]
        assert suggested(client) == ["a + b"]
        for completion in instance.completions:
            assert completion.query["api-version"] == version
            assert completion.json.get("model") == asked
        # Everything was asked once, and the token went along.
        paths = [each.path for each in questions(instance)]
        assert paths.count(CLIENT_CONFIG) == paths.count(MODELS) == 1
        assert not client.waiting()


def test_it_is_asked_before_the_first_completion() -> None:
    with editing(NEW) as (_, instance):
        assert len(questions(instance)) == 3
        assert not instance.completions


@pytest.mark.parametrize("ask", [suggested, menu])
def test_one_that_hangs_delays_the_first_completion_only(ask: Any) -> None:
    late = {path: replace(page, delay=3600) for path, page in NEW.items()}
    without_ghost_text = {**CAPABILITIES, "textDocument": {"completion": {}}}
    patient: dict[str, Any] = {"menuDeadline": 30, "totalTimeout": 30, "firstEventTimeout": 30}
    with editing(late, capabilities=without_ghost_text, heard=0, **patient) as (client, instance):
        assert ask(client)
        assert ask(client)
        first, second = instance.completions
        assert first.query["api-version"] == second.query["api-version"] == "1"
        assert first.json.get("model") is None
        assert not any(each.over for each in questions(instance))


def test_switched_off_is_told_once_and_asks_nothing() -> None:
    off = {**NEW, CLIENT_CONFIG: config(autoCompleteEnabled=False)}
    with editing(off) as (client, instance):
        for _ in range(3):
            assert suggested(client) == []
        assert "switched code completion off" in client.expect("window/showMessage")["message"]
        client.settle()
        assert not client.waiting()
        assert not instance.completions


def test_a_model_it_does_not_have_is_told_once() -> None:
    with editing(NEW, model="fireworks/codegemma") as (client, instance):
        for _ in range(3):
            assert suggested(client) == ["a + b"]
        said = client.expect("window/showMessage")["message"]
        assert "codegemma" in said
        assert "fireworks/starcoder" in said
        client.settle()
        assert not client.waiting()
        assert {each.json["model"] for each in instance.completions} == {"fireworks/starcoder"}


def test_a_lower_version_after_all() -> None:
    with editing(NEW, rules=Rules(versions=[1])) as (client, instance):
        for _ in range(2):
            assert suggested(client) == ["a + b"]
        assert [each.query["api-version"] for each in instance.completions] == ["2", "1", "1"]


def test_nothing_is_shown_early_where_its_origin_is_checked() -> None:
    enforced, gate = {**NEW, CLIENT_CONFIG: config(attribution="enforced")}, Gate()
    with editing(enforced, "a + b\n", "y\n", gate) as (client, instance):
        asked = client.send(INLINE, opened(client))
        instance.wait_until(lambda: bool(instance.completions and instance.completions[0].sent_at))
        client.settle()
        assert not client.waiting()
        gate.open()
        (item,) = client.take(asked)["result"]["items"]
        assert item["insertText"] == "a + b"
        instance.script = Answer("a + b\n", "y\n", attribution_error="unknown")
        for _ in range(3):
            assert suggested(client) == []
        client.settle()
        assert not client.waiting()


def test_the_menu_names_the_model() -> None:
    without_ghost_text = {**CAPABILITIES, "textDocument": {"completion": {}}}
    with editing(NEW, capabilities=without_ghost_text) as (client, _):
        (item,) = menu(client)["items"]
        assert item["detail"] == "fireworks/starcoder"


def test_it_ends_while_an_instance_is_being_asked() -> None:
    late = {path: replace(page, delay=3600) for path, page in NEW.items()}
    with editing(late, heard=0) as (client, instance):
        instance.wait_until(lambda: len(questions(instance)) == 3)
        client.send(INLINE, opened(client))
