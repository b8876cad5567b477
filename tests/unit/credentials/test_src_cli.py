"""What src-cli's variables and its file say to us."""

from pathlib import Path

import pytest

from lsp_completions.configuration import load_user_layers
from lsp_completions.configuration.in_force import InForce, put_in_force
from lsp_completions.credentials import src_cli
from lsp_completions.credentials.logins import Logins
from lsp_completions.secret import Secret


@pytest.mark.parametrize(
    ("environment", "headers"),
    [
        pytest.param({}, {}, id="none"),
        pytest.param({"SRC_HEADERS": "  "}, {}, id="blank"),
        pytest.param({"SRC_HEADERS": "X-A: 1"}, {"x-a": "1"}, id="one"),
        pytest.param({"SRC_HEADERS": "A: 1\nB:2 \r\n"}, {"a": "1", "b": "2"}, id="lines"),
        pytest.param({"SRC_HEADERS": r"A: 1\nB: 2"}, {"a": "1", "b": "2"}, id="escapes"),
        pytest.param({"SRC_HEADERS": r'"A: 1\nB: 2"'}, {"a": "1", "b": "2"}, id="quotes around"),
        pytest.param({"SRC_HEADERS": "'A: 1'"}, {"a": "1"}, id="other quotes around"),
        pytest.param({"SRC_HEADERS": 'A: "1"'}, {"a": '"1"'}, id="quotes within"),
        pytest.param({"SRC_HEADERS": "A: b:c"}, {"a": "b:c"}, id="a colon within"),
        pytest.param({"SRC_HEADERS": "A\nB:\n: 1\nC: 3"}, {"c": "3"}, id="lines of no use"),
        pytest.param({"SRC_HEADERS": '{"X-A": "1", "B": ""}'}, {"x-a": "1"}, id="JSON"),
        pytest.param({"SRC_HEADERS": '\'{"A": "1"}\''}, {"a": "1"}, id="JSON with quotes around"),
        pytest.param({"SRC_HEADER_X-A": "1", "SRC_HEADER_": "2"}, {"x-a": "1"}, id="one by name"),
        pytest.param({"SRC_HEADER_B_C": "1"}, {"b_c": "1"}, id="an underscore stays one"),
        pytest.param({"SRC_HEADERS": "A: 1", "SRC_HEADER_A": "2"}, {"a": "2"}, id="by name wins"),
    ],
)
def test_headers(environment: dict[str, str], headers: dict[str, str]) -> None:
    assert src_cli.headers_in(environment) == headers


def test_each_variable_is_named() -> None:
    environment = {
        "SRC_ENDPOINT": "a.example",
        "SRC_ACCESS_TOKEN": "sgp_1\n",
        "SRC_PROXY": "socks5://b:1",
        "SRC_HEADERS": "A: 1",
        "SRC_OTHER": "x",
    }
    assert src_cli.in_environment(environment) == [
        ("SRC_ENDPOINT", {"endpoint": "a.example"}),
        ("SRC_ACCESS_TOKEN", {"accessToken": "sgp_1\n"}),
        ("SRC_PROXY", {"proxy": "socks5://b:1"}),
        ("SRC_HEADERS", {"headers": {"a": "1"}}),
    ]
    assert src_cli.in_environment({"SRC_ENDPOINT": " ", "SRC_ACCESS_TOKEN": ""}) == []


FILE = """{
    "endpoint": "https://me:pw@file.example/", "accessToken": "sgp_file",
    "additionalHeaders": {"X-Gate": "1"}, "proxy": "http://proxy.example:3128", "other": [1]
}"""


def in_force(folder: Path, environment: dict[str, str] | None = None, own: str = "") -> InForce:
    (folder / "config.toml").write_text(own)
    layers, problems = load_user_layers(
        environment or {}, folder, home=folder, logins=Logins(folder / "state")
    )
    assert problems == []
    return put_in_force(layers)


def test_the_file(tmp_path: Path) -> None:
    (tmp_path / "src-config.json").write_text(FILE)
    found = in_force(tmp_path)
    settings = found.settings
    assert found.problems == ()
    assert (settings.endpoint, settings.access_token) == (
        "https://file.example",
        Secret("sgp_file"),
    )
    assert settings.headers == (("X-Gate", Secret("1")),)
    assert settings.proxy is not None
    assert settings.source_of("accessToken") == str(tmp_path / "src-config.json")


def test_the_environment_wins_as_a_pair(tmp_path: Path) -> None:
    (tmp_path / "src-config.json").write_text(FILE)
    environment = {"SRC_ENDPOINT": "https://env.example", "SRC_ACCESS_TOKEN": "sgp_env"}
    settings = in_force(tmp_path, environment).settings
    assert (settings.endpoint, settings.access_token) == ("https://env.example", Secret("sgp_env"))
    assert settings.headers == ()


@pytest.mark.parametrize(
    ("environment", "endpoint", "token", "kept_back"),
    [
        pytest.param(
            {"SRC_ENDPOINT": "https://env.example"},
            "https://env.example",
            None,
            {"$.accessToken", "$.headers"},
            id="the file's token does not go to the environment's address",
        ),
        pytest.param(
            {"SRC_ENDPOINT": "https://file.example"},
            "https://file.example",
            "sgp_file",
            set(),
            id="it does where both name the same",
        ),
        pytest.param(
            {"SRC_ACCESS_TOKEN": "sgp_env"},
            "https://file.example",
            "sgp_file",
            set(),
            id="the environment's token does not go to the file's address",
        ),
    ],
)
def test_pairs_are_not_mixed(
    tmp_path: Path,
    environment: dict[str, str],
    endpoint: str,
    token: str | None,
    kept_back: set[str],
) -> None:
    (tmp_path / "src-config.json").write_text(FILE)
    found = in_force(tmp_path, environment)
    assert found.settings.endpoint == endpoint
    assert found.settings.access_token == (None if token is None else Secret(token))
    assert {problem.path for problem in found.problems} == kept_back
    assert not [problem for problem in found.problems if "sgp_" in str(problem)]


@pytest.mark.parametrize(
    ("held", "says"),
    [
        pytest.param(b"{secret", "is not JSON", id="no JSON"),
        pytest.param(b"[" * 100_000, "is not JSON", id="deep"),
        pytest.param(b"\xff\xfe", "is not UTF-8", id="no text"),
        pytest.param(b'["secret"]', "does not hold a JSON object", id="a list"),
    ],
)
def test_a_broken_file_is_told(tmp_path: Path, held: bytes, says: str) -> None:
    file = src_cli.config_file(tmp_path)
    file.write_bytes(held)
    said, problem = src_cli.in_file(file)
    assert said is None
    assert problem is not None
    assert says in problem.message
    assert "secret" not in str(problem)


@pytest.mark.parametrize(
    "held", [pytest.param(b"{}", id="empty"), pytest.param(b'{"other": 1}', id="of no use")]
)
def test_a_file_without_anything_for_us(tmp_path: Path, held: bytes) -> None:
    file = src_cli.config_file(tmp_path)
    assert src_cli.in_file(file) == (None, None)
    file.write_bytes(held)
    assert src_cli.in_file(file) == (None, None)
