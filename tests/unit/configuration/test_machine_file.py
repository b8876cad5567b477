from pathlib import Path

import pytest

from lsp_completions.configuration.machine_file import machine_file, machine_layers
from lsp_completions.configuration.sources import Kind
from lsp_completions.kinds import UNREADABLE
from lsp_completions.settings import resolve


def written(folder: Path, text: str, mode: int = 0o644) -> Path:
    file = folder / "config.toml"
    file.write_text(text)
    file.chmod(mode)
    return file


def test_its_settings_and_what_it_locks(tmp_path: Path) -> None:
    file = written(tmp_path, 'endpoint = "a.example"\nlocked = ["endpoint", "exclude"]\n')
    ((source, values),), problems = machine_layers(file)
    assert problems == []
    assert values == {"endpoint": "a.example"}
    assert (source.kind, source.path, source.name) == (Kind.MACHINE, file, str(file))
    assert source.locked == {"endpoint", "exclude"}


def test_there_need_be_none(tmp_path: Path) -> None:
    assert machine_layers(tmp_path / "none" / "config.toml") == ([], [])
    assert machine_file().is_absolute()


@pytest.mark.parametrize("mode", [0o666, 0o664, 0o646])
def test_what_anybody_may_have_written_does_not_count(tmp_path: Path, mode: int) -> None:
    file = written(tmp_path, 'endpoint = "a.example"\n', mode)
    layers, (problem,) = machine_layers(file)
    assert layers == []
    assert "does not count" in problem.message
    assert "chmod 644" in problem.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("endpoint =", "is not TOML", id="broken"),
        pytest.param("#" * 1_000_001, "is too large", id="too large"),
        pytest.param("a = " + "[" * 100_000, "", id="deep"),
    ],
)
def test_while_it_cannot_be_read_nothing_is_sent(tmp_path: Path, text: str, message: str) -> None:
    layers, (problem,) = machine_layers(written(tmp_path, text))
    assert message in problem.message
    assert "nothing is sent" in problem.message
    settings, problems = resolve(layers)
    assert (settings.exclude, problems) == ((UNREADABLE,), ())


@pytest.mark.parametrize(
    ("value", "path"),
    [
        pytest.param('"endpoint"', "$.locked", id="no list"),
        pytest.param('["endpoint", "endpiont"]', "$.locked[1]", id="no such setting"),
        pytest.param('["endpoint", 5]', "$.locked[1]", id="no name"),
        pytest.param('["endpoint", ["x"]]', "$.locked[1]", id="no text"),
    ],
)
def test_a_wrong_list_of_locks(tmp_path: Path, value: str, path: str) -> None:
    layers, (problem,) = machine_layers(written(tmp_path, f"locked = {value}\n"))
    assert problem.path == path
    assert layers[0].source.locked == (set() if path == "$.locked" else {"endpoint"})
