"""A person at work in a real VS Code, with the extension installed as its README says.

One code-server and one window serve all scenarios; each has a file of its own. All that is on the
machine is a Python without pip; there is no keyring, and no way out.
"""

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.editors.scenarios import CURSOR, Case, Desk, Editor, kept, rows
from tests.support.at_work import continues, written
from tests.support.browser import Browser, running_browser
from tests.support.home import USER, user
from tests.support.picture import WRITE_PICTURES
from tests.support.sourcegraph import TOKEN, Answer, StandIn, running_stand_in
from tests.support.vscode import (
    EXTENSION,
    CodeServer,
    Window,
    bare_python,
    build_second,
    command_line,
    environment_of,
    missing,
    running_code_server,
)

PICTURE = EXTENSION / "ghost-text.png"

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")


class Place:
    """A VS Code with a window, which lasts as long as nothing goes wrong there."""

    def __init__(self, vsix: Path, folder: Path) -> None:
        self._vsix = vsix
        self._folder = folder
        self._second = build_second(folder)
        self._programs = bare_python(folder / "python")
        self._stack = ExitStack()
        self._running: tuple[CodeServer, Browser, Window, StandIn] | None = None
        self._signed_in = False

    def window(self, *, signed_in: bool = True) -> tuple[Window, StandIn]:
        """The window, with a token or without."""
        if self._running is None:
            enter = self._stack.enter_context
            instance = enter(running_stand_in(pages={USER: user()}))
            extensions = [self._vsix, self._second]
            server = enter(running_code_server(extensions, programs=self._programs))
            browser = enter(running_browser(Path(tempfile.mkdtemp(dir=self._folder))))
            self._running = server, browser, Window(browser, server, self._folder), instance
            self._signed_in = False
        _, _, window, instance = self._running
        if signed_in and not self._signed_in:
            window.sign_in(instance.url, TOKEN)
            window.forget_messages()
        elif self._signed_in and not signed_in:
            window.sign_out()
        self._signed_in = signed_in
        return window, instance

    @contextmanager
    def another_window(self, folder: Path) -> Iterator[Window]:
        """One more, of the same VS Code."""
        assert self._running is not None
        server, browser, _, _ = self._running
        window = Window(browser, server, folder)
        yield window
        window.page.close()

    def recover(self) -> str:
        """Something went wrong: the next test gets an empty window, a new one if need be.

        Returns what is known about the wrong.
        """
        known = "nothing is known"
        try:
            assert self._running is not None
            _, _, window, _ = self._running
            window.page.press("Escape")
            known = window.why()
            window.close()
        except Exception:
            self.leave()
        return known

    def leave(self) -> None:
        """Close everything; the next test gets all of it anew."""
        self._running = None
        self._signed_in = False
        self._stack.close()


@pytest.fixture(scope="module")
def place(vsix: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(vsix, tmp_path_factory.mktemp("vscode"))
    yield place
    place.leave()


@pytest.mark.parametrize("case", rows(Editor.VS_CODE))
def test_scenario(case: Case, place: Place, tmp_path: Path) -> None:
    window, instance = place.window(signed_in=case.scenario.signed_in)
    desk = Desk(window, instance, tmp_path / "work", kept(Editor.VS_CODE, tmp_path))
    try:
        desk.play(case)
    except BaseException as error:
        error.add_note(place.recover())
        raise


def test_two_windows_have_a_server_each(place: Place, tmp_path: Path) -> None:
    window, instance = place.window()
    instance.script = continues("    re", "turn a + b")
    (tmp_path / "other").mkdir()
    with place.another_window(tmp_path / "other") as other:
        servers = window.server.servers()
        assert len(servers) == 2
        for pid in servers:  # the token is in no list of processes
            assert environment_of(pid)["SRC_ACCESS_TOKEN"] == TOKEN
            assert TOKEN.encode() not in command_line(pid)
        for each, name in ((window, "one"), (other, "two")):
            path = written(tmp_path / "work" / name / "work.py", "def add(a, b):\n    \n")
            each.open(path, 1, 4)
        window.switch_off()
        for each in (window, other):
            each.type("re")
        other.see_ghost("turn a + b")
        other.accept()
        other.see_no_ghost()
        window.see_no_ghost()
        window.switch_on()
        for each in (window, other):
            each.close()


def test_who_types_while_the_server_starts_anew_is_told_nothing(
    place: Place, tmp_path: Path
) -> None:
    window, instance = place.window()
    instance.script = Answer("")
    window.open(written(tmp_path / "work" / "anew" / "work.py", ""), 0, 0)
    for _ in range(3):
        with window.restarting():
            window.run("LSP Completions: Restart the Server")
            # From before the old one has left until after the new one is there.
            window.page.type("a = 1 + " * 12, pace=0.02)
    assert window.told() == []
    window.close()


def test_who_sees_nothing_is_told_why(place: Place, tmp_path: Path) -> None:
    window, _ = place.window()
    window.open(written(tmp_path / "work" / "why" / "letter.txt", "a letter\n"), 0, 3)
    window.run("LSP Completions: Why Nothing Here?")
    window.see_message("Suggestions are off for this kind of document")
    assert "setting `languages`" in window.told()[-1]
    window.close()


def test_the_status_bar_says_how_things_are_in_the_document_at_hand(
    place: Place, tmp_path: Path
) -> None:
    window, _ = place.window()
    folder = tmp_path / "work" / "status"
    window.open(written(folder / "kept back" / ".env", "KEY=\n"), 0, 4)
    window.see_state("hold secrets")
    window.open(written(folder / "sent" / "work.py", "a = 1\n"), 0, 5)
    window.see_state("suggestions come")
    window.page.press("Control+PageUp")
    window.see_state("hold secrets")
    for _ in range(2):
        window.close_one()


def test_the_server_needs_nothing_but_python(vsix: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(vsix) as archive:
        archive.extractall(tmp_path / "vsix")
    libraries = tmp_path / "vsix" / "extension" / "bundled" / "libs"
    assert not [file for file in libraries.rglob("*") if file.suffix in (".so", ".pyd")]
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    with running_stand_in(Answer("return a + b"), pages={USER: user()}) as instance:
        checked = subprocess.run(
            # -S: not even what is installed there is found.
            [str(bare / "bin" / "python"), "-S", "-P", "-m", "lsp_completions", "check", "--json"],
            cwd=tmp_path,
            env={
                "HOME": str(tmp_path),
                "PYTHONPATH": str(libraries),
                "SRC_ENDPOINT": instance.url,
                "SRC_ACCESS_TOKEN": TOKEN,
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    said = json.loads(checked.stdout)
    assert [step for step in said["steps"] if step["ok"] is False] == []
    assert said["steps"][-1]["ok"], said
    assert not checked.stderr


def test_a_picture_for_people(place: Place, tmp_path: Path) -> None:
    text = """from dataclasses import dataclass


@dataclass
class Item:
    name: str
    price: float


def total(items: list[Item]) -> float:
    subtotal = 0.0
    <cursor>
"""
    says = " item in items:\n        subtotal += item.price\n"
    window, instance = place.window()
    instance.script = continues("    for", says)
    window.open(written(tmp_path / "work" / "picture" / "shop.py", text.replace(CURSOR, "")), 11, 4)
    window.run("Notifications: Clear All Notifications")
    window.type("for")
    window.see_ghost(says)
    image = tmp_path / "ghost-text.png"
    window.page.picture(image, ".editor-instance .overflow-guard")
    assert image.stat().st_size > 10_000
    if WRITE_PICTURES:
        image.replace(PICTURE)
    window.dismiss()
    window.close()
