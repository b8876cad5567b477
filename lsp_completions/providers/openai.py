"""The completions API that OpenAI began and many speak: `/v1/completions`.

vLLM, LM Studio, Fireworks, DeepSeek and llama.cpp among them. Few fill in the middle by themselves,
so the prompt is put into the model's form here wherever that is known.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from lsp_completions.errors import Reply
from lsp_completions.pipeline.prompt import Prompt
from lsp_completions.pipeline.stream import Chunk
from lsp_completions.pipeline.templates import family_of
from lsp_completions.providers.base import Event, HttpRequest
from lsp_completions.providers.choices import chunk_of
from lsp_completions.providers.own_server import OwnServer, continued

# Hosts that put the prompt into the model's form themselves, whatever the model.
FILL_IN_THEMSELVES = ("api.deepseek.com",)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAI(OwnServer):
    """A server with OpenAI's completions API."""

    logprobs: int | None = None
    suffix: bool = True
    """Send what follows the cursor along, for models whose form is not known here."""

    ENDINGS: ClassVar[tuple[str, ...]] = ("/chat/completions", "/completions")
    USUAL_PATH: ClassVar[str] = "/v1"

    @property
    def name(self) -> str:
        """The provider's name in the settings."""
        return "openai"

    @property
    def prompts_for(self) -> str:
        """The model whose form prompts have; empty where the server gives them theirs."""
        return "" if self.host in FILL_IN_THEMSELVES else self.model

    def request(self, prompt: Prompt, *, max_tokens: int) -> HttpRequest:
        """Build the HTTP request that asks for a completion of `prompt`."""
        text, suffix = prompt.text, None
        if not family_of(self.prompts_for).takes_suffix:
            text = continued(prompt)
            suffix = prompt.suffix if self.suffix else None
        return self.post(
            "/completions",
            {
                "model": self.model or None,
                "prompt": text,
                "suffix": suffix or None,
                "max_tokens": max_tokens,
                "temperature": self.temperature,
                "top_k": self.top_k,
                "top_p": self.top_p,
                "stop": self.stops(prompt),
                "logprobs": self.logprobs,
                "stream": self.stream,
            },
        )

    def chunk(self, event: Event) -> Chunk | None:
        """Read one event; `None` when it carries nothing. Raises `ProviderError` for an error."""
        return chunk_of(self, event)

    def instead(self, reply: Reply) -> "OpenAI | None":
        """The same without a suffix, which vLLM and others refuse: status 400, 422 or 500."""
        cannot = reply.status in (400, 422, 500, 501) and "suffix" in reply.body.lower()
        return replace(self, suffix=False) if self.suffix and cannot else None
