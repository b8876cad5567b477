"""A user for tests: folders, a keyring and logins of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.sourcegraph import TOKEN, Reply, json_page

COMMAND = [sys.executable, "-m", "lsp_completions"]
ROOT = Path(__file__).parents[2]
TIMEOUT = 60
USER = "/.api/graphql?CurrentUser"


def user(name: str | None = "ada") -> Reply:
    return json_page({"data": {"currentUser": None if name is None else {"username": name}}})


class Home:
    """A user with folders and a keyring of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.logins = folder / "state" / "lsp-completions" / "logins.json"
        self.keyring = folder / "keyring.json"
        self.env = {
            **os.environ,
            "HOME": str(folder),
            "USERPROFILE": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_STATE_HOME": str(folder / "state"),
            "PYTHONPATH": str(ROOT),
            "FAKE_KEYRING": str(self.keyring),
            "COLUMNS": "500",
        }

    def run(
        self, *arguments: str, typed: str = "", env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        ran = subprocess.run(
            [*COMMAND, *arguments],
            cwd=self.folder,
            env={**self.env, **(env or {})},
            input=typed,
            capture_output=True,
            encoding="utf-8",
            timeout=TIMEOUT,
            check=False,
        )
        for unwanted in ("Traceback", TOKEN, "never awaited"):
            assert unwanted not in ran.stdout + ran.stderr
        return ran

    def with_keyring(self, name: str) -> "Home":
        self.env["PYTHON_KEYRING_BACKEND"] = f"tests.support.keyrings.{name}"
        return self

    def known(self) -> list[str]:
        """The endpoints of all logins."""
        if not self.logins.exists():
            return []
        return [each["endpoint"] for each in json.loads(self.logins.read_text())["logins"]]

    def written(self) -> str:
        """All that stands in any file of this user's."""
        files = [each for each in self.folder.rglob("*") if each.is_file()]
        return "".join(each.read_text(errors="replace") for each in files)

    def configure(self, text: str) -> None:
        """Write the settings file."""
        file = self.folder / "config" / "lsp-completions" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
