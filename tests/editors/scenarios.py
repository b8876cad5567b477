"""What people do with suggestions, once for all editors: one table, and one driver per editor.

`SCENARIOS` is the table. A row says what stands in the file and where the cursor is, what the model
knows, what the person does, and which bytes are in the file once it is saved.

`Driver` is what an editor has to be able to do. Its methods are what a person does and sees: none
of them speaks LSP, and each returns when the editor has done it. `Desk.play` runs a row with one.

To plug an editor in:

1. Write a driver, with the editor set up as its README says, the second server beside ours
   (`tests/support/second_server.py`, whose entry `second_item` must still be offered), and
   settings that `SETTINGS` has for ours.
2. Write a test that plays `rows(Editor.…)`, one editor process for as many rows as possible; a row
   that is not `signed_in` needs one of its own, without a token.
3. Say in the column of `Editor` in `LEFT_OUT` which scenarios it leaves out, and why.

`python -m tests.editors.scenarios` prints the table, editor by scenario.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol

import pytest

from tests.support.at_work import continues
from tests.support.second_server import ITEM
from tests.support.sourcegraph import Gate, StandIn

CURSOR = "<cursor>"

SETTINGS = 'provider = "sourcegraph"\nmodel = "fireworks/starcoder-16b"\n'
"""The settings file of the person, in `lsp-completions/config.toml`."""

PATIENCE = 20.0  # seconds for a message; a server that starts on a busy machine takes some

KEEP = "LSP_COMPLETIONS_SCREENS"
"""Names a folder: the screens of all scenarios are kept there, as pictures."""


class Editor(Enum):
    """The columns of the table."""

    NEOVIM_0_12 = "Neovim 0.12"
    NEOVIM_0_11 = "Neovim 0.11"
    VS_CODE = "VS Code"
    HELIX = "Helix"
    LSP_MODE = "Emacs, lsp-mode"
    EGLOT = "Emacs, eglot"


class Driver(Protocol):
    """A person at one editor. All waiting is done in here, and all of it ends."""

    def open(self, path: Path, line: int, column: int) -> None:
        """Open the file, put the cursor there (from 0, in code points), be ready to type.

        Returns when both servers know the file.
        """

    def type(self, text: str) -> None:
        """Press these keys, as fast as a person; a line break is the key Enter."""

    def see_ghost(self, text: str) -> None:
        """Wait until this is the ghost text, and all of it. Blanks may differ: see `squeezed`."""

    def see_no_ghost(self) -> None:
        """Wait until there is no ghost text."""

    def accept(self) -> None:
        """Accept the whole suggestion."""

    def accept_word(self) -> None:
        """Accept the next word of it."""

    def accept_line(self) -> None:
        """Accept the next line of it."""

    def pause(self) -> None:
        """Type nothing until the editor has asked, and been answered, for what was typed last."""

    def dismiss(self) -> None:
        """Make the suggestion go away."""

    def ask(self) -> None:
        """Ask for a suggestion by hand."""

    def undo(self) -> None:
        """Undo once; typing may go on at the cursor."""

    def take_item(self, label: str) -> None:
        """Open the completion menu, choose the entry whose label begins like this, accept it."""

    def see_item(self, label: str) -> None:
        """Open the completion menu, wait for an entry with this label, close the menu.

        After `save`, and the last that is done with the file: text may be typed for it.
        """

    def messages(self) -> Sequence[str]:
        """What our server told the person since the last `close`, or the start; oldest first."""

    def switch_off(self) -> None:
        """Switch suggestions off for this type of file, by the editor's command."""

    def switch_on(self) -> None:
        """And on again."""

    def kill_server(self) -> None:
        """Our server's process dies; returns when the editor has noticed, and has another."""

    def save(self) -> None:
        """Save the file."""

    def close(self) -> None:
        """Close the file, whatever state it is in, without saving."""

    def picture(self, path: Path) -> None:
        """Write what is on the screen to a PNG."""

    def screen(self) -> str:
        """What is on the screen, as text."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something a person does: a method of the driver, with or without a text."""

    verb: str
    text: str | None = None

    def do(self, driver: Driver) -> None:
        """Do it."""
        method: Callable[..., None] = getattr(driver, self.verb)
        method(*(() if self.text is None else (self.text,)))


def types(text: str) -> Step:
    """Press keys."""
    return Step("type", text)


def sees(ghost: str) -> Step:
    """The ghost text, all of it."""
    return Step("see_ghost", ghost)


def takes_item(label: str) -> Step:
    """Take an entry of the menu."""
    return Step("take_item", label)


