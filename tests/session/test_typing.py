import pytest

from lsp_completions.pipeline.document import Position, Range, TextChange
from lsp_completions.pipeline.positions import PositionEncoding
from lsp_completions.server.by_hand import Insistence, TriggerKinds, Typing

URI = "file:///w/a.py"


def typed(text: str, line: int = 0, character: int = 0) -> TextChange:
    place = Position(line, character)
    return TextChange(Range(place, place), text)


@pytest.mark.parametrize(
    ("changes", "later", "cursor", "expected"),
    [
        pytest.param([typed("a")], 0.05, Position(0, 1), True, id="one letter, at once"),
        pytest.param([typed("😀")], 0.05, Position(0, 2), True, id="in the editor's units"),
        pytest.param([typed("a")], 0.5, Position(0, 1), False, id="some time after"),
        pytest.param([typed("a")], 0.05, Position(0, 0), False, id="the cursor is elsewhere"),
        pytest.param([typed("abc")], 0.05, Position(0, 3), False, id="pasted or accepted"),
        pytest.param([typed("\n")], 0.05, Position(1, 0), False, id="a new line"),
        pytest.param([typed("a"), typed("b", 0, 1)], 0.05, Position(0, 2), False, id="a batch"),
        pytest.param([TextChange(None, "a")], 0.05, Position(0, 1), False, id="the whole text"),
        pytest.param([], 0.05, Position(0, 0), False, id="nothing"),
    ],
)
def test_what_was_typed_this_moment(
    changes: list[TextChange], later: float, cursor: Position, expected: bool
) -> None:
    now = 100.0
    typing = Typing(clock=lambda: now)
    typing.changed(URI, changes, PositionEncoding.UTF16)
    now += later
    assert typing.just_typed("file:/w/%61.py", cursor) is expected
    assert not typing.just_typed("file:///w/b.py", cursor)


@pytest.mark.parametrize(
    ("kinds", "by_hand"),
    [
        pytest.param([2, 2, 1], [False, False, True], id="as since LSP 3.18"),
        pytest.param([0, 1, 1], [True, False, False], id="as before"),
        pytest.param([1], [True], id="nobody can tell"),
        pytest.param([None, 7], [False, False], id="none, or unknown"),
    ],
)
def test_which_requests_for_ghost_text_are_by_hand(
    kinds: list[int | None], by_hand: list[bool]
) -> None:
    seen = TriggerKinds()
    assert [seen.is_by_hand(kind) for kind in kinds] == by_hand


@pytest.mark.parametrize(
    ("asked", "insists"),
    [
        pytest.param([(0, 4), (1, 4), (2, 4)], True, id="three times"),
        pytest.param([(0, 4), (1, 4)], False, id="insert mode was left and entered"),
        pytest.param([(0, 4), (1, 4), (4, 4)], False, id="after a while"),
        pytest.param([(0, 4), (1, 4), (2, 5)], False, id="elsewhere"),
        pytest.param([(0, 4), (3, 4), (4, 4), (5, 4)], True, id="after a first time long ago"),
    ],
)
def test_who_insists(asked: list[tuple[float, int]], insists: bool) -> None:
    now = 100.0
    insistence = Insistence(clock=lambda: now)
    seen = []
    for at, column in asked:
        now = 100.0 + at
        seen.append(insistence.asked(URI, Position(0, column)))
    assert seen == [False] * (len(asked) - 1) + [insists]
