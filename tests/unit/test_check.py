import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import check

CASES = """
import pytest

def test_passes(): pass
@pytest.mark.skip(reason="no time")
def test_skipped_by_mark(): pass
def test_skipped_inside(): pytest.skip("no time")
def test_skipped_as_allowed(): pytest.skip("EXTRA_CASES is not set")
@pytest.mark.xfail(reason="not yet")
def test_strict(): assert False
@pytest.mark.xfail(reason="not yet", strict=False)
def test_lax(): assert False
def test_xfail_inside(): pytest.xfail("not yet")
"""

MODULE = """
import pytest
pytest.skip("no time", allow_module_level=True)
"""


HERE = {
    "passes": "PASSED",
    "skipped_by_mark": "SKIPPED",
    "skipped_inside": "SKIPPED",
    "skipped_as_allowed": "SKIPPED",
    "strict": "XFAIL",
    "lax": "XFAIL",
    "xfail_inside": "XFAIL",
}
IN_CI = HERE | {
    "skipped_by_mark": "ERROR",
    "skipped_inside": "FAILED",
    "lax": "FAILED",
    "xfail_inside": "FAILED",
}


@pytest.mark.parametrize(
    ("ci", "workers", "expected", "failures"),
    [
        pytest.param("", "0", HERE, 0, id="at a desk a skip is a skip"),
        pytest.param("true", "0", IN_CI, 5, id="CI lets nothing be skipped unseen"),
        pytest.param("true", "2", IN_CI, 5, id="nor in several processes"),
    ],
)
def test_skips(
    tmp_path: Path, ci: str, workers: str, expected: dict[str, str], failures: int
) -> None:
    conftest = (check.ROOT / "tests/conftest.py").read_text("utf-8")
    (tmp_path / "conftest.py").write_text(conftest, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nxfail_strict = true\n")
    (tmp_path / "test_cases.py").write_text(CASES)
    (tmp_path / "test_module.py").write_text(MODULE)
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-vv", "-ra", "-p", "no:cacheprovider"),
            *("--continue-on-collection-errors", "-n", workers),
        ],
        cwd=tmp_path,
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    name, outcome = r"test_cases\.py::test_(?P<name>\w+)", "(?P<outcome>[A-Z]+)"
    # A worker says its own name first, and then the outcome.
    line = rf"\[gw\d\].*\] {outcome} {name}" if workers != "0" else f"{name} {outcome}"
    found = re.finditer(f"^{line}", run.stdout, re.MULTILINE)
    assert {each["name"]: each["outcome"] for each in found} == expected
    summary = [line for line in run.stdout.splitlines() if re.match(r"FAILED|ERROR", line)]
    assert len(summary) == failures
    assert (run.returncode != 0) is bool(failures)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb\n",
            "a\n<!-- x:begin -->\n\n| new \\1 |\n\n<!-- x:end -->\nb\n",
            id="what was there is replaced",
        ),
        pytest.param(
            "<!-- x:begin -->\n<!-- x:end -->",
            "<!-- x:begin -->\n\n| new \\1 |\n\n<!-- x:end -->",
            id="nothing was there",
        ),
    ],
)
def test_generated_part(text: str, expected: str) -> None:
    assert check.with_part(text, "x", "| new \\1 |\n") == expected
    assert check.with_part(expected, "x", "| new \\1 |\n") == expected


def test_generated_part_without_its_marks() -> None:
    with pytest.raises(SystemExit, match="there once, and is 0 times"):
        check.with_part("text", "x", "new")
