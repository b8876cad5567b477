"""What must come out, in every shape of client, with every line end, however the stream is cut."""

import random
import re
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tests.e2e.test_completions import INLINE, MENU, Editor, running_editor
from tests.support.clients import SHAPES, Shape
from tests.support.cursor import cursor
from tests.support.extra import extra_cases
from tests.support.sourcegraph import CUT, Gate

# Every document begins with it: letters that other encodings count otherwise.
HEAD = "é😀𝒰 e\u0301\n"
LONG = " + ".join(f"name_{number}" for number in range(30))
ROWS = [
    pytest.param("python", "𝒰 = <cursor>\n", "set()", "𝒰 = set()\n", id="beyond the first plane"),
    pytest.param(
        "python", "s = '👨‍👧' + <cursor>\n", "'🏳️‍🌈'", "s = '👨‍👧' + '🏳️‍🌈'\n", id="joined emoji"
    ),
    pytest.param(
        "go", "été(<cursor>)\n", "œuvre, ß)", "été(œuvre, ß)\n", id="letters with accents"
    ),
    pytest.param("python", "x = <cursor>", "1", "x = 1", id="no line end at the end"),
    pytest.param(
        "python",
        f"x = '{'é' * 1700}' + <cursor>\n",
        LONG,
        f"x = '{'é' * 1700}' + {LONG}\n",
        id="a long line",
    ),
    pytest.param(
        "python",
        "a = first()\n<cursor>\nend()\n",
        "a = first()\nb = second()\n",
        "a = first()\nb = second()\nend()\n",
        id="the line above once more",
    ),
    pytest.param(
        "python",
        "a\x0cb\u2028c\x0b\x85\u2029\x1c\nx = <cursor>\n",
        "1",
        "a\x0cb\u2028c\x0b\x85\u2029\x1c\nx = 1\n",
        id="separators that end no line",
    ),
    pytest.param("lisp", "(dis<cursor>)\n", "play", "(display)\n", id="the rest of a word"),
    pytest.param(
        "lisp", "(dis<cursor>)\n", "display)", "(display)\n", id="the word from its start"
    ),
    pytest.param("typescript", "if<cursor>\n", " (a) {", "if (a) {\n", id="after a keyword"),
    pytest.param(
        "css", "margin-<cursor>\n", "top: 0;", "margin-top: 0;\n", id="a word with a hyphen"
    ),
    pytest.param(
        "python",
        "def f():<cursor>\n",
        "\n    return 1",
        "def f():\n    return 1\n",
        id="begins with a new line",
    ),
    pytest.param(
        "python",
        "def f():\n    <cursor>\n",
        "\n\n    return 1",
        "def f():\n    return 1\n",
        id="begins with blank lines",
    ),
    pytest.param(
        "python", "a = 1\n<cursor>", "b = 2\nc = 3\n", "a = 1\nb = 2\nc = 3", id="two lines"
    ),
    pytest.param(
        "rust",
        "let a = 1;\n<cursor>\nlet ctl = Ctl::new();\n",
        "let b = 2;\nlet ctl = Ctl::new();",
        "let a = 1;\nlet b = 2;\nlet ctl = Ctl::new();\n",
        id="the next line once more",
    ),
    pytest.param(
        "java",
        "void f() {\n    <cursor>\n\n}\n",
        "go();\n}",
        "void f() {\n    go();\n\n}\n",
        id="the brace below",
    ),
    pytest.param(
        "lua",
        "if a then\n\t<cursor>\nend\n",
        "go()\nend\n",
        "if a then\n\tgo()\nend\n",
        id="the word below that closes",
    ),
    pytest.param("c", "puts(<cursor>);\n", '"hi");', 'puts("hi");\n', id="all of the rest"),
    pytest.param("php", "f($a, <cursor>);\n", "$b)", "f($a, $b);\n", id="some of the rest"),
    pytest.param("ruby", 'puts "hi<cursor>"\n', ' there"', 'puts "hi there"\n', id="a quote"),
    pytest.param(
        "rust", "let c = '<cursor>';\n", "x'", "let c = 'x';\n", id="a quote of one letter"
    ),
    pytest.param(
        "csharp", "for (;; <cursor>)\n", "i++) {", "for (;; i++) {\n", id="on beyond the rest"
    ),
    pytest.param("json", '{"a": [<cursor>]}\n', "1, 2]}", '{"a": [1, 2]}\n', id="two closers"),
    pytest.param("typescript", "v = `${<cursor>}`\n", "a}`", "v = `${a}`\n", id="a template"),
    pytest.param(
        "kotlin", "val x = <cursor>;\n", "f();", "val x = f();\n", id="the editor's own `;`"
    ),
    pytest.param(
        "shellscript", "echo <cursor>\n", '$$ "${a}" \\$b', 'echo $$ "${a}" \\$b\n', id="dollars"
    ),
    pytest.param(
        "go", "func f() {\n\t<cursor>\n}\n", " return", "func f() {\n\treturn\n}\n", id="a space"
    ),
    pytest.param(
        "go",
        "func f() {\n\t<cursor>\n}\n",
        "if y {\n\t    b()\n\t}\n}\n",
        "func f() {\n\tif y {\n\t    b()\n\t}\n}\n",
        id="tabs and then spaces",
    ),
    pytest.param(
        "java",
        "void f() {\n\tif (x) {\n\t\t<cursor>\n\t}\n}\n",
        "a();\n        if (y) {\n            b();\n        }",
        "void f() {\n\tif (x) {\n\t\ta();\n\t\tif (y) {\n\t\t\tb();\n\t\t}\n\t}\n}\n",
        id="spaces where tabs are used",
    ),
    pytest.param(
        "python",
        "class A:\n    def f(self):\n        if <cursor>\n",
        "        if self.x:\n            go()",
        "class A:\n    def f(self):\n        if self.x:\n            go()\n",
        id="the line once more",
    ),
    pytest.param(
        "scheme",
        "(let ((s a))\n  <cursor>",
        "  (print s))",
        "(let ((s a))\n  (print s))",
        id="its indentation once more",
    ),
    pytest.param(
        "css",
        "@media x {\n  a { top: 0 }\n  <cursor>\n}\n",
        "b {\n    top: 0;\n}",
        "@media x {\n  a { top: 0 }\n  b {\n    top: 0;\n  }\n}\n",
        id="from column 0",
    ),
    pytest.param(
        "python", "x = <cursor>\n", "1<|endoftext|>y = 2", "x = 1\n", id="a special token"
    ),
    pytest.param(
        "python", "f(<cursor>)\n", "1 <EOT>", "f(1)\n", id="a special token with its space"
    ),
    pytest.param("python", "<cursor>", "```python\nx = 1\n```\nSo.", "x = 1", id="a fence"),
    pytest.param(
        "yaml",
        "a:\n  <cursor>",
        "- alpha one\n  - beta two\n" + "  - alpha one\n  - beta two\n" * 9,
        "a:\n  - alpha one\n  - beta two",
        id="round in circles",
    ),
    pytest.param(
        "python", "x = <cursor>\n", "a\ufeff\u2028\x85b", "x = a\ufeff\u2028\x85b\n", id="odd text"
    ),
]


