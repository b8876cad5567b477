#!/bin/bash
# Prints the path of a Neovim whose own client draws ghost text (0.12 or later); the only line on stdout.
#
# The one on PATH serves if it is recent enough. Otherwise Debian's package of its unstable suite is unpacked, with
# every library it needs, into ${XDG_CACHE_HOME:-~/.cache}/lsp-completions-ci: the system's packages stay as they are.
# A second run finds it there. INSTALL_NEOVIM_SUITE names another suite.
set -euo pipefail

suite=${INSTALL_NEOVIM_SUITE:-sid}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lsp-completions-ci
root=$cache/neovim
wrapper=$root/nvim
log=$cache/neovim.log

has_ghost_text() {
  # A version number says less: what the tests need is this module.
  command -v "$1" >/dev/null &&
    "$1" -u NONE -i NONE --headless +'lua os.exit(vim.lsp.inline_completion and 0 or 1)' >/dev/null 2>&1 </dev/null
}

fail() {
  echo "install_neovim: $1" >&2
  [ ! -s "$log" ] || { echo "install_neovim: the end of $log:" >&2; tail -n 20 "$log" >&2; }
  exit 1
}

if has_ghost_text nvim; then
  command -v nvim
  exit
fi

mkdir -p "$cache"
exec 9>"$cache/neovim.lock"
if command -v flock >/dev/null; then flock 9; fi
if has_ghost_text "$wrapper"; then
  echo "$wrapper"
  exit
fi

command -v apt-get >/dev/null ||
  fail "needs apt-get; elsewhere install Neovim 0.12 yourself and put it on PATH"

# The mirror is whichever this machine already uses for its own suite.
mirror=$(apt-get indextargets --format '$(CREATED_BY) $(SUITE) $(REPO_URI)' |
  awk '$1 == "Packages" && $2 !~ /security/ { print $3; exit }')
[ -n "$mirror" ] || fail "apt knows no mirror on this machine"

# apt with lists, state and archives of its own. An empty dpkg status makes it fetch the C library too, so
# that the program runs on machines whose own is older.
state=$cache/neovim.apt
rm -rf "$root" "$state"
mkdir -p "$root" "$state/lists/partial" "$state/archives/partial"
: >"$state/status"
echo "deb $mirror $suite main" >"$state/sources.list"
apt() {
  apt-get --quiet \
    -o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State="$state" -o Dir::State::Lists="$state/lists" -o Dir::State::status="$state/status" \
    -o Dir::Cache="$state" -o Dir::Cache::Archives="$state/archives" \
    -o Acquire::Languages=none -o Acquire::Retries=3 -o APT::Install-Recommends=false \
    -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=true "$@"
}
{
  apt update && apt --yes --download-only install neovim patchelf
} >"$log" 2>&1 || fail "could not download neovim from $suite"
for package in "$state"/archives/*.deb; do
  dpkg-deb --extract "$package" "$root" >>"$log" 2>&1 || fail "could not unpack $package"
done
rm -rf "$state"

# Neovim starts itself anew (for its own screen, among others), so the loader is written into the
# program; running it through the loader by hand would not reach the child.
loader=$(find "$root/usr" -name 'ld-linux*.so.*' -print -quit)
libraries=$(dirname "$(find "$root/usr/lib" -name 'libc.so.6' -print -quit)")
"$loader" --library-path "$libraries" "$root/usr/bin/patchelf" \
  --set-interpreter "$loader" --force-rpath --set-rpath "$libraries" \
  "$(readlink -f "$root/usr/bin/nvim")" >>"$log" 2>&1 || fail "patchelf failed"

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
