"""Fuzz one target, for some time or so many times.

python -m tests.fuzz framing --seconds 300
python -m tests.fuzz streams --runs 2000 --seed 1
python -m tests.fuzz settings --file crash-0123     what was found, once more

atheris leads the bytes to code they have not reached yet. It has wheels for Linux; elsewhere, and
with `--random`, bytes are the seeds with something changed.
"""

import argparse
import importlib.util
import logging
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("framing", "streams", "settings", "git-config", "messages")
LONGEST = 4096  # bytes


def main() -> None:
    """Read the arguments and fuzz."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", choices=NAMES)
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--runs", type=int, default=-1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--random", action="store_true")
    options = parser.parse_args()

    # A home of its own: nobody's settings, and nothing left behind.
    home = tempfile.mkdtemp(prefix="fuzz-home-")
    for kind in ("CONFIG", "STATE", "DATA", "CACHE", "RUNTIME"):
        os.environ[f"XDG_{kind}_{'DIR' if kind == 'RUNTIME' else 'HOME'}"] = home
    os.environ["HOME"] = os.environ["USERPROFILE"] = home
    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    logging.disable(logging.CRITICAL)

    if options.file is not None:
        from tests.fuzz.targets import TARGETS

        TARGETS[options.target](options.file.read_bytes())
    elif options.random or importlib.util.find_spec("atheris") is None:
        changed_at_random(options)
    else:
        led_by_coverage(options)


def led_by_coverage(options: argparse.Namespace) -> None:
    """By atheris, which ends the process."""
    import atheris

    with atheris.instrument_imports(include=["lsp_completions", "httpx_sse"]):
        from tests.fuzz.targets import TARGETS, seeded
    corpus = seeded(options.target)
    arguments = [
        sys.argv[0],
        f"-runs={options.runs}",
        f"-max_total_time={options.seconds}",
        f"-seed={options.seed}",
        f"-max_len={LONGEST}",
        "-timeout=20",
        "-rss_limit_mb=1024",
        f"-artifact_prefix={tempfile.gettempdir()}/{options.target}-",
        "-verbosity=1",
        "-print_final_stats=1",
        str(corpus),
    ]
    atheris.Setup(arguments, TARGETS[options.target])
    try:
        atheris.Fuzz()
    finally:
        shutil.rmtree(corpus, ignore_errors=True)


def changed_at_random(options: argparse.Namespace) -> None:
    """The seeds, each with a few changes."""
    from tests.fuzz.targets import SEEDS, TARGETS

    dice, ends = random.Random(options.seed), time.monotonic() + options.seconds
    count = 0
    while count != options.runs and (not options.seconds or time.monotonic() < ends):
        data = bytearray(dice.choice(SEEDS[options.target]))
        for _ in range(dice.randrange(8)):
            change(data, dice, SEEDS[options.target])
        try:
            TARGETS[options.target](bytes(data[:LONGEST]))
        except BaseException:
            print(f"after {count} runs, seed {options.seed}: {bytes(data)!r}", flush=True)
            raise
        count += 1
    print(f"Done {count} runs")


def change(data: bytearray, dice: random.Random, others: list[Any]) -> None:
    """One change: bytes replaced, taken out, put in, doubled or brought from elsewhere."""
    at = dice.randrange(len(data) + 1)
    end = min(len(data), at + dice.randrange(1, 9))
    match dice.randrange(5):
        case 0:
            data[at:end] = dice.randbytes(end - at)
        case 1:
            del data[at:end]
        case 2:
            data[at:at] = dice.randbytes(dice.randrange(1, 5))
        case 3:
            data[at:at] = data[at:end] * dice.randrange(1, 4)
        case _:
            data[at:at] = dice.choice(others)


if __name__ == "__main__":
    main()
