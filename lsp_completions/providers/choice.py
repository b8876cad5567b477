"""Which provider answers: the one the settings name, as they describe it."""

from lsp_completions.errors import ConfigurationError
from lsp_completions.providers.base import Provider
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.settings import Settings

NOT_CONFIGURED = (
    "No completions yet: set {missing} for your Sourcegraph instance, in the environment "
    "or as {keys} in lsp-completions/config.toml. An editor started from a desktop "
    "may lack the variables your shell sets."
)


def provider_for(settings: Settings) -> Provider:
    """The provider the settings describe. Raises `ConfigurationError` that says what to set."""
    if settings.endpoint is None or settings.access_token is None:
        wanted = {
            "SRC_ENDPOINT": ("endpoint", settings.endpoint),
            "SRC_ACCESS_TOKEN": ("accessToken", settings.access_token),
        }
        missing = {variable: key for variable, (key, value) in wanted.items() if value is None}
        raise ConfigurationError(
            NOT_CONFIGURED.format(
                missing=" and ".join(missing), keys=" and ".join(missing.values())
            )
        )
    return Sourcegraph(
        endpoint=settings.endpoint,
        token=settings.access_token,
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
