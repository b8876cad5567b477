"""Mistral's API to fill in the middle: `/v1/fim/completions`.

It refuses a request with a parameter it does not know, so there are few.
"""

from dataclasses import dataclass
from typing import ClassVar

from lsp_completions.pipeline.prompt import Prompt
from lsp_completions.pipeline.stream import Chunk
from lsp_completions.providers.base import Event, HttpRequest
from lsp_completions.providers.choices import chunk_of
from lsp_completions.providers.own_server import OwnServer, continued
from lsp_completions.providers.requirements import GET_MISTRAL_KEY

USUAL_MODEL = "codestral-latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistral(OwnServer):
    """Mistral's API, at its maker's or wherever else it is spoken."""

    ENDINGS: ClassVar[tuple[str, ...]] = ("/v1/fim/completions", "/fim/completions", "/v1")
    GET_KEY: ClassVar[str] = GET_MISTRAL_KEY

    @property
    def name(self) -> str:
        """The provider's name in the settings."""
        return "mistral"

    @property
    def prompts_for(self) -> str:
        """No model: prompts get their form there."""
        return ""

    def request(self, prompt: Prompt, *, max_tokens: int) -> HttpRequest:
        """Build the HTTP request that asks for a completion of `prompt`."""
        return self.post(
            "/v1/fim/completions",
            {
                "model": self.model or USUAL_MODEL,
                "prompt": continued(prompt),
                "suffix": prompt.suffix or None,
                "max_tokens": max_tokens,
                "temperature": self.temperature,
                "top_p": self.top_p,
                "stop": self.stops(prompt),
                "stream": self.stream,
            },
        )

    def chunk(self, event: Event) -> Chunk | None:
        """Read one event; `None` when it carries nothing. Raises `ProviderError` for an error."""
        return chunk_of(self, event)
