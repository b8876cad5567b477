"""What every provider is: a pure translation between prompts and one wire format."""

from dataclasses import dataclass, field
from typing import Protocol

from lsp_completions.errors import ProviderError, Reply
from lsp_completions.pipeline.prompt import Prompt
from lsp_completions.pipeline.stream import Chunk


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


class Provider(Protocol):
    """An API that serves a model."""

    @property
    def name(self) -> str:
        """The provider's name in the settings."""

    @property
    def model(self) -> str:
        """The model asked for; empty means the provider's default."""

    @property
    def prompts_for(self) -> str:
        """The model whose form of prompt is understood: the one asked for, or the usual default."""

    def request(self, prompt: Prompt, *, max_tokens: int) -> HttpRequest:
        """Build the HTTP request that asks for a completion of `prompt`."""

    def chunk(self, event: Event) -> Chunk | None:
        """Read one event; `None` when it carries nothing. Raises `ProviderError` for an error."""

    def refusal(self, reply: Reply) -> ProviderError:
        """Explain a reply that was not a success, in a sentence for the user."""