@pytest.fixture(scope="module", params=SHAPES)
def at_work(request: pytest.FixtureRequest) -> Iterator[tuple[Shape, Editor]]:
    shape = SHAPES[request.param]
    for editor in running_editor(shape.capabilities, **shape.params):
        # The very first request may take longer than a menu waits.
        editor.says("1")
        editor.client.result(INLINE, editor.open("x = <cursor>\n"))
        yield shape, editor


NAMES = count(1)


def opened(shape: Shape, editor: Editor, drawn: str, language: str) -> dict[str, Any]:
    """Open a document; the params of a request at its cursor."""
    text, offset = cursor(drawn)
    uri = f"file:///w/every{next(NAMES)}.x"
    document = {"uri": uri, "languageId": language, "version": 1, "text": text}
    editor.client.notify("textDocument/didOpen", {"textDocument": document})
    return {
        "textDocument": {"uri": uri},
        "position": shape.place_of(text, offset),
        "context": {"triggerKind": 1},
    }


def seen(shape: Shape, editor: Editor, method: str, drawn: str, language: str) -> str:
    """The document once all of the answer's first item is accepted."""
    at = opened(shape, editor, drawn, language)
    items = editor.client.result(method, at)["items"]
    editor.client.notify("textDocument/didClose", {"textDocument": at["textDocument"]})
    assert len(items) <= 1
    return shape.accepted(drawn, items[0]) if items else cursor(drawn)[0]


@pytest.mark.parametrize(("language", "drawn", "said", "expected"), ROWS)
def test_the_same_text_comes_out_everywhere(
    at_work: tuple[Shape, Editor], language: str, drawn: str, said: str, expected: str
) -> None:
    shape, editor = at_work
    chance = random.Random(drawn + said + shape.encoding)
    for method in (INLINE, MENU) if shape.inline else (MENU,):
        eol, size = chance.choice(("\n", "\r\n", "\r")), chance.choice((1, 2, 5, 1000))
        words = said.replace("\n", chance.choice(("\n", "\r\n")))
        pieces = [words[at : at + size] for at in range(0, len(words), size)]
        editor.says(*pieces, chunk_bytes=chance.choice((None, 3)))
        result = seen(shape, editor, method, (HEAD + drawn).replace("\n", eol), language)
        assert result == (HEAD + expected).replace("\n", eol), (method, eol, size)


