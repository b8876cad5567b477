"""What editors send, in the shapes they send it in, and what is no message at all."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_completions.convert import (
    read_change,
    read_client,
    read_close,
    read_completion,
    read_configuration_change,
    read_execute_command,
    read_focus,
    read_inline_completion,
    read_open,
    read_report,
    read_workspace_folders_change,
)
from lsp_completions.errors import InvalidParams
from lsp_completions.pipeline.document import Position, Range, TextChange

URI = "file:///w/a.py"


def place(line: Any, character: Any) -> dict[str, Any]:
    return {"line": line, "character": character}


def query(**more: Any) -> dict[str, Any]:
    return {"textDocument": {"uri": URI}, "position": place(1, 2), **more}


def change(*changes: Any, **document: Any) -> dict[str, Any]:
    return {"textDocument": {"uri": URI, **document}, "contentChanges": list(changes)}


@pytest.mark.parametrize(
    ("document", "language_id", "version"),
    [
        pytest.param({"languageId": "python", "version": 3}, "python", 3, id="as it should be"),
        pytest.param({"languageId": "", "version": 0}, "", 0, id="no language, version 0"),
        pytest.param({}, "", None, id="neither language nor version"),
        pytest.param({"languageId": None, "version": None}, "", None, id="both null"),
        pytest.param({"languageId": "c", "version": 2.0, "x": 1}, "c", 2, id="a float, extra keys"),
    ],
)
def test_open(document: dict[str, Any], language_id: str, version: int | None) -> None:
    opened = read_open({"textDocument": {"uri": URI, "text": "a\r\n", **document}})
    assert (opened.uri, opened.text) == (URI, "a\r\n")
    assert (opened.language_id, opened.version) == (language_id, version)


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        pytest.param(
            {"range": {"start": place(0, 1), "end": place(2, 3)}, "rangeLength": 9, "text": "x"},
            TextChange(Range(Position(0, 1), Position(2, 3)), "x"),
            id="incremental",
        ),
        pytest.param({"text": "x"}, TextChange(None, "x"), id="full"),
        pytest.param({"text": "x", "range": None}, TextChange(None, "x"), id="range null"),
        pytest.param(
            {"range": {"start": place(0.0, 1.0), "end": place(2.0, 3.0)}, "text": "x"},
            TextChange(Range(Position(0, 1), Position(2, 3)), "x"),
            id="floats",
        ),
        pytest.param(
            {"range": [place(0, 1), place(2, 3)], "text": ""},
            TextChange(Range(Position(0, 1), Position(2, 3)), ""),
            id="a pair for a range",
        ),
    ],
)
def test_change(raw: dict[str, Any], read: TextChange) -> None:
    assert read_change(change(raw, raw)).changes == (read, read)


@pytest.mark.parametrize(
    ("document", "version"),
    [
        pytest.param({"version": 7}, 7, id="given"),
        pytest.param({"version": None}, None, id="null"),
        pytest.param({}, None, id="absent"),
        pytest.param({"version": True}, None, id="no number"),
    ],
)
def test_version(document: dict[str, Any], version: int | None) -> None:
    assert read_change(change({"text": ""}, **document)).version == version
    assert read_inline_completion(query(textDocument={"uri": URI, **document})).version == version


def test_no_change_at_all() -> None:
    assert read_change(change(version=2)).changes == ()


def test_close() -> None:
    assert read_close({"textDocument": {"uri": URI}}) == URI


@pytest.mark.parametrize(
    ("context", "kind", "invoked"),
    [
        pytest.param({}, None, False, id="no context"),
        pytest.param({"context": None}, None, False, id="context null"),
        pytest.param({"context": {"triggerKind": 0}}, 0, True, id="invoked, older numbers"),
        pytest.param({"context": {"triggerKind": 1}}, 1, False, id="one of two things"),
        pytest.param({"context": {"triggerKind": 2}}, 2, False, id="automatic"),
        pytest.param({"context": {"triggerKind": 2.0}}, 2, False, id="a float"),
        pytest.param({"context": {"triggerKind": 99}}, 99, False, id="a number of the future"),
        pytest.param({"context": {"triggerKind": "x"}}, None, False, id="no number"),
    ],
)
def test_inline_completion(context: dict[str, Any], kind: int | None, invoked: bool) -> None:
    read = read_inline_completion(query(**context))
    assert (read.uri, read.position) == (URI, Position(1, 2))
    assert (read.trigger_kind, read.invoked, read.selected) == (kind, invoked, None)


@pytest.mark.parametrize(
    "range_",
    [
        pytest.param({"start": place(1, 0), "end": place(1, 2)}, id="a range"),
        pytest.param([place(1, 0), place(1, 2)], id="a pair"),
    ],
)
def test_selected_entry(range_: object) -> None:
    context = {"triggerKind": 1, "selectedCompletionInfo": {"text": "foo", "range": range_}}
    selected = read_inline_completion(query(context=context)).selected
    assert selected is not None
    assert selected.text == "foo"
    assert selected.range == Range(Position(1, 0), Position(1, 2))


@pytest.mark.parametrize(
    "info",
    [
        pytest.param(None, id="null"),
        pytest.param({}, id="empty"),
        pytest.param({"text": "x"}, id="no range"),
        pytest.param({"text": "x", "range": [place(1, 2)]}, id="half a pair"),
        pytest.param({"text": 1, "range": [place(1, 2), place(1, 2)]}, id="text is no text"),
    ],
)
def test_an_unreadable_selection_is_none(info: object) -> None:
    context = {"triggerKind": 2, "selectedCompletionInfo": info}
    assert read_inline_completion(query(context=context)).selected is None


@pytest.mark.parametrize(
    ("context", "invoked"),
    [
        pytest.param({}, False, id="no context"),
        pytest.param({"context": {"triggerKind": 1}}, True, id="invoked"),
        pytest.param(
            {"context": {"triggerKind": 2, "triggerCharacter": "."}}, False, id="character"
        ),
        pytest.param({"context": {"triggerKind": 3}}, False, id="incomplete before"),
        pytest.param({"context": {"triggerCharacter": 1}}, False, id="no character"),
    ],
)
def test_completion(context: dict[str, Any], invoked: bool) -> None:
    assert read_completion(query(**context)).invoked == invoked


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        pytest.param({"arguments": ["a", 1]}, ("a", 1), id="some"),
        pytest.param({"arguments": []}, (), id="none"),
        pytest.param({"arguments": None}, (), id="null"),
        pytest.param({}, (), id="absent"),
        pytest.param({"arguments": {"a": 1}}, (), id="no list"),
    ],
)
def test_execute_command(arguments: dict[str, Any], read: tuple[object, ...]) -> None:
    call = read_execute_command({"command": "c", **arguments})
    assert (call.command, call.arguments) == ("c", read)


@pytest.mark.parametrize(
    ("params", "settings"),
    [
        pytest.param({"settings": {"a": 1}}, {"a": 1}, id="sent along"),
        pytest.param({"settings": None}, None, id="null"),
        pytest.param({}, None, id="absent"),
        pytest.param(None, None, id="no params"),
    ],
)
def test_configuration_change(params: object, settings: object) -> None:
    assert read_configuration_change(params) == settings


def test_workspace_folders_change() -> None:
    event = {"added": [{"uri": "file:///a", "name": "a"}, {"name": "x"}, 3], "removed": None}
    read = read_workspace_folders_change({"event": event})
    assert (read.added, read.removed) == (("file:///a",), ())


READERS: list[Callable[[object], object]] = [
    read_open,
    read_change,
    read_close,
    read_inline_completion,
    read_completion,
    read_execute_command,
    read_workspace_folders_change,
]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "params",
    [None, 1, "x", [], {}, {"textDocument": 1}, {"textDocument": {"uri": 1}}, {"command": 1}],
)
def test_no_message_at_all(reader: Callable[[object], object], params: object) -> None:
    with pytest.raises(InvalidParams, match=r"^[\w.]+ must be an? \w+\.$"):
        reader(params)


@pytest.mark.parametrize(
    ("position", "message"),
    [
        pytest.param(None, "position must be an object.", id="null"),
        pytest.param([1, 2], "position must be an object.", id="a list"),
        pytest.param(place(-1, 0), "position.line must be a whole number, 0 or more.", id="minus"),
        pytest.param(
            place(0, 1.5), "position.character must be a whole number, 0 or more.", id="a half"
        ),
        pytest.param(
            place(0, float("nan")),
            "position.character must be a whole number, 0 or more.",
            id="no number",
        ),
        pytest.param(
            place(True, 0), "position.line must be a whole number, 0 or more.", id="a truth value"
        ),
        pytest.param(
            place("1", 0), "position.line must be a whole number, 0 or more.", id="a string"
        ),
    ],
)
def test_no_position(position: object, message: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        read_completion(query(position=position))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param([1], "contentChanges[0] must be an object.", id="a number"),
        pytest.param([{}], "contentChanges[0].text must be a string.", id="no text"),
        pytest.param(
            [{"text": ""}, {"text": "", "range": 1}],
            "contentChanges[1].range must be an object.",
            id="no range",
        ),
        pytest.param(
            [{"text": "", "range": {"start": place(0, 0)}}],
            "contentChanges[0].range.end must be an object.",
            id="no end",
        ),
    ],
)
def test_no_change(changes: list[Any], message: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        read_change(change(*changes))
    assert str(caught.value) == message


WORDS = """
    textDocument uri version languageId text contentChanges range start end line character
    position context triggerKind selectedCompletionInfo command arguments event added capabilities
    clientInfo name general positionEncodings workspaceFolders completion
