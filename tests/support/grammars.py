"""With and without grammars: what stages do has to hold both ways."""

from importlib.util import find_spec

import pytest

from lsp_completions.grammars import load
from lsp_completions.pipeline.grammar import Grammar
from lsp_completions.pipeline.languages import language_of

MISSING = "the extra `syntax` is not installed"
NEEDED = pytest.mark.skipif(find_spec("tree_sitter") is None, reason=MISSING)

BOTH = pytest.mark.parametrize(
    "parsed",
    [
        pytest.param(False, id="by brackets and indentation"),
        pytest.param(True, id="with a grammar", marks=NEEDED),
    ],
)


def grammar_of(language: str) -> Grammar:
    """A language's grammar."""
    grammar = load(language_of(language))
    assert grammar is not None, language
    return grammar
