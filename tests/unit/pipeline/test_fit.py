"""What the model says, and what the document holds once the suggestion is accepted."""

import pytest

from tests.support.pipeline import accepted

SAME_LINE = [
    pytest.param("print(<cursor>)", "x)", "print(x)", id="closing bracket kept once"),
    pytest.param("print(<cursor>)", "x", "print(x)", id="inserted before what it leaves out"),
    pytest.param("print(<cursor>)", "len(x)", "print(len(x))", id="a bracket of its own stays"),
    pytest.param("print(<cursor>)", "len(x))", "print(len(x))", id="its own bracket and the rest"),
    pytest.param("print(len(<cursor>)", "x))", "print(len(x))", id="one closer was missing"),
    pytest.param("print(len(<cursor>)", "x)", "print(len(x))", id="the missing closer comes"),
    pytest.param("print(len(<cursor>))", "x)", "print(len(x))", id="no closer was missing"),
    pytest.param("print(len(<cursor>))", "x))", "print(len(x))", id="two closers kept once"),
    pytest.param("f(<cursor>);", "a, b)", "f(a, b);", id="all but the semicolon"),
    pytest.param("f(<cursor>);", "a, b);", "f(a, b);", id="semicolon and all"),
    pytest.param("f(<cursor>)", "a) || g(b)", "f(a) || g(b)", id="going on after the rest"),
    pytest.param("while (<cursor>)", "k < 3) {", "while (k < 3) {", id="a brace after the rest"),
    pytest.param("while (<cursor>) {", "k < 3) {", "while (k < 3) {", id="the rest as it is"),
    pytest.param("let v = <cursor>;", "read();", "let v = read();", id="semicolon once"),
    pytest.param("let v = [<cursor>];", "1, 2]", "let v = [1, 2];", id="list closed once"),
    pytest.param("let v = {<cursor>}", "a: 1}", "let v = {a: 1}", id="object closed once"),
    pytest.param("let v = {<cursor>}", "a: [1]", "let v = {a: [1]}", id="list within stays"),
    pytest.param("call(<cursor> )", "a)", "call(a )", id="a space before the closer"),
    pytest.param('say("<cursor>")', 'hi")', 'say("hi")', id="quote and bracket once"),
    pytest.param('say("<cursor>")', 'hi"', 'say("hi")', id="quote once"),
    pytest.param('say("<cursor>")', "hi", 'say("hi")', id="inside the quotes"),
    pytest.param('say("<cursor>")', 'a" + b', 'say("a" + b)', id="leaving the quotes"),
    pytest.param('say("<cursor>")', 'a" + "b")', 'say("a" + "b")', id="out and in again"),
    pytest.param('say("(<cursor>")', ' or [")', 'say("( or [")', id="brackets that are text"),
    pytest.param("f(<cursor>, 2)", "1, 2)", "f(1, 2)", id="an argument that stands there"),
    pytest.param("f(<cursor>, 2)", "1", "f(1, 2)", id="an argument before another"),
    pytest.param("f(<cursor>, 2)", "1, 3)", "f(1, 3, 2)", id="another's text is not eaten"),
    pytest.param("f(<cursor>, 2)", "1,", "f(1, 2)", id="comma once"),
    pytest.param("f(<cursor>) => {", "a", "f(a) => {", id="an arrow after the cursor"),
    pytest.param(
        "import { <cursor> } from 'm'",
        "a } from 'm'",
        "import { a } from 'm'",
        id="words of the rest",
    ),
    pytest.param("if (a.<cursor> && b) {", "ok() && b) {", "if (a.ok() && b) {", id="a condition"),
    pytest.param("v = `${<cursor>}`", "a}`", "v = `${a}`", id="a value in a template closed once"),
    pytest.param("f(`${<cursor>}`);", "a}`)", "f(`${a}`);", id="a template closed once"),
    pytest.param("x = <cursor> // why", "1", "x = 1 // why", id="before a comment"),
    pytest.param("x = <cursor> // why", "1 // why", "x = 1 // why", id="comment once"),
    pytest.param(
        "let v: Array<<cursor>>;", "Set<T>>", "let v: Array<Set<T>>;", id="type closed once"
    ),
    pytest.param(
        "let v: Array<<cursor>>;", "Set<T>", "let v: Array<Set<T>>;", id="type within stays"
    ),
    pytest.param("f(x<cursor>)", "=1", "f(x=1)", id="two characters"),
    pytest.param("x = <cursor>", "1", "x = 1", id="one character"),
    pytest.param("x = <cursor>;", "1", "x = 1;", id="one character before the rest"),
    pytest.param("x = <cursor>;", ";", "x = ;", id="only the rest of the line"),
    pytest.param("𝔁(<cursor>)", "🙂)", "𝔁(🙂)", id="letters beyond the first plane"),
    pytest.param("f(<cursor>) => {", "a) =", "f(a) => {", id="part of the rest"),
    pytest.param("f(<cursor>, b)", "a, b", "f(a, b)", id="part of the rest without its bracket"),
    pytest.param("f(<cursor>, 'word')", "a, 'wo", "f(a, 'word')", id="up to half a word"),
    pytest.param("a.b<cursor>.tools;", "ar.too", "a.bar.tools;", id="the start of a word"),
    pytest.param("x = <cursor>.tools;", "a.to", "x = a.to.tools;", id="too little to tell"),
    pytest.param("import a<cursor>;", "ll", "import all;", id="a letter twice"),
    pytest.param("// ---<cursor>-----", "----", "// ------------", id="a ruler grows"),
    pytest.param("x[<cursor>:]", "a:", "x[a:]", id="colon once"),
    pytest.param("x = a<cursor>::b()", "::c", "x = a::c::b()", id="a colon of two"),
    pytest.param("say(`${<cursor>}`)", "f(a)}", "say(`${f(a)}`)", id="a bracket in a string once"),
    pytest.param("say(`${<cursor>}`)", "{a}", "say(`${{a}}`)", id="brackets in a string stay"),
    pytest.param("say('a<cursor>')", 'b"', "say('ab\"')", id="a quote in a string stays"),
    pytest.param("x: A<B<<cursor>>", "C>, D<E>", "x: A<B<C>, D<E>>", id="closing and opening"),
    pytest.param("x: A<<cursor>> = b", "C<D>> =", "x: A<C<D>> = b", id="a type and what follows"),
    pytest.param(
        "f(<cursor>) {}", "a) {\n  b();\n}", "f(a) {\n  b();\n}", id="an empty body filled"
    ),
    pytest.param("f(<cursor>) {}", "a) {", "f(a) {}", id="an empty body only begun"),
    pytest.param("f(<cursor>) {}", "a, { b }", "f(a, { b }) {}", id="an empty body not spoken of"),
    pytest.param(
        "f(<cursor>) {}", "a): B {\n  c();\n}", "f(a): B {\n  c();\n}", id="a type before a body"
    ),
    pytest.param(
        "x = (<cursor>) => {};", "a) => {\n  b();\n};", "x = (a) => {\n  b();\n};", id="an arrow's"
    ),
    pytest.param(
        "f(<cursor>, () => {});",
        "a, () => {\n  b();\n});",
        "f(a, () => {\n  b();\n});",
        id="a callback",
    ),
    pytest.param(
        "if (<cursor>) {}",
        "a) {\n  b();\n} else {\n  c();\n}",
        "if (a) {\n  b();\n} else {\n  c();\n}",
        id="an empty body filled, and another after it",
    ),
    pytest.param(
        "f(<cursor>, []);",
        "() => {\n  a();\n}, [b]);",
        "f(() => {\n  a();\n}, [b]);",
        id="an empty list filled below",
    ),
    pytest.param(
        "f(<cursor>, () => {});",
        "a, () => {\n  b();\n}",
        "f(a, () => {\n  b();\n});",
        id="a callback without what stands behind it",
    ),
    pytest.param(
        "f(<cursor>, () => {});", "a, () => {\n  b();", "f(a, () => {});", id="a callback cut short"
    ),
    pytest.param("f(<cursor>, [])", "a, b[1]", "f(a, b[1], [])", id="an empty list not spoken of"),
    pytest.param("f(<cursor>, {}, g());", "a, {}, g(b));", "f(a, {}, g(b));", id="the last of two"),
]


