"""What an administrator sets for everybody, over the real process."""

import sys
from pathlib import Path

import pytest

from tests.e2e.test_completions import INLINE, NEOVIM, Editor, texts
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import TOKEN, Answer, running_stand_in

# The place of the file cannot be set from outside, or it would lock nothing.
WITH_MACHINE_FILE = (
    "import sys; from pathlib import Path; from lsp_completions.configuration import machine_file\n"
    "machine_file.machine_file = lambda file=Path(sys.argv.pop(1)): file\n"
    "from lsp_completions.cli import main; sys.exit(main())"
)


def test_what_is_locked_holds_against_everybody_and_is_told_once(tmp_path: Path) -> None:
    machine = tmp_path / "machine.toml"
    config = tmp_path / "lsp-completions" / "config.toml"
    config.parent.mkdir()
    with (
        running_stand_in(Answer("company")) as company,
        running_stand_in(Answer("elsewhere")) as elsewhere,
    ):
        machine.write_text(
            f'endpoint = "{company.url}"\nmaxTokens = 7\nexclude = ["/customers/"]\n'
            'locked = ["provider", "endpoint", "exclude", "maxTokens"]\n'
        )
        machine.chmod(0o644)
        config.write_text(f'endpoint = "{company.url}"\naccessToken = "{TOKEN}"\nmaxTokens = 9\n')
        with LspClient.start(
            [sys.executable, "-c", WITH_MACHINE_FILE, str(machine)],
            env={
                "XDG_CONFIG_HOME": str(tmp_path),
                "SRC_ENDPOINT": elsewhere.url,
                "SRC_ACCESS_TOKEN": "sgp_" + "c" * 40,
            },
        ) as client:
            options = {"exclude": ["!/customers/"], "provider": "openai", "url": elsewhere.url}
            client.initialize(NEOVIM, rootUri="file:///w", initializationOptions=options)
            editor = Editor(client, company)
            at = editor.open("x = <cursor>\n", uri="file:///w/customers/a.py")
            assert client.result(INLINE, at) == {"items": []}
            for name in "abc":
                at = editor.open("x = <cursor>\n", uri=f"file:///w/{name}.py")
                assert texts(client.result(INLINE, at)) == ["company"]
            assert company.completions[-1].json["maxTokensToSample"] == 7
            assert company.completions[-1].headers["authorization"] == f"token {TOKEN}"
            told = [
                message["params"]["message"]
                for message in client.waiting()
                if message["method"] == "window/showMessage"
            ]
            for key in ("endpoint", "provider", "maxTokens"):
                assert sum(f"{key} is locked by {machine}" in each for each in told) == 1
            assert client.stop() == 0
        assert elsewhere.connections == 0


@pytest.mark.parametrize(
    ("written", "mode", "message", "sent"),
    [
        pytest.param("exclude = [", 0o644, "nothing is sent", False, id="broken"),
        pytest.param('menu = "off"\n', 0o666, "does not count", True, id="written by anybody"),
    ],
)
def test_one_that_cannot_be_relied_on_is_told(
    tmp_path: Path, written: str, mode: int, message: str, sent: bool
) -> None:
    machine = tmp_path / "machine.toml"
    machine.write_text(written)
    machine.chmod(mode)
    with (
        running_stand_in(Answer("company")) as company,
        LspClient.start(
            [sys.executable, "-c", WITH_MACHINE_FILE, str(machine)],
            env={"SRC_ENDPOINT": company.url, "SRC_ACCESS_TOKEN": TOKEN},
        ) as client,
    ):
        client.initialize(NEOVIM, rootUri="file:///w")
        assert message in client.expect("window/showMessage")["message"]
        editor = Editor(client, company)
        result = client.result(INLINE, editor.open("x = <cursor>\n"))
        assert bool(result["items"]) is sent
        assert bool(company.completions) is sent
        assert client.stop() == 0
