#!/bin/bash
# Prints the path of a Neovim whose own client draws ghost text (0.12 or later); the only line on stdout.
#
# The one on PATH serves if it is recent enough. Otherwise Debian's package of its unstable suite is unpacked, with
# every library it needs, into ${XDG_CACHE_HOME:-~/.cache}/lsp-completions-ci: the system's packages stay as they are.
# A second run finds it there. INSTALL_NEOVIM_SUITE names another suite.
set -euo pipefail
. "$(dirname "$0")/from_debian.sh"

suite=${INSTALL_NEOVIM_SUITE:-sid}
root=$cache/neovim
wrapper=$root/nvim
log=$cache/neovim.log

has_ghost_text() {
  # A version number says less: what the tests need is this module.
  command -v "$1" >/dev/null &&
    "$1" -u NONE -i NONE --headless +'lua os.exit(vim.lsp.inline_completion and 0 or 1)' >/dev/null 2>&1 </dev/null
}

if has_ghost_text nvim; then
  command -v nvim
  exit
fi

alone neovim
if has_ghost_text "$wrapper"; then
  echo "$wrapper"
  exit
fi

unpack "$suite" neovim "$root" usr/bin/nvim
cat >"$wrapper" <<SCRIPT
#!/bin/sh
# Neovim unpacked beside the system: its runtime files and its parsers are here as well.
VIM='$root/usr/share/nvim' VIMRUNTIME='$root/usr/share/nvim/runtime'
export VIM VIMRUNTIME
exec '$root/usr/bin/nvim' --cmd 'set runtimepath^=$root/usr/lib/nvim' "\$@"
SCRIPT
chmod +x "$wrapper"
has_ghost_text "$wrapper" || fail "the Neovim unpacked from $suite does not start or has no ghost text"
echo "$wrapper"