@pytest.mark.parametrize(("drawn", "said", "expected"), SAME_LINE)
def test_the_rest_of_the_line_stands_once(drawn: str, said: str, expected: str) -> None:
    assert accepted(drawn, said, "typescript") == expected


SEMICOLONS = "".join(f"use(a{n});\n" for n in range(6))
WITHOUT = "".join(f"use(a{n})\n" for n in range(6))
CHAINS = [
    pytest.param(
        "javascript", SEMICOLONS, "a()\n  .b()\n  .c();\nd();", "a()\n  .b()\n  .c();", id="links"
    ),
    pytest.param(
        "typescript",
        SEMICOLONS,
        "a()\n  .b((x) => {\n    c(x)\n    d()\n  })\n  ?.e();\nf();",
        "a()\n  .b((x) => {\n    c(x)\n    d()\n  })\n  ?.e();",
        id="a function in one",
    ),
    pytest.param(
        "javascript",
        SEMICOLONS,
        "let v = a\n  ? b\n  : c;\nd();",
        "let v = a\n  ? b\n  : c;",
        id="either or",
    ),
    pytest.param(
        "javascript",
        SEMICOLONS,
        "var a = b()\n  , c = d();\ne();",
        "var a = b()\n  , c = d();",
        id="commas first",
    ),
    pytest.param("javascript", SEMICOLONS, "a();\nb();", "a();", id="at its end"),
    pytest.param("javascript", SEMICOLONS, "a()\nb();", "a()", id="no semicolon for once"),
    pytest.param("javascript", SEMICOLONS, "a()\n  .b()\n\nc();", "a()\n  .b()", id="nor after"),
    pytest.param("javascript", WITHOUT, "a()\nb()", "a()", id="where nobody writes any"),
    pytest.param(
        "javascript",
        f"{WITHOUT}a()\n  .b()\n",
        "a()\n  .c()\nd()",
        "a()\n  .c()",
        id="a line that goes on elsewhere",
    ),
    pytest.param(
        "kotlin",
        f"{WITHOUT}list\n    .a()\n",
        "list\n    .b()\nc()",
        "list\n    .b()",
        id="Kotlin",
    ),
    pytest.param("python", WITHOUT, "a()\n.b()", "a()", id="never in Python"),
]


