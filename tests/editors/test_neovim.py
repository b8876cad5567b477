"""A person types in a real Neovim, sees ghost text, takes it; the saved file has the right bytes.

Neovim is set up as `editors/neovim/README.md` says, word for word.
"""

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import picture
from tests.support.neovim import Neovim, executable, running_neovim
from tests.support.sourcegraph import TOKEN, Answer, Exchange, Gate, StandIn, running_stand_in

FOLDER = Path(__file__).resolve().parents[2] / "editors" / "neovim"
PICTURE = FOLDER / "ghost-text.png"
WRITE_PICTURES = os.environ.get("LSP_COMPLETIONS_WRITE_PICTURES") == "1"

pytestmark = pytest.mark.skipif(
    executable() is None,
    reason="needs Neovim 0.12: on PATH, or LSP_COMPLETIONS_NVIM=$(tests/editors/install_neovim.sh)",
)

WITH_MENU = ("config", "menu config")

LINE_ENDS = pytest.mark.parametrize(
    "line_end", [pytest.param("\n", id="LF"), pytest.param("\r\n", id="CRLF")]
)


def continues(start: str, rest: str, *, gate: Gate | None = None) -> Callable[[Exchange], Answer]:
    """A model that knows how one text goes on, and says so wherever `start` has been typed.

    What it says of more than `start` waits for the gate: a slow model.
    """

    def script(exchange: Exchange) -> Answer:
        before, _, _ = exchange.prompt.partition("<fim_suffix>")
        for typed in range(len(rest) - 1, -1, -1):
            if before.endswith(start + rest[:typed]):
                steps = [gate] if gate and typed else []
                return Answer(*steps, rest[typed:])
        return Answer("")

    return script


@dataclass
class Editing:
    """A person at work on one file."""

    neovim: Neovim
    path: Path
    line_end: str

    def take_ghost(self, text: str) -> None:
        """Wait for the ghost text, and take it with one key."""
        self.neovim.wait_for_ghost(text)
        self.neovim.type("<Tab>")
        self.wait_for_no_ghost()

    def wait_for_no_ghost(self) -> None:
        self.neovim.wait_for("no ghost text", lambda: not self.neovim.screen.ghost)

    def take_menu_item(self, label: str) -> None:
        """Ask for the completion menu, wait for the item, and take it."""
        self.neovim.type("<C-x><C-o>")
        self.neovim.wait_for(f"the menu item {label!r}", lambda: label in self._menu())
        self.neovim.type("<C-n><C-y>")
        self.neovim.wait_for("no menu", lambda: not self._menu())

    def _menu(self) -> str:
        """What is drawn of the completion menu."""
        rows = self.neovim.screen.rows
        drawn = ([cell.text for cell in row if "Pmenu" in cell.style.groups] for row in rows)
        return "\n".join("".join(row).strip() for row in drawn if row)

    def saved(self) -> str:
        """Save; what is in the file then, with its line ends shown as `\\n` if all are right."""
        self.neovim.save()
        data = self.path.read_bytes().decode()
        assert data.count("\n") == data.count(self.line_end)
        assert "\r" not in data.replace(self.line_end, "\n")
        return data.replace(self.line_end, "\n")


@contextmanager
def editing(
    folder: Path,
    script: Callable[[Exchange], Answer],
    text: str,
    *,
    name: str = "work.py",
    line_end: str = "\n",
    size: tuple[int, int] = (80, 20),
    config: Sequence[str] = ("config",),
) -> Iterator[Editing]:
    """Neovim with `text` in a file, the server attached to it, and a model that says `script`.

    At the end Neovim is told to leave; then the server is gone too, and neither has complained.
    """
    home = folder / "home"
    path = folder / "work" / name
    path.parent.mkdir()
    path.write_bytes(text.replace("\n", line_end).encode())
    set_up(home)
    with running_stand_in(script) as instance:
        environment = {
            "PATH": os.pathsep.join([str(command(folder)), os.environ["PATH"]]),
            "SRC_ENDPOINT": instance.url,
            "SRC_ACCESS_TOKEN": TOKEN,
        }
        with running_neovim(
            path,
            home=home,
            config=documented(*config),
            environment=environment,
            size=size,
        ) as neovim:
            servers = attached_servers(neovim)
            yield Editing(neovim, path, line_end)
            neovim.quit()
            wait_until_gone(servers)
        wait_until_quiet(instance)
    assert complaints(home) == []


