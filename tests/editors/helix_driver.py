"""A person at a real Helix, set up by `lsp-completions setup helix`, with a second language server.

Helix shows suggestions in its completion menu. So ghost text is seen where the menu has an entry
that says it, and the suggestion is accepted by the keys that take the entry, once Helix has shown
all of it in the text.

It drops an answer that comes a tenth of a second after another server's, if nothing in its menu
fits by then; so a person who misses an entry asks for it by hand, as one does in Helix.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from PIL import Image

from lsp_completions.server.offered import TRIGGER_CHARACTERS
from tests.editors.scenarios import SETTINGS, Desk, Editor, kept, squeezed
from tests.support import picture, second_server
from tests.support.at_work import HUMAN, command, wait_until_gone
from tests.support.helix import executable
from tests.support.neovim import own_folders
from tests.support.screen import Screen
from tests.support.sourcegraph import TOKEN, Answer, running_stand_in
from tests.support.terminal import Terminal, TerminalError, running_in_terminal

ESCAPE, ENTER, TAB, ASK, CLOSE = "\x1b", "\r", "\t", "\x18", "\x03"
SELECTED = 0xFFFFFF  # the background of the chosen entry, in Helix's own theme
OURS = "text"  # the kind of our entries, as Helix writes it beside them
ENTRY = re.compile(rf" *(\S.*?) +({OURS}|variable) *")
DEFT = 0.003  # seconds between two keys of a command
MOST_ASKED = 4  # times in a row for one entry
PATIENCE = 1.0  # seconds until a person asks
SIZE = (180, 24)  # messages to the user have one line
SAID = "lsp-completions: "
SWITCHED = f"{SAID}Suggestions are "

# A person's own servers: Helix has lists of the languages for which it would start these.
OWN = ("pylsp", "gopls")
# Helix has no language for plain text, so a person who wants another server there has this; and a
# language for which nothing else is installed.
LANGUAGES = """
[[language]]
name = "text"
scope = "text.plain"
file-types = ["txt"]
language-servers = [{ name = "lsp-completions", only-features = ["completion"] }, "pylsp"]

