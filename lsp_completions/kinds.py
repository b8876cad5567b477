"""What values a setting can take: read with patience, refused in words that hold no value.

The wrong value may be a secret in the wrong place, so no message repeats a text.
"""

import json
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from lsp_completions.patterns import flaw_of
from lsp_completions.proxy_address import ProxyAddress, read_proxy_address
from lsp_completions.secret import Secret

T_co = TypeVar("T_co", covariant=True)

UNLIMITED = 10**9  # where nothing else bounds a number: it fits whatever it is sent in

Wrong = Callable[..., None]
"""`wrong("must be …", at="[2]")`: what a value must be, and which part of it is not."""


class Kind(Protocol[T_co]):
    """The values of one kind."""

    @property
    def values(self) -> str:
        """The values in words, for the reference."""

    def read(self, value: object, wrong: Wrong) -> T_co | None:
        """The usable part of a value; `None` when there is none, or the value counts as not set."""


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    values: str = "`true` or `false`"

    def read(self, value: object, wrong: Wrong) -> bool | None:
        """A flag."""
        if isinstance(value, bool):
            return value
        wrong(f"must be true or false, not {described(value)}")
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number from `least` to `most`; from above 0 when it is `positive`."""

    least: float = 0
    most: float = UNLIMITED
    whole: bool = False
    positive: bool = False

    @property
    def values(self) -> str:
        """Such as "whole number from 1 to 9"."""
        name = "whole number" if self.whole else "number"
        if self.positive:
            return f"{name} above 0 and up to {self.most:g}"
        most = "up" if self.most == UNLIMITED else f"to {self.most:g}"
        return f"{name} from {self.least:g} {most}"

    def read(self, value: object, wrong: Wrong) -> float | None:
        """A number, an `int` when it has to be whole."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            wrong(f"must be a {self.values}, not {described(value)}")
            return None
        # Some editors know one kind of number only, and write 4 as 4.0.
        enough = value > 0 if self.positive else value >= self.least
        if not enough or not value <= self.most or (self.whole and value != int(value)):
            wrong(f"must be a {self.values}")
            return None
        return int(value) if self.whole else float(value)


@dataclass(frozen=True, slots=True)
class Choice:
    """A member of an enum, named by its value."""

    enum: type[Enum]

    @property
    def values(self) -> str:
        """Such as "`auto`, `on` or `off`"."""
        return _listed([f"`{member.value}`" for member in self.enum])

    def read(self, value: object, wrong: Wrong) -> Enum | None:
        """The member that a text names, in upper or lower case."""
        named = value.strip().lower() if isinstance(value, str) else value
        for member in self.enum:
            if member.value == named:
                return member
        names = _listed([f'"{member.value}"' for member in self.enum])
        wrong(f"must be {names}" + ("" if isinstance(value, str) else f", not {described(value)}"))
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text on one line; a blank one counts as not set."""

    values: str = "text"
    pattern: str = r".*"

    def read(self, value: object, wrong: Wrong) -> str | None:
        """The text without the blanks around it."""
        if (text := _text(value, wrong)) is None:
            return None
        if not text.isprintable():
            wrong("must be one line without control characters")
            return None
        if not re.fullmatch(self.pattern, text):
            wrong(f"must be a {self.values}")
            return None
        return text or None


@dataclass(frozen=True, slots=True)
class Token:
    """An access token or key, which has to fit into a header; a blank one counts as not set."""

    values: str = "text"
    name: str = "token"

    def read(self, value: object, wrong: Wrong) -> Secret | None:
        """The token without the line break that a file or a command leaves after it."""
        if isinstance(value, Secret):
            return value  # from a login, which has read it
        if (token := _text(value, wrong)) is None:
            return None
        if not token.isascii():
            wrong(f"must be plain ASCII and holds another character; copy the {self.name} anew")
            return None
        if not re.fullmatch(r"[!-~]*", token):
            wrong(f"must be the {self.name} alone, without spaces or line breaks in it")
            return None
        return Secret(token) if token else None


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server: scheme, host, port and path; a blank one counts as not set."""

    values: str = "address"
    example: str = "https://sourcegraph.example.com"
    drops_user: bool = False
    """Whether a user name and a password before the host are left out, and not refused."""

    def read(self, value: object, wrong: Wrong) -> str | None:
        """The address without a slash at its end, so that a path can be added."""
        if (text := _text(value, wrong)) is None or not text:
            return None
        address = text if re.match(r"[a-z][a-z0-9+.-]*:/", text, re.I) else _with_scheme(text)
        try:
            parts = urlsplit(address)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host or not text.isprintable() or re.search(r"[\s\\<>\"'{}|^`]", text):
            wrong(f"must be an address such as {self.example}")
        elif re.match(r"(sg[a-z]_|sk-)[^.]*$", host):
            # Pasted into the wrong place it would be read in messages, and looked up as a name.
            wrong(f"looks like a token and must be an address such as {self.example}")
        elif parts.scheme not in ("http", "https"):
            wrong("must begin with https:// or http://")
        elif "@" in parts.netloc and not self.drops_user:
            wrong("must not hold a user name or a password")
        elif "?" in text or "#" in text:
            wrong("must end with its path, without ? or #")
        else:
            host = parts.netloc.lower().rpartition("@")[2]
            return f"{parts.scheme}://{host}{parts.path}".rstrip("/")
        return None


