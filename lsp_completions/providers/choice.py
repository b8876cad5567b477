"""Which provider answers: the one the settings name, else the best there is."""

from typing import TypedDict

from lsp_completions.errors import ConfigurationError
from lsp_completions.pipeline.templates import TEMPERATURE
from lsp_completions.providers.base import Provider
from lsp_completions.providers.llama_cpp import LlamaCpp
from lsp_completions.providers.local import Local
from lsp_completions.providers.mistral import Mistral
from lsp_completions.providers.ollama import Ollama
from lsp_completions.providers.openai import OpenAI
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.providers.wire import host_of
from lsp_completions.secret import LoginToken, Secret
from lsp_completions.settings import Api, Settings

# Numbers, as `localhost` may be tried at `::1` first, where neither of them listens.
LLAMA_CPP_URL = "http://127.0.0.1:8080"
OLLAMA_URL = "http://127.0.0.1:11434"
MISTRAL_URL = "https://api.mistral.ai"

# Editors show a message in a line or two, and the next key may wipe it away: this is the gist, and
# `lsp-completions check` has room for the rest.
NO_ACCOUNT = (
    "Run `lsp-completions login`, or `lsp-completions model install` for a small model; "
    "`lsp-completions check` names more ways."
)
LOG_IN = "Run `lsp-completions login`; `lsp-completions check` names other ways."
INSTALL = "run `lsp-completions model install`"
OTHERS = (
    f"; or {INSTALL} for a small model on this machine; or name your own model server in "
    "`provider` and `url`"
)
DESKTOP = "An editor started from a desktop may lack the variables your shell sets."
TWO_CREDENTIALS = (
    "There are both an access token and a header Authorization for your Sourcegraph instance, and "
    "only one of them can be meant. Remove the token or the header."
)
NO_KIND = (
    "`url` and `apiKey` are for a model server of your own: set `provider` to `llama.cpp`, "
    "`ollama`, `openai` or `mistral` as well."
)
NO_LOCAL_MODEL = (
    "The embedded model cannot run: it needs the extra `local` of lsp-completions, and a model: "
    + INSTALL
    + ", or name a file in `modelPath`."
)


def provider_for(settings: Settings, *, local_available: bool) -> Provider | Local:
    """The provider the settings describe. Raises `ConfigurationError` that says what to set.

    `local_available` says whether the embedded model can run on this machine.
    """
    match settings.provider:
        case None if settings.endpoint is not None and has_credential(settings):
            return _sourcegraph(settings)
        case None if local_available:
            return _local(settings)
        case None:
            raise _unconnected(settings, "No completions yet", others=OTHERS)
        case Api.SOURCEGRAPH:
            return _sourcegraph(settings)
        case Api.LOCAL if not local_available:
            raise ConfigurationError(NO_LOCAL_MODEL)
        case Api.LOCAL:
            return _local(settings)
        case Api.LLAMA_CPP:
            return LlamaCpp(**_common(settings, settings.url or LLAMA_CPP_URL))
        case Api.OLLAMA:
            return _ollama(settings)
        case Api.OPENAI:
            return _openai(settings)
        case Api.MISTRAL:
            return _mistral(settings)


def half_set_up(settings: Settings) -> ConfigurationError | None:
    """What is still missing of a provider that somebody began to set up."""
    if settings.provider is not None:
        return None
    if (settings.endpoint is not None) is not has_credential(settings):
        return _unconnected(settings, "", instead=", so the small model answers")
    if settings.endpoint is None and (settings.url or settings.api_key) is not None:
        return ConfigurationError(NO_KIND)
    return None


def _sourcegraph(settings: Settings) -> Sourcegraph:
    if settings.endpoint is None or not has_credential(settings):
        raise _unconnected(settings, "No completions from Sourcegraph")
    if settings.auth_command is None and has_authorization(settings) and token_for(settings):
        raise ConfigurationError(TWO_CREDENTIALS)
    return Sourcegraph(
        endpoint=settings.endpoint,
        token=token_for(settings),
        model=settings.model,
        api_version=settings.api_version,
        temperature=settings.temperature,
        top_k=settings.top_k,
        top_p=settings.top_p,
        stop_sequences=settings.stop_sequences,
        logprobs=settings.logprobs,
        stream=settings.stream,
        timeout_ms=round(settings.total_timeout * 1000),
        headers=settings.headers,
    )


