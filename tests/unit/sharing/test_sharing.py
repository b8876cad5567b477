"""Which documents may be sent, and which are kept back."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.providers.base import Event
from lsp_completions.settings import Settings, resolve
from lsp_completions.sharing.context_filters import ContextFilters
from lsp_completions.sharing.gate import Gate, rules_of, why_kept_back
from lsp_completions.sharing.secret_files import SECRET_FILES, holds_secrets
from lsp_completions.sharing.whereabouts import Place, Places, behind_links

SECRET = SkipReason.SECRET_FILE
EXCLUDED = SkipReason.EXCLUDED
UNREADABLE = SkipReason.EXCLUDE_UNREADABLE
OUTSIDE = SkipReason.OUTSIDE_WORKSPACE
SCHEME = SkipReason.UNKNOWN_SCHEME


def verdict(
    uri: str, *, real: str | None = None, roots: Sequence[str] = ("file:///w",), **raw: Any
) -> SkipReason | None:
    settings, _ = resolve([("the test", raw)])
    return at(uri, settings, real=real, roots=roots)


def at(
    uri: str,
    settings: Settings,
    *,
    real: str | None = None,
    roots: Sequence[str] = ("file:///w",),
    **found: Any,
) -> SkipReason | None:
    place = Place(real_uri=uri if real is None else real, roots=tuple(roots), **found)
    return why_kept_back(uri, place, rules_of(settings))


@pytest.mark.parametrize(
    "name",
    """
    .env .env.local .env.production .ENV prod.env .envrc .env~ .env.example.bak/../.env .dev.vars
    server.pem server.key server.key.bak id_rsa id_ed25519 id_ecdsa cert.p12 cert.pfx store.jks
    my.keystore putty.ppk home.kdbx
    .netrc _netrc .npmrc .pypirc .git-credentials .htpasswd credentials credentials.json
    .aws/credentials .docker/config.json .kube/config kubeconfig prod.kubeconfig
    prod.tfvars prod.auto.tfvars.json terraform.tfstate terraform.tfstate.backup
    secrets.yml secrets.yaml secrets.json secrets.toml secrets.prod.yaml
    .password-store/mail/me.gpg .password-store/note .ssh/config .gnupg/x
    .bash_history .zsh_history .python_history .psql_history fish_history .node_repl_history
    lsp-completions/config.toml state/lsp-completions/logins.json lsp-completions/.logins-a1b2
    deploy_rsa github_ed25519 sops/age/keys.txt .config/gh/hosts.yml .databrickscfg
    app-firebase-adminsdk-x1.json .terraform.d/credentials.tfrc.json main.shada wpa_supplicant.conf
    """.split(),
)
def test_secret_files_are_kept_back(name: str) -> None:
    assert verdict(f"file:///w/{name}") is SECRET
    assert verdict(f"file:///w/{name}", secretFiles=True) is None
    assert verdict(f"file:///c%3A/Users/me/{name}") is SECRET


@pytest.mark.parametrize(
    "name",
    """
    .env.example .env.sample .env.template .env.dist .env.local.example example.env
    .env/lib/a.py env.py environment.ts credentials.py credentials/a.py secrets.py secrets/a.py
    config.json docker/config.json config kube/config id_rsa.pub prod.tfvars.example
    secrets.example.yaml main.tf keys.py key.go pem.c history.md bash_history.py .gitignore
    config.toml deploy_rsa.pub keys.txt token.py tokens.ts history.shada.md github-copilot/a.lua
    """.split(),
)
def test_what_only_looks_like_them_is_sent(name: str) -> None:
    assert verdict(f"file:///w/{name}") is None


@pytest.mark.parametrize(
    "uri",
    [
        pytest.param("file:///w/%2Eenv", id="percent-encoded"),
        pytest.param("file:/w/.env", id="one slash"),
        pytest.param("/w/.env", id="a path for a URI"),
        pytest.param("C:\\w\\.env", id="a Windows path for a URI"),
        pytest.param("file://server/share/.env", id="on a share"),
        pytest.param("untitled:.env", id="untitled"),
        pytest.param("vscode-notebook-cell:/w/.env#W0", id="a cell"),
    ],
)
def test_every_spelling_of_a_secret_file(uri: str) -> None:
    assert verdict(uri) is SECRET


@pytest.mark.parametrize(
    ("pattern", "uri"),
    [
        pytest.param("**/secret/**", "file:///w/a/secret/b.py", id="a folder anywhere"),
        pytest.param("secret/", "file:///w/a/secret/b/c.py", id="a folder by its name"),
        pytest.param("/gen/", "file:///w/gen/a.py", id="at the top of the workspace"),
        pytest.param("*.sql", "file:///w/a/b.sql", id="by the ending"),
        pytest.param("*.sql", "file:///w/a/B.SQL", id="in upper case"),
        pytest.param("Secret/", "file:///w/secret/b.py", id="in lower case"),
        pytest.param("/w/gen/*", "file:///w/gen/a.py", id="an absolute path"),
        pytest.param("/srv/x/", "file:///srv/x/a.py", id="outside of the workspace"),
        pytest.param("**/secret/**", "file:///w/s%65cret/b.py", id="percent-encoded"),
        pytest.param("a b/", "file:///w/a%20b/c.py", id="a space"),
        pytest.param("caf\u00e9/", "file:///w/cafe%CC%81/c.py", id="an accent taken apart"),
        pytest.param("c:/private/**", "file:///C%3A/private/a.py", id="a drive"),
        pytest.param("C:\\private\\**", "file:///c:/private/a.py", id="a drive with backslashes"),
        pytest.param("\\\\srv\\share\\**", "file://SRV/share/a.py", id="a share"),
        pytest.param("//srv/share/", "file://srv/share/a.py", id="a share with slashes"),
        pytest.param("~/diary/", f"{Path.home().as_uri()}/diary/a.md", id="in the home folder"),
        pytest.param("*.ipynb", "vscode-notebook-cell:/w/a.ipynb#W1", id="cells of a notebook"),
        pytest.param("draft", "untitled:draft", id="untitled"),
        pytest.param("*", "untitled:Untitled-1", id="everything"),
    ],
)
def test_excluded(pattern: str, uri: str) -> None:
    assert verdict(uri) is None
    assert verdict(uri, exclude=[pattern]) is EXCLUDED
    assert verdict(uri, exclude=["# a remark", "", pattern, "!other"]) is EXCLUDED


@pytest.mark.parametrize(
    ("patterns", "uri"),
    [
        pytest.param(["secret/"], "file:///w/secrets/a.py", id="a longer name"),
        pytest.param(["/gen/"], "file:///w/a/gen/b.py", id="not at the top"),
        pytest.param(["secret/"], "file:///w/secret", id="a file and no folder"),
        pytest.param(["*", "!/src/"], "file:///w/src/a.py", id="taken back at the top"),
        pytest.param(["*", "!*.py"], "file:///w/src/a.py", id="taken back by the ending"),
        pytest.param(["secret/", "!*.md"], "file:///w/secret/a.md", id="taken back in a folder"),
        pytest.param(["# all", ""], "file:///w/a.py", id="remarks and blanks"),
        pytest.param([], "file:///w/a.py", id="nothing"),
    ],
)
def test_not_excluded(patterns: list[str], uri: str) -> None:
    assert verdict(uri, exclude=patterns) is None


def test_the_last_pattern_decides() -> None:
    assert verdict("file:///w/secret/a.md", exclude=["!*.md", "secret/"]) is EXCLUDED


def test_the_innermost_folder_is_not_the_only_one_to_count_from() -> None:
    roots = ["file:///w", "file:///w/lib"]
    assert verdict("file:///w/lib/a.py", roots=roots, exclude=["/a.py"]) is EXCLUDED
    assert verdict("file:///w/lib/a.py", roots=roots, exclude=["/lib/a.py"]) is EXCLUDED


@pytest.mark.parametrize(
    ("uri", "real", "expected"),
    [
        pytest.param("file:///w/a.txt", "file:///w/.env", SECRET, id="to a secret file"),
        pytest.param("file:///w/.env", "file:///w/a.txt", SECRET, id="a secret file to another"),
        pytest.param("file:///w/.env.example", "file:///w/.env", SECRET, id="an example to one"),
        pytest.param("file:///w/a.py", "file:///real/b.py", EXCLUDED, id="to what is excluded"),
        pytest.param("file:///real/a.py", "file:///w/b.py", EXCLUDED, id="from there"),
        pytest.param("file:///w/a.py", "file:///w/b.py", None, id="to any other"),
    ],
)
def test_both_ends_of_a_link_count(uri: str, real: str, expected: SkipReason | None) -> None:
    assert verdict(uri, real=real, exclude=["/real/"]) is expected


@pytest.mark.parametrize(
    ("uri", "real", "roots", "expected"),
    [
        pytest.param("file:///w/a.py", None, ["file:///w"], None, id="inside"),
        pytest.param("file:///x/a.py", None, ["file:///w"], OUTSIDE, id="outside"),
        pytest.param("file:///w2/a.py", None, ["file:///w"], OUTSIDE, id="a longer name"),
        pytest.param("file:///x/a.py", None, ["file:///w", "file:///x"], None, id="in the second"),
        pytest.param("file:///x/a.py", None, [], None, id="no workspace"),
        pytest.param("file:///w/a.py", "file:///x/a.py", ["file:///w"], OUTSIDE, id="a link out"),
        pytest.param("file:///x/a.py", "file:///w/a.py", ["file:///w"], OUTSIDE, id="a link in"),
        pytest.param("untitled:Untitled-1", None, ["file:///w"], None, id="not saved yet"),
        pytest.param("file:///x/a.py", None, ["file:///"], None, id="all of the disk"),
        pytest.param("file:///c%3A/a.py", None, ["file:///C:/"], None, id="all of a drive"),
    ],
)
def test_outside_of_the_workspace(
    uri: str, real: str | None, roots: list[str], expected: SkipReason | None
) -> None:
    assert verdict(uri, real=real, roots=roots, outsideWorkspace=False) is expected
    assert verdict(uri, real=real, roots=roots) is None


def test_what_git_ignores_and_what_it_does_not_tell() -> None:
    settings, _ = resolve([("the test", {})])
    asked, _ = resolve([("the test", {"gitIgnored": True})])
    uri = "file:///w/a.py"
    assert at(uri, settings, git_ignored=True) is SkipReason.GIT_IGNORED
    assert at(uri, asked, git_ignored=True) is None
    assert at(uri, settings, unreadable=True) is SkipReason.GIT_UNREADABLE
    assert at(uri, asked, unreadable=True) is None


@pytest.mark.parametrize(
    "exclude",
    [
        pytest.param(["a["], id="a set without end"),
        pytest.param(["[z-a]"], id="a set the wrong way round"),
        pytest.param(["[[:upper:]]"], id="a class that is not known"),
        pytest.param(["a\\"], id="nothing after the backslash"),
        pytest.param(["!"], id="nothing taken back"),
        pytest.param(["/"], id="a slash"),
        pytest.param(["*.{env,pem}"], id="alternatives"),
        pytest.param(["secret\\files\\*"], id="backslashes"),
        pytest.param(["a\nb"], id="two lines"),
        pytest.param([3], id="a number"),
        pytest.param([None], id="nothing"),
        pytest.param({"a": True}, id="a map"),
        pytest.param(True, id="a flag"),
    ],
)
def test_a_pattern_that_cannot_be_read_keeps_everything_back_and_says_so(exclude: Any) -> None:
    _, problems = resolve([("the test", {"exclude": exclude})])
    (problem,) = problems
    assert problem.path.startswith("$.exclude")
    assert "nothing is sent" in problem.message
    assert verdict("file:///w/a.py", exclude=exclude) is UNREADABLE
    if isinstance(exclude, list):
        assert verdict("file:///w/a.py", exclude=["b", *exclude, "!a.py"]) is UNREADABLE


def test_one_pattern_may_come_without_a_list() -> None:
    assert verdict("file:///w/a.py", exclude="*.py") is EXCLUDED


def test_exclusions_add_up_and_the_user_has_the_last_word() -> None:
    layers = [("the file", {"exclude": ["/private/"]}), ("the editor", {"exclude": ["!*", "*.md"]})]
    settings, problems = resolve(layers)
    assert not problems
    for name, expected in {"private/a.py": EXCLUDED, "a.md": EXCLUDED, "a.py": None}.items():
        assert at(f"file:///w/{name}", settings) is expected
    settings, _ = resolve([layers[0], ("the editor", {"exclude": []})])
    assert at("file:///w/private/a", settings) is EXCLUDED


@pytest.mark.parametrize(
    ("uri", "schemes", "expected"),
    [
        pytest.param("file:///w/a.py", None, None, id="a file"),
        pytest.param("untitled:Untitled-1", None, None, id="untitled"),
        pytest.param("vscode-notebook-cell:/w/a.ipynb#W0", None, None, id="a cell"),
        pytest.param("git:/w/a.py?x", None, SCHEME, id="an older revision"),
        pytest.param("output:x", None, SCHEME, id="an editor's own view"),
        pytest.param("git:/w/a.py?x", ["file", "git"], None, id="allowed"),
        pytest.param("GIT:/w/a.py", ["Git:"], None, id="allowed in other letters"),
        pytest.param("untitled:Untitled-1", ["file"], SCHEME, id="forbidden"),
        pytest.param("git:/w/.env?x", ["git"], SECRET, id="allowed, but with secrets"),
    ],
)
def test_schemes(uri: str, schemes: list[str] | None, expected: SkipReason | None) -> None:
    assert verdict(uri, schemes=schemes) is expected


async def test_links_are_followed_on_disk(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "secret").mkdir(parents=True)
    (real / "secret" / "a.py").write_text("x = 1\n")
    (real / ".env").write_text("A=1\n")
    (tmp_path / "w").symlink_to(real)
    (real / "plain.txt").symlink_to(real / ".env")
    (real / "é b.py").symlink_to(real / "secret" / "a.py")
    inside = (tmp_path / "w" / "secret" / "a.py").as_uri()
    link, odd = (real / "plain.txt").as_uri(), (real / "é b.py").as_uri()

    async with opened() as gate:
        for uri in (inside, link, odd):
            gate.judge(uri)
        assert await gate.decided(inside, None) is None
        assert await gate.decided(link, None) is SECRET
        settings, _ = resolve([("the test", {"exclude": [f"{real.as_posix()}/secret/"]})])
        gate.follow(settings, [(tmp_path / "w").as_uri()])
        assert await gate.decided(inside, None) is EXCLUDED
        assert await gate.decided(odd, None) is EXCLUDED
        # The workspace is a link as well; what its folder is called behind it counts from there.
        settings, _ = resolve([("the test", {"exclude": ["/secret/"]})])
        gate.follow(settings, [(tmp_path / "w").as_uri()])
        other = (real / "secret" / "a.py").as_uri()
        assert gate.why_kept_back(other) is SkipReason.UNKNOWN_DOCUMENT
        gate.judge(other)
        assert await gate.decided(other, None) is EXCLUDED
        gate.forget(link)
        assert gate.why_kept_back(link) is SkipReason.UNKNOWN_DOCUMENT
        # What is not open may still be where an excerpt would come from.
        assert await gate.decided(link, None) is SECRET


@asynccontextmanager
async def opened() -> AsyncIterator[Gate]:
    async def version(_: object) -> None:
        return None

    def nobody(*_: object) -> AsyncGenerator[Event, None]:
        raise AssertionError("nobody is asked")

    gate = Gate(ContextFilters(nobody, version=version))
    try:
        yield gate
    finally:
        await gate.aclose()


@given(uri=st.text(max_size=20) | st.builds("file:///{}".format, st.text(max_size=12)))
def test_any_uri_has_a_verdict(uri: str) -> None:
    settings, _ = resolve([("the test", {"exclude": ["*.py", "/a/"]})])
    at(uri, settings, real=behind_links(uri), roots=[uri, "file:///w"])
    Places().look(uri, [uri])


@given(pattern=st.text(max_size=12) | st.text(alphabet="a*[]!\\/?-{},~", max_size=8))
def test_any_text_is_a_pattern_or_keeps_everything_back(pattern: str) -> None:
    settings, problems = resolve([("the test", {"exclude": [pattern]})])
    reason = at("file:///w/z", settings)
    assert (reason is UNREADABLE) == bool(problems)


def test_each_line_of_the_list_keeps_a_file_back() -> None:
    for patterns in SECRET_FILES.values():
        for pattern in patterns.split():
            example = pattern.replace("*", "x").replace("?", "x").lower()
            assert holds_secrets(example + "file" if example.endswith("/") else example), pattern


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("/a/b", ["/a/b"]),
        ("/a/b/", ["/a/b"]),
        ("!/a/b", ["/a/b"]),
        ("/a/b/*.py", ["/a/b"]),
        ("/a/b/x*/c", ["/a/b"]),
        ("/a/b[12]", ["/a"]),
        (r"/a\[1\]/b", ["/a[1]/b"]),
        ("C:/a/b", ["C:/a/b"]),
        (r"c:\a\b", ["c:/a/b"]),
        (r"\\host\share\a", ["//host/share/a"]),
        ("/a b/c ", ["/a b/c"]),
        (r"/a/b\ ", ["/a/b "]),
        ("/*", []),
        ("/**/secret", []),
        ("secret/", ["secret"]),
        ("a/b", ["a/b"]),
        ("a/*.py", ["a"]),
        ("*.py", []),
        ("**/a", []),
    ],
)
def test_the_place_that_a_pattern_names(pattern: str, named: list[str]) -> None:
    settings, problems = resolve([("the test", {"exclude": [pattern]})])
    assert not problems
    assert list(rules_of(settings).named) == named
