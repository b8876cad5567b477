"""What waits beside the database is taken along, unless it is anything else than was written."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from lsp_completions.statistics.records import AFTER, Nothing
from lsp_completions.statistics.store import read
from lsp_completions.statistics.waiting import bring_in
from tests.unit.statistics.test_store import ONE

ENDLESS = float("inf")
TOO_MUCH = 10**30  # SQLite has no room for it
NOTHING = Nothing(day="2027-01-15", reason="EMPTY", language="python", provider="sourcegraph")


def waiting(**changes: Any) -> dict[str, Any]:
    suggestion = {**asdict(ONE), **changes.pop("suggestion", {})}
    held = {
        "suggestions": [suggestion],
        "nothings": [[asdict(NOTHING), 2]],
        "kept": [[ONE.server, ONE.number, AFTER[0], 0.5]],
    }
    return {**held, **changes}


def put_beside(file: Path, held: object) -> Path:
    beside = file.with_name(f"{file.name}.abcd.waiting")
    beside.write_text(json.dumps(held), encoding="utf-8")
    return beside


def test_it_is_taken_along(tmp_path: Path) -> None:
    file = tmp_path / "statistics.db"
    beside = put_beside(file, waiting())
    bring_in(file, patience=1)
    held = read(file, 0)
    assert [row.suggestion for row in held.rows] == [ONE]
    assert held.rows[0].kept[0] == 0.5
    assert held.nothings == {NOTHING: 2}
    assert not beside.exists()


@pytest.mark.parametrize(
    "held",
    [
        pytest.param(None, id="nothing"),
        pytest.param([], id="a list"),
        pytest.param(waiting(suggestions=[1]), id="a number in place of a suggestion"),
        pytest.param(waiting(suggestion={"server": 1}), id="a number in place of a name"),
        pytest.param(waiting(suggestion={"number": TOO_MUCH}), id="a number too large"),
        pytest.param(waiting(suggestion={"at": ENDLESS}), id="at the end of time"),
        pytest.param(waiting(suggestion={"sent": float("nan")}), id="after no number of seconds"),
        pytest.param(waiting(nothings=[[asdict(NOTHING), ENDLESS]]), id="endlessly often"),
        pytest.param(waiting(nothings=[[asdict(NOTHING), TOO_MUCH]]), id="too often"),
        pytest.param(waiting(nothings=[[asdict(NOTHING), -1]]), id="less than never"),
        pytest.param(waiting(nothings=[[asdict(NOTHING), "2"]]), id="a count in letters"),
        pytest.param(waiting(kept=[["s", ENDLESS, AFTER[0], 0.5]]), id="of no suggestion"),
        pytest.param(waiting(kept=[["s", TOO_MUCH, AFTER[0], 0.5]]), id="of one too far"),
        pytest.param(waiting(kept=[["s", 1, AFTER[0], TOO_MUCH**20]]), id="a share too large"),
    ],
)
def test_anything_else_is_thrown_away(tmp_path: Path, held: object) -> None:
    file = tmp_path / "statistics.db"
    good, bad = put_beside(file, waiting()), tmp_path / f"{file.name}.bad.waiting"
    bad.write_text(json.dumps(held), encoding="utf-8")
    bring_in(file, patience=1)
    assert [row.suggestion for row in read(file, 0).rows] == [ONE]
    assert not good.exists()
    assert not bad.exists()