"""
NAMES = st.sampled_from(WORDS.split())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=20,
)


COMMAND = {"title": "", "command": "lspCompletions.didAcceptCompletion", "arguments": ["a-1"]}
WHOLE = {"insertText": "x", "range": {"start": place(0, 0), "end": place(0, 0)}}


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        pytest.param({"item": {"command": COMMAND}}, ("a-1", 0), id="stripped to its command"),
        pytest.param({"item": {**WHOLE, "command": COMMAND}}, ("a-1", 0), id="a whole item"),
        pytest.param(
            {"item": {"command": COMMAND}, "acceptedLength": 4}, ("a-1", 4), id="a part of it"
        ),
        pytest.param(
            {"item": {"command": COMMAND}, "acceptedLength": 4.0}, ("a-1", 4), id="as 4.0"
        ),
        pytest.param(
            {"item": {"command": COMMAND}, "acceptedLength": "4"}, ("a-1", 0), id="as a text"
        ),
        pytest.param({"item": WHOLE}, (None, 0), id="no command"),
        pytest.param({"item": {"command": {"arguments": []}}}, (None, 0), id="no id"),
        pytest.param({"item": {"command": {"arguments": [7]}}}, (None, 0), id="a number as id"),
        pytest.param({"item": None}, (None, 0), id="no item"),
        pytest.param({}, (None, 0), id="nothing"),
    ],
)
def test_what_is_told_of_a_suggestion(
    params: dict[str, Any], expected: tuple[str | None, int]
) -> None:
    report = read_report(params)
    assert (report.identity, report.accepted) == expected


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        pytest.param({"textDocument": {"uri": URI}}, URI, id="a document"),
        pytest.param({}, None, id="none"),
        pytest.param(None, None, id="no parameters"),
        pytest.param({"textDocument": {"uri": 3}}, None, id="a number"),
    ],
)
def test_what_the_user_looks_at(params: object, expected: str | None) -> None:
    assert read_focus(params) == expected


@given(params=JSON)
def test_whatever_comes_is_read_or_explained(params: object) -> None:
    read_client(params)
    read_configuration_change(params)
    read_focus(params)
    with contextlib.suppress(InvalidParams):
        read_report(params)
    for reader in READERS:
        with contextlib.suppress(InvalidParams):
            reader(params)


def test_code_stays_out_of_reprs() -> None:
    selection = {"text": "secret", "range": [place(0, 0), place(0, 0)]}
    read = [
        read_open({"textDocument": {"uri": URI, "text": "secret"}}),
        read_change(change({"text": "secret"})),
        read_inline_completion(query(context={"selectedCompletionInfo": selection})),
        read_client({"initializationOptions": {"accessToken": "secret"}}),
    ]
    assert "secret" not in repr(read)