[[language]]
name = "lua"
language-servers = ["lsp-completions"]
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the menu."""

    label: str
    kind: str
    selected: bool


@dataclass
class HelixDriver:
    """One running Helix; the methods are those of `scenarios.Driver`."""

    helix: Terminal
    home: Path
    _name: str = ""
    _typed: str = ""
    _logged: int = 0
    """How long Helix's log was when the last keys were pressed."""
    _suggested: str = ""
    """What is in the text once the suggestion is accepted, from the word at the cursor on."""
    _heard: int = 0
    _servers_before: list[int] = field(default_factory=list)

    def open(self, path: Path, line: int, column: int) -> None:
        self._name = path.name
        before = len(self._log())
        self.command(f":o {path}{ENTER}")
        self.helix.wait_for(
            "both servers know the file",
            lambda: servers_for(path) <= self._told_of(path, before),
        )
        text = re.split("\r\n|\r|\n", path.read_bytes().decode())[line]
        self._keys(f"{line + 1}G")
        self._insert("A" if column == len(text) else f"gh{'l' * column}i")

    def type(self, text: str) -> None:
        self._logged, self._typed = len(self._log()), text
        self.helix.type(text.replace("\n", ENTER), pace=HUMAN)

    def pause(self) -> None:
        assert opens_menu(self._typed), "Helix does not ask behind this"
        self.helix.wait_for("an answer for what was typed last", self._is_answered)

    def see_ghost(self, text: str) -> None:
        self._bring_up(f"an entry that says {text!r}", lambda: self._offers(text))

    def see_no_ghost(self) -> None:
        self.helix.wait_for("no entry of ours", lambda: not self.ours())

    def accept(self) -> None:
        self.choose(lambda each: each.kind == OURS)
        wanted = squeezed(self._suggested)
        self.helix.wait_for(
            f"{self._suggested!r} in the text", lambda: wanted in squeezed(self._page())
        )
        self.helix.type(ENTER)
        self.see_no_ghost()

    def accept_word(self) -> None:
        raise NotImplementedError("Helix takes whole entries.")

    def accept_line(self) -> None:
        raise NotImplementedError("Helix takes whole entries.")

    def dismiss(self) -> None:
        self.helix.type(CLOSE)
        self._wait_for_no_menu()

    def ask(self) -> None:
        self._logged = len(self._log())
        self.helix.type(ASK)

    def undo(self) -> None:
        self.command("")
        before = self._page()
        self._keys("u")
        self.helix.wait_for("a change", lambda: self._page() != before)
        self._insert("i")

    def take_item(self, label: str) -> None:
        self._bring_up(f"the entry {label!r}", lambda: self._at(label) is not None)
        self.choose(lambda each: each.label.startswith(label))
        self.helix.type(ENTER)
        self.see_no_ghost()

    def see_item(self, label: str) -> None:
        self.command("ge")
        self._insert("o")
        self.helix.type(label[:3])
        self.helix.wait_for(f"the entry {label!r}", lambda: self._at(label))
        self.helix.type(CLOSE)
        self._wait_for_no_menu()
        self.command("")

    def messages(self) -> Sequence[str]:
        lines = self.helix.bottom[self._heard :]
        # What is drawn half is drawn whole at once.
        whole = [
            line
            for line, after in zip(lines, [*lines[1:], ""], strict=True)
            if not (after != line and after.startswith(line))
        ]
        return [each for each in whole if each.startswith(SAID) and not each.startswith(SWITCHED)]

    def switch_off(self) -> None:
        self._switch("disable", "off for python.")

    def switch_on(self) -> None:
        self._switch("enable", "on for python.")

    def kill_server(self) -> None:
        process, log = self.servers()[0], len(self._log())
        os.kill(process, signal.SIGKILL)
        wait_until_gone([process])
        self.helix.wait_for_text("Language server exited: lsp-completions")
        # Helix leaves that to its user.
        self.command(f":lsp-restart lsp-completions{ENTER}")
        self.helix.wait_for(
            "another server, which knows the file",
            lambda: (
                self.servers() not in ([], [process])
                and any(
                    name == "lsp-completions" and message.get("method") == "textDocument/didOpen"
                    for name, _, message in self._messages(log)
                )
            ),
        )
        self._insert("i")

    def save(self) -> None:
        self.command(f":w{ENTER}")
        self.helix.wait_for("it written", lambda: f"{self._name}' written" in self._bottom())

    def close(self) -> None:
        self.command(f":bca!{ENTER}")
        self.helix.wait_for("no file", lambda: "[scratch]" in self.helix.screen.text)
        self._heard = len(self.helix.bottom)
        self._suggested = ""

    def picture(self, path: Path) -> None:
        draw(self.helix.screen, f"{self._name} — hx").save(path, optimize=True)

    def screen(self) -> str:
        return self.helix.screen.text

    def servers(self) -> list[int]:
        """The process of our server, once it has begun."""
        return [int(each) for each in (self.home.parent / "pid").read_text().split()]

    def _keys(self, keys: str) -> None:
        self.helix.type(keys, pace=DEFT)

    def command(self, keys: str) -> None:
        """To normal mode, and then these keys."""
        self.helix.type(ESCAPE)
        self.helix.wait_for("normal mode", lambda: self._mode() == "NOR")
        self._keys(keys)

    def _insert(self, keys: str) -> None:
        """Keys that lead to insert mode."""
        self._keys(keys)
        self.helix.wait_for("insert mode", lambda: self._mode() == "INS")

    def _switch(self, command: str, said: str) -> None:
        keys = f':lsp-workspace-command lspCompletions.{command} {{"language": "python"}}{ENTER}'
        self.command(keys)
        self.helix.wait_for_text(f"{SWITCHED}{said}")
        self._insert("i")

    def _mode(self) -> str:
        return self.helix.screen.text.split("\n")[-2][:5].strip()

    def _bottom(self) -> str:
        return self.helix.screen.text.split("\n")[-1]

    def _page(self) -> str:
        """The text as it is drawn, without the numbers of its lines."""
        rows = self.helix.screen.text.split("\n")[:-2]
        return "\n".join(re.sub(r"^.? *(\d+|~) ", "", row) for row in rows)

    def _menu(self) -> list[Entry]:
        """The entries that are drawn, from the top."""
        found = []
        for row in self.helix.screen.rows[:-2]:
            runs: list[tuple[int | None, str]] = []
            for cell in row:
                if not runs or runs[-1][0] != cell.style.background:
                    runs.append((cell.style.background, ""))
                background, text = runs[-1]
                runs[-1] = background, text + cell.text
            paper = runs[0][0]
            for background, text in runs:
                if background != paper and (match := ENTRY.fullmatch(text)):
                    found.append(Entry(match[1], match[2], background == SELECTED))
        return found

    def see_ours(self) -> Entry:
        """Wait for an entry of our server, whatever it is; the first of them."""
        self._bring_up("an entry of ours", lambda: bool(self.ours()))
        return self.ours()[0]

    def ours(self) -> list[Entry]:
        """The entries of our server."""
        return [entry for entry in self._menu() if entry.kind == OURS]

    def _at(self, label: str) -> Entry | None:
        return next((each for each in self._menu() if each.label.startswith(label)), None)

    def _offers(self, text: str) -> bool:
        """Whether an entry of the menu says this text, or the first line of it."""
        screen = self.helix.screen
        row, column = screen.cursor
        before, after = (
            "".join(cell.text for cell in cells)
            for cells in (screen.rows[row][:column], screen.rows[row][column:])
        )
        word = before[len(before.rstrip(WORD)) :]
        whole = squeezed(word + text)
        for entry in self.ours():
            first = squeezed(entry.label.removesuffix(" …"))
            is_cut = entry.label.endswith(" …") and len(first) > len(word)
            # A bracket that Helix has closed need not be said.
            is_all = whole == first or squeezed(after).startswith(whole.removeprefix(first))
            if whole.startswith(first) and (is_cut or is_all):
                self._suggested = word + text
                return True
        return False

    def _bring_up(self, what: str, is_there: Callable[[], bool]) -> None:
        """Wait for an entry, and ask for it by hand where Helix does not show it by itself."""
        asks_by_itself = opens_menu(self._typed)
        for _ in range(MOST_ASKED):
            if not asks_by_itself:
                if self._menu():
                    self.dismiss()
                self.ask()
            asks_by_itself = False
            with suppress(TerminalError):
                self.helix.wait_for(what, is_there, timeout=PATIENCE)
                return
        raise TerminalError(f"never saw {what}; the screen:\n{self.screen()}")

    def choose(self, is_it: Callable[[Entry], bool]) -> None:
        """Choose an entry of the menu."""

        def is_chosen() -> bool:
            return any(each.selected and is_it(each) for each in self._menu())

        for _ in self._menu():
            self.helix.type(TAB)
            with suppress(TerminalError):
                self.helix.wait_for("it chosen", is_chosen, timeout=1)
                return
        raise TerminalError(f"could not choose it; the screen:\n{self.screen()}")

    def _wait_for_no_menu(self) -> None:
        self.helix.wait_for("no menu", lambda: not self._menu())

    def _is_answered(self) -> bool:
        """Whether Helix has asked after the last change, and our server has answered that.

        While a question is open Helix asks no other, and later only where more is typed.
        """
        asked: set[object] = set()
        answered: set[object] = set()
        for name, sent, message in self._messages(self._logged):
            if name != "lsp-completions":
                continue
            method = message.get("method")
            if sent and method == "textDocument/didChange":
                asked &= asked - answered
            elif sent and method == "textDocument/completion":
                asked.add(message["id"])
            elif not sent and method is None:
                answered.add(message.get("id"))
        return bool(asked) and asked <= answered

    def _told_of(self, path: Path, since: int) -> set[str]:
        """The servers that have been told of a file."""
        uri = path.as_uri()
        return {
            name
            for name, sent, message in self._messages(since)
            if sent
            and message.get("method") == "textDocument/didOpen"
            and message["params"]["textDocument"]["uri"] == uri
        }

    def _messages(self, since: int) -> Iterator[tuple[str, bool, dict[str, Any]]]:
        """What Helix's log has of its talk: the server's name, whether to it, and the message."""
        for line in self._log()[since:].split("\n")[:-1]:
            match = re.search(r"transport \[INFO\] (\S+) (->|<-) (\{.*\})", line)
            if match:
                yield match[1], match[2] == "->", json.loads(match[3])

    def _log(self) -> str:
        log = self.home / ".cache" / "helix" / "helix.log"
        return log.read_text(encoding="utf-8") if log.exists() else ""


