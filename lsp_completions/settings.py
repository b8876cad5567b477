"""Every setting, once: its values, its default and what it does.

`resolve` never fails: a wrong value is a `Problem`, and what was in force before stays in force.
"""

import difflib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from enum import Enum
from typing import Any, Protocol, TypeVar, cast
from urllib.parse import urlsplit

T_co = TypeVar("T_co", covariant=True)


class Api(Enum):
    """The API that serves the model."""

    SOURCEGRAPH = "sourcegraph"


class Menu(Enum):
    """When the menu of `textDocument/completion` is filled."""

    AUTO = "auto"
    """In editors that do not show ghost text."""
    ON = "on"
    OFF = "off"


class Multiline(Enum):
    """When a suggestion may hold more than one line."""

    AUTO = "auto"
    """Where a block is about to begin."""
    NEVER = "never"
    ALWAYS = "always"


class LogLevel(Enum):
    """The least important message that is still logged."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    DEBUG = "debug"


class Secret:
    """A text that appears in no `repr`, message or log; `reveal()` where it is sent."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A setting that could not be used. `message` is a sentence for the user, without the value."""

    path: str
    message: str
    source: str

    def __str__(self) -> str:
        return f"{self.message} ({self.path} in {self.source})"


Layer = tuple[str, object]
"""Where raw settings came from, in words for the user, and the settings as they came."""

# --- How a value is read --------------------------------------------------------------------

Wrong = Callable[..., None]
"""`wrong("must be …", at="[2]")`: what a value must be, and which part of it is not."""


class Kind(Protocol[T_co]):
    """What values a setting takes."""

    @property
    def values(self) -> str:
        """The values it takes, for the reference."""

    def read(self, value: object, wrong: Wrong) -> T_co | None:
        """The usable part of a value; `None` counts as not set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Number:
    """A number, whole if `whole`, within bounds."""

    whole: bool
    least: float
    most: float | None = None
    above_least: bool = False

    @property
    def values(self) -> str:
        kind = "whole number" if self.whole else "number"
        if self.most is not None and not self.above_least:
            return f"{kind} from {self.least:g} to {self.most:g}"
        bounds = f"above {self.least:g}" if self.above_least else f"from {self.least:g} up"
        return f"{kind} {bounds}" + ("" if self.most is None else f", at most {self.most:g}")

    def read(self, value: object, wrong: Wrong) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            wrong(f"must be a {self.values}, not {_article(value)}")
            return None
        if isinstance(value, float) and not math.isfinite(value):
            wrong(f"must be a {self.values}")
            return None
        # Some editors know one kind of number and write 4 as 4.0.
        integral = value == int(value)
        too_low = value <= self.least if self.above_least else value < self.least
        too_high = self.most is not None and value > self.most
        if too_low or too_high or (self.whole and not integral):
            wrong(f"must be a {self.values}, not {value}")
            return None
        return int(value) if self.whole else float(value)


@dataclass(frozen=True, slots=True)
class _Flag:
    """True or false."""

    values: str = "`true` or `false`"

    def read(self, value: object, wrong: Wrong) -> bool | None:
        if isinstance(value, bool):
            return value
        wrong(f"must be true or false, not {_article(value)}")
        return None


@dataclass(frozen=True, slots=True)
class _Choice:
    """A member of an enum, named by its value."""

    enum: type[Enum]

    @property
    def values(self) -> str:
        return _listed([f"`{member.value}`" for member in self.enum])

    def read(self, value: object, wrong: Wrong) -> Enum | None:
        names: dict[str, Enum] = {member.value: member for member in self.enum}
        if not isinstance(value, str):
            wrong(f"must be {_listed(list(names))}, not {_article(value)}")
            return None
        if (member := names.get(value.strip().lower())) is None:
            wrong(f"must be {_listed(list(names))}")
        return member


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A text on one line; blank counts as not set."""

    values: str = "text"
    pattern: str | None = None

    def read(self, value: object, wrong: Wrong) -> str | None:
        if not isinstance(value, str):
            wrong(f"must be a text, not {_article(value)}")
            return None
        text = value.strip()
        if not text.isprintable():
            wrong("must be one line without control characters")
            return None
        if self.pattern is not None and not re.fullmatch(self.pattern, text):
            wrong(f"must be {self.values}")
            return None
        return text or None


