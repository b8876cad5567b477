"""What people meet in a real Emacs beside the scenarios: the page, the picture, the commands."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.editors.emacs_driver import (
    FOLDER,
    META,
    EmacsDriver,
    complaints,
    documented,
    executable,
    running_emacs,
)
from tests.support import picture
from tests.support.at_work import (
    LOADED,
    LOADING,
    Script,
    continues,
    embedded_models,
    wait_until_gone,
    written,
)
from tests.support.llama_server import model_file
from tests.support.neovim import own_folders
from tests.support.picture import BODY, HEAD, SHOP
from tests.support.sourcegraph import Answer, Exchange, StandIn, running_stand_in

PICTURE = FOLDER / "ghost-text.png"
ADD = "def add(a, b):\n    \n"
KNOWS = continues("    re", "turn a + b")

pytestmark = pytest.mark.skipif(
    executable() is None,
    reason="needs Emacs: LSP_COMPLETIONS_EMACS=$(tests/editors/install_emacs.sh)",
)


@contextmanager
def person(
    folder: Path,
    script: Script | None,
    *,
    text: str = ADD,
    name: str = "work.py",
    config: str | None = None,
    signed_in: bool = True,
    size: tuple[int, int] = (100, 30),
) -> Iterator[EmacsDriver]:
    """Somebody at the end of the last line of a file."""
    path = written(folder / "work" / name, text)
    *_, last = text.splitlines()
    lines = documented("config") if config is None else config

    @contextmanager
    def at(instance: StandIn | None) -> Iterator[EmacsDriver]:
        with running_emacs(folder, lines, instance, signed_in=signed_in, size=size) as driver:
            driver.open(path, text.count("\n") - 1, len(last))
            yield driver
        assert not signed_in or not complaints(folder)

    if script is None:
        with at(None) as driver:
            yield driver
    else:
        with running_stand_in(script) as instance, at(instance) as driver:
            yield driver


def command(driver: EmacsDriver, name: str, says: str) -> None:
    driver.emacs.type(f"{META}x{name}\r", pace=0)
    driver.emacs.wait_for_text(says)


def says(driver: EmacsDriver, words: str) -> None:
    """Wait until the mode line ends so."""
    driver.emacs.wait_for(
        repr(words),
        lambda: any(
            line.startswith("-- ") and line.endswith(words) for line in driver.screen().splitlines()
        ),
    )


def test_it_compiles_without_a_warning(tmp_path: Path) -> None:
    program = executable()
    assert program is not None
    files = [written(tmp_path / file.name, file.read_text()) for file in LISP]
    lisp = ["-Q", "--batch", "-L", str(tmp_path), "--eval", "(setq byte-compile-error-on-warn t)"]
    subprocess.run(
        [program, *lisp, "-f", "batch-byte-compile", *map(str, files)],
        check=True,
        env=own_folders(tmp_path / "home"),
    )
    assert len(list(tmp_path.glob("*.elc"))) == len(LISP)


LISP = sorted((FOLDER / "lisp").glob("*.el"))


def test_from_nothing_by_the_command_that_sets_it_up(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    ours = [sys.executable, "-P", "-m", "lsp_completions"]
    subprocess.run(
        [*ours, "setup", "emacs", "--write"],
        check=True,
        env=own_folders(home),
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    assert documented("config") in (home / ".emacs.d" / "init.el").read_text()
    with person(tmp_path, KNOWS, config="") as driver:
        driver.type("re")
        driver.see_ghost("turn a + b")
        driver.accept()
        driver.save()
        assert (tmp_path / "work" / "work.py").read_text() == "def add(a, b):\n    return a + b\n"


def test_the_mode_line_and_the_commands_say_how_things_are(tmp_path: Path) -> None:
    with person(tmp_path, KNOWS) as driver:
        says(driver, " Ghost")
        driver.type("re")
        driver.see_ghost("turn a + b")
        command(driver, "lsp-completions-status", "Suggestions: on")
        driver.see_ghost("turn a + b")
        command(driver, "lsp-completions-why", "suggestion")
        for scope in ("-language", "-workspace", ""):
            command(driver, f"lsp-completions-toggle{scope}", "Suggestions off")
            driver.see_no_ghost()
            says(driver, " Ghost-" if scope != "-workspace" else " Ghost")
            command(driver, f"lsp-completions-toggle{scope}", "Suggestions on")
            driver.ask()
            driver.see_ghost("turn a + b")
        command(driver, "lsp-completions-mode", "disabled in current buffer")
        driver.see_no_ghost()
        command(driver, "lsp-completions-mode", "enabled in current buffer")
        driver.wait_for_servers()
        driver.ask()
        driver.see_ghost("turn a + b")
        before = driver.servers()
        driver.emacs.type(f"{META}xlsp-completions-restart\r", pace=0)
        driver.emacs.wait_for("another", lambda: driver.servers() not in ([], before))
        driver.wait_for_servers()
        driver.ask()
        driver.see_ghost("turn a + b")


def test_the_mode_line_shows_that_something_is_wrong(tmp_path: Path) -> None:
    with person(tmp_path, KNOWS, signed_in=False) as driver:
        says(driver, " Ghost!")
        command(driver, "lsp-completions-status", "Suggestions: error: ")


def test_a_program_that_is_missing_is_told_once(tmp_path: Path) -> None:
    config = f'(setq lsp-completions-command \'("no-such"))\n{documented("config")}'
    with running_stand_in(KNOWS) as instance:
        path = written(tmp_path / "work" / "work.py", ADD)
        with running_emacs(tmp_path, config, instance) as driver:
            (tmp_path / "pid").write_text(str(ended_process()))
            driver.emacs.type(f"\x18\x06\x01\x0b{path}\r", pace=0)
            says(driver, " Ghost!")
            driver.type("re")
            driver.emacs.wait_for("it typed", lambda: "re" in driver.screen())
            told = [line for line in driver.messages() if "no-such" in line]
            assert len(told) == 1
            driver.emacs.type("\x18\x13", pace=0)
            driver.emacs.wait_for_text("modified=no")


def ended_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def test_others_can_be_chosen(tmp_path: Path) -> None:
    answers = iter(range(1000))

    def script(exchange: Exchange) -> Answer:
        return Answer("turn a + b" if next(answers) % 2 == 0 else "sult = a * b")

    # With what the page says of keys and settings.
    config = documented("config") + documented("keys") + documented("settings")
    with person(tmp_path, script, config=config) as driver:
        driver.type("re")
        driver.emacs.wait_for("a suggestion", driver.ghost)
        first = driver.ghost()
        driver.emacs.type(f"{META}n", pace=0)
        driver.emacs.wait_for("another", lambda: driver.ghost() not in ("", first))
        assert "(2/2)" in driver.screen()
        driver.emacs.type(f"{META}p", pace=0)
        driver.see_ghost(first)
        driver.emacs.type(f"{META}\r", pace=0)
        driver.emacs.wait_for_text(f"    re{first}")
        driver.save()
        saved = (tmp_path / "work" / "work.py").read_text()
        assert saved == f"def add(a, b):\n    re{first}\n"


def test_a_menu_of_company_hides_it(tmp_path: Path) -> None:
    config = f"""{documented("config")}
