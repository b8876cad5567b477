import pytest

from lsp_completions.pipeline.languages import _TABLE, PLAIN, Language, language_of


@pytest.mark.parametrize(
    ("language_id", "path", "expected"),
    [
        pytest.param("python", "a.py", "python", id="VS Code's name"),
        pytest.param("Python", "", "python", id="in capitals, as Emacs writes modes"),
        pytest.param("sh", "", "shellscript", id="Vim's name"),
        pytest.param("javascript.jsx", "", "javascriptreact", id="Vim's compound name"),
        pytest.param("yaml.ansible", "", "yaml", id="the first part of an unknown compound name"),
        pytest.param("", "src/a.d.ts", "typescript", id="no name: the last ending"),
        pytest.param("", "Dockerfile.dev", "dockerfile", id="no name: the file's name"),
        pytest.param("", ".env.local", "dotenv", id="no name: a hidden file with an ending"),
        pytest.param("", "C:\\w\\Main.JAVA", "java", id="no name: a Windows path in capitals"),
        pytest.param("plaintext", "x.py", "python", id="plaintext is what editors say for unknown"),
        pytest.param("plaintext", "notes", "plaintext", id="plaintext it is"),
        pytest.param("", "", "plaintext", id="nothing at all"),
        pytest.param("wat", "x.rs", "rust", id="an unknown name of a known file"),
        pytest.param("wat", "x.wat", "wat", id="an unknown language keeps its name"),
        pytest.param(" cobol ", "", "cobol", id="spaces around"),
    ],
)
def test_language_of(language_id: str, path: str, expected: str) -> None:
    assert language_of(language_id, path).id == expected


def test_an_unknown_language_is_code() -> None:
    assert PLAIN.prose
    assert language_of("wat") == Language(id="wat")


def test_no_name_is_listed_twice() -> None:
    names = [name for language, more, _ in _TABLE for name in (language.id, *more.split())]
    files = [file for *_, more in _TABLE for file in more.split()]
    assert sorted(set(names)) == sorted(names)
    assert sorted(set(files)) == sorted(files)
    assert all(name == name.lower() for name in names + files)


@pytest.mark.parametrize("language", [row[0] for row in _TABLE], ids=lambda language: language.id)
def test_marks_are_never_empty(language: Language) -> None:
    # An empty one would be at the end and at the start of every line.
    marks = language.block_start + language.block_end + language.block_continuation
    assert all(marks)
    assert language.indent_unit.strip(" ") in {"", "\t"}
    assert language.indent_unit
