"""Edits out of the commits of a repository."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.evaluation.history import changes_between, sittings_of

PYTHON = """def total(items):
    result = 0
    for item in items:
        result += item
    return result
"""
AFTER = """from decimal import Decimal

def total(items, rate):
    result = Decimal(0)
    for item in items:
        result += item * rate
    return result.normalize()
"""


def commit(folder: Path, message: str, **files: str) -> None:
    for name, text in files.items():
        folder.joinpath(name.replace("_", ".")).write_text(text, encoding="utf-8", newline="\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    alone = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", message]):
        subprocess.run(["git", *arguments], cwd=folder, check=True, env=alone, timeout=60)


def test_edits_are_made_one_after_the_other_and_imports_last(tmp_path: Path) -> None:
    commit(tmp_path, "first", shop_py=PYTHON, notes_txt="one\n")
    commit(tmp_path, "second", shop_py=AFTER, notes_txt="two\n")
    (sitting,) = sittings_of(tmp_path, commits=5)
    assert sitting.language == "python"
    assert [(edit.deleted, edit.text) for edit in sitting.edits] == [
        ("", ", rate"),
        ("0", "Decimal(0)"),
        ("", " * rate"),
        ("", ".normalize()"),
        ("", "from decimal import Decimal\n\n"),
    ]
    assert sitting.edits[0].begun == PYTHON
    assert sitting.edits[-1].made == AFTER
    assert sittings_of(tmp_path, commits=5, only=["go"]) == []
    assert sittings_of(tmp_path, commits=5, at="HEAD^") == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param("a\nb\n", "a\nnew\nb\n", [("", "\nnew")], id="a line from the one before on"),
        pytest.param("a\n", "new\na\n", [("", "new\n")], id="a line before the first"),
        pytest.param("a\nb\nc\n", "a\nc\n", [("b\n", "")], id="a line that goes"),
        pytest.param("f(get_x)\n", "f(get_y)\n", [("get_x", "get_y")], id="whole words"),
        pytest.param("f(a)\n", "f(a, b)\n", [("", ", b")], id="within a line"),
        pytest.param("f(a)\nf(b)\n", "g(a)\ng(b)\n", [("f", "g"), ("f", "g")], id="each line"),
        pytest.param(
            "one = 1\ntwo = 2\n",
            "zero = 'none'\none = 1.0\ntwo = 2.0\n",
            [("", "zero = 'none'\n"), ("", ".0"), ("", ".0")],
            id="each line of what it was",
        ),
        pytest.param(
            "f {\n}\n\nh {\n}\n",
            "f {\n}\n\ng {\n  1\n}\n\nh {\n}\n",
            [("", "\n\ng {\n  1\n}")],
            id="a function before another",
        ),
        pytest.param(
            "  f {\n  }\n}\n",
            "  f {\n  }\n\n  g {\n  }\n}\n",
            [("", "\n\n  g {\n  }")],
            id="a function after another",
        ),
        pytest.param("a\nb", "a\nb\nc", [("", "\n"), ("", "c")], id="no line end at the end"),
    ],
)
def test_changes_are_as_small_as_somebody_would_make_them(
    before: str, after: str, expected: list[tuple[str, str]]
) -> None:
    changes = list(changes_between(before, after))
    assert [(before[each.start : each.end], each.new) for each in changes] == expected
