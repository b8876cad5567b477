"""Whether git ignores a file, without git; compared with git itself."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_completions.sharing.git_config import repository_of
from lsp_completions.sharing.git_ignored import GitIgnored, names_in_index, rules_in


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return home


def write(file: Path, text: str = "") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="")
    return file


def git(folder: Path, *arguments: str) -> str:
    ran = subprocess.run(
        ["git", "-C", folder, *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    return ran.stdout


def made(tmp_path: Path) -> Path:
    top = tmp_path / "w"
    top.mkdir()
    git(top, "init", "-q")
    return top


def ignored(file: Path, known: GitIgnored | None = None) -> bool:
    repository = repository_of(file)
    assert repository is not None
    return (known or GitIgnored()).ignores(file, repository)


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        pytest.param("*.log", "a/b.log", True, id="by the ending"),
        pytest.param("/build", "build/a.py", True, id="a folder at the top"),
        pytest.param("/build", "a/build", False, id="not at the top"),
        pytest.param("build/", "build", False, id="a folder and no file"),
        pytest.param("build/", "a/build/b", True, id="a folder anywhere"),
        pytest.param("a/*.py", "a/b.py", True, id="in a folder"),
        pytest.param("a/*.py", "a/b/c.py", False, id="a star takes no slash"),
        pytest.param("a/**/c", "a/c", True, id="no folder between"),
        pytest.param("a/**/c", "a/x/y/c", True, id="folders between"),
        pytest.param("a/**", "a/x/y", True, id="everything in a folder"),
        pytest.param("**/c", "a/b/c", True, id="in any folder"),
        pytest.param("*.py\n!keep.py", "keep.py", False, id="taken back"),
        pytest.param("a/\n!a/keep.py", "a/keep.py", True, id="not out of an ignored folder"),
        pytest.param("/src/*\n!*/\n!*.py", "src/a/b.py", False, id="folders and files taken back"),
        pytest.param("/src/*\n!*/", "src/a/b.txt", False, id="folders taken back"),
        pytest.param("/src/**\n!*/", "src/a/b.txt", True, id="folders but no files taken back"),
        pytest.param("[a-c].py", "b.py", True, id="a set"),
        pytest.param("[!a-c].py", "b.py", False, id="not in a set"),
        pytest.param("[[:digit:]].py", "1.py", True, id="a named set"),
        pytest.param("[a", "[a", False, id="a set without end is none"),
        pytest.param("a\\", "a", False, id="nothing after the backslash"),
        pytest.param(r"\!a", "!a", True, id="an exclamation mark"),
        pytest.param(r"\#a", "#a", True, id="a hash"),
        pytest.param("#a", "#a", False, id="a remark"),
        pytest.param("a  ", "a", True, id="spaces at the end"),
        pytest.param("a\r\nb\r\n", "a", True, id="Windows line ends"),
        pytest.param("\ufeffa", "a", True, id="a mark at the beginning"),
        pytest.param("?.py", "a.py", True, id="any letter"),
        pytest.param("é*.py", "éa.py", True, id="a letter beyond ASCII"),
    ],
)
def test_rules(tmp_path: Path, rules: str, path: str, expected: bool) -> None:
    top = made(tmp_path)
    write(top / ".gitignore", rules)
    file = write(top / path)
    assert ignored(file) is expected
    if os.name == "posix":
        assert bool(git(top, "check-ignore", path)) is expected


def test_deeper_files_come_first_and_the_users_own_last(tmp_path: Path, at_home: Path) -> None:
    top = made(tmp_path)
    write(top / ".git" / "info" / "exclude", "*.local\n!*.mine\n")
    write(top / ".gitignore", "*.tmp\n")
    write(top / "a" / ".gitignore", "!keep.tmp\n/only\n")
    write(at_home / ".config" / "git" / "ignore", "*.swp\n*.mine\n")
    files = {"x.local": True, "a/keep.tmp": False, "a/b.tmp": True, "a/only": True}
    files |= {"b/only": False, "x.swp": True, "x.mine": False}
    for path, expected in files.items():
        assert ignored(write(top / path)) is expected, path
        assert bool(git(top, "check-ignore", path)) is expected, path

    write(at_home / "mine", "*.bak")
    write(at_home / ".gitconfig", "[core]\n\texcludesFile = ~/mine\n")
    assert ignored(write(top / "x.bak"))
    assert not ignored(top / "x.swp")


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_what_is_tracked_is_not_ignored(tmp_path: Path, version: str) -> None:
    top = made(tmp_path)
    write(top / ".gitignore", "*.conf\nlong-folder/\n")
    tracked = ["a.conf", "long-folder/b.py", "long-folder/longer/c.py", "é.conf"]
    for path in tracked:
        write(top / path)
    git(top, "add", "-f", *tracked)
    git(top, "update-index", "--index-version", "4" if version == "4" else "2")
    if version == "3":
        git(top, "add", "-N", "-f", str(write(top / "new.conf")))
        tracked.append("new.conf")
    known = GitIgnored()
    for path in tracked:
        assert not ignored(top / path, known), path
    for path in ("b.conf", "long-folder/other.py"):
        assert ignored(write(top / path), known), path
    # From then on.
    git(top, "add", "-f", "b.conf")
    assert not ignored(top / "b.conf", known)


@pytest.mark.parametrize("rule", ["*", "/*", "**", "/**", "*/", "**/*"])
def test_a_repository_of_everything_at_home_does_not_silence_all(tmp_path: Path, rule: str) -> None:
    top = made(tmp_path)
    write(top / ".gitignore", f"{rule}\n!.bashrc\nsecret/\n")
    assert not ignored(write(top / "work" / "a.py"))
    assert ignored(write(top / "secret" / "a.py"))
    # Deeper, it is meant for what is there.
    write(top / "venv" / ".gitignore", "*\n")
    assert ignored(write(top / "venv" / "a.py"))


def test_rules_are_read_again_when_they_change(tmp_path: Path) -> None:
    top = made(tmp_path)
    known = GitIgnored()
    file = write(top / "a.py")
    assert not ignored(file, known)
    write(top / ".gitignore", "a.py")
    assert ignored(file, known)
    write(top / ".gitignore", "other.py")
    assert not ignored(file, known)


def test_rules_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    top = made(tmp_path)
    write(top / ".gitignore", "x" * (1 << 20) + "x")
    with pytest.raises(OSError, match="too long"):
        ignored(write(top / "a.py"))


def test_no_rule_takes_long(tmp_path: Path) -> None:
    top = made(tmp_path)
    write(top / ".gitignore", "*a" * 40 + "b\n" + "**/a/" * 60 + "b\n")
    assert not ignored(write(top / ("a" * 120) / "c"))


@given(text=st.text(alphabet="ab*?[]!\\/-:^ #.\n", max_size=30), name=st.text("ab*/[", max_size=6))
def test_any_text_is_rules(text: str, name: str) -> None:
    names = [part for part in name.split("/") if part] or ["a"]
    for rule in rules_in(text):
        rule.matches(names, is_folder=False)


@given(st.binary(max_size=200))
def test_any_bytes_are_an_index(index: bytes) -> None:
    names_in_index(index)
    names_in_index(b"DIRC\0\0\0\2\0\0\0\7" + index)
    names_in_index(b"DIRC\0\0\0\4\0\0\0\7" + index)
