"""What it means when a Sourcegraph instance says no, in sentences that say what to do.

Refusals are plain text as a rule, sometimes JSON, or the page of a gateway before the instance.
Only the sentence in them is repeated: what follows it may be the prompt, sent back.
"""

import re
from dataclasses import dataclass

from lsp_completions.errors import (
    Blocked,
    GatewayFailed,
    ModelFailed,
    NoSuchApi,
    NotAllowed,
    NotAuthorized,
    ProviderError,
    ProxyNotAuthorized,
    RateLimited,
    Redirected,
    Refused,
    Reply,
    SecondFactorNeeded,
    SignInNeeded,
    SignInPage,
    TooLarge,
    UnexpectedReply,
    UnknownApiVersion,
    UnknownModel,
    UnsupportedEditor,
)
from lsp_completions.providers.retry_after import in_words, retry_after
from lsp_completions.providers.wire import first_sentence, is_page, kind_of, sentence_in
from lsp_completions.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Whom we asked, and for what, as far as that explains a refusal."""

    endpoint: str
    host: str
    model: str
    api_version: int | None
    token: Secret | None
    headers: tuple[Secret, ...] = ()


def explained(asked: Asked, reply: Reply) -> ProviderError:
    """A reply that was not a success."""
    host, status = asked.host, reply.status
    page = is_page(reply.body, reply.headers.get("content-type", ""))
    text = "" if page else sentence_in(reply.body)

    def refused(kind: type[Refused], sentence: str) -> Refused:
        return kind(sentence, reply=reply)

    match status:
        case 401 if _wants_second_factor(reply):
            return refused(
                SecondFactorNeeded,
                f"A gateway before {host} asks for a second factor. "
                "Sign in to it in a browser, then try again.",
            )
        case 401 if page:
            return refused(
                SignInNeeded,
                f"A gateway before {host} asks to sign in. It has to let requests with an access "
                "token pass, or wants a header, which the setting `headers` can add.",
            )
        case 401:
            return _not_authorized(asked, text, reply)
        case 403 if page:
            return refused(
                Blocked,
                f"A firewall or gateway before {host} stopped the request. "
                "Ask those who run it to let completions pass.",
            )
        case 403:
            return refused(NotAllowed, f"{host} does not let you complete code{_said(text, asked)}")
        case 404 | 405:
            return refused(
                NoSuchApi,
                f"There is no completions API at {asked.endpoint}. Check the setting `endpoint`; "
                "if it is right, the instance is too old, or does without Cody.",
            )
        case 406 if _CONTEXT_FILTERS.search(text):
            return _unsupported_editor(asked, reply)
        case 400 if "IgnoreCompatibility" in text:
            return _unsupported_editor(asked, reply)
        case 406 if asked.api_version in (None, 1):
            # That version was the last one tried.

            return refused(
                UnknownApiVersion,
                f"{host} speaks no version of its completions API that is known here. "
                "A newer lsp-completions may know it.",
            )
        case 406:
            return refused(
                UnknownApiVersion,
                f"{host} does not speak this version of its completions API. "
                f"Lower the setting `apiVersion`, now {asked.api_version}; every instance knows 1.",
            )
        case 407:
            return ProxyNotAuthorized(
                f"The proxy on the way to {host} wants a user name and a password, or others."
            )
        case 413:
            return refused(
                TooLarge, f"The request was too large for {host}. Lower the setting `prefixChars`."
            )
        case 429:
            return _rate_limited(asked, text, reply)
        case 502 | 503 | 504 if page:
            return refused(
                GatewayFailed,
                f"A gateway before {host} had no answer from it ({status}). "
                "The instance may be starting, or have too much to do.",
            )
        case _ if 300 <= status < 400:
            return Redirected(
                f"{host} sends requests on to another address. "
                "Set `endpoint` to the address where it is now."
            )
    return explained_text(asked, text, reply)


def explained_text(asked: Asked, text: str, reply: Reply | None = None) -> Refused:
    """A sentence that says no, wherever it stood: under any status, or inside a stream."""
    if _RATE_LIMIT.search(text):
        return _rate_limited(asked, text, reply)
    if _MODEL.search(text):
        return _unsupported_model(asked, text, reply)
    if (upstream := _UPSTREAM.search(text)) is not None:
        return ModelFailed(
            f"The model behind {asked.host} failed with status {upstream[1]}{_trace(reply)}. "
            "If that goes on, the instance's administrator can find out why.",
            reply=reply,
        )
    if _AUTHORIZATION.search(text):
        return _not_authorized(asked, text, reply)
    # Below 500 it is the request that is spoken of.
    late = reply is None or reply.status == 408 or reply.status >= 500
    if late and _BROKE_OFF.search(text):
        return ModelFailed(
            f"{asked.host} lost its connection to the model{_trace(reply)}.", reply=reply
        )
    if late and _TOO_LATE.search(text):
        return ModelFailed(
            f"The model behind {asked.host} did not answer in time{_trace(reply)}.", reply=reply
        )
    status = f" (status {reply.status}{_trace(reply)})" if reply is not None else ""
    kind = kind_of(reply.status) if reply is not None else Refused
    return kind(
        f"{asked.host} could not complete the code{status}{_said(text, asked)}",
        reply=reply,
        retry_after=retry_after(reply.headers) if reply is not None else None,
    )


def explained_body(asked: Asked, body: str) -> ProviderError:
    """A success whose body is no completion; some gateways say no that way."""
    if is_page(body):
        return SignInPage(
            f"{asked.host} answered with a web page, as for signing in. Check the setting "
            "`endpoint`, and whether a gateway before it lets access tokens pass."
        )
    text = sentence_in(body)
    if any(known.search(text) for known in (_RATE_LIMIT, _MODEL, _UPSTREAM, _AUTHORIZATION)):
        return explained_text(asked, text)
    # What does not speak of a failure may be code.
    said = _said(text, asked) if _FAILURE.search(text) else "."
    return UnexpectedReply(f"{asked.host} answered with something other than a completion{said}")


def is_of_version(reply: Reply) -> bool:
    """Whether another version of the API may be answered."""
    return reply.status == 406 and not _CONTEXT_FILTERS.search(sentence_in(reply.body))


def is_of_model(reply: Reply) -> bool:
    """Whether another model may be answered."""
    # Below 500 it is the instance that says so, and above the model's own server, of one request.
    return 400 <= reply.status < 500 and bool(_MODEL.search(sentence_in(reply.body)))


def default_model(reply: Reply) -> str:
    """The model that a refusal of another one names as the instance's own; empty where none is."""
    default = _DEFAULT_MODEL.search(sentence_in(reply.body))
    return default[1] if default else ""


