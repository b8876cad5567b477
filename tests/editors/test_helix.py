"""A person types in a real Helix, takes an entry of its menu; the saved file has the right bytes.

Helix is set up as `editors/helix/README.md` says, word for word.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.support import picture
from tests.support.at_work import (
    HUMAN,
    THINKS,
    Script,
    command,
    continues,
    wait_until_gone,
    written,
)
from tests.support.helix import executable
from tests.support.neovim import own_folders
from tests.support.sourcegraph import TOKEN, Answer, Exchange, Gate, StandIn, running_stand_in
from tests.support.terminal import Terminal, running_in_terminal

FOLDER = Path(__file__).resolve().parents[2] / "editors" / "helix"
PICTURE = FOLDER / "menu.png"
WRITE_PICTURES = os.environ.get("LSP_COMPLETIONS_WRITE_PICTURES") == "1"

pytestmark = pytest.mark.skipif(
    executable() is None,
    reason="needs Helix: LSP_COMPLETIONS_HELIX=$(tests/editors/install_helix.sh)",
)
LINE_ENDS = pytest.mark.parametrize(
    "line_end", [pytest.param("\n", id="LF"), pytest.param("\r\n", id="CRLF")]
)

ESCAPE, ENTER, TAB = "\x1b", "\r", "\t"


@dataclass
class Editing:
    """A person at work on one file."""

    helix: Terminal
    instance: StandIn
    path: Path
    line_end: str
    home: Path

    def type(self, keys: str) -> None:
        """As fast as a person types."""
        self.helix.type(keys, pace=HUMAN)

    def command(self, keys: str) -> None:
        """To normal mode, and then these keys."""
        self.helix.type(ESCAPE)
        self.helix.wait_for_text(" NOR ")
        self.helix.type(keys)

    def insert(self, keys: str) -> None:
        """Keys that lead to insert mode."""
        self.helix.type(keys)
        self.helix.wait_for_text(" INS ")

    def take(self, label: str) -> None:
        """Wait for the entry, choose it and take it."""
        self.helix.wait_for_text(label)
        self.helix.type(TAB + ENTER)

    def saved(self) -> str:
        """Save; what is in the file then, with its line ends shown as `\\n` if all are right."""
        self.command(f":w{ENTER}")
        self.helix.wait_for_text("written")
        data = self.path.read_bytes().decode()
        assert data.count("\n") == data.count(self.line_end)
        assert "\r" not in data.replace(self.line_end, "\n")
        return data.replace(self.line_end, "\n")


@contextmanager
def editing(
    folder: Path,
    script: Script,
    text: str,
    *,
    name: str = "work.py",
    line_end: str = "\n",
    size: tuple[int, int] = (80, 24),
    leaves: bool = True,
) -> Iterator[Editing]:
    """Helix with `text` in a file, the server attached to it, and a model that says `script`.

    At the end Helix is told to leave, unless it has left by then, and then the server is gone too.
    """
    program = executable()
    assert program is not None
    home = folder / "home"
    languages, config = documented()
    for path, content in (
        (home / ".config" / "helix" / "languages.toml", languages),
        (home / ".config" / "helix" / "config.toml", config),
        (
            home / ".config" / "lsp-completions" / "config.toml",
            'model = "fireworks/starcoder-16b"\n',
        ),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    path = written(folder / "work" / name, text, line_end)
    with running_stand_in(script) as instance:
        environment = {
            **own_folders(home),
            "PATH": os.pathsep.join([str(command(folder)), os.environ["PATH"]]),
            "SRC_ENDPOINT": instance.url,
            "SRC_ACCESS_TOKEN": TOKEN,
        }
        log = home / ".cache" / "helix" / "helix.log"
        with running_in_terminal(
            [program, "-v", str(path)],
            folder=path.parent,
            environment=environment,
            size=size,
        ) as helix:
            helix.wait_for(
                "the server attached",
                lambda: log.exists() and "textDocument/didOpen" in log.read_text(encoding="utf-8"),
            )
            # A server that has just been started may answer its first request too late, and Helix
            # asks again at the next key only.
            instance.wait_until(lambda: instance.requests)
            servers = [int((folder / "pid").read_text())]
            person = Editing(helix, instance, path, line_end, home)
            yield person
            if leaves:
                person.command(f":q!{ENTER}")
            helix.process.wait(10)
            wait_until_gone(servers)
        instance.wait_until(lambda: not instance.streaming)


def documented() -> tuple[str, str]:
    """The lines that the README says to put into `languages.toml` and into `config.toml`."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"<!-- (.*?) -->\s*```toml\n(.*?)```", text, re.DOTALL))
    return blocks["languages"], blocks["config"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A file, what is typed into it, what the model knows, and what is in the file at last."""

    text: str
    insert: str
    keys: str
    knows: tuple[str, str]
    label: str
    saved: str


SIDES = "class Box:\n    def area(self):\n        cost = 0\n"

ROWS = [
    pytest.param(
        Row(
            text="def add(a, b):\n    pass\n",
            insert="jglo",
            keys="return",
            knows=("    ret", "urn a + b"),
            label="return a + b",
            saved="def add(a, b):\n    pass\n    return a + b\n",
        ),
        id="one line",
    ),
    pytest.param(
        Row(
            text=SIDES,
            insert="jjglo",
            keys="for si",
            knows=("        for si", 'de in self:\n            cost += f"${side}\\n"\n'),
            label="side in self: …",
            saved=(f'{SIDES}        for side in self:\n            cost += f"${{side}}\\n"\n'),
        ),
        id="several lines in an indented line",
    ),
    pytest.param(
        Row(
            text='face = "😀🎉"\n',
            insert="A",
            keys=" + é_na",
            knows=('face = "😀🎉" + é_na', "me + 1"),
            label="é_name + 1",
            saved='face = "😀🎉" + é_name + 1\n',
        ),
        id="after an emoji",
    ),
    pytest.param(
        Row(
            text='    face = "😀"\n',
            insert="A",
            keys=" if se",
            knows=('    face = "😀" if se', "lf else (\n        None\n    )\n"),
            label="self else ( …",
            saved='    face = "😀" if self else (\n        None\n    )\n',
        ),
        id="several lines after an emoji",
    ),
    pytest.param(
        Row(
            text="total = 1\n",
            insert="o",
            keys="print(to",
            knows=("print(to", "tal, end='')\n"),
            label="total, end=''",
            saved="total = 1\nprint(total, end='')\n",
        ),
        id="before a bracket that Helix has closed",
    ),
]


@LINE_ENDS
@pytest.mark.parametrize("row", ROWS)
def test_an_entry_is_seen_and_taken(tmp_path: Path, row: Row, line_end: str) -> None:
    script = continues(*row.knows, delay=THINKS)
    with editing(tmp_path, script, row.text, line_end=line_end) as person:
        person.insert(row.insert)
        person.type(row.keys)
        person.take(row.label)
        assert person.saved() == row.saved


ITEMS = "def sum_of(items):\n    tax = 1\n"
WORD = "calculate_totals"
SEVERAL = f"{WORD}(\n        items,\n        tax,\n    )\n"


@LINE_ENDS
@pytest.mark.parametrize(
    ("says", "label"),
    [
        pytest.param(f"{WORD}(items)", f"{WORD}(items)", id="one line"),
        pytest.param(SEVERAL, f"{WORD}( …", id="several lines"),
    ],
)
def test_a_word_is_typed_through_its_suggestion(
    tmp_path: Path, says: str, label: str, line_end: str
) -> None:
    script = continues("    ", says, delay=THINKS)
    with editing(tmp_path, script, ITEMS, line_end=line_end) as person:
        person.insert("jglo")
        seen = []
        for key in WORD:
            person.type(key)
            seen.append(label in person.helix.screen.text)
        # Once it is there it stays.
        assert seen[-1]
        assert seen == sorted(seen)
        requests = len(person.instance.completions)
        print(f"{requests} requests for {len(WORD)} keys, on the screen after {seen.count(True)}")
        assert requests <= 4
        person.take(label)
        assert person.saved() == f"{ITEMS}    {says.rstrip()}\n"


def test_all_of_a_suggestion_is_typed_by_hand(tmp_path: Path) -> None:
    script = continues("    ", f"{WORD}(items)\n    return tax", delay=THINKS)
    with editing(tmp_path, script, ITEMS) as person:
        person.insert("jglo")
        person.type(f"{WORD}(items){ENTER}return tax")
        assert person.saved() == f"{ITEMS}    {WORD}(items)\n    return tax\n"
        print(f"{len(person.instance.completions)} requests")


def test_what_is_typed_differs_from_the_suggestion(tmp_path: Path) -> None:
    first = continues("    ", f"{WORD}(items)", delay=THINKS)
    second = continues("    calcium", "_in(items)", delay=THINKS)

    def script(exchange: Exchange) -> Answer:
        return (second if "calciu" in exchange.prompt else first)(exchange)

    with editing(tmp_path, script, ITEMS) as person:
        person.insert("jglo")
        person.type("calc")
        person.helix.wait_for_text(f"{WORD}(items)")
        person.type("i")
        person.helix.wait_for("it gone", lambda: f"{WORD}(" not in person.helix.screen.text)
        person.type("um")
        person.take("calcium_in(items)")
        assert person.saved() == f"{ITEMS}    calcium_in(items)\n"
        print(f"{len(person.instance.completions)} requests")


def test_an_answer_that_comes_late_fits_what_was_typed_meanwhile(tmp_path: Path) -> None:
    gate = Gate()
    script = continues("    ", f"{WORD}(items)", gate=gate)
    with editing(tmp_path, script, ITEMS) as person:
        person.insert("jglo")
        person.type("ca")
        person.instance.wait_until(lambda: person.instance.streaming)
        person.type("lcu")
        # Nothing more is typed: Helix asks no second time.
        gate.open()
        person.take(f"{WORD}(items)")
        assert person.saved() == f"{ITEMS}    {WORD}(items)\n"


def test_one_types_on_behind_an_entry_that_is_shown_in_the_text(tmp_path: Path) -> None:
    script = continues("    ", SEVERAL, delay=THINKS)
    with editing(tmp_path, script, ITEMS) as person:
        person.insert("jglo")
        person.type("calcu")
        person.helix.wait_for_text(f"{WORD}( …")
        person.type(f"{TAB}  # {WORD}")
        assert person.saved() == f"{ITEMS}    {SEVERAL.rstrip()}  # {WORD}\n"


def test_a_refused_entry_leaves_the_text_alone(tmp_path: Path) -> None:
    script = continues("    ", SEVERAL, delay=THINKS)
    with editing(tmp_path, script, ITEMS) as person:
        person.insert("jglo")
        person.type("calcu")
        person.helix.wait_for_text(f"{WORD}( …")
        person.type(TAB)
        person.helix.wait_for_text("        items,")
        person.type("\x03s = 1")
        assert person.saved() == f"{ITEMS}    calcus = 1\n"


def test_the_server_leaves_with_a_killed_editor(tmp_path: Path) -> None:
    with editing(tmp_path, continues("never typed", "!"), ITEMS, leaves=False) as person:
        person.helix.kill()


def test_a_picture_for_people(tmp_path: Path) -> None:
    text = """from dataclasses import dataclass


@dataclass
class Item:
    name: str
    price: float


def total(items: list[Item]) -> float:
    subtotal = 0.0
"""
    says = "for item in items:\n        subtotal += item.price\n    return subtotal\n"
    with editing(tmp_path, continues("    ", says), text, name="shop.py", size=(96, 18)) as person:
        person.insert("geglo")
        person.type("fo")
        person.helix.wait_for_text("for item in items: …")
        person.helix.type(TAB)
        person.helix.wait_for(
            "the preview", lambda: person.helix.screen.text.count("subtotal +=") == 2
        )
        screen = person.helix.screen
        paper = screen.rows[0][0].style.background
        assert paper is not None
        screen = replace(screen, background=paper)
        image = picture.draw(screen, title="shop.py — hx")
        assert len(image.convert("RGB").getcolors(1 << 24) or ()) > 10
        if WRITE_PICTURES:
            image.save(PICTURE, optimize=True)
