"""All that is written on a user's machine: `paths` lists it, and `clean` removes it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_completions import NEOVIM, SERVER, Editor
from tests.e2e.test_inspect import code_of
from tests.support.home import USER, Home, user
from tests.support.inspection import running_inspection
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import TOKEN, Answer, running_stand_in

MINE = ("config/lsp-completions/config.toml", "state/lsp-completions/mine.txt")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.env["XDG_RUNTIME_DIR"] = str(tmp_path / "runtime")
    home.env["XDG_DATA_HOME"] = str(tmp_path / "data")
    (tmp_path / "runtime").mkdir(mode=0o700)
    home.configure("# mine\n")
    (tmp_path / MINE[1]).parent.mkdir(parents=True)
    (tmp_path / MINE[1]).touch()
    return home


@pytest.fixture
def editor(home: Home) -> Iterator[Editor]:
    kinds = ("CONFIG_HOME", "STATE_HOME", "DATA_HOME", "RUNTIME_DIR")
    env = {f"XDG_{kind}": home.env[f"XDG_{kind}"] for kind in kinds}
    with running_stand_in(Answer("1"), pages={USER: user()}) as instance:
        env |= {"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": TOKEN}
        with LspClient.start(SERVER, env=env) as client:
            client.initialize(NEOVIM, rootUri="file:///w", initializationOptions={})
            yield Editor(client, instance)


def listed(home: Home) -> list[str]:
    told = json.loads(home.run("paths", "--json").stdout)["paths"]
    return [each["path"] for each in told if each["written"] == "by us"]


def files_of(home: Home) -> list[str]:
    return sorted(
        file.relative_to(home.folder).as_posix()
        for file in home.folder.rglob("*")
        if file.is_file() or file.is_symlink()
    )


def unlisted(home: Home) -> list[str]:
    """The files that no line of `paths` is about."""
    places = [Path(each).relative_to(home.folder).as_posix() for each in listed(home)]
    return [
        name
        for name in files_of(home)
        if not any(Path(name).match(each) or name.startswith(f"{each}/") for each in places)
    ]


def leaves_traces(home: Home, editor: Editor) -> None:
    """A login, a trusted host, a model, statistics, a log; and what would be gone by itself."""
    assert home.run("login", editor.instance.url, typed=TOKEN).returncode == 0
    assert home.run("trust", "https://a.example").returncode == 0
    model = home.folder / "data" / "lsp-completions" / "models" / "small.gguf"
    model.parent.mkdir(parents=True)
    model.touch()
    for name in ("state/lsp-completions/told-small-model", "state/lsp-completions/model.log"):
        (home.folder / name).touch()
    for name in ("model-0123.json", "model-0123.json.lock"):
        (home.folder / "runtime" / "lsp-completions" / name).touch()


def test_what_is_written_is_listed_and_removed(home: Home, editor: Editor) -> None:
    with running_inspection(home, "--with-code") as page:
        code_of(page, editor)
        leaves_traces(home, editor)
        written = files_of(home)
        assert unlisted(home) == sorted(MINE)
        for part in ("logins.json", "trusted-hosts", ".code", ".wish", ".json", "log/"):
            assert [name for name in written if part in name], part
        # Neither says goodbye.
        for process in (page.process, editor.client.process):
            process.kill()
            process.wait()
    assert unlisted(home) == sorted(MINE)
    ran = home.run("clean", "--yes")
    assert ran.returncode == 0, ran.stderr
    assert files_of(home) == sorted(MINE)
    assert not (home.folder / "runtime" / "lsp-completions").exists()
    assert home.run("clean", "--yes", "--config").returncode == 0
    assert files_of(home) == [MINE[1]]
