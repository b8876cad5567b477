"""Type at random for some time, against a backend that misbehaves; ends at the first fault.

python -m tests.soak --minutes 30
python -m tests.soak --keys 18000      an hour of somebody who types five keys a second
"""

import argparse
import os
import tempfile
import time

from tests.soak.session import OPTIONS, SERVER, Session, environment, footprint
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import TOKEN, running_stand_in

ROUND = 250  # keys between two looks at everything
WARM = 4  # rounds until caches are as full as they get
GROWTH = 1.1
ENCODINGS = ("utf-16", "utf-8", "utf-32")


def soak(*, keys: int = 0, seconds: float = 0, seed: int = 1, say: bool = False) -> None:
    """Soak one server."""
    began = time.monotonic()
    encoding = ENCODINGS[seed % 3]
    with (
        running_stand_in() as instance,
        LspClient.start(SERVER, env=environment(instance)) as client,
    ):
        capabilities = {
            "general": {"positionEncodings": [encoding]},
            "textDocument": {"inlineCompletion": {}},
            "workspace": {"executeCommand": {}},
        }
        client.initialize(capabilities, rootUri="file:///w", initializationOptions=OPTIONS)
        done, warm = 0, (0, 0, 0)
        number = 0
        while (keys and done < keys) or (seconds and time.monotonic() - began < seconds):
            session = Session(client, instance, seed=seed * 1000 + number, encoding=encoding)
            for _ in range(ROUND):
                session.key()
            session.rests()
            done += ROUND
            number += 1
            now = footprint(client)
            if number == WARM:
                warm = now
            if say:
                print(f"{done} keys, {now[0]} kB, {now[1]} files, {now[2]} threads", flush=True)
        if number > WARM:
            assert now[0] <= warm[0] * GROWTH, (warm, now)
            assert now[1] <= warm[1] + 10, (warm, now)
            assert now[2] <= warm[2] + 4, (warm, now)
        assert client.stop() == 0
        assert client.junk == b""
        for unwanted in (TOKEN, "Traceback", "never awaited", "was lost"):
            assert unwanted not in client.all_stderr()


def main() -> None:
    """Read the arguments and soak."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--keys", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # A home of its own: nobody's settings, logins and model.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        for kind in ("CONFIG_HOME", "STATE_HOME", "DATA_HOME", "CACHE_HOME", "RUNTIME_DIR"):
            os.environ[f"XDG_{kind}"] = home
        os.environ["HOME"] = os.environ["USERPROFILE"] = home
        os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
        run(options)


def run(options: argparse.Namespace) -> None:
    """Soak as the arguments say."""
    soak(keys=options.keys, seconds=options.minutes * 60, seed=options.seed, say=True)


if __name__ == "__main__":
    main()
