"""`lsp-completions setup`: the lines for each editor, where they go, and what becomes of files."""

import json
import os
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lsp_completions.cli import setup as command
from lsp_completions.cli.commands import run
from lsp_completions.cli.exits import Exit
from lsp_completions.cli.setup import disk, helix, texts, whom
from lsp_completions.cli.setup.adding import Add, ByHand, Present, lines_added, toml_added
from lsp_completions.cli.setup.places import Machine
from lsp_completions.settings import Api
from tests.support.model_servers import LlamaCppServer, OllamaServer

EDITORS = Path(__file__).resolve().parents[2] / "editors"
LINUX = Machine(platform="linux", home=Path("/home/me"), environment={})
COPYING = texts.copy("editors/neovim", LINUX.neovim_plugin(), LINUX)
COPYING_LISP = texts.copy("editors/emacs", Path("/home/me/.emacs.d/lsp-completions"), LINUX)


@pytest.mark.parametrize(
    ("editor", "lines"),
    [
        pytest.param("neovim", COPYING, id="Neovim's plugin"),
        pytest.param("neovim", texts.NEOVIM, id="Neovim's init.lua"),
        pytest.param("vscode", texts.VSCODE, id="VS Code"),
        pytest.param("helix", helix.SERVER, id="Helix' server"),
        pytest.param("helix", helix.languages(helix.EXAMPLE), id="Helix' languages"),
        pytest.param("helix", texts.HELIX_EDITOR, id="Helix' config.toml"),
        pytest.param("emacs", COPYING_LISP, id="Emacs' Lisp"),
        pytest.param("emacs", texts.EMACS, id="Emacs' init.el"),
    ],
)
def test_the_readme_shows_what_is_printed(editor: str, lines: str) -> None:
    readme = (EDITORS / editor / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```\w+\n(.*?)```", readme, re.DOTALL)
    assert any(lines in block for block in blocks)


# ---- where it goes


def machine(platform: str, **environment: str) -> Machine:
    return Machine(platform=platform, home=Path("/home/me"), environment=environment)


@pytest.mark.parametrize(
    ("on", "neovim", "plugin", "helix_folder"),
    [
        pytest.param(
            machine("linux"),
            "/home/me/.config/nvim",
            "/home/me/.local/share/nvim",
            "/home/me/.config/helix",
            id="Linux",
        ),
        pytest.param(
            machine("darwin"),
            "/home/me/.config/nvim",
            "/home/me/.local/share/nvim",
            "/home/me/.config/helix",
            id="macOS",
        ),
        pytest.param(
            machine("win32", LOCALAPPDATA="/local", APPDATA="/roaming"),
            "/local/nvim",
            "/local/nvim-data",
            "/roaming/helix",
            id="Windows",
        ),
        pytest.param(
            machine("linux", XDG_CONFIG_HOME="/c", XDG_DATA_HOME="/d", NVIM_APPNAME="mine"),
            "/c/mine",
            "/d/mine",
            "/c/helix",
            id="folders of one's own",
        ),
        pytest.param(
            machine("linux", XDG_CONFIG_HOME="relative"),
            "/home/me/.config/nvim",
            "/home/me/.local/share/nvim",
            "/home/me/.config/helix",
            id="no folder",
        ),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="paths of Unix")
def test_where_files_are(on: Machine, neovim: str, plugin: str, helix_folder: str) -> None:
    assert on.neovim_config() == Path(neovim)
    assert on.neovim_plugin() == Path(plugin) / "site/pack/lsp-completions/opt/lsp-completions"
    assert on.helix_config() == Path(helix_folder)


@pytest.mark.parametrize(
    ("init", "folder"),
    [
        pytest.param(".emacs.d/init.el", ".emacs.d", id="in the folder"),
        pytest.param(".emacs", ".emacs.d", id="beside it"),
        pytest.param(".config/emacs/init.el", ".config/emacs", id="elsewhere"),
    ],
)
def test_emacs_finds_its_lisp_below_the_folder_it_has(init: str, folder: str) -> None:
    home = LINUX.home
    assert LINUX.emacs_plugin(home / init) == home / folder / "lsp-completions"


# ---- what becomes of a file


@pytest.mark.parametrize(
    ("old", "verdict"),
    [
        pytest.param(None, Add("x()\n"), id="no file"),
        pytest.param("", Add("x()\n"), id="empty"),
        pytest.param("a\n", Add("\nx()\n"), id="after what is there"),
        pytest.param("a", Add("\n\nx()\n"), id="without a last line end"),
        pytest.param("a\r\n", Add("\r\nx()\r\n"), id="CRLF"),
        pytest.param("-- lsp_completions, later\n", Present(), id="somebody was there"),
    ],
)
def test_lines_go_to_the_end(old: str | None, verdict: object) -> None:
    assert lines_added(old, "x()\n", marks=["lsp_completions"]) == verdict


EDITOR = "[editor]\na = 1\nb = [2]\n"


@pytest.mark.parametrize(
    ("old", "lines", "kind"),
    [
        pytest.param(None, EDITOR, Add, id="no file"),
        pytest.param("theme = 'x'\n[keys]\n", EDITOR, Add, id="beside other tables"),
        pytest.param(EDITOR, EDITOR, Present, id="there already"),
        pytest.param("[editor]\nc=3\nb=[2]\na=1\n", EDITOR, Present, id="in other words"),
        pytest.param("[editor]\nc = 3\n", EDITOR, ByHand, id="a table of the user's own"),
        pytest.param("editor.c = 3\n", EDITOR, ByHand, id="the same with a dot"),
        pytest.param("editor = 3\n", EDITOR, ByHand, id="a value in its place"),
        pytest.param("= nonsense\n", EDITOR, ByHand, id="not TOML"),
        pytest.param("[table]\n", "provider = 'x'\n", ByHand, id="it would be the table's"),
        pytest.param("provider = 'y'\n", "provider = 'x'\n", ByHand, id="another value"),
        pytest.param("# provider = 'y'\n", "provider = 'x'\n", Add, id="only a comment"),
        pytest.param("[[l]]\nn = 1\n", "[[l]]\nn = 2\n", Add, id="one entry more"),
        pytest.param("l = [{n = 1}]\n", "[[l]]\nn = 2\n", ByHand, id="a list that is closed"),
    ],
)
def test_toml_is_added_to_or_left_alone(old: str | None, lines: str, kind: type) -> None:
    verdict = toml_added(old, lines)
    assert isinstance(verdict, kind)
    if isinstance(verdict, Add):
        assert isinstance(toml_added((old or "") + verdict.text, lines), Present)


# ---- Helix

HEALTH = """\
Configured language servers:
  \x1b[0;31m✘\x1b[m ty: \x1b[0;31m'ty' not found in $PATH\x1b[m
  \x1b[0;32m✓\x1b[m jedi: \x1b[0;32m/usr/bin/jedi-language-server\x1b[m
Configured debug adapter:
  ✘ 'lldb-dap' not found in $PATH
Configured formatter: None
"""
TABLE = """\
Langua… Langua… Debug … Format… Highli… Textob… Indent… Tags    Rainbo…
ada     ✘ ad…   None    None    ✓       ✓       ✘       ✘       ✘
adl     None    None    None    ✓       ✓       ✓       ✘       ✘
bash    None    ✓ bd…   None    ✓       ✓       ✓       ✘       ✘
c-shar… ✘ ro…   ✘ ne…   None    ✓       ✓       ✓       ✓       ✓
        ✓ om…
obscur… ✓ ob…   None    None    ✓       ✘       ✘       ✘       ✘
python… ✘ ty…   None    None    ✓       ✓       ✓       ✓       ✓
        ✓ py…
rust    ✓ ru…   ✘ ll…   None    ✓       ✓       ✓       ✓       ✓
"""


def test_what_helix_says_of_servers() -> None:
    assert helix.servers_in(HEALTH) == ["ty", "jedi"]
    assert helix.servers_in("Configured language servers:\x1b[0;33m None\x1b[m\nx") == []
    assert helix.servers_in("Language 'x' not found\n") is None


def test_installed_languages() -> None:
    """Of names that are cut off there is what is left."""
    assert helix.installed_in(TABLE) == ["c-sharp", "obscur", "python", "rust"]


def test_the_servers_of_a_language_stay() -> None:
    own: list[helix.Server] = [{"name": "efm", "except-features": ["format"]}, "pylsp"]
    [entry] = tomllib.loads(helix.language("python", own))["language"]
    ours = {"name": "lsp-completions", "only-features": ["completion", "workspace-command"]}
    assert entry == {"name": "python", "language-servers": [ours, *own]}


# ---- the command


class Home:
    """A home of a user's own, and programs that answer as editors do."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.said: dict[str, str] = {}
        self.config = folder / "our.toml"
        self.offers: list[whom.Offer] = []
        there = Machine(platform="linux", home=folder, environment={})
        monkeypatch.setattr(command, "this_machine", lambda: there)
        monkeypatch.setattr(command, "config_file", lambda: self.config)
        monkeypatch.setattr(command, "_said_by", self._said_by)
        monkeypatch.setattr(command, "which", self._which)

        monkeypatch.setattr("lsp_completions.local_model.files.is_available", lambda: False)

        async def on_this_machine() -> list[whom.Offer]:
            return self.offers

        monkeypatch.setattr(whom, "on_this_machine", on_this_machine)

    def _which(self, name: str) -> str | None:
        return name if name in ("lsp-completions", *self.said) else None

    def _said_by(self, asked: list[str], **_: Any) -> str | None:
        return self.said.get(" ".join(asked))

    def write(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        return file

    def snapshot(self) -> dict[str, str]:
        return {
            str(file.relative_to(self.folder)): file.read_bytes().decode()
            for file in self.folder.rglob("*")
            if file.is_file() and "site" not in file.parts
        }


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return Home(tmp_path, monkeypatch)


HELIX = {
    "hx": "",
    "hx --health languages": TABLE,
    "hx --health rust": "Configured language servers:\n  ✓ rust-analyzer: /x\n",
    "hx --health python": "Configured language servers:\n  ✘ ty: x\n  ✓ pylsp: /x\n",
    "hx --health c-sharp": "Configured language servers:\n  ✘ roslyn: x\n  ✓ omnisharp: /x\n",
}


@pytest.mark.parametrize("editor", command.EDITORS)
def test_without_write_nothing_is_touched(
    editor: str, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    home.said = dict(HELIX)
    home.write(".config/nvim/init.lua", "mine()\n")
    before = home.snapshot()
    assert run(["setup", editor]) == Exit.GOOD
    assert home.snapshot() == before
    assert "lsp-completions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("editor", "file", "old"),
    [
        pytest.param("neovim", ".config/nvim/init.lua", None, id="Neovim, from nothing"),
        pytest.param("neovim", ".config/nvim/init.lua", "mine()", id="Neovim"),
        pytest.param("neovim", ".config/nvim/init.vim", "set nu\n", id="Neovim in Vim's language"),
        pytest.param("emacs", ".emacs.d/init.el", None, id="Emacs, from nothing"),
        pytest.param("emacs", ".emacs", "(mine)\n", id="Emacs"),
        pytest.param("helix", ".config/helix/languages.toml", None, id="Helix, from nothing"),
        pytest.param(
            "helix", ".config/helix/languages.toml", "[[language]]\nname = 'go'\n", id="Helix"
        ),
    ],
)
def test_written_once(
    editor: str, file: str, old: str | None, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was there stays and is kept beside the file; the second time nothing is done."""
    home.said = dict(HELIX)
    if old is not None:
        home.write(file, old)
    assert run(["setup", editor, "--write"]) == Exit.GOOD
    after = home.snapshot()
    assert after[file].startswith(old or "")
    assert "lsp" in after[file][len(old or "") :]
    copies = [name for name in after if name.endswith(".bak")]
    assert [after[name] for name in copies] == ([] if old is None else [old])
    assert all(Path(name).name in capsys.readouterr().err.replace("\n", "") for name in copies)

    # Helix tells what it was told.
    ours = "Configured language servers:\n  ✓ lsp-completions: /x\n  ✓ its-own: /x\n"
    home.said |= {key: ours for key in home.said if key.startswith("hx --health ")}
    home.said["hx --health languages"] = TABLE
    assert run(["setup", editor, "--write"]) == Exit.GOOD
    assert home.snapshot() == after


def test_neovim_gets_the_plugin(home: Home) -> None:
    run(["setup", "neovim", "--write"])
    plugin = home.folder / ".local/share/nvim/site/pack/lsp-completions/opt/lsp-completions"
    assert (plugin / "lua/lsp_completions/init.lua").is_file()
    assert (plugin / "lsp/lsp_completions.lua").is_file()

    (plugin / "lua/lsp_completions/init.lua").write_text("an older one")
    run(["setup", "neovim", "--write"])
    assert (plugin / "lua/lsp_completions/init.lua").read_text() != "an older one"
    [kept] = [each for each in plugin.parent.iterdir() if each != plugin]
    assert (kept / "lua/lsp_completions/init.lua").read_text() == "an older one"


def test_emacs_gets_its_lisp(home: Home) -> None:
    run(["setup", "emacs", "--write"])
    lisp = home.folder / ".emacs.d/lsp-completions/lisp"
    assert (lisp / "lsp-completions.el").is_file()
    (lisp / "lsp-completions.elc").write_text("compiled")
    before = home.snapshot()
    run(["setup", "emacs", "--write"])
    assert home.snapshot() == before


def test_lazy_nvim_is_left_to_the_person(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    init = home.write(".config/nvim/init.lua", "require('mine')\n")
    home.write(".config/nvim/lua/mine.lua", "require('lazy').setup({})\n")
    assert run(["setup", "neovim", "--write"]) == Exit.NOTHING
    assert init.read_text() == "require('mine')\n"
    assert "lazy = false" in capsys.readouterr().out


def test_helix_keeps_each_languages_servers(home: Home) -> None:
    home.said = dict(HELIX)
    run(["setup", "helix", "--write"])
    read = tomllib.loads((home.folder / ".config/helix/languages.toml").read_text())
    servers = {each["name"]: each["language-servers"][1:] for each in read["language"]}
    assert servers == {
        "rust": ["rust-analyzer"],
        "c-sharp": ["roslyn", "omnisharp"],
        "python": ["ty", "pylsp"],
    }


def test_an_entry_of_the_users_own_is_left_to_them(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    """The list to write there names what the user's list has, and not what Helix has."""
    home.said = dict(HELIX)
    entry = "[[language]]\nname = 'rust'\nlanguage-servers = ['mine']\n"
    file = home.write(".config/helix/languages.toml", entry)
    assert run(["setup", "helix", "--write", "--language", "rust"]) == Exit.NOTHING
    assert file.read_text() == f"{entry}\n{helix.SERVER}"
    assert '"mine",' in capsys.readouterr().out


def test_helix_config_of_the_users_own(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    home.said = dict(HELIX)
    file = home.write(".config/helix/config.toml", "[editor]\nmouse = false\n")
    assert run(["setup", "helix", "--write"]) == Exit.NOTHING
    assert file.read_text() == "[editor]\nmouse = false\n"
    assert texts.HELIX_EDITOR in capsys.readouterr().out


@pytest.mark.parametrize(
    ("said", "more"),
    [
        pytest.param({}, [], id="Helix is not on PATH"),
        pytest.param({}, ["--language", "rust"], id="nor can it be asked about a language"),
        pytest.param({"hx": ""}, [], id="no language has a server"),
    ],
)
@pytest.mark.parametrize("old", [None, "[editor]\nmouse = false\n"])
def test_without_a_language_helix_is_left_alone(
    said: dict[str, str],
    more: list[str],
    old: str | None,
    home: Home,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home.said = said
    if old is not None:
        home.write(".config/helix/config.toml", old)
    before = home.snapshot()
    assert run(["setup", "helix", "--write", *more]) == Exit.NOTHING
    assert home.snapshot() == before
    shown = capsys.readouterr()
    assert "Nothing was written" in shown.err
    assert helix.SERVER in shown.out
    assert texts.HELIX_EDITOR in shown.out


@pytest.mark.parametrize(
    ("installed_from", "where"),
    [
        pytest.param("CHECKOUT", "In ~/a checkout:", id="a checkout"),
        pytest.param("GONE", "(`git clone` makes one):", id="one that is gone"),
        pytest.param("https://pypi.example/x.whl", "(`git clone` makes one):", id="an index"),
        pytest.param(None, "(`git clone` makes one):", id="nobody knows what"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--write"]])
def test_where_vs_codes_extension_is_built(
    installed_from: str | None,
    where: str,
    more: list[str],
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home.write("a checkout/editors/vscode/build.py", "")
    folders = {"CHECKOUT": home.folder / "a checkout", "GONE": home.folder / "gone"}
    url = folders[installed_from].as_uri() if installed_from in folders else installed_from
    written = None if url is None else json.dumps({"url": url, "dir_info": {}})
    # Not its class: there is another one where the backport, which keyring needs, is imported.
    ours = SimpleNamespace(read_text=lambda _: written)
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: ours)
    monkeypatch.setattr(disk, "__file__", str(home.folder / "site/lsp_completions/cli/setup/x.py"))
    run(["setup", "vscode", *more])
    assert where in capsys.readouterr().out


@pytest.mark.parametrize(
    ("said", "code"),
    [
        pytest.param({}, Exit.NOTHING, id="not on PATH"),
        pytest.param(
            {"code": "", "code --list-extensions": f"a.b\n{texts.VSCODE_ID}\n"},
            Exit.GOOD,
            id="installed",
        ),
    ],
)
def test_vscode(said: dict[str, str], code: Exit, home: Home) -> None:
    home.said = said
    assert run(["setup", "vscode", "--write"]) == code


def test_languages_are_helix_only(home: Home) -> None:
    assert run(["setup", "emacs", "--language", "python"]) == Exit.USAGE


# ---- whom to ask

OFFER = whom.Offer(api=Api.OLLAMA, model="qwen2.5-coder:1.5b-base")


async def test_models_of_this_machine() -> None:
    async with OllamaServer("x") as ollama, LlamaCppServer("x") as llama:
        found = await whom.on_this_machine([(Api.OLLAMA, ollama.url), (Api.LLAMA_CPP, llama.url)])
        assert OFFER in found
        assert {each.api for each in found} == {Api.OLLAMA, Api.LLAMA_CPP}
        gone = ollama.url
    assert await whom.on_this_machine([(Api.OLLAMA, gone)]) == []


class Typed:
    """A terminal on which somebody types."""

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    monkeypatch.setattr("sys.stdin", Typed())
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("click.prompt", lambda *_, **__: answer)


def test_all_ways_are_named_where_nobody_is_asked(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("SRC_ENDPOINT", "SRC_ACCESS_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    run(["setup", "emacs"])
    said = " ".join(capsys.readouterr().err.split())
    for way in ("lsp-completions login", "model install", 'provider = "ollama"', "config.toml"):
        assert way in said


def test_who_is_chosen_is_written(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.offers = [OFFER]
    on_terminal(monkeypatch, 1)
    for _ in range(2):
        assert run(["setup", "emacs", "--write"]) == Exit.GOOD
        chosen = {"provider": "ollama", "model": OFFER.model}
        assert tomllib.loads(home.config.read_text()) == chosen


def test_no_token_is_ever_written_or_said(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SRC_ENDPOINT", "https://sourcegraph.example.com")
    monkeypatch.setenv("SRC_ACCESS_TOKEN", "sgp_0123456789abcdef")
    home.offers = [OFFER]
    on_terminal(monkeypatch, 0)
    assert run(["setup", "emacs", "--write"]) == Exit.GOOD
    assert not home.config.exists()
    said = capsys.readouterr()
    assert "https://sourcegraph.example.com" in said.err
    assert "0123456789abcdef" not in said.out + said.err + json.dumps(home.snapshot())


def test_an_instance_without_a_token_wants_a_login(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SRC_ENDPOINT", "https://sourcegraph.example.com")
    home.offers = [OFFER]
    on_terminal(monkeypatch, 0)
    assert run(["setup", "emacs"]) == Exit.GOOD
    said = " ".join(capsys.readouterr().err.split())
    assert "0 https://sourcegraph.example.com, once you have logged in" in said
    assert "names: run lsp-completions login" in said


def test_without_a_terminal_nobody_is_asked(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def prompt(*_: object, **__: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr("click.prompt", prompt)
    home.offers = [OFFER]
    home.said = dict(HELIX)
    assert run(["setup", "helix", "--write"]) == Exit.GOOD
    assert not home.config.exists()
    said = capsys.readouterr().err
    assert OFFER.lines in said
    assert "lsp-completions login" in said


def test_a_file_that_cannot_be_read_is_left_alone(home: Home) -> None:
    file = home.folder / ".emacs"
    file.write_bytes(b"\xff\xfe")
    assert run(["setup", "emacs", "--write"]) == Exit.BACKEND
    assert file.read_bytes() == b"\xff\xfe"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles"
    real.write_text("a\n")
    link = tmp_path / "init.lua"
    link.symlink_to(real)
    copy = disk.append(link, "b\n")
    assert link.is_symlink()
    assert real.read_text() == "a\nb\n"
    assert copy is not None
    assert copy.read_text() == "a\n"