def test_what_users_reported_does_not_happen(at_work: tuple[Shape, Editor]) -> None:
    shape, editor = at_work
    tried = 0
    for row in extra_cases("cases/reported_faults.jsonl"):
        check = row["check"]
        drawn = str(check["doc"]).replace("█", "<cursor>")
        if row["kind"][:2] not in ("01", "02", "03", "09") or "<cursor>" not in drawn:
            continue
        for said in mocks(check["mock"]):
            for method in (INLINE, MENU) if shape.inline else (MENU,):
                editor.says(*said)
                result = seen(shape, editor, method, drawn, language_of(drawn))
                obeys(drawn, result, row["id"])
                for text in applied(check["expect"]):
                    assert text in result, row["id"]
                tried += 1
    assert tried


def mocks(mock: str) -> list[str]:
    """What the model says; a row may list several."""
    several = re.findall(r"(?:^|/ |[A-Z]: )'((?:[^'\\]|\\.)*)'(?= /| ;|$)", mock)
    return several or [mock.replace("…", "")]


def applied(expect: str) -> list[str]:
    """The texts that a row names word for word."""
    found = re.findall(r"(?<!either )insertText '([^']*)'", expect)
    found += re.findall(r"^applied: ([^';—]*?)\s*(?:;|—|$)", expect)
    return [text.replace("\\n", "\n").replace("\\t", "\t") for text in found]


def obeys(drawn: str, result: str, id: str) -> None:
    """The law, as far as it is seen in the text alone."""
    before, after = drawn.split("<cursor>")
    rest, *below = re.split(r"\r\n|\r|\n", after)
    line_end = after[len(rest) :]
    above = before[: len(before) - len(re.split(r"\r\n|\r|\n", before)[-1])]
    assert result.startswith(above), id
    assert result.endswith(line_end), id
    new = result[len(above) : len(result) - len(line_end)]
    next_line = next((line.strip() for line in below if line.strip()), "")
    if len(next_line) > 1:
        assert not new.rstrip().endswith(next_line), id
    if rest.strip():
        assert not new.rstrip().endswith(rest.strip() * 2), id


def language_of(drawn: str) -> str:
    if re.search(r"def |^# |if x:|^[a-z] = ", drawn):
        return "python"
    if drawn.startswith("("):
        return "lisp"
    return "go" if "func " in drawn else "typescript"


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_a_place_that_is_none_is_the_nearest_that_is_one(
    at_work: tuple[Shape, Editor], eol: str
) -> None:
    shape, editor = at_work
    editor.says("x")
    text = f"é = 𝒰{eol}b = {eol}"
    at = opened(shape, editor, f"{text}<cursor>", "python")
    method = INLINE if shape.inline else MENU
    for place, line, end in (
        ({"line": 0, "character": 11}, 0, shape.units("é = 𝒰")),
        ({"line": 0, "character": 2**31 - 1}, 0, shape.units("é = 𝒰")),
        ({"line": 1, "character": 99}, 1, 4),
        ({"line": 99, "character": 0}, 2, 0),
        ({"line": 2**31 - 1, "character": 2**31 - 1}, 2, 0),
    ):
        answer = editor.client.request(method, {**at, "position": place})
        for item in answer["result"]["items"]:
            found = (item.get("textEdit") or item)["range"]["end"]
            assert found == {"line": line, "character": end}


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [
        pytest.param((0, 1), (1, 1), "", id="the last line"),
        pytest.param((0, 0), (1, 1), "", id="everything"),
        pytest.param((1, 0), (1, 1), "", id="the word"),
        pytest.param((0, 0), (1, 0), "", id="the line above"),
        pytest.param((1, 0), (1, 0), "z\n", id="nothing, but a line came"),
        pytest.param(None, None, "q\n", id="everything, told as a whole"),
    ],
)
def test_what_is_deleted_while_an_answer_is_awaited_is_no_place_for_it(
    at_work: tuple[Shape, Editor],
    start: tuple[int, int] | None,
    end: tuple[int, int] | None,
    text: str,
) -> None:
    shape, editor = at_work
    gate = Gate()
    editor.says(gate, "c")
    at = opened(shape, editor, "a\nb<cursor>", "python")
    before = editor.asked
    method = INLINE if shape.inline else MENU
    request = editor.client.send(method, at)
    editor.instance.wait_until(lambda: editor.asked == before + 1)
    change: dict[str, Any] = {"text": text}
    if start is not None and end is not None:
        places = [dict(zip(("line", "character"), place, strict=True)) for place in (start, end)]
        change["range"] = {"start": places[0], "end": places[1]}
    document = {**at["textDocument"], "version": 2}
    changed = {"textDocument": document, "contentChanges": [change]}
    editor.client.notify("textDocument/didChange", changed)
    editor.client.settle()
    gate.open()
    answer = editor.client.take(request)
    lines = "a\nb".split("\n")
    if start is None or end is None:
        after = text
    else:
        head = "\n".join([*lines[: start[0]], lines[start[0]][: start[1]]])
        after = head + text + lines[end[0]][end[1] :]
    for item in (answer.get("result") or {"items": []})["items"]:
        # Only where the very same line has moved is there anything left to say.
        drawn = after.replace("b", "b<cursor>")
        assert shape.accepted(drawn, item) == after.replace("b", "bc")