SEES_NOTHING = Step("see_no_ghost")
ACCEPTS = Step("accept")
ACCEPTS_WORD = Step("accept_word")
ACCEPTS_LINE = Step("accept_line")
DISMISSES = Step("dismiss")
ASKS = Step("ask")
PAUSES = Step("pause")
UNDOES = Step("undo")
SWITCHES_OFF = Step("switch_off")
SWITCHES_ON = Step("switch_on")
KILLS_SERVER = Step("kill_server")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One row of the table.

    `text` has the cursor drawn in. `knows` is what the model knows: where the file up to the cursor
    ends with the first part, it says the second, or what is left of it. A `slow` one says it once,
    and for what was typed since not before the scenario is over. `told` is a part of the one
    message that the person gets. `asked` is false where nobody may ask the model at all.
    """

    name: str
    text: str
    steps: tuple[Step, ...]
    saved: str
    knows: tuple[str, str] = ("never typed", "!")
    slow: bool = False
    file: str = "work.py"
    line_ends: tuple[str, ...] = ("\n",)
    signed_in: bool = True
    told: str | None = None
    asked: bool = True


EACH_LINE_END = ("\n", "\r\n")
MOST = "def most(a, b):\n    "
BODY = " > b:\n        best = a\n        return best"
BOX = "class Box:\n    def area(self):\n        "

SCENARIOS = (
    Scenario(
        name="ghost text appears, and is typed over",
        text=f"def add(a, b):\n    {CURSOR}\n",
        knows=("    re", "turn a + b"),
        steps=(types("re"), sees("turn a + b"), types("peat"), PAUSES, SEES_NOTHING),
        saved="def add(a, b):\n    repeat\n",
    ),
    Scenario(
        name="accept",
        text=f"{MOST}{CURSOR}\n",
        knows=("    if a", BODY),
        steps=(types("if a"), sees(BODY), ACCEPTS, SEES_NOTHING),
        saved=f"{MOST}if a{BODY}\n",
        line_ends=EACH_LINE_END,
    ),
    Scenario(
        name="next word",
        text=f"def add(a, b):\n    {CURSOR}\n",
        knows=("    re", "turn a + b"),
        steps=(
            types("re"),
            sees("turn a + b"),
            ACCEPTS_WORD,
            sees("a + b"),
            ACCEPTS_WORD,
            sees("+ b"),
            DISMISSES,
            SEES_NOTHING,
        ),
        saved="def add(a, b):\n    return a\n",
    ),
    Scenario(
        name="next line",
        text=f"{MOST}{CURSOR}\n",
        knows=("    if a", BODY),
        steps=(
            types("if a"),
            sees(BODY),
            ACCEPTS_LINE,
            sees("best = a\n        return best"),
            ACCEPTS_LINE,
            sees("return best"),
            ACCEPTS,
            SEES_NOTHING,
        ),
        saved=f"{MOST}if a{BODY}\n",
        line_ends=EACH_LINE_END,
    ),
    Scenario(
        name="type through, then accept",
        text=f"def add(a, b):\n    {CURSOR}\n",
        knows=("    re", "turn a + b"),
        steps=(
            types("re"),
            sees("turn a + b"),
            types("tu"),
            sees("rn a + b"),
            types("rn"),
            sees("a + b"),
            ACCEPTS,
            SEES_NOTHING,
        ),
        saved="def add(a, b):\n    return a + b\n",
    ),
    Scenario(
        name="type through while the model is slow, then accept",
        text=f"def add(a, b):\n    {CURSOR}\n",
        knows=("    re", "turn a + b"),
        slow=True,
        steps=(types("re"), sees("turn a + b"), types("turn"), ACCEPTS, SEES_NOTHING),
        saved="def add(a, b):\n    return a + b\n",
    ),
    Scenario(
        name="dismiss, and ask by hand",
        text=f"def add(a, b):\n    {CURSOR}\n",
        knows=("    re", "turn a + b"),
        steps=(
            types("re"),
            sees("turn a + b"),
            DISMISSES,
            SEES_NOTHING,
            ASKS,
            sees("turn a + b"),
            DISMISSES,
            SEES_NOTHING,
        ),
        saved="def add(a, b):\n    re\n",
    ),
    Scenario(
        name="undo in one step",
        text=f"{MOST}{CURSOR}\n",
        knows=("    if a", BODY),
        steps=(types("if a"), sees(BODY), ACCEPTS, SEES_NOTHING, UNDOES),
        saved=f"{MOST}if a\n",
        line_ends=EACH_LINE_END,
    ),
    Scenario(
        name="indented with tabs",
        text=f"func area(w, h int) int {{\n\t{CURSOR}\n}}\n",
        knows=("\tif w < 0 {", "\n\t\treturn 0\n\t}"),
        steps=(types("if w < 0 {"), sees("return 0 }"), ACCEPTS, SEES_NOTHING),
        saved="func area(w, h int) int {\n\tif w < 0 {\n\t\treturn 0\n\t}\n}\n",
        file="work.go",
    ),
    Scenario(
        name="before a bracket that is closed already",
        text=f"total = 1\nprint({CURSOR})\n",
        knows=("print(to", "tal, end='')\n"),
        steps=(types("to"), sees("tal, end=''"), ACCEPTS, SEES_NOTHING),
        saved="total = 1\nprint(total, end='')\n",
    ),
    Scenario(
        name="in place of the rest of the line",
        text=f"total = 1\nprint({CURSOR})\n",
        knows=("print(t", "otal) or total"),
        steps=(types("t"), sees("otal) or total"), ACCEPTS, SEES_NOTHING),
        saved="total = 1\nprint(total) or total\n",
    ),
    Scenario(
        name="a block in an indented block",
        text=f"{BOX}{CURSOR}\n",
        knows=("if self.w < 0:", '\n            raise ValueError("w")'),
        steps=(types("if self.w < 0:"), sees('raise ValueError("w")'), ACCEPTS, SEES_NOTHING),
        saved=f'{BOX}if self.w < 0:\n            raise ValueError("w")\n',
        line_ends=EACH_LINE_END,
    ),
    Scenario(
        name="an emoji before the cursor",
        text=f'face = "😀🎉"  # é, 👍🏽 {CURSOR}\n',
        knows=("👍🏽 the", "n no more"),
        steps=(types("the"), sees("n no more"), ACCEPTS, SEES_NOTHING),
        saved='face = "😀🎉"  # é, 👍🏽 then no more\n',
    ),
    Scenario(
        name="a form feed in the file",
        text=f"import os\n\f\n\ndef add(a, b):\n    {CURSOR}\n\f\nend = '\u2028'\n",
        knows=("    re", "turn a + b"),
        steps=(types("re"), sees("turn a + b"), ACCEPTS, SEES_NOTHING),
        saved="import os\n\f\n\ndef add(a, b):\n    return a + b\n\f\nend = '\u2028'\n",
    ),
    Scenario(
        name="a menu item of one line",
        text=f"def add(a, b):\n    {CURSOR}\n",
        knows=("    retu", "rn a + b"),
        steps=(types("retu"), takes_item("return a + b")),
        saved="def add(a, b):\n    return a + b\n",
    ),
    Scenario(
        name="a menu item of several lines",
        text=f"{BOX}{CURSOR}\n",
        knows=("for side in self", '.sides:\n            cost = f"${side}"'),
        steps=(types("for side in self"), takes_item("self.sides:")),
        saved=f'{BOX}for side in self.sides:\n            cost = f"${{side}}"\n',
        line_ends=EACH_LINE_END,
    ),
    Scenario(
        name="file type off by default",
        text=f"a letter\n{CURSOR}\n",
        knows=("re", "gards"),
        steps=(types("re"), PAUSES, SEES_NOTHING),
        saved="a letter\nre\n",
        file="letter.txt",
        asked=False,
    ),
    Scenario(
        name="file type switched off, and on again",
        text=f"def add(a, b):\n    {CURSOR}\n",
        knows=("    re", "turn a + b"),
        steps=(
            types("retu"),
            sees("rn a + b"),
            SWITCHES_OFF,
            types("rn"),
            PAUSES,
            SEES_NOTHING,
            SWITCHES_ON,
            types(" a"),
            sees("+ b"),
            ACCEPTS,
        ),
        saved="def add(a, b):\n    return a + b\n",
    ),
    Scenario(
        name="server killed",
        text=f"def add(a, b):\n    {CURSOR}\n",
        knows=("    re", "turn a + b"),
        steps=(types("r"), KILLS_SERVER, types("e"), sees("turn a + b"), ACCEPTS, SEES_NOTHING),
        saved="def add(a, b):\n    return a + b\n",
    ),
    Scenario(
        name="token missing",
        text=f"def add(a, b):\n    {CURSOR}\n",
        knows=("    re", "turn a + b"),
        steps=(types("re"), PAUSES, SEES_NOTHING, types("turn"), PAUSES),
        saved="def add(a, b):\n    return\n",
        signed_in=False,
        told="`lsp-completions login`",
        asked=False,
    ),
)

LEFT_OUT: Mapping[Editor, Mapping[str, str]] = {
    Editor.NEOVIM_0_12: {},
    Editor.NEOVIM_0_11: {},
    Editor.VS_CODE: {},
    Editor.HELIX: {
        "next word": "its menu takes whole entries",
        "next line": "its menu takes whole entries",
    },
    Editor.LSP_MODE: {},
    Editor.EGLOT: {},
}
"""Which scenarios an editor leaves out, by their names, and why. No column: no driver yet."""


@dataclass(frozen=True)
class Case:
    """A scenario with one of its line ends."""

    scenario: Scenario
    line_end: str

    def __str__(self) -> str:
        several = len(self.scenario.line_ends) > 1
        ends = {"\n": "LF", "\r\n": "CRLF"}
        return f"{self.scenario.name}{f', {ends[self.line_end]}' if several else ''}"

    @property
    def slug(self) -> str:
        """The same as the name of a file."""
        return str(self).replace(" ", "-").replace(",", "")


def cases_of(editor: Editor) -> list[Case]:
    """The scenarios that are for this editor, each with its line ends."""
    left_out = LEFT_OUT[editor]
    assert left_out.keys() <= {scenario.name for scenario in SCENARIOS}
    return [
        Case(scenario, line_end)
        for scenario in SCENARIOS
        if scenario.name not in left_out
        for line_end in scenario.line_ends
    ]


def rows(editor: Editor) -> list[object]:
    """The same, as parameters of a test."""
    return [pytest.param(case, id=str(case)) for case in cases_of(editor)]


@dataclass
class Desk:
    """Where one editor's scenarios are played: its driver, the model, and what is kept of them."""

    driver: Driver
    instance: StandIn
    folder: Path
    """Where the edited files are."""
    kept: Path
    """Where the screens go."""
    _played: int = field(default=0)

    def play(self, case: Case) -> None:
        """Do what the row says, and see that the saved file is what it says."""
        scenario, driver, instance = case.scenario, self.driver, self.instance
        self._played += 1
        folder = self.folder / f"{self._played}-{case.slug}"
        folder.mkdir(parents=True)
        path = folder / scenario.file
        before, _, after = scenario.text.partition(CURSOR)
        path.write_bytes(_bytes(before + after, case.line_end))
        gate = Gate() if scenario.slow else None
        instance.script = continues(*scenario.knows, gate=gate)
        asked = len(instance.completions)
        line, column = before.count("\n"), len(before.rpartition("\n")[2])
        driver.open(path, line, column)
        for step in scenario.steps:
            step.do(driver)
            if step.verb == "see_ghost":
                self._keep(case, "ghost")
        driver.save()
        self._keep(case, "saved")
        assert path.read_bytes() == _bytes(scenario.saved, case.line_end)
        messages = _messages(driver, awaited=scenario.told is not None)
        assert len(messages) == (0 if scenario.told is None else 1), messages
        assert all(scenario.told in message for message in messages if scenario.told)
        assert scenario.asked or len(instance.completions) == asked
        driver.see_item(ITEM)
        if gate:
            gate.open()
        driver.close()
        instance.wait_until(lambda: not instance.streaming)

    def _keep(self, case: Case, what: str) -> None:
        """The screen as text; as a picture too, where the environment names a folder for them."""
        name = f"{case.slug}.{what}"
        self.kept.mkdir(parents=True, exist_ok=True)
        (self.kept / f"{name}.txt").write_text(self.driver.screen(), encoding="utf-8")
        if os.environ.get(KEEP):
            self.driver.picture(self.kept / f"{name}.png")


