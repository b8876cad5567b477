"""A person at a real Emacs in a terminal, set up as its README says, beside a second server."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.editors.scenarios import SETTINGS, Desk, Editor, kept, squeezed
from tests.support import picture, second_server
from tests.support.at_work import command, wait_until_gone
from tests.support.neovim import own_folders
from tests.support.sourcegraph import TOKEN, Answer, StandIn, running_stand_in
from tests.support.terminal import Terminal, TerminalError, running_in_terminal

FOLDER = Path(__file__).resolve().parents[2] / "editors" / "emacs"
GHOST = 0xB3B3B3  # the face `shadow` on a dark terminal
SIZE = (100, 30)
CONTROL_C, CONTROL_G, CONTROL_X, META = "\x03", "\x07", "\x18", "\x1b"
MENU = "\x1b\t"  # C-M-i, which is `completion-at-point`

OF_THE_TESTS = r"""
(setq inhibit-startup-screen t make-backup-files nil auto-save-default nil create-lockfiles nil
      suggest-key-bindings nil extended-command-suggest-shorter nil
      frame-background-mode 'dark ring-bell-function #'ignore)
(menu-bar-mode -1)
(define-derived-mode go-mode prog-mode "Go" (setq indent-tabs-mode t))
(add-to-list 'auto-mode-alist '("\\.go\\'" . go-mode))

