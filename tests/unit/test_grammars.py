"""Grammars are loaded beside everything else, and nothing needs them."""

import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from lsp_completions import grammars
from lsp_completions.grammars import Grammars
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.languages import language_of
from tests.support.grammars import NEEDED

PYTHON = language_of("python")


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    grammars.load.cache_clear()
    yield
    grammars.load.cache_clear()


def document(language: str, uri: str = "file:///x") -> Document:
    return Document.open(uri, language, 1, "")


@NEEDED
async def test_a_grammar_is_there_soon_after_a_document_was_opened() -> None:
    loading = Grammars()
    loading.begin(document("python"))
    assert loading.of(document("python")) is None
    assert await loading.prepared(document("python")) is not None
    assert loading.of(document("", "file:///a%20b.py")) is loading.of(document("python"))
    assert loading.of(document("go")) is None
    await loading.aclose()


async def test_a_language_without_a_grammar_waits_for_nothing() -> None:
    loading = Grammars()
    assert await loading.prepared(document("markdown")) is None


@pytest.mark.parametrize("missing", ["tree_sitter", "tree_sitter_python"])
def test_without_the_extra_nothing_is_said(
    missing: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    assert grammars.load(PYTHON) is None
    assert caplog.messages == []


@NEEDED
def test_what_cannot_be_loaded_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: str) -> object:
        raise ImportError("no such symbol: tree_sitter_python")

    monkeypatch.setattr("importlib.import_module", broken)
    assert grammars.load(PYTHON) is None
    assert grammars.load(PYTHON) is None
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "python" in record.getMessage()
    assert "lsp-completions[syntax]" in record.getMessage()


def test_starting_imports_no_parser() -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, lsp_completions.server, lsp_completions.service;"
            "print([each for each in sys.modules if each.startswith('tree_sitter')])",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert said.stdout.strip() == "[]"
