"""A person at a real Neovim, with the plugin as its README says and a second language server."""

import os
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.editors.scenarios import SETTINGS, Desk, Editor, kept, squeezed
from tests.support import picture, second_server
from tests.support.at_work import command, wait_until_gone
from tests.support.neovim import Neovim, Version, running_neovim
from tests.support.sourcegraph import TOKEN, Answer, running_stand_in

FOLDER = Path(__file__).resolve().parents[2] / "editors" / "neovim"
VERSIONS = {Editor.NEOVIM_0_12: Version.V0_12, Editor.NEOVIM_0_11: Version.V0_11}
OURS, SECOND = "lsp_completions", "second"

# Beside what the README says: the other server, and a count of what was asked and answered.
OF_THE_TESTS = """
vim.lsp.config('second', {{ cmd = {{ {python!r}, {server!r} }} }})
vim.lsp.enable('second')
answered = 0
vim.api.nvim_create_autocmd('LspRequest', {{ callback = function(event)
  local request = event.data.request
  if request.method == 'textDocument/inlineCompletion' and request.type == 'complete' then
    answered = answered + 1
  end
end }})
"""


@dataclass
class NeovimDriver:
    """One running Neovim; the methods are those of `scenarios.Driver`."""

    neovim: Neovim
    home: Path
    _name: str = ""
    _answered: int = 0

    def open(self, path: Path, line: int, column: int) -> None:
        neovim = self.neovim
        self._name = path.name
        neovim.lua("vim.cmd.edit(...)", str(path))
        self.wait_for_servers()
        before = neovim.lua("return vim.api.nvim_buf_get_lines(0, ..., ... + 1, false)[1]", line)
        at_end = column == len(before)
        neovim.call("nvim_win_set_cursor", 0, [line + 1, len(before[:column].encode())])
        self._press("A" if at_end else "i")
        neovim.wait_for_mode("i")

    def type(self, text: str) -> None:
        self._answered = self._count()
        self.neovim.type(text.replace("<", "<lt>").replace("\n", "<CR>"))

    def pause(self) -> None:
        self.neovim.wait_for("an answer", lambda: self._count() > self._answered)

    def see_ghost(self, text: str) -> None:
        self.neovim.wait_for(
            f"the ghost text {text!r}",
            lambda: squeezed(self.neovim.screen.ghost) == squeezed(text),
        )

    def see_no_ghost(self) -> None:
        self.neovim.wait_for("no ghost text", lambda: not self.neovim.screen.ghost)

    def accept(self) -> None:
        self._change("<Tab>")

    def accept_word(self) -> None:
        self._change("<M-Right>")

    def accept_line(self) -> None:
        self._change("<M-C-Right>")

    def dismiss(self) -> None:
        self._press("<C-]>")

    def ask(self) -> None:
        self._press("<M-\\>")

    def undo(self) -> None:
        self._press("<Esc>")
        self.neovim.wait_for_mode("n")
        self._change("u")
        self._press("a")
        self.neovim.wait_for_mode("i")

    def take_item(self, label: str) -> None:
        self._press("<C-x><C-o>")
        self.neovim.wait_for(f"the menu item {label!r}", lambda: label in self._menu())
        self._press("<C-n>")
        self.neovim.wait_for("it selected", lambda: label in self._menu("PmenuSel"))
        self._press("<C-y>")
        self.neovim.wait_for("no menu", lambda: not self._menu())

    def see_item(self, label: str) -> None:
        self._press("Go")
        self.neovim.type(label[:3])
        self._press("<C-x><C-o>")
        self.neovim.wait_for(f"the menu item {label!r}", lambda: label in self._menu())
        self._press("<C-e>")
        self._press("<Esc>")
        self.neovim.wait_for_mode("n")

    def messages(self) -> Sequence[str]:
        lines = str(self.neovim.lua("return vim.fn.execute('messages')")).splitlines()
        return [line for line in lines if line.startswith("lsp-completions: ")]

    def switch_off(self) -> None:
        self._command("LspCompletions disable filetype", "Suggestions off for python")

    def switch_on(self) -> None:
        self._command("LspCompletions enable filetype", "Suggestions on for python")

    def kill_server(self) -> None:
        process = self.servers()[0]
        os.kill(process, signal.SIGKILL)
        wait_until_gone([process])

        def is_there_again() -> bool:
            # Neovim says on its own what it thinks of that, and may wait for a key.
            if self.neovim.call("nvim_get_mode")["blocking"]:
                self._press("<CR>")
                return False
            return self.servers() not in ([], [process])

        self.neovim.wait_for("another server", is_there_again)
        self.wait_for_servers()

    def save(self) -> None:
        self.neovim.save()

    def close(self) -> None:
        self._press("<Esc>")
        self.neovim.lua("vim.cmd('%bwipeout! | messages clear')")

    def picture(self, path: Path) -> None:
        picture.draw(self.neovim.screen, title=f"{self._name} — nvim").save(path, optimize=True)

    def screen(self) -> str:
        return self.neovim.screen.text

    def servers(self) -> list[int]:
        """The process of our server, once it has begun."""
        return [int(each) for each in (self.home.parent / "pid").read_text().split()]

    def _press(self, keys: str) -> None:
        self.neovim.call("nvim_input", keys)

    def _change(self, keys: str) -> None:
        """Press keys that change the text, and wait until they have."""
        tick = "return vim.b.changedtick"
        before = self.neovim.lua(tick)
        self._press(keys)
        self.neovim.wait_for("a change", lambda: self.neovim.lua(tick) != before)

    def _command(self, command: str, said: str) -> None:
        self._press("<Esc>")
        self.neovim.wait_for_mode("n")
        self._press(f":{command}<CR>")
        self.neovim.wait_for(repr(said), lambda: said in self.neovim.screen.text)
        self._press("a")
        self.neovim.wait_for_mode("i")

    def _count(self) -> int:
        return int(self.neovim.lua("return answered"))

    def _menu(self, group: str = "Pmenu") -> str:
        """What is drawn of the completion menu, or of its selected entry."""
        rows = self.neovim.screen.rows
        drawn = (
            [c.text for c in row if any(each.startswith(group) for each in c.style.groups)]
            for row in rows
        )
        return "\n".join("".join(row).strip() for row in drawn if row)

    def wait_for_servers(self) -> None:
        """Wait until both servers know the present file."""
        ready = (
            "local client = vim.lsp.get_clients({ name = ..., bufnr = 0 })[1]"
            " return client and client.initialized"
        )
        for name in (OURS, SECOND):
            self.neovim.wait_for(f"{name} attached", partial(self.neovim.lua, ready, name))