def test_a_statement_that_goes_on_below_already_is_not_gone_on_with() -> None:
    drawn = f"{SEMICOLONS}a<cursor>\n  .b();\n"
    assert accepted(drawn, "()\n  .c();\nd();", "javascript") == f"{SEMICOLONS}a()\n  .b();\n"


@pytest.mark.parametrize(("language", "above", "said", "shown"), CHAINS)
def test_a_statement_goes_on_where_others_would_be_over(
    language: str, above: str, said: str, shown: str
) -> None:
    # Behind its first letter it is one statement that is missing.
    assert accepted(f"{above}{said[0]}<cursor>\n", said[1:], language) == f"{above}{shown}\n"


NAMED = [
    pytest.param("python", "f(a=<cursor>, b=2)", "1, b=3)", "f(a=1, b=2)", id="an argument"),
    pytest.param("python", "f(a=<cursor>, b=2)", "1, b=3", "f(a=1, b=2)", id="cut short"),
    pytest.param(
        "python", "f(a=<cursor>, b=2)", "1, c=3, b=3)", "f(a=1, c=3, b=2)", id="another before it"
    ),
    pytest.param(
        "python", "f(a=<cursor>, b=2)", "g(1, b=3)", "f(a=g(1, b=3), b=2)", id="somebody else's"
    ),
    pytest.param(
        "python", "f(a=<cursor>), g(b=2)", "1, b=3", "f(a=1, b=3), g(b=2)", id="of another call"
    ),
    pytest.param(
        "python", "f(a=<cursor>, b==2)", "1, b=3", "f(a=1, b=3, b==2)", id="compared, not named"
    ),
    pytest.param(
        "python", "f(a=<cursor>, b=2)", "', b=3'", "f(a=', b=3', b=2)", id="words in quotes"
    ),
    pytest.param(
        "python", 'x = {"a": <cursor>, "b": 2}', '1, "b": 3}', 'x = {"a": 1, "b": 2}', id="a key"
    ),
    pytest.param(
        "javascript", "f({a: <cursor>, b: 2});", "1, b: 3});", "f({a: 1, b: 2});", id="an object's"
    ),
    pytest.param("csharp", "F(a: <cursor>, b: 2);", "1, b: 3);", "F(a: 1, b: 2);", id="colons"),
    pytest.param(
        "php",
        "$x = ['a' => <cursor>, 'b' => 2];",
        "1, 'b' => 3];",
        "$x = ['a' => 1, 'b' => 2];",
        id="arrows",
    ),
    pytest.param(
        "lua", "x = {a = <cursor>, b = 2}", "1, b = 3}", "x = {a = 1, b = 2}", id="a field"
    ),
]


@pytest.mark.parametrize(("language", "drawn", "said", "expected"), NAMED)
def test_nothing_is_named_twice(language: str, drawn: str, said: str, expected: str) -> None:
    assert accepted(drawn, said, language) == expected


LINES_BELOW = [
    pytest.param(
        "let a = 1\n<cursor>\nlet zebra = 3\n",
        "let b = 2\nlet zebra = 3",
        "let a = 1\nlet b = 2\nlet zebra = 3\n",
        id="the next line said again",
    ),
    pytest.param(
        "function f() {\n  <cursor>\n\n}\n",
        "run()\n}",
        "function f() {\n  run()\n\n}\n",
        id="the brace below a blank line",
    ),
    pytest.param(
        "function f() {\n  if (a) {\n    <cursor>\n  }\n}\n",
        "run()\n  }\n}\n\nfunction g() {\n",
        "function f() {\n  if (a) {\n    run()\n  }\n}\n",
        id="braces and what comes after them",
    ),
    pytest.param(
        "call({\n  <cursor>\n})\n",
        "a: 1 })",
        "call({\n  a: 1\n})\n",
        id="closed on its own line and on the next",
    ),
    pytest.param(
        "call(\n  f(<cursor>\n)\n", "1)", "call(\n  f(1)\n)\n", id="the line's own bracket stays"
    ),
    pytest.param(
        "if (a) {\n  <cursor>\n}\n}\n",
        "run(() => {\n    b()\n  }",
        "if (a) {\n  run(() => {\n    b()\n  }\n}\n}\n",
        id="its own bracket, where others are amiss",
    ),
    pytest.param(
        "call({<cursor>})\nnext()\n",
        "\n  a: 1,\n})\nnext()\n",
        "call({\n  a: 1,\n})\nnext()\n",
        id="a block between two brackets",
    ),
    pytest.param(
        "function f() {<cursor>}\n",
        "\n  run()\n",
        "function f() {\n  run()\n}\n",
        id="a block between two brackets, whose end it leaves out",
    ),
    pytest.param(
        "  call([<cursor>]);\n",
        "\n    1,\n    2,",
        "  call([\n    1,\n    2,\n  ]);\n",
        id="entries between two brackets, indented",
    ),
    pytest.param("f(<cursor>)\n", "\n  a, b)", "f(\n  a, b)\n", id="the bracket on its last line"),
    pytest.param(
        "run()\n<cursor>\nconst zebra = f(1)\n",
        "stop()\nconst zeb",
        "run()\nstop()\nconst zebra = f(1)\n",
        id="half of the next line",
    ),
    pytest.param(
        "function f() {\n  <cursor>\n  return total\n}\n",
        "if (a) {\n    b()\n  }\n  return to",
        "function f() {\n  if (a) {\n    b()\n  }\n  return total\n}\n",
        id="half of the line after a block",
    ),
    pytest.param(
        "function sort(<cursor>) {\n\n}\n",
        "list) {\n  return list\n}\n",
        "function sort(list) {\n  return list\n\n}\n",
        id="the body of a function whose end stands below",
    ),
    pytest.param(
        "function f() {\n  <cursor>\n}\n",
        "}",
        "function f() {\n  \n}\n",
        id="only the end of the block",
    ),
]


