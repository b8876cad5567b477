"""The choice of excerpts, on projects written for it: in a reduced form what the command tells."""

from functools import cache

import pytest

from tests.evaluation.projects import Hole, holes_in, installed, written
from tests.evaluation.retrieval import BUDGETS, WAYS, Recall, context_of, ours, recalls


@cache
def holes(which: str) -> list[Hole]:
    projects = written() if which == "written" else installed(["h11", "httpcore"])
    most = 15 if which == "written" else 12
    return [hole for project in projects for hole in holes_in(project, seed=0, most=most)]


@cache
def found(which: str) -> dict[str, Recall]:
    return {each.way: each for each in recalls(holes(which), WAYS)}


@pytest.mark.parametrize(
    ("which", "budget", "least"),
    [
        pytest.param("written", 256, 0.75, id="written for it, 256 tokens"),
        # In 1,024 tokens is all of the project, whoever chooses.
        pytest.param("written", 512, 0.9, id="written for it, 512 tokens"),
        pytest.param("installed", 256, 0.6, id="packages, 256 tokens"),
        pytest.param("installed", 512, 0.7, id="packages, 512 tokens"),
        pytest.param("installed", 1024, 0.75, id="packages, 1024 tokens"),
    ],
)
def test_more_definitions_are_shown_than_other_ways_would(
    which: str, budget: int, least: float
) -> None:
    shares = {way: each.shares[budget] for way, each in found(which).items()}
    best = max(share for way, share in shares.items() if way != "ours")
    assert shares["ours"] > max(best + 0.05, least)


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_budget_is_kept(budget: int) -> None:
    for hole in holes("written")[::5]:
        shown = ours(hole, context_of(hole), budget * 4)
        assert sum(len(line) + 1 for _, line in shown) <= budget * 4


def test_there_are_holes_in_every_project() -> None:
    names = {hole.project.name for hole in holes("written")}
    assert names == {project.name for project in written()}
    assert len(names) >= 6
    assert all(hole.defined_in != hole.path and hole.lines for hole in holes("written"))
