"""The provider that answers, made of the settings."""

from typing import TypedDict

from lsp_completions.pipeline.templates import TEMPERATURE
from lsp_completions.providers.base import Provider
from lsp_completions.providers.llama_cpp import LlamaCpp
from lsp_completions.providers.local import Local
from lsp_completions.providers.mistral import Mistral
from lsp_completions.providers.ollama import Ollama
from lsp_completions.providers.openai import OpenAI
from lsp_completions.providers.requirements import (
    LLAMA_CPP_URL,
    MISTRAL_URL,
    OLLAMA_URL,
    api_for,
    token_for,
)
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.secret import Secret
from lsp_completions.settings import Api, Settings


def provider_for(settings: Settings, *, local_available: bool) -> Provider | Local:
    """The provider the settings describe. Raises `ConfigurationError` that says what to set.

    `local_available` says whether the embedded model can run on this machine.
    """
    match api_for(settings, local_available=local_available):
        case Api.SOURCEGRAPH:
            return _sourcegraph(settings)
        case Api.LOCAL:
            return _local(settings)
        case Api.LLAMA_CPP:
            return LlamaCpp(**_common(settings, settings.url or LLAMA_CPP_URL))
        case Api.OLLAMA:
            return Ollama(
                **_common(settings, settings.url or OLLAMA_URL),
                keep_alive=settings.keep_alive,
                context_tokens=settings.context_tokens,
            )
        case Api.OPENAI:
            assert settings.url is not None
            return OpenAI(**_common(settings, settings.url), logprobs=settings.logprobs)
        case Api.MISTRAL:
            return Mistral(**_common(settings, settings.url or MISTRAL_URL))


def _sourcegraph(settings: Settings) -> Sourcegraph:
    assert settings.endpoint is not None
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
