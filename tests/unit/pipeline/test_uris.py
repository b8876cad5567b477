"""One key per document, and the path a model is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_completions.pipeline.uris import display_path, document_key, uri_of_path


@pytest.mark.parametrize(
    "spellings",
    [
        pytest.param(["file:///w/a.py", "file:/w/a.py", "FILE:///w/a.py"], id="slashes and scheme"),
        pytest.param(["file://localhost/w/a.py", "file:///w/a.py"], id="this machine by name"),
        pytest.param(["file:///w/a.py", "file:///w/%61.py", "/w/a.py"], id="needless escape"),
        pytest.param(["file:///w/x y", "file:///w/x%20y"], id="space"),
        pytest.param(["file:///w/é", "file:///w/%C3%A9", "file:///w/%c3%a9"], id="accent"),
        pytest.param(["file:///w/a%2Bb%23", "file:///w/a+b#"], id="marks"),
        pytest.param(["file:///w/./b/../a.py", "file:///w//a.py", "file:///w/a.py"], id="dots"),
        pytest.param(
            [
                "file:///c:/r/a.py",
                "file:///C:/r/a.py",
                "file:///c%3A/r/a.py",
                "file:///C%3a/r/a.py",
                "file:/c:/r/a.py",
                "file://c:/r/a.py",
                "file:///C|/r/a.py",
                "file:///C:\\r\\a.py",
                "C:\\r\\a.py",
            ],
            id="drive letter",
        ),
        pytest.param(
            ["file://Server/share/a.py", "file:////server/share/a.py", "\\\\server\\share\\a.py"],
            id="share",
        ),
        pytest.param(["untitled:Untitled-1", "UNTITLED:Untitled%2D1"], id="untitled"),
        pytest.param(["zipfile:/a%2fb", "zipfile:/a%2Fb"], id="escapes elsewhere"),
        pytest.param(["untitled:é", "untitled:%C3%A9"], id="accents elsewhere"),
    ],
)
def test_one_key_for_all_spellings(spellings: list[str]) -> None:
    assert len({document_key(uri) for uri in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("file:///w/a.py", "file:///w/A.py", id="case of a name"),
        pytest.param("file:///w/a%2541", "file:///w/aA", id="an escaped escape"),
        pytest.param("file:///w/%FF", "file:///w/%FE", id="bytes that are no text"),
        pytest.param("file:///a.py", "untitled:/a.py", id="scheme"),
        pytest.param("cell:/n.ipynb#W0", "cell:/n.ipynb#W1", id="cells of a notebook"),
        pytest.param("zip:/a%2Fb", "zip:/a/b", id="an escaped slash elsewhere"),
        pytest.param("vfs://one/a.py", "vfs://two/a.py", id="authority"),
        pytest.param("file:///w/C:/a.py", "file:///w/c:/a.py", id="not a drive letter"),
    ],
)
def test_different_documents_have_different_keys(one: str, other: str) -> None:
    assert document_key(one) != document_key(other)


def test_half_a_surrogate_pair_is_no_error() -> None:
    assert document_key("untitled:\ud83d") == document_key("untitled:\ud83d")
    assert document_key("file:///\ud83d") != document_key("file:///")
    assert document_key("\ud83d") == document_key("\ud83d")


@pytest.mark.parametrize(
    ("uri", "roots", "path"),
    [
        pytest.param("file:///w/src/a.py", ["file:///w"], "src/a.py", id="in the workspace"),
        pytest.param("file:///w/src/a.py", ["file:///w/"], "src/a.py", id="root with a slash"),
        pytest.param("file:///w/x%20y/é.py", ["file:///w"], "x y/é.py", id="decoded"),
        pytest.param("file:///w/lib/a.py", ["file:///w", "file:///w/lib"], "a.py", id="innermost"),
        pytest.param("file:///home/me/a.py", ["file:///w"], "a.py", id="elsewhere: name alone"),
        pytest.param("file:///wide/a.py", ["file:///w"], "a.py", id="a longer name is no child"),
        pytest.param("file:///w/a.py", [], "a.py", id="no workspace"),
        pytest.param("file:///home/me/a.py", ["file:///"], "a.py", id="the disk is no workspace"),
        pytest.param("file:///c:/u/me/a.py", ["file:///c:/"], "a.py", id="nor is a drive"),
        pytest.param("file:///c%3A/repo/a.py", ["file:///C:/Repo"], "a.py", id="drive-letter case"),
        pytest.param("file:///C:/Repo/Src/A.py", ["file:///c:/repo"], "Src/A.py", id="case kept"),
        pytest.param("file:///w/a.py", ["file:///W"], "a.py", id="case counts without a drive"),
        pytest.param(
            "file://srv/share/p/a.py", ["file://SRV/Share"], "p/a.py", id="share without case"
        ),
        pytest.param("file:///x/a.py", ["file://srv/x"], "a.py", id="another machine"),
        pytest.param("file:///C:\\r\\s\\a.py", ["file:///c:/r"], "s/a.py", id="backslashes"),
        pytest.param("untitled:Untitled-1", ["file:///w"], "Untitled-1", id="untitled"),
        pytest.param("untitled:/home/me/a.py", ["file:///w"], "a.py", id="untitled with a path"),
        pytest.param("untitled:C:\\u\\me\\a.py", [], "a.py", id="untitled on a drive"),
        pytest.param("untitled:/w/s/a.py", ["file:///w"], "s/a.py", id="untitled in workspace"),
        pytest.param(
            "vscode-notebook-cell:/w/n/b.ipynb#W0s", ["file:///w"], "n/b.ipynb", id="notebook cell"
        ),
        pytest.param("git:/w/a.py?%7B%7D", ["file:///w"], "a.py", id="query"),
        pytest.param(
            "vscode-remote://ssh-remote%2Bh/w/s/a.py",
            ["vscode-remote://ssh-remote+h/w"],
            "s/a.py",
            id="remote workspace",
        ),
        pytest.param("/w/s/a.py", ["/w"], "s/a.py", id="paths instead of URIs"),
        pytest.param("file:///", ["file:///w"], "", id="nothing to show"),
        pytest.param("file:///c:/", [], "", id="a drive is no name"),
        pytest.param("", ["", "file:///w"], "", id="empty"),
    ],
)
def test_display_path(uri: str, roots: list[str], path: str) -> None:
    assert display_path(uri, roots) == path


URIS = st.text(max_size=20) | st.builds(
    str.__add__,
    st.sampled_from(["file:", "file:/", "file://", "file:///", "file:///c:/", "untitled:", "x://"]),
    st.text(alphabet=st.sampled_from("aC/\\\\:.%4161|#?é\ud83d "), max_size=12),
)


@given(uri=URIS, root=URIS)
def test_any_text_has_a_key_and_a_path_that_is_not_absolute(uri: str, root: str) -> None:
    assert document_key(uri) == document_key(uri)
    path = display_path(uri, [root])
    assert not path.startswith("/")
    assert ":/" not in path[1:3]


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        pytest.param("/w/x y", "file:///w/x%20y", id="POSIX"),
        pytest.param("C:\\w\\x", "file:///C:/w/x", id="drive"),
        pytest.param("\\\\srv\\share\\x", "file://srv/share/x", id="share"),
        pytest.param("/w/a\\b", "file:///w/a%5Cb", id="a backslash is a letter on POSIX"),
    ],
)
def test_uri_of_path(path: str, uri: str) -> None:
    assert uri_of_path(path) == uri
