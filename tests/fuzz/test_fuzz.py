"""Each target a few times, from a seed; the long runs are `python -m tests.fuzz`."""

import subprocess
import sys

import pytest

from tests.fuzz import targets
from tests.fuzz.__main__ import NAMES
from tests.fuzz.targets import SEEDS, TARGETS

RUNS = {"messages": 30}


def test_every_target_can_be_named() -> None:
    assert set(NAMES) == set(TARGETS) == set(SEEDS)


@pytest.mark.parametrize(
    ("target", "how"),
    [
        *[pytest.param(name, [], id=f"{name}, led by coverage") for name in NAMES],
        pytest.param("framing", ["--random"], id="framing, at random"),
    ],
)
def test_some_bytes(target: str, how: list[str]) -> None:
    runs = str(RUNS.get(target, 500))
    ran = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", target, "--runs", runs, *how],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4_000:]
    assert f"Done {runs} runs" in ran.stdout + ran.stderr


def test_what_is_found_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that could not fail would find nothing."""
    monkeypatch.setattr(targets, "LAST", {1: 2})  # comes back with a text for a key
    with pytest.raises(AssertionError):
        TARGETS["framing"](b"\x01")
