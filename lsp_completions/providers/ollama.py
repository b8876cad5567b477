"""Ollama's own API: `/api/generate`, with the prompt in the model's form made here.

Its `/v1/completions` would wrap the prompt as a chat (https://github.com/ollama/ollama/issues/12636).
"""

import re
from dataclasses import dataclass, replace
from typing import ClassVar

from lsp_completions.errors import Reply
from lsp_completions.pipeline.prompt import Prompt
from lsp_completions.pipeline.stream import Chunk
from lsp_completions.pipeline.templates import family_of
from lsp_completions.providers.base import Event, HttpRequest
from lsp_completions.providers.own_server import OwnServer, continued
from lsp_completions.providers.wire import sentence_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Ollama(OwnServer):
    """An Ollama server."""

    keep_alive: str | None = None
    context_tokens: int | None = None
    """Asking for another size than last time makes it load the model anew."""
    insert: bool = True
    """Let it fill in the middle by itself, for models whose form is not known here."""

    ENDINGS: ClassVar[tuple[str, ...]] = ("/api/generate", "/api", "/v1")
    GET_MODEL: ClassVar[str] = (
        "Fetch it with `ollama pull`, or name another in the setting `model`; "
        "`ollama list` shows those it has."
    )

    @property
    def name(self) -> str:
        """The provider's name in the settings."""
        return "ollama"

    @property
    def prompts_for(self) -> str:
        """The model whose form prompts have."""
        return self.model

    def request(self, prompt: Prompt, *, max_tokens: int) -> HttpRequest:
        """Build the HTTP request that asks for a completion of `prompt`."""
        options = {
            "num_predict": max_tokens,
            "num_ctx": self.context_tokens,
            "temperature": self.temperature,
            "top_k": self.top_k,
            "top_p": self.top_p,
            "stop": self.stops(prompt),
        }
        shape: dict[str, object]
        if family_of(self.model).takes_suffix:
            shape = {"prompt": prompt.text, "raw": True}
        # Without a suffix the prompt would be wrapped as a chat.
        elif self.insert and prompt.prefix and prompt.suffix.strip():
            shape = {"prompt": prompt.prefix, "suffix": prompt.suffix}
        else:
            shape = {"prompt": continued(prompt), "raw": True}
        return self.post(
            "/api/generate",
            {
                "model": self.model,
                **shape,
                # Some models would think first, which nobody has time for.
                "think": False,
                "stream": self.stream,
                "keep_alive": self.keep_alive,
                "options": {key: value for key, value in options.items() if value is not None},
            },
        )

    def preparation(self) -> HttpRequest:
        """A request that makes it load the model, and is answered when that is done.

        It gives up loading when the one who asked hangs up, as we do at the next key.
        """
        body = {
            "model": self.model,
            "stream": False,
            "keep_alive": self.keep_alive,
            "options": {"num_ctx": self.context_tokens} if self.context_tokens else None,
        }
        return replace(self, stream=False).post("/api/generate", body)

    def chunk(self, event: Event) -> Chunk | None:
        """Read one line; `None` when it carries nothing. Raises `ProviderError` for an error."""
        match self.read(event):
            case {"response": str(text), **rest}:
                pass
            case {"done": True, **rest}:
                text = ""
            case None:
                return None
            case _:
                raise self.no_completion(event.data)
        finish = None
        if rest.get("done") is True:
            reason = rest.get("done_reason")
            finish = reason if isinstance(reason, str) and reason else "stop"
        return Chunk(text=text, finish=finish) if text or finish else None

    def instead(self, reply: Reply) -> "Ollama | None":
        """Plain continuation, where the model's template has no place for what follows."""
        cannot = reply.status == 400 and _NO_INSERT.search(sentence_in(reply.body))
        return replace(self, insert=False) if self.insert and cannot else None


_NO_INSERT = re.compile(r"support\w* (insert|suffix)", re.IGNORECASE)
