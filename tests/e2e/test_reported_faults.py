"""What users reported of systems like this one, tried on the real process.

The rows are kept outside the project; what is asserted holds for whatever such a row says.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.test_completions import HELIX, INLINE, MENU, Editor, running_editor
from tests.support.extra import extra_cases
from tests.support.sourcegraph import Gate

AS_IS: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-8"]},
    "textDocument": {
        "completion": {
            "completionItem": {
                "snippetSupport": True,
                "insertTextModeSupport": {"valueSet": [1, 2]},
            }
        }
    },
}


@pytest.fixture(scope="module", params=[HELIX, AS_IS], ids=["Helix", "keeps text as it is"])
def editor(request: pytest.FixtureRequest) -> Iterator[Editor]:
    for editor in running_editor(request.param):
        # A menu waits for less than a start may take.
        editor.client.result(INLINE, editor.open("x = <cursor>\n"))
        yield editor


def rows(kind: str) -> list[dict[str, Any]]:
    found = [
        row
        for row in extra_cases("cases/reported_faults.jsonl")
        if row["kind"].startswith(kind) and row["check"]["level"] == "lsp"
    ]
    assert found
    return found


def test_items_of_menus_and_ghost_text(editor: Editor) -> None:
    for row in rows("04"):
        check = row["check"]
        drawn = check["doc"].replace("█", "<cursor>")
        editor.says(check["mock"])
        at = editor.open(drawn, language=language_of(drawn))
        method = INLINE if "inlineCompletion" in check["lsp"] else MENU
        items = editor.client.result(method, at)["items"]
        assert len(items) == 1, row["id"]
        before, after = drawn.split("<cursor>")
        is_well_formed(items[0], before, at, editor)
        assert text_after(items[0], before, after, at) == completed(before, check["mock"], after), (
            row["id"]
        )


def test_what_is_typed_on_is_answered_at_its_place(editor: Editor) -> None:
    for row in rows("10"):
        check = row["check"]
        drawn = check["doc"].replace("█", "<cursor>")
        said = check["mock"]
        editor.says(said)
        at = editor.open(drawn, language=language_of(drawn))
        before = editor.asked
        assert inserted(editor, at) == said, row["id"]
        for count, key in enumerate(said[:-1], start=1):
            at = editor.type(at, key)
            assert inserted(editor, at) == said[count:], row["id"]
        assert editor.asked == before + 1
        editor.client.notify("textDocument/didClose", {"textDocument": at["textDocument"]})
        assert editor.client.result(INLINE, at)["items"] == []


def test_what_is_closed_while_it_is_asked_about(editor: Editor) -> None:
    for row in rows("10"):
        check = row["check"]
        drawn = check["doc"].replace("█", "<cursor>")
        for method in (INLINE, MENU):
            closes_while_asked(editor, method, drawn, check["mock"], then=closes)


def test_indentation_deleted_under_a_suggestion(editor: Editor) -> None:
    for row in rows("10"):
        before = row["check"]["doc"].partition("█")[0]
        if width := len(before.rpartition("\n")[2]) if before.endswith("  ") else 0:
            drawn = row["check"]["doc"].replace("█", "<cursor>")
            for left in (0, width // 2):
                is_asked_anew(editor, INLINE, drawn, row["check"]["mock"], left=left)


def test_a_second_place_has_its_own_range(editor: Editor) -> None:
    for row in rows("04"):
        check = row["check"]
        editor.says(check["mock"])
        drawn = check["doc"].replace("█", "<cursor>")
        at = editor.open(drawn, language=language_of(drawn))
        for method in (INLINE, MENU):
            for _ in range(2):
                below = moved(at, line=at["position"]["line"] + 1, character=0)
                for place in (at, below) if "\n" in drawn.partition("<cursor>")[2] else (at,):
                    for item in editor.client.result(method, place)["items"]:
                        is_at(item, place)


def closes(editor: Editor, at: dict[str, Any]) -> None:
    editor.client.notify("textDocument/didClose", {"textDocument": at["textDocument"]})


def types_and_closes(editor: Editor, at: dict[str, Any]) -> None:
    editor.type(at, "y")
    closes(editor, at)


def asks_elsewhere_and_closes(editor: Editor, at: dict[str, Any]) -> None:
    editor.client.send(INLINE, editor.open("z = <cursor>\n"))
    closes(editor, at)


def closes_and_opens_again(editor: Editor, at: dict[str, Any]) -> None:
    closes(editor, at)
    editor.open("z = <cursor>\n", uri=at["textDocument"]["uri"])


def asks_twice_and_closes(editor: Editor, at: dict[str, Any]) -> None:
    editor.client.send(INLINE, at)
    editor.client.send(MENU, at)
    closes(editor, at)


@pytest.mark.parametrize("method", [INLINE, MENU])
@pytest.mark.parametrize(
    "then",
    [
        pytest.param(closes, id="closed"),
        pytest.param(types_and_closes, id="typed on and closed"),
        pytest.param(asks_elsewhere_and_closes, id="another asked for, and closed"),
        pytest.param(asks_twice_and_closes, id="asked again, and closed"),
        pytest.param(closes_and_opens_again, id="closed and opened again"),
    ],
)
def test_nothing_comes_for_a_document_that_was_closed(
    editor: Editor, method: str, then: Callable[[Editor, dict[str, Any]], None]
) -> None:
    closes_while_asked(editor, method, "x = <cursor>", "1", then=then)


def closes_while_asked(
    editor: Editor,
    method: str,
    drawn: str,
    said: str,
    *,
    then: Callable[[Editor, dict[str, Any]], None],
) -> None:
    gate = Gate()
    editor.says(gate, said)
    at = editor.open(drawn, language=language_of(drawn))
    before = editor.asked
    number = editor.client.send(method, at)
    editor.instance.wait_until(lambda: editor.asked > before)
    then(editor, at)
    # The answer does not wait for the model, which still says nothing.
    answer = editor.client.take(number)
    assert not (answer["result"] or {}).get("items"), drawn
    gate.open()
    if then is not closes_and_opens_again:
        assert editor.client.result(method, at)["items"] == []


@pytest.mark.parametrize("method", [INLINE, MENU])
@pytest.mark.parametrize("left", [0, 2, 4])
@pytest.mark.parametrize("is_open", [False, True], ids=["in memory", "asked for"])
def test_a_suggestion_does_not_outlive_its_indentation(
    editor: Editor, method: str, left: int, is_open: bool
) -> None:
    is_asked_anew(editor, method, "if x:\n        <cursor>\n", "y()", left=left, is_open=is_open)


def is_asked_anew(
    editor: Editor, method: str, drawn: str, said: str, *, left: int, is_open: bool = False
) -> None:
    """Delete the indentation of the cursor's line but for some, and ask there."""
    gate = Gate()
    editor.says(gate, said)
    at = editor.open(drawn, language=language_of(drawn))
    before = editor.asked
    number = editor.client.send(method, at)
    if is_open:
        editor.instance.wait_until(lambda: editor.asked > before)
    else:
        gate.open()
        assert editor.client.take(number)["result"]["items"]
    editor.says("other()")
    place = at["position"]
    start = {**place, "character": left}
    editor.client.notify(
        "textDocument/didChange",
        {
            "textDocument": {**at["textDocument"], "version": 2},
            "contentChanges": [{"range": {"start": start, "end": place}, "text": ""}],
        },
    )
    there = moved(at, character=left)
    (item,) = editor.client.result(method, there)["items"]
    is_at(item, there)
    assert item_text(item).strip() == "other()"
    gate.open()
    if is_open:
        assert not (editor.client.take(number)["result"] or {}).get("items")
    # And back again.
    editor.client.notify(
        "textDocument/didChange",
        {
            "textDocument": {**at["textDocument"], "version": 3},
            "contentChanges": [
                {
                    "range": {"start": start, "end": start},
                    "text": " " * (place["character"] - left),
                }
            ],
        },
    )
    for item in editor.client.result(method, at)["items"]:
        is_at(item, at)


