"""The code in what models that chat say, however the reply is cut into pieces."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_completions.pipeline.chats import CURSOR, REPLY, family_for
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.edit import edit_for
from lsp_completions.pipeline.postprocess import finish
from lsp_completions.pipeline.replies import ReplyReader
from lsp_completions.pipeline.stream import Candidate, Chunk, Collector
from lsp_completions.pipeline.templates import ReplyForm
from lsp_completions.pipeline.trigger import mode_for
from tests.support.cursor import apply, context_of, cursor

ASKED = REPLY
BEGUN = family_for("claude-3-haiku").reply
OPEN, CLOSE = REPLY.opening, REPLY.closing
RETURN = "def add(a, b):\n    return <cursor>\n\nadd(1, 2)\n"
BODY = "def add(a, b):\n    <cursor>\n\nadd(1, 2)\n"


def read(form: ReplyForm | None, context: CursorContext, pieces: Iterable[str]) -> str:
    assert form is not None
    reader = ReplyReader(form, context)
    return "".join([*map(reader.feed, pieces), reader.end()])


def candidate_of(context: CursorContext, model: str, pieces: Iterable[str]) -> Candidate | None:
    family = family_for(model)
    code = "".join(pieces) if family.reply is None else read(family.reply, context, pieces)
    collector = Collector(context, mode_for(context), markers=family.special_tokens)
    return collector.feed(Chunk(text=code)) or collector.end()


def accepted(drawn: str, said: str, model: str, language: str = "python") -> str:
    """The document after the suggestion; the same however the reply was cut."""
    context = context_of(drawn, language)
    candidate = candidate_of(context, model, [said])
    for size in (1, 2, 3, 7):
        pieces = [said[at : at + size] for at in range(0, len(said), size)]
        assert candidate_of(context, model, pieces) == candidate
    text = finish(candidate.text, context, mode_for(context)) if candidate is not None else ""
    return apply(cursor(drawn)[0], edit_for(text, context) if text else None)


SUM = "def add(a, b):\n    return a + b\n\nadd(1, 2)\n"


@pytest.mark.parametrize("model", ["gpt-4o", "claude-opus-4-6", "gemini-2.5-pro", "kimi-k2"])
@pytest.mark.parametrize(
    ("drawn", "said"),
    [
        pytest.param(RETURN, f"{OPEN}a + b{CLOSE}", id="as it was asked for"),
        pytest.param(RETURN, f"{OPEN}a + b", id="stopped at the closing tag"),
        pytest.param(RETURN, f"{OPEN}a + b{CLOSE}\nThis adds the two.", id="a word after it"),
        pytest.param(RETURN, f"Here it is: {OPEN}a + b{CLOSE}", id="a word before it"),
        pytest.param(
            RETURN, f"I would add them up\n\n{OPEN}a + b{CLOSE}", id="a thought before it"
        ),
        pytest.param(RETURN, f"<think>\nHm, {OPEN}no\n</think>\n{OPEN}a + b{CLOSE}", id="thoughts"),
        pytest.param(RETURN, f"{OPEN}\na + b\n{CLOSE}", id="tags on lines of their own"),
        pytest.param(RETURN, f"{OPEN}\r\na + b\r\n{CLOSE}", id="carriage returns"),
        pytest.param(RETURN, f"{OPEN} a + b{CLOSE}", id="the space said again"),
        pytest.param(RETURN, "a + b", id="no tags"),
        pytest.param(RETURN, f"a + b{CLOSE}", id="a closing tag alone"),
        pytest.param(RETURN, "```python\na + b\n```", id="a fence"),
        pytest.param(RETURN, "```\na + b\n```\nThat is all.", id="a fence and a word"),
        pytest.param(
            RETURN, "Here is the code:\n\n```python\na + b\n```", id="a sentence, a fence"
        ),
        pytest.param(RETURN, "You want the sum\n```python\na + b\n```", id="another sentence"),
        pytest.param(RETURN, f"{OPEN}\n```python\na + b\n```\n{CLOSE}", id="a fence in tags"),
        pytest.param(RETURN, f"```python\n{OPEN}a + b{CLOSE}\n```", id="tags in a fence"),
        pytest.param(RETURN, f"{OPEN}return a + b{CLOSE}", id="the line said again"),
        pytest.param(RETURN, f"{OPEN}    return a + b{CLOSE}", id="with its indentation"),
        pytest.param(RETURN, f"{OPEN}\n    return a + b\n{CLOSE}", id="on a line of its own"),
        pytest.param(RETURN, f"{OPEN}def add(a, b):\n    return a + b{CLOSE}", id="lines again"),
        pytest.param(
            RETURN, "```python\ndef add(a, b):\n    return a + b\n```", id="fenced, again"
        ),
        pytest.param(RETURN, f"{OPEN}return {CURSOR}a + b{CLOSE}", id="the mark said again"),
        pytest.param(RETURN, f"{OPEN}a + b{CURSOR}{CLOSE}", id="the mark after it"),
        pytest.param(RETURN, f"{OPEN}a + b\n\nadd(1, 2)\n{CLOSE}", id="what follows said again"),
        pytest.param(RETURN, f"{OPEN}a + b</missing", id="cut off in a tag"),
        pytest.param(BODY, f"{OPEN}return a + b{CLOSE}", id="a blank line"),
        pytest.param(BODY, f"{OPEN}    return a + b{CLOSE}", id="a blank line, indented"),
        pytest.param(BODY, f"{OPEN}\n    return a + b\n{CLOSE}", id="a blank line, after another"),
        pytest.param(BODY, f"{OPEN}def add(a, b):\n    return a + b{CLOSE}", id="its header again"),
        pytest.param(BODY, f"{OPEN}def add(a, b):\n    {CURSOR}return a + b", id="with the mark"),
        pytest.param(
            "def add(a, b):<cursor>\n\nadd(1, 2)\n",
            f"{OPEN}\n    return a + b{CLOSE}",
            id="a new line",
        ),
        pytest.param(
            "def add(a, b):\n    ret<cursor>\n\nadd(1, 2)\n",
            f"{OPEN}return a + b{CLOSE}",
            id="half a word said in full",
        ),
    ],
)
def test_a_reply(model: str, drawn: str, said: str) -> None:
    assert accepted(drawn, said, model) == SUM


@pytest.mark.parametrize(
    ("drawn", "said"),
    [
        pytest.param(RETURN, f" a + b\n{CLOSE}", id="goes on with the space"),
        pytest.param(RETURN, "a + b", id="goes on without it"),
        pytest.param(RETURN, f"\na + b{CLOSE}", id="a line break before it"),
        pytest.param(RETURN, f"{OPEN}a + b{CLOSE}", id="the tag said again"),
        pytest.param(RETURN, f"{OPEN}return a + b{CLOSE}", id="the tag and the line said again"),
        pytest.param(RETURN, f"return a + b{CLOSE}", id="the line said again"),
        pytest.param(BODY, f"return a + b{CLOSE}", id="a blank line"),
        pytest.param(BODY, f"\n    return a + b\n{CLOSE}", id="a blank line, after another"),
        pytest.param(
            "def add(a, b):<cursor>\n\nadd(1, 2)\n", f"\n    return a + b\n{CLOSE}", id="a new line"
        ),
        pytest.param(
            "def add(a, b):\n    ret<cursor>\n\nadd(1, 2)\n", f"urn a + b{CLOSE}", id="half a word"
        ),
    ],
)
def test_a_reply_that_was_begun(drawn: str, said: str) -> None:
    assert accepted(drawn, said, "claude-haiku-4-5") == SUM


@pytest.mark.parametrize("model", ["gpt-4o", "claude-haiku-4-5"])
@pytest.mark.parametrize(
    ("said", "language"),
    [
        pytest.param(f"{OPEN}{CLOSE}", "python", id="nothing is missing"),
        pytest.param(f"{OPEN}\n{CLOSE}", "python", id="nothing on a line"),
        pytest.param("<think>\nWhat would they", "python", id="thoughts without an end"),
        pytest.param("", "python", id="nothing at all"),
        pytest.param("Sure! I need to see more of the file.", "python", id="a sentence"),
    ],
)
def test_a_reply_without_code(said: str, language: str, model: str) -> None:
    document = RETURN.replace("<cursor>", "")
    assert accepted(RETURN, said, model, language) == document


@pytest.mark.parametrize(
    ("drawn", "said", "expected"),
    [
        pytest.param("f(<cursor>)\n", f"{OPEN}\n1\n{CLOSE}", "f(1)\n", id="within brackets"),
        pytest.param(
            "f {<cursor>}\n", f"{OPEN}\n  a();\n{CLOSE}", "f {\n  a();\n}\n", id="a block is opened"
        ),
        pytest.param(
            "x = f(<cursor>\n", f"{OPEN}\na)\n{CLOSE}", "x = f(a)\n", id="on its own line"
        ),
        pytest.param("x =<cursor>\n", f"{OPEN}\n 1\n{CLOSE}", "x = 1\n", id="with its space"),
        pytest.param("fo<cursor>\n", f"{OPEN}\no(1)\n{CLOSE}", "foo(1)\n", id="half a word"),
        pytest.param("fo<cursor>\n", f"{OPEN}\no(1)\n", "foo(1)\n", id="half a word, stopped"),
        pytest.param("a();<cursor>\n", f"{OPEN}\nb();{CLOSE}", "a();\nb();\n", id="a new line"),
        pytest.param("a();<cursor>", f"{OPEN}\n\nb();\n{CLOSE}", "a();\nb();", id="another"),
        pytest.param(
            "f {<cursor>\n", f"{OPEN}\n  a();\n}}\n{CLOSE}", "f {\n  a();\n}\n", id="a block"
        ),
        pytest.param("x = y<cursor>\n", f"{OPEN} < z{CLOSE}", "x = y < z\n", id="less than"),
        pytest.param("x = y<cursor>\n", f"{OPEN} </", "x = y </\n", id="the start of some tag"),
        pytest.param("a\nb\n<cursor>", f"{OPEN}a{CLOSE}", "a\nb\na", id="short lines may repeat"),
        pytest.param(
            "x.push(1);\n<cursor>",
            f"{OPEN}\ty.push(1);{CLOSE}",
            "x.push(1);\ny.push(1);",
            id="like",
        ),
    ],
)
def test_a_reply_in_javascript(drawn: str, said: str, expected: str) -> None:
    result = accepted(drawn, said, "gpt-4o", "javascript")
    assert result.replace("\t", "") == expected


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(f"a {OPEN}b{CLOSE} c", id="our tags"),
        pytest.param(f"'{CURSOR}'", id="our mark"),
        pytest.param("x = 1", id="the line said again"),
        pytest.param("y </", id="the start of a tag"),
    ],
)
@pytest.mark.parametrize("model", ["deepseek-coder", "smollm2"])
def test_what_continues_text_may_say_all_that(said: str, model: str) -> None:
    context = context_of("x = <cursor>\n")
    assert candidate_of(context, model, [said]) == Candidate(text=said, complete=True)
    assert candidate_of(context, model, said) == Candidate(text=said, complete=True)


def test_the_reply_is_over_with_its_last_tag() -> None:
    reader = ReplyReader(ASKED, context_of(BODY))
    assert reader.feed(f"{OPEN}return a + b</missing-cod") == "return a + b"
    assert not reader.ended
    assert reader.feed("e>") == ""
    assert reader.ended


def test_a_reply_that_was_begun_is_shown_while_it_comes() -> None:
    assert BEGUN is not None
    assert ReplyReader(BEGUN, context_of("x = <cursor>\n")).feed("1\n") == "1\n"


def test_thoughts_are_not_followed_for_ever() -> None:
    reader = ReplyReader(ASKED, context_of(BODY))
    reader.feed("<think>" + "hm " * 10_000)
    assert reader.ended


# ---- any code, cut anywhere

# A document that no code repeats, and where white space at the start is meant.
NOTHING_BEFORE = context_of("<cursor>")
MARKDOWN = context_of("<cursor>", "markdown")
CODE = st.text(st.sampled_from("ab </>\n\t\r\"'`&<missing-code cursor-here=é🙂x.()[]")).filter(
    lambda code: not any(tag in code for tag in (OPEN, CLOSE, CURSOR))
)


def cut(data: st.DataObject, text: str) -> list[str]:
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=8).map(sorted))
    bounds = [0, *places, len(text)]
    return [text[a:b] for a, b in pairwise(bounds)]


@pytest.mark.parametrize("form", [ASKED, BEGUN], ids=["asked", "begun"])
@given(code=CODE, after=st.text(max_size=20), data=st.data())
def test_code_between_our_tags_comes_out_as_it_is(
    form: ReplyForm, code: str, after: str, data: st.DataObject
) -> None:
    pieces = cut(data, f"{OPEN}{code}{CLOSE}{after}")
    assert read(form, MARKDOWN, pieces) == code
    # In a fence the model shows code; only where text has fences they may be meant.
    if not code.lstrip().startswith("```"):
        assert read(form, NOTHING_BEFORE, pieces) == code


@pytest.mark.parametrize("form", [ASKED, BEGUN], ids=["asked", "begun"])
@given(code=CODE.filter(lambda code: "```" not in code), data=st.data())
def test_code_without_tags_comes_out_as_it_is(
    form: ReplyForm, code: str, data: st.DataObject
) -> None:
    assert read(form, NOTHING_BEFORE, cut(data, code)) == code


REPLIES = st.lists(
    st.sampled_from(
        [
            OPEN,
            CLOSE,
            CURSOR,
            "<think>",
            "</think>",
            "```",
            "```python\n",
            "\n",
            " ",
            "return ",
            "def add(a, b):\n",
            "    return ",
            "a + b",
            "Here is the code:\n",
            "<",
            "x",
        ]
    ),
    max_size=9,
).map("".join)


@pytest.mark.parametrize("model", ["gpt-4o", "claude-haiku-4-5"])
@pytest.mark.parametrize("drawn", [RETURN, BODY, "x = f(<cursor>)"])
@given(reply=REPLIES, data=st.data())
def test_any_reply_is_read_the_same_however_it_is_cut(
    model: str, drawn: str, reply: str, data: st.DataObject
) -> None:
    context = context_of(drawn)
    pieces = cut(data, reply)
    assert read(family_for(model).reply, context, pieces) == read(
        family_for(model).reply, context, [reply]
    )
    assert candidate_of(context, model, pieces) == candidate_of(context, model, [reply])
