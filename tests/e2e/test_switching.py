"""Whether suggestions come: by setting, and switched by command while the server runs."""

from typing import Any

import pytest

from tests.e2e.test_completions import HELIX, INLINE, MENU, NEOVIM, Editor, running_editor, texts
from tests.support.sourcegraph import Gate

EXECUTE = "workspace/executeCommand"
BY_ITSELF, BY_HAND = {"triggerKind": 2}, {"triggerKind": 1}
SILENT: dict[str, Any] = {"items": []}


def switch(editor: Editor, name: str, *arguments: object, suffix: str = "") -> Any:
    command = {"command": f"lspCompletions.{name}{suffix}", "arguments": list(arguments)}
    return editor.client.result(EXECUTE, command)


def state(enabled: bool, **changes: Any) -> dict[str, Any]:
    return {"enabled": enabled, "everything": True, "workspace": True, "languages": {}, **changes}


def told(editor: Editor) -> list[str]:
    editor.client.settle()
    waiting = editor.client.waiting()
    shown = [each for each in waiting if each.get("method") == "window/showMessage"]
    return [each["params"]["message"] for each in shown]


def suggested(editor: Editor, at: dict[str, Any], context: dict[str, Any] | None = None) -> bool:
    answer = editor.client.result(INLINE, {**at, "context": context or BY_ITSELF})
    assert answer == SILENT or texts(answer) == ["1"]
    return bool(answer["items"])


def test_by_hand_only() -> None:
    for editor in running_editor(NEOVIM, initializationOptions={"trigger": "manual"}):
        editor.says("1")
        at = editor.open("x = <cursor>\n")
        assert not suggested(editor, at)
        assert editor.asked == 0
        # What the editor sends on its own at a key is no request by hand, whatever it calls it.
        typed = editor.type(at, "1")
        assert not suggested(editor, typed, BY_HAND)
        assert editor.asked == 0
        at = editor.open("y = <cursor>\n")
        assert suggested(editor, at, BY_HAND)
        # Nobody asks ahead for somebody who wants to ask himself.
        (item,) = editor.client.result(INLINE, {**at, "context": BY_HAND})["items"][:1]
        asked = editor.asked
        editor.client.result(EXECUTE, item["command"])
        editor.client.settle()
        assert editor.asked == asked
        assert told(editor) == []


def test_by_hand_only_in_a_menu() -> None:
    for editor in running_editor(HELIX, initializationOptions={"trigger": "manual"}):
        editor.says("1")
        at = editor.open("x.<cursor>\n")
        opened = {**at, "context": {"triggerKind": 2, "triggerCharacter": "."}}
        assert editor.client.result(MENU, opened)["items"] == []
        assert editor.asked == 0
        assert len(editor.client.result(MENU, {**at, "context": BY_HAND})["items"]) == 1


def test_languages_by_setting() -> None:
    languages = {"shellscript": False, "gitcommit": True}
    for editor in running_editor(NEOVIM, initializationOptions={"languages": languages}):
        editor.says("1")
        for name, language, expected in (
            ("a.py", "python", True),
            ("a.bash", "bash", False),
            ("COMMIT_EDITMSG", "git-commit", True),
            ("notes.txt", "text", False),
            ("unknown", "", True),
        ):
            at = editor.open("x = <cursor>\n", name=name, language=language)
            assert suggested(editor, at) == expected
        assert editor.asked == 3
        # By hand it stays off, and tells so, once.
        off = editor.open("x = <cursor>\n", name="b.bash", language="bash")
        for _ in range(2):
            assert not suggested(editor, off, BY_HAND)
        assert editor.asked == 3
        (message,) = told(editor)
        assert "b.bash" in message
        assert "languages" in message


def test_everything_the_workspace_and_a_language_are_switched_while_it_runs() -> None:
    for editor in running_editor(NEOVIM):
        editor.says("1")
        here = editor.open("x = <cursor>\n")
        lua = editor.open("x = <cursor>\n", language="lua", name="a.lua")
        elsewhere = editor.open("x = <cursor>\n", uri="file:///elsewhere/a.py")

        def on(*documents: dict[str, Any], editor: Editor = editor) -> list[bool]:
            return [suggested(editor, each) for each in documents]

        assert on(here, lua, elsewhere) == [True, True, True]
        assert switch(editor, "toggle") == state(False, everything=False)
        assert on(here, lua, elsewhere) == [False, False, False]
        assert switch(editor, "toggle", None) == state(True)
        assert switch(editor, "disable", {"workspace": True}) == state(False, workspace=False)
        assert on(here, lua, elsewhere) == [False, False, True]
        assert switch(editor, "enable", {"workspace": True}) == state(True)
        assert switch(editor, "disable", {"language": "py"}) == state(
            False, languages={"py": False}
        )
        assert on(here, lua, elsewhere) == [False, True, False]
        assert switch(editor, "toggle", {"language": "python"}) == state(
            True, languages={"python": True}
        )
        assert on(here, lua, elsewhere) == [True, True, True]
        assert told(editor) == []


def test_switched_off_in_the_middle_of_an_answer_its_stream_is_closed() -> None:
    for editor in running_editor(NEOVIM):
        editor.says(Gate(), "1")
        running = editor.client.send(INLINE, {**editor.open("x = <cursor>\n")})
        editor.instance.wait_until(lambda editor=editor: editor.asked == 1)  # type: ignore[misc]
        assert not switch(editor, "disable", {"language": "python"})["enabled"]
        assert editor.client.take(running)["result"] == SILENT
        editor.instance.wait_until(lambda editor=editor: editor.instance.hang_ups)  # type: ignore[misc]


def test_switched_off_by_a_setting_in_the_middle_of_an_answer_as_well() -> None:
    for editor in running_editor(NEOVIM):
        editor.says(Gate(), "1")
        running = editor.client.send(INLINE, {**editor.open("x = <cursor>\n")})
        editor.instance.wait_until(lambda editor=editor: editor.asked == 1)  # type: ignore[misc]
        settings = {"lspCompletions": {"languages": {"*": False}}}
        editor.client.notify("workspace/didChangeConfiguration", {"settings": settings})
        assert editor.client.take(running)["result"] == SILENT
        editor.instance.wait_until(lambda editor=editor: editor.instance.hang_ups)  # type: ignore[misc]


@pytest.mark.parametrize(
    "argument",
    [
        pytest.param({"language": ""}, id="no language"),
        pytest.param({"language": 3}, id="a number"),
        pytest.param({"workspace": False}, id="no workspace"),
        pytest.param("python", id="a text"),
        pytest.param({"languages": ["python"]}, id="an unknown name"),
    ],
)
def test_what_cannot_be_switched_is_refused(argument: object) -> None:
    for editor in running_editor(NEOVIM, initializationOptions={"commandSuffix": "-2"}):
        command = {"command": "lspCompletions.toggle-2", "arguments": [argument]}
        error = editor.client.request(EXECUTE, command)["error"]
        assert error["code"] == -32602
        assert "language" in error["message"]
        assert switch(editor, "toggle", {}, suffix="-2") == state(False, everything=False)