@pytest.mark.parametrize(("drawn", "said", "expected"), LINES_BELOW)
def test_no_line_is_repeated(drawn: str, said: str, expected: str) -> None:
    assert accepted(drawn, said, "typescript") == expected


BLOCKS = [
    pytest.param(
        "python",
        "def f(n):\n<cursor>\n\nf(5)\n",
        "    if n:\n        return f(n - 1)\n    return 0\n\nf(5)\n",
        "def f(n):\n    if n:\n        return f(n - 1)\n    return 0\n\nf(5)\n",
        id="a body up to the code below it",
    ),
    pytest.param(
        "python",
        "def f(n):<cursor>\n",
        "\n    return n\n\n\ndef g(n):\n    return n\n",
        "def f(n):\n    return n\n",
        id="one function and not the next",
    ),
    pytest.param(
        "python",
        "if a:\n    <cursor>\n",
        "b()\nelse:\n    c()\nd()\n",
        "if a:\n    b()\nelse:\n    c()\n",
        id="else belongs to it",
    ),
    pytest.param(
        "python",
        "if a:\n    <cursor>\nelse:\n    c()\n",
        "b()\nelse:\n    x()\n",
        "if a:\n    b()\nelse:\n    c()\n",
        id="else stands below",
    ),
    pytest.param(
        "python",
        "def f():\n    <cursor>\n\nx = 1\n",
        '"""Say.\n\nNot indented.\n"""\n    return 1\nx = 2\n',
        'def f():\n    """Say.\n\nNot indented.\n"""\n    return 1\n\nx = 1\n',
        id="a string of several lines",
    ),
    pytest.param(
        "python",
        "def f(a,\n      b):<cursor>\n\nx = 1\n",
        "\n    if a:\n        return b\n\nx = 1\n",
        "def f(a,\n      b):\n    if a:\n        return b\n\nx = 1\n",
        id="a header of two lines",
    ),
    pytest.param(
        "python",
        "a = 1\n<cursor>\nz = 26\n",
        "b = 2 + \\\n    3\nc = 4\n",
        "a = 1\nb = 2 + \\\n    3\nz = 26\n",
        id="a statement continued with a backslash",
    ),
    pytest.param(
        "python",
        'def f():\n    <cursor>\n    """\n    return 1\n',
        '"""Say.\n    """\n    return 1\n',
        'def f():\n    """Say.\n    """\n    return 1\n',
        id="a string whose end stands below",
    ),
    pytest.param(
        "css",
        "a {}\n\n<cursor>\n.menu {\n  top: 0;\n}\n",
        ".menu {\n  left: 0;\n}\n.menu {\n",
        "a {}\n\n.menu {\n  left: 0;\n}\n.menu {\n  top: 0;\n}\n",
        id="the same opening line with other contents",
    ),
    pytest.param(
        "typescript",
        "if (a) {\n  <cursor>\nelse {\n  c()\n}\n",
        "b()\n}\nelse {\n",
        "if (a) {\n  b()\n}\nelse {\n  c()\n}\n",
        id="an end that is missing before else",
    ),
    pytest.param(
        "python",
        "a = 1\n<cursor>",
        "b = 2\nc = 3\n\nd = 4\n",
        "a = 1\nb = 2\nc = 3",
        id="a paragraph at the end of the file",
    ),
    pytest.param(
        "python",
        "a = 1\n<cursor>\nz = 26\n",
        "b = 2\nc = 3\n",
        "a = 1\nb = 2\nz = 26\n",
        id="one line between others",
    ),
    pytest.param(
        "python",
        "a = 1\n<cursor>\nz = 26\n",
        "b = f(\n    1,\n)\nc = 3\n",
        "a = 1\nb = f(\n    1,\n)\nz = 26\n",
        id="a statement of several lines between others",
    ),
    pytest.param(
        "typescript",
        "const f = () => <cursor>\nnext()\n",
        "{\n  return 1\n}\nconst g = 2\n",
        "const f = () => {\n  return 1\n}\nnext()\n",
        id="the first line opens a block",
    ),
    pytest.param(
        "typescript",
        "if (a) {\n  <cursor>",
        "b()\n} else {\n  c()\n}\nd()\n",
        "if (a) {\n  b()\n} else {\n  c()\n}",
        id="a block that is not closed below",
    ),
    pytest.param(
        "csharp",
        "if (a)\n{\n    <cursor>",
        "B();\n}\nelse\n{\n    C();\n}\nD();\n",
        "if (a)\n{\n    B();\n}\nelse\n{\n    C();\n}",
        id="braces on lines of their own",
    ),
    pytest.param(
        "html",
        "<html>\n<body>\n  <cursor>\n\n</html>\n",
        "<p>a</p>\n</body>\n\n</html>\n",
        "<html>\n<body>\n  <p>a</p>\n</body>\n\n</html>\n",
        id="an end that is missing before another's",
    ),
    pytest.param(
        "typescript",
        "function f() {\n  <cursor>\n}\n",
        "a.replace(/[\"({]/g, 'b')\n\nnext()\n",
        "function f() {\n  a.replace(/[\"({]/g, 'b')\n}\n",
        id="a pattern with a quote and brackets",
    ),
    pytest.param(
        "perl",
        "sub f {\n  <cursor>\n}\n",
        '$a =~ m!^[#/"]!;\n  $b =~ s/{/[/;\n\nsub g {\n',
        'sub f {\n  $a =~ m!^[#/"]!;\n  $b =~ s/{/[/;\n}\n',
        id="patterns of Perl",
    ),
    pytest.param(
        "shellscript",
        "f() {\n  a || {\n    <cursor>\n}\n}\n",
        "b\n    c\n  }\n}\n",
        "f() {\n  a || {\n    b\n    c\n  }\n}\n}\n",
        id="an end that is deeper than the next line's",
    ),
    pytest.param(
        "ruby",
        "list.each do |x|<cursor>\nend\n",
        "\n  x += 1\n  puts x\nend\n",
        "list.each do |x|\n  x += 1\n  puts x\nend\n",
        id="a block with parameters",
    ),
    pytest.param(
        "ruby",
        "if a\n  b\nelse\n  <cursor>\nend\n",
        "c\n  d\nend\nf\n",
        "if a\n  b\nelse\n  c\n  d\nend\n",
        id="the other branch",
    ),
    pytest.param(
        "ruby",
        "case a\nwhen 1 then <cursor>\nwhen 2 then c\nend\n",
        "b\nwhen 2 then c\n",
        "case a\nwhen 1 then b\nwhen 2 then c\nend\n",
        id="a branch on one line",
    ),
    pytest.param(
        "lua",
        "each(list, function(x)\n  <cursor>\nend)\n",
        "y = x\n  print(y)\nend)\nprint(1)\n",
        "each(list, function(x)\n  y = x\n  print(y)\nend)\n",
        id="a function without a name",
    ),
    pytest.param(
        "lua",
        "if a then\n  b()\nelse<cursor>\nend\n",
        "\n  c()\n  d()\nend\n",
        "if a then\n  b()\nelse\n  c()\n  d()\nend\n",
        id="the other branch, from its header on",
    ),
    pytest.param(
        "c",
        "  if (f(a,\n        b)) {\n    c();\n  } else {<cursor>\n  }\n",
        "\n    d();\n    e();\n  }\n",
        "  if (f(a,\n        b)) {\n    c();\n  } else {\n    d();\n    e();\n  }\n",
        id="a branch below a header of two lines",
    ),
    pytest.param(
        "ruby",
        "list.each do |x|\n  <cursor>\nend\n",
        "puts x\nend\nputs 2\n",
        "list.each do |x|\n  puts x\nend\n",
        id="end once",
    ),
    pytest.param(
        "ruby",
        "a = 1\n<cursor>\nb = 2\n",
        "def f(x)\n  x\nend\n\ndef g\nend\n",
        "a = 1\ndef f(x)\n  x\nend\nb = 2\n",
        id="a method of its own with its end",
    ),
    pytest.param(
        "shellscript",
        "for f in *; do\n  <cursor>\ndone\n",
        'echo "$f"\ndone\n',
        'for f in *; do\n  echo "$f"\ndone\n',
        id="done once",
    ),
    pytest.param(
        "yaml",
        "services:\n  web:\n    <cursor>\n",
        "image: x\n    ports:\n      - '80'\n  db:\n",
        "services:\n  web:\n    image: x\n    ports:\n      - '80'\n",
        id="a mapping up to its sibling",
    ),
    pytest.param(
        "html",
        "<ul>\n  <cursor>\n</ul>\n",
        "<li>a</li>\n  <li>b</li>\n</ul>\n",
        "<ul>\n  <li>a</li>\n  <li>b</li>\n</ul>\n",
        id="elements up to the closing tag",
    ),
]