def set_up(home: Path) -> None:
    """What the README says to copy, and which model to ask."""
    config = home / ".config"
    (config / "nvim" / "lsp").mkdir(parents=True)
    shutil.copy(FOLDER / "lsp" / "lsp_completions.lua", config / "nvim" / "lsp")
    (config / "lsp-completions").mkdir()
    (config / "lsp-completions" / "config.toml").write_text('model = "fireworks/starcoder-16b"\n')


def documented(*marks: str) -> str:
    """The lines that the README says to add to `init.lua`, by the comments before them."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"<!-- (.*?) -->\s*```lua\n(.*?)```", text, re.DOTALL))
    return "".join(blocks[mark] for mark in marks)


def command(folder: Path) -> Path:
    """A folder with the command `lsp-completions`, which runs what is tested here."""
    binaries = folder / "bin"
    binaries.mkdir()
    script = binaries / "lsp-completions"
    # -P: not what happens to lie in the folder of the edited file.
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m lsp_completions "$@"\n')
    script.chmod(0o755)
    return binaries


def attached_servers(neovim: Neovim) -> list[int]:
    """Wait until the server knows the file; returns its process."""
    ready = (
        "local client = vim.lsp.get_clients({ bufnr = 0 })[1] return client and client.initialized"
    )
    neovim.wait_for("the server attached", lambda: neovim.lua(ready))
    return neovim.children()


def wait_until_gone(processes: list[int]) -> None:
    assert processes
    deadline = time.monotonic() + 10
    while any(is_running(pid) for pid in processes):
        assert time.monotonic() < deadline, "the server outlived its editor"
        time.sleep(0.05)  # nobody tells when somebody else's process ends


def is_running(pid: int) -> bool:
    """Whether a process still runs; one that nobody has waited for yet does not."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        os.kill(pid, 0)
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def wait_until_quiet(instance: StandIn) -> None:
    """No stream is left that nobody reads."""
    instance.wait_until(lambda: not instance.streaming)


