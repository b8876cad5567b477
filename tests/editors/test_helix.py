"""The scenarios of all editors in a real Helix, and what is Helix's alone."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

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
from tests.editors.helix_driver import ENTER, TAB, HelixDriver, draw, running_desk
from tests.editors.scenarios import Case, Desk, Editor, rows
from tests.support import picture
from tests.support.at_work import (
    HUMAN,
    LOADED,
    LOADING,
    THINKS,
    Script,
    continues,
    embedded_models,
    wait_until_gone,
    written,
)
from tests.support.helix import executable
from tests.support.llama_server import model_file
from tests.support.screen import Screen
from tests.support.shared import Shared
from tests.support.sourcegraph import Gate, StandIn

FOLDER = Path(__file__).resolve().parents[2] / "editors" / "helix"
PICTURE = FOLDER / "menu.png"

pytestmark = pytest.mark.skipif(
    executable() is None,
    reason="needs Helix: LSP_COMPLETIONS_HELIX=$(tests/editors/install_helix.sh)",
)


Desks = Shared[bool, Desk]
"""One Helix for all that somebody signed in does."""


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    def start(signed_in: bool) -> AbstractContextManager[Desk]:
        return running_desk(tmp_path_factory.mktemp("desk"), signed_in=signed_in)

    desks = Shared(start, lambda desk: driver_of(desk).helix.kill())
    yield desks
    desks.close()


def driver_of(desk: Desk) -> HelixDriver:
    assert isinstance(desk.driver, HelixDriver)
    return desk.driver


@pytest.mark.parametrize("case", rows(Editor.HELIX))
def test_a_scenario(desks: Desks, case: Case) -> None:
    signed_in = case.scenario.signed_in
    # What is missing is told once.
    with desks.using(signed_in, once=not signed_in) as desk:
        desk.play(case)


@dataclass
class Editing:
    """Somebody in insert mode at the end of an indented line."""

    driver: HelixDriver
    instance: StandIn
    path: Path
    line_end: str
    asked_before: int

    def asked(self) -> int:
        """How often the model was asked."""
        return len(self.instance.completions) - self.asked_before

    @property
    def screen(self) -> Screen:
        return self.driver.helix.screen

    def type(self, keys: str) -> None:
        """As fast as a person types."""
        self.driver.helix.type(keys, pace=HUMAN)

    def take(self, label: str) -> None:
        """Wait for the entry, choose it and take it."""
        self.driver.helix.wait_for_text(label)
        self.driver.choose(lambda entry: entry.label == label)
        self.type(ENTER)

    def saved(self) -> str:
        """Save; what is in the file then, with its line ends shown as `\\n` if all are right."""
        self.driver.save()
        return saved_text(self.path, self.line_end)


@contextmanager
def editing(
    desks: Desks, folder: Path, script: Script, *, line_end: str = "\n", name: str = "work.py"
) -> Iterator[Editing]:
    """Below the items, with a model that says `script`."""
    path = written(folder / name, f"{ITEMS}    \n", line_end)
    with desks.using(True) as desk:
        driver = driver_of(desk)
        desk.instance.script = script
        before = len(desk.instance.completions)
        driver.open(path, 2, 4)
        yield Editing(driver, desk.instance, path, line_end, before)
        driver.close()
        desk.instance.wait_until(lambda: not desk.instance.streaming)


@LINE_ENDS
@pytest.mark.parametrize(
    ("says", "label"),
    [
        pytest.param(ONE_LINE, ONE_LINE, id="one line"),
        pytest.param(SEVERAL, f"{WORD}( …", id="several lines"),
    ],
)
def test_a_word_is_typed_through_its_suggestion(
    desks: Desks, tmp_path: Path, says: str, label: str, line_end: str
) -> None:
    script = continues("    ", f"{says}\n", delay=THINKS)
    with editing(desks, tmp_path, script, line_end=line_end) as person:
        seen = []
        for key in WORD:
            person.type(key)
            seen.append(label in person.screen.text)
        # Once it is there it stays.
        assert seen[-1]
        assert seen == sorted(seen)
        requests = person.asked()
        print(f"{requests} requests for {len(WORD)} keys, on the screen after {seen.count(True)}")
        assert requests <= MOST_REQUESTS
        person.take(label)
        assert person.saved() == f"{ITEMS}    {says}\n"


def test_all_of_a_suggestion_is_typed_by_hand(desks: Desks, tmp_path: Path) -> None:
    script = continues("    ", f"{WORD}(items)\n    return tax", delay=THINKS)
    with editing(desks, tmp_path, script) as person:
        person.type(f"{WORD}(items){ENTER}return tax")
        assert person.saved() == f"{ITEMS}    {WORD}(items)\n    return tax\n"
        print(f"{person.asked()} requests")


def test_what_is_typed_differs_from_the_suggestion(desks: Desks, tmp_path: Path) -> None:
    with editing(desks, tmp_path, changes_its_mind, name="work.lua") as person:
        person.type("calc")
        person.driver.helix.wait_for_text(ONE_LINE)
        person.type("i")
        person.driver.helix.wait_for("it gone", lambda: f"{WORD}(" not in person.screen.text)
        person.type("um")
        person.take(OTHERWISE)
        assert person.saved() == f"{ITEMS}    {OTHERWISE}\n"
        print(f"{person.asked()} requests")


def test_an_answer_that_comes_late_fits_what_was_typed_meanwhile(
    desks: Desks, tmp_path: Path
) -> None:
    gate = Gate()
    script = continues("    ", ONE_LINE, gate=gate)
    with editing(desks, tmp_path, script, name="work.lua") as person:
        person.type("ca")
        person.instance.wait_until(lambda: person.instance.streaming)
        person.type("lcu")
        # Nothing more is typed: Helix asks no second time.
        gate.open()
        person.take(ONE_LINE)
        assert person.saved() == f"{ITEMS}    {ONE_LINE}\n"


def test_one_types_on_behind_an_entry_that_is_shown_in_the_text(
    desks: Desks, tmp_path: Path
) -> None:
    script = continues("    ", f"{SEVERAL}\n", delay=THINKS)
    with editing(desks, tmp_path, script) as person:
        person.type("calcu")
        person.driver.helix.wait_for_text(f"{WORD}( …")
        person.type(f"{TAB}  # {WORD}")
        assert person.saved() == f"{ITEMS}    {SEVERAL}  # {WORD}\n"


def test_a_refused_entry_leaves_the_text_alone(desks: Desks, tmp_path: Path) -> None:
    script = continues("    ", f"{SEVERAL}\n", delay=THINKS)
    with editing(desks, tmp_path, script) as person:
        person.type("calcu")
        person.driver.helix.wait_for_text(f"{WORD}( …")
        person.type(TAB)
        person.driver.helix.wait_for_text("        items,")
        person.type("\x03s = 1")
        assert person.saved() == f"{ITEMS}    calcus = 1\n"


def test_the_server_leaves_with_a_killed_editor(tmp_path: Path) -> None:
    with running_desk(tmp_path) as desk:
        driver_of(desk).helix.kill()


def test_one_reads_how_suggestions_were_switched(desks: Desks, tmp_path: Path) -> None:
    with editing(desks, tmp_path, continues("never typed", "!")) as person:
        for command, said in (
            ("toggle", "off"),
            ("toggle", "on"),
            ('disable {"workspace": true}', "off in this workspace"),
            ('enable {"workspace": true}', "on in this workspace"),
        ):
            person.driver.command(f":lsp-workspace-command lspCompletions.{command}{ENTER}")
            person.driver.helix.wait_for_text(f"lsp-completions: Suggestions are {said}.")


def test_the_menu_that_comes_where_insert_mode_begins_is_not_asked_for_by_hand(
    desks: Desks, tmp_path: Path
) -> None:
    with editing(desks, tmp_path, continues("never typed", "!")) as person:
        driver = person.driver
        driver.type("s")
        driver.switch_off()
        driver.type("s")
        driver.pause()
        assert driver.messages() == []
        for _ in range(3):
            driver.ask()
            driver.pause()
        driver.helix.wait_for_text("lsp-completions: nothing for ")
        driver.switch_on()


def test_without_an_account_the_embedded_model_suggests(tmp_path: Path) -> None:
    model_file()
    path = written(tmp_path / "work.py", f"{LOADING}\n")
    with running_desk(tmp_path, embedded=True) as desk:
        driver = driver_of(desk)
        driver.open(path, 5, 8)
        driver.type(LOADED)
        entry = driver.see_ours()
        assert entry.label
        driver.choose(lambda each: each.label == entry.label)
        driver.helix.type(ENTER)
        driver.see_no_ghost()
        driver.save()
        saved = path.read_text()
        print(saved)
        assert saved.startswith(f"{LOADING}{LOADED}{entry.label.removesuffix(' …')}")
        models = embedded_models(tmp_path)
    wait_until_gone(models)


def test_a_picture_for_people(tmp_path: Path) -> None:
    text = """from dataclasses import dataclass


@dataclass
class Item:
    name: str
    price: float


def total(items: list[Item]) -> float:
    subtotal = 0.0
    \

"""
    says = "for item in items:\n        subtotal += item.price\n    return subtotal\n"
    path = written(tmp_path / "shop.py", text)
    with running_desk(tmp_path, size=(96, 18)) as desk:
        desk.instance.script = continues("    ", says)
        driver, helix = driver_of(desk), driver_of(desk).helix
        driver.open(path, 11, 4)
        driver.type("fo")
        driver.see_ghost(says.removeprefix("fo"))
        driver.choose(lambda entry: entry.label == "for item in items: …")
        helix.wait_for("the preview", lambda: helix.screen.text.count("subtotal +=") == 2)
        picture.keep(draw(helix.screen, "shop.py — hx"), PICTURE)
        driver.close()
