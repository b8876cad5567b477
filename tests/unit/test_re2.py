r"""Regular expressions as RE2 reads them. What is expected here is what RE2 itself said."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_completions.re2 import Flaw, Pattern

REPOSITORIES = "github.com/org/a", "github.com/org/b", "gitlab.com/x", "host/github.com/org/a"


@pytest.mark.parametrize(
    ("pattern", "found", "not_found"),
    [
        pytest.param("", ["", "a"], [], id="nothing is in everything"),
        pytest.param("org", ["github.com/org/a"], ["github.com/ORG/a"], id="anywhere"),
        pytest.param(
            r"^github\.com/org/", REPOSITORIES[:2], REPOSITORIES[2:], id="at the beginning"
        ),
        pytest.param(r".*/a$", ["x/a"], ["x/ab", "x/a\n"], id="at the very end"),
        pytest.param(r"a\z", ["a"], ["a\n"], id="z is the end"),
        pytest.param("(?m)a$", ["a\n"], ["ab"], id="a line's end"),
        pytest.param("(?m)^b", ["a\nb"], ["ab"], id="a line's beginning"),
        pytest.param(r"(?m)\Ab", ["b\na"], ["a\nb"], id="the text's beginning"),
        pytest.param("a.b", ["a-b", "aéb"], ["a\nb"], id="a dot takes no line end"),
        pytest.param("(?s)a.b", ["a\nb"], ["ab"], id="a dot that does"),
        pytest.param("a(?i)b", ["ab", "aB"], ["Ab"], id="in any case from there on"),
        pytest.param("(?i:a)b", ["Ab"], ["AB"], id="in any case in a group"),
        pytest.param("(?i)a(?-i)b", ["Ab"], ["aB"], id="case counts again"),
        pytest.param("((?i)a)b", ["Ab"], ["aB"], id="a switch ends with its group"),
        pytest.param("(?i)k[s]", ["\u212a\u017f"], ["kß"], id="letters that look like others"),
        pytest.param("(?i)σ", ["Σ", "ς"], ["s"], id="more than two cases"),
        pytest.param("(?i)i", ["I"], ["\u0130", "\u0131"], id="no Turkish"),
        pytest.param("(?i)[^a]", ["b"], ["A"], id="none of a set in any case"),
        pytest.param("(?U)a+", ["a"], ["b"], id="preferring short matches"),
        pytest.param("a+?b", ["aab"], ["b"], id="as few as possible"),
        pytest.param("(cat|dog)s?", ["cat", "dogs"], ["cow"], id="alternatives"),
        pytest.param("^(|a)$", ["", "a"], ["b"], id="nothing or something"),
        pytest.param("^(?:a|b)+$", ["abba"], ["", "abc"], id="a group that is not kept"),
        pytest.param("^(?P<n>a)(?<m>b)$", ["ab"], ["a"], id="names for groups"),
        pytest.param("^a{2}$", ["aa"], ["a", "aaa"], id="so often"),
        pytest.param("^a{2,}$", ["aa", "aaaa"], ["a"], id="at least so often"),
        pytest.param("^a{1,2}$", ["a", "aa"], ["", "aaa"], id="between"),
        pytest.param("^a{0}b$", ["b"], ["ab"], id="never"),
        pytest.param("a{,2}", ["a{,2}"], ["a", "aa"], id="no number is no repetition"),
        pytest.param("a{x}{", ["a{x}{"], ["a"], id="braces"),
        pytest.param(r"\d\D", ["1a"], ["11", "\u0661a"], id="digits are ASCII"),
        pytest.param(r"^\w+$", ["a_1"], ["é", "a-b"], id="words are ASCII"),
        pytest.param(r"\s", [" ", "\n"], ["\v", "\u00a0"], id="blanks are five"),
        pytest.param(r"\ba\b", ["-a-"], ["éa1"], id="the edge of a word"),
        pytest.param(r"a\B", ["ab"], ["a"], id="no edge of a word"),
        pytest.param(r"^\pL\p{Nd}\PN$", ["é1x"], ["111"], id="categories"),
        pytest.param(r"\p{^Lu}", ["a"], ["A"], id="all but a category"),
        pytest.param("^[[:alpha:]][[:^digit:]]$", ["ab"], ["a1", "éa"], id="named sets"),
        pytest.param("^[]a]+$", ["]a"], ["b"], id="a bracket first in a set"),
        pytest.param("^[a-c-]+$", ["a-c"], ["d"], id="a dash last in a set"),
        pytest.param(r"^[\w.-]+$", ["a.b-c"], ["a/b"], id="a class in a set"),
        pytest.param(r"^[^\d/]+$", ["ab"], ["1", "/"], id="not a class in a set"),
        pytest.param("[:a]", [":", "a"], ["b"], id="a colon in a set"),
        pytest.param(r"\Qa.b*\E+", ["a.b*", "a.b**"], ["acb"], id="as it stands"),
        pytest.param(r"\Qa", ["a"], ["Q"], id="as it stands up to the end"),
        pytest.param(r"\x41\x{e9}\101\0", ["AéA\0"], ["A"], id="by number"),
        pytest.param(r"\.\/\-\_\&", ["./-_&"], ["a"], id="signs"),
        pytest.param(r"\t\n\v\f\r\a", ["\t\n\v\f\r\a"], [""], id="controls"),
        pytest.param("^*a", ["ba"], ["b"], id="a repeated beginning"),
        pytest.param("(?:)*a", ["a"], ["b"], id="a repeated nothing"),
        pytest.param("(a*)*$", ["b"], [], id="repetitions of repetitions"),
    ],
)
def test_found(pattern: str, found: list[str], not_found: list[str]) -> None:
    known = Pattern(pattern)
    assert [text for text in found if not known.occurs_in(text)] == []
    assert [text for text in not_found if known.occurs_in(text)] == []


@pytest.mark.parametrize(
    "pattern",
    r"""
    ( ) (a a) [ [a [^ [] *a +a ?a a** a+* a{2}{3} a{1001} a{2,1} (a{100}){100} a|*b (*a)
    \ a\ \Z \8 \1 \xg \x{110000} \x{} \C \G \K \y \pX \p{Greek} \p{L [b-a] [a-\d] [[:foo:]] [\b]
    (?=a) (?!a) (?<=a) (?<!a) (?>a) (?#a) (?P=n) (?x)a (?a (?i-) (?P<1-2>a) (?P<n>a)(?P<n>b) a++
    (?i)*
    """.split(),
)
def test_what_cannot_be_read_is_no_pattern(pattern: str) -> None:
    with pytest.raises(Flaw) as caught:
        Pattern(pattern)
    assert str(caught.value)


def test_no_pattern_takes_long() -> None:
    assert not Pattern("(?:a*)*(a|a)*(a+)+(a+)+$").occurs_in("a" * 300 + "b")
    assert Pattern("^(?:a?){300}a{300}$").occurs_in("a" * 300)


def test_no_pattern_takes_much_room() -> None:
    for pattern in ("(?:(?:a{99}){99}){99}", "(" * 1000 + ")" * 1000, "a" * 100_000):
        with pytest.raises(Flaw):
            Pattern(pattern)


@given(st.text(max_size=10), st.text(alphabet=r"ab\pLQE[]^-$.*+?{},1()|:<>=!ims", max_size=12))
def test_any_text_is_a_pattern_or_none(text: str, pattern: str) -> None:
    for each in (text, pattern):
        with contextlib.suppress(Flaw):
            Pattern(each).occurs_in(text)
