"""What a repository is called, by where it is cloned from."""

import pytest

from lsp_completions.sharing.git_config import entries_in
from lsp_completions.sharing.repository_names import clone_urls, name_of, without_password
from tests.support.extra import extra_cases


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("git@host.org:you/project.git", "host.org/you/project", id="scp"),
        pytest.param("me@host:a/b/c", "host/a/b/c", id="scp with groups and no ending"),
        pytest.param("git@host.org:2022/you/p.git", "host.org:2022/you/p", id="scp with a port"),
        pytest.param("https://host.org/You/P.git", "host.org/You/P", id="case as it is"),
        pytest.param("https://me:pass@host.org:8443/a/b/", "host.org/a/b", id="user and port"),
        pytest.param("ssh://git@host.org:22/a/b.git", "host.org/a/b", id="ssh"),
        pytest.param("git://host.org/a", "host.org/a", id="git"),
        pytest.param("github:you/project", "github.com/you/project", id="GitHub by alias"),
        pytest.param("gitlab:you/project.git", "gitlab.com/you/project", id="GitLab by alias"),
        pytest.param("host.org:you/project", "host.org/you/project", id="without a user"),
        pytest.param(
            "https://dev.azure.com/org/x/_git/y", "dev.azure.com/org/x/y", id="Azure DevOps"
        ),
        pytest.param("github.com/foo/bar", None, id="a name already"),
        pytest.param("work:you/project", None, id="an alias nobody knows"),
        pytest.param("/srv/git/project.git", None, id="a folder"),
        pytest.param("../project", None, id="a folder beside"),
        pytest.param("C:\\git\\project", None, id="a folder on Windows"),
        pytest.param("C:/git/project", None, id="a folder on Windows with slashes"),
        pytest.param("file:///srv/git/project", None, id="a folder as a URL"),
        pytest.param("https://me:half/of@host.org/a", None, id="a password cut in two"),
        pytest.param("", None, id="nothing"),
        pytest.param("https://host.org/", None, id="a host alone"),
    ],
)
def test_names(url: str, expected: str | None) -> None:
    assert name_of(url) == expected


def test_recorded_names() -> None:
    for row in extra_cases("cases/reference_functions.jsonl"):
        if row["function"] == "convertGitCloneURLToCodebaseName":
            assert name_of(*row["args"]) == row["result"], row["id"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("https://me:secret@h.org/a", "https://h.org/a", id="a password"),
        pytest.param("https://secret@h.org/a", "https://h.org/a", id="a token for a user"),
        pytest.param("ssh://git:secret@h.org/a", "ssh://git@h.org/a", id="of ssh"),
        pytest.param("git@h.org:a/b", "git@h.org:a/b", id="none"),
        pytest.param("https://h.org/a@b", "https://h.org/a@b", id="an at sign later on"),
    ],
)
def test_only_its_host_learns_a_password(url: str, expected: str) -> None:
    assert without_password(url) == expected


def test_every_remote_counts_and_short_forms_are_written_out() -> None:
    config = r"""
    [core]
        bare = false
    [remote "origin"]
        url = gh:you/project.git   ; a remark
        pushurl = "git@host.org:you/\"odd\".git"
        fetch = +refs/heads/*:refs/remotes/origin/*
    [Remote "up\\stream"] URL = https://h.org/a \
b
    [remote "twice"]
        url = https://h.org/c
        url = https://h.org/d
        fetchurl = https://h.org/c
    [remote.old] url = https://h.org/e
    [remote "empty"]
        url
    [url "https://github.com/"]
        insteadOf = gh:
    [url "https://wrong/"]
        insteadOf = gh
    [broken
    """
    assert clone_urls(list(entries_in(config))) == (
        'git@host.org:you/"odd".git',
        "https://github.com/you/project.git",
        "https://h.org/a b",
        "https://h.org/c",
        "https://h.org/d",
        "https://h.org/e",
        "true",
    )
