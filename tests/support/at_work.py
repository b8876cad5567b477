"""What an editor needs to be worked with: a file, the command, and a model that knows one text."""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.support import recorder
from tests.support.sourcegraph import Answer, Exchange, Gate

HUMAN = 0.09
"""Seconds between two keys of somebody who types well."""
THINKS = 0.15
"""Seconds until the first words of a model that many use at once."""

RECORD = "LSP_COMPLETIONS_RECORD"
"""Names a folder: what editors and our server say to each other is written down there."""

Script = Callable[[Exchange], Answer]


def continues(start: str, rest: str, *, gate: Gate | None = None, delay: float = 0) -> Script:
    """A model that knows how one text goes on, and says so wherever `start` has been typed.

    It thinks for `delay` seconds, and what it says of more than `start` waits for the gate: a
    slow model.
    """

    def script(exchange: Exchange) -> Answer:
        before, _, _ = exchange.prompt.partition("<fim_suffix>")
        for typed in range(len(rest) - 1, -1, -1):
            if before.endswith(start + rest[:typed]):
                steps = [gate] if gate and typed else []
                return Answer(*steps, rest[typed:], delay=delay)
        return Answer("")

    return script


def written(path: Path, text: str, line_end: str = "\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.replace("\n", line_end).encode())
    return path


def command(folder: Path) -> Path:
    """A folder with the command `lsp-completions`, which runs what is tested here.

    Its process is told in the file `pid` beside that folder.
    """
    binaries = folder / "bin"
    binaries.mkdir()
    script = binaries / "lsp-completions"
    # -P: not what happens to lie in the folder of the edited file.
    server = f'"{sys.executable}" -P -m lsp_completions'
    script.write_text(
        f"#!/bin/sh\n[ \"$1\" = --version ] || echo $$ > '{folder / 'pid'}'\n"
        f"export XDG_RUNTIME_DIR='{runtime_folder(folder)}'\n"
        f"[ $# -gt 0 ] || exec {recorded()}{server}\n"
        f'exec {server} "$@"\n'
    )
    script.chmod(0o755)
    return binaries


def recorded() -> str:
    """What stands before the server's command where the environment says to record it."""
    folder = os.environ.get(RECORD)
    return f'"{sys.executable}" "{recorder.__file__}" "{folder}" -- ' if folder else ""


def runtime_folder(folder: Path) -> Path:
    """Where the process of the embedded model is found: not that of whoever runs the tests."""
    runtime = folder / "run"
    runtime.mkdir(mode=0o700, exist_ok=True)
    return runtime


LOADING = "import json\n\n\ndef load(path):\n    with open(path) as file:\n        "
"""What the embedded model can go on with, once this is typed behind it."""
LOADED = "data = json."


def embedded_models(folder: Path) -> list[int]:
    """The processes of the embedded models of those who work below a folder."""
    addresses = folder.rglob("run/lsp-completions/model-*.json")
    return [json.loads(each.read_text())["pid"] for each in addresses]


def wait_until_gone(processes: list[int]) -> None:
    assert processes
    deadline = time.monotonic() + 20
    while any(is_running(pid) for pid in processes):
        assert time.monotonic() < deadline, "the server outlived its editor"
        time.sleep(0.05)  # nobody tells when somebody else's process ends


def is_running(pid: int) -> bool:
    """Whether a process still runs; one that nobody has waited for yet does not."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        os.kill(pid, 0)
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
