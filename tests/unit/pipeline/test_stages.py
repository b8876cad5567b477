from pathlib import Path

from lsp_completions import pipeline


def test_the_list_of_stages_is_whole() -> None:
    listed = [line.split()[0] for line in (pipeline.__doc__ or "").splitlines()[2:] if line]
    folder = Path(pipeline.__path__[0])
    there = {path.stem for path in folder.iterdir() if not path.name.startswith("__")}
    assert len(listed) == len(set(listed))
    assert set(listed) == there
