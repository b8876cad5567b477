"""On code nobody wrote for these tests: the true continuation comes out as it is, and so it does
when the model runs on into what stands below the cursor already.

Rows say what must happen; this counts how often it does, on the standard library.
"""

import argparse
import ast
import configparser
import json.decoder
import random
import re
import shutil
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from lsp_completions.pipeline.context import Windows, context_at
from lsp_completions.pipeline.document import Document
from tests.support.cursor import apply
from tests.support.pipeline import suggested

MODULES = (argparse, json.decoder, random, re, shutil, textwrap, configparser)
WINDOWS = Windows(prefix_chars=4300, suffix_chars=716)
RUN_ON = 1500  # characters of what follows, said again

Hole = tuple[int, int]


def source_of(module: ModuleType) -> str:
    assert module.__file__ is not None
    return Path(module.__file__).read_text(encoding="utf-8")


def lines_from_the_middle(source: str, chance: random.Random) -> Iterator[Hole]:
    """From some word of a line to its end."""
    for line in re.finditer(r"^.*\S.*$", source, re.MULTILINE):
        places = [found.start() for found in re.finditer(r"\w+|[^\w\s]", line[0])]
        yield line.start() + chance.choice(places), line.end()


def parts_of_lines(source: str, chance: random.Random) -> Iterator[Hole]:
    """A few words with others before and after them."""
    for line in re.finditer(r"^.*\w.*$", source, re.MULTILINE):
        words = [found.span() for found in re.finditer(r"\w+", line[0])]
        first = chance.randrange(len(words))
        last = chance.randrange(first, len(words))
        yield line.start() + words[first][0], line.start() + words[last][1]


def bodies(source: str, chance: random.Random) -> Iterator[Hole]:
    """The body of a function, loop or condition."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.For | ast.If | ast.While | ast.With):
            continue
        first, last = node.body[0], node.body[-1]
        header = lines[first.lineno - 2]
        if not header.rstrip().endswith(":") or last.end_lineno is None:
            continue
        if last.end_lineno - first.lineno > 40:
            continue
        start = sum(map(len, lines[: first.lineno - 1]))
        end = sum(map(len, lines[: last.end_lineno])) - 1
        yield start + first.col_offset, end
        yield start - 1, end


@pytest.mark.parametrize("run_on", [0, RUN_ON], ids=["true text alone", "running on"])
@pytest.mark.parametrize(
    ("holes", "share"),
    [
        pytest.param(lines_from_the_middle, 0.99, id="ends of lines"),
        pytest.param(parts_of_lines, 0.97, id="parts of lines"),
        pytest.param(bodies, 0.97, id="bodies"),
    ],
)
def test_the_true_text_comes_out(
    holes: Callable[[str, random.Random], Iterator[Hole]], share: float, run_on: int
) -> None:
    chance = random.Random(7)
    wrong = []
    total = 0
    for module in MODULES:
        source = source_of(module)
        found = list(holes(source, chance))
        for start, end in chance.sample(found, min(30, len(found))):
            before, true_text, after = source[:start], source[start:end], source[end:]
            document = Document.open("file:///x.py", "python", 1, before + after)
            context = context_at(document, start, path="x.py", windows=WINDOWS)
            edit = suggested(context, true_text + after[:run_on])
            total += 1
            if apply(before + after, edit) != source:
                wrong.append((before[-80:], true_text, edit))
    assert total > 100
    assert 1 - len(wrong) / total >= share, "\n".join(map(repr, wrong))
