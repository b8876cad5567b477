"""A person types in a real Neovim, sees ghost text, takes it; the saved file has the right bytes.

Neovim is set up as `editors/neovim/README.md` says, word for word.
"""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from tests.editors.at_human_speed import (
    ITEMS,
    LINE_ENDS,
    MOST_REQUESTS,
    ONE_LINE,
    OTHERWISE,
    SEVERAL,
    WORD,
    changes_its_mind,
    saved_text,
)
from tests.support import picture
from tests.support.at_work import (
    HUMAN,
    LOADED,
    LOADING,
    THINKS,
    Script,
    command,
    continues,
    embedded_models,
    wait_until_gone,
    written,
)
from tests.support.llama_server import model_file
from tests.support.neovim import Neovim, Version, executable, running_neovim
from tests.support.picture import BODY, HEAD, SHOP
from tests.support.shared import Shared
from tests.support.sourcegraph import TOKEN, StandIn, running_stand_in

FOLDER = Path(__file__).resolve().parents[2] / "editors" / "neovim"
PICTURE = FOLDER / "ghost-text.png"


class Setup(Enum):
    """A Neovim, and the lines of the README for its `init.lua`."""

    PLUGIN = (Version.V0_12, "config")
    PLUGIN_ON_0_11 = (Version.V0_11, "config")
    WITHOUT = (Version.V0_12, "without the plugin")

    @property
    def version(self) -> Version:
        version, *_ = self.value
        assert isinstance(version, Version)
        return version

    @property
    def lines(self) -> str:
        _, *marks = self.value
        return "".join(documented(mark) for mark in marks)


def setups(*chosen: Setup) -> pytest.MarkDecorator:
    """The test is done with each of them."""

    def row(setup: Setup) -> object:
        variable = setup.version.value[0]
        script = "install_neovim_011.sh" if setup.version is Version.V0_11 else "install_neovim.sh"
        missing = pytest.mark.skipif(
            executable(setup.version) is None,
            reason=f"needs Neovim: {variable}=$(tests/editors/{script})",
        )
        return pytest.param(setup, id=setup.name, marks=missing)

    return pytest.mark.parametrize("setup", [row(setup) for setup in chosen])


THE_PLUGIN = setups(Setup.PLUGIN, Setup.PLUGIN_ON_0_11)


@dataclass
class Editing:
    """A person at work on one file."""

    neovim: Neovim
    path: Path
    line_end: str
    instance: StandIn | None = None

    def take_ghost(self, text: str) -> None:
        """Wait for the ghost text, and take it with one key."""
        self.neovim.wait_for_ghost(text)
        self.neovim.type("<Tab>")
        self.wait_for_no_ghost()

    def sees_nothing_but(self, text: str) -> bool:
        """Wait until what the last key left behind is gone; whether `text` is there."""
        self.neovim.wait_for(
            f"nothing but {text!r}", lambda: self.neovim.screen.ghost in ("", text)
        )
        return self.neovim.screen.ghost == text

    def wait_for_no_ghost(self) -> None:
        self.neovim.wait_for("no ghost text", lambda: not self.neovim.screen.ghost)

    def saved(self) -> str:
        """Save; what is in the file then, with its line ends shown as `\\n` if all are right."""
        self.neovim.save()
        return saved_text(self.path, self.line_end)


@dataclass
class Opened:
    """A Neovim with the server attached, and the model it asks; without, it is the embedded one."""

    neovim: Neovim
    instance: StandIn | None
    home: Path

    def settle(self) -> None:
        """No stream is left that nobody reads, and neither Neovim nor the server complained."""
        if instance := self.instance:
            instance.wait_until(lambda: not instance.streaming)
        log = self.home / ".local" / "state" / "nvim" / "lsp.log"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        # Neovim's log has the server's stderr, and every answer that was an error.
        assert [line for line in lines if not line.startswith("[START]")] == []


