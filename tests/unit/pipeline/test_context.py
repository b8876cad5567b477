import random
from itertools import pairwise

import pytest

from lsp_completions.pipeline.context import Windows, context_at
from lsp_completions.pipeline.document import Document
from tests.support.cursor import context_of


@pytest.mark.parametrize(
    ("text", "line_prefix", "line_suffix"),
    [
        pytest.param("a\nb<cursor>c\nd", "b", "c", id="inside a line"),
        pytest.param("<cursor>", "", "", id="empty document"),
        pytest.param("a\n<cursor>", "", "", id="empty last line"),
        pytest.param("a<cursor>\nb", "a", "", id="end of a line"),
        pytest.param("a\r\nb<cursor>c\r\nd", "b", "c", id="CRLF"),
        pytest.param("a\rb<cursor>c\rd", "b", "c", id="CR"),
        pytest.param("\ufeffa<cursor>b", "a", "b", id="byte order mark"),
        pytest.param("a\x0cb\x85c<cursor>\u2028d\ne", "a\x0cb\x85c", "\u2028d", id="no line ends"),
    ],
)
def test_the_line(text: str, line_prefix: str, line_suffix: str) -> None:
    context = context_of(text)
    assert (context.line_prefix, context.line_suffix) == (line_prefix, line_suffix)


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_line_ends_are_all_alike_and_the_own_is_remembered(eol: str) -> None:
    context = context_of(eol.join(["a", "b<cursor>c", "d", ""]))
    assert context.prefix == "a\nb"
    assert context.suffix == "c\nd\n"
    assert context.eol == eol
    assert context.offset == len(f"a{eol}b")


def test_the_byte_order_mark_is_not_shown_but_counts() -> None:
    context = context_of("\ufeff  a<cursor>")
    assert (context.prefix, context.indent, context.offset) == ("  a", "  ", 4)
    assert context_of("<cursor>\ufeffa").suffix == "a"


@pytest.mark.parametrize(
    ("text", "indent"),
    [
        pytest.param("    a<cursor>", "    ", id="before the cursor"),
        pytest.param("  <cursor>  a", "    ", id="the cursor inside"),
        pytest.param("\t <cursor>", "\t ", id="nothing else on the line"),
        pytest.param("a<cursor>", "", id="none"),
        pytest.param("\u00a0\u3000a<cursor>", "", id="other white space is text"),
        pytest.param("    " + "x" * 500 + "<cursor>", "    ", id="outside of the window"),
    ],
)
def test_indent(text: str, indent: str) -> None:
    assert context_of(text, prefix_chars=100, suffix_chars=100).indent == indent


@pytest.mark.parametrize(
    ("text", "language", "unit"),
    [
        pytest.param("if a:\n    b\n    <cursor>", "python", "    ", id="four"),
        pytest.param("if (a) {\n  b {\n    c\n  }\n}\n<cursor>", "javascript", "  ", id="two"),
        pytest.param("if a {\n\tb\n\t\tc\n}\n<cursor>", "rust", "\t", id="tabs"),
        pytest.param(
            "/**\n * a\n * b\n */\nf() {\n  a\n}\n<cursor>", "java", "  ", id="comment stars"
        ),
        pytest.param("f(a,\n            b)\nif c:\n   d\n<cursor>", "python", "   ", id="lined up"),
        pytest.param("a\n<cursor>", "python", "    ", id="not shown: the language's own"),
        pytest.param("a\n<cursor>", "go", "\t", id="not shown: a tab in Go"),
        pytest.param("a\n<cursor>", "typescript", "  ", id="not shown: two in TypeScript"),
        pytest.param("<cursor>\nif a:\n  b\n  c\n", "python", "  ", id="only shown below"),
    ],
)
def test_indent_unit(text: str, language: str, unit: str) -> None:
    assert context_of(text, language=language).indent_unit == unit


CODE = "".join(f"def f{n}(value):\n    return value + {n}\n\n" for n in range(500))


def test_windows_are_never_exceeded_and_nearly_used_up() -> None:
    random_places = random.Random(1).sample(range(len(CODE)), 300)
    for place in random_places:
        context = context_of(
            CODE[:place] + "<cursor>" + CODE[place:], prefix_chars=1000, suffix_chars=200
        )
        assert CODE[:place].endswith(context.prefix)
        assert CODE[place:].startswith(context.suffix)
        assert min(place, 625) <= len(context.prefix) <= 1000
        assert min(len(CODE) - place, 175) <= len(context.suffix) <= 200
        assert context.starts_at_top == (context.prefix == CODE[:place])
        assert context.ends_at_bottom == (context.suffix == CODE[place:])
        if not context.starts_at_top:
            assert CODE[place - len(context.prefix) - 1] == "\n"
        if not context.ends_at_bottom:
            assert context.suffix.endswith("\n")


def test_a_line_longer_than_the_windows_is_cut_inside() -> None:
    context = context_of("x" * 5000 + "<cursor>" + "y" * 5000, prefix_chars=400, suffix_chars=80)
    assert 300 <= len(context.prefix) <= 400
    assert context.prefix == context.line_prefix
    assert context.suffix == context.line_suffix == "y" * 80


def test_a_window_that_begins_between_cr_and_lf_begins_with_the_next_line() -> None:
    text = "\r\n" * 1000 + "ab"
    for size in range(8, 40):
        context = context_of(text + "<cursor>", prefix_chars=size, suffix_chars=size)
        # Two characters of the document are one here.
        assert len(context.prefix) <= 2 + size // 2
        assert context.prefix.endswith("\nab")


def test_empty_windows() -> None:
    context = context_of("a\nb<cursor>c\nd", prefix_chars=0, suffix_chars=0)
    assert (context.prefix, context.suffix) == ("", "")


def shared_start(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(CODE, id="short lines"),
        pytest.param("x = [" + "1, " * 20_000, id="one line without end"),
        pytest.param(CODE.replace("\n", "\r\n"), id="CRLF"),
    ],
)
def test_typing_keeps_the_start_of_the_prompt(before: str) -> None:
    windows = Windows(prefix_chars=4300, suffix_chars=716)
    typed = "result = compute(value)  # and so on\r\n    " * 5
    document = Document.open("file:///w/a.py", "python", 1, before + "\n\n" + CODE)
    at = len(before)
    prompts = [context_at(document, at, path="a.py", windows=windows).prefix]
    for key in typed[:200]:
        document = document.spliced(at, at, key, None)
        at += 1
        prompts.append(context_at(document, at, path="a.py", windows=windows).prefix)

    kept = [shared_start(one, other) / len(one) for one, other in pairwise(prompts)]
    assert sum(kept) / len(kept) >= 0.97
    assert sum(share < 0.99 for share in kept) <= 2


def test_the_start_also_survives_an_edit_far_below() -> None:
    before = context_of(CODE + "<cursor>" + CODE)
    after = context_of(CODE + "<cursor>" + CODE + "more")
    assert before.prefix == after.prefix
