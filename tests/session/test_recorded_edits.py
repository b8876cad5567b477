"""Recorded sessions of real editors: in the end our text is the file the editor saved."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp_completions.convert import (
    Client,
    read_change,
    read_client,
    read_close,
    read_completion,
    read_inline_completion,
    read_open,
)
from lsp_completions.pipeline.document import Document, apply_changes
from tests.support.extra import extra_path

# Both Emacs clients and Kate know a CRLF file as one with LF, and write the CRs when they save.
EDITORS_WITHOUT_CR = {"Eglot", "emacs", "kate", ""}


def messages_of(session: Path) -> Iterator[dict[str, Any]]:
    """What the editor sent."""
    return (message for _, message in timed_messages_of(session))


def timed_messages_of(session: Path) -> Iterator[tuple[float, dict[str, Any]]]:
    """What the editor sent, and when, in seconds."""
    for line in session.read_text(encoding="utf-8").split("\n"):
        record = json.loads(line) if line else {}
        if record.get("dir") == "c2s" and isinstance(record.get("msg"), dict):
            yield record.get("t", 0), record["msg"]


def replayed(session: Path) -> tuple[Client, dict[str, Document], int]:
    """The editor, its documents as it left them, closed ones included, and how often it asked."""
    client = Client()
    documents: dict[str, Document] = {}
    questions = 0
    for message in messages_of(session):
        params = message.get("params")
        match message.get("method"):
            case "initialize":
                client = read_client(params)
            case "textDocument/didOpen":
                opened = read_open(params)
                documents[opened.uri] = opened
            case "textDocument/didChange":
                change = read_change(params)
                documents[change.uri] = apply_changes(
                    documents[change.uri], change.changes, client.encoding, change.version
                )
                assert documents[change.uri].version == change.version
            case "textDocument/didClose":
                assert read_close(params) in documents
            case "textDocument/inlineCompletion" | "textDocument/completion" as method:
                is_inline = method == "textDocument/inlineCompletion"
                query = read_inline_completion(params) if is_inline else read_completion(params)
                document = documents[query.uri]
                offset = document.offset_of(query.position, client.encoding)
                assert document.position_of(offset, client.encoding) == query.position
                questions += 1
    return client, documents, questions


def sessions(pattern: str) -> list[Path]:
    return sorted(extra_path("editors/sessions").glob(pattern))


def test_every_torture_session_ends_with_the_bytes_saved() -> None:
    found = sessions("torture_*.jsonl")
    assert found
    for session in found:
        saved = session.with_suffix(".txt").read_bytes()
        client, documents, _ = replayed(session)
        (document,) = documents.values()
        text = document.text
        if client.name in EDITORS_WITHOUT_CR and b"\r\n" in saved:
            assert "\r" not in text
            text = text.replace("\n", "\r\n")
        assert text.encode() == saved, session.name


def test_every_other_session_is_followed() -> None:
    found = [path for path in sessions("*.jsonl") if not path.name.startswith("torture_")]
    assert found
    for session in found:
        _, documents, questions = replayed(session)
        assert documents, session.name
        assert questions, session.name


@pytest.mark.parametrize("size", [1, 7])
def test_a_written_session_is_followed(tmp_path: Path, size: int) -> None:
    """The same replay on a session written here, so that it is tried everywhere."""
    uri = "file:///w/a.py"
    text = "a\f\r\n😀b\u2028\n" * size
    change = {
        "range": {"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 3}},
        "text": "X\r",
    }
    sent = [
        {"method": "initialize", "params": {"capabilities": {}}},
        {
            "method": "textDocument/didOpen",
            "params": {"textDocument": {"uri": uri, "text": text, "version": 0}},
        },
        {
            "method": "textDocument/didChange",
            "params": {
                "textDocument": {"uri": uri, "version": 5},
                "contentChanges": [change, change],
            },
        },
        {
            "method": "textDocument/completion",
            "params": {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 0}},
        },
    ]
    session = tmp_path / "session.jsonl"
    session.write_text("\n".join(json.dumps({"dir": "c2s", "msg": msg}) for msg in sent))
    _, documents, questions = replayed(session)
    assert documents[uri].text == text.replace("😀b", "😀X\r\r", 1)
    assert (documents[uri].version, questions) == (5, 1)