@pytest.mark.parametrize("method", [INLINE, MENU])
def test_ranges_follow_the_place_asked_about(editor: Editor, method: str) -> None:
    editor.says("x")
    at = editor.open("a<cursor>\nb\n")
    for line in (0, 1, 0, 1):
        place = moved(at, line=line, character=1)
        (item,) = editor.client.result(method, place)["items"]
        is_at(item, place)


def moved(at: dict[str, Any], **place: int) -> dict[str, Any]:
    return {**at, "position": {**at["position"], **place}}


def item_text(item: dict[str, Any]) -> str:
    return str((item.get("textEdit") or {"newText": item.get("insertText")})["newText"])


def is_at(item: dict[str, Any], at: dict[str, Any]) -> None:
    place = at["position"]
    where = (item.get("textEdit") or item)["range"]
    assert where["start"]["line"] == where["end"]["line"] == place["line"]
    assert where["start"]["character"] <= place["character"] <= where["end"]["character"]


def language_of(drawn: str) -> str:
    return "python" if re.search(r"def |#|if x:", drawn) else "typescript"


def inserted(editor: Editor, at: dict[str, Any]) -> str:
    (item,) = editor.client.result(INLINE, at)["items"]
    assert item["range"]["start"] == item["range"]["end"] == at["position"]
    text: str = item["insertText"]
    return text


def is_well_formed(item: dict[str, Any], before: str, at: dict[str, Any], editor: Editor) -> None:
    place = at["position"]
    edit = item.get("textEdit") or item
    start, end = edit["range"]["start"], edit["range"]["end"]
    assert start["line"] == end["line"] == place["line"]
    assert start["character"] <= place["character"] <= end["character"]
    if "textEdit" not in item:
        assert start == place
        return
    typed = before.rpartition("\n")[2].encode()[start["character"] :].decode()
    assert item.get("filterText", item["label"]).startswith(typed)
    assert item["label"].strip() == item["label"] != ""
    assert "\n" not in item["label"]
    assert not item.get("commitCharacters")
    if "insertTextMode" in item:
        assert item["insertTextFormat"] == 1


def text_after(item: dict[str, Any], before: str, after: str, at: dict[str, Any]) -> str:
    """The document once an editor has taken the item (these have one-byte letters only)."""
    edit = item.get("textEdit") or {"range": item["range"], "newText": item["insertText"]}
    text, new = before + after, str(edit["newText"])
    line = before.rfind("\n") + 1
    if item.get("insertTextFormat") == 2:
        new = re.sub(r"\\([\\$}])", r"\1", new)
        indent = re.match(r"[ \t]*", text[line:])
        assert indent is not None
        new = new.replace("\n", "\n" + indent[0])
    start, end = (line + edit["range"][side]["character"] for side in ("start", "end"))
    return text[:start] + new + text[end:]


def completed(before: str, said: str, after: str) -> str:
    """What stands there in the end; what the model says of the rest of the line stands once."""
    rest = after.partition("\n")[0]
    overlap = next((n for n in range(len(rest), 0, -1) if said.endswith(rest[:n])), 0)
    return before + said + after[overlap:]
