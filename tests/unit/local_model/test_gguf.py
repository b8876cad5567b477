"""Reading which tokens a model file has to fill in the middle with."""

import struct
from pathlib import Path
from typing import Any

import pytest

from lsp_completions.local_model import gguf
from lsp_completions.local_model.gguf import MOST_ENTRIES, NAMES, fim_tokens
from lsp_completions.pipeline.templates import FimTokens
from tests.support.tiny_gguf import entry, head, text, tiny_model, vocabulary

HUGE = 2**63
WORDS = ("<unk>", "a", "b")
QWEN = NAMES[0]


def read(tmp_path: Path, content: bytes) -> FimTokens | None:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    return fim_tokens(file)


def three(tokens: FimTokens | None) -> tuple[str, str, str]:
    assert tokens is not None
    return tokens.prefix, tokens.suffix, tokens.middle


# ---- what files say


@pytest.mark.parametrize("names", NAMES, ids=lambda names: names[0])
def test_named_as_usual(tmp_path: Path, names: tuple[str, str, str]) -> None:
    assert three(read(tmp_path, head(vocabulary(*WORDS, *reversed(names), "c")))) == names


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param({"fim_pre": 5, "fim_suf": 3, "fim_mid": 4}, id="today's keys"),
        pytest.param({"prefix": 5, "suffix": 3, "middle": 4}, id="older keys"),
        pytest.param(
            {"fim_pre": 5, "fim_suf": 3, "fim_mid": 4, "prefix": 0, "suffix": 1, "middle": 2},
            id="today's before older ones",
        ),
        pytest.param(
            {"fim_pre": 5, "fim_suf": 3, "prefix": 5, "suffix": 3, "middle": 4},
            id="today's are not all there",
        ),
    ],
)
@pytest.mark.parametrize("others", [(), QWEN], ids=["of its own", "beside usual ones"])
def test_named_by_number(tmp_path: Path, keys: dict[str, int], others: tuple[str, ...]) -> None:
    tokens = (*WORDS, "[after]", "[now]", "[before]", *others)
    assert three(read(tmp_path, head(vocabulary(*tokens, **keys)))) == (
        "[before]",
        "[after]",
        "[now]",
    )


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param({"fim_pre": 1, "fim_suf": 2, "fim_mid": 99}, id="beyond the vocabulary"),
        pytest.param({"fim_pre": 1, "fim_suf": 1, "fim_mid": 2}, id="one token twice"),
        pytest.param({"fim_pre": 1, "fim_suf": 3, "fim_mid": 2}, id="an empty token"),
        pytest.param({"fim_pre": 1, "fim_suf": 4, "fim_mid": 2}, id="a token that is a page long"),
    ],
)
def test_numbers_that_cannot_be(tmp_path: Path, keys: dict[str, int]) -> None:
    tokens = ("<unk>", "a", "b", "", "x" * 4000)
    assert three(read(tmp_path, head(vocabulary(*tokens, **keys)))) == ("", "", "")


def test_numbers_before_the_vocabulary(tmp_path: Path) -> None:
    entries = vocabulary("a", "b", "c", fim_pre=0, fim_suf=1, fim_mid=2)
    assert three(read(tmp_path, head(dict(reversed(entries.items()))))) == ("a", "b", "c")


def test_a_model_without(tmp_path: Path) -> None:
    assert three(read(tmp_path, head(vocabulary(*WORDS, *QWEN[:2])))) == ("", "", "")


def test_other_tokens_and_the_name(tmp_path: Path) -> None:
    entries = {"general.name": "Qwen2.5 Coder", **vocabulary(*WORDS, *QWEN, "<|file_sep|>")}
    tokens = read(tmp_path, head(entries))
    assert tokens is not None
    assert set(tokens.others) == {*QWEN, "<|file_sep|>"}
    assert tokens.model_name == "Qwen2.5 Coder"