@contextmanager
def opened(
    path: Path,
    setup: Setup,
    script: Script | None,
    *,
    size: tuple[int, int] = (80, 20),
    before: str = "",
) -> Iterator[Opened]:
    """Neovim with a file, the server attached to it, and a model that says `script`.

    `before` stands in `init.lua` before the lines of the README.
    At the end Neovim is told to leave, and then the server is gone too.
    """
    folder = Path(tempfile.mkdtemp(dir=path.parent.parent))
    home = folder / "home"
    set_up(home, model="fireworks/starcoder-16b" if script else None)
    with ExitStack() as stack:
        environment = {"PATH": os.pathsep.join([str(command(folder)), os.environ["PATH"]])}
        instance = None
        if script:
            instance = stack.enter_context(running_stand_in(script))
            environment |= {"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": TOKEN}
        with running_neovim(
            path,
            version=setup.version,
            home=home,
            config=before + setup.lines,
            environment=environment,
            size=size,
        ) as neovim:
            servers = attached_servers(neovim)
            it = Opened(neovim, instance, home)
            yield it
            neovim.quit()
            wait_until_gone(servers)
        it.settle()


class Desk(Shared[Setup, Opened]):
    """Where tests work one after the other: a Neovim started once serves many of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        super().__init__(self._opened, lambda it: it.neovim.kill())

    @contextmanager
    def _opened(self, setup: Setup) -> Iterator[Opened]:
        path = written(Path(tempfile.mkdtemp(dir=self._folder)) / "first.py", "")
        with opened(path, setup, continues("never typed", "!")) as it:
            it.neovim.lua("vim.cmd('%bwipeout!')")
            yield it

    @contextmanager
    def editing(
        self,
        setup: Setup,
        script: Script,
        text: str,
        *,
        name: str = "work.py",
        line_end: str = "\n",
    ) -> Iterator[Editing]:
        """Neovim with `text` in a new file and no other."""
        path = written(Path(tempfile.mkdtemp(dir=self._folder)) / name, text, line_end)
        with self.using(setup) as it:
            assert it.instance is not None
            it.instance.script = script
            it.neovim.lua("vim.cmd.edit(...)", str(path))
            attached_servers(it.neovim)
            yield Editing(it.neovim, path, line_end, it.instance)
            it.neovim.type("<Esc>")
            it.neovim.lua("vim.cmd('%bwipeout!')")
            it.settle()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    desk = Desk(tmp_path_factory.mktemp("desk"))
    yield desk
    desk.close()


def set_up(home: Path, *, model: str | None) -> None:
    """What the README says to copy, and which model to ask."""
    config = home / ".config"
    shutil.copytree(FOLDER / "lsp", config / "nvim" / "lsp")
    package = home / ".local/share/nvim/site/pack/lsp-completions/opt/lsp-completions"
    shutil.copytree(FOLDER, package)
    if model:
        (config / "lsp-completions").mkdir()
        (config / "lsp-completions" / "config.toml").write_text(f'model = "{model}"\n')


def documented(mark: str) -> str:
    """The lines that the README says to add to `init.lua`, by the comment before them."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"<!-- ([^>]*) -->\s*```lua\n(.*?)```", text, re.DOTALL))
    return str(blocks[mark])


def attached_servers(neovim: Neovim) -> list[int]:
    """Wait until the server knows the file; returns its process."""
    ready = (
        "local client = vim.lsp.get_clients({ bufnr = 0 })[1] return client and client.initialized"
    )
    neovim.wait_for("the server attached", lambda: neovim.lua(ready))
    return neovim.children()


@THE_PLUGIN
def test_nothing_is_bound_that_was_bound(tmp_path: Path, setup: Setup) -> None:
    path = written(tmp_path / "work" / "work.py", "def add(a, b):\n")
    mine = "vim.keymap.set('i', '<Tab>', 'mine')\n"
    with opened(path, setup, continues("    re", "turn"), before=mine) as it:
        it.neovim.type("Gore")
        it.neovim.wait_for_ghost("turn")
        it.neovim.type("<Tab>")
        it.neovim.wait_for("my key", lambda: "remine" in it.neovim.screen.text)
        it.neovim.type("<Esc>")
        it.neovim.lua("vim.cmd('checkhealth lsp_completions')")
        report = "\n".join(it.neovim.call("nvim_buf_get_lines", 0, 0, -1, False))
        assert "accept: <Tab> was bound already: mine" in report
        assert "dismiss: <C-]>" in report
        assert "ERROR" not in report


