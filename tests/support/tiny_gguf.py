"""Model files of some 100 KB, for the real engine and for the reader of their heads.

    file.write_bytes(tiny_model(tokens=("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")))

Such a model looks at nothing but the last token: after a token of `answers` it says that text, and
after any other `PLAIN`; then it ends.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

PLAIN = "plain"
WIDTH = 32
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
U32, I32, F32, STRING, ARRAY, U64 = 4, 5, 6, 8, 9, 10


def text(value: str, order: str = "<") -> bytes:
    encoded = value.encode()
    return struct.pack(order + "Q", len(encoded)) + encoded


def entry(key: str, value: Any, order: str = "<") -> bytes:
    """One entry of a head; the kind follows from the value's type."""
    return text(key, order) + _value(value, order)


def head(
    entries: Mapping[str, Any], *, version: int = 3, tensors: int = 0, order: str = "<"
) -> bytes:
    """A head with these entries, which a value may also be written out as bytes."""
    counts = struct.pack(order + "IQQ", version, tensors, len(entries))
    return b"GGUF" + counts + b"".join(entry(key, value, order) for key, value in entries.items())


def vocabulary(*tokens: str, **numbers: int) -> dict[str, Any]:
    """The entries that a head has for these tokens; `numbers` name some of them by number."""
    named = {f"tokenizer.ggml.{purpose}_token_id": number for purpose, number in numbers.items()}
    return {"tokenizer.ggml.tokens": list(tokens), **named}


def tiny_model(
    tokens: Sequence[str] = (),
    *,
    answers: Mapping[str, str] | None = None,
    name: str = "tiny",
    **numbers: str,
) -> bytes:
    """A model whose vocabulary holds `tokens`; `numbers` name the keys that point at some."""
    answers = dict(answers or {})
    plain = [PLAIN, *answers.values()]
    words: list[tuple[str, int]] = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
    words += [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
    words += [(f"\u2581{word}", NORMAL) for word in plain] + [(word, NORMAL) for word in plain]
    words += [(token, CONTROL) for token in tokens]
    index = {word: number for number, (word, _) in enumerate(words)}

    # One direction for each thing that comes next.
    said = [PLAIN, *answers.values(), "</s>"]
    embedding = [_direction(0)] * len(words)
    for token, word in answers.items():
        embedding[index[token]] = _direction(said.index(word))
    for word in plain:
        embedding[index[word]] = embedding[index[f"\u2581{word}"]] = _direction(len(said) - 1)
    output = [[0.0] * WIDTH] * len(words)
    for number, word in enumerate(said):
        output[index[word]] = _direction(number)

    square = [[0.0] * WIDTH] * WIDTH
    tensors: dict[str, list[list[float]]] = {
        "token_embd.weight": embedding,
        "output_norm.weight": [[1.0] * WIDTH],
        "output.weight": output,
        "blk.0.attn_norm.weight": [[1.0] * WIDTH],
        "blk.0.ffn_norm.weight": [[1.0] * WIDTH],
        **{f"blk.0.attn_{part}.weight": square for part in ("q", "k", "v", "output")},
        **{f"blk.0.ffn_{part}.weight": square for part in ("gate", "up", "down")},
    }
    entries = {
        "general.architecture": "llama",
        "general.name": name,
        "general.alignment": 32,
        "llama.vocab_size": len(words),
        "llama.context_length": 4096,
        "llama.embedding_length": WIDTH,
        "llama.block_count": 1,
        "llama.feed_forward_length": WIDTH,
        "llama.attention.head_count": 2,
        "llama.attention.head_count_kv": 2,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": WIDTH // 2,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": [word for word, _ in words],
        "tokenizer.ggml.scores": [-float(number) for number in range(len(words))],
        "tokenizer.ggml.token_type": [kind for _, kind in words],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_space_prefix": False,
        **{f"tokenizer.ggml.{key}_token_id": index[token] for key, token in numbers.items()},
    }
    infos, data = b"", b""
    for tensor, rows in tensors.items():
        sizes = (WIDTH,) if tensor.endswith("norm.weight") else (WIDTH, len(rows))
        infos += text(tensor) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, 0, len(data))
        data += b"".join(struct.pack(f"<{WIDTH}f", *row) for row in rows)
    start = head(entries, tensors=len(tensors)) + infos
    return start + bytes(-len(start) % 32) + data


def _direction(number: int) -> list[float]:
    return [float(number == place) for place in range(WIDTH)]


def _value(value: Any, order: str) -> bytes:
    match value:
        case bytes():
            return value
        case bool():
            return struct.pack(order + "I?", 7, value)
        case int():
            return struct.pack(order + "II", U32, value)
        case float():
            return struct.pack(order + "If", F32, value)
        case str():
            return struct.pack(order + "I", STRING) + text(value, order)
        case [str(), *_]:
            counts = struct.pack(order + "IIQ", ARRAY, STRING, len(value))
            return counts + b"".join(text(part, order) for part in value)
        case [float(), *_]:
            return struct.pack(f"{order}IIQ{len(value)}f", ARRAY, F32, len(value), *value)
        case _:
            return struct.pack(f"{order}IIQ{len(value)}i", ARRAY, I32, len(value), *value)