@pytest.mark.parametrize(
    ("version", "order"),
    [
        pytest.param(2, "<", id="version 2"),
        pytest.param(3, "<", id="version 3"),
        pytest.param(3, ">", id="big-endian"),
    ],
)
def test_versions(tmp_path: Path, version: int, order: str) -> None:
    entries = {
        "general.name": "x",
        "numbers": [1.0, 2.0],
        "more": [1, 2],
        "rate": 0.5,
        "flag": True,
        **vocabulary(*WORDS, *QWEN),
    }
    assert three(read(tmp_path, head(entries, version=version, order=order))) == QWEN


def test_a_whole_model(tmp_path: Path) -> None:
    assert three(read(tmp_path, tiny_model(QWEN))) == QWEN


# ---- what is none, and what somebody made to do harm

WHOLE = head(vocabulary(*WORDS, *QWEN, fim_pre=3, fim_suf=4, fim_mid=5))


def odd(value: bytes) -> bytes:
    return head({"odd": value, **vocabulary(*WORDS, *QWEN)})


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GGUF", id="four letters"),
        pytest.param(b"GGUF" + bytes(1000), id="zeros"),
        pytest.param(b"#!/bin/sh\necho no model\n", id="another kind of file"),
        pytest.param(head(vocabulary(*QWEN), version=1), id="version 1"),
        pytest.param(head(vocabulary(*QWEN), version=4), id="a version to come"),
        pytest.param(head({"general.name": "x"}), id="no vocabulary"),
        pytest.param(b"GGUF" + struct.pack("<IQQ", 3, 0, HUGE), id="countless entries"),
        pytest.param(
            b"GGUF"
            + struct.pack("<IQQ", 3, 0, MOST_ENTRIES + 1)
            + entry("x", 1) * (MOST_ENTRIES + 1),
            id="more entries than anybody needs",
        ),
        pytest.param(
            b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, HUGE) + bytes(100), id="an endless key"
        ),
        pytest.param(odd(struct.pack("<IQ", 8, HUGE)), id="an endless text"),
        pytest.param(odd(struct.pack("<IIQ", 9, 8, HUGE)), id="countless texts"),
        pytest.param(
            odd(struct.pack("<IIQ", 9, 8, 10**9)) + bytes(10**6), id="a billion empty texts"
        ),
        pytest.param(odd(struct.pack("<IIQ", 9, 4, HUGE)), id="countless numbers"),
        pytest.param(odd(struct.pack("<IIQIQ", 9, 9, HUGE, 9, HUGE)), id="arrays of arrays"),
        pytest.param(odd(struct.pack("<I", 77)), id="an unknown kind"),
        *(
            pytest.param(WHOLE[:size], id=f"cut off at {size}")
            for size in range(8, len(WHOLE), len(WHOLE) // 12)
        ),
    ],
)
def test_nothing_that_could_be_read(tmp_path: Path, content: bytes) -> None:
    assert read(tmp_path, content) is None


@pytest.mark.parametrize("most", ["MOST_ENTRIES", "MOST_STRINGS", "MOST_BYTES"])
def test_no_more_is_read_than_any_model_has(
    tmp_path: Path, most: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gguf, most, 3)
    assert read(tmp_path, WHOLE) is None


def test_no_file(tmp_path: Path) -> None:
    assert fim_tokens(tmp_path / "none.gguf") is None
    assert fim_tokens(tmp_path) is None


def test_tokens_that_are_no_text(tmp_path: Path) -> None:
    entries: dict[str, Any] = vocabulary(*WORDS, fim_pre=0, fim_suf=1, fim_mid=2)
    wild = struct.pack("<IIQ", 9, 8, 3) + (struct.pack("<Q", 2) + b"\xff\xfe") * 3
    assert three(read(tmp_path, head({**entries, "tokenizer.ggml.tokens": wild}))) == ("", "", "")


def test_keys_that_are_no_text(tmp_path: Path) -> None:
    content = head({"k": 1, **vocabulary(*WORDS, *QWEN)})
    assert three(read(tmp_path, content.replace(text("k"), struct.pack("<Q", 1) + b"\xff"))) == QWEN
