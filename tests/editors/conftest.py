"""Which editors are driven, and what is made once for several files of tests."""

import os
from pathlib import Path

import pytest
from filelock import FileLock

from tests.support import vscode

# Said by who drives VS Code elsewhere.
collect_ignore_glob = (
    ["test_vscode*.py"] if os.environ.get("LSP_COMPLETIONS_CODE_SERVER") == "none" else []
)


@pytest.fixture(scope="session")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """VS Code's extension, built once however many workers there are."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with FileLock(folder / "vsix.lock"):
        return next(folder.glob("*.vsix"), None) or vscode.build(folder)
