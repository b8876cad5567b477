import re

import pytest

from lsp_completions.pipeline.chats import CHATS, family_for, sounds_like_chat
from lsp_completions.pipeline.prompt import (
    MOST_STOP_SEQUENCES,
    Excerpt,
    Prompt,
    Speaker,
    build_prompt,
)
from lsp_completions.pipeline.templates import FAMILIES, PLAIN, Family
from tests.support.cursor import context_of

EXCERPTS = (
    Excerpt(path="lib/one.py", text="ONE = 1"),
    Excerpt(path="lib/two.py", text="class Two: ..."),
)
EVERY_FAMILY = [*FAMILIES, PLAIN, *CHATS]


def prompt_of(
    drawn: str,
    model: str = "gpt-4o",
    excerpts: tuple[Excerpt, ...] = (),
    *,
    repository: str | None = None,
    single_line: bool = False,
) -> Prompt:
    return build_prompt(
        context_of(drawn),
        excerpts,
        family=family_for(model),
        repository=repository,
        single_line=single_line,
    )


def begun(drawn: str, model: str) -> str | None:
    """How the answer begins, where it is begun."""
    asked, *answer = prompt_of(drawn, model).turns
    assert asked.speaker is Speaker.HUMAN
    assert [turn.speaker for turn in answer] in ([], [Speaker.ASSISTANT])
    return answer[0].text if answer else None


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("anthropic/claude-3-haiku-20240307", "Claude"),
        ("anthropic::2023-06-01::claude-3.5-sonnet", "Claude"),
        ("anthropic/claude-instant-1.2", "Claude"),
        ("anthropic/claude-2.1", "Claude"),
        ("anthropic.claude-v2", "Claude"),
        ("anthropic.claude-sonnet-4-20250514-v1:0", "Claude"),
        ("anthropic/claude-sonnet-4-latest", "Claude"),
        ("google/claude-sonnet-4@20250514", "Claude"),
        ("claude-haiku-4-5-20251001", "Claude"),
        ("claude-opus-4.5", "Claude"),
        ("claude-opus-4-6", "Claude 4.6 and later"),
        ("claude-sonnet-4.6", "Claude 4.6 and later"),
        ("claude-opus-4-10-20270101", "Claude 4.6 and later"),
        ("claude-sonnet-5", "Claude 4.6 and later"),
        ("anthropic/claude-3-7-sonnet-extended-thinking", "Claude 4.6 and later"),
        ("claude-of-tomorrow", "Claude 4.6 and later"),
        ("openai/gpt-4.1-nano", "OpenAI"),
        ("gpt-3.5-turbo", "OpenAI"),
        ("azure-openai/our-deployment", "OpenAI"),
        ("openai::2024-02-01::our-deployment", "OpenAI"),
        ("openai/o3-mini", "OpenAI, reasoning"),
        ("o1", "OpenAI, reasoning"),
        ("openai/gpt-5-nano", "OpenAI, reasoning"),
        ("google/gemini-2.5-flash", "Gemini"),
        ("mistral/mistral-large-latest", "Chat"),
        ("mixtral-8x22b", "Chat"),
        ("meta/Llama-3.3-70B", "Chat"),
        ("deepseek-chat", "Chat"),
        ("qwen2.5-72b-instruct", "Chat"),
        ("fireworks/mixtral-8x7b-instruct", "One message"),
        ("fireworks::v1::llama-v3p1-70b-instruct", "One message"),
        ("openaicompatible/claude-3-haiku", "One message"),
        # These continue text, though some of them chat as well.
        ("fireworks/deepseek-coder-v2-lite-base", "DeepSeek-Coder"),
        ("deepseek-coder-6.7b-instruct", "DeepSeek-Coder"),
        ("qwen2.5-coder-32b-instruct", "CodeQwen"),
        ("codellama-34b-instruct", "CodeLlama"),
        ("starchat-16b", "StarCoder"),
        ("mistral/codestral-latest", "Codestral"),
        ("granite-8b-code-instruct", "StarCoder"),
        ("llama-3-8b-base", "plain continuation"),
        ("openaicompatible/our-model", "plain continuation"),
        ("smollm2", "plain continuation"),
        ("", "plain continuation"),
    ],
)
def test_family_for(model: str, family: str) -> None:
    assert family_for(model).name == family
    assert sounds_like_chat(model) == (family_for(model).reply is not None)


@pytest.mark.parametrize(
    ("model", "chats", "family"),
    [
        pytest.param("our-model", True, "Chat", id="a name that says nothing"),
        pytest.param("deepseek-coder-v2", True, "Chat", id="a name that says otherwise"),
        pytest.param("openaicompatible/our-model", True, "One message", id="on another server"),
        pytest.param("gpt-4o", False, "plain continuation", id="an API that only continues"),
        pytest.param("qwen3-instruct", False, "CodeQwen", id="one that can do both"),
    ],
)
def test_what_is_known_counts_more_than_the_name(model: str, chats: bool, family: str) -> None:
    assert family_for(model, chats=chats).name == family