def installed(home: Path) -> None:
    """The plugin where Neovim finds packages, and what settings the person has."""
    package = home / ".local" / "share" / "nvim" / "site" / "pack" / "ours" / "start"
    shutil.copytree(FOLDER, package / "lsp-completions")
    settings = home / ".config" / "lsp-completions" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(SETTINGS)


@contextmanager
def running_desk(
    editor: Editor, folder: Path, config: str, *, signed_in: bool = True
) -> Iterator[Desk]:
    """A desk with a Neovim that `config` sets up, and a model of its own.

    At the end Neovim is told to leave, and then the servers are gone too, and none has complained.
    """
    home = folder / "home"
    installed(home)
    server = str(Path(second_server.__file__))
    with running_stand_in(Answer("")) as instance:
        environment = {
            "PATH": os.pathsep.join([str(command(folder)), os.environ["PATH"]]),
            "SRC_ENDPOINT": instance.url,
            **({"SRC_ACCESS_TOKEN": TOKEN} if signed_in else {}),
        }
        with running_neovim(
            folder / "nothing.none",
            version=VERSIONS[editor],
            home=home,
            config=config + OF_THE_TESTS.format(python=sys.executable, server=server),
            environment=environment,
        ) as neovim:
            driver = NeovimDriver(neovim, home)
            if signed_in:
                # A server that has just been started may answer its first request too late.
                first = folder / "first.py"
                first.write_text("")
                driver.open(first, 0, 0)
                instance.wait_until(lambda: instance.requests)
                driver.close()
            yield Desk(driver, instance, folder / "work", kept(editor, folder / "screens"))
            servers = neovim.children()
            neovim.quit()
            wait_until_gone(servers)
        log = home / ".local" / "state" / "nvim" / "lsp.log"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        # Neovim's log has the servers' stderr, and every answer that was an error. Who has no token
        # reads there what the screen says.
        complaints = [line for line in lines if not line.startswith("[START]")]
        assert not signed_in or not complaints, complaints
