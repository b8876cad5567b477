import re
from dataclasses import replace

import pytest

from lsp_completions.pipeline.context import Windows, context_at
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.prompt import Excerpt, Prompt, build_prompt
from lsp_completions.pipeline.templates import FAMILIES, PLAIN, Family, family_of
from tests.support.cursor import context_of, cursor
from tests.support.extra import extra_cases

WINDOWS = Windows(prefix_chars=4300, suffix_chars=716)
EXCERPTS = (
    Excerpt(path="lib/one.py", text="ONE = 1"),
    Excerpt(path="lib/two.py", text="def two():\n    return 2"),
)


def prompt_of(
    drawn: str,
    model: str,
    excerpts: tuple[Excerpt, ...] = (),
    *,
    language: str = "python",
    path: str = "src/app.py",
    repository: str | None = None,
    budget_chars: int = 6272,
    single_line: bool = False,
) -> Prompt:
    """The prompt where the cursor is drawn."""
    text, offset = cursor(drawn)
    document = Document.open(f"file:///w/{path}", language, 1, text)
    return build_prompt(
        context_at(document, offset, path=path, windows=WINDOWS),
        excerpts,
        family=family_of(model),
        repository=repository,
        budget_chars=budget_chars,
        single_line=single_line,
    )


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        pytest.param(
            "starcoder-7b",
            "<filename>src/app.py<fim_prefix>\n\nx = <fim_suffix>\ny = 2\n<fim_middle>",
            id="StarCoder",
        ),
        pytest.param(
            "deepseek-coder-v2-lite-base",
            "<repo_name>github.com/you/app\n\n\n#src/app.py\n"
            "<｜fim▁begin｜>x = <｜fim▁hole｜>\ny = 2\n<｜fim▁end｜>",
            id="DeepSeek-Coder",
        ),
        pytest.param(
            "qwen2.5-coder",
            "<|repo_name|>github.com/you/app\n<|file_sep|>src/app.py\n"
            "<|fim_prefix|>x = <|fim_suffix|>\ny = 2\n<|fim_middle|>",
            id="CodeQwen",
        ),
        pytest.param(
            "codellama-7b",
            "<PRE> # Path: src/app.py\n\nx =  <SUF>\ny = 2\n <MID>",
            id="CodeLlama",
        ),
        pytest.param(
            "codegemma",
            "\n\n<|fim_prefix|>x = <|fim_suffix|>\ny = 2\n<|fim_middle|>",
            id="CodeGemma",
        ),
        pytest.param(
            "codestral",
            "[SUFFIX]\ny = 2\n[PREFIX]+++++ src/app.py\nx = ",
            id="Codestral",
        ),
        pytest.param("smollm2", "\n\nx = ", id="plain continuation"),
    ],
)
def test_a_family_s_form(model: str, expected: str) -> None:
    prompt = prompt_of("x = <cursor>\ny = 2\n", model, repository="github.com/you/app")
    assert prompt.text == expected


@pytest.mark.parametrize(
    ("model", "start"),
    [
        pytest.param(
            "starcoder",
            "<filename>src/app.py<fim_prefix>"
            "# Here is a reference snippet of code from lib/one.py:\n# ONE = 1\n\n"
            "# Here is a reference snippet of code from lib/two.py:\n"
            "# def two():\n#     return 2\n\n"
            "x = ",
            id="as comments of the document's language",
        ),
        pytest.param(
            "deepseek",
            "#lib/one.py\nONE = 1\n\n#lib/two.py\ndef two():\n    return 2\n\n"
            "#src/app.py\n<｜fim▁begin｜>x = ",
            id="as files of DeepSeek-Coder",
        ),
        pytest.param(
            "qwen",
            "<|file_sep|>lib/one.py\nONE = 1\n\n"
            "<|file_sep|>lib/two.py\ndef two():\n    return 2\n"
            "<|file_sep|>src/app.py\n<|fim_prefix|>x = ",
            id="as files of CodeQwen",
        ),
        pytest.param(
            "codestral",
            "[SUFFIX]\n[PREFIX]+++++ lib/one.py\nONE = 1\n\n+++++ lib/two.py\ndef two():\n"
            "    return 2\n\n"
            "+++++ src/app.py\nx = ",
            id="as files of Codestral",
        ),
    ],
)
def test_excerpts(model: str, start: str) -> None:
    assert prompt_of("x = <cursor>\n", model, EXCERPTS).text.startswith(start)


