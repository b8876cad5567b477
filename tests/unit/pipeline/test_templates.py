import pytest

from lsp_completions.pipeline.prompt import MOST_STOP_SEQUENCES
from lsp_completions.pipeline.templates import FAMILIES, PLAIN, Family, family_of


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