def test_the_whole_text() -> None:
    prompt = prompt_of(
        "def f(a, b):\n    return <cursor>\n\nf(1, 2)\n", "gpt-4o", EXCERPTS, repository="h/you/app"
    )
    assert prompt.text == (
        "Someone is typing in an editor, and you suggest what comes next. "
        "This is what they have open:\n"
        "\n"
        "Path: x\n"
        "Repository: h/you/app\n"
        "Language: python\n"
        "\n"
        "<other-code>\n"
        "Path: lib/one.py\n"
        "ONE = 1\n"
        "</other-code>\n"
        "\n"
        "<other-code>\n"
        "Path: lib/two.py\n"
        "class Two: ...\n"
        "</other-code>\n"
        "\n"
        "<open-file>\n"
        "def f(a, b):\n"
        "    return <cursor-here/>\n"
        "\n"
        "f(1, 2)\n"
        "\n"
        "</open-file>\n"
        "\n"
        "Their cursor is at <cursor-here/>. Write what completes the line of the mark and the "
        "block it belongs to, and end there: a few lines, not the rest of the file.\n"
        "Your suggestion takes the place of the mark, and nothing else changes: begin in the "
        "middle of the line if the mark is there, with a line break only if a new line has to "
        "begin, and leave out all that the file already says before and after the mark. "
        "Use its names, its style and its indentation.\n"
        "Answer with the suggestion between <missing-code> and </missing-code>, without a fence "
        "and without a word about it. If nothing is missing, put nothing between them."
    )
    assert [turn.text for turn in prompt.turns] == [prompt.text]
    assert prompt.stop_sequences == ("</missing-code>",)
    assert prompt.excerpts == EXCERPTS


def test_the_model_is_told_in_words_when_only_the_line_is_wanted() -> None:
    line = prompt_of("foo(<cursor>)\n", single_line=True)
    assert "Only the line of the mark matters" in line.text
    assert "\n" not in line.stop_sequences
    assert "Only the line" not in prompt_of("foo(<cursor>)\n").text


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        pytest.param("x = <cursor>\n", "<missing-code>x =", id="the line, without its last space"),
        pytest.param("def f():\n    ret<cursor>", "<missing-code>ret", id="without indentation"),
        pytest.param("def f():\n    <cursor>", "<missing-code>", id="a blank line"),
        pytest.param("<cursor>", "<missing-code>", id="an empty document"),
        pytest.param("x" * 300 + "<cursor>", "<missing-code>", id="a line too long to repeat"),
        pytest.param(
            "t = '</missing-code>'<cursor>", "<missing-code>t = '< /missing-code>'", id="our tag"
        ),
    ],
)
def test_how_the_answer_begins(drawn: str, text: str) -> None:
    assert begun(drawn, "claude-3-haiku") == text
    assert begun(drawn, "claude-opus-4-6") is None
    assert begun(drawn, "gpt-4o") is None


def test_what_continues_text_has_no_turns() -> None:
    prompt = prompt_of("x = <cursor>", "deepseek-coder")
    assert (prompt.turns, prompt.reply) == ((), None)


def test_our_tags_in_the_document_are_no_tags_in_the_prompt() -> None:
    tags = "<missing-code></missing-code><cursor-here/><open-file></open-file></other-code>"
    excerpt = Excerpt(path="</other-code>", text=tags)
    drawn = f"{tags}\n{tags}<cursor>{tags}\n"
    shown = prompt_of(drawn, "claude-3-haiku", (excerpt,), repository=tags)
    bare = prompt_of("a<cursor>b", "claude-3-haiku", (Excerpt(path="a", text="b"),))
    tag = re.compile(r"</?(?:missing-code|cursor-here|open-file|other-code)/?>")
    assert tag.findall(shown.text) == tag.findall(bare.text)
    assert tag.findall(shown.turns[-1].text) == ["<missing-code>"]


CODE = "".join(f"def f{n}(value):\n    return value + {n}\n\n" for n in range(300))


@pytest.mark.parametrize("family", CHATS, ids=lambda family: family.name)
@pytest.mark.parametrize("before", [CODE, CODE + "    x = " + "a + " * 30, "x = [" + "1, " * 3000])
@pytest.mark.parametrize("budget", [1500, 3000, 6272])
def test_all_turns_together_are_shorter_than_the_budget(
    family: Family, before: str, budget: int
) -> None:
    context = context_of(before + "<cursor>" + CODE)
    prompt = build_prompt(
        context, EXCERPTS, family=family, repository="h/r", budget_chars=budget, single_line=True
    )
    assert sum(len(turn.text) for turn in prompt.turns) < budget
    assert context.prefix[-20:] + "<cursor-here/>" + context.suffix[:5] in prompt.text


@pytest.mark.parametrize("drawn", ["<cursor>", " \n\t<cursor>\n  ", "x = <cursor>"])
@pytest.mark.parametrize("family", CHATS, ids=lambda family: family.name)
def test_turns_are_as_apis_want_them(family: Family, drawn: str) -> None:
    prompt = build_prompt(context_of(drawn), family=family)
    speakers = [turn.speaker for turn in prompt.turns]
    assert speakers == [Speaker.HUMAN, Speaker.ASSISTANT][: len(speakers)]
    assert all(turn.text == turn.text.strip() != "" for turn in prompt.turns)
    if family.name == "One message":
        assert len(speakers) == 1


@pytest.mark.parametrize("family", EVERY_FAMILY, ids=lambda family: family.name)
@pytest.mark.parametrize("single_line", [False, True])
def test_stop_sequences_are_few_and_none_is_white_space_for_a_chat(
    family: Family, single_line: bool
) -> None:
    prompt = build_prompt(context_of("f(<cursor>)"), family=family, single_line=single_line)
    assert len(prompt.stop_sequences) <= MOST_STOP_SEQUENCES
    assert len(set(prompt.stop_sequences)) == len(prompt.stop_sequences)
    if family.reply is not None:
        assert all(stop.strip() for stop in prompt.stop_sequences)


def test_what_an_api_refuses_is_not_asked_for() -> None:
    reasoning = prompt_of("x<cursor>", "o3")
    assert (reasoning.temperature, reasoning.stop_sequences) == (None, ())
    assert prompt_of("x<cursor>", "claude-opus-4-7").temperature is None
    assert prompt_of("x<cursor>", "claude-haiku-4-5").temperature == 0.2
    assert prompt_of("x<cursor>", "deepseek-coder").temperature == 0.2
