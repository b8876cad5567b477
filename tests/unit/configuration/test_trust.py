import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lsp_completions.cli import main
from lsp_completions.configuration.trust import distrust, read_origin, trust, trust_file, trusted
from lsp_completions.errors import ConfigurationError, InvalidParams

A, B = "https://a.example", "http://127.0.0.1:8080"


def test_what_is_trusted_is_remembered_until_it_is_taken_back(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    assert trusted(folder) == ([], [])
    for _ in range(2):
        trust(A, folder)
    trust(B, folder)
    assert trusted(folder) == ([A, B], [])
    assert json.loads(trust_file(folder).read_text()) == {"hosts": [A, B]}
    assert [distrust(A, folder), distrust(A, folder)] == [True, False]
    assert trusted(folder) == ([B], [])
    assert [each.name for each in folder.iterdir() if each.suffix != ".lock"] == [
        "trusted-hosts.json"
    ]
    if sys.platform != "win32":
        assert trust_file(folder).stat().st_mode & 0o777 == 0o600


def test_several_at_once_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from lsp_completions.configuration.trust import trust\n"
        "for n in range(5): trust(f'https://{sys.argv[1]}{n}.example', Path(sys.argv[2]))"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, name, str(tmp_path)]) for name in "abc"
    ]
    assert [each.wait(60) for each in running] == [0, 0, 0]
    assert len(trusted(tmp_path)[0]) == 15


@pytest.mark.parametrize(
    "written",
    [b"", b"{", b"[]", b'{"hosts": 5}', b"\xff", b"[" * 100_000],
)
def test_a_broken_list_trusts_nobody_and_says_so(tmp_path: Path, written: bytes) -> None:
    trust_file(tmp_path).write_bytes(written)
    hosts, (problem,) = trusted(tmp_path)
    assert hosts == []
    assert "delete it" in problem.message


def test_a_list_that_others_may_write_trusts_nobody(tmp_path: Path) -> None:
    trust(A, tmp_path)
    trust_file(tmp_path).chmod(0o666)
    hosts, (problem,) = trusted(tmp_path)
    assert hosts == []
    assert "chmod 600" in problem.message


def test_what_cannot_be_remembered_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="could not be written"):
        trust(A, tmp_path / "file")


@pytest.mark.parametrize(
    ("typed", "origin"),
    [
        ("https://A.example/sourcegraph/", "https://a.example"),
        ("a.example", "https://a.example"),
        ("localhost:8080/v1", "http://localhost:8080"),
    ],
)
def test_an_address_that_a_person_types(typed: str, origin: str) -> None:
    assert read_origin(typed) == origin


@pytest.mark.parametrize("typed", ["", "ftp://a", "https://u:p@a", "a b"])
def test_an_address_that_is_none(typed: str) -> None:
    with pytest.raises(InvalidParams, match="address"):
        read_origin(typed)


def test_the_list_is_in_the_user_s_state_folder_and_in_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    assert trust_file().is_absolute()
    assert not trust_file().is_relative_to(tmp_path)


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", os.fspath(tmp_path))

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["trust", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    assert run() == (0, "", "No host is trusted beside those that your own settings name.\n")
    code, out, err = run("https://a.example/x")
    assert (code, out) == (0, "")
    assert "https://a.example when" in err
    assert run() == (0, "https://a.example\n", "")
    assert run("--remove", "a.example")[0] == 0
    code, _, err = run("--remove", "a.example")
    assert code == 1
    assert "`lsp-completions trust` lists" in err
    assert run()[1] == ""
    assert run("--remove")[0] == 2
    assert run("nonsense://x")[0] == 2