@pytest.mark.parametrize(("language", "drawn", "said", "expected"), BLOCKS)
def test_a_block_ends_where_it_ends(language: str, drawn: str, said: str, expected: str) -> None:
    assert accepted(drawn, said, language) == expected


INDENTATION = [
    pytest.param(
        "go",
        "func f() {\n\t<cursor>\n}\n",
        " return",
        "func f() {\n\treturn\n}\n",
        id="a space after the tab",
    ),
    pytest.param(
        "go",
        "func f() {\n\tfor {\n\t\t<cursor>\n\t}\n}\n",
        "g()\n        if h {\n            k()\n        }",
        "func f() {\n\tfor {\n\t\tg()\n\t\tif h {\n\t\t\tk()\n\t\t}\n\t}\n}\n",
        id="spaces in a file of tabs",
    ),
    pytest.param(
        "go",
        "func f() {\n\tfor {\n\t\t<cursor>\n\t}\n}\n",
        "g()\n    if h {\n      k()\n    }\n  }\n}\n",
        "func f() {\n\tfor {\n\t\tg()\n\t\tif h {\n\t\t\tk()\n\t\t}\n\t}\n}\n",
        id="two spaces a level in a file of tabs",
    ),
    pytest.param(
        "java",
        "class A {\n\tvoid f() {\n\t\t<cursor>\n\t}\n}\n",
        "g();\n    }\n\n    void h() {\n",
        "class A {\n\tvoid f() {\n\t\tg();\n\t}\n}\n",
        id="four spaces a level in a file of tabs, to the end of the block",
    ),
    pytest.param(
        "python",
        "def f():\n    <cursor>\n",
        "if a:\n\t\treturn 1\n",
        "def f():\n    if a:\n        return 1\n",
        id="tabs in a file of spaces",
    ),
    pytest.param(
        "cpp",
        "void f() {\n      <cursor>\n}\n",
        "if (a)\n        {\n\t  b();\n        }\n",
        "void f() {\n      if (a)\n        {\n\t  b();\n        }\n}\n",
        id="tabs for eight spaces, in what the model says alone",
    ),
    pytest.param(
        "scheme",
        "(define (f)\n  (let ((a 1))\n    <cursor>",
        "    (display a)))",
        "(define (f)\n  (let ((a 1))\n    (display a)))",
        id="indented where the cursor already is",
    ),
    pytest.param(
        "python",
        "class A:\n    def f(self):\n        return 1\n\n    <cursor>\n",
        "    def g(self):\n        return 2\n",
        "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n",
        id="indented where the cursor is, below a deeper line",
    ),
    pytest.param(
        "go",
        "func f() {\n\tif x {\n\t\ta()\n\t}\n\t<cursor>\n}\n",
        "\tb()\n",
        "func f() {\n\tif x {\n\t\ta()\n\t}\n\tb()\n}\n",
        id="the same with tabs",
    ),
    pytest.param(
        "python",
        "class A:\n    def f(self):\n    <cursor>\n",
        "    return 1\n",
        "class A:\n    def f(self):\n        return 1\n",
        id="the depth that is still to come",
    ),
    pytest.param(
        "python",
        "class A:\n    def f(self):\n        return 1\n\n  <cursor>\n",
        "  def g(self):\n        return 2\n",
        "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n",
        id="half of the depth that is still to come",
    ),
    pytest.param(
        "python",
        "def f():\n    while <cursor>\n",
        "    while a:\n        b()\n",
        "def f():\n    while a:\n        b()\n",
        id="the line said again with its indentation",
    ),
    pytest.param(
        "proto3",
        "message A {\n  int32 a = 1;\n  <cursor>\n}\n",
        "message B {\n    int32 b = 1;\n}",
        "message A {\n  int32 a = 1;\n  message B {\n    int32 b = 1;\n  }\n}\n",
        id="written from column 0, four spaces where two are used",
    ),
    pytest.param(
        "lua",
        "local f = function(a)\n  <cursor>\n\nf(1)\n",
        "if a then\n    return 1\n  end\n  return 2\nend",
        "local f = function(a)\n  if a then\n    return 1\n  end\n  return 2\nend\n\nf(1)\n",
        id="in place, up to the end of the block around it",
    ),
    pytest.param(
        "ruby",
        "class A\n  a = 1\n  <cursor>\nend\n",
        "def f\n    1\nend",
        "class A\n  a = 1\n  def f\n    1\n  end\nend\n",
        id="written from column 0, closed by a word",
    ),
    pytest.param(
        "typescript",
        "function f() {\n    <cursor>\n}\n",
        "function g() {\n    h()\n}",
        "function f() {\n    function g() {\n        h()\n    }\n}\n",
        id="the cursor's own line shows how far lines are indented",
    ),
    pytest.param(
        "python",
        "def f():\n  <cursor>\n",
        "  return 1",
        "def f():\n  return 1\n",
        id="two spaces said again where nothing else is indented",
    ),
    pytest.param(
        "typescript",
        "  /**\n   * One.\n  <cursor>\n",
        " * Two.\n",
        "  /**\n   * One.\n   * Two.\n",
        id="the star of a comment",
    ),
    pytest.param(
        "shellscript",
        "f() {\n\ta\n}\n\ng() {\n    <cursor>\n}\n",
        "b\n    c\n",
        "f() {\n\ta\n}\n\ng() {\n    b\n    c\n}\n",
        id="spaces at the cursor in a file of tabs",
    ),
    pytest.param(
        "c",
        "int f()\n{\n  if (a)\n    {\n      <cursor>\n    }\n\tg();\n}\n",
        "h (1,\n\t 2);\n    }\n",
        "int f()\n{\n  if (a)\n    {\n      h (1,\n\t 2);\n    }\n\tg();\n}\n",
        id="tabs and spaces in one file",
    ),
    pytest.param(
        "python",
        "def f():\r\n    if a:\r\n        <cursor>\r\n",
        "b()\r\n        c()\r\n",
        "def f():\r\n    if a:\r\n        b()\n        c()\r\n",
        id="carriage returns are the editor's business",
    ),
    pytest.param("python", "x = <cursor>\n", " 1", "x = 1\n", id="one of two spaces"),
    pytest.param("python", "x =<cursor>\n", " 1", "x = 1\n", id="the only space"),
    pytest.param("python", "x   <cursor>\n", "  = 1", "x     = 1\n", id="a column"),
    pytest.param("python", "<cursor>\n", "\n\n  \nx = 1", "x = 1\n", id="blank lines first"),
    pytest.param(
        "python", "def f():<cursor>\n", "\n    pass", "def f():\n    pass\n", id="a new line"
    ),
]


