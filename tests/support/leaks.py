"""Looking for secrets and code in what was written: as they are, in pieces, and encoded."""

import base64
import re
import secrets as random_secrets
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

PIECE = 8  # characters of a secret that nobody could have written by chance


def found(written: bytes, secret: str) -> list[str]:
    """Where a piece of `secret` stands in `written`, plain or encoded, with what is around it."""
    return [
        text[max(at - 60, 0) : at + 60].decode("utf-8", "replace")
        for text in _readings(written)
        for piece in _pieces(secret)
        if (at := text.find(piece)) >= 0
    ][:3]


def _readings(written: bytes) -> Iterator[bytes]:
    yield written
    yield unquote_to_bytes(written)
    # As JSON and Python's `repr` may escape.
    escaped = re.compile(rb"\\u00([0-9a-f]{2})|\\x([0-9a-f]{2})", re.IGNORECASE)
    yield escaped.sub(lambda match: bytes.fromhex((match[1] or match[2]).decode()), written)


def _pieces(secret: str) -> Iterator[bytes]:
    plain = secret.encode()
    for start in range(len(plain) - PIECE + 1):
        piece = plain[start : start + PIECE]
        yield piece
        yield piece[::-1]
        yield piece.hex().encode()
        yield piece.hex().upper().encode()
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + plain)
        # Without what depends on its neighbours.
        middle = whole[4 if before else 0 : len(whole) // 4 * 4 - 4]
        for start in range(len(middle) - 11):
            yield middle[start : start + 12]
            yield middle[start : start + 12].translate(bytes.maketrans(b"+/", b"-_"))


def fresh(prefix: str = "") -> str:
    """A secret that occurs nowhere else."""
    return prefix + random_secrets.token_hex(20)
