"""Sourcegraph's completions API: `POST /.api/completions/code`.

Where its description and what instances really say differ, this follows the instances: messages
have a `speaker` and a `text`, the reply's text is in `completion` or `deltaText`, and whatever else
an event has may be missing.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from lsp_completions import __version__
from lsp_completions.errors import NotAttributed, ProviderError, Reply
from lsp_completions.pipeline.prompt import Prompt, Speaker, Turn
from lsp_completions.pipeline.stream import Chunk
from lsp_completions.providers import sourcegraph_refusals as refusals
from lsp_completions.providers.base import Event, HttpRequest, Limits, Provider
from lsp_completions.providers.wire import base_of, encoded, host_of, sentence_in, with_added
from lsp_completions.secret import Secret

# What an instance completes code with when no model is named; few administrators choose another.
USUAL_MODEL = "deepseek-coder-v2-lite-base"
# As much as the smallest model in wide use can read.
USUAL_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sourcegraph:
    """A Sourcegraph instance. What is `None` is not sent, and the instance decides."""

    endpoint: str
    token: Secret | None = None
    model: str = ""
    default_model: str = ""
    """What the instance completes code with when no model is named, as far as that is known."""
    form: str = ""
    """The model whose form prompts have, where the name of the one asked for does not tell."""
    chats: bool | None = None
    """Whether the model wants to be told in words what to do; `None` where its name decides."""
    api_version: int | None = None
    """From 2 on an event brings what is new; before that, and without a version, all so far."""
    temperature: float | None = None
    """In place of what suits the model."""
    top_k: int | None = None
    top_p: float | None = None
    stop_sequences: tuple[str, ...] | None = None
    """In place of the prompt's own."""
    logprobs: int | None = None
    stream: bool = True
    timeout_ms: int | None = None
    """When the instance is to give up on the model."""
    limits: Limits = USUAL_LIMITS
    shows_early: bool = True
    """Whether text may be shown before the instance has looked at all of it."""
    client_name: str = "lsp-completions"
    client_version: str = __version__
    headers: tuple[tuple[str, Secret], ...] = ()
    """Headers to add; they do not replace those the API needs."""

    @property
    def name(self) -> str:
        """The provider's name in the settings."""
        return "sourcegraph"

    @property
    def host(self) -> str:
        """Whom we ask, as messages name it."""
        return host_of(self.endpoint)

    @property
    def prompts_for(self) -> str:
        """The model whose form prompts have: the one asked for, the instance's, or the usual."""
        return self.form or self.model or self.default_model or USUAL_MODEL

    @property
    def finishes_reading(self) -> bool:
        """Hosted models give up when we hang up."""
        return False

    def request(self, prompt: Prompt, *, max_tokens: int) -> HttpRequest:
        """Build the HTTP request that asks for a completion of `prompt`."""
        query = {"client-name": self.client_name, "client-version": self.client_version}
        if self.api_version is not None:
            query["api-version"] = str(self.api_version)

        stops = prompt.stop_sequences if self.stop_sequences is None else self.stop_sequences
        body = {
            "messages": _messages(prompt),
            "model": self.model or None,
            "maxTokensToSample": max_tokens,
            "temperature": self._temperature(prompt),
            "topK": self.top_k,
            "topP": self.top_p,
            "stopSequences": list(stops) or None,
            "logprobs": self.logprobs,
            # Left out it would depend on the path.
            "stream": self.stream,
        }
        return self.post(f"/.api/completions/code?{urlencode(query)}", body, stream=self.stream)

    def post(self, path: str, body: Mapping[str, object], *, stream: bool = False) -> HttpRequest:
        """A request to the instance, with all that it wants to know of whoever asks."""
        return HttpRequest(
            url=self._base + path, headers=self._headers(), body=encoded(body), stream=stream
        )

    def get(self, path: str) -> HttpRequest:
        """A request for one of the instance's pages."""
        return HttpRequest(
            method="GET", url=self._base + path, headers=self._headers(), body=b"", stream=False
        )

    def chunk(self, event: Event) -> Chunk | None:
        """Read one event; `None` when it carries nothing. Raises `ProviderError` for an error."""
        match event.name:
            case "completion" | "message" | "":
                return self._completion(event)
            case "error":
                raise refusals.explained_text(self._asked, sentence_in(event.data))
            case "attribution-error":
                # The instance may show no code whose origin it could not check.
                raise NotAttributed(
                    f"{self.host} could not check where the suggested code comes from, "
                    "so it is not shown."
                )
            case _:
                # `done` says no more than the end of the stream, which follows it at once, and may
                # be missing where that does not.
                return None

    def refusal(self, reply: Reply) -> ProviderError:
        """Explain a reply that was not a success, in a sentence for the user."""
        return refusals.explained(self._asked, reply)

    def unreadable(self, body: str) -> ProviderError:
        """Explain a success whose body is not what it should be."""
        return refusals.explained_body(self._asked, body)

    def said_no(self, text: str) -> ProviderError:
        """Explain a sentence that says no in the middle of a success."""
        return refusals.explained_text(self._asked, text)

    def instead(self, reply: Reply) -> Provider | None:
        """The same in the version that every instance speaks, or with the instance's own model."""
        if self.api_version not in (None, 1) and refusals.is_of_version(reply):
            return replace(self, api_version=1)
        if self.model and refusals.is_of_model(reply):
            default = refusals.default_model(reply) or self.default_model
            return replace(self, model="", default_model=default, form="", chats=None)
        return None

    def _completion(self, event: Event) -> Chunk | None:
        try:
            reply = json.loads(event.data)
        except ValueError:
            reply = None
        match reply:
            # Where both are there, the version says which of them is meant.
            case {"deltaText": str(text)} if event.name and (self.api_version or 1) > 1:
                cumulative = False
            case {"completion": str(text)}:
                cumulative = True
            case {"deltaText": str(text)}:
                cumulative = False
            # The last event of a stream may bring the reason for its end alone.
            case {"stopReason": str()} if event.name:
                text, cumulative = "", False
            case {"error": _}:
                raise refusals.explained_text(self._asked, sentence_in(event.data))
            case dict() if event.name:
                return None
            case _:
                raise refusals.explained_body(self._asked, event.data)

        reason = reply.get("stopReason")
        finish = reason if isinstance(reason, str) and reason else None
        # An event without a name is the whole reply.
        return Chunk(
            text=text, cumulative=cumulative, finish=finish if event.name else finish or "stop"
        )

    def _temperature(self, prompt: Prompt) -> float | None:
        if self.temperature is None and self.top_p is not None and prompt.turns:
            return None  # Newer models refuse a temperature that nobody chose beside `topP`.
        return prompt.temperature if self.temperature is None else self.temperature

    def _headers(self) -> tuple[tuple[str, str], ...]:
        name, version = self.client_name, self.client_version
        needed = {
            "Content-Type": "application/json; charset=utf-8",
            "Accept": "application/json",
            # An instance holds back the events of a stream in order to compress them.
            "Accept-Encoding": "identity",
            "User-Agent": f"{name}/{version}",
            # Instances from 5.10 to 6.11 refuse requests without it.
            "X-Requested-With": f"{name} {version}",
            "X-Sourcegraph-API-Client-Name": name,
            "X-Sourcegraph-API-Client-Version": version,
        }
        if self.token is not None:
            needed["Authorization"] = f"token {self.token.reveal().strip()}"
        if self.timeout_ms is not None:
            needed["X-Timeout-Ms"] = str(self.timeout_ms)
        return with_added(needed, self.headers)

    @property
    def _asked(self) -> refusals.Asked:
        return refusals.Asked(
            endpoint=self._base,
            host=self.host,
            model=self.model,
            api_version=self.api_version,
            token=self.token,
            headers=tuple(value for _, value in self.headers),
        )

    @property
    def _base(self) -> str:
        return base_of(self.endpoint)


def _messages(prompt: Prompt) -> list[dict[str, str]]:
    # Without turns, one message by a human: the back ends of models that fill in the middle want
    # it so.
    turns = prompt.turns or (Turn(speaker=Speaker.HUMAN, text=prompt.text),)
    return [{"speaker": turn.speaker.value, "text": turn.text} for turn in turns]
