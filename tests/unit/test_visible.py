"""Text from elsewhere does nothing to a terminal, and begins no line of its own in a log."""

import json
from pathlib import Path

import pytest

from lsp_completions.cli.model import show
from lsp_completions.cli.saying import say
from lsp_completions.local_model import files
from lsp_completions.local_model.files import ModelFile
from lsp_completions.visible import in_json, one_line, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\tb\nc é 日 😀", "a\tb\nc é 日 😀", id="text"),
        pytest.param("\x1b[2J\x07\r", "␛[2J␇␍", id="what moves the cursor"),
        pytest.param("\x9b2J\x7f", "\ufffd2J\ufffd", id="what terminals read as an escape too"),
        pytest.param("\u202eevil\u2066", "\ufffdevil\ufffd", id="what turns the text around"),
        pytest.param("\ud800", "\ufffd", id="half a character"),
    ],
)
def test_text_does_nothing_to_the_terminal(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a\tb\nc é 日 😀", id="text"),
        pytest.param("\x1b[2J\x07\r", id="what moves the cursor"),
        pytest.param("\x9b2J\x7f", id="what terminals read as an escape too"),
        pytest.param("\u202eevil\u2066 \u2028", id="what turns the text around"),
        pytest.param("\ud800", id="half a character"),
    ],
)
def test_json_does_nothing_to_it_and_says_the_same(text: str) -> None:
    said = in_json({"text": text})
    assert json.loads(said) == {"text": text}
    assert one_line(said) == said


def test_what_is_said_does_nothing_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say("Error: the server says \x1b]0;mine\x07.")
    assert capsys.readouterr().err == "Error: the server says ␛]0;mine␇.\n"


def test_a_model_s_name_does_nothing_to_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path("/m/a\x1b[2J\nb.gguf")
    model = ModelFile(name=path.stem, path=path, size=1, package=None)
    monkeypatch.setattr(files, "installed", lambda: [model])
    show()
    (line,) = capsys.readouterr().out.splitlines()
    assert line.isprintable()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\tb é 😀", "a\tb é 😀", id="text"),
        pytest.param("a\nb", "a␊b", id="a line break"),
        pytest.param("a\r\nb\rc", "a␍␊b␍c", id="line breaks of other systems"),
        pytest.param("a\vb\fc\x1cd\x85e", "a␋b␌c␜d\ufffde", id="what Python reads as one"),
        pytest.param("a\u2028b\u2029c", "a\ufffdb\ufffdc", id="what Unicode calls one"),
        pytest.param("\x1b[2J\ud800", "␛[2J\ufffd", id="what terminals act on"),
    ],
)
def test_a_line_stays_one(text: str, shown: str) -> None:
    assert one_line(text) == shown
    assert len(one_line(text).splitlines()) == 1
