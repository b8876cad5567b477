from pathlib import Path

import pytest

from lsp_completions.configuration import (
    config_file,
    editor_layers,
    load_user_layers,
    section,
)
from lsp_completions.configuration.sources import Kind, Layer
from lsp_completions.kinds import NOT_READ
from lsp_completions.settings import Menu, resolve


def named(layers: list[Layer]) -> list[tuple[str, object]]:
    return [(layer.source.name, layer.values) for layer in layers]


def test_the_file_then_the_environment(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('endpoint = "a.example"\nmaxTokens = 64\n')
    environment = {"SRC_ENDPOINT": "b.example", "SRC_ACCESS_TOKEN": "sgp_a\n", "PATH": "/bin"}
    layers, problems = load_user_layers(environment, tmp_path)
    assert problems == []
    assert named(layers) == [
        (str(tmp_path / "config.toml"), {"endpoint": "a.example", "maxTokens": 64}),
        ("SRC_ENDPOINT", {"endpoint": "b.example"}),
        ("SRC_ACCESS_TOKEN", {"accessToken": "sgp_a\n"}),
    ]
    assert {layer.source.kind for layer in layers} == {Kind.OWN}
    assert layers[0].source.path == tmp_path / "config.toml"
    # Both variables are of one place.
    assert layers[1].source.place == layers[2].source.place != layers[0].source.place
    settings, problems_of_values = resolve([*layers, *editor_layers({"menu": "off"})])
    assert problems_of_values == ()
    assert (settings.endpoint, settings.max_tokens) == ("https://b.example", 64)
    assert settings.menu is Menu.OFF
    assert settings.source_of("accessToken") == "SRC_ACCESS_TOKEN"


def test_nothing_set_is_no_problem(tmp_path: Path) -> None:
    assert load_user_layers({"SRC_ENDPOINT": ""}, tmp_path / "none") == ([], [])


@pytest.mark.parametrize(
    ("written", "message"),
    [
        pytest.param(b"menu = on\n", "is not TOML: Invalid value (at line 1", id="no quotes"),
        pytest.param(b'menu = "on"\nmenu = "off"\n', "(at line 2", id="set twice"),
        pytest.param('menu = "on"\n'.encode("utf-16"), "is not UTF-8.", id="written by PowerShell"),
    ],
)
def test_a_broken_file_is_reported_and_may_have_kept_anything_back(
    tmp_path: Path, written: bytes, message: str
) -> None:
    (tmp_path / "config.toml").write_bytes(written)
    layers, (problem,) = load_user_layers({"SRC_ENDPOINT": "b.example"}, tmp_path)
    assert named(layers) == [
        (str(tmp_path / "config.toml"), {"exclude": [NOT_READ]}),
        ("SRC_ENDPOINT", {"endpoint": "b.example"}),
    ]
    assert (problem.path, problem.source) == ("$", str(tmp_path / "config.toml"))
    assert problem.message.startswith('The settings file "config.toml" is not ')
    assert message in problem.message


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    layers, (problem,) = load_user_layers({}, tmp_path)
    assert named(layers) == [(str(tmp_path / "config.toml"), {"exclude": [NOT_READ]})]
    assert problem.message.startswith('The settings file "config.toml" could not be read: ')
    assert problem.message.endswith("Until then nothing is sent.")


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(b'\xef\xbb\xbfmenu = "off"\n', id="byte order mark"),
        pytest.param(b'menu = "off"\r\n', id="CRLF"),
        pytest.param(b'[lspCompletions]\nmenu = "off"\n', id="under its name"),
        pytest.param(b'lspCompletions.menu = "off"\n', id="name and dot"),
    ],
)
def test_a_file_as_editors_write_it(tmp_path: Path, written: bytes) -> None:
    (tmp_path / "config.toml").write_bytes(written)
    layers, problems = load_user_layers({}, tmp_path)
    settings, problems_of_values = resolve(layers)
    assert (settings.menu, problems, problems_of_values) == (Menu.OFF, [], ())


@pytest.mark.parametrize(
    ("raw", "ours"),
    [
        pytest.param({"menu": "on"}, {"menu": "on"}, id="alone"),
        pytest.param({"lspCompletions": {"menu": "on"}}, {"menu": "on"}, id="under its name"),
        pytest.param(
            {"lspCompletions": {"menu": "on"}, "python": {"x": 1}},
            {"menu": "on"},
            id="among those of others",
        ),
        pytest.param(
            {"lspCompletions.menu": "on", "python.x": 1}, {"menu": "on"}, id="name and dot"
        ),
        pytest.param(
            {"lspCompletions": {"menu": "on", "topK": 1}, "lspCompletions.menu": "off"},
            {"menu": "off", "topK": 1},
            id="both",
        ),
        pytest.param({"lspCompletions": None}, None, id="its name, and nothing under it"),
        pytest.param({"lspCompletions": "on"}, "on", id="its name, and no map under it"),
        pytest.param(None, None, id="nothing"),
        pytest.param([], [], id="Lua's empty map"),
        pytest.param(
            {"editorInfo": {"name": "Emacs"}, "editorPluginInfo": {}, "menu": "on"},
            {"menu": "on"},
            id="what Copilot's server is told",
        ),
        pytest.param({"http": {"proxy": ""}, "telemetry": {}}, {}, id="only what others are told"),
    ],
)
def test_section(raw: object, ours: object) -> None:
    assert section(raw) == ours


def test_the_file_is_in_the_users_config_folder() -> None:
    file = config_file()
    assert (file.name, file.parent.name) == ("config.toml", "lsp-completions")
    assert file.is_absolute()


def test_a_config_folder_relative_to_a_project_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", "config")
    assert config_file().is_absolute()
    assert not config_file().is_relative_to(tmp_path)