@dataclass(frozen=True, slots=True)
class _Token:
    """An access token: visible ASCII without spaces, as it has to fit into a header."""

    values: str = "text"

    def read(self, value: object, wrong: Wrong) -> Secret | None:
        if not isinstance(value, str):
            wrong(f"must be a text, not {_article(value)}")
            return None
        token = value.strip()
        if not token.isascii():
            wrong("must be plain ASCII; it holds other characters, so copy the token anew")
            return None
        if not re.fullmatch(r"[!-~]*", token):
            wrong("must be the token alone; it holds a space or line break in the middle")
            return None
        return Secret(token) if token else None


@dataclass(frozen=True, slots=True)
class _Address:
    """The address of a server: scheme, host, port and path, without a slash at the end."""

    values: str = "address"

    def read(self, value: object, wrong: Wrong) -> str | None:
        if not isinstance(value, str):
            wrong(f"must be a text, not {_article(value)}")
            return None
        address = value.strip().rstrip("/")
        if not address:
            return None
        if re.search(r"[\s\\<>\"'{}|^`\x00-\x1f\x7f]", address):
            wrong("must be an address such as https://sourcegraph.example.com")
            return None
        if not re.match(r"[a-z][a-z0-9+.-]*://", address, re.IGNORECASE):
            if re.match(r"https?:(?![0-9])", address, re.IGNORECASE):
                wrong("must have two slashes after http: or https:")
                return None
            address = _with_scheme(address)
        try:
            parts = urlsplit(address)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host:
            wrong("must be an address such as https://sourcegraph.example.com")
            return None
        if parts.scheme not in ("http", "https"):
            wrong("must begin with https:// or http://")
            return None
        if "@" in parts.netloc:
            wrong("must not hold a user name or password; set accessToken or headers instead")
            return None
        if parts.query or parts.fragment:
            wrong("must end with the path, without ? or #")
            return None
        return f"{parts.scheme}://{parts.netloc.lower()}{parts.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Texts:
    """A list of texts, taken as they are: white space is often what they are about."""

    values: str = "list of texts"

    def read(self, value: object, wrong: Wrong) -> tuple[str, ...] | None:
        if value == {}:  # Lua does not tell an empty list from an empty map.
            return ()
        if isinstance(value, str) or not isinstance(value, Sequence):
            wrong(f"must be a list of texts, not {_article(value)}")
            return None
        texts = []
        for index, text in enumerate(value):
            if isinstance(text, str) and text:
                texts.append(text)
            else:
                wrong("must be a text that is not empty", at=f"[{index}]")
        return tuple(texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Headers:
    """HTTP headers: a map from name to value. Values may be credentials."""

    values: str = "map of texts"

    def read(self, value: object, wrong: Wrong) -> tuple[tuple[str, Secret], ...] | None:
        if value == []:  # Lua does not tell an empty list from an empty map.
            return ()
        if not isinstance(value, Mapping):
            wrong(f"must be a map from names to texts, not {_article(value)}")
            return None
        headers = []
        for name, text in value.items():
            # RFC 9110, 5.1 and 5.5: a name is a token, a value is visible text and blanks.
            if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", str(name)):
                wrong("must have the name of an HTTP header", at=_step(name))
            elif not isinstance(text, str):
                wrong(f"must be a text, not {_article(text)}", at=_step(name))
            elif not re.fullmatch(r"[ -~\t]*", text.strip()):
                wrong("must be one line of plain ASCII", at=_step(name))
            else:
                headers.append((name, Secret(text.strip())))
        return tuple(headers)


# --- The settings ---------------------------------------------------------------------------


def _knob(kind: Kind[object], sentence: str) -> dict[str, object]:
    """What makes a field a setting. Its key is the field's name in camelCase."""
    return {"kind": kind, "sentence": sentence}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings. `sources` tells where each one that is not the default came from, by key."""

    provider: Api = field(
        default=Api.SOURCEGRAPH, metadata=_knob(_Choice(Api), "The API that serves the model.")
    )
    endpoint: str | None = field(
        default=None,
        metadata=_knob(
            _Address(),
            "The address of the Sourcegraph instance, with its path if it has one; "
            "without a scheme it is `https://`, and `http://` on this machine.",
        ),
    )
    access_token: Secret | None = field(
        default=None,
        metadata=_knob(_Token(), "The access token, which is sent to `endpoint` only."),
    )
    model: str = field(
        default="",
        metadata=_knob(
            _Text(), "The model that completes code; the instance's own choice when not set."
        ),
    )
    # A version the instance does not know is refused, and every instance knows 1.
    api_version: int = field(
        default=1,
        metadata=_knob(
            _Number(whole=True, least=1, most=9),
            "The version of the completions API to speak: `1` works everywhere, "
            "`2` and up send less from Sourcegraph 5.8 on.",
        ),
    )
    stream: bool = field(
        default=True,
        metadata=_knob(
            _Flag(), "Whether the text is sent while the model writes, or all at its end."
        ),
    )
    max_tokens: int = field(
        default=256,
        metadata=_knob(
            _Number(whole=True, least=1),
            "The longest completion to ask for, in the model's tokens.",
        ),
    )
    temperature: float = field(
        default=0.2,
        metadata=_knob(
            _Number(whole=False, least=0, most=1),
            "How much chance there is in the choice of words; `0` is the least.",
        ),
    )
    top_k: int | None = field(
        default=None,
        metadata=_knob(
            _Number(whole=True, least=0), "Choose each token from this many of the likeliest."
        ),
    )
    top_p: float | None = field(
        default=None,
        metadata=_knob(
            _Number(whole=False, least=0, most=1),
            "Choose each token from the likeliest that have this probability together.",
        ),
    )
    stop_sequences: tuple[str, ...] | None = field(
        default=None,
        metadata=_knob(
            _Texts(), "Texts at which the model stops, in place of those its family needs."
        ),
    )
    logprobs: int | None = field(
        default=None,
        metadata=_knob(
            _Number(whole=True, least=0, most=5),
            "Ask for the probabilities of this many tokens, which nothing here uses.",
        ),
    )
    headers: tuple[tuple[str, Secret], ...] = field(
        default=(),
        metadata=_knob(
            _Headers(), "HTTP headers to add to each request, for gateways that want some."
        ),
    )
    repository: str | None = field(
        default=None,
        metadata=_knob(
            _Text(),
            "The repository's name, such as `github.com/you/project`, for models that are told it.",
        ),
    )
    menu: Menu = field(
        default=Menu.AUTO,
        metadata=_knob(
            _Choice(Menu),
            "Whether suggestions are in the completion menu too; "
            "`auto` means only in editors without ghost text.",
        ),
    )
    multiline: Multiline = field(
        default=Multiline.AUTO,
        metadata=_knob(
            _Choice(Multiline),
            "Whether a suggestion may have several lines; `auto` means where a block begins.",
        ),
    )
    # 0.6 and 0.1 of a window of 2,048 tokens, at 3.5 characters each: what the smallest model
    # in wide use can read, with room left for code from elsewhere.
    prefix_chars: int = field(
        default=4300,
        metadata=_knob(
            _Number(whole=True, least=1),
            "How many characters before the cursor are sent at most.",
        ),
    )
    suffix_chars: int = field(
        default=716,
        metadata=_knob(
            _Number(whole=True, least=0), "How many characters after the cursor are sent at most."
        ),
    )
    connect_timeout: float = field(
        default=3.0,
        metadata=_knob(
            _Number(whole=False, least=0, most=600, above_least=True),
            "How many seconds a connection may take.",
        ),
    )
    first_event_timeout: float = field(
        default=5.0,
        metadata=_knob(
            _Number(whole=False, least=0, most=600, above_least=True),
            "How many seconds may pass until the first text.",
        ),
    )
    total_timeout: float = field(
        default=7.0,
        metadata=_knob(
            _Number(whole=False, least=0, most=600, above_least=True),
            "How many seconds a completion may take in all.",
        ),
    )
    menu_deadline: float = field(
        default=1.0,
        metadata=_knob(
            _Number(whole=False, least=0, most=600, above_least=True),
            "How many seconds the completion menu may wait for us.",
        ),
    )
    command_suffix: str = field(
        default="",
        metadata=_knob(
            _Text(values="made of letters, digits, `.`, `_` and `-`", pattern=r"[A-Za-z0-9._-]*"),
            "Added to the names of our commands, for editors in which two windows share them.",
        ),
    )
    # Editors keep what is logged, some of them as errors: nothing unless something is wrong.
    log_level: LogLevel = field(
        default=LogLevel.WARNING,
        metadata=_knob(_Choice(LogLevel), "The least important message that is logged."),
    )

    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def source_of(self, key: str) -> str | None:
        """Where the value of the setting `key` came from; `None` when it is the default."""
        return self.sources.get(key)


def resolve(layers: Sequence[Layer]) -> tuple[Settings, tuple[Problem, ...]]:
    """The best settings there are, and what is wrong with them. Later layers win.

    `null`, and a blank text where a text is wanted, leave what earlier layers say in force.
    """
    knobs = dict(_knobs())
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    problems: list[Problem] = []

    for source, raw in layers:
        if raw is None or raw == []:  # Lua does not tell an empty list from an empty map.
            continue
        if not isinstance(raw, Mapping):
            sentence = f"Settings must be a map from names to values, not {_article(raw)}."
            problems.append(Problem(path="$", message=sentence, source=source))
            continue

        for key, value in raw.items():
            if (knob := knobs.get(key)) is None:
                sentence = _unknown(str(key), knobs)
                problems.append(Problem(path=f"${_step(key)}", message=sentence, source=source))
                continue
            if value is None:
                continue

            def wrong(must: str, at: str = "", key: str = key, source: str = source) -> None:
                sentence = f"{key}{at} {must}."
                problems.append(Problem(path=f"$.{key}{at}", message=sentence, source=source))

            if (usable := _kind(knob).read(value, wrong)) is not None:
                values[knob.name] = usable
                sources[key] = source

    return replace(Settings(), **values, sources=sources), tuple(problems)


def reference() -> str:
    """The settings as a Markdown table, for the README."""
    rows = ["| Setting | Values | Default | What it does |", "| --- | --- | --- | --- |"]
    for key, knob in _knobs():
        cells = (f"`{key}`", _kind(knob).values, _shown(knob.default), knob.metadata["sentence"])
        rows.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def keys() -> list[str]:
    """The names of all settings, as the user writes them."""
    return [key for key, _ in _knobs()]


# --- Helpers --------------------------------------------------------------------------------


def _knobs() -> Iterator[tuple[str, Field[Any]]]:
    for knob in fields(Settings):
        if "kind" in knob.metadata:
            yield re.sub(r"_([a-z])", lambda match: match[1].upper(), knob.name), knob


def _kind(knob: Field[Any]) -> Kind[object]:
    return cast("Kind[object]", knob.metadata["kind"])


def _unknown(key: str, known: Mapping[str, object]) -> str:
    # `max_tokens` and `maxtokens` are as near to `maxTokens` as a word can be.
    spellings = {name.lower(): name for name in known}
    near = difflib.get_close_matches(re.sub(r"[^a-z]", "", key.lower()), spellings, n=1)
    hint = f"; did you mean {spellings[near[0]]}?" if near else "."
    return f"There is no setting {_clipped(key)}{hint}"


def _with_scheme(address: str) -> str:
    try:
        host = urlsplit(f"//{address}").hostname or ""
    except ValueError:
        host = ""
    local = host in ("localhost", "::1") or host.endswith(".localhost") or host.startswith("127.")
    return f"{'http' if local else 'https'}://{address}"


def _step(key: object) -> str:
    """One step of a path such as `$.headers["X Y"]`."""
    name = _clipped(str(key))
    return f".{name}" if re.fullmatch(r"[\w-]+", name) else f"[{json.dumps(name)}]"


def _clipped(name: str) -> str:
    """A name someone else chose, in a length that leaves a message readable."""
    return name if len(name) <= 40 else name[:39] + "…"


def _article(value: object) -> str:
    """What a value is, in a word; never the value, which may be a secret in the wrong place."""
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
        case _:
            return "something else"


def _listed(names: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _shown(default: object) -> str:
    match default:
        case None | "" | ():
            return ""
        case Enum():
            return f"`{default.value}`"
        case _:
            return f"`{json.dumps(default)}`"