def _messages(driver: Driver, *, awaited: bool) -> Sequence[str]:
    """What the user was told; waits for it where something must have been."""
    patience = time.monotonic() + PATIENCE
    while not (messages := driver.messages()) and awaited and time.monotonic() < patience:
        time.sleep(0.1)  # no editor tells when it shows a message
    return messages


def kept(editor: Editor, otherwise: Path) -> Path:
    """The folder for this editor's screens: in the one that the environment names, if it does."""
    folder = os.environ.get(KEEP)
    return (Path(folder) if folder else otherwise) / editor.name.lower()


def squeezed(text: str) -> str:
    """The text without blanks: how those are drawn differs, and the saved file tells the rest."""
    return "".join(text.split())


def _bytes(text: str, line_end: str) -> bytes:
    return text.replace("\n", line_end).encode()


def table() -> str:
    """The table, editor by scenario, in Markdown."""
    editors = [editor for editor in Editor if editor in LEFT_OUT]
    lines = [
        f"| scenario | {' | '.join(editor.value for editor in editors)} |",
        f"| --- |{' --- |' * len(editors)}",
    ]
    for scenario in SCENARIOS:
        cells = [LEFT_OUT[editor].get(scenario.name, "yes") for editor in editors]
        lines.append(f"| {scenario.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