@pytest.mark.parametrize(("language", "drawn", "said", "expected"), INDENTATION)
def test_indentation_is_right(language: str, drawn: str, said: str, expected: str) -> None:
    assert accepted(drawn, said, language) == expected


NOT_CODE = [
    pytest.param("x = <cursor>\n", "1<|endoftext|>", "x = 1\n", id="end of text"),
    pytest.param("x = <cursor>\n", "1<|im_end|>\n2", "x = 1\n", id="end of a turn"),
    pytest.param("x = <cursor>\n", "1</s>", "x = 1\n", id="end of a sentence"),
    pytest.param("x = <cursor>\n", "1 <EOT>", "x = 1\n", id="a space before the token"),
    pytest.param("f(<cursor>)\n", "1 <EOT>", "f(1)\n", id="the space belongs to the token"),
    pytest.param("x = <cursor>\n", "1<repo_name>a/b", "x = 1\n", id="another repository"),
    pytest.param("x = <cursor>\n", "1<jupyter_text>a", "x = 1\n", id="another cell"),
    pytest.param("x = <cursor>\n", "1<eos>", "x = 1\n", id="end of text, shorter"),
    pytest.param("x = <cursor>\n", "1<|/code|>", "x = 1\n", id="the end of something"),
    pytest.param("x = <cursor>\n", "1<｜end▁of▁sentence｜>2", "x = 1\n", id="wide bars"),
    pytest.param("x = <cursor>\n", "<fim_middle>1", "x = 1\n", id="the prompt's last token"),
    pytest.param("x = <cursor>\n", "1<|never_seen|>", "x = 1\n", id="a token nobody knows yet"),
    pytest.param("x = <cursor>\n", "a <| b |> c", "x = a <| b |> c\n", id="operators"),
    pytest.param("x = <cursor>\n", "a < b", "x = a < b\n", id="less than"),
    pytest.param(
        'EOT = "<|end|>"\nPAD = "<cursor>\n',
        '<|end|>"',
        'EOT = "<|end|>"\nPAD = "<|end|>"\n',
        id="a token the document speaks of",
    ),
    pytest.param("x = <cursor>\n", "1\r\ny = 2\r\n", "x = 1\n", id="carriage returns"),
    pytest.param("x = <cursor>\n", "\x1b[1m1\x1b[0m\x00", "x = 1\n", id="colours of a terminal"),
    pytest.param("x = <cursor>\n", "1\ufffd", "x = 1\n", id="half a letter at the end"),
    pytest.param("<cursor>", "\ufeffx = 1", "x = 1", id="a byte order mark"),
    pytest.param("<cursor>", "```python\nx = 1\n```\nThat is it.", "x = 1", id="a fence"),
    pytest.param(
        "<cursor>", "Here is the code:\n\n```\nx = 1\n```\n", "x = 1", id="a sentence and a fence"
    ),
    pytest.param("<cursor>", "x = 1\n```\n\nDone.", "x = 1", id="a fence that was never opened"),
    pytest.param("y = <cursor>\n", "```x```", "y = x\n", id="a fence within the line"),
    pytest.param("y = <cursor>\n", "```\ny = x\n```", "y = x\n", id="the line again in a fence"),
    pytest.param("<cursor>", "Sure! I can help.", "", id="nothing but chatter"),
    pytest.param("<cursor>", "-  x = 1", "x = 1", id="a bullet"),
    pytest.param("# All of it<cursor>\n", ".  And more", "# All of it.  And more\n", id="a stop"),
    pytest.param("f(g(<cursor>)\n", ")", "f(g())\n", id="a bracket that is missing"),
    pytest.param("f(g(<cursor>))\n", ")", "f(g())\n", id="no bracket is missing"),
    pytest.param("x = <cursor>\n", "-1", "x = -1\n", id="a minus"),
    pytest.param("<cursor>", "# Path: lib/a.py\nx = 1", "", id="the heading of a file"),
    pytest.param("<cursor>", "Path: int = 1", "Path: int = 1", id="a path that is code"),
    pytest.param("<cursor>", "x = 1\nHuman: and now?", "x = 1", id="a turn of a conversation"),
    pytest.param("for <cursor>\n", "for a in b:", "for a in b:\n", id="the line said again"),
    pytest.param(
        "    return <cursor>\n", "return_value", "    return return_value\n", id="no echo"
    ),
    pytest.param("(dis<cursor>)\n", "display", "(display)\n", id="the word said in full"),
    pytest.param("x<cursor>\n", "x = 5", "x = 5\n", id="the one letter there is"),
    pytest.param("a.na<cursor>\n", "a.names()", "a.names()\n", id="half a word, and its line"),
    pytest.param("#<cursor>\n", "# why", "## why\n", id="a mark that may be doubled"),
    pytest.param("# <cursor>\n", "# why", "# why\n", id="a comment begun again"),
    pytest.param("f(<cursor>)\n", "f(x)", "f(f(x))\n", id="a call within itself"),
    pytest.param("1<cursor>\n", "10", "110\n", id="digits are no echo"),
    pytest.param("x<cursor>\n", "```\nx = 5\n```", "x = 5\n", id="one letter, in a fence"),
    pytest.param(
        "}, [<cursor>]\n", "```\n}, [a]\n```", "}, [a]\n", id="nothing but signs, in a fence"
    ),
    pytest.param(
        "set a\nset b\nset <cursor>\n",
        "```\nset a\nset b\nset c\n```\n",
        "set a\nset b\nset c\n",
        id="lines above that begin alike, in a fence",
    ),
    pytest.param(
        "set a \\\n    --bee 1 \\\n    <cursor>\n",
        "```\nset a \\\n    --bee 1 \\\n    --sea 2\n```\n",
        "set a \\\n    --bee 1 \\\n    --sea 2\n",
        id="lines above and the cursor's indentation, in a fence",
    ),
    pytest.param("x = 1<cursor>\n", "  ", "x = 1\n", id="nothing but space"),
    pytest.param("x = <cursor>\n", "1   ", "x = 1\n", id="space at the end of the line"),
    pytest.param("x: <cursor>int\n", "a[", "x: a[int\n", id="before a word"),
    pytest.param(
        "def f():\n    <cursor>\n",
        "a = 1  \n\n    b = 2\t\n",
        "def f():\n    a = 1\n\n    b = 2\n",
        id="space at the ends of lines",
    ),
    pytest.param(
        "def f():<cursor>\n",
        "```python\ndef f():\n    return 1\n```\n",
        "def f():\n    return 1\n",
        id="a header and its block, in a fence",
    ),
    pytest.param(
        "if (a) {<cursor>\n}\n",
        "if (a) {\n    b()\n}\nc()\n",
        "if (a) {\n    b()\n}\n",
        id="a header and its block",
    ),
    pytest.param(
        "def f():\n    <cursor>\n",
        "send(1)\n    send(1)\n    send(1)\n    stop()\n",
        "def f():\n    send(1)\n    send(1)\n    send(1)\n    stop()\n",
        id="three times is no loop where more follows",
    ),
    pytest.param(
        "def f():\n    <cursor>\n",
        "send(1)\n    send(1)\n    send(1)\n    sen",
        "def f():\n    send(1)\n",
        id="a loop cut off on its way round",
    ),
    pytest.param(
        "for a in b:\n    <cursor>\n",
        "continue\n" + "    continue\n" * 9,
        "for a in b:\n    continue\n",
        id="a keyword for ever",
    ),
    pytest.param(
        "# a\n<cursor>",
        "# named when true\n" * 30,
        "# a\n# named when true",
        id="one line for ever",
    ),
    pytest.param(
        "def f():\n    <cursor>\n",
        "again()" + "\n    again()" * 2,
        "def f():\n    again()\n",
        id="one line, the first of which begins at the cursor",
    ),
    pytest.param(
        "def f():\n\t<cursor>\n",
        "first()\n\tsecond()\n\n\t" * 3 + "first",
        "def f():\n\tfirst()\n\tsecond()\n",
        id="two lines, the first of which begins at the cursor",
    ),
    pytest.param(
        "out/\n<cursor>",
        "dist/cache.xml\ndist/tasks.xml\n" * 30,
        "out/\ndist/cache.xml\ndist/tasks.xml",
        id="two lines for ever",
    ),
    pytest.param(
        "x = [<cursor>\n", "10, 20, " * 100, "x = [10, 20,\n", id="a line that never ends"
    ),
]


