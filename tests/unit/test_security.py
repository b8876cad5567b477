"""The threat model names tests, and they exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_threat_has_its_test() -> None:
    page = (ROOT / ".github" / "SECURITY.md").read_text(encoding="utf-8")
    tests = "\n".join(file.read_text(encoding="utf-8") for file in ROOT.glob("tests/**/test_*.py"))
    there = set(re.findall(r"^\s*(?:async )?def (test_\w+)", tests, re.MULTILINE))
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 30
    assert named <= there, named - there
    threats = [line for line in page.splitlines() if line.startswith("- ")]
    assert all("`test_" in line or "no test holds against that" in line for line in threats)
