import pytest

from lsp_completions.pipeline.prompt import MOST_STOP_SEQUENCES
from lsp_completions.pipeline.templates import (
    FAMILIES,
    PLAIN,
    Family,
    FimTokens,
    family_of,
    family_with,
)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("fireworks/starcoder-16b", "StarCoder"),
        ("starcoder2:3b", "StarCoder"),
        ("fireworks::v1::deepseek-coder-v2-lite-base", "DeepSeek-Coder"),
        ("DeepSeek-Coder-6.7B", "DeepSeek-Coder"),
        ("code-qwen-7b-v2p5", "CodeQwen"),
        ("qwen2.5-coder:7b", "CodeQwen"),
        ("accounts/fireworks/models/qwen2p5-coder-32b", "CodeQwen"),
        ("codellama-7b", "CodeLlama"),
        ("fireworks/llama-code-13b", "CodeLlama"),
        ("phind-codellama-34b-deepseek", "CodeLlama"),
        ("codegemma", "CodeGemma"),
        ("mistral/codestral-latest", "Codestral"),
        ("gpt-4o", "plain continuation"),
        ("smollm2", "plain continuation"),
        ("", "plain continuation"),
    ],
)
def test_family_of(model: str, family: str) -> None:
    assert family_of(model).name == family


@pytest.mark.parametrize("family", [*FAMILIES, PLAIN], ids=lambda family: family.name)
def test_stop_sequences_are_single_tokens_and_few(family: Family) -> None:
    assert 1 <= len(family.stop_sequences) <= MOST_STOP_SEQUENCES
    assert set(family.stop_sequences) <= set(family.special_tokens)
    # Two tokens in one string would never be met.
    assert all(stop.count("<") + stop.count("[") <= 1 for stop in family.stop_sequences)
    # A white one stops at every blank line, and some providers drop it.
    assert all(stop.strip() for stop in family.stop_sequences)


PIPES = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
UNDERLINED = ("<fim_prefix>", "<fim_suffix>", "<fim_middle>")
DEEPSEEK = ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>")
NONE = ("", "", "")


@pytest.mark.parametrize(
    ("own", "others", "name", "family"),
    [
        pytest.param(PIPES, ("<|file_sep|>", "<|repo_name|>"), "notes", "CodeQwen", id="Qwen"),
        pytest.param(PIPES, (), "codegemma-2b", "CodeGemma", id="shared tokens, by name"),
        pytest.param(PIPES, (), "notes", "its own tokens", id="shared tokens, no name"),
        pytest.param(
            PIPES, (), "qwen2.5-coder", "its own tokens", id="a name whose other tokens are missing"
        ),
        pytest.param(DEEPSEEK, (), "notes", "DeepSeek-Coder", id="tokens of one family alone"),
        pytest.param(DEEPSEEK, (), "qwen2.5-coder", "DeepSeek-Coder", id="a wrong name"),
        pytest.param(UNDERLINED, ("<filename>",), "notes", "StarCoder", id="StarCoder"),
        pytest.param(UNDERLINED, (), "starcoder2-3b", "its own tokens", id="no token for paths"),
        pytest.param(("A", "B", "C"), (), "starcoder", "its own tokens", id="unknown tokens"),
        pytest.param(NONE, (), "qwen2.5-coder", "plain continuation", id="a name without tokens"),
        pytest.param(
            NONE, ("[SUFFIX]", "[PREFIX]"), "Codestral-22B", "Codestral", id="Codestral, by name"
        ),
        pytest.param(
            NONE, ("[SUFFIX]", "[PREFIX]"), "Nemo", "plain continuation", id="its tokens, untaught"
        ),
    ],
)
@pytest.mark.parametrize("told_by", ["the file's name", "the file"])
def test_family_with(
    own: tuple[str, str, str], others: tuple[str, ...], name: str, family: str, told_by: str
) -> None:
    prefix, suffix, middle = own
    written = name if told_by == "the file" else ""
    tokens = FimTokens(
        prefix=prefix,
        suffix=suffix,
        middle=middle,
        others=(*filter(None, own), *others),
        model_name=written,
    )
    assert family_with(tokens, "" if written else name).name == family


def test_own_tokens_of_any_form() -> None:
    own = family_with(FimTokens(prefix="{0}", suffix="}{prefix}{", middle="{{"))
    text = own.template.format(
        repository="", path="a.py", excerpts="# e\n\n", prefix="x = ", suffix="\n"
    )
    assert text == "{0}# e\n\nx = }{prefix}{\n{{"
    assert own.takes_suffix
    assert {"{0}", "}{prefix}{", "{{"} <= set(own.special_tokens)