DELTA = 'event: completion\ndata: {"deltaText":"%s"}\n\n'
STREAMS = [
    pytest.param((DELTA % "é\u2028\u2029\x85b").encode(), "é\u2028\u2029\x85b", id="odd line ends"),
    pytest.param(
        b": ping\n\n" + (DELTA % "a").encode() + b":\n: ping\n\n" + (DELTA % "b").encode() + b":",
        "ab",
        id="comments before, between and after",
    ),
    pytest.param(b"\xef\xbb\xbf" + (DELTA % "é").encode(), "é", id="a byte order mark"),
    pytest.param((DELTA % "é" * 3).replace("\n", "\r\n").encode(), "ééé", id="CRLF"),
    pytest.param((DELTA % "😀" * 3).replace("\n", "\r").encode(), "😀😀😀", id="CR"),
    pytest.param(
        b"id: 1\nretry: 10\n" + (DELTA % "a").encode().replace(b": ", b":"), "a", id="other fields"
    ),
    pytest.param(
        b'event: completion\ndata: {"deltaText":\ndata: "a"}\n\n', "a", id="data over two lines"
    ),
    pytest.param(
        b'event: completion\ndata: {"deltaText":"a\\ud83d\\ude00"}\n\n', "a😀", id="escapes"
    ),
    pytest.param(
        (DELTA % "1<|endo" + DELTA % "ftext|>z").encode(), "1", id="a token in two events"
    ),
    pytest.param((DELTA % "a").encode() + b"event: news\ndata: {}\n\n", "a", id="a new event"),
]


@pytest.mark.parametrize(("body", "expected"), STREAMS)
def test_a_stream_says_the_same_however_it_is_cut(
    at_work: tuple[Shape, Editor], body: bytes, expected: str
) -> None:
    shape, editor = at_work
    method = INLINE if shape.inline else MENU
    sides = range(1, len(body), 2) if shape is SHAPES["Neovim"] else (len(body) // 2,)
    drawn = "x = <cursor>\n"
    for cut in sides:
        editor.says(body, split_at=(cut,), content_type="text/event-stream; charset=iso-8859-1")
        assert seen(shape, editor, method, drawn, "python") == f"x = {expected}\n", cut
    editor.says(body, chunk_bytes=1)
    assert seen(shape, editor, method, drawn, "python") == f"x = {expected}\n"


@pytest.mark.parametrize(
    ("drawn", "said", "expected"),
    [
        pytest.param(
            "def f():\n    <cursor>\n",
            ["return compute_", "the_res"],
            "",
            id="within the only line",
        ),
        pytest.param(
            "def f():<cursor>\n", ["\n    a = 1\n    b", " = "], "\n    a = 1", id="within a block"
        ),
    ],
)
def test_what_a_broken_stream_has_said_is_not_remembered_as_all_there_is(
    at_work: tuple[Shape, Editor], drawn: str, said: list[str], expected: str
) -> None:
    shape, editor = at_work
    method = INLINE if shape.inline else MENU
    at = opened(shape, editor, drawn, "python")
    editor.says(*said, CUT, "never said")
    items = editor.client.result(method, at)["items"]
    result = shape.accepted(drawn, items[0]) if items else cursor(drawn)[0]
    assert result == drawn.replace("<cursor>", expected)
    whole = "".join(said) + "ult\n"
    editor.says(whole)
    at["context"] = {"triggerKind": 1 if method is MENU else 0}
    items = editor.client.result(method, at)["items"]
    result = shape.accepted(drawn, items[0])
    # Whole lines that were shown stay as they were until they are accepted.
    assert result == drawn.replace("<cursor>", expected or whole.rstrip())
