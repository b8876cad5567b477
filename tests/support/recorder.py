"""What editor and server say to each other, written down between them.

    python tests/support/recorder.py FOLDER -- COMMAND...

runs the server and hands on every byte both ways. Each message goes to a file of this process in
the folder, a line of JSON each: when, in seconds; from the `editor` or the `server`; the message.

Run by its path, with nothing installed. Who plays scenarios with `LSP_COMPLETIONS_RECORD=FOLDER` in
the environment has them recorded: `tests/editors/record.py`.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any


class Recording:
    """One file, written from two threads."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._began = time.monotonic()

    def note(self, origin: str, message: Any) -> None:
        at = round(time.monotonic() - self._began, 3)
        line = json.dumps({"at": at, "from": origin, "message": message}, ensure_ascii=False)
        with self._lock:
            self._file.write(line + "\n")
            self._file.flush()


def hand_on(source: IO[bytes], target: IO[bytes], origin: str, recording: Recording) -> None:
    """Hand on messages until the end, and then end the other side too."""
    try:
        while True:
            head, length = b"", 0
            while (line := source.readline()) not in (b"\r\n", b""):
                head += line
                name, _, value = line.partition(b":")
                if name.strip().lower() == b"content-length":
                    length = int(value)
            if not line:
                break
            body = source.read(length)
            # Noted before it is there: an answer is never noted before its question.
            recording.note(origin, json.loads(body))
            target.write(head + line + body)
            target.flush()
    except (OSError, ValueError):
        pass  # one of them is gone
    finally:
        with contextlib.suppress(OSError):
            target.close()


def main(folder: str, command: list[str]) -> int:
    """Stand between until the server has ended; its exit code."""
    path = Path(folder) / f"{time.time_ns()}-{os.getpid()}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        recording = Recording(file)
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert server.stdin is not None
        assert server.stdout is not None
        ways = [
            (sys.stdin.buffer, server.stdin, "editor"),
            (server.stdout, sys.stdout.buffer, "server"),
        ]
        threads = [
            threading.Thread(target=hand_on, args=(*way, recording), daemon=True) for way in ways
        ]
        for thread in threads:
            thread.start()
        code = server.wait()
        threads[1].join(5)
    return code


if __name__ == "__main__":
    own = sys.argv.index("--")
    # The other thread may be reading: nothing else ends that.
    os._exit(main(sys.argv[1], sys.argv[own + 1 :]))
