#!/bin/bash
# Prints the path of an Emacs with Eglot, lsp-mode 10 or later and company; the only line on stdout. Beside it there is
# `rass`, the multiplexer that the README of Emacs recommends.
#
# Debian's packages of its unstable suite are unpacked, with every library they need, into
# ${XDG_CACHE_HOME:-~/.cache}/lsp-completions-ci: the system's packages stay as they are. A second run finds them there.
# INSTALL_EMACS_SUITE names another suite. PYTHON names the interpreter that makes the environment of the multiplexer.
set -euo pipefail
. "$(dirname "$0")/from_debian.sh"

suite=${INSTALL_EMACS_SUITE:-sid}
root=$cache/emacs
[ "$suite" = sid ] || root=$root-$suite
wrapper=$root/emacs
log=$root.log
rass=rassumfrassum==0.3.5

is_emacs() {
  [ -x "$1" ] && [ -x "$(dirname "$1")/rass" ] && "$1" -Q --batch --eval "
    (progn (require 'eglot) (require 'lsp-mode) (require 'lsp-inline-completion) (require 'company) (kill-emacs 0))" >/dev/null 2>&1 </dev/null
}

alone emacs
if is_emacs "$wrapper"; then
  echo "$wrapper"
  exit
fi

unpack "$suite" "emacs-nox elpa-lsp-mode elpa-company" "$root" usr/bin/emacs-nox
lisp=$(find "$root/usr/share/emacs" -maxdepth 2 -path '*/[0-9]*/lisp')
data=$(dirname "$lisp")
dump=$(find "$root/usr/libexec/emacs" -name 'emacs-*.pdmp')
# Debian compiles these when it configures them.
packages=$(find "$root/usr/share/emacs/site-lisp/elpa-src" -mindepth 1 -maxdepth 1 | sort | tr '\n' ':')
# Read before anything else: nothing is compiled to machine code, for which a C compiler had to be there as well.
mkdir "$root/first"
echo '(setq native-comp-jit-compilation nil native-comp-enable-subr-trampolines nil)' >"$root/first/subdirs.el"
cat >"$wrapper" <<SCRIPT
#!/bin/sh
# Emacs unpacked beside the system: its Lisp and that of the packages is here as well.
EMACSLOADPATH='$root/first:$packages$lisp' EMACSDATA='$data/etc' EMACSDOC='$data/etc' EMACSPATH='$(dirname "$dump")'
export EMACSLOADPATH EMACSDATA EMACSDOC EMACSPATH
exec '$root/usr/bin/emacs-nox' --dump-file='$dump' "\$@"
SCRIPT
chmod +x "$wrapper"
# Only what the tests load: all of it takes minutes. Each by a process of its own, as their macros ask for it.
for file in dash s f-shortdoc f ht lv spinner markdown-mode \
  lsp-protocol lsp-mode lsp-completion lsp-inline-completion lsp-diagnostics lsp-headerline lsp-icons lsp-lens lsp-modeline; do
  find "$root/usr/share/emacs/site-lisp/elpa-src" -name "$file.el" \
    -exec "$wrapper" -Q --batch -f batch-byte-compile {} + >>"$log" 2>&1 || fail "could not compile $file"
done
{
  "${PYTHON:-python3}" -m venv "$root/python" && "$root/python/bin/pip" install "$rass"
} >>"$log" 2>&1 || fail "could not install $rass"
ln -s python/bin/rass "$root/rass"
is_emacs "$wrapper" || fail "the Emacs unpacked from $suite does not start, or has no lsp-mode of use"
echo "$wrapper"
