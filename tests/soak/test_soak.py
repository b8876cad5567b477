"""The soak for some seconds, once for each encoding."""

import pytest

from tests.soak.__main__ import soak


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_sessions(seed: int) -> None:
    soak(keys=500, seed=seed)
