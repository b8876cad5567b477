"""llama.cpp's own server: `/infill`, and `/completion` for models that cannot fill in the middle.

The server knows the model's tokens, so a prompt is sent as the texts before and after the cursor.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from lsp_completions.errors import Reply
from lsp_completions.pipeline.prompt import Prompt
from lsp_completions.pipeline.stream import Chunk
from lsp_completions.pipeline.templates import PLAIN, Family, family_of
from lsp_completions.providers.base import Event, HttpRequest, Limits
from lsp_completions.providers.own_server import OwnServer, continued

# All that is read of the last event; by default it repeats the whole prompt.
FIELDS = ["content", "stop", "stop_type", "stopped_limit"]
USUAL_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaCpp(OwnServer):
    """A llama.cpp server."""

    name: str = "llama.cpp"
    infill: bool = True
    """Let the server put the prompt into the model's form."""
    prompts_for: str | Family = ""
    """Else the model or family whose form the prompt gets here; empty continues plain text."""
    limits: Limits = USUAL_LIMITS
    finishes_reading: bool = False
    says_spaces: bool = False
    """Let a model that continues plain text say the space before the cursor itself.

    In nearly all vocabularies a word begins with the space before it. After a space alone a small
    model is lost, and says `&lt;` for `<`; what it then says twice is left out.
    """

    ENDINGS: ClassVar[tuple[str, ...]] = ("/v1", "/infill", "/completion")

    def request(self, prompt: Prompt, *, max_tokens: int) -> HttpRequest:
        """Build the HTTP request that asks for a completion of `prompt`."""
        body = {
            # Servers with one model take any name.
            "model": self.model or None,
            "n_predict": max_tokens,
            "temperature": self.temperature,
            "top_k": self.top_k,
            "top_p": self.top_p,
            "stop": self.stops(prompt),
            "stream": self.stream,
            # Read only what is new since the last prompt: the default, except on old servers.
            "cache_prompt": True,
            # Each batch read is an event: only at an event the server notices that we hung up.
            "return_progress": True if self.stream else None,
            "response_fields": FIELDS,
        }
        if self.infill:
            return self.post(
                "/infill",
                {
                    "input_prefix": prompt.prefix,
                    "input_suffix": prompt.suffix,
                    "input_extra": [
                        {"filename": excerpt.path, "text": excerpt.text}
                        for excerpt in prompt.excerpts
                    ]
                    or None,
                    **body,
                },
            )
        return self.post("/completion", {"prompt": self._text(prompt), **body})

    def _text(self, prompt: Prompt) -> str:
        """What is to be continued."""
        if self.prompts_for and family_of(self.prompts_for) != PLAIN:
            return prompt.text
        text = continued(prompt)
        lone = self.says_spaces and text.endswith((" ", "\t")) and text.strip()
        return text[:-1] if lone else text

    def chunk(self, event: Event) -> Chunk | None:
        """Read one event; `None` when it carries nothing. Raises `ProviderError` for an error."""
        match self.read(event):
            case {"content": str(text), **rest}:
                pass
            case None:
                return None
            case _:
                raise self.no_completion(event.data)
        finish = None
        if rest.get("stop") is True:
            # `stopped_limit` is how older servers say it.
            cut = rest.get("stop_type") == "limit" or rest.get("stopped_limit") is True
            finish = "length" if cut else "stop"
        return Chunk(text=text, finish=finish) if text or finish else None

    def instead(self, reply: Reply) -> "LlamaCpp | None":
        """Plain continuation, where the model has no tokens to fill in the middle with."""
        return replace(self, infill=False) if self.infill and reply.status == 501 else None
