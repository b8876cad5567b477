"""`lsp-completions setup`: prints what an editor needs, or adds it to the editor's own files.

`texts` and `helix` have the lines, `places` where they go, `adding` what becomes of a file; all
these are pure. `disk` reads and writes, `whom` looks for who could be asked for suggestions.
"""

import functools
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from lsp_completions.cli import impatient
from lsp_completions.cli.exits import Exit
from lsp_completions.cli.saying import say
from lsp_completions.cli.setup import disk, helix, texts
from lsp_completions.cli.setup.adding import (
    Add,
    ByHand,
    Present,
    Verdict,
    lines_added,
    toml_added,
)
from lsp_completions.cli.setup.places import Machine
from lsp_completions.configuration import config_file
from lsp_completions.errors import InvalidParams
from lsp_completions.on_disk import is_there
from lsp_completions.programs import which

EDITORS = ("neovim", "vscode", "helix", "emacs")
SECONDS = 20.0  # for an editor to say what it has, and a minute to install an extension
INSTALLING = 120.0
OURS = ("lsp_completions", "lsp-completions")
SOME_CHECKOUT = "In a checkout of lsp-completions (`git clone` makes one)"
LAZY = ("lazy.nvim", 'require("lazy")', "require('lazy')")


def setup(editor: str, *, write: bool, languages: Sequence[str]) -> Exit:
    """Set an editor up; returns the exit code. Raises `CompletionsError`."""
    if languages and editor != "helix":
        raise InvalidParams("--language is for Helix, where each language needs an entry.")
    work = _Work(machine=this_machine(), write=write)
    match editor:
        case "neovim":
            _neovim(work)
        case "vscode":
            _vscode(work)
        case "helix":
            _helix(work, languages)
        case _:
            _emacs(work)
    if editor != "vscode" and which("lsp-completions") is None:
        say(
            "Warning: the command lsp-completions is not on your PATH, where the editor looks for "
            "it; `uv tool update-shell` or `pipx ensurepath` sees to that."
        )

    from lsp_completions.cli.setup.whom import choose

    if lines := choose():
        # Never a token: that goes to `login`.
        work.lines(config_file(), lines, toml_added(disk.text_of(config_file()), lines))
    code = Exit.NOTHING if work.left else Exit.GOOD
    impatient.leave(code)
    return code


def this_machine() -> Machine:
    """Where this user's files are."""
    return Machine(platform=sys.platform, home=Path.home(), environment=os.environ)


class _Work:
    """Prints what is needed, or does it."""

    def __init__(self, *, machine: Machine, write: bool) -> None:
        self.machine = machine
        self.write = write
        self.left = False
        """Whether something is left to a person who wanted it written."""

    def show(self, where: str, lines: str) -> None:
        """Print lines, and where they go."""
        click.echo(f"{where}:\n\n{lines}")

    def by_hand(self, why: str, where: str, lines: str) -> None:
        """Leave it to the person."""
        self.left = True
        say(f"{why} This is left to you:")
        self.show(where, lines)

    def lines(self, file: Path, lines: str, verdict: Verdict) -> None:
        """Print lines for a file, or add them."""
        told = self.machine.told(file)
        if not self.write:
            self.show(f"In {told}", lines)
            return
        match verdict:
            case Add(text):
                copy = disk.append(file, text)
                kept = f" What was in it is in {self.machine.told(copy)}." if copy else ""
                say(f"Added to {told}.{kept}")
            case Present():
                say(f"{told} has it already; nothing was added.")
            case ByHand(why):
                self.by_hand(f"{told} was left alone: {why}.", f"In {told}", lines)

    def plugin(self, editor: str, target: Path) -> bool:
        """Print how an editor's plugin is copied, or copy it; whether it is there then."""
        source = disk.plugin_source(editor)
        where = "In a terminal" if source is not None else SOME_CHECKOUT
        lines = texts.copy(
            f"editors/{editor}" if source is None else str(source), target, self.machine
        )
        if not self.write:
            self.show(where, lines)
            return False
        if source is None:
            self.by_hand("The plugin did not come with this program.", where, lines)
            return False
        done, kept = disk.copy_plugin(editor, source, target)
        told = self.machine.told(target)
        before = f" What was there is now {self.machine.told(kept)}." if kept else ""
        say(
            f"Copied the plugin to {told}.{before}" if done else f"The plugin is in {told} already."
        )
        return True


def _neovim(work: _Work) -> None:
    machine = work.machine
    folder, plugin = machine.neovim_config(), machine.neovim_plugin()
    vim, lua = folder / "init.vim", folder / "init.lua"
    init = vim if is_there(vim) and not is_there(lua) else lua
    lines = texts.neovim_for(init)
    copied = work.plugin("neovim", plugin)
    if not work.write:
        work.show(f"In {machine.told(init)}", lines)
        return
    if not copied:
        return
    if (named := disk.mentioned_below(folder, (".lua", ".vim"), OURS)) is not None:
        say(f"{machine.told(named)} names it already; nothing was added.")
    elif disk.mentioned_below(folder, (".lua",), LAZY) is not None:
        work.by_hand(
            "Your plugins are lazy.nvim's, which does not see those of :packadd.",
            "Among your plugins",
            texts.neovim_lazy(plugin.as_posix()),
        )
    else:
        work.lines(init, lines, lines_added(disk.text_of(init), lines, marks=OURS))


