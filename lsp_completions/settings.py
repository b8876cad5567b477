"""Every setting, once: its values, its default and what it does.

`resolve` never fails: a wrong value is a `Problem`, and what was in force before stays in force.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from enum import StrEnum
from functools import cache
from typing import Any, cast

from lsp_completions.kinds import (
    Address,
    Certificates,
    Choice,
    Command,
    CommandLine,
    Duration,
    Flag,
    Headers,
    Kind,
    Number,
    PathPatterns,
    ProxyKind,
    Switches,
    Text,
    Texts,
    Token,
    described,
    is_empty,
    quoted,
    step,
)
from lsp_completions.proxy_address import ProxyAddress
from lsp_completions.secret import Secret

LONGEST_WAIT = 600  # seconds; nobody watches a cursor for longer


class Api(StrEnum):
    """The API that serves the model."""

    SOURCEGRAPH = "sourcegraph"
    LOCAL = "local"
    """The embedded model."""
    LLAMA_CPP = "llama.cpp"
    OLLAMA = "ollama"
    OPENAI = "openai"
    """Any server with OpenAI's `/v1/completions`."""
    MISTRAL = "mistral"


class Context(StrEnum):
    """What code may be sent beside the text around the cursor."""

    DOCUMENT = "document"
    """None but the document's own."""
    WORKSPACE = "workspace"
    """Also from other documents, and from files of the workspace."""


class Menu(StrEnum):
    """When the menu of `textDocument/completion` is filled."""

    AUTO = "auto"
    """In editors that do not show ghost text."""
    ON = "on"
    OFF = "off"


class Trigger(StrEnum):
    """What makes a suggestion come."""

    AUTOMATIC = "automatic"
    MANUAL = "manual"


class Multiline(StrEnum):
    """When a suggestion may hold more than one line."""

    AUTO = "auto"
    """Where a block is about to begin."""
    NEVER = "never"
    ALWAYS = "always"


class LogLevel(StrEnum):
    """The least important message that is still logged."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    DEBUG = "debug"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A setting that could not be used. `message` is a sentence for the user, without the value."""

    path: str
    message: str
    source: str

    def __str__(self) -> str:
        return f"{self.message} ({self.path} in {self.source})"


