"""Record the scenarios anew: `python -m tests.editors.record [WORDS OF PYTEST'S OPTION -k]`.

Plays the scenarios in every editor that the environment names (as the tests find them), and keeps
what was said in `tests/editors/recordings/`. `test_recordings.py` replays that without an editor.
An editor is recorded if its driver starts the server by `tests.support.at_work.command`, or puts
`at_work.recorded()` before the server's command.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.editors.sessions import FOLDER, SUFFIX, Entry, condensed, write
from tests.support.at_work import RECORD

# As Emacs' clients call themselves: copilot.el, the multiplexer between Eglot and us, lsp-mode.
NAMES = {"Emacs": "eglot-with-copilot.el", "Eglot": "eglot-with-rass", "emacs": "lsp-mode"}


def main(words: str) -> int:
    """Play, and keep what was said; pytest's exit code."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "tests/editors"]
        chosen = "(test_a_scenario or test_scenario)" + (f" and ({words})" if words else "")
        environment = {**os.environ, RECORD: folder}
        code = subprocess.run([*command, "-k", chosen], env=environment, check=False).returncode
        if code:
            print("Something failed, so nothing is kept.", file=sys.stderr)
            return code
        # By the names that the recorder gives: in the order in which the servers were started.
        raw = [path.read_text(encoding="utf-8") for path in sorted(Path(folder).iterdir())]
    kept: dict[str, int] = {}
    for entries in filter(None, map(condensed, raw)):
        editor = name_of(entries)
        if editor not in kept:
            for old in FOLDER.glob(f"{editor}.*{SUFFIX}"):
                old.unlink()
        kept[editor] = kept.get(editor, 0) + 1
        path = FOLDER / f"{editor}.{kept[editor]}{SUFFIX}"
        write(path, entries)
        print(f"{path.name}: {len(entries)} messages, {path.stat().st_size} bytes")
    return 0


def name_of(entries: list[Entry]) -> str:
    """The editor and its version, as it says them, as the name of a file."""
    told = next(each.message["params"] for each in entries if each.method == "initialize")
    info = told.get("clientInfo") or {}
    said = str(info.get("name") or "unknown")
    name = NAMES.get(said, said)
    version = ".".join(re.findall(r"\d+", info.get("version") or "")[:2])
    return re.sub(r"[^a-z0-9.]+", "-", f"{name}-{version}".lower())


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