;; What people see too, where a test can find it.
(defvar tests-folder (file-name-as-directory (expand-file-name ".." "~")))
(advice-add 'message :after
            (lambda (format &rest arguments)
              (when format
                (write-region (concat (apply #'format-message format arguments) "\n") nil
                              (concat tests-folder "messages") t 'quiet))))
(add-hook 'kill-emacs-hook
          (lambda ()
            (dolist (buffer (buffer-list))
              (when (string-match-p "lsp-completions.*stderr" (buffer-name buffer))
                (with-current-buffer buffer
                  (write-region nil nil (concat tests-folder "complaints") t 'quiet))))))

;; How far things are, in the mode line.
(defvar tests-answered 0)
(add-hook 'post-command-hook (lambda () (force-mode-line-update t)))
(advice-add 'lsp-completions--answered :after (lambda (&rest _) (cl-incf tests-answered)))
(defvar tests-mode-line mode-line-format)
(defun tests-plain-mode-line ()
  (interactive)
  (setq mode-line-format tests-mode-line)
  (message nil))
(defvar tests-line
              '((:eval (format "-- %s answered=%d tick=%d ready=%s modified=%s menu=%s at=%d,%d"
                               (buffer-name) tests-answered (buffer-chars-modified-tick)
                               (if (and (tests-other) (lsp-completions--server)) "yes" "no")
                               (if (buffer-modified-p) "yes" "no")
                               (if completion-in-region-mode "yes" "no")
                               (line-number-at-pos)
                               (- (point) (line-beginning-position))))
                (:eval (lsp-completions--lighter))))
(setq-default mode-line-format tests-line)

(defun tests-close ()
  (interactive)
  (delete-other-windows)
  (set-buffer-modified-p nil)
  (kill-buffer)
  (switch-to-buffer "*scratch*"))
(global-set-key (kbd "C-c 9") #'tests-close)
(unless (fboundp 'tests-other)
  (defun tests-other () t))
"""

EGLOT = """
(add-hook 'prog-mode-hook #'eglot-ensure)
(add-hook 'text-mode-hook #'eglot-ensure)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '((python-mode go-mode text-mode) . ({programs}))))
{multiplexed}
(defun tests-other () (and (fboundp 'eglot-managed-p) (eglot-managed-p)))
"""

LSP_MODE = """
(setq lsp-client-packages nil lsp-auto-guess-root t lsp-headerline-breadcrumb-enable nil)
(load "lsp-mode-autoloads" nil t) ; as package.el does
(require 'lsp-mode)
(add-to-list 'lsp-language-id-configuration '(go-mode . "go"))
(lsp-register-client
 (make-lsp-client
  :new-connection (lsp-stdio-connection '({programs}))
  :major-modes '(python-mode go-mode text-mode)
  :server-id 'second))
(add-hook 'prog-mode-hook #'lsp)
(add-hook 'text-mode-hook #'lsp)
(defun tests-other ()
  (seq-find (lambda (each) (and (eq (lsp--workspace-server-id each) 'second)
                                (eq (lsp--workspace-status each) 'initialized)))
            lsp--buffer-workspaces))
"""
CLIENTS = {Editor.EGLOT: EGLOT, Editor.LSP_MODE: LSP_MODE}


def executable() -> str | None:
    """The Emacs that the environment names; it has lsp-mode, and the multiplexer is beside it."""
    return os.environ.get("LSP_COMPLETIONS_EMACS")


def documented(name: str) -> str:
    """The lines that the README shows under this name."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"<!-- (.*?) -->\s*```elisp\n(.*?)```", text, re.DOTALL))
    return str(blocks[name])


@dataclass
class EmacsDriver:
    """One running Emacs; the methods are those of `scenarios.Driver`."""

    emacs: Terminal
    folder: Path
    _name: str = ""
    _answered: int = 0
    _told: int = 0

    def open(self, path: Path, line: int, column: int) -> None:
        self._name = path.name
        # C-a C-k: without the folder that stands there already.
        self._press(f"{CONTROL_X}\x06\x01\x0b{path}\r")
        self.emacs.wait_for("the file", lambda: f"-- {path.name}" in self.screen())
        self.wait_for_servers()
        self._press(f"{META}gg{line + 1}\r")
        self.emacs.wait_for("the line", lambda: self._said("at") == f"{line + 1},0")
        if column:
            self._press(f"\x15{column}\x06")
        self.emacs.wait_for("the place", lambda: self._said("at") == f"{line + 1},{column}")

    def type(self, text: str) -> None:
        self._answered = int(self._said("answered"))
        self.emacs.type(text.replace("\n", "\r"), pace=0.05)

    def pause(self) -> None:
        self.emacs.wait_for("an answer", lambda: int(self._said("answered")) > self._answered)

    def see_ghost(self, text: str) -> None:
        self.emacs.wait_for(
            f"the ghost text {text!r}", lambda: squeezed(self.ghost()) == squeezed(text)
        )

    def see_no_ghost(self) -> None:
        self.emacs.wait_for("no ghost text", lambda: not self.ghost())

    def accept(self) -> None:
        self._change("\t")

    def accept_word(self) -> None:
        self._change("\x1b[1;3C")

    def accept_line(self) -> None:
        self._change("\x1b[1;7C")

    def dismiss(self) -> None:
        self._press_until(CONTROL_G, "no ghost text", lambda: not self.ghost())

    def ask(self) -> None:
        self._press(f"{CONTROL_C}\\")

    def undo(self) -> None:
        self._change("\x1f")

    def take_item(self, label: str) -> None:
        before = self._said("tick")
        self._press(MENU)
        # With one entry that fits, Eglot leaves no choice to make.
        self.emacs.wait_for(
            "the entry, or it taken",
            lambda: f"completions:\n{label}" in self.screen() or self._said("tick") != before,
        )
        if self._said("tick") == before:
            self._press_until("\x1b[1;3B", "an entry chosen", self._is_at_an_entry)  # M-<down>
            self._change(f"{META}\r")
        self.emacs.wait_for("no menu", lambda: self._said("menu") == "no")

    def see_item(self, label: str) -> None:
        self._press(f"{META}>\r")
        self.type(label[:3])
        self._press(MENU)
        self.emacs.wait_for_text(label)

    def messages(self) -> Sequence[str]:
        return [line for line in self._messages()[self._told :] if "lsp-completions: " in line]

    def switch_off(self) -> None:
        self._press(f"{META}xlsp-completions-toggle-language\r")
        self.emacs.wait_for_text("Suggestions off for python")

    def switch_on(self) -> None:
        self._press(f"{META}xlsp-completions-toggle-language\r")
        self.emacs.wait_for_text("Suggestions on for python")

    def kill_server(self) -> None:
        process = self.servers()
        os.kill(process[0], signal.SIGKILL)
        wait_until_gone(process)
        self.emacs.wait_for("another server", lambda: self.servers() not in ([], process))
        self.wait_for_servers()

    def save(self) -> None:
        self._press(f"{CONTROL_X}\x13")
        self.emacs.wait_for("it saved", lambda: self._said("modified") == "no")

    def close(self) -> None:
        if "-- *scratch*" not in self.screen():
            self._press(f"{CONTROL_C}9")
            self.emacs.wait_for_text("-- *scratch*")
        self._told = len(self._messages())

    def picture(self, path: Path) -> None:
        picture.draw(self.emacs.screen, title=f"{self._name} — emacs").save(path, optimize=True)

    def screen(self) -> str:
        return self.emacs.screen.text

    def ghost(self) -> str:
        """The ghost text on the screen, line by line."""
        lines = []
        for row in self.emacs.screen.rows:
            if "".join(cell.text for cell in row).startswith("-- "):
                break
            lines.append("".join(cell.text for cell in row if cell.style.foreground == GHOST))
        return "\n".join(line for line in lines if line)

    def servers(self) -> list[int]:
        """The process of our server, once it has begun."""
        return [int(each) for each in (self.folder / "pid").read_text().split()]

    def wait_for_servers(self) -> None:
        """Wait until both servers know the present file."""
        self.emacs.wait_for("both servers", lambda: self._said("ready") == "yes")

    def quit(self) -> None:
        """Leave Emacs, without saving."""
        self.close()
        self._press(f"{CONTROL_X}{CONTROL_C}")
        self.emacs.process.wait(20)

    def _press(self, keys: str) -> None:
        self.emacs.type(keys, pace=0)

    def _change(self, keys: str) -> None:
        """Press keys that change the text, and wait until they have."""
        before = self._said("tick")
        self._press(keys)
        self.emacs.wait_for("a change", lambda: self._said("tick") not in ("0", before))

    def _said(self, what: str) -> str:
        """What the mode line says, not that of a menu's window."""
        found = re.search(rf"^-- (?!\*Completions).* {what}=(\S+)", self.screen(), re.MULTILINE)
        return found[1] if found else "0"

    def _press_until(self, keys: str, what: str, condition: Callable[[], bool]) -> None:
        """Press keys, and again if they did nothing.

        Keys that come while Lisp runs may be taken for an end to that: C-g always is.
        """
        for _ in range(3):
            self._press(keys)
            with suppress(TerminalError):
                self.emacs.wait_for(what, condition, timeout=5)
                return
        raise TerminalError(f"never saw {what}; the screen:\n{self.screen()}")

    def _is_at_an_entry(self) -> bool:
        found = re.search(r"^-- \*Completions\*.* at=(\S+)", self.screen(), re.MULTILINE)
        return found is not None and found[1] != "1,0"

    def _messages(self) -> list[str]:
        file = self.folder / "messages"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


@contextmanager
def running_emacs(
    folder: Path,
    config: str,
    instance: StandIn | None,
    *,
    signed_in: bool = True,
    size: tuple[int, int] = SIZE,
) -> Iterator[EmacsDriver]:
    """Emacs with this in its init file and our Lisp where `setup` puts it; it has begun.

    Without an instance it is the embedded model that is asked. At the end Emacs is told to leave,
    and then the server is gone too.
    """
    program = executable()
    assert program is not None
    home = folder / "home"
    target = home / ".emacs.d" / "lsp-completions"
    if not target.exists():
        shutil.copytree(FOLDER / "lisp", target / "lisp")
    with (home / ".emacs.d" / "init.el").open("a", encoding="utf-8") as init:
        init.write(config + OF_THE_TESTS)
    settings = home / ".config" / "lsp-completions" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(SETTINGS if instance else "")
    path = [str(command(folder)), str(Path(program).parent), os.environ["PATH"]]
    environment = {
        **own_folders(home),
        "PATH": os.pathsep.join(path),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
    }
    if instance:
        environment |= {"SRC_ENDPOINT": instance.url}
        environment |= {"SRC_ACCESS_TOKEN": TOKEN} if signed_in else {}
    with running_in_terminal(
        [program, "-nw"], folder=folder, environment=environment, size=size
    ) as emacs:
        driver = EmacsDriver(emacs, folder)
        emacs.wait_for_text("-- *scratch*")
        yield driver
        servers = driver.servers()
        driver.quit()
        wait_until_gone(servers)


@contextmanager
def running_desk(
    editor: Editor, folder: Path, config: str, *, signed_in: bool = True, multiplexed: str = ""
) -> Iterator[Desk]:
    """A desk with an Emacs that `config` sets up, and a model of its own.

    At the end Emacs is told to leave, and then the server is gone too, and has not complained.
    `multiplexed` are the lines with which Eglot has our server in its menu as well.
    """
    programs = f'"{sys.executable}" "{second_server.__file__}"'
    # The second server stands for the one that people have.
    multiplexed = multiplexed.replace('"basedpyright-langserver" "--stdio"', programs)
    client = CLIENTS[editor].format(programs=programs, multiplexed=multiplexed)
    work = folder / "work"
    subprocess.run(["git", "init", "--quiet", str(work)], check=True)
    with running_stand_in(Answer("")) as instance:
        with running_emacs(folder, config + client, instance, signed_in=signed_in) as driver:
            first = work / "first.py"
            first.write_text("")
            driver.open(first, 0, 0)
            if signed_in:
                # A server that has just been started may answer its first request too late.
                instance.wait_until(lambda: instance.requests)
                driver.close()
            yield Desk(driver, instance, work, kept(editor, folder / "screens"))
        # The ghost text that lsp-mode has itself would be in the same place.
        assert "Accept: [C-<return>]" not in (folder / "messages").read_text(encoding="utf-8")
        assert not signed_in or not complaints(folder)


def complaints(folder: Path) -> list[str]:
    """What the servers wrote to stderr, once Emacs has left."""
    file = folder / "complaints"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [line for line in lines if line and not line.startswith("Process ")]
