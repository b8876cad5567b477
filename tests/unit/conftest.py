"""What holds for all tests of parts."""

import pytest

from lsp_completions.cli import impatient


@pytest.fixture(autouse=True)
def _no_end_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command called in here does not end the tests where another test's thread still runs."""
    monkeypatch.setattr(impatient, "leave", lambda code: None)
