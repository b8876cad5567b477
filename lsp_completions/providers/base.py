"""What every provider is: a pure translation between prompts and one wire format."""

from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar, cast

from lsp_completions.errors import ProviderError, Reply
from lsp_completions.pipeline.prompt import Prompt
from lsp_completions.pipeline.stream import Chunk
from lsp_completions.pipeline.templates import Family
from lsp_completions.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One HTTP request as a value.

    `headers` may hold a credential, so they stay out of the `repr`. `stream` says whether
    server-sent events were asked for; the reply's content type decides what they are read as.
    """

    url: str
    body: bytes = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    method: str = "POST"
    stream: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One server-sent event; a reply that is not a stream is one event without a name."""

    data: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much to send and to ask for, where the settings say nothing."""

    # 0.6 and 0.1 of a window of 2,048 tokens, at 3.5 characters each: what the smallest model
    # in wide use can read; what is left of it, and the answer, is for code from elsewhere.
    prefix_chars: int = 4300
    suffix_chars: int = 716
    excerpt_chars: int = 1256
    """For code from elsewhere, beside the two."""
    own_chars: int = 1256
    """What there is beside the two in any case: a family's own tokens and words need some."""
    instruction_chars: int = 1000
    """What a model that chats is told in words, beside all that."""
    max_tokens: int = 256
    multiline: bool = True
    """Whether blocks are worth asking for."""

    def prompt_chars(self, *, chats: bool) -> int:
        """How long a prompt may be in all."""
        beside = max(self.excerpt_chars, self.own_chars)
        return self.prefix_chars + self.suffix_chars + beside + chats * self.instruction_chars

    def overridden(self, settings: Settings) -> "Limits":
        """What the settings say, and these limits for the rest."""

        def chosen(number: int | None, ours: int) -> int:
            return ours if number is None else number

        return replace(
            self,
            prefix_chars=chosen(settings.prefix_chars, self.prefix_chars),
            suffix_chars=chosen(settings.suffix_chars, self.suffix_chars),
            excerpt_chars=chosen(settings.excerpt_chars, self.excerpt_chars),
            max_tokens=chosen(settings.max_tokens, self.max_tokens),
        )


def livelier(provider: "P") -> "P":
    """The same provider, to be asked for something else than it said already."""
    changed: P = replace(cast("Any", provider), temperature=LIVELY)
    return changed


class Provider(Protocol):
    """An API that serves a model: a frozen value that can be a key."""

    @property
    def name(self) -> str:
        """The provider's name in the settings."""

    @property
    def host(self) -> str:
        """Whom we ask, as messages name it."""

    @property
    def model(self) -> str:
        """The model asked for; empty means the provider's default."""

    @property
    def prompts_for(self) -> str | Family:
        """The model whose form of prompt is understood: the one asked for, or the usual default.

        Its family, where that is known from elsewhere than the model's name.
        """

    @property
    def chats(self) -> bool | None:
        """Whether the model is told in words what to do; `None` where its name says so or not."""

    @property
    def limits(self) -> Limits:
        """How much to send and to ask for, where the settings say nothing."""

    @property
    def finishes_reading(self) -> bool:
        """Whether it reads a prompt to its end although we hung up, and until then nothing else."""

    @property
    def shows_early(self) -> bool:
        """Whether its text may be shown before all of it has come and was found good."""

    def request(self, prompt: Prompt, *, max_tokens: int) -> HttpRequest:
        """Build the HTTP request that asks for a completion of `prompt`."""

    def chunk(self, event: Event) -> Chunk | None:
        """Read one event; `None` when it carries nothing. Raises `ProviderError` for an error."""

    def refusal(self, reply: Reply) -> ProviderError:
        """Explain a reply that was not a success, in a sentence for the user."""

    def instead(self, reply: Reply) -> "Provider | None":
        """Whom to ask, now and from now on, when this one refused so; `None` means nobody."""


P = TypeVar("P", bound=Provider)
LIVELY = 0.8  # temperature; at the usual one most answers are the same
