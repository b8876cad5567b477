"""The lines each editor needs. The READMEs in `editors/` show the same ones."""

import shlex
from pathlib import Path

from lsp_completions import __version__
from lsp_completions.cli.setup.places import Machine

NEOVIM = """\
vim.cmd.packadd('lsp-completions')
require('lsp_completions').setup()
"""

VSCODE = f"""\
python3 editors/vscode/build.py
code --install-extension editors/vscode/lsp-completions-{__version__}.vsix
"""
VSCODE_ID = "lsp-completions.lsp-completions"

HELIX_EDITOR = """\
[editor]
completion-timeout = 5
completion-trigger-len = 1
preview-completion-insert = true
"""

EMACS = """\
(add-to-list 'load-path (locate-user-emacs-file "lsp-completions/lisp"))
(require 'lsp-completions)
(global-lsp-completions-mode)
"""


def neovim_for(init: Path) -> str:
    """The lines in the language of that file."""
    if init.suffix != ".vim":
        return NEOVIM
    return "".join(f"lua {line}\n" for line in NEOVIM.splitlines())


def neovim_lazy(plugin: str) -> str:
    """The plugin among those of lazy.nvim, which keeps `:packadd` from finding it."""
    return f"""\
{{
  dir = '{plugin}',
  name = 'lsp-completions',
  lazy = false,
  config = function()
    require('lsp_completions').setup()
  end,
}},
"""


def copy(source: str, plugin: Path, machine: Machine) -> str:
    """How a plugin is put where its editor looks for it."""
    if machine.is_windows:
        return (
            f'New-Item -ItemType Directory -Force "{plugin.parent}"\n'
            f'Copy-Item -Recurse "{source}" "{plugin}"\n'
        )
    parent, target = (_for_shell(each, machine) for each in (plugin.parent, plugin))
    return f"mkdir -p {parent}\ncp -R {shlex.quote(source)} {target}\n"


def _for_shell(path: Path, machine: Machine) -> str:
    told = machine.told(path)
    return told if shlex.quote(told[2:]) == told[2:] else shlex.quote(str(path))