WORD = "".join(chr(n) for n in range(128) if chr(n).isalnum() or chr(n) == "_")


def opens_menu(typed: str) -> bool:
    """Whether Helix asks by itself behind what was typed."""
    return typed[-1:].isalnum() or typed[-1:] in ("_", *TRIGGER_CHARACTERS)


def servers_for(path: Path) -> set[str]:
    """The names of those that Helix starts for a file."""
    own = {".lua": set[str](), ".go": {"gopls"}}.get(path.suffix, {"pylsp"})
    return {"lsp-completions", *own}


def draw(screen: Screen, title: str) -> Image.Image:
    """The screen as a picture, with the colour of Helix's page around it."""
    paper = screen.rows[0][0].style.background
    assert paper is not None
    return picture.draw(replace(screen, background=paper), title=title)


def installed(folder: Path, environment: Mapping[str, str], settings: str) -> None:
    """What the person has, and what our setup makes of it."""
    home, binaries = folder / "home", Path(environment["PATH"].split(os.pathsep)[0])
    program = executable()
    assert program is not None
    (binaries / "hx").symlink_to(program)
    for name in OWN:
        server = binaries / name
        server.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{second_server.__file__}"\n')
        server.chmod(0o755)
    config = home / ".config"
    for path, content in (
        (config / "helix" / "languages.toml", LANGUAGES),
        (config / "lsp-completions" / "config.toml", settings),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    subprocess.run(
        ["lsp-completions", "setup", "helix", "--write"],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=60,
    )


@contextmanager
def running_desk(
    folder: Path,
    *,
    signed_in: bool = True,
    embedded: bool = False,
    size: tuple[int, int] = SIZE,
) -> Iterator[Desk]:
    """A desk with a Helix, and a model of its own; without an account where it is `embedded`.

    At the end Helix is told to leave, unless it has left by then, and then the server is gone too.
    """
    home = folder / "home"
    with running_stand_in(Answer("")) as instance:
        environment = {
            **own_folders(home),
            "PATH": os.pathsep.join([str(command(folder)), os.environ["PATH"]]),
            **({} if embedded else {"SRC_ENDPOINT": instance.url}),
            **({"SRC_ACCESS_TOKEN": TOKEN} if signed_in and not embedded else {}),
        }
        installed(folder, environment, "" if embedded else SETTINGS)
        work = folder / "work"
        work.mkdir()
        with running_in_terminal(
            [str(folder / "bin" / "hx"), "-v"], folder=work, environment=environment, size=size
        ) as helix:
            driver = HelixDriver(helix, home)
            helix.wait_for_text("[scratch]")
            if signed_in and not embedded:
                # A server that has just been started may answer its first request too late, and
                # Helix asks again at the next key only.
                first = folder / "first.py"
                first.write_text("")
                driver.open(first, 0, 0)
                instance.wait_until(lambda: instance.requests)
                driver.close()
            yield Desk(driver, instance, work, kept(Editor.HELIX, folder / "screens"))
            servers = driver.servers()
            if helix.process.poll() is None:
                driver.command(f":qa!{ENTER}")
            helix.process.wait(10)
            wait_until_gone(servers)
        instance.wait_until(lambda: not instance.streaming)