(require 'company)
(setq company-idle-delay 0 company-minimum-prefix-length 2 company-backends '(company-dabbrev))
(global-company-mode)
"""
    knows = continues("    se", "lf.total()")
    with person(tmp_path, knows, text=f"selected = 1\n{ADD}", config=config) as driver:
        driver.type("se")
        driver.emacs.wait_for("the menu", lambda: driver.screen().count("selected") == 2)
        driver.see_no_ghost()
        driver.dismiss()
        driver.see_ghost("lf.total()")
        driver.accept()
        driver.save()
        saved = (tmp_path / "work" / "work.py").read_text()
        assert saved == "selected = 1\ndef add(a, b):\n    self.total()\n"


def test_the_ghost_text_that_lsp_mode_has(tmp_path: Path) -> None:
    """The lines for those who want nothing else of ours."""
    config = f"""
(setq lsp-client-packages nil lsp-auto-guess-root t lsp-headerline-breadcrumb-enable nil)
(load "lsp-mode-autoloads" nil t)
{documented("lsp-mode alone")}
(add-hook 'prog-mode-hook #'lsp)
(defun lsp-completions--answered (&rest _))
(defun lsp-completions--server ()
  (seq-find (lambda (each) (eq (lsp--workspace-status each) 'initialized)) lsp--buffer-workspaces))
(defun lsp-completions--lighter () "")
"""
    with person(tmp_path, KNOWS, config=config) as driver:
        driver.type("re")
        driver.emacs.wait_for_text("return a + b")
        driver.emacs.wait_for_text("Completion 1/1")
        driver.emacs.type("\x1b[27;5;13~", pace=0)  # C-RET
        driver.emacs.wait_for_text("modified=yes")
        driver.save()
        assert (tmp_path / "work" / "work.py").read_text() == "def add(a, b):\n    return a + b\n"


def test_without_an_account_the_embedded_model_suggests(tmp_path: Path) -> None:
    model_file()
    with person(tmp_path, None, text=f"{LOADING}\n") as driver:
        driver.type(LOADED)
        ghost = driver.emacs.wait_for("a suggestion", driver.ghost)
        # Who answers is said once.
        driver.emacs.wait_for(
            "the model", lambda: any("small model" in line for line in driver.messages())
        )
        driver.accept()
        driver.save()
        saved = (tmp_path / "work" / "work.py").read_text()
        assert saved == f"{LOADING}{LOADED}{ghost}\n"
        models = embedded_models(tmp_path)
    wait_until_gone(models)


def test_a_picture_for_people(tmp_path: Path) -> None:
    script = continues(f"{HEAD}\n    ", f"{BODY}\n")
    with person(tmp_path, script, text=f"{SHOP}\n", name="shop.py", size=(78, 19)) as driver:
        driver.type(f"{HEAD}\n")
        driver.see_ghost(BODY)
        # As everybody's mode line is.
        driver.emacs.type(f"{META}xtests-plain-mode-line\r", pace=0)
        driver.emacs.wait_for_text("(Python Ghost")
        driver.see_ghost(BODY)
        screen = driver.emacs.screen
        image = picture.draw(replace(screen, cursor_is_bar=False), title="shop.py — emacs")
        picture.keep(image, PICTURE)
