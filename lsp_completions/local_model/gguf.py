"""Which tokens a model has to fill in the middle with: the head of a GGUF file, read.

The engine knows, but tells over HTTP neither the numbers nor the texts of these tokens. A file may
be anybody's, so nothing in it is trusted: no number in it allocates anything, and what is read of
it is bounded.
"""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

from lsp_completions.pipeline.templates import FRAME_TOKENS, FimTokens

# Far more than any model has; even so much is read within a few seconds.
MOST_ENTRIES = 65_536
MOST_STRINGS = 4_000_000
MOST_BYTES = 512 * 1024 * 1024
LONGEST_TOKEN = 64  # bytes

# The names that llama.cpp looks for in a vocabulary when the file does not name the tokens.
NAMES = (
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    ("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
    ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
    ("▁<PRE>", "▁<SUF>", "▁<MID>"),
    ("<PRE>", "<SUF>", "<MID>"),
    ("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"),
    ("<|prefix|>", "<|suffix|>", "<|middle|>"),
)
# The keys it reads before that: today's, and those of files from before October 2024.
KEYS = (("fim_pre", "fim_suf", "fim_mid"), ("prefix", "suffix", "middle"))

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?"}
_NUMBERS |= {10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_TOKENS = "tokenizer.ggml.tokens"


class Unreadable(Exception):
    """Something other than a GGUF file, a part of one, or one that nobody would make."""


def fim_tokens(file: Path) -> FimTokens | None:
    """The tokens of the model in `file`, empty when it has none; `None` when that is not told.

    Blocks, for some 0.1 s with a large vocabulary.
    """
    try:
        with (
            file.open("rb") as opened,
            mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            head = _Head(data)
            head.read()
    except (OSError, ValueError, struct.error, Unreadable):
        return None
    if not head.tokens:
        return None
    return _named_by_keys(head) or _named_as_usual(head) or _with_others(head)


class _Head:
    """The vocabulary, and which tokens have a purpose."""

    def __init__(self, data: mmap.mmap) -> None:
        self.tokens: list[bytes] = []
        self.purposes: dict[str, int] = {}
        self.name = ""
        self._data = data
        self._at = 4
        self._order = "<"
        self._strings = 0

    def read(self) -> None:
        if self._data[:4] != b"GGUF":
            raise Unreadable
        version = self._number("I")
        if not version & 0xFFFF:  # written on a machine that begins numbers at their other end
            self._order, self._at = ">", 4
            version = self._number("I")
        if version not in (2, 3):
            raise Unreadable
        self._number("Q")  # tensors
        entries = self._number("Q")
        if entries > MOST_ENTRIES:
            raise Unreadable
        for _ in range(entries):
            self._entry()

    def _entry(self) -> None:
        (key,) = self._texts(1)
        name = key.decode(errors="replace")
        match self._number("I"):
            case kind if kind == _STRING:
                (text,) = self._texts(1)
                if name == "general.name":
                    self.name = text[:200].decode(errors="replace")
            case kind if kind == _ARRAY:
                kind, count = self._number("I"), self._number("Q")
                if kind == _STRING:
                    texts = self._texts(count)
                    if name == _TOKENS:
                        self.tokens = list(texts)
                    else:
                        for _ in texts:
                            pass
                else:
                    self._advance(count * struct.calcsize(self._order + _format(kind)))
            case kind:
                value = self._number(_format(kind))
                if name.startswith("tokenizer.ggml.") and name.endswith("_token_id"):
                    purpose = name.removeprefix("tokenizer.ggml.").removesuffix("_token_id")
                    self.purposes[purpose] = value

    def _number(self, kind: str) -> int:
        at = self._at
        self._advance(struct.calcsize(self._order + kind))
        (number,) = struct.unpack_from(self._order + kind, self._data, at)
        return int(number) if kind not in "fd" else 0

    def _texts(self, count: int) -> Iterator[bytes]:
        """The next `count` texts, cut where they are too long to be a token."""
        self._strings += count
        if self._strings > MOST_STRINGS:
            raise Unreadable
        data, length = self._data, struct.Struct(self._order + "Q")
        for _ in range(count):
            (size,) = length.unpack_from(data, self._at)
            at = self._at + length.size
            self._advance(length.size + size)
            yield data[at : at + min(size, 200)]

    def _advance(self, size: int) -> None:
        self._at += size
        if self._at > min(len(self._data), MOST_BYTES):
            raise Unreadable

    def token(self, purpose: str) -> str:
        """The text of the token with a purpose; empty when there is none that could be used."""
        number = self.purposes.get(purpose, -1)
        return _text(self.tokens[number]) if 0 <= number < len(self.tokens) else ""


def _format(kind: int) -> str:
    if kind not in _NUMBERS:
        raise Unreadable
    return _NUMBERS[kind]


def _text(token: bytes) -> str:
    try:
        text = token.decode() if len(token) <= LONGEST_TOKEN else ""
    except UnicodeDecodeError:
        return ""
    return text if text.strip() else ""


def _named_by_keys(head: _Head) -> FimTokens | None:
    for keys in KEYS:
        texts = tuple(head.token(key) for key in keys)
        if all(texts) and len(set(texts)) == len(texts):
            return _with_others(head, texts)
    return None


def _named_as_usual(head: _Head) -> FimTokens | None:
    known = set(head.tokens)
    for names in NAMES:
        if all(name.encode() in known for name in names):
            return _with_others(head, names)
    return None


def _with_others(head: _Head, texts: tuple[str, ...] = ("", "", "")) -> FimTokens:
    prefix, suffix, middle = texts
    known = set(head.tokens)
    others = tuple(token for token in FRAME_TOKENS if token.encode() in known)
    return FimTokens(
        prefix=prefix, suffix=suffix, middle=middle, others=others, model_name=head.name
    )
