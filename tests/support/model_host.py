"""A process that uses the embedded model as a server does, and one that stands for its editor.

`python -m tests.support.model_host FOLDER MODEL` answers each line of its input with where the
model is, as JSON, and ends with its input. After `--as-editor` it starts such a process, passes
lines on to it, and says first what the process's id is.
"""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from lsp_completions.errors import CompletionsError
from lsp_completions.local_model.client import LocalModel

OPTIONS = ("--no-lease", "0.3")
PROJECT = Path(__file__).resolve().parents[2]


class Host:
    """A server that uses the model, directly or below an editor."""

    def __init__(self, folder: Path, model: Path, *, below_an_editor: bool = False) -> None:
        arguments = ["--as-editor"] if below_an_editor else []
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, *arguments, str(folder), str(model)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=PROJECT,
        )
        self.pid = self._answer()["pid"]

    def ask(self) -> None:
        """Want the model."""
        assert self.process.stdin is not None
        self.process.stdin.write("ready\n")
        self.process.stdin.flush()

    def told(self) -> dict[str, Any]:
        """Where it is."""
        answer = self._answer()
        assert "url" in answer, answer
        return answer

    def ready(self) -> dict[str, Any]:
        """Both."""
        self.ask()
        return self.told()

    def kill(self) -> None:
        """At once, with no chance to clean up."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End it if it is still there."""
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()

    def rest_of_output(self) -> str:
        """What it says until nobody holds its output any more."""
        assert self.process.stdout is not None
        return self.process.stdout.read()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the process ended"
        answer: dict[str, Any] = json.loads(line)
        return answer


async def serve(folder: str, model: str) -> None:
    """Answer until the end of the input."""
    local = LocalModel(model, folder=Path(folder), process_options=OPTIONS)
    say(pid=os.getpid())
    while await asyncio.to_thread(sys.stdin.readline):
        try:
            at = await local.ready()
            say(url=at.url, key=at.key.reveal())
        except CompletionsError as error:
            say(error=str(error))
    os._exit(0)  # as a server that has no time left


def edit(arguments: list[str]) -> None:
    """Start a server and pass on what is said to it; its answers go where ours do."""
    server = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, *arguments], stdin=subprocess.PIPE, text=True
    )
    assert server.stdin is not None
    for line in sys.stdin:
        server.stdin.write(line)
        server.stdin.flush()


def say(**what: object) -> None:
    """One line of JSON."""
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--as-editor":
        edit(sys.argv[2:])
    else:
        asyncio.run(serve(*sys.argv[1:]))
