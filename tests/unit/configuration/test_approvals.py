import asyncio
from pathlib import Path

import pytest

from lsp_completions.configuration.approvals import Approvals
from lsp_completions.configuration.in_force import Question
from lsp_completions.configuration.trust import trusted

A = "https://a.example"
QUESTION = Question(origin=A, key="endpoint")


class User:
    """Somebody who is asked."""

    def __init__(self, answer: bool | None, folder: Path) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self.told: list[str] = []
        self.changes = 0
        self.approvals = Approvals(self.ask, self.told.append, self.change, folder)

    async def ask(self, question: Question) -> bool | None:
        self.asked.append(question.origin)
        return self.answer

    def change(self) -> None:
        self.changes += 1

    async def considers(self) -> None:
        self.approvals.consider(QUESTION)
        asking = [task for task in asyncio.all_tasks() if task.get_name() == "approval"]
        await asyncio.gather(*asking)


@pytest.mark.parametrize(
    ("answer", "told"), [pytest.param(None, 1, id="no answer"), pytest.param(False, 0, id="no")]
)
async def test_without_a_yes_nothing_is_sent_and_nobody_is_asked_again(
    tmp_path: Path, answer: bool | None, told: int
) -> None:
    user = User(answer, tmp_path)
    await user.considers()
    assert user.told == [QUESTION.refusal] * told
    await user.considers()
    assert user.asked == [A]
    assert (user.approvals.origins, user.changes) == (frozenset(), 0)
    assert trusted(tmp_path) == ([], [])
    await user.approvals.aclose()


async def test_a_yes_counts_at_once_and_is_remembered(tmp_path: Path) -> None:
    user = User(True, tmp_path)
    await user.considers()
    assert user.approvals.origins == {A}
    assert (user.changes, user.told) == (1, [])
    assert trusted(tmp_path) == ([A], [])
    # Taken back elsewhere, it counts no more, and the user hears so.
    user.approvals.adopt(frozenset())
    assert user.approvals.origins == frozenset()
    await user.considers()
    assert (user.asked, user.told) == ([A], [QUESTION.refusal])
    await user.approvals.aclose()


async def test_a_yes_that_cannot_be_remembered_counts_until_the_end(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    user = User(True, tmp_path / "file")
    await user.considers()
    user.approvals.adopt(frozenset())
    assert user.approvals.origins == {A}
    assert "could not be written" in user.told[0]
    await user.approvals.aclose()


async def test_a_question_that_stays_open_ends_with_the_server(tmp_path: Path) -> None:
    user = User(True, tmp_path)
    asked = asyncio.Event()

    async def never(_: Question) -> bool | None:
        asked.set()
        await asyncio.Event().wait()
        return True

    approvals = Approvals(never, user.told.append, user.change, tmp_path)
    approvals.consider(QUESTION)
    await asked.wait()
    assert approvals.is_open
    await approvals.aclose()
    assert not approvals.is_open
    assert user.told == []