@pytest.mark.parametrize(
    ("language", "comment"),
    [("python", "# "), ("typescript", "// "), ("lua", "-- "), ("markdown", "// "), ("html", "// ")],
)
def test_comments_are_those_of_the_language(language: str, comment: str) -> None:
    prompt = prompt_of("<cursor>", "codellama", language=language, path="x")
    assert prompt.text == f"<PRE> {comment}Path: x\n\n <SUF> <MID>"


def test_the_rest_of_the_cursor_line_is_told() -> None:
    # Some clients hold it back; then the model writes it once more.
    prompt = prompt_of("foo(<cursor>);\nbar()\n", "deepseek")
    assert "foo(<｜fim▁hole｜>);\nbar()\n<｜fim▁end｜>" in prompt.text


def test_the_rest_of_the_cursor_line_can_be_held_back_for_a_family() -> None:
    family = replace(family_of("starcoder"), line_suffix=False)
    context = context_of("foo(<cursor>);\nbar()\n")
    assert build_prompt(context, family=family).text.endswith("<fim_suffix>\nbar()\n<fim_middle>")


@pytest.mark.parametrize("model", [*(family.models[0] for family in FAMILIES), "plain"])
@pytest.mark.parametrize("drawn", ["<cursor>", " \n\t<cursor>\n  ", "\r\n<cursor>"])
def test_a_prompt_is_never_blank(model: str, drawn: str) -> None:
    # Providers refuse a blank one.
    assert prompt_of(drawn, model).text.strip()


def test_an_empty_document_is_continued_by_its_path() -> None:
    assert prompt_of("<cursor>", "plain").text == "# Path: src/app.py\n\n"


CODE = "".join(f"def f{n}(value):\n    return value + {n}\n\n" for n in range(300))


@pytest.mark.parametrize("family", [*FAMILIES, PLAIN], ids=lambda family: family.name)
@pytest.mark.parametrize("code", [CODE, "x = [" + "1, " * 3000], ids=["lines", "one long line"])
@pytest.mark.parametrize("budget", [150, 260, 500, 2000, 5000, 6272])
def test_a_prompt_is_shorter_than_its_budget(family: Family, code: str, budget: int) -> None:
    context = context_of(code + "<cursor>" + code)
    prompt = build_prompt(context, EXCERPTS, family=family, budget_chars=budget)
    assert len(prompt.text) < budget
    # What stands next to the cursor is the last to go.
    assert context.prefix[-20:] in prompt.text
    if family.takes_suffix:
        assert context.suffix[:5] in prompt.text


def test_a_budget_beyond_reason_is_exceeded_by_the_tokens_alone() -> None:
    prompt = prompt_of("x = 1\n<cursor>\ny = 2", "deepseek", budget_chars=1)
    tokens = "\n\n#src/app.py\n<｜fim▁begin｜><｜fim▁hole｜><｜fim▁end｜>"
    assert len(prompt.text) <= len(tokens) + 1


def test_excerpts_end_with_the_first_that_does_not_fit() -> None:
    large = Excerpt(path="large.py", text="x" * 400)
    first, second = EXCERPTS[:2]
    whole = prompt_of("x<cursor>", "deepseek", (first, large, second), budget_chars=300).text
    assert whole == prompt_of("x<cursor>", "deepseek", (first,)).text


def test_the_document_comes_before_excerpts() -> None:
    drawn = CODE + "<cursor>"
    length = len(prompt_of(drawn, "deepseek").text)
    prompt = prompt_of(drawn, "deepseek", EXCERPTS, budget_chars=length + 10)
    assert prompt.text == prompt_of(drawn, "deepseek").text


@pytest.mark.parametrize("model", ["qwen2.5-coder", "deepseek", "no-known-family"])
def test_what_a_prompt_is_made_of_stands_as_it_is_in_the_document(model: str) -> None:
    prompt = prompt_of("a = '<|fim_suffix|>'<cursor>  # x\nb", model, EXCERPTS[:1])
    assert (prompt.prefix, prompt.suffix) == ("a = '<|fim_suffix|>'", "  # x\nb")
    assert prompt.excerpts == EXCERPTS[:1]


