"""Cases kept outside the project, for those who have them: named by `EXTRA_CASES`."""

import json
import os
from pathlib import Path
from typing import Any

import pytest


def extra_path(relative: str) -> Path:
    """The path of a file or folder below `EXTRA_CASES`; skips the test where there is none."""
    root = os.environ.get("EXTRA_CASES")
    if not root:
        pytest.skip("EXTRA_CASES is not set")
    path = Path(root, relative)
    if not path.exists():
        pytest.skip(f"EXTRA_CASES has no {relative}")
    return path


def extra_cases(relative: str) -> list[dict[str, Any]]:
    """The rows of a JSON-lines file below `EXTRA_CASES`."""
    with extra_path(relative).open(encoding="utf-8", newline="\n") as lines:
        return [json.loads(line) for line in lines]