def complaints(home: Path) -> list[str]:
    """What Neovim's log has of the server: its stderr, and every answer that was an error."""
    log = home / ".local" / "state" / "nvim" / "lsp.log"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [line for line in lines if not line.startswith("[START]")]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A file, what is typed into it, what the model knows, and what is in the file at last."""

    text: str
    keys: str
    knows: tuple[str, str]
    ghost: str | None = None  # where it is not all that the model knows
    saved: str
    name: str = "work.py"


ROWS = [
    pytest.param(
        Row(
            text="def add(a, b):\n",
            keys="Goretu",
            knows=("    retu", "rn a + b"),
            saved="def add(a, b):\n    return a + b\n",
        ),
        id="the rest of a line",
    ),
    pytest.param(
        Row(
            text="class Box:\n    def area(self):\n        pass\n",
            keys="Gccif self.w <lt> 0:",
            knows=("if self.w < 0:", '\n            raise ValueError("w")\n'),
            ghost='            raise ValueError("w")',
            saved=(
                "class Box:\n    def area(self):\n"
                '        if self.w < 0:\n            raise ValueError("w")\n'
            ),
        ),
        id="a block in an indented line",
    ),
    pytest.param(
        Row(
            text="func area(w, h int) int {\n}\n",
            keys="ggoif w <lt> 0 {",
            knows=("\tif w < 0 {", "\n\t\treturn 0\n\t}\n"),
            ghost="                return 0\n        }",
            saved="func area(w, h int) int {\n\tif w < 0 {\n\t\treturn 0\n\t}\n}\n",
            name="work.go",
        ),
        id="a block indented with tabs",
    ),
    pytest.param(
        Row(
            text="total = 1\nprint()\n",
            keys="Gf)ito",
            knows=("print(to", "tal)\n"),
            ghost="tal",
            saved="total = 1\nprint(total)\n",
        ),
        id="before a bracket that is already closed",
    ),
    pytest.param(
        Row(
            text="total = 1\nprint()\n",
            keys="Gf)ito",
            knows=("print(to", "tal, end='')\n"),
            ghost="tal, end=''",
            saved="total = 1\nprint(total, end='')\n",
        ),
        id="several arguments before a bracket that is already closed",
    ),
    pytest.param(
        Row(
            text='face = "😀🎉"  # é\n',
            keys="GA, then 👍🏽 ",
            knows=("# é, then 👍🏽 ", "and no more"),
            saved='face = "😀🎉"  # é, then 👍🏽 and no more\n',
        ),
        id="after an emoji",
    ),
]


@LINE_ENDS
@pytest.mark.parametrize("row", ROWS)
def test_ghost_text_is_seen_and_taken(tmp_path: Path, row: Row, line_end: str) -> None:
    with editing(
        tmp_path, continues(*row.knows), row.text, name=row.name, line_end=line_end
    ) as person:
        person.neovim.type(row.keys)
        person.take_ghost(row.knows[1] if row.ghost is None else row.ghost)
        assert person.saved() == row.saved


@LINE_ENDS
def test_one_undo_takes_the_suggestion_back(tmp_path: Path, line_end: str) -> None:
    knows = continues("    if a", " > b:\n        return a\n")
    with editing(tmp_path, knows, "def most(a, b):\n", line_end=line_end) as person:
        person.neovim.type("Goif a")
        person.take_ghost(" > b:\n        return a")
        assert person.saved() == "def most(a, b):\n    if a > b:\n        return a\n"
        person.neovim.type("u")
        assert person.saved() == "def most(a, b):\n    if a\n"
        person.neovim.type("u")
        assert person.saved() == "def most(a, b):\n"


@LINE_ENDS
def test_a_menu_item_of_several_lines_in_an_indented_line(tmp_path: Path, line_end: str) -> None:
    text = "class Box:\n    def area(self):\n        pass\n"
    knows = continues("for side in self", '.sides:\n            cost = f"${side}"\n')
    with editing(tmp_path, knows, text, line_end=line_end, config=WITH_MENU) as person:
        person.neovim.type("Gccfor side in self")
        person.take_menu_item("self.sides: …")
        assert person.saved() == (
            "class Box:\n    def area(self):\n"
            '        for side in self.sides:\n            cost = f"${side}"\n'
        )


def test_a_single_item_is_inserted_without_a_menu(tmp_path: Path) -> None:
    knows = continues("    if a", "ll(items):\n        return 1\n")
    with editing(tmp_path, knows, "def some(items):\n") as person:
        person.neovim.type("Goif a<C-x><C-o>")
        shown = "all(items): …"
        person.neovim.wait_for("the item", lambda: shown in person.neovim.screen.text)
        person.neovim.type(" or 2")
        assert person.saved() == "def some(items):\n    if all(items):\n        return 1 or 2\n"


def test_a_menu_item_of_one_line(tmp_path: Path) -> None:
    knows = continues("retu", "rn a + b")
    with editing(tmp_path, knows, "def add(a, b):\n", config=WITH_MENU) as person:
        person.neovim.type("Goretu")
        person.take_menu_item("return a + b")
        assert person.saved() == "def add(a, b):\n    return a + b\n"


@pytest.mark.parametrize(
    ("text", "keys", "start", "rest", "ghost", "saved"),
    [
        pytest.param(
            "def add(a, b):\n",
            "Gore",
            "    re",
            "turn a + b",
            "turn a + b",
            "def add(a, b):\n    return a + b\n",
            id="at the end of a line",
        ),
        pytest.param(
            "total = 1\nprint()\n",
            "Gf)it",
            "print(t",
            "otal) or total",
            "otal) or total",
            "total = 1\nprint(total) or total\n",
            id="where the rest of the line is replaced",
        ),
    ],
)
class TestTypedThrough:
    """Some of the suggestion is typed by hand, then the rest is taken."""

    def test_while_the_model_is_slow(
        self, tmp_path: Path, text: str, keys: str, start: str, rest: str, ghost: str, saved: str
    ) -> None:
        gate = Gate()
        with editing(tmp_path, continues(start, rest, gate=gate), text) as person:
            person.neovim.type(keys)
            person.neovim.wait_for_ghost(ghost)
            person.neovim.type(rest[:3] + "<Tab>")
            person.wait_for_no_ghost()
            assert person.saved() == saved
            gate.open()

    def test_at_leisure(
        self, tmp_path: Path, text: str, keys: str, start: str, rest: str, ghost: str, saved: str
    ) -> None:
        with editing(tmp_path, continues(start, rest), text) as person:
            person.neovim.type(keys)
            person.neovim.wait_for_ghost(ghost)
            for typed in range(1, 4):
                person.neovim.type(rest[typed - 1])
                person.neovim.wait_for_ghost(ghost[typed:])
            person.neovim.type("<Tab>")
            person.wait_for_no_ghost()
            assert person.saved() == saved


def test_a_suggestion_out_of_date_is_not_taken(tmp_path: Path) -> None:
    with editing(tmp_path, continues("    re", "turn a + b"), "def add(a, b):\n") as person:
        person.neovim.type("Gore")
        person.neovim.wait_for_ghost("turn a + b")
        person.neovim.type("peat<Tab>")
        assert person.saved() == "def add(a, b):\n    repeat\n"


def test_tab_is_a_tab_where_nothing_is_suggested(tmp_path: Path) -> None:
    with editing(tmp_path, continues("never typed", "!"), "all:\n", name="Makefile") as person:
        person.neovim.type("Go<C-u><Tab>echo")
        assert person.saved() == "all:\n\techo\n"


def test_a_picture_for_people(tmp_path: Path) -> None:
    text = """from dataclasses import dataclass