@setups(Setup.WITHOUT)
class TestWithoutThePlugin:
    """The lines of the README that do without it."""

    def test_typed_through_and_taken_back(self, desk: Desk, setup: Setup) -> None:
        knows = continues("    re", "turn a + b")
        with desk.editing(setup, knows, "def add(a, b):\n") as person:
            person.neovim.type("Gore")
            person.neovim.wait_for_ghost("turn a + b")
            person.neovim.type("turn<Tab>")
            person.wait_for_no_ghost()
            assert person.saved() == "def add(a, b):\n    return a + b\n"
            person.neovim.type("u")
            assert person.saved() == "def add(a, b):\n    return\n"

    def test_in_place_of_the_rest_of_the_line(self, desk: Desk, setup: Setup) -> None:
        knows = continues("print(t", "otal) or total")
        with desk.editing(setup, knows, "total = 1\nprint()\n") as person:
            person.neovim.type("Gf)it")
            person.neovim.wait_for_ghost("otal) or total")
            person.neovim.type("o<Tab>")
            person.wait_for_no_ghost()
            assert person.saved() == "total = 1\nprint(total) or total\n"


@setups(Setup.PLUGIN, Setup.WITHOUT)
def test_a_single_item_is_inserted_without_a_menu(desk: Desk, setup: Setup) -> None:
    knows = continues("    if a", "ll(items):\n        return 1\n")
    with desk.editing(setup, knows, "def some(items):\n") as person:
        person.neovim.type("Goif a")
        # By then the server knows that the file may be sent, and is quick enough for a menu.
        person.neovim.wait_for_ghost("ll(items):\n        return 1")
        person.neovim.type("<C-x><C-o>")
        shown = "all(items): …"
        person.neovim.wait_for("the item", lambda: shown in person.neovim.screen.text)
        person.neovim.type(" or 2")
        assert person.saved() == "def some(items):\n    if all(items):\n        return 1 or 2\n"


class TestAtHumanSpeed:
    """Keys come as fast as a person types, and the model takes its time."""

    @THE_PLUGIN
    @LINE_ENDS
    @pytest.mark.parametrize(
        "says", [pytest.param(ONE_LINE, id="one line"), pytest.param(SEVERAL, id="several lines")]
    )
    def test_a_word_is_typed_through_its_suggestion(
        self, desk: Desk, setup: Setup, says: str, line_end: str
    ) -> None:
        script = continues("    ", says, delay=THINKS)
        with desk.editing(setup, script, ITEMS, line_end=line_end) as person:
            neovim, instance = person.neovim, person.instance
            assert instance is not None
            asked = len(instance.completions)
            neovim.type("Go")
            neovim.type(WORD[:3], pace=HUMAN)
            neovim.wait_for_ghost(says[3:])
            seen = []
            for typed in range(4, len(WORD) + 1):
                neovim.type(WORD[typed - 1], pace=HUMAN)
                seen.append(person.sees_nothing_but(says[typed:]))
            requests = len(instance.completions) - asked
            print(f"{requests} requests, on the screen after {sum(seen)} of {len(seen)} keys")
            assert requests <= MOST_REQUESTS
            person.take_ghost(says[len(WORD) :])
            assert person.saved() == f"{ITEMS}    {says}\n"

    @THE_PLUGIN
    def test_what_is_typed_differs_from_the_suggestion(self, desk: Desk, setup: Setup) -> None:
        with desk.editing(setup, changes_its_mind, ITEMS) as person:
            assert person.instance is not None
            asked = len(person.instance.completions)
            person.neovim.type("Go")
            person.neovim.type("calc", pace=HUMAN)
            person.neovim.wait_for_ghost("ulate_totals(items)")
            for key in "ium":
                person.neovim.type(key, pace=HUMAN)
                person.sees_nothing_but("_in(items)")
            person.take_ghost("_in(items)")
            print(f"{len(person.instance.completions) - asked} requests")
            assert person.saved() == f"{ITEMS}    {OTHERWISE}\n"


@THE_PLUGIN
def test_a_suggestion_out_of_date_is_not_taken(desk: Desk, setup: Setup) -> None:
    with desk.editing(setup, continues("    re", "turn a + b"), "def add(a, b):\n") as person:
        person.neovim.type("Gore")
        person.neovim.wait_for_ghost("turn a + b")
        person.neovim.type("peat<Tab>")
        # Whether a tab comes in its place is left to the setup.
        assert person.saved().rstrip() == "def add(a, b):\n    repeat"


