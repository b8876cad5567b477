"""Special tokens of models: where one appears, the model has finished, whatever follows it.

A marker that the document itself contains is text there: a file about tokenizers may be completed.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from lsp_completions.pipeline.context import CursorContext

LONGEST = 64  # characters; the longest marker known has 26

# One pattern for the models of today and, as they are all built alike, those of tomorrow.
_ANY = (
    r"<\|/?[A-Za-z][A-Za-z0-9_-]{1,40}\|>",  # StarCoder 2, Qwen, Llama 3, Phi and many more
    r"<｜[^｜<>\n]{1,40}｜>",  # DeepSeek
    r"<fim_(?:prefix|middle|suffix|pad)>",  # StarCoder
    r"<file_sep>",
    r"<(?:end|start)_of_turn>",  # Gemma
    r"\[/?INST\]",  # Mistral
    r"[ ▁]?<EOT>",  # Code Llama writes it after a space
)
# The same letters are tags in markup.
_NOT_IN_MARKUP = (
    r"</s>",
    r"[ ▁]?<(?:PRE|SUF|MID)>",
    # What stands between the files StarCoder has learnt from.
    r"<(?:repo_?name|gh_stars|empty_output|(?:issue|jupyter|commit)_[a-z]{2,9})>",
    r"<(?:eos|bos|EOD)>",
)
_MARKUP = frozenset(
    [
        "html",
        "xml",
        "erb",
        "razor",
        "twig",
        "vue",
        "svelte",
        "astro",
        "markdown",
        "javascriptreact",
        "typescriptreact",
        "php",
    ]
)


class Marker(NamedTuple):
    """A special token in a text. `opens` tells one that a prompt ends with."""

    start: int
    end: int
    opens: bool


def find_marker(text: str, context: CursorContext, more: tuple[str, ...] = ()) -> Marker | None:
    """The first marker of `text`. `more` are those of the model asked, beside the usual ones."""
    if "<" not in text and "[" not in text and not more:
        return None
    for found in _pattern(context.language.id in _MARKUP, more).finditer(text):
        if found[0] in context.prefix or found[0] in context.suffix:
            continue
        if found[0] == "</s>" and "<s>" in text[: found.start()]:
            continue
        return Marker(found.start(), found.end(), _OPENS.search(found[0]) is not None)
    return None


def without_markers(text: str, context: CursorContext) -> str:
    """The text up to its first marker, less one it begins with because its prompt ended so."""
    while (marker := find_marker(text, context)) is not None:
        if not marker.opens or text[: marker.start].strip():
            return text[: marker.start]
        text = text[marker.end :]
    return text


def without_unfinished_marker(text: str) -> str:
    """The text without a marker that was cut off at its end."""
    return _UNFINISHED.sub("", text)


def as_tuple(markers: Iterable[str]) -> tuple[str, ...]:
    """Markers of one model, longest first, without those that are only white space."""
    return tuple(sorted({m.strip() for m in markers if m.strip()}, key=len, reverse=True))


@lru_cache(maxsize=32)
def _pattern(markup: bool, more: tuple[str, ...]) -> re.Pattern[str]:
    patterns = [*map(re.escape, more), *_ANY, *(() if markup else _NOT_IN_MARKUP)]
    return re.compile("|".join(patterns))


_UNFINISHED = re.compile(r"<(?:\|[A-Za-z0-9_-]*\|?|｜[^｜<>\n]*｜?|fim_[a-z]*)$")
# What a prompt ends with, as opposed to what an answer ends with.
_OPENS = re.compile(r"fim.(?:middle|end)|MID|begin.of|start")