@dataclass
class Item:
    name: str
    price: float
    quantity: int = 1


"""
    head = "def total(items: list[Item], discount: float = 0.0) -> float:"
    body = '''    """What all of it costs, after the discount."""
    subtotal = sum(item.price * item.quantity for item in items)
    return round(subtotal * (1 - discount), 2)'''
    knows = continues(f"{head}\n    ", f"{body.lstrip()}\n")
    with editing(tmp_path, knows, text, name="shop.py", size=(72, 17)) as person:
        person.neovim.type(f"Go{head}<CR>")
        screen = person.neovim.wait_for_ghost(body.lstrip())
        image = picture.draw(screen, title="shop.py — nvim")
        ghost = next(cell.style for row in screen.rows for cell in row if screen.is_ghost(cell))
        assert ghost.foreground is not None
        assert ghost.foreground != screen.foreground
        colours = {colour for _, colour in image.convert("RGB").getcolors(1 << 24) or ()}
        assert tuple(ghost.foreground.to_bytes(3)) in colours
        if WRITE_PICTURES:
            image.save(PICTURE, optimize=True)
        person.take_ghost(screen.ghost)
        assert person.saved() == f"{text}{head}\n{body}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_the_server_leaves_with_a_killed_editor(tmp_path: Path) -> None:
    with editing(tmp_path, continues("retu", "rn"), "def add(a, b):\n") as person:
        servers = person.neovim.children()
        person.neovim.kill()
        wait_until_gone(servers)