@THE_PLUGIN
def test_tab_is_a_tab_where_nothing_is_suggested(desk: Desk, setup: Setup) -> None:
    with desk.editing(setup, continues("never typed", "!"), "all:\n", name="Makefile") as person:
        person.neovim.type("Go<C-u><Tab>echo")
        assert person.saved() == "all:\n\techo\n"


def say(neovim: Neovim, message: str) -> None:
    """The server says it, as far as Neovim can tell."""
    neovim.lua(
        "local client = vim.lsp.get_clients({ name = 'lsp_completions' })[1]"
        " client.handlers['window/showMessage'](nil, { type = 2, message = ... })",
        message,
    )


def windows(neovim: Neovim) -> int:
    return len(neovim.call("nvim_list_wins"))


@THE_PLUGIN
def test_messages_stand_one_below_the_other_and_stop_nobody(desk: Desk, setup: Setup) -> None:
    first, second = "The first message " * 9, "The second message\nhas lines " * 4
    with desk.editing(setup, continues("never typed", "!"), "") as person:
        neovim = person.neovim
        neovim.lua("vim.cmd('messages clear')")
        options = neovim.lua("return { vim.o.messagesopt, vim.o.more }")
        neovim.type("iret")
        say(neovim, f"{first}<1>")
        say(neovim, f"{second}<2>")
        neovim.type("urn")

        def both() -> bool:
            return "<1>" in neovim.screen.text and "<2>" in neovim.screen.text

        neovim.wait_for("both messages", both)
        assert windows(neovim) == 2
        assert neovim.screen.text.index("<1>") < neovim.screen.text.index("<2>")
        assert neovim.screen.text.startswith("return")
        assert person.saved() == "return\n"
        neovim.wait_for("no messages", lambda: windows(neovim) == 1)
        kept = neovim.lua("return vim.fn.execute('messages')")
        assert f"{first}<1>" in kept
        assert f"{second}<2>" in kept
        assert neovim.lua("return { vim.o.messagesopt, vim.o.more }") == options


@THE_PLUGIN
def test_a_message_that_was_closed_does_not_return(desk: Desk, setup: Setup) -> None:
    with desk.editing(setup, continues("never typed", "!"), "") as person:
        say(person.neovim, "<1>")
        person.neovim.wait_for("the message", lambda: "<1>" in person.neovim.screen.text)
        person.neovim.type(":fclose<CR>")
        person.neovim.wait_for("no message", lambda: windows(person.neovim) == 1)
        say(person.neovim, "<2>")
        person.neovim.wait_for("the other", lambda: "<2>" in person.neovim.screen.text)
        assert "<1>" not in person.neovim.screen.text
        person.neovim.type("i<Esc>")
        person.neovim.wait_for("no message", lambda: windows(person.neovim) == 1)


@THE_PLUGIN
def test_it_says_why_there_is_nothing(desk: Desk, setup: Setup) -> None:
    with desk.editing(setup, continues("never typed", "!"), "A = 1\n", name=".env") as person:
        neovim = person.neovim
        state = "return require('lsp_completions').status()"
        neovim.wait_for("the server's word", lambda: neovim.lua(state)["state"] == "off")
        assert "hold secrets" in neovim.lua(state)["reason"]
        assert "hold secrets" in neovim.lua("return require('lsp_completions').statusline()")
        neovim.type(":LspCompletions why<CR>")
        neovim.wait_for("the answer", lambda: "What helps: " in neovim.screen.text)
        assert "Files of this name hold secrets" in neovim.screen.text
        neovim.wait_for("its end", lambda: "settings file." in neovim.screen.text)
        assert "sec\nretFiles" not in neovim.screen.text
        # Another document has another answer.
        neovim.lua("vim.cmd.edit(...)", str(person.path.with_name("b.py")))
        neovim.wait_for("another word", lambda: neovim.lua(state)["state"] == "on")
        neovim.lua("vim.cmd('buffer #')")
        neovim.wait_for("the same again", lambda: neovim.lua(state)["state"] == "off")
        neovim.lua("vim.cmd('checkhealth lsp_completions')")
        health = "\n".join(neovim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))
        assert "Suggestions come from sourcegraph (fireworks/starcoder-16b)" in health
        neovim.lua("vim.cmd('bwipeout!')")


