"""The terminal that programs are tried in."""

import subprocess
import sys
import time

import pytest

from tests.support.at_work import is_running

RUN = """
import pathlib, time
from tests.support.terminal import running_in_terminal

with running_in_terminal(
    ["/bin/sleep", "60"], folder=pathlib.Path(), environment={}
) as sleeper:
    print(sleeper.process.pid, flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_a_program_ends_with_whoever_watches_it() -> None:
    with subprocess.Popen([sys.executable, "-c", RUN], stdout=subprocess.PIPE) as watcher:
        assert watcher.stdout is not None
        sleeper = int(watcher.stdout.readline())
        watcher.kill()
    deadline = time.monotonic() + 20
    while is_running(sleeper):
        assert time.monotonic() < deadline, "it runs on, for nobody"
        time.sleep(0.02)
