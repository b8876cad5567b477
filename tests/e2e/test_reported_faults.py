"""What users reported of systems like this one, tried on the real process.

The rows are kept outside the project; what is asserted holds for whatever such a row says.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.test_completions import HELIX, INLINE, MENU, Editor, running_editor
from tests.support.extra import extra_cases

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
    yield from running_editor(request.param)


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
