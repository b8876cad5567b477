"""What the server is started with in VS Code: found, chosen by settings, or said to be missing."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.at_work import written
from tests.support.browser import Browser, running_browser
from tests.support.llama_server import model_file
from tests.support.vscode import (
    CodeServer,
    Window,
    bare_python,
    build_second,
    command_line,
    environment_of,
    missing,
    running_code_server,
)

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")

RUNS = '#!/bin/sh\nexec PYTHON "$@"\n'
OLD = '#!/bin/sh\necho 3 10\necho "$0"\n'
INTERPRETER = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
INSTALLED = f'#!/bin/sh\nexec "{sys.executable}" -P -m lsp_completions "$@"\n'
RESTART = "LSP Completions: Restart the Server"


@dataclass
class Machine:
    """A machine with VS Code, on whose PATH is nothing but what a test puts there."""

    server: CodeServer
    browser: Browser
    programs: Path
    folder: Path
    python: Path
    """A Python that is new enough, elsewhere."""

    def has(self, programs: Mapping[str, str]) -> None:
        """These programs and no others."""
        for each in self.programs.iterdir():
            each.unlink()
        for name, text in programs.items():
            program = self.programs / name
            program.write_text(self.filled(text))
            program.chmod(0o755)

    @contextmanager
    def window(self, settings: Mapping[str, object]) -> Iterator[Window]:
        """A new window, with these settings of the user."""
        self.server.configure(json.loads(self.filled(json.dumps(settings))))
        window = Window(self.browser, self.server, self.folder, starts=False)
        yield window
        window.page.close()

    def filled(self, text: str) -> str:
        """With the folder of the programs and the Python that the text speaks of."""
        return text.replace("FOLDER", str(self.programs)).replace("PYTHON", str(self.python))


@pytest.fixture(scope="module")
def machine(vsix: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("machine")
    programs, opened = folder / "programs", folder / "opened"
    for each in (programs, opened):
        each.mkdir()
    python = bare_python(folder / "python") / "python"
    with (
        running_code_server([vsix, build_second(folder)], programs=programs) as server,
        running_browser(folder / "browser") as browser,
    ):
        yield Machine(server, browser, programs, opened, python)


@pytest.mark.parametrize(
    ("settings", "tried", "helps", "runs"),
    [
        pytest.param(
            {},
            [
                (
                    {},
                    "Suggestions need Python 3.11 or later on the machine that runs this window's "
                    "extensions, which has none. Install it, or name one in the setting "
                    "lspCompletions.interpreter",
                ),
                ({"python3": OLD}, "which has only older ones (FOLDER/python3 is 3.10)"),
            ],
            {"python3": OLD, "python3.11": RUNS},
            "the bundled one",
            id="Python",
        ),
        pytest.param(
            {"lspCompletions.interpreter": "FOLDER/mine"},
            [
                ({"python3": RUNS}, "which the setting lspCompletions.interpreter names, is no"),
                ({"python3": RUNS, "mine": OLD}, "is Python 3.10. Name Python 3.11 or later."),
            ],
            {"python3": OLD, "mine": RUNS},
            "the bundled one",
            id="interpreter",
        ),
        pytest.param(
            {"lspCompletions.importStrategy": "fromEnvironment"},
            [
                (
                    {"python3": RUNS},
                    "There is no command lsp-completions on PATH. Install it, or set",
                )
            ],
            {"lsp-completions": INSTALLED},
            "an installed one",
            id="importStrategy",
        ),
        pytest.param(
            {
                "lspCompletions.importStrategy": "fromEnvironment",
                "lspCompletions.interpreter": "FOLDER/mine",
            },
            [({"mine": OLD}, "is Python 3.10. Name Python 3.11 or later.")],
            {"mine": INTERPRETER},
            "an installed one",
            id="importStrategy and interpreter",
        ),
        pytest.param(
            {"lspCompletions.path": ["my-server", "-m", "lsp_completions"]},
            [({}, "There is no command my-server, which the setting lspCompletions.path names.")],
            {"my-server": INTERPRETER},
            "an installed one",
            id="path",
        ),
    ],
)
def test_what_is_missing_is_said(
    settings: dict[str, object],
    tried: list[tuple[dict[str, str], str]],
    helps: dict[str, str],
    runs: str,
    machine: Machine,
) -> None:
    # VS Code leaves the servers of closed windows alone for a while, lest they come back.
    before = machine.server.servers()
    first, *more = tried
    machine.has(first[0])
    with machine.window(settings) as window:
        window.see_message(machine.filled(first[1]))
        for programs, said in more:
            machine.has(programs)
            window.run(RESTART)
            window.see_message(machine.filled(said))
        window.see_state(machine.filled(tried[-1][1]))
        machine.has(helps)
        with window.restarting():
            window.run(RESTART)
        window.see_state("No completions from Sourcegraph")
        (server,) = machine.server.servers() - before
        program = command_line(server).split(b"\0")[0].decode()
        bundled = (str(machine.python), True)
        found = (program, "PYTHONPATH" in environment_of(server))
        assert found == (bundled if runs == "the bundled one" else (sys.executable, False))


def test_a_project_chooses_no_program_and_vs_codes_proxy_counts(machine: Machine) -> None:
    before = machine.server.servers()
    machine.has({"python3": RUNS, "evil": "#!/bin/sh\necho evil > FOLDER/ran\n"})
    chosen = {
        "lspCompletions.path": ["FOLDER/evil"],
        "lspCompletions.interpreter": "FOLDER/evil",
        "lspCompletions.importStrategy": "fromEnvironment",
        "lspCompletions.authCommand": ["FOLDER/evil"],
    }
    written(machine.folder / ".vscode" / "settings.json", machine.filled(json.dumps(chosen)))
    settings = {"http.proxy": "http://127.0.0.1:8", "http.noProxy": ["*.example.com"]}
    with machine.window(settings) as window:
        window.wait_until_ready()
        window.see_state("No completions from Sourcegraph")
        (server,) = machine.server.servers() - before
        told = environment_of(server)
        program = command_line(server).split(b"\0")[0].decode()
    assert told["HTTPS_PROXY"] == told["https_proxy"] == "http://127.0.0.1:8"
    assert told["NO_PROXY"] == told["no_proxy"] == "*.example.com"
    assert program == str(machine.python)
    assert not (machine.programs / "ran").exists()


def test_without_an_account_the_embedded_model_suggests(machine: Machine, tmp_path: Path) -> None:
    model_file()
    machine.has({})
    settings = {
        "lspCompletions.importStrategy": "fromEnvironment",
        "lspCompletions.interpreter": sys.executable,
        "lspCompletions.provider": "local",
    }
    text = "import json\n\n\ndef load(path):\n    with open(path) as file:\n        \n"
    path = written(tmp_path / "opened" / "by" / "hand" / "work.py", text)
    with machine.window(settings) as window:
        window.wait_until_ready()
        window.open(path, 5, 8)
        window.type("data = json.")
        ghost = window.see_some_ghost()
        window.accept()
        window.see_no_ghost()
        window.save()
        assert path.read_text() == f"{text.rstrip()}\n        data = json.{ghost}\n"
        window.close()