@pytest.mark.parametrize("budget", [150, 2000])
def test_what_a_prompt_is_made_of_is_shorter_than_its_budget(budget: int) -> None:
    drawn = CODE + "<cursor>" + CODE
    prompt = prompt_of(drawn, "no-known-family", EXCERPTS, budget_chars=budget)
    assert len(prompt.prefix) + len(prompt.suffix) < budget
    assert CODE.endswith(prompt.prefix)
    assert CODE.startswith(prompt.suffix)
    assert prompt.prefix
    assert prompt.suffix
    assert prompt.excerpts == ()


def test_a_prompt_cut_to_its_budget_keeps_its_start_while_one_types() -> None:
    starts = set()
    for count in range(200):
        drawn = CODE + "x" * count + "<cursor>"
        starts.add(prompt_of(drawn, "starcoder", budget_chars=3000).text[:1000])
    assert len(starts) <= 2


def test_tokens_in_the_document_are_no_tokens_in_the_prompt() -> None:
    drawn = 'T = ["<fim_middle>", "<|endoftext|>"]\n<cursor>\n# <fim_suffix>\n'
    excerpt = Excerpt(path="<fim_prefix>\nx.py", text="<fim_prefix>")
    prompt = prompt_of(drawn, "starcoder", (excerpt,), repository="<fim_middle>")
    assert re.findall(r"<[\w|]+>", prompt.text) == [
        "<filename>",
        "<fim_prefix>",
        "<fim_suffix>",
        "<fim_middle>",
    ]
    assert "< fim_middle>" in prompt.text


@pytest.mark.parametrize("family", [*FAMILIES, PLAIN], ids=lambda family: family.name)
def test_every_token_of_a_family_is_defused(family: Family) -> None:
    text = "a" + "b".join(family.special_tokens) + "c\n"
    shown = build_prompt(context_of(text + "<cursor>"), family=family).text
    bare = build_prompt(context_of("a\n<cursor>"), family=family).text
    for token in family.special_tokens:
        assert shown.count(token) == bare.count(token)


@pytest.mark.parametrize(
    ("drawn", "single_line", "stops_at_line_end"),
    [
        pytest.param("foo(<cursor>)\n", True, True, id="in the middle of a line"),
        pytest.param("foo(<cursor>)\n", False, False, id="a block"),
        pytest.param("def f():<cursor>\n", True, False, id="the reply may begin with a new line"),
        pytest.param("def f():<cursor>  \n", True, False, id="only space follows"),
    ],
)
def test_stop_sequences(drawn: str, single_line: bool, stops_at_line_end: bool) -> None:
    stops = prompt_of(drawn, "deepseek", single_line=single_line).stop_sequences
    assert ("\n" in stops) == stops_at_line_end
    assert "\n\n" not in stops
    assert len(stops) <= 4
    assert "<｜end▁of▁sentence｜>" in stops


def test_recorded_prompts() -> None:
    # What we do otherwise on purpose: the rest of the cursor's line is told, what would be a blank
    # prompt has the path in it, and models that chat, such as `gpt-4o`, are told in words what to
    # write unless their API continues text. Of a name alone we say nothing.
    rows = [
        row
        for row in extra_cases("cases/fim_prompts.jsonl")
        if not any(each.get("symbol") for each in row["snippets"])
    ]
    for row in rows:
        before, _, after = row["document_with_cursor"].partition("█")
        document = Document.open("file:///x", row["language"], 1, before + after)
        prompt = build_prompt(
            context_at(document, len(before), path=row["path"], windows=WINDOWS),
            [Excerpt(path=each["path"], text=each["content"]) for each in row["snippets"]],
            family=replace(family_of(row["model"]), line_suffix=False),
            repository=row["repo_name"],
            budget_chars=row["prompt_chars"],
        )
        expected = row["messages"][0]["text"]
        assert prompt.text == (expected if expected.strip() else f"// Path: {row['path']}\n\n")
    assert rows
