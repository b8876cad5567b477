"""A model server of one's own, or one with an API like theirs, and why it says no.

Such servers differ in paths and bodies only; those are the providers' modules.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlsplit

from lsp_completions.errors import (
    GatewayFailed,
    NoSuchApi,
    NotAllowed,
    NotAuthorized,
    ProviderError,
    ProxyNotAuthorized,
    RateLimited,
    Redirected,
    Refused,
    Reply,
    ServerFailed,
    SignInNeeded,
    SignInPage,
    TooLarge,
    UnexpectedReply,
    UnknownModel,
)
from lsp_completions.pipeline.prompt import Prompt
from lsp_completions.providers.base import Event, HttpRequest, Limits, Provider
from lsp_completions.providers.retry_after import in_words, retry_after
from lsp_completions.providers.wire import (
    USER_AGENT,
    base_of,
    encoded,
    first_sentence,
    host_of,
    is_page,
    kind_of,
    sentence_in,
    with_added,
)
from lsp_completions.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnServer:
    """What is asked at `url`, with `key` where it wants one. What is `None` is not sent."""

    url: str
    """As the user wrote it; the paths that people copy along with it are taken off."""
    key: Secret | None = None
    model: str = ""
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    stop_sequences: tuple[str, ...] | None = None
    """In place of the prompt's own."""
    stream: bool = True
    headers: tuple[tuple[str, Secret], ...] = ()
    """Headers to add; they do not replace those the API needs."""

    ENDINGS: ClassVar[tuple[str, ...]] = ()
    """What people may copy along with the address, longest first."""
    USUAL_PATH: ClassVar[str] = ""
    """What belongs to an address without a path."""
    GET_MODEL: ClassVar[str] = "Name another in the setting `model`."
    """What to do about a model the server does not have."""
    GET_KEY: ClassVar[str] = "Put it into the setting `apiKey`."

    @property
    def limits(self) -> Limits:
        """As much as any model of today can read."""
        return Limits()

    @property
    def chats(self) -> bool | None:
        """These APIs continue a text, whoever serves it."""
        return False

    @property
    def finishes_reading(self) -> bool:
        """Servers give up when we hang up."""
        return False

    @property
    def shows_early(self) -> bool:
        """Nobody looks at the text on the way."""
        return True

    @property
    def base(self) -> str:
        """The address, ready for a path to be added."""
        base = base_of(self.url)
        ending = next((ending for ending in self.ENDINGS if base.endswith(ending)), "")
        base = base.removesuffix(ending)
        return base if urlsplit(base).path else base + self.USUAL_PATH

    @property
    def host(self) -> str:
        """Whom we ask, as messages name it."""
        return host_of(self.url)

    def post(self, path: str, body: Mapping[str, object]) -> HttpRequest:
        """A request to the server."""
        return HttpRequest(
            url=self.base + path,
            headers=self._headers(),
            body=encoded(body),
            stream=self.stream,
        )

    def get(self, path: str) -> HttpRequest:
        """A request for something the server tells of itself."""
        return HttpRequest(
            method="GET", url=self.base + path, headers=self._headers(), body=b"", stream=False
        )

    def _headers(self) -> tuple[tuple[str, str], ...]:
        needed = {
            "Content-Type": "application/json; charset=utf-8",
            # A proxy would hold back the pieces of a stream in order to compress them.
            "Accept-Encoding": "identity",
            "User-Agent": USER_AGENT,
        }
        if self.key is not None:
            needed["Authorization"] = f"Bearer {self.key.reveal()}"
        return with_added(needed, self.headers)

    def stops(self, prompt: Prompt) -> list[str] | None:
        """Where the server is to stop; `None` where it need not."""
        stops = prompt.stop_sequences if self.stop_sequences is None else self.stop_sequences
        return list(stops) or None

    def instead(self, reply: Reply) -> Provider | None:
        """Nobody, unless the API has another way to ask."""
        return None

    def read(self, event: Event) -> dict[str, object] | None:
        """The JSON object in an event; `None` for the mark at a stream's end. Raises its error."""
        if event.data.strip() == "[DONE]":
            return None
        try:
            value = json.loads(event.data)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise self.no_completion(event.data)
        # vLLM marks an error so, and leaves `error` out.
        if value.get("error") or value.get("object") == "error":
            raise self._said_no(sentence_in(event.data))
        return value

    def refusal(self, reply: Reply) -> ProviderError:
        """Explain a reply that was not a success, in a sentence for the user."""
        page = is_page(reply.body, reply.headers.get("content-type", ""))
        text = "" if page else sentence_in(reply.body)
        match reply.status:
            case 401 | 403 if page:
                return SignInNeeded(
                    f"A gateway before {self.host} asks to sign in. It has to let requests with a "
                    "key pass, or wants a header, which the setting `headers` can add.",
                    reply=reply,
                )
            case 401:
                return self._not_authorized(reply)
            case 402:
                return NotAllowed(f"The account at {self.host} has no credit left.", reply=reply)
            case 403:
                return NotAllowed(
                    f"{self.host} does not let you complete code{self._said(text)}", reply=reply
                )
            case 404 | 405 if not _MODEL.search(text):
                return NoSuchApi(
                    f"There is no completions API at {self.base}. Check the setting `url`, and "
                    "whether `provider` names the API that is spoken there.",
                    reply=reply,
                )
            case 407:
                return ProxyNotAuthorized(
                    f"The proxy on the way to {self.host} wants a user name and a password, or "
                    "others."
                )
            case 413:
                return self._too_long(reply)
            case 429:
                return self._rate_limited(text, reply)
            case 502 | 503 | 504 if page:
                return GatewayFailed(
                    f"A gateway before {self.host} had no answer from it ({reply.status}).",
                    reply=reply,
                )
            case 503 if "loading" in text.lower():
                return ServerFailed(f"{self.host} is still loading its model.", reply=reply)
            case status if 300 <= status < 400:
                return Redirected(
                    f"{self.host} sends requests on to another address. "
                    "Set `url` to the address where it is now."
                )
        return self._said_no(text, reply)

    def _said_no(self, text: str, reply: Reply | None = None) -> ProviderError:
        """A sentence that says no, under any status or inside a stream."""
        if _CONTEXT.search(text):
            return self._too_long(reply)
        if _RATE_LIMIT.search(text):
            return self._rate_limited(text, reply)
        if _MODEL.search(text):
            has_not = (
                f"does not have the model {self.model}"
                if self.model
                else "has no model ready, or wants to be told which"
            )
            return UnknownModel(f"{self.host} {has_not}. {self.GET_MODEL}", reply=reply)
        if _AUTHORIZATION.search(text):
            return self._not_authorized(reply)
        status = f" (status {reply.status})" if reply is not None else ""
        kind = kind_of(reply.status) if reply is not None else Refused
        return kind(
            f"{self.host} could not complete the code{status}{self._said(text)}",
            reply=reply,
            retry_after=retry_after(reply.headers) if reply is not None else None,
        )

    def no_completion(self, body: str) -> ProviderError:
        """What to raise for a success that is no completion."""
        if is_page(body):
            return SignInPage(
                f"{self.host} answered with a web page. Check the setting `url`, and whether "
                "`provider` names the API that is spoken there."
            )
        return UnexpectedReply(f"{self.host} answered with something other than a completion.")

    def _not_authorized(self, reply: Reply | None) -> NotAuthorized:
        sentence = (
            f"{self.host} wants an API key. {self.GET_KEY}"
            if self.key is None
            else f"{self.host} does not accept the API key. {self.GET_KEY}"
        )
        return NotAuthorized(sentence, reply=reply)

    def _too_long(self, reply: Reply | None) -> TooLarge:
        return TooLarge(
            f"The prompt is too long for the model at {self.host}. Give it more context there, "
            "or lower the setting `prefixChars`.",
            reply=reply,
        )

    def _rate_limited(self, text: str, reply: Reply | None) -> RateLimited:
        seconds = retry_after(reply.headers if reply is not None else {}, text)
        when = "" if not seconds else f" It takes more in {in_words(seconds)}."
        return RateLimited(
            f"{self.host} takes no more requests for now, because a limit is reached.{when}",
            reply=reply,
            retry_after=seconds,
        )

    def _said(self, text: str) -> str:
        sentence = first_sentence(text, (self.key, *(value for _, value in self.headers)))
        return f": {sentence}." if sentence else "."


def continued(prompt: Prompt) -> str:
    """The text before the cursor, with excerpts as comments, of a prompt in no family's form."""
    # The excerpts' place is empty where there are none.
    return prompt.text.removeprefix("\n\n")


_MODEL = re.compile(
    r"model\b.{0,200}(not found|does not exist|not exist|not supported|not available|not loaded)"
    r"|(unknown|invalid|no such|unsupported) model|no models? loaded"
    r"|model.{0,20} (is )?required|provide a model",
    re.IGNORECASE | re.DOTALL,
)
_CONTEXT = re.compile(
    r"context (size|length|window)|maximum context|too many tokens|prompt is too long",
    re.IGNORECASE,
)
_RATE_LIMIT = re.compile(
    r"rate.?limit|too many requests|quota|maximum pending requests|server busy", re.IGNORECASE
)
_AUTHORIZATION = re.compile(r"api.?key|unauthori[sz]ed|authentication", re.IGNORECASE)
