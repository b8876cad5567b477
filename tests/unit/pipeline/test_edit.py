"""What gives way to an edit, and how it lives on while its text is being typed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_completions.pipeline.edit import Edit, after_typing, edit_for, fit
from lsp_completions.pipeline.postprocess import finish
from lsp_completions.pipeline.trigger import Mode
from tests.support.cursor import apply, context_of

ALPHABET = st.sampled_from([*"ab1 \t\n()[]{}\"'`,;:.<>=+-/#*\\é🙂", "if ", "end", "}\n", "\r\n"])
TEXT = st.lists(ALPHABET, max_size=40).map("".join)
LANGUAGES = st.sampled_from(["python", "typescript", "ruby", "html", "lisp", "plaintext", "go"])


@given(before=TEXT, after=TEXT, said=TEXT, language=LANGUAGES, mode=st.sampled_from(Mode))
def test_finishing_twice_changes_nothing_more_of_one_line(
    before: str, after: str, said: str, language: str, mode: Mode
) -> None:
    context = context_of(f"{before}<cursor>{after}", language)
    text = finish(said, context, mode)
    assert finish(text, context, mode).count("\n") <= text.count("\n")
    assert (mode is not Mode.LINE) or "\n" not in text


@pytest.mark.parametrize("said", ["x", "f(x)", "x, [1]", "{a: 1}", "x || (y && z)"])
@pytest.mark.parametrize(
    ("opened", "rest"),
    [
        ("(", ")"),
        ("(", ");"),
        ("([", "])"),
        ("({", "})"),
        ("({", "});"),
        ('("', '")'),
        ("(['", "'])"),
        ("({a: [", "]}, b)"),
    ],
)
def test_closers_behind_the_cursor_stand_once(opened: str, rest: str, said: str) -> None:
    """However many of them the model repeats."""
    context = context_of(f"call{opened}<cursor>{rest}", "typescript")
    for repeated in range(len(rest) + 1):
        edit = edit_for(said + rest[:repeated], context)
        result = apply(f"call{opened}{rest}", edit)
        assert result == f"call{opened}{said}{rest}", rest[:repeated]


@pytest.mark.parametrize(
    ("language", "opened", "rest"),
    [
        pytest.param("rust", "let c = '", "';", id="a letter in Rust"),
        pytest.param("lisp", "(f '", "')", id="a quoted name"),
        pytest.param("c", "// see `", "`)", id="a comment"),
        pytest.param("html", "<a href='", "'>", id="an attribute"),
        pytest.param("matlab", "disp('", "')", id="where it also transposes"),
    ],
)
def test_a_closing_quote_stands_once_in_any_language(language: str, opened: str, rest: str) -> None:
    context = context_of(f"{opened}<cursor>{rest}", language)
    for said in ("x", "x" + rest[0], "x" + rest):
        edit = edit_for(said, context)
        assert apply(opened + rest, edit) == f"{opened}x{rest}", said


def test_a_suggestion_that_changes_nothing_is_none() -> None:
    context = context_of("f(<cursor>)", "python")
    assert edit_for("", context) is None
    assert edit_for(")", context) is None


def test_what_goes_on_beyond_the_rest_replaces_it() -> None:
    context = context_of("for (<cursor>)\n", "typescript")
    assert fit("const a of b) {", context) == ("const a of b) {", 1)
    assert fit("const a of b", context) == ("const a of b", 0)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        pytest.param("r", Edit(start=1, end=2, new_text="eturn 1;"), id="one letter"),
        pytest.param("return", Edit(start=6, end=7, new_text=" 1;"), id="a word"),
        pytest.param("return 1", Edit(start=8, end=9, new_text=";"), id="all but the end"),
        pytest.param("return 1;", Edit(start=9, end=10, new_text=""), id="all of it"),
        pytest.param("x", None, id="something else"),
        pytest.param("return 1;x", None, id="more than it says"),
    ],
)
def test_typing_what_is_suggested(typed: str, expected: Edit | None) -> None:
    edit = Edit(start=0, end=1, new_text="return 1;")
    assert after_typing(edit, typed, len(typed)) == expected


def test_all_typed_and_nothing_to_replace() -> None:
    assert after_typing(Edit(start=0, end=0, new_text="ab"), "ab", 2) is None


def test_a_new_line_typed_in_a_file_of_carriage_returns() -> None:
    edit = Edit(start=3, end=3, new_text="\n  a")
    assert after_typing(edit, "\r\n  ", 7) == Edit(start=7, end=7, new_text="a")
