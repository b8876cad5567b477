import os
from pathlib import Path

import pytest

from lsp_completions.configuration import project_layers
from lsp_completions.configuration.project_file import NAME, project_file
from lsp_completions.configuration.sources import Kind
from lsp_completions.kinds import NOT_READ


def test_each_workspace_folder_may_have_one(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    (tmp_path / "a" / NAME).write_text('exclude = ["gen/"]\n')
    (tmp_path / "b" / NAME).write_text("[lspCompletions]\nmaxTokens = 7\n")
    roots = [(tmp_path / name).as_uri() for name in ("a", "b", "c", "none")]
    layers, problems = project_layers([*roots, "untitled:x", "vscode-remote://ssh/a", "", "%"])
    assert problems == []
    assert [layer.values for layer in layers] == [{"exclude": ["gen/"]}, {"maxTokens": 7}]
    assert {layer.source.kind for layer in layers} == {Kind.PROJECT}
    assert layers[0].source.name == str(tmp_path / "a" / NAME)


def refused(root: Path) -> str:
    layers, (problem,) = project_layers([root.as_uri()])
    # It may have kept anything back.
    assert [layer.values for layer in layers] == [{"exclude": [NOT_READ]}]
    return problem.message


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "elsewhere.toml").write_text("maxTokens = 7\n")
    (root / NAME).symlink_to(tmp_path / "elsewhere.toml")
    assert "leads out" in refused(root)
    (root / NAME).unlink()
    (root / NAME).symlink_to(NAME)
    assert "could not be read" in refused(root)


def test_a_link_within_it_is(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    (root / "other.toml").write_text("maxTokens = 7\n")
    (root / NAME).symlink_to("other.toml")
    layers, problems = project_layers([(tmp_path / "link").as_uri()])
    assert (len(layers), problems) == (1, [])


@pytest.mark.parametrize(
    ("written", "message"),
    [
        pytest.param(b"= 5", "is not TOML", id="broken"),
        pytest.param(b"#" * 2_000_000, "is too large", id="too large"),
        pytest.param(b"\xff\xfe", "is not UTF-8", id="another encoding"),
    ],
)
def test_a_broken_one_is_told(tmp_path: Path, written: bytes, message: str) -> None:
    (tmp_path / NAME).write_bytes(written)
    assert message in refused(tmp_path)


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    assert "is no file" in refused(tmp_path)
    if hasattr(os, "mkfifo"):
        (tmp_path / NAME).rmdir()
        os.mkfifo(tmp_path / NAME)
        assert "is no file" in refused(tmp_path)


def test_it_is_looked_for_where_there_is_a_folder() -> None:
    assert project_file("file:///w") == Path("/w") / NAME
    assert project_file("untitled:w") is None
