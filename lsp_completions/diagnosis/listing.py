"""The models that can be chosen of whoever answers."""

import asyncio
from contextlib import AsyncExitStack

from lsp_completions.credentials.credential import AtHand, Credentials, source_of
from lsp_completions.diagnosis.asking import answer_to
from lsp_completions.errors import ConfigurationError, UnexpectedReply
from lsp_completions.local_model import files as model_files
from lsp_completions.providers.choice import provider_for
from lsp_completions.providers.local import Local
from lsp_completions.providers.model_lists import (
    Listed,
    list_request,
    models_in,
    models_of_instance,
)
from lsp_completions.providers.own_server import OwnServer
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.providers.sourcegraph_user import question
from lsp_completions.settings import Settings
from lsp_completions.site import Sites
from lsp_completions.transport import Transport
from lsp_completions.transport.network import Report, network_of

SECONDS = 10.0  # for each answer; a person watches


async def models_for(settings: Settings, report: Report) -> tuple[str, tuple[Listed, ...]]:
    """The provider's name, and its models with the one in use marked.

    `report` is given a sentence for what cannot be used. Raises `CompletionsError` where nobody
    could tell.
    """
    named = settings.provider is not None or settings.model_path is not None
    chosen = provider_for(settings, local_available=named or model_files.is_available())
    if isinstance(chosen, Local):
        return chosen.name, await asyncio.to_thread(_on_this_machine, settings)
    async with AsyncExitStack() as closing:
        transport = Transport(report=report, network=network_of(settings))
        closing.push_async_callback(transport.aclose)
        if isinstance(chosen, Sourcegraph):
            return chosen.name, await _of_instance(chosen, settings, transport, closing)
        assert isinstance(chosen, OwnServer)
        body = await answer_to(list_request(chosen), chosen, transport, seconds=SECONDS)
        if (models := models_in(chosen, body)) is None:
            raise UnexpectedReply(f"{chosen.host} answered with something other than a list.")
        return chosen.name, models


async def _of_instance(
    chosen: Sourcegraph, settings: Settings, transport: Transport, closing: AsyncExitStack
) -> tuple[Listed, ...]:
    credentials = Credentials()
    sites = Sites(transport.events, patience=SECONDS)
    closing.push_async_callback(credentials.aclose)
    closing.push_async_callback(sites.aclose)
    instance = await credentials.given(chosen, source_of(settings) or AtHand())
    # It says why it cannot be asked, of which what it says of itself tells nothing.
    await answer_to(question(instance), instance, transport, seconds=SECONDS)
    return models_of_instance(await sites.site(instance), settings.model)


def _on_this_machine(settings: Settings) -> tuple[Listed, ...]:
    """The user's own file, and those installed; the first is used. Waits for the disk."""
    models = []
    if settings.model_path is not None:
        path = model_files.find(settings.model_path)
        models.append(Listed(name=str(path), title=_megabytes(path.stat().st_size)))
    models += [
        Listed(name=model.name, title=_megabytes(model.size)) for model in model_files.installed()
    ]
    if not models:
        raise ConfigurationError(model_files.NO_MODEL)
    first, *rest = models
    return (Listed(name=first.name, title=first.title, in_use=True), *rest)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