@pytest.mark.parametrize(("drawn", "said", "expected"), NOT_CODE)
def test_what_is_not_code_stays_away(drawn: str, said: str, expected: str) -> None:
    assert accepted(drawn, said, "python") == expected


SAID_AGAIN = [
    pytest.param(
        "python",
        "a = first()\nb = second()\n<cursor>\nend()\n",
        "b = second()\nc = third()\n",
        "c = third()",
        id="the line above",
    ),
    pytest.param(
        "yaml",
        "alpha: one\nbeta: two\n<cursor>\nend: 0\n",
        "alpha: one\nbeta: two\ngamma: three\n",
        "gamma: three",
        id="two lines above",
    ),
    pytest.param(
        "java",
        "int a = first();\n<cursor>\nend();\n",
        "int a = first();\n",
        "",
        id="the line above and nothing else",
    ),
    pytest.param(
        "python",
        "def add(a, b):\n    return <cursor>\n",
        "def add(a, b):\n    return a + b\n",
        "a + b",
        id="the function from its start, in the middle of a line",
    ),
    pytest.param(
        "python",
        "def add(a, b):\n    <cursor>\n",
        "def add(a, b):\n    return a + b\n",
        "return a + b",
        id="the function from its start, at an indented line",
    ),
    pytest.param(
        "typescript",
        "function add(a, b) {\n  return <cursor>\n}\n",
        "```ts\nfunction add(a, b) {\n  return a + b\n}\n```",
        "a + b",
        id="in a fence",
    ),
    pytest.param(
        "go",
        "func f() {\n\tfirst()\n\t<cursor>\n}\n",
        "func f() {\n\tfirst()\n\tsecond()\n}\n",
        "second()",
        id="indented with tabs, to its end",
    ),
    pytest.param(
        "python",
        "try:\n    pass\n<cursor>\n",
        "try:\n    go()\n",
        "try:\n    go()",
        id="another statement that begins like one above",
    ),
    pytest.param(
        "markdown", "- [ ] wash\n<cursor>", "- [ ] wash\n", "- [ ] wash", id="a list of equal items"
    ),
]


@pytest.mark.parametrize(("language", "drawn", "said", "expected"), SAID_AGAIN)
def test_what_stands_above_is_not_said_again(
    language: str, drawn: str, said: str, expected: str
) -> None:
    assert accepted(drawn, said, language) == drawn.replace("<cursor>", expected)
