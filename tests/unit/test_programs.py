"""Programs come from where the user keeps them, and see no credentials they have no use for."""

import os
import sys
from pathlib import Path

import pytest

from lsp_completions.cli import servers, setup
from lsp_completions.local_model import files
from lsp_completions.programs import which, without_credentials

NAME = "tool.exe" if sys.platform == "win32" else "tool"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder we happen to be in, with programs of names that we run."""
    for program in ("tool", "ps", "tasklist", "hx", "code", "uv"):
        for ending in ("", ".exe"):
            (tmp_path / f"{program}{ending}").touch(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    return tmp_path


def test_a_program_is_never_looked_for_where_we_happen_to_be(here: Path) -> None:
    nowhere = os.pathsep.join([".", "", str(here / "nowhere")])
    assert which(NAME, {"PATH": nowhere}) is None
    assert which(f"./{NAME}") is None
    path = os.pathsep.join([".", str(here)])
    assert which(NAME, {"PATH": path}) == str(here / NAME)
    (here / "home").mkdir()
    os.link(here / NAME, here / "home" / "own")
    assert which("~/own") == str(here / "home" / "own")


def test_no_command_runs_what_lies_where_we_happen_to_be(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([".", "", str(here / "nowhere")]))
    monkeypatch.delenv("UV", raising=False)
    ran: list[Path] = []

    def run(command: list[str], **_: object) -> None:
        ran.append(Path(command[0]))
        raise FileNotFoundError

    monkeypatch.setattr("subprocess.run", run)
    assert servers.memory_of(os.getpid()) is None
    for editor in ("helix", "vscode"):
        setup.setup(editor, write=True, languages=())
    ran += [Path(command[0]) for _, command in files._installers()]
    assert all(each.is_absolute() and not each.is_relative_to(here) for each in ran)


@pytest.mark.parametrize(
    "name", ["SRC_ACCESS_TOKEN", "SRC_ENDPOINT", "SRC_HEADERS", "SRC_HEADER_X", "SRC_PROXY"]
)
def test_credentials_are_withheld(name: str) -> None:
    for each in (name, name.lower()):
        assert without_credentials({each: "secret", "PATH": "/bin"}) == {"PATH": "/bin"}
