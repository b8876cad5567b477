"""What the real process shows of other documents, as a stand-in instance sees it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.cursor import cursor
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import TOKEN, Answer, Gate, StandIn, running_stand_in

INLINE = "textDocument/inlineCompletion"
SERVER = [sys.executable, "-m", "lsp_completions"]
NEOVIM: dict[str, Any] = {"textDocument": {"inlineCompletion": {}}}
KEY = "AKIA" + "IOSFODNN7ABCDEFG"  # no real one, and not written as one

PRICES = f'''\
AWS = "{KEY}"


def price_of(article, *, discount=0.0):
    """What an article costs."""
    return article.price * (1 - discount)
'''
SHOP = """\
from prices import price_of
from taxes import tax_on


def total(cart):
    return <cursor>
"""
TAXES = "def tax_on(amount, country):\n    return amount * 0.2\n"


@contextmanager
def editing(folder: Path, **settings: object) -> Iterator[tuple[LspClient, StandIn]]:
    with (
        running_stand_in(Answer("sum(cart)\n")) as instance,
        LspClient.start(
            SERVER, env={"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": TOKEN}
        ) as client,
    ):
        client.initialize(NEOVIM, rootUri=folder.as_uri(), initializationOptions=settings)
        yield client, instance
        assert client.stop() == 0
        assert "Traceback" not in client.stderr


def opened(client: LspClient, file: Path, drawn: str) -> dict[str, Any]:
    text, offset = cursor(drawn) if "<cursor>" in drawn else (drawn, 0)
    document = {"uri": file.as_uri(), "languageId": "python", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    before = text[:offset]
    place = {"line": before.count("\n"), "character": len(before.rpartition("\n")[2])}
    return {"textDocument": {"uri": file.as_uri()}, "position": place}


def prompt_of(
    client: LspClient, instance: StandIn, at: dict[str, Any], *, holding: str = ""
) -> str:
    """The prompt of a request; of the first that holds a text, as files are read meanwhile."""
    for _ in range(100):
        asked = len(instance.completions)
        typed = {"range": {"start": at["position"], "end": at["position"]}, "text": "x"}
        document = {"uri": at["textDocument"]["uri"], "version": None}
        for change in (typed, {**typed, "range": _one_more(at["position"]), "text": "\n    y"}):
            changes = {"textDocument": document, "contentChanges": [change]}
            client.notify("textDocument/didChange", changes)
        at["position"] = {"line": at["position"]["line"] + 1, "character": 5}
        client.result(INLINE, {**at, "context": {"triggerKind": 2}})
        instance.wait_until(partial(_was_asked_after, instance, asked))
        prompt = instance.completions[-1].prompt
        if holding in prompt:
            return prompt
    raise AssertionError(f"{holding} is in no prompt: {prompt}")


def _was_asked_after(instance: StandIn, asked: int) -> bool:
    return len(instance.completions) > asked


def _one_more(place: dict[str, int]) -> dict[str, dict[str, int]]:
    start = {**place, "character": place["character"]}
    return {"start": start, "end": {**place, "character": place["character"] + 1}}


def test_what_is_defined_elsewhere_is_shown_until_its_document_is_closed(tmp_path: Path) -> None:
    (tmp_path / "taxes.py").write_text(TAXES)
    with editing(tmp_path) as (client, instance):
        prices = opened(client, tmp_path / "prices.py", PRICES)
        at = opened(client, tmp_path / "shop.py", SHOP)
        prompt = prompt_of(client, instance, at, holding="tax_on(amount, country)")
        assert "def price_of(article, *, discount=0.0):" in prompt
        assert KEY not in prompt
        client.notify("textDocument/didClose", {"textDocument": prices["textDocument"]})
        assert "price_of(article" not in prompt_of(client, instance, at)


def test_what_may_not_be_shown_is_not(tmp_path: Path) -> None:
    (tmp_path / "taxes.py").write_text(TAXES)
    with editing(tmp_path, exclude=["prices.py"]) as (client, instance):
        opened(client, tmp_path / "prices.py", PRICES)
        at = opened(client, tmp_path / "shop.py", SHOP)
        prompt_of(client, instance, at, holding="tax_on(amount, country)")
        client.notify(
            "workspace/didChangeConfiguration",
            {"settings": {"lspCompletions": {"exclude": ["*.py", "!shop.py"]}}},
        )
        assert "country" not in prompt_of(client, instance, at)
        assert not any("article" in each.prompt for each in instance.completions)


def test_a_stream_ends_when_what_it_was_shown_is_kept_back(tmp_path: Path) -> None:
    """Whoever waits is answered by another, which was not shown it."""
    with editing(tmp_path) as (client, instance):
        opened(client, tmp_path / "prices.py", PRICES)
        at = opened(client, tmp_path / "shop.py", SHOP)
        prompt_of(client, instance, at, holding="article, *, discount")
        asked = len(instance.completions)
        instance.script = Answer(Gate(), "1")
        end = {"start": at["position"], "end": at["position"]}
        document = {"uri": at["textDocument"]["uri"], "version": None}
        changes = {"textDocument": document, "contentChanges": [{"range": end, "text": "\n    z"}]}
        client.notify("textDocument/didChange", changes)
        at["position"] = {"line": at["position"]["line"] + 1, "character": 5}
        number = client.send(INLINE, {**at, "context": {"triggerKind": 2}})
        instance.wait_until(lambda: any(each.json for each in instance.completions[asked:]))
        assert "article" in instance.completions[asked].prompt
        instance.script = Answer("2")
        client.notify(
            "workspace/didChangeConfiguration",
            {"settings": {"lspCompletions": {"exclude": ["prices.py"]}}},
        )
        (item,) = client.take(number)["result"]["items"]
        assert item["insertText"] == "2"
        assert "article" not in instance.completions[asked + 1].prompt
        instance.wait_until(lambda: not instance.streaming)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("own", ["\n", "\r\n"], ids=["in LF", "in CRLF"])
def test_line_ends_of_a_file_are_lines_whatever_they_are(
    tmp_path: Path, ends: str, own: str
) -> None:
    taxes = "def tax_on(amount, country):\n    # all\n    rate = 0.2\n    return amount * rate\n"
    (tmp_path / "taxes.py").write_bytes(taxes.replace("\n", ends).encode())
    with editing(tmp_path) as (client, instance):
        at = opened(client, tmp_path / "shop.py", SHOP.replace("\n", own))
        assert taxes in prompt_of(client, instance, at, holding="tax_on(amount, country)")
