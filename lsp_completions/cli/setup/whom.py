"""Whom to ask for suggestions: what is set up, and which models run on this machine."""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from lsp_completions.cli import impatient
from lsp_completions.cli.saying import say
from lsp_completions.configuration import config_file, load_user_layers
from lsp_completions.configuration.in_force import put_in_force
from lsp_completions.diagnosis.asking import answer_to
from lsp_completions.errors import CompletionsError
from lsp_completions.local_model import files as model_files
from lsp_completions.pipeline.chats import family_for
from lsp_completions.providers.llama_cpp import LlamaCpp
from lsp_completions.providers.model_lists import list_request, models_in
from lsp_completions.providers.ollama import Ollama
from lsp_completions.providers.requirements import LLAMA_CPP_URL, OLLAMA_URL, has_credential
from lsp_completions.settings import Api, Settings
from lsp_completions.transport import Transport
from lsp_completions.visible import visible

SECONDS = 2.0  # for an answer from this machine
MOST = 9  # models offered; a longer list is `ollama list`'s
HERE = ((Api.LLAMA_CPP, LLAMA_CPP_URL), (Api.OLLAMA, OLLAMA_URL))


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Somebody on this machine who could be asked."""

    api: Api
    model: str

    @property
    def told(self) -> str:
        """In words for a person."""
        name = {Api.OLLAMA: "Ollama", Api.LLAMA_CPP: "the llama.cpp server"}[self.api]
        return visible(f"{name} on this machine{f', {self.model}' if self.model else ''}")

    @property
    def lines(self) -> str:
        """What to write into the settings file."""
        model = f"model = {json.dumps(self.model)}\n" if self.api is Api.OLLAMA else ""
        return f"provider = {json.dumps(str(self.api.value))}\n{model}"


def choose() -> str:
    """Ask a person whom to ask, or say what there is.

    Returns the lines to write into the settings file, none where it stays as it is.
    """
    layers, problems = load_user_layers()
    found = put_in_force(layers)
    for problem in (*problems, *found.problems):
        say(f"Warning: {problem}")
    settings = found.settings
    now = in_force(settings)
    offers = [] if settings.provider is not None else impatient.run(on_this_machine())
    if now is not None:
        say(f"Suggestions come from {now}.")
    if offers and sys.stdin.isatty() and sys.stderr.isatty():
        return _asked(offers, now, settings)
    for offer in offers:
        say(f"Found: {offer.told}.")
    if offers and now is None:
        say("For the first of them, write this into the settings file:")
        click.echo(f"\n{offers[0].lines}", err=True)
    if now is None:
        say(missing(settings))
    return ""


def in_force(settings: Settings) -> str | None:
    """Who is asked by the settings, in words with where that stands; `None` where nobody is."""
    if settings.provider is not None and settings.provider is not Api.SOURCEGRAPH:
        return f"{settings.provider.value}, which {settings.source_of('provider')} names"
    if settings.endpoint is not None and has_credential(settings):
        return f"{settings.endpoint}, which {settings.source_of('endpoint')} names"
    if settings.provider is None and model_files.is_available():
        return "the small model on this machine"
    return None


def missing(settings: Settings) -> str:
    """What to do where nobody is asked yet."""
    if settings.endpoint is not None:
        return (
            f"There is no token yet for {settings.endpoint}, which "
            f"{settings.source_of('endpoint')} names: run lsp-completions login."
        )
    return (
        "Suggestions come from nowhere yet. Run lsp-completions login for a Sourcegraph instance, "
        "or lsp-completions model install for a small model on this machine; or for a model server "
        'of your own write provider = "ollama", "llama.cpp", "openai" or "mistral" into '
        f"{config_file()}."
    )


async def on_this_machine(where: Sequence[tuple[Api, str]] = HERE) -> list[Offer]:
    """The models of servers that listen on this machine, those that complete code first."""
    transport = Transport(report=lambda _: None)
    try:
        found = await asyncio.gather(*(_models_at(transport, api, url) for api, url in where))
    finally:
        await transport.aclose()
    offers = [offer for each in found for offer in each]
    return sorted(offers, key=_knows_no_code)[:MOST]


async def _models_at(transport: Transport, api: Api, url: str) -> list[Offer]:
    server = Ollama(url=url) if api is Api.OLLAMA else LlamaCpp(url=url)
    try:
        listed = models_in(
            server, await answer_to(list_request(server), server, transport, seconds=SECONDS)
        )
    except CompletionsError:
        return []
    return [Offer(api=api, model=each.name) for each in listed or () if not each.why_not]


def _knows_no_code(offer: Offer) -> bool:
    return offer.api is Api.OLLAMA and family_for(offer.model).reply is not None


def _asked(offers: Sequence[Offer], now: str | None, settings: Settings) -> str:
    stay = "leave it as it is" if now is not None else "none of them"
    if now is None and settings.endpoint is not None:
        stay = f"{settings.endpoint}, once you have logged in"
    click.echo("Whom to ask for suggestions?", err=True)
    for number, told in enumerate([stay, *(offer.told for offer in offers)]):
        click.echo(f"  {number}  {told}", err=True)
    default = 0 if now is not None else 1
    chosen = click.prompt("Number", type=click.IntRange(0, len(offers)), default=default, err=True)
    if chosen:
        return offers[chosen - 1].lines
    if now is None:
        say(missing(settings))
    return ""