def has_credential(settings: Settings) -> bool:
    """Whether anything says to a Sourcegraph instance who asks."""
    return (
        settings.access_token is not None
        or settings.auth_command is not None
        or has_authorization(settings)
    )


def has_authorization(settings: Settings) -> bool:
    """Whether a header of the user's own says who asks."""
    return any(name.lower() == "authorization" for name, _ in settings.headers)


def token_for(settings: Settings) -> Secret | None:
    """The token to send; a login's gives way to a header that says who asks."""
    if isinstance(settings.access_token, LoginToken) and has_authorization(settings):
        return None
    return settings.access_token


def _unconnected(
    settings: Settings, so_far: str, *, others: str = "", instead: str = ""
) -> ConfigurationError:
    """What is missing to reach a Sourcegraph instance, and what can be done.

    `so_far` is for who has set nothing; `others` are more things to do, `instead` who answers.
    """
    wanted = {
        "SRC_ENDPOINT": ("endpoint", settings.endpoint is not None),
        "SRC_ACCESS_TOKEN": ("accessToken", has_credential(settings)),
    }
    missing = {variable: key for variable, (key, is_there) in wanted.items() if not is_there}
    what_to_do = LOG_IN
    match list(missing.values()):
        case [_, _] if others:
            what_to_do = NO_ACCOUNT
        case ["accessToken"] if settings.endpoint is not None:
            so_far = f"No access token for {host_of(settings.endpoint)}"
        case ["endpoint"]:
            so_far = "An access token is set, but no `endpoint`"
    remedy = (
        f"Run `lsp-completions login`, or set {' and '.join(missing)} for your Sourcegraph "
        f"instance, in the environment or as {' and '.join(missing.values())} in "
        f"lsp-completions/config.toml{others}. {DESKTOP}"
    )
    return ConfigurationError(f"{so_far}{instead}. {what_to_do}", remedy=remedy)


def _local(settings: Settings) -> Local:
    return Local(
        model_path=settings.model_path,
        # A model named for another provider says nothing about the installed one.
        model=settings.model if settings.model_path is not None else "",
        temperature=_temperature(settings),
        top_k=settings.top_k,
        top_p=settings.top_p,
        stop_sequences=settings.stop_sequences,
        stream=settings.stream,
    )


def _ollama(settings: Settings) -> Ollama:
    if not settings.model:
        raise ConfigurationError(
            "Ollama has to be told which model: set `model`, for example to "
            "`qwen2.5-coder:1.5b-base`. `ollama list` shows those it has."
        )
    return Ollama(
        **_common(settings, settings.url or OLLAMA_URL),
        keep_alive=settings.keep_alive,
        context_tokens=settings.context_tokens,
    )


def _openai(settings: Settings) -> OpenAI:
    if settings.url is None:
        raise ConfigurationError(
            "The provider `openai` has to be told where: set `url`, for example to "
            "http://localhost:8000/v1."
        )
    return OpenAI(**_common(settings, settings.url), logprobs=settings.logprobs)


def _mistral(settings: Settings) -> Mistral:
    if settings.api_key is None:
        raise ConfigurationError(f"Mistral wants an API key. {Mistral.GET_KEY}")
    return Mistral(**_common(settings, settings.url or MISTRAL_URL))


def _temperature(settings: Settings) -> float:
    return TEMPERATURE if settings.temperature is None else settings.temperature


class _Common(TypedDict):
    url: str
    key: Secret | None
    model: str
    temperature: float | None
    top_k: int | None
    top_p: float | None
    stop_sequences: tuple[str, ...] | None
    stream: bool
    headers: tuple[tuple[str, Secret], ...]


def _common(settings: Settings, url: str) -> _Common:
    return _Common(
        url=url,
        key=settings.api_key,
        model=settings.model,
        temperature=_temperature(settings),
        top_k=settings.top_k,
        top_p=settings.top_p,
        stop_sequences=settings.stop_sequences,
        stream=settings.stream,
        headers=settings.headers,
    )
