"""The scenarios of all editors, in real Neovims set up as `editors/neovim/README.md` says."""

import re
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.editors.neovim_driver import FOLDER, VERSIONS, NeovimDriver, running_desk
from tests.editors.scenarios import Case, Desk, Editor, cases_of
from tests.support.at_work import continues
from tests.support.neovim import executable
from tests.support.shared import Shared
from tests.support.sourcegraph import StandIn

CONFIG = "require('lsp_completions').setup()\nvim.o.completeopt = 'menuone,noselect,popup'\n"


class Desks(Shared[tuple[Editor, bool], Desk]):
    """One Neovim of each version for all that is played by somebody signed in."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        def start(kind: tuple[Editor, bool]) -> AbstractContextManager[Desk]:
            editor, signed_in = kind
            folder = factory.mktemp(editor.name)
            return running_desk(editor, folder, CONFIG, signed_in=signed_in)

        super().__init__(start, kill)

    @contextmanager
    def person(
        self, editor: Editor, path: Path, text: str, *, signed_in: bool = True
    ) -> Iterator[tuple[NeovimDriver, StandIn]]:
        """Somebody in insert mode at the end of a new file."""
        path.write_text(text)
        # What is missing is told once, and the next test needs to hear it too.
        with self.using((editor, signed_in), once=not signed_in) as desk:
            assert isinstance(desk.driver, NeovimDriver)
            *_, last = text.splitlines()
            desk.driver.open(path, text.count("\n") - 1, len(last))
            yield desk.driver, desk.instance
            desk.driver.close()


def kill(desk: Desk) -> None:
    assert isinstance(desk.driver, NeovimDriver)
    desk.driver.neovim.kill()


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    desks = Desks(tmp_path_factory)
    yield desks
    desks.close()


def missing(editor: Editor) -> pytest.MarkDecorator:
    version = VERSIONS[editor]
    reason = f"needs the Neovim that {version.value[0]} names"
    return pytest.mark.skipif(executable(version) is None, reason=reason)


EACH_NEOVIM = pytest.mark.parametrize(
    "editor", [pytest.param(each, id=each.value, marks=missing(each)) for each in VERSIONS]
)


def cases() -> Iterator[object]:
    for editor in VERSIONS:
        for case in cases_of(editor):
            yield pytest.param(editor, case, id=f"{editor.value}, {case}", marks=missing(editor))


@pytest.mark.parametrize(("editor", "case"), list(cases()))
def test_a_scenario(desks: Desks, editor: Editor, case: Case) -> None:
    signed_in = case.scenario.signed_in
    with desks.using((editor, signed_in), once=not signed_in) as desk:
        desk.play(case)


ADD = "def add(a, b):\n    re\n"
KNOWS = continues("    re", "turn a + b")


def says(person: NeovimDriver, words: str) -> None:
    """Wait until the status line says this."""
    line = "return require('lsp_completions').statusline()"
    said: list[str] = []

    def there() -> bool:
        said[:] = [str(person.neovim.lua(line))]
        return said[0].startswith(words)

    person.neovim.wait_for(f"{words!r} in the status line", there)


@EACH_NEOVIM
def test_the_status_line_says_how_things_are_and_why(
    desks: Desks, editor: Editor, tmp_path: Path
) -> None:
    with desks.person(editor, tmp_path / "work.py", ADD) as (person, instance):
        instance.script = KNOWS
        person.see_ghost("turn a + b")
        says(person, "suggestions")
        for where, reason in (
            ("buffer", "in this buffer"),
            ("filetype", "for python"),
            ("everywhere", "Suggestions are switched off."),
        ):
            person.neovim.lua("vim.cmd(...)", f"LspCompletions disable {where}")
            person.see_no_ghost()
            says(person, f"no suggestions: {reason}")
            person.neovim.lua("vim.cmd(...)", f"LspCompletions toggle {where}")
            person.neovim.wait_for(
                "it on again", lambda: person.neovim.lua(STATE) in ({"state": "on"}, BUSY)
            )
            person.neovim.type(" <BS>")
            person.see_ghost("turn a + b")


STATE = "return require('lsp_completions').status()"
BUSY = {"state": "busy"}


@EACH_NEOVIM
def test_the_command_completes_its_words(desks: Desks, editor: Editor, tmp_path: Path) -> None:
    with desks.person(editor, tmp_path / "work.py", ADD) as (person, _):

        def offered(typed: str) -> list[str]:
            words: list[str] = person.neovim.call(
                "nvim_call_function", "getcompletion", [typed, "cmdline"]
            )
            return words

        assert offered("LspCompletions ") == [
            *("check", "disable", "enable", "health", "log", "login", "logout"),
            *("restart", "status", "suggest", "toggle", "why"),
        ]
        assert offered("LspCompletions toggle ") == [
            "buffer",
            "everywhere",
            "filetype",
            "workspace",
        ]
        assert "python" in offered("LspCompletions toggle filetype pyth")
        assert offered("LspCompletions log ") == []


@EACH_NEOVIM
def test_by_hand_from_normal_mode_after_a_restart(
    desks: Desks, editor: Editor, tmp_path: Path
) -> None:
    with desks.person(editor, tmp_path / "work.py", ADD) as (person, instance):
        instance.script = KNOWS
        before = person.servers()
        person.neovim.type("<Esc>")
        person.neovim.lua("vim.cmd('LspCompletions restart')")
        person.neovim.wait_for("another", lambda: person.servers() not in ([], before))
        person.wait_for_servers()
        person.neovim.lua("vim.cmd('LspCompletions suggest')")
        person.see_ghost("turn a + b")


@EACH_NEOVIM
def test_help_and_health(desks: Desks, editor: Editor, tmp_path: Path) -> None:
    with desks.person(editor, tmp_path / "work.py", ADD) as (person, _):
        person.neovim.lua("vim.cmd('stopinsert | help :LspCompletions')")
        assert person.neovim.lua("return vim.fn.expand('%:t')") == "lsp-completions.txt"
        person.neovim.lua("vim.cmd('checkhealth lsp_completions')")
        report = "\n".join(person.neovim.call("nvim_buf_get_lines", 0, 0, -1, False))
        assert "ERROR" not in report
        assert "WARNING" not in report
        drawn = {Editor.NEOVIM_0_12: "vim.lsp.inline_completion", Editor.NEOVIM_0_11: "this plugin"}
        assert re.search(r"The server is attached to (1 buffer|[2-9] buffers)\n", report)
        for said in ("accept: <Tab>", f"drawn by {drawn[editor]}"):
            assert said in report


@EACH_NEOVIM
def test_the_tags_of_the_help_page_are_up_to_date(
    desks: Desks, editor: Editor, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(FOLDER / "doc", tmp_path / "doc"))
    (copy / "tags").unlink()
    with desks.person(editor, tmp_path / "work.py", ADD) as (person, _):
        person.neovim.lua("vim.cmd.helptags(...)", str(copy))
        assert (copy / "tags").read_text() == (FOLDER / "doc" / "tags").read_text()


@EACH_NEOVIM
def test_who_has_no_token_reads_so_in_the_status_line_and_in_the_health_report(
    desks: Desks, editor: Editor, tmp_path: Path
) -> None:
    with desks.person(editor, tmp_path / "work.py", ADD, signed_in=False) as (person, _):
        says(person, "suggestions!: ")
        person.neovim.lua("vim.cmd('stopinsert | checkhealth lsp_completions')")
        report = "\n".join(person.neovim.call("nvim_buf_get_lines", 0, 0, -1, False))
        assert "No access token for" in report
        assert "ERROR" in report