def _knob(
    kind: Kind[object], sentence: str, *, adds_up: bool = False, guarded: bool = False
) -> dict[str, object]:
    """What makes a field a setting. Its key is the field's name in camelCase.

    The lists and maps of one that `adds_up` are joined, those of later layers first. One that is
    `guarded` decides where code goes, what goes along or what is run, so that what stands in an
    opened project may not set it.
    """
    return {"kind": kind, "sentence": sentence, "adds_up": adds_up, "guarded": guarded}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings. `sources` tells where each one that is not the default came from, by key."""

    provider: Api | None = field(
        default=None,
        metadata=_knob(
            Choice(Api),
            "The API that serves the model. When not set, it is Sourcegraph if `endpoint` and "
            "`accessToken` are, and else the embedded model, `local`, if that is installed.",
            guarded=True,
        ),
    )
    endpoint: str | None = field(
        default=None,
        metadata=_knob(
            Address(drops_user=True),
            "The address of the Sourcegraph instance, with its path if it has one; "
            "without a scheme it is `https://`, and `http://` on this machine.",
            guarded=True,
        ),
    )
    access_token: Secret | None = field(
        default=None,
        metadata=_knob(
            Token(), "The access token, which is sent to `endpoint` only.", guarded=True
        ),
    )
    auth_command: CommandLine | None = field(
        default=None,
        metadata=_knob(
            Command(),
            "A command that prints the access token, in place of `accessToken`; or JSON with "
            "`token` or `headers`, and `expiration` in seconds since 1970.",
            guarded=True,
        ),
    )
    url: str | None = field(
        default=None,
        metadata=_knob(
            Address(example="http://localhost:8080"),
            "The address of your own model server; `llama.cpp` and `ollama` are looked for on this "
            "machine when it is not set, `mistral` at its maker's.",
            guarded=True,
        ),
    )
    api_key: Secret | None = field(
        default=None,
        metadata=_knob(
            Token(name="key"),
            "The API key of that server, which is sent nowhere else.",
            guarded=True,
        ),
    )
    model: str = field(
        default="",
        metadata=_knob(
            Text(),
            "The model that completes code; the server's own choice when not set. `ollama` needs "
            "it, as do most servers with the API of `openai`.",
        ),
    )
    model_path: str | None = field(
        default=None,
        metadata=_knob(
            Text(), "A model file (GGUF) for `local`, in place of the installed one.", guarded=True
        ),
    )
    keep_alive: str | None = field(
        default=None,
        metadata=_knob(
            Duration(), "How long `ollama` keeps the model in memory; below 0 means for ever."
        ),
    )
    context_tokens: int | None = field(
        default=None,
        metadata=_knob(
            Number(whole=True, least=1),
            "How many tokens `ollama` makes room for; its own choice when not set.",
        ),
    )
    api_version: int | None = field(
        default=None,
        metadata=_knob(
            Number(whole=True, least=1, most=9),
            "The version of the completions API to speak with Sourcegraph; when not set, the one "
            "that suits the instance.",
        ),
    )
    stream: bool = field(
        default=True,
        metadata=_knob(
            Flag(), "Whether the text is sent while the model writes, or all at its end."
        ),
    )
    max_tokens: int | None = field(
        default=None,
        metadata=_knob(
            Number(whole=True, least=1),
            "The longest completion to ask for, in the model's tokens; "
            "256 when not set, and 24 with `local`.",
        ),
    )
    temperature: float | None = field(
        default=None,
        metadata=_knob(
            Number(least=0, most=1),
            "How much chance there is in the choice of words; `0` is the least. When not set, "
            "0.2 for all models that take one.",
        ),
    )
    top_k: int | None = field(
        default=None,
        metadata=_knob(
            Number(whole=True, least=0), "Choose each token from this many of the likeliest."
        ),
    )
    top_p: float | None = field(
        default=None,
        metadata=_knob(
            Number(least=0, most=1),
            "Choose each token from the likeliest that have this probability together.",
        ),
    )
    stop_sequences: tuple[str, ...] | None = field(
        default=None,
        metadata=_knob(
            Texts(), "Texts at which the model stops, in place of those its family needs."
        ),
    )
    logprobs: int | None = field(
        default=None,
        metadata=_knob(
            Number(whole=True, least=0, most=5),
            "Ask for the probabilities of this many tokens, which nothing here uses.",
        ),
    )
    headers: tuple[tuple[str, Secret], ...] = field(
        default=(),
        metadata=_knob(
            Headers(),
            "HTTP headers to add to each request, for gateways that want some.",
            guarded=True,
        ),
    )
    repository: str | None = field(
        default=None,
        metadata=_knob(
            Text(),
            "The repository's name, such as `github.com/you/project`, for models that are told it.",
        ),
    )
    # What the user keeps back himself comes last in the joined list, so it has the last word.
    exclude: tuple[str, ...] = field(
        default=(),
        metadata=_knob(
            PathPatterns(),
            "Documents of which nothing is sent, by their path in the workspace or on disk; "
            "the lists from all places add up.",
            adds_up=True,
        ),
    )
    secret_files: bool = field(
        default=False,
        metadata=_knob(
            Flag(),
            "Whether something is sent of files that hold secrets by their name, as `.env`.",
            guarded=True,
        ),
    )
    schemes: tuple[str, ...] = field(
        default=("file", "untitled", "vscode-notebook-cell"),
        metadata=_knob(
            Texts(),
            "The kinds of documents of which something is sent, by how their URI begins.",
            guarded=True,
        ),
    )
    git_ignored: bool = field(
        default=False,
        metadata=_knob(
            Flag(), "Whether something is sent of files that git ignores.", guarded=True
        ),
    )
    outside_workspace: bool = field(
        default=True,
        metadata=_knob(
            Flag(),
            "Whether something is sent of files outside the workspace, where there is one.",
            guarded=True,
        ),
    )
    trigger: Trigger = field(
        default=Trigger.AUTOMATIC,
        metadata=_knob(
            Choice(Trigger), "Whether suggestions come while you type, or only when you ask."
        ),
    )
    delay: float | None = field(
        default=None,
        metadata=_knob(
            Number(least=0, most=LONGEST_WAIT),
            "How many seconds without a key pass before a model is asked; "
            "0 when not set, and 0.15 with `local`.",
        ),
    )
    languages: tuple[tuple[str, bool], ...] = field(
        default=(),
        metadata=_knob(
            Switches(),
            "Whether there are suggestions, by the language's name; `*` is all others, which "
            "are on. Off unless named: plain text, mail, commit messages, prompts and help. "
            "The maps from all places add up.",
            adds_up=True,
        ),
    )
    in_comments: bool = field(
        default=True, metadata=_knob(Flag(), "Whether suggestions come inside comments.")
    )
    in_strings: bool = field(
        default=True, metadata=_knob(Flag(), "Whether suggestions come inside strings.")
    )
    menu: Menu = field(
        default=Menu.AUTO,
        metadata=_knob(
            Choice(Menu),
            "Whether suggestions are in the completion menu too; "
            "`auto` means only in editors without ghost text.",
        ),
    )
    multiline: Multiline = field(
        default=Multiline.AUTO,
        metadata=_knob(
            Choice(Multiline),
            "Whether a suggestion may have several lines; `auto` means where a block begins, "
            "but not with `local`.",
        ),
    )
    prefix_chars: int | None = field(
        default=None,
        metadata=_knob(
            Number(whole=True, least=1),
            "How many characters before the cursor are sent at most; "
            "4300 when not set, and 1400 with `local`.",
        ),
    )
    suffix_chars: int | None = field(
        default=None,
        metadata=_knob(
            Number(whole=True, least=0),
            "How many characters after the cursor are sent at most; "
            "716 when not set, and 200 with `local`.",
        ),
    )
    context: Context = field(
        default=Context.WORKSPACE,
        metadata=_knob(
            Choice(Context),
            "Where excerpts may come from, code that is sent beside the text around the cursor: "
            "`document` means from nowhere else than the document itself.",
            guarded=True,
        ),
    )
    open_documents: bool = field(
        default=True,
        metadata=_knob(Flag(), "Whether excerpts come from other open documents.", guarded=True),
    )
    recent_edits: bool = field(
        default=True,
        metadata=_knob(Flag(), "Whether excerpts come from where you edited last.", guarded=True),
    )
    imported_files: bool = field(
        default=True,
        metadata=_knob(
            Flag(),
            "Whether excerpts come from files of the workspace that the document imports.",
            guarded=True,
        ),
    )
    distant_code: bool = field(
        default=True,
        metadata=_knob(
            Flag(),
            "Whether excerpts come from the same document, far away from the cursor.",
            guarded=True,
        ),
    )
    excerpt_chars: int | None = field(
        default=None,
        metadata=_knob(
            Number(whole=True, least=0),
            "How many characters of excerpts are sent at most; when not set, 1256 or more, as far "
            "as the model is known to read more, and none with `local`.",
        ),
    )
    proxy: ProxyAddress | None = field(
        default=None,
        metadata=_knob(
            ProxyKind(),
            "The proxy on the way to the model, in place of the environment's: `http://`, "
            "`https://`, `socks5://` or `unix:/path`, and `none` for no proxy at all.",
            guarded=True,
        ),
    )
    ca_file: str | None = field(
        default=None,
        metadata=_knob(
            Certificates(),
            "Authorities to trust beside the system's.",
            guarded=True,
        ),
    )
    client_certificate: str | None = field(
        default=None,
        metadata=_knob(
            Text(),
            "A file (PEM) with the certificate to show to servers that want one.",
            guarded=True,
        ),
    )
    client_key: str | None = field(
        default=None,
        metadata=_knob(
            Text(), "The file with its key, where that is not in the same one.", guarded=True
        ),
    )
    connect_timeout: float = field(
        default=3.0,
        metadata=_knob(
            Number(positive=True, most=LONGEST_WAIT),
            "How many seconds a connection may take.",
        ),
    )
    first_event_timeout: float = field(
        default=5.0,
        metadata=_knob(
            Number(positive=True, most=LONGEST_WAIT),
            "How many seconds may pass until the first text.",
        ),
    )
    total_timeout: float = field(
        default=7.0,
        metadata=_knob(
            Number(positive=True, most=LONGEST_WAIT),
            "How many seconds a completion may take in all.",
        ),
    )
    menu_deadline: float = field(
        default=1.0,
        metadata=_knob(
            Number(positive=True, most=LONGEST_WAIT),
            "How many seconds the completion menu may wait for us.",
        ),
    )
    command_suffix: str = field(
        default="",
        metadata=_knob(
            Text(values="text of letters, digits, `.`, `_` and `-`", pattern=r"[A-Za-z0-9._-]*"),
            "Added to the names of our commands, for editors in which two windows share them.",
        ),
    )
    statistics: bool = field(
        default=True,
        metadata=_knob(
            Flag(),
            "Whether it is counted, on this machine, what comes of suggestions; "
            "`lsp-completions stats` shows it.",
            guarded=True,
        ),
    )
    log_file: bool = field(
        default=True,
        metadata=_knob(
            Flag(),
            "Whether each server writes a small log of its own, which `lsp-completions log` shows.",
            guarded=True,
        ),
    )
    # Editors keep what is logged, some of them as errors: nothing unless something is wrong.
    log_level: LogLevel = field(
        default=LogLevel.WARNING,
        metadata=_knob(
            Choice(LogLevel), "The least important message that goes to the editor's log."
        ),
    )

    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def value_of(self, key: str) -> object:
        """The value of the setting `key`, as the user writes it."""
        return getattr(self, _knobs()[key].name)

    def source_of(self, key: str) -> str | None:
        """Where the value of the setting `key` came from; `None` when it is the default."""
        return self.sources.get(key)


def resolve(layers: Iterable[tuple[object, object]]) -> tuple[Settings, tuple[Problem, ...]]:
    """The best settings there are, and what is wrong with them. Later layers win.

    A layer is where settings came from, whose text is a name for the user, and what came.

    `null`, and a blank text where a text is wanted, leave what earlier layers say in force.
    """
    knobs = _knobs()
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    problems: list[Problem] = []

    for origin, raw in layers:
        source = str(origin)
        if raw is None or is_empty(raw):
            continue
        if not isinstance(raw, Mapping):
            sentence = f"Settings must be a map from names to values, not {described(raw)}."
            problems.append(Problem(path="$", message=sentence, source=source))
            continue

        for key, value in raw.items():
            if (knob := knobs.get(key)) is None:
                sentence = _unknown(str(key), knobs)
                problems.append(Problem(path=f"${step(key)}", message=sentence, source=source))
                continue
            if value is None:
                continue

            def wrong(must: str, at: str = "", key: str = key, source: str = source) -> None:
                sentence = f"{key}{at} {must}."
                problems.append(Problem(path=f"$.{key}{at}", message=sentence, source=source))

            if (usable := _kind(knob).read(value, wrong)) is not None:
                if knob.metadata["adds_up"]:
                    usable = _joined(cast("tuple[Any, ...]", usable), values.get(knob.name, ()))
                values[knob.name] = usable
                sources[key] = source

    return replace(Settings(), **values, sources=sources), tuple(problems)


def _joined(later: tuple[Any, ...], earlier: tuple[Any, ...]) -> tuple[Any, ...]:
    if all(isinstance(each, tuple) for each in (*later, *earlier)):
        # Of two words on one name the later one counts.
        return tuple({**dict(later), **dict(earlier), **dict(later)}.items())
    return (*later, *earlier)


def keys() -> list[str]:
    """The names of all settings, as the user writes them."""
    return list(_knobs())


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """What there is to know about a setting."""

    key: str
    kind: Kind[object]
    sentence: str
    default: object
    guarded: bool


def knobs() -> list[Knob]:
    """All settings, in the order in which people meet them."""
    return [
        Knob(
            key=key,
            kind=_kind(knob),
            sentence=knob.metadata["sentence"],
            default=knob.default,
            guarded=knob.metadata["guarded"],
        )
        for key, knob in _knobs().items()
    ]


def is_known(key: object) -> bool:
    """Whether there is a setting of that name."""
    return key in keys()


def guarded(key: str) -> bool:
    """Whether what an opened project says of the setting `key` does not count as it is."""
    return bool(_knobs()[key].metadata["guarded"])


@cache
def _knobs() -> Mapping[str, Field[Any]]:
    return {
        re.sub(r"_([a-z])", lambda match: match[1].upper(), knob.name): knob
        for knob in fields(Settings)
        if "kind" in knob.metadata
    }


def _kind(knob: Field[Any]) -> Kind[object]:
    return cast("Kind[object]", knob.metadata["kind"])


def _unknown(key: str, known: Mapping[str, object]) -> str:
    import difflib  # needed for misspelled settings only, and slow to import

    spellings = {name.lower(): name for name in known}
    # `max_tokens` and `maxtokens` are as near to `maxTokens` as a word can be.
    word = re.sub(r"[^a-z]", "", key.lower())
    near = [spelling for spelling in spellings if len(word) > 3 and word in spelling]
    near += difflib.get_close_matches(word, spellings, n=1)
    hint = f"; did you mean {quoted(spellings[near[0]])}?" if near else "."
    return f"There is no setting {quoted(key)}{hint}"
