#!/bin/bash
# Prints the path of a Chromium; the only line on stdout. The one on PATH serves, or else Debian's is installed.
set -euo pipefail

if ! command -v chromium >/dev/null; then
  {
    apt-get -qq update && apt-get -qq --yes --no-install-recommends install chromium
  } >&2 || { echo "install_chromium: could not install chromium; elsewhere put one on PATH" >&2; exit 1; }
fi
command -v chromium