def _vscode(work: _Work) -> None:
    checkout = disk.checkout()
    where = SOME_CHECKOUT if checkout is None else f"In {work.machine.told(checkout)}"
    if not work.write:
        work.show(where, texts.VSCODE)
        return
    code = next((found for name in ("code", "codium") if (found := which(name))), None)
    extensions = checkout.glob("editors/vscode/lsp-completions-*.vsix") if checkout else ()
    built = sorted(extensions, key=lambda file: file.stat().st_mtime)
    if code is None:
        why = "The command `code` of VS Code is not on your PATH."
    elif texts.VSCODE_ID in (_said_by([code, "--list-extensions"]) or "").split():
        say("The extension is installed already; nothing was done.")
        return
    elif not built:
        why = "The extension is not built yet."
    elif _said_by([code, "--install-extension", str(built[-1])], seconds=INSTALLING) is None:
        why = f"VS Code did not install {built[-1].name}."
    else:
        say(f"Installed {work.machine.told(built[-1])} in VS Code.")
        return
    work.by_hand(why, where, texts.VSCODE)


def _helix(work: _Work, wanted: Sequence[str]) -> None:
    folder = work.machine.helix_config()
    file, config = folder / "languages.toml", folder / "config.toml"
    old = disk.text_of(file)
    try:
        read = tomllib.loads((old or "").removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError):
        read = {}
        if work.write:
            work.by_hand(
                f"{work.machine.told(file)} was left alone: it is not TOML as it stands.",
                f"In {work.machine.told(file)}",
                f"{helix.SERVER}\n{helix.languages(helix.EXAMPLE)}",
            )
            return
    lists = _helix_languages(wanted, read)
    if lists is None:
        lines = f"{helix.SERVER}\n{helix.languages(helix.EXAMPLE)}"
        if work.write:
            work.by_hand(
                "Nothing was written: no language of Helix with a server was found. Name some with "
                "--language; an entry has to name the language's own servers as well.",
                f"In {work.machine.told(file)}",
                lines,
            )
        else:
            work.show(f"In {work.machine.told(file)}, as for Python with pylsp", lines)
        # How its menu behaves is nothing to change where nothing of ours is in it.
        work.show(f"In {work.machine.told(config)}", texts.HELIX_EDITOR)
        return
    _helix_entries(work, file, old, read, lists)
    verdict = toml_added(disk.text_of(config), texts.HELIX_EDITOR)
    work.lines(config, texts.HELIX_EDITOR, verdict)


def _helix_entries(
    work: _Work,
    file: Path,
    old: str | None,
    read: dict[str, Any],
    lists: dict[str, Sequence[helix.Server]],
) -> None:
    """Add the entries that can be added, and leave to the person those the user has begun."""
    servers = read.get("language-server")
    has_server = isinstance(servers, dict) and helix.NAME in servers
    fresh, begun = {}, {}
    for name, own in lists.items():
        if helix.names_us(own):
            say(f"{name} has it already.")
        elif helix.entry_for(name, read) is not None:
            begun[name] = own
        else:
            fresh[name] = own
    parts = ([] if has_server else [helix.SERVER]) + ([helix.languages(fresh)] if fresh else [])
    if parts:
        lines = "\n".join(parts)
        work.lines(file, lines, toml_added(old, lines))
    for name, own in begun.items():
        _, _, lines = helix.language(name, own).partition(f'name = "{name}"\n')
        where = f"In the entry of {name} in {work.machine.told(file)}"
        if work.write:
            why = f"{work.machine.told(file)} has an entry for {name}, which is yours to change."
            work.by_hand(why, where, lines)
        else:
            work.show(where, lines)


def _helix_languages(
    wanted: Sequence[str], read: dict[str, Any]
) -> dict[str, Sequence[helix.Server]] | None:
    """The languages to add to, with their servers; `None` where none was found."""
    program = next((found for name in ("hx", "helix") if (found := which(name))), None)
    if program is None:
        say("Helix (hx) is not on your PATH, so it cannot be asked which servers it has.")

    @functools.cache
    def servers_of(name: str) -> list[str] | None:
        return helix.servers_in(_said_by([program, "--health", name]) or "") if program else None

    if not wanted and program is not None:
        installed = helix.installed_in(_said_by([program, "--health", "languages"]) or "")
        wanted = [name for name in installed if servers_of(name) is not None]
        if wanted and sys.stdin.isatty() and sys.stderr.isatty():
            answer = click.prompt("For which languages?", default=" ".join(wanted), err=True)
            wanted = str(answer).replace(",", " ").split()
    lists: dict[str, Sequence[helix.Server]] = {}
    for name in wanted:
        entry = helix.entry_for(name, read) or {}
        own = entry.get("language-servers")
        if not isinstance(own, list):
            own = servers_of(name)
        if own is None:
            say(f"Warning: which servers Helix has for {name} is not known, so it is left out.")
        else:
            lists[name] = own
    return lists or None


def _emacs(work: _Work) -> None:
    inits = work.machine.emacs_inits()
    init = next((file for file in inits if is_there(file)), inits[2])
    if work.plugin("emacs", work.machine.emacs_plugin(init)) or not work.write:
        verdict = lines_added(disk.text_of(init), texts.EMACS, marks=("lsp-completions",))
        work.lines(init, texts.EMACS, verdict)


def _said_by(command: list[str], *, seconds: float = SECONDS) -> str | None:
    """What a program says; `None` where it fails."""
    try:
        ran = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return ran.stdout.decode(errors="replace")