@dataclass(frozen=True, slots=True)
class ProxyKind:
    """The address of a proxy, which may hold a password; a blank one counts as not set."""

    values: str = "address such as `http://proxy.example.com:3128`, or `none`"

    def read(self, value: object, wrong: Wrong) -> ProxyAddress | None:
        """The address, taken apart."""
        if (text := _text(value, wrong)) is None or not text:
            return None
        try:
            return read_proxy_address(text)
        except ValueError as flaw:
            wrong(str(flaw))
            return None


@dataclass(frozen=True, slots=True)
class Certificates:
    """Certificates: where they are, or their text in many lines; a blank one counts as not set."""

    values: str = "path of a file or folder, or text of certificates (PEM)"

    def read(self, value: object, wrong: Wrong) -> str | None:
        """The path or the text."""
        if (text := _text(value, wrong)) is None:
            return None
        if "PRIVATE KEY-----" in text:
            wrong("must not hold a private key; certificates are enough")
            return None
        if not text.isprintable() and "-----BEGIN CERTIFICATE-----" not in text:
            wrong("must be a path, or the text of certificates from its -----BEGIN line on")
            return None
        return text or None


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time as Go writes it, such as `1h30m`; a number counts seconds."""

    values: str = "text such as `10m`, or number of seconds"

    def read(self, value: object, wrong: Wrong) -> str | None:
        """The time with its unit; what is below zero means for ever."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = f"{value:f}".rstrip("0").rstrip(".") if abs(value) < UNLIMITED else "-"
        if (text := _text(value, wrong)) is None or not text:
            return None
        if re.fullmatch(r"-?\d{1,9}(\.\d{1,9})?", text):
            text += "s"
        if not re.fullmatch(r"-?(\d{1,9}(\.\d{1,9})?(ms|s|m|h))+", text):
            wrong('must be a text such as "10m" or a number of seconds')
            return None
        return text


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments, run as they are and without a shell; secrets may be among them.

    In one text they are separated as the platform's shell would do it.
    """

    values: str = "command line, or list of texts"
    windows: bool = sys.platform == "win32"

    def read(self, value: object, wrong: Wrong) -> "CommandLine | None":
        """The program and its arguments; a blank text counts as not set."""
        if is_empty(value):
            return None
        if isinstance(value, str):
            try:
                words = windows_words(value) if self.windows else shlex.split(value)
            except ValueError:
                wrong("must have an end to each quote")
                return None
        elif isinstance(value, Sequence):
            words = [word for word in value if isinstance(word, str)]
            if len(words) < len(value):
                wrong("must be a text, or a list of texts only")
                return None
        else:
            wrong(f"must be a text or a list of texts, not {described(value)}")
            return None
        if any("\0" in word for word in words):
            wrong("must not hold the character with the number 0")
            return None
        if words and not words[0].strip():
            wrong("must begin with the program")
            return None
        return CommandLine(tuple(words)) if words else None


class CommandLine:
    """A program and its arguments, which appear in no `repr`, message or log."""

    __slots__ = ("words",)

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CommandLine) and self.words == other.words

    def __hash__(self) -> int:
        return hash(self.words)


@dataclass(frozen=True, slots=True)
class Texts:
    """A list of texts, each taken as it is: white space may be what they are about."""

    values: str = "list of texts"

    def read(self, value: object, wrong: Wrong) -> tuple[str, ...] | None:
        """The usable texts; `None` when there are only others."""
        if is_empty(value):
            return ()
        if isinstance(value, str) or not isinstance(value, Sequence):
            wrong(f"must be a list of texts, not {described(value)}")
            return None
        texts = []
        for index, text in enumerate(value):
            if isinstance(text, str) and text:
                texts.append(text)
            else:
                wrong("must be a text that is not empty", at=f"[{index}]")
        return tuple(texts) if texts else None


@dataclass(frozen=True, slots=True)
class PathPatterns:
    """Patterns of paths, as in a `.gitignore`.

    They keep something back, so what cannot be read counts as `UNREADABLE` and not as nothing.
    """

    values: str = "list of patterns as in a `.gitignore`"

    def read(self, value: object, wrong: Wrong) -> tuple[str, ...]:
        """The usable patterns, and `UNREADABLE` when there are others."""
        if is_empty(value):
            return ()
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, Sequence):
            wrong(f"must be a list of patterns, not {described(value)}; {_TILL_THEN}")
            return (UNREADABLE,)
        patterns = []
        for index, pattern in enumerate(value):
            if pattern is NOT_READ:  # told by whoever could not read it
                patterns.append(UNREADABLE)
                continue
            if isinstance(pattern, str):
                flaw = flaw_of(pattern)
            else:
                flaw = f"must be a text, not {described(pattern)}"
            if flaw is None:
                patterns.append(pattern)
            else:
                wrong(f"{flaw}; {_TILL_THEN}", at=f"[{index}]")
                patterns.append(UNREADABLE)
        return tuple(patterns)


UNREADABLE = "\0"
"""Stands for a pattern that could not be read: any document may be meant by it."""

NOT_READ = object()
"""The same in settings as they come, for patterns in a file that cannot be read."""

_TILL_THEN = "until then nothing is sent"


@dataclass(frozen=True, slots=True)
class Headers:
    """HTTP headers; the values may be credentials."""

    values: str = "map from name to text"

    def read(self, value: object, wrong: Wrong) -> tuple[tuple[str, Secret], ...] | None:
        """The headers that can be sent; `None` when there are only others."""
        if is_empty(value):
            return ()
        if not isinstance(value, Mapping):
            wrong(f"must be a map from name to text, not {described(value)}")
            return None
        headers = []
        for name, text in value.items():
            # RFC 9110, 5.1 and 5.5: a name is a token, a value is visible text and blanks.
            if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", str(name)):
                wrong("must have the name of an HTTP header", at=step(name))
            elif not isinstance(text, str):
                wrong(f"must be a text, not {described(text)}", at=step(name))
            elif not re.fullmatch(r"[ -~\t]*", text.strip()):
                wrong("must be one line of plain ASCII", at=step(name))
            else:
                headers.append((str(name), Secret(text.strip())))
        return tuple(headers) if headers else None


def windows_words(line: str) -> list[str]:
    """The words of a command line by the rules that programs for Windows share.

    A backslash is an ordinary character but before a quote, where two stand for one. Raises
    `ValueError` where a quote has no end.
    """
    words: list[str] = []
    word, quoting = "", False
    begun = False
    for part in re.findall(r'\\*"|\\+|[ \t]+|[^\\" \t]+', line.strip()):
        if part.endswith('"'):
            backslashes = len(part) - 1
            word += "\\" * (backslashes // 2)
            begun = True
            if backslashes % 2:
                word += '"'
            else:
                quoting = not quoting
        elif part.isspace() and not quoting:
            words.append(word)
            word, begun = "", False
        else:
            word += part
            begun = True
    if quoting:
        raise ValueError("a quote without an end")
    return [*words, word] if begun else words


@dataclass(frozen=True, slots=True)
class Switches:
    """Names, and for each whether it is on."""

    values: str = "map from name to `true` or `false`"

    def read(self, value: object, wrong: Wrong) -> tuple[tuple[str, bool], ...] | None:
        """The switches that can be used."""
        if not isinstance(value, Mapping):
            wrong(f"must be a map from names to true or false, not {described(value)}")
            return None
        for name, state in value.items():
            if not isinstance(state, bool):
                wrong(f"must be true or false, not {described(state)}", step(name))
        return tuple((str(name), state) for name, state in value.items() if isinstance(state, bool))


def is_empty(value: object) -> bool:
    """Whether a value is an empty list or map, which Lua and Emacs Lisp do not tell apart."""
    return value in ([], {})


def described(value: object) -> str:
    """What a value is, in a word or two, and never the value itself."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case Mapping():
            return "a map"
        case Sequence():
            return "a list"
        case None:
            return "nothing"
        case _:
            return "a date or time"  # what TOML has beyond JSON


def step(name: object) -> str:
    """One step of a path such as `$.headers["X Y"]`."""
    return f".{name}" if re.fullmatch(r"[\w-]{1,40}", str(name)) else f"[{quoted(name)}]"


def quoted(name: object) -> str:
    """A name that somebody else chose, in a length that leaves a message readable."""
    text = str(name)
    return json.dumps(text if len(text) <= 40 else text[:39] + "…", ensure_ascii=False)


def _text(value: object, wrong: Wrong) -> str | None:
    if isinstance(value, str):
        return value.strip()
    wrong(f"must be a text, not {described(value)}")
    return None


def _with_scheme(address: str) -> str:
    """On this machine there is rarely a certificate; elsewhere code travels encrypted."""
    host = re.split(r"[/:]", address.lower())[0]
    local = host == "localhost" or host.endswith(".localhost") or host.startswith("127.")
    return f"{'http' if local or address.startswith('[::1]') else 'https'}://{address}"


def _listed(names: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
