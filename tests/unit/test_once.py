from pathlib import Path

from lsp_completions.once import first_time


def test_it_is_the_first_time_once(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    assert [first_time("of-a", folder), first_time("of-a", folder)] == [True, False]
    assert first_time("of-b", folder)


def test_where_nothing_can_be_remembered_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not first_time("of-a", tmp_path / "file")
