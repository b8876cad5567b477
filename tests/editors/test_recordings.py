"""Sessions of real editors, replayed against the real process: it answers as it did then.

What an editor said is said again, in the same order; where it had an answer before it went on, it
has one here, and the model says what it said. An answer is the same if it offers the same edits in
the same shape. `python -m tests.editors.record` records anew.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.editors.scenarios import LEFT_OUT, SCENARIOS, SETTINGS, Case, Editor
from tests.editors.sessions import FOLDER, SUFFIX, Entry, Message, read, without_ports
from tests.support.at_work import continues
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import TOKEN, Answer, Gate, StandIn, running_stand_in

SERVER = [sys.executable, "-P", "-m", "lsp_completions"]
ASKING = ("textDocument/completion", "textDocument/inlineCompletion")
TOLD = "window/showMessage"
FILES = {
    Editor.NEOVIM_0_12: "neovim-0.12",
    Editor.NEOVIM_0_11: "neovim-0.11",
    Editor.VS_CODE: "code-server",
    Editor.HELIX: "helix",
    Editor.LSP_MODE: "lsp-mode",
    Editor.EGLOT: "eglot",
}
RECORDINGS = sorted(FOLDER.glob(f"*{SUFFIX}"))


@dataclass
class Replay:
    """One recording, and the server to which it is said again."""

    client: LspClient
    instance: StandIn
    uris: tuple[str, str]
    """The folder of the recording, and the one here."""
    gate: Gate | None = None
    case: Case | None = None
    compared: int = 0
    offered: int = 0
    """Of these, answers with a suggestion."""
    _ids: dict[str, str] = field(default_factory=dict)
    """What suggestions were called there, and are here: editors name them in what they report."""
    _asked: dict[object, Message] = field(default_factory=dict)
    _since: dict[object, bool] = field(default_factory=dict)

    def play(self, entries: Sequence[Entry]) -> None:
        asked = {each.message["id"]: each for each in entries if _is_request(each, False)}
        for each in entries:
            if each.from_editor and each.method is None:
                # What the editor answered, by what it was asked.
                question = asked[each.message["id"]].method
                assert question is not None
                self.client.answers[question] = self._here(each.message.get("result"))
        for each in entries:
            if each.from_editor and each.method is not None:
                self._say(each)
            elif not each.from_editor and each.method is None:
                self._hear(each.message)
            elif not each.from_editor and each.method == TOLD:
                told = self.client.expect(TOLD)
                told["message"] = without_ports(told["message"])
                assert told == each.message["params"], self.case
        self._case_is_over()

    def _say(self, entry: Entry) -> None:
        if case := entry.case:
            self._case_is_over()
            self.case = case
            self.gate = Gate() if case.scenario.slow else None
            self.instance.script = continues(*case.scenario.knows, gate=self.gate)
        method, params = entry.method, self._here(entry.message.get("params"))
        assert method is not None
        if "id" not in entry.message:
            self.client.notify(method, params)
        else:
            number = f"recorded-{entry.message['id']}"
            self.client.send(method, params, id=number)
            self._asked[entry.message["id"]] = entry.message
            self._since[entry.message["id"]] = False
        for other in self._since:
            self._since[other] = self._since[other] or other != entry.message.get("id")

    def _hear(self, recorded: Message) -> None:
        """Wait for the same answer."""
        number = recorded["id"]
        question = self._asked.pop(number)
        went_on = self._since.pop(number)
        answer = self.client.take(f"recorded-{number}")
        # What an editor did not wait for depends on who is faster.
        if question["method"] in ASKING and not went_on:
            assert meaning(answer) == meaning(recorded), f"{self.case}: {question['params']}"
            self.compared += 1
            self.offered += bool(_ids(recorded))
        self._ids |= zip(_ids(recorded), _ids(answer), strict=False)

    def _case_is_over(self) -> None:
        if self.gate:
            self.gate.open()
        self.instance.wait_until(lambda: not self.instance.streaming)

    def _here(self, value: Any) -> Any:
        """What was said of the folder there, said of the folder here."""
        match value:
            case str():
                return self._ids.get(value) or value.replace(*self.uris)
            case dict():
                return {key: self._here(each) for key, each in value.items()}
            case list():
                return [self._here(each) for each in value]
        return value


def _is_request(entry: Entry, from_editor: bool) -> bool:
    return entry.from_editor is from_editor and entry.method is not None and "id" in entry.message


def _ids(answer: Message) -> list[str]:
    """What the suggestions of an answer are called."""
    result = answer.get("result")
    items = result.get("items", []) if isinstance(result, dict) else []
    return [item["command"]["arguments"][0] for item in items if item.get("command")]


def meaning(answer: Message) -> object:
    """An answer without what differs from one run to the next: the ids of suggestions."""
    result = answer.get("result", answer.get("error", {}).get("code"))
    if not isinstance(result, dict):
        return result
    items = [
        {**item, "command": _without_ids(item.get("command"))} for item in result.get("items", [])
    ]
    return {**result, "items": items}


def _without_ids(command: Any) -> Any:
    return command and {**command, "arguments": len(command.get("arguments", []))}


def environment(folder: Path, endpoint: str | None, *, signed_in: bool) -> dict[str, str | None]:
    """A home of its own."""
    ours: dict[str, str | None] = {
        name: None for name in os.environ if name.startswith(("SRC_", "XDG_"))
    }
    settings = folder / "config" / "lsp-completions" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(SETTINGS)
    return {
        **ours,
        "HOME": str(folder),
        "USERPROFILE": str(folder),
        "LOCALAPPDATA": str(folder / "config"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_RUNTIME_DIR": str(folder / "run"),
        "SRC_ENDPOINT": endpoint,
        "SRC_ACCESS_TOKEN": TOKEN if signed_in else None,
    }


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda each: each.name.removesuffix(SUFFIX))
def test_the_answers_are_those_of_then(tmp_path: Path, recording: Path) -> None:
    entries = read(recording)
    cases = [case for each in entries if (case := each.case)]
    signed_in = all(case.scenario.signed_in for case in cases)
    # VS Code's extension asks for both at once.
    knows_endpoint = signed_in or not recording.name.startswith(FILES[Editor.VS_CODE])
    with (
        running_stand_in(Answer("")) as instance,
        LspClient.start(
            SERVER,
            env=environment(
                tmp_path / "home", instance.url if knows_endpoint else None, signed_in=signed_in
            ),
        ) as client,
    ):
        work = (tmp_path / "desk").as_uri()
        replay = Replay(client, instance, ("file:///desk", work))
        replay.play(entries)
        assert client.stop() == 0
    print(
        f"{len(cases)} scenarios, {replay.compared} answers compared, "
        f"{replay.offered} of them suggestions"
    )
    assert replay.compared


def test_every_scenario_is_in_the_recordings_of_an_editor() -> None:
    played: dict[Editor, set[str]] = {}
    for path in RECORDINGS:
        column = next((each for each in FILES if path.name.startswith(FILES[each])), None)
        assert column is not None, path.name
        played.setdefault(column, set()).update(
            case.scenario.name for each in read(path) if (case := each.case)
        )
    assert played.keys() == set(Editor)
    for column, names in played.items():
        expected = {each.name for each in SCENARIOS} - LEFT_OUT[column].keys()
        assert names == expected, column
