#!/bin/bash
# Prints the path of Helix 25.07 or later; the only line on stdout.
#
# The one on PATH serves if it is recent enough. Otherwise Debian's package of its unstable suite is unpacked, with every
# library it needs, into ${XDG_CACHE_HOME:-~/.cache}/lsp-completions-ci: the system's packages stay as they are.
# A second run finds it there. INSTALL_HELIX_SUITE names another suite.
set -euo pipefail
. "$(dirname "$0")/from_debian.sh"

suite=${INSTALL_HELIX_SUITE:-sid}
root=$cache/helix
[ "$suite" = sid ] || root=$root-$suite
wrapper=$root/helix
log=$root.log

is_helix() {
  # 25.07 is the first that asks again for a list that is not complete. `hx` is also the name of a hex editor.
  local version
  command -v "$1" >/dev/null || return
  version=$("$1" --version 2>/dev/null </dev/null | sed -n 's/^helix \([0-9]*\)\.\([0-9]*\).*/\1\2/p')
  [ "${version:-0}" -ge 2507 ]
}

if is_helix hx; then
  command -v hx
  exit
fi

alone helix
if is_helix "$wrapper"; then
  echo "$wrapper"
  exit
fi

unpack "$suite" hx "$root" usr/lib/hx/hx
cat >"$wrapper" <<SCRIPT
#!/bin/sh
# Helix unpacked beside the system: its grammars, queries and themes are here as well.
HELIX_RUNTIME='$root/usr/lib/hx/runtime'
export HELIX_RUNTIME
exec '$root/usr/lib/hx/hx' "\$@"
SCRIPT
chmod +x "$wrapper"
is_helix "$wrapper" || fail "the Helix unpacked from $suite does not start, or is too old"
echo "$wrapper"
