"""Messages in a stream of bytes: `Content-Length: N`, a blank line, N bytes of JSON.

A fault in the stream costs the message it is in and no other. That can be had because a header can
be told from JSON for certain: inside a JSON string a line break is always escaped, so a line
`Content-Length: N` followed by a blank line stands in no body.
"""

import json
import re
from dataclasses import dataclass

MAX_BODY = 128 * 1024 * 1024
"""Editors stop sending documents at 20 to 50 MB, and JSON's escapes may double that."""

MAX_HEADER = 8 * 1024

_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d+)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_FIELD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*:.*")
_BLANK_LINE = re.compile(rb"\n\r?\n")
_BEGUN_HEADER = re.compile(
    rb"(?:content-[^{}]*|content|conten|conte|cont|con|co|c)\Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that are no message; `reason` is a clause such as "a body is not JSON"."""

    reason: str


class Frames:
    """Cuts a stream into messages: `feed` it bytes, however they were split, and get JSON values.

    A run of rubbish yields one `Damage`. What is kept between calls is at most one message.
    """

    def __init__(self, *, max_body: int = MAX_BODY) -> None:
        self._max_body = max_body
        self._buffer = bytearray()
        self._length: int | None = None  # of the body at the start of the buffer; None: a header
        self._seen = 0  # up to here the buffer holds no blank line
        self._block = 0  # in a body, where the lines after its last blank line begin
        self._damaged = False  # this run of rubbish has been reported
        self._found: list[object] = []

    def feed(self, data: bytes) -> list[object]:
        """The messages and damages that `data` completes."""
        self._buffer += data
        while self._header() if self._length is None else self._body(self._length):
            pass
        found, self._found = self._found, []
        return found

    def _header(self) -> bool:
        """Take a header from the buffer; False when more bytes are needed."""
        blank = _BLANK_LINE.search(self._buffer, self._seen)
        if blank is None:
            # Bounded, whatever comes: a header's end is all that could still be of use.
            if len(self._buffer) > MAX_HEADER and self._buffer.strip():
                self._damage("a header line is too long")
            del self._buffer[:-MAX_HEADER]
            self._seen = max(0, len(self._buffer) - 2)
            return False

        block = bytes(self._buffer[: blank.end()]).strip()
        del self._buffer[: blank.end()]
        self._seen = 0
        if not block:
            return True  # blank lines between messages
        if len(block) > MAX_HEADER:
            self._damage("a header line is too long")
        lengths = _LENGTH.findall(block[-MAX_HEADER:])
        if not lengths:
            self._damage("a header has no Content-Length that is a number")
            return True
        # The digits are counted first: int() refuses more than 4,300 of them.
        if len(lengths[-1]) > 18 or int(lengths[-1]) > self._max_body:
            self._damage(f"a message is longer than {self._max_body} bytes")
            return True
        if not all(_FIELD.fullmatch(line.rstrip(b"\r")) for line in block.split(b"\n")):
            self._damage("bytes between two messages")
        self._length = int(lengths[-1])  # the last one, next to the body, is the one that counts
        self._damaged = False
        return True

    def _body(self, length: int) -> bool:
        """Take a body from the buffer; False when more bytes are needed."""
        # A header inside the body: the length was too large, and the body ends before that header.
        while (blank := _BLANK_LINE.search(self._buffer, self._seen, length)) is not None:
            # No byte is looked at twice: a body may be blank lines throughout.
            begin = max(self._block, blank.start() - MAX_HEADER)
            inside = [*_LENGTH.finditer(self._buffer, begin, blank.start() + 1)]
            if inside:
                self._close_body(inside[-1].start())
                return True
            self._seen = self._block = blank.start() + 1
        if len(self._buffer) < length:
            self._seen = max(0, len(self._buffer) - 2)
            return False
        self._close_body(length)
        return True

    def _close_body(self, end: int) -> None:
        body = bytes(self._buffer[:end])
        self._length = None
        self._seen = self._block = 0
        try:
            self._found.append(_parse(body))
        except ValueError as error:
            # Where the length is too large by a little, the next header begins in the body's end.
            if next_header := _BEGUN_HEADER.search(body, max(0, len(body) - MAX_HEADER)):
                body = body[: next_header.start()]
            try:
                self._found.append(_parse(body))
            except ValueError:
                self._damage(str(error))
        del self._buffer[: len(body)]

    def _damage(self, reason: str) -> None:
        if not self._damaged:
            self._found.append(Damage(reason))
        self._damaged = True


def _parse(body: bytes) -> object:
    """The JSON value of `body`; ValueError with a reason that quotes nothing."""
    try:
        return json.loads(body.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("a body is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("a body is not UTF-8") from None
    except ValueError:
        raise ValueError("a body is not JSON") from None


def frame(body: bytes) -> bytes:
    """`body` with its header."""
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
