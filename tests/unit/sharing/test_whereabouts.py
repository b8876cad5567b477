"""Where a document is: in real layouts of repositories, made by git itself where it makes them."""

import subprocess
from pathlib import Path

import pytest

from lsp_completions.sharing.whereabouts import Place, Places

CONFIG = '[remote "origin"]\n\turl = https://h.org/{name}.git\n'


def write(file: Path, text: str = "") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def made(folder: Path, name: str) -> Path:
    write(folder / ".git" / "HEAD", "ref: refs/heads/main\n")
    write(folder / ".git" / "config", CONFIG.format(name=name))
    return folder


def look(file: Path) -> Place:
    return Places().look(file.as_uri(), [])


def urls(file: Path) -> list[str]:
    place = look(file)
    assert place.in_repository
    return [url.removeprefix("https://h.org/").removesuffix(".git") for url in place.clone_urls]


@pytest.fixture(autouse=True)
def without_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def test_the_nearest_repository_counts(tmp_path: Path) -> None:
    outer = made(tmp_path / "w", "outer")
    inner = made(outer / "lib" / "inner", "inner")
    assert urls(outer / "lib" / "a.py") == ["outer"]
    assert urls(inner / "new" / "a.py") == ["inner"]
    assert not look(tmp_path / "a.py").in_repository
    # A folder of that name with nothing of git's in it is no repository.
    (outer / "x" / ".git").mkdir(parents=True)
    assert urls(outer / "x" / "a.py") == ["outer"]


def test_other_working_copies_and_repositories_inside(tmp_path: Path) -> None:
    def git(*arguments: object, at: Path) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
        subprocess.run(["git", *identity, *map(str, arguments)], cwd=at, check=True, timeout=60)

    main, lib = tmp_path / "main", tmp_path / "lib"
    for folder in (main, lib):
        folder.mkdir()
        git("init", "-q", at=folder)
        git("remote", "add", "origin", f"https://h.org/{folder.name}.git", at=folder)
        git("commit", "-q", "--allow-empty", "-m", "x", at=folder)
    git("worktree", "add", "-q", tmp_path / "copy", at=main)
    git("submodule", "--quiet", "add", lib, "sub", at=main)
    git("remote", "set-url", "origin", "https://h.org/sub.git", at=main / "sub")
    assert (tmp_path / "copy" / ".git").is_file()
    assert (main / "sub" / ".git").is_file()
    assert urls(tmp_path / "copy" / "a.py") == ["main"]
    assert urls(main / "sub" / "a.py") == ["sub"]
    assert urls(main / "a.py") == ["main"]


def test_both_ends_of_a_link_count(tmp_path: Path) -> None:
    here, there = made(tmp_path / "here", "here"), made(tmp_path / "there", "there")
    write(there / "a.py")
    (here / "link.py").symlink_to(there / "a.py")
    assert urls(here / "link.py") == ["here", "there"]
    # What is in no repository does not become part of one by a link.
    write(tmp_path / "free.py")
    (here / "free.py").symlink_to(tmp_path / "free.py")
    assert not look(here / "free.py").in_repository


def test_a_changed_configuration_is_read_again(tmp_path: Path) -> None:
    top = made(tmp_path / "w", "before")
    places = Places()
    uri = (top / "a.py").as_uri()
    assert places.look(uri, []).clone_urls == ("https://h.org/before.git",)
    write(top / ".git" / "config", CONFIG.format(name="after"))
    assert places.look(uri, []).clone_urls == ("https://h.org/after.git",)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("gitdir: nowhere\n", id="to nowhere"),
        pytest.param("what is this", id="no word of a folder"),
        pytest.param("", id="empty"),
    ],
)
def test_a_broken_link_to_a_repository_is_one_without_a_name(tmp_path: Path, text: str) -> None:
    write(tmp_path / "w" / ".git", text)
    place = look(tmp_path / "w" / "a.py")
    assert not place.clone_urls


def test_files_that_cannot_be_read_are_told_apart(tmp_path: Path) -> None:
    top = made(tmp_path / "w", "x")
    write(top / ".git" / "config", "x" * ((1 << 20) + 1))
    assert look(top / "a.py").unreadable


def test_the_workspace_is_known_behind_its_links_as_well(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "w").symlink_to(tmp_path / "real")
    root = (tmp_path / "w").as_uri()
    place = Places().look(f"{root}/a.py", [root])
    assert place.roots == (root, (tmp_path / "real").as_uri())
    assert place.real_uri == f"{(tmp_path / 'real').as_uri()}/a.py"


def test_a_document_is_also_where_a_link_to_its_folder_is(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    (real / "b").mkdir(parents=True)
    link.symlink_to(real)
    (tmp_path / "file.py").symlink_to(real / "b" / "a.py")
    named = [
        link / "b",
        link,
        real,
        tmp_path / "file.py",
        tmp_path / "none",
        real / "c",
        link / "c",
    ]
    uri = (real / "b" / "a.py").as_uri()
    place = Places().look(uri, [], [str(path) for path in named])
    below = [link / "b" / "a.py", tmp_path / "file.py"]
    assert place.other_uris == tuple(path.as_uri() for path in below)
    assert Places().look("untitled:a.py", [], ["/"]).other_uris == ()


@pytest.mark.parametrize("named", ["link", "/link", "link/b", "/link/b/a.py"])
def test_a_document_is_also_where_a_link_in_the_workspace_is(tmp_path: Path, named: str) -> None:
    real, root = tmp_path / "real", tmp_path / "w"
    (real / "b").mkdir(parents=True)
    root.mkdir()
    (root / "link").symlink_to(real)
    roots = [root.as_uri(), (tmp_path / "other").as_uri(), "vscode-remote://host/w"]
    place = Places().look((real / "b" / "a.py").as_uri(), roots, [named])
    assert place.other_uris == ((root / "link" / "b" / "a.py").as_uri(),)
    assert Places().look((tmp_path / "a.py").as_uri(), roots, [named]).other_uris == ()