def _unsupported_editor(asked: Asked, reply: Reply) -> UnsupportedEditor:
    return UnsupportedEditor(
        f"{asked.host} has context filters and, before version 5.6, lets only certain editors "
        "complete code. Its administrator can update it.",
        reply=reply,
    )


def _not_authorized(asked: Asked, text: str, reply: Reply | None) -> NotAuthorized:
    if "not enabled" in text:
        return NotAllowed(
            f"{asked.host} does not complete code for this account{_said(text, asked)}",
            reply=reply,
        )
    if asked.token is None and asked.headers and "invalid" in text.lower():
        sentence = (
            f"{asked.host} does not accept the header that says who asks; what it holds may have "
            "expired. Renew it where it comes from: `headers`, SRC_HEADERS or `authCommand`."
        )
    elif asked.token is None:
        sentence = (
            f"{asked.host} wants an access token. Create one at {_token_page(asked)} and enter it "
            "in `lsp-completions login`, or put it into SRC_ACCESS_TOKEN."
        )
    else:
        sentence = (
            f"{asked.host} does not accept the access token; it may have been revoked, or belong "
            f"to another instance. Create a new one at {_token_page(asked)}."
        )
    return NotAuthorized(sentence, reply=reply)


def _rate_limited(asked: Asked, text: str, reply: Reply | None) -> RateLimited:
    seconds = retry_after(reply.headers if reply is not None else {}, text)
    when = "" if not seconds else f" It takes more in {in_words(seconds)}."
    free = reply is not None and reply.headers.get("x-is-cody-pro-user", "").lower() == "false"
    more = " A paid plan has a higher one." if free else ""
    return RateLimited(
        f"{asked.host} takes no more requests for now, because a limit is reached.{more}{when}",
        reply=reply,
        retry_after=seconds,
    )


def _unsupported_model(asked: Asked, text: str, reply: Reply | None) -> UnknownModel:
    default = _DEFAULT_MODEL.search(text)
    choice = f"; its own choice is {default[1]}" if default else ""
    model = f"the model {asked.model}" if asked.model else "its own choice of a model"
    return UnknownModel(
        f"{asked.host} cannot complete code with {model}{choice}. "
        "Name another in the setting `model`, or none.",
        reply=reply,
    )


def _said(text: str, asked: Asked) -> str:
    """The sentence in `text` as the end of one of ours."""
    sentence = first_sentence(text, (asked.token, *asked.headers))
    return f": {sentence}." if sentence else "."


def _token_page(asked: Asked) -> str:
    return f"{asked.endpoint}/user/settings/tokens"


def _trace(reply: Reply | None) -> str:
    """The id under which an administrator finds the request in the instance's records."""
    trace = reply.headers.get("x-trace", "") if reply is not None else ""
    return f", trace {trace}" if re.fullmatch(r"[0-9a-f-]{1,64}", trace) else ""


def _wants_second_factor(reply: Reply) -> bool:
    return any(
        re.fullmatch(r"x-.*-u2f-challenge", name) and value.strip().lower() == "true"
        for name, value in reply.headers.items()
    )


_RATE_LIMIT = re.compile(
    r"rate.?limit|concurrency limit|too many requests|quota|status( code)? 429", re.IGNORECASE
)
_MODEL = re.compile(
    r"unsupported [\w ]*model|model \S+ is not supported|reason model\b", re.IGNORECASE
)
_DEFAULT_MODEL = re.compile(r'default:? "([^"\s]{1,100})"')
_CONTEXT_FILTERS = re.compile(r"ignore|filter|compatib", re.IGNORECASE)
_UPSTREAM = re.compile(r"unexpected status code (\d{3})")
_BROKE_OFF = re.compile(r"\bgoaway\b|connection (reset|refused)|unexpected eof|broken pipe", re.I)
_TOO_LATE = re.compile(r"deadline exceeded|timed? ?out|timeout", re.IGNORECASE)
_FAILURE = re.compile(r"fail|error|invalid|denied|exceed|unavailable|timed? ?out", re.IGNORECASE)
_AUTHORIZATION = re.compile(
    r"invalid access token|requires authentication|unauthori[sz]ed|cody is not enabled",
    re.IGNORECASE,
)
