"""The embedded model through the pipeline against its raw output: a handful of short lines.

`README.md` has the whole table.
"""

from pathlib import Path
from statistics import fmean

import pytest

from tests.evaluation.holes import LINE_END, LINES, MIDDLE, WHOLE_LINE, Hole
from tests.evaluation.real_model import (
    FIRST_LINE,
    OURS,
    RAW,
    WITH_EXCERPTS,
    Tried,
    held_out,
    served,
    shown,
    similarity,
    table,
    trials,
)
from tests.support.llama_server import model_file


def hole(language: str, kind: str, drawn: str) -> Hole:
    before, _, rest = drawn.partition("«")
    text, _, after = rest.partition("»")
    return Hole(
        name=f"a.{language}:1", language=language, kind=kind, before=before, text=text, after=after
    )


FEW = [
    hole("python", LINE_END, "import json\n\n\ndef load(path):\n    with open(path) as «f:»\n"),
    hole(
        "python",
        WHOLE_LINE,
        "def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    «return a - b»\n",
    ),
    hole(
        "javascript",
        MIDDLE,
        "function first(list) {\n  return list[0];\n}\n\nfunction last(list) {\n"
        "  return list[«list.length - 1»];\n}\n",
    ),
    hole(
        "go",
        WHOLE_LINE,
        "func Sum(list []int) int {\n\ttotal := 0\n\tfor _, each := range list {\n"
        "\t\t«total += each»\n\t}\n\treturn total\n}\n",
    ),
    hole(
        "c",
        MIDDLE,
        "int sum(const int *list, int count) {\n    int total = 0;\n"
        "    for (int i = 0; i «< count; i++») {\n        total += list[i];\n    }\n",
    ),
]


@pytest.fixture
def model() -> Path:
    return model_file()


async def test_the_pipeline_makes_more_of_the_model_than_its_raw_output(
    model: Path, tmp_path: Path
) -> None:
    async with served(model, tmp_path) as at:
        found = await trials(FEW, at, ways=(RAW, FIRST_LINE, OURS))
    for each in FEW:
        print(shown([one for one in found if one.hole is each]))
    ours, raw, first = (
        [each for each in found if each.way == way] for way in (OURS, RAW, FIRST_LINE)
    )
    assert len(ours) == len(raw) == len(first) == len(FEW)
    assert sum(each.exact for each in ours) >= sum(each.exact for each in first)
    for worse in (raw, first):
        assert fmean(each.similarity for each in ours) > fmean(each.similarity for each in worse)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param("", "", 1.0, id="nothing is as wanted"),
        pytest.param("abcd", "abcd", 1.0, id="the same"),
        pytest.param("abcd", "", 0.0, id="nothing came"),
        pytest.param("abcd", "wxyz", 0.0, id="all is different"),
        pytest.param("abcd", "abxd", 0.75, id="one is changed"),
        pytest.param("abc", "abcd", 0.75, id="one is missing"),
        pytest.param("xabc", "abc", 0.75, id="one too many at the beginning"),
    ],
)
def test_similarity(one: str, other: str, expected: float) -> None:
    assert similarity(one, other) == similarity(other, one) == expected


def test_held_out_lines_are_of_many_languages_and_of_each_kind() -> None:
    holes = held_out(lines=30, installed=False)
    assert len(holes) == 30
    assert {each.kind for each in holes} == set(LINES)
    assert len({each.language for each in holes}) >= 12
    assert holes == held_out(lines=30, installed=False)


def test_the_table_has_a_row_for_each_kind_and_a_column_for_each_way() -> None:
    found = [
        Tried(hole=each, way=way, wanted=each.text, got=each.text, said="x", anything=way != OURS)
        for each in FEW
        for way in (RAW, WITH_EXCERPTS, OURS)
    ]
    text = table(found)
    assert all(f"| {kind} |" in text for kind in (*LINES, "all"))
    assert "the pipeline, with excerpts" in text
    assert "Nothing to accept: raw 0, the pipeline, with excerpts 0, the pipeline 5." in text