def colours(neovim: Neovim, group: str) -> dict[str, Any]:
    query = "return vim.api.nvim_get_hl(0, { name = ..., link = false })"
    return dict(neovim.lua(query, group))


@THE_PLUGIN
@pytest.mark.parametrize(
    ("commands", "colour"),
    [
        pytest.param([], 8, id="the default colours"),
        pytest.param(["set background=light"], 8, id="the default colours, light"),
        pytest.param(["colorscheme habamax"], 240, id="a scheme that has one"),
        pytest.param(["colorscheme habamax", "colorscheme default"], 8, id="default again"),
        pytest.param(["hi ComplHint guifg=#123456 ctermfg=5"], 5, id="one's own"),
        pytest.param(
            ["lua vim.api.nvim_set_hl(0, 'ComplHint', { fg = 'Red' })"],
            None,
            id="one's own, with true colour only",
        ),
        pytest.param(["hi! link ComplHint Comment"], None, id="one's own link"),
    ],
)
def test_ghost_text_is_dim_without_true_colour(
    tmp_path: Path, setup: Setup, commands: list[str], colour: int | None
) -> None:
    path = written(tmp_path / "work" / "work.py", "")
    with opened(path, setup, continues("never typed", "!")) as it:
        assert colours(it.neovim, "ComplHint")["ctermfg"] == 8
        # The tests' Neovim starts with a copy of these colours: back to what they are by default.
        for command in ["hi! link ComplHint NonText", "doautocmd ColorScheme", *commands]:
            it.neovim.lua("vim.cmd(...)", command)
        hint, base = colours(it.neovim, "ComplHint"), colours(it.neovim, "NonText")
        it.neovim.lua("vim.cmd('doautocmd ColorScheme')")
        assert colours(it.neovim, "ComplHint") == hint
        assert hint.get("ctermfg") == colour
        if not any("ComplHint" in command for command in commands):
            assert hint["fg"] == base["fg"]


@setups(Setup.PLUGIN)
def test_a_picture_for_people(tmp_path: Path, setup: Setup) -> None:
    knows = continues(f"{HEAD}\n    ", f"{BODY}\n")
    path = written(tmp_path / "work" / "shop.py", SHOP)
    with opened(path, setup, knows, size=(72, 17)) as it:
        it.neovim.type(f"Go{HEAD}<CR>")
        screen = it.neovim.wait_for_ghost(BODY)
        image = picture.draw(screen, title="shop.py — nvim")
        ghost = next(cell.style for row in screen.rows for cell in row if screen.is_ghost(cell))
        assert ghost.foreground is not None
        assert ghost.foreground != screen.foreground
        colours = {colour for _, colour in image.convert("RGB").getcolors(1 << 24) or ()}
        assert tuple(ghost.foreground.to_bytes(3)) in colours
        picture.keep(image, PICTURE)


@setups(Setup.PLUGIN)
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_the_server_leaves_with_a_killed_editor(tmp_path: Path, setup: Setup) -> None:
    path = written(tmp_path / "work" / "work.py", "def add(a, b):\n")
    with opened(path, setup, continues("retu", "rn")) as it:
        servers = it.neovim.children()
        it.neovim.kill()
        wait_until_gone(servers)


@setups(Setup.PLUGIN, Setup.PLUGIN_ON_0_11)
def test_without_an_account_the_embedded_model_suggests(tmp_path: Path, setup: Setup) -> None:
    model_file()
    path = written(tmp_path / "work" / "work.py", LOADING.rstrip(" "))
    with opened(path, setup, None) as it:
        person = Editing(it.neovim, path, "\n")
        person.neovim.type(f"Go{LOADED}")
        ghost = person.neovim.wait_for("a suggestion", lambda: person.neovim.screen.ghost)
        # Who answers is said once, where it is in nobody's way.
        person.neovim.wait_for("the model", lambda: "small model" in person.neovim.screen.text)
        person.take_ghost(ghost)
        assert person.saved() == f"{LOADING}{LOADED}{ghost}\n"
        models = embedded_models(tmp_path)
    wait_until_gone(models)
