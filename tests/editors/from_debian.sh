# Sourced by the scripts beside it: programs of Debian's newer suites, unpacked beside the system.
#
# apt fetches them with lists, state and archives of its own, so that the system's packages stay as they are, and
# checks each against the suite's signature.

cache=${XDG_CACHE_HOME:-$HOME/.cache}/lsp-completions-ci

# fail SENTENCE: the end of $log too, where there is one.
fail() {
  echo "$(basename "$0" .sh): $1" >&2
  [ ! -s "${log:-}" ] || { echo "$(basename "$0" .sh): the end of $log:" >&2; tail -n 20 "$log" >&2; }
  exit 1
}

# alone NAME: waits until no other run of the same script is at work.
alone() {
  mkdir -p "$cache"
  exec 9>"$cache/$1.lock"
  if command -v flock >/dev/null; then flock 9; fi
}

# unpack SUITE PACKAGES ROOT PROGRAM: the packages with every library they need, in ROOT; PROGRAM is told where its own are.
unpack() {
  local suite=$1 packages=$2 root=$3 program=$4 state=$3.apt mirror loader libraries archive
  command -v apt-get >/dev/null || fail "needs apt-get; elsewhere install $packages yourself and put it on PATH"

  # The mirror is whichever this machine already uses for its own suite.
  mirror=$(apt-get indextargets --format '$(CREATED_BY) $(SUITE) $(REPO_URI)' |
    awk '$1 == "Packages" && $2 !~ /security/ { print $3; exit }')
  [ -n "$mirror" ] || fail "apt knows no mirror on this machine"

  # An empty dpkg status makes apt fetch the C library too, so that the program runs on machines whose own is older.
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
    apt update && apt --yes --download-only install $packages patchelf
  } >"$log" 2>&1 || fail "could not download $packages from $suite"
  for archive in "$state"/archives/*.deb; do
    dpkg-deb --extract "$archive" "$root" >>"$log" 2>&1 || fail "could not unpack $archive"
  done
  rm -rf "$state"

  # An editor starts itself anew (Neovim for its own screen, among others), so the loader is written into the
  # program; running it through the loader by hand would not reach the child.
  loader=$(find "$root/usr" -name 'ld-linux*.so.*' -print -quit)
  libraries=$(dirname "$(find "$root/usr/lib" -name 'libc.so.6' -print -quit)")
  "$loader" --library-path "$libraries" "$root/usr/bin/patchelf" \
    --set-interpreter "$loader" --force-rpath --set-rpath "$libraries" \
    "$(readlink -f "$root/$program")" >>"$log" 2>&1 || fail "patchelf failed"
}
