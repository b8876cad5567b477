"""Who answers: the provider that the settings choose, or the embedded model once it runs.

A Sourcegraph instance is asked in the way that it says it wants to be.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from lsp_completions.credentials.credential import (
    AtHand,
    Credentials,
    FromKeyring,
    Source,
    source_of,
)
from lsp_completions.errors import ConfigurationError, NoCredential, SwitchedOff
from lsp_completions.local_model import files as model_files
from lsp_completions.local_model.client import LocalModel
from lsp_completions.providers.base import Provider
from lsp_completions.providers.choice import provider_for
from lsp_completions.providers.local import Local
from lsp_completions.providers.requirements import half_set_up
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.providers.sourcegraph_site import (
    Site,
    completion_model,
    fitted,
    switched_off,
)
from lsp_completions.settings import Api, Settings
from lsp_completions.site import Sites

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """The embedded model, and the process it runs in."""

    local: Local
    process: LocalModel


@dataclass(frozen=True, slots=True, eq=False)
class Fitting:
    """How an instance of which this is known is to be asked. `chosen` lacks what is asked for."""

    chosen: Sourcegraph
    instance: Sourcegraph
    site: Site
    provider: Sourcegraph


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A Sourcegraph instance, and where the credential for it comes from."""

    chosen: Sourcegraph
    source: Source


class Backend:
    """What was chosen. `progress` is given a sentence when the model has to be started first.

    `sites` knows what instances say about themselves; `tell` is given a sentence about what an
    instance has in the place of what was chosen. `also_ask` asks an instance about more, early.
    """

    def __init__(
        self,
        progress: Callable[[str], None],
        *,
        sites: Sites,
        tell: Callable[[str], None],
        credentials: Credentials | None = None,
        also_ask: Callable[[Sourcegraph], None] = lambda _: None,
    ) -> None:
        self._progress = progress
        self._credentials = Credentials() if credentials is None else credentials
        self._preparing: asyncio.Task[None] | None = None
        self._sites = sites
        self._tell = tell
        self._also_ask = also_ask
        self._told: str | None = None
        self._fitting: Fitting | None = None
        self._chosen: Provider | Embedded | Instance | ConfigurationError = ConfigurationError(
            "Nothing set."
        )
        self._left: list[LocalModel] = []

    @property
    def problem(self) -> ConfigurationError | None:
        """Why nobody can answer."""
        return self._chosen if isinstance(self._chosen, ConfigurationError) else None

    @property
    def name(self) -> str:
        """Its name in the settings; empty when nobody answers."""
        match self._chosen:
            case ConfigurationError():
                return ""
            case Embedded(local, _):
                return local.name
            case Instance(chosen, _):
                return chosen.name
            case provider:
                return provider.name

    @property
    def model(self) -> str:
        """The name of the model that answers; empty where nobody knows it."""
        match self._chosen:
            case ConfigurationError():
                return ""
            case Embedded(local, _):
                return local.model
            case Instance(chosen, _):
                fitting = self._fitting
                if fitting is None or fitting.chosen != chosen:
                    return chosen.model
                return fitting.provider.model or fitting.provider.default_model
            case provider:
                return provider.model

    @property
    def is_local(self) -> bool:
        """Whether the embedded model answers."""
        return isinstance(self._chosen, Embedded)

    @property
    def is_instance(self) -> bool:
        """Whether a Sourcegraph instance answers."""
        return isinstance(self._chosen, Instance)

    @property
    def at_hand(self) -> Provider | None:
        """Whom to ask, where that need not be waited for."""
        match self._chosen:
            case ConfigurationError() | Embedded():
                return None
            case Instance(chosen, source):
                return chosen if isinstance(source, AtHand) else None
            case provider:
                return provider

    def choose(self, settings: Settings) -> ConfigurationError | None:
        """Choose by the settings; returns what they leave half done.

        What is asked already goes on.
        """
        before = self._chosen
        self._chosen = self._choice(settings, before)
        if isinstance(before, Embedded) and not (
            isinstance(self._chosen, Embedded) and self._chosen.process is before.process
        ):
            # Requests that have begun may still want it, so it is left when the server ends.
            self._left.append(before.process)
        return half_set_up(settings) if self.is_local else None

    def _choice(
        self, settings: Settings, before: Provider | Embedded | Instance | ConfigurationError
    ) -> Provider | Embedded | Instance | ConfigurationError:
        # Where the user names it, starting it gives the exact reason why it cannot.
        named = settings.provider is Api.LOCAL or settings.model_path is not None
        try:
            chosen = provider_for(settings, local_available=named or model_files.is_available())
        except ConfigurationError as error:
            return error
        if isinstance(chosen, Sourcegraph):
            return Instance(chosen, source_of(settings) or AtHand())
        if not isinstance(chosen, Local):
            return chosen
        if isinstance(before, Embedded) and before.local.model_path == chosen.model_path:
            return Embedded(chosen, before.process)
        return Embedded(chosen, LocalModel(chosen.model_path))

    def get_ready(self) -> None:
        """Have a Sourcegraph instance asked for what the first completion needs to know.

        Whenever settings changed, as one that could not be reached may be by now.
        Where a command gives the credential, that waits for the first request: it may open a
        window.
        """
        match self._chosen:
            case Instance(chosen, AtHand()):
                self._ask_about(chosen)
            case Instance(_, FromKeyring()) as instance:
                if self._preparing is None or self._preparing.done():
                    self._preparing = asyncio.create_task(self._prepare(instance), name="keyring")

    async def _prepare(self, instance: Instance) -> None:
        try:
            self._ask_about(await self._credentials.given(instance.chosen, instance.source))
        except NoCredential as error:
            log.info("%s", error)  # told by the first request

    def _ask_about(self, instance: Sourcegraph) -> None:
        self._also_ask(instance)
        self._sites.retry(instance)
        self._sites.known(instance)

    def renew_credentials(self) -> None:
        """A login or a setting has changed: what gave no credential is asked again."""
        self._credentials.renew()

    def may_be_renewed(self, provider: Provider) -> bool:
        """Whether `provider`, whose credential was refused, would have another one if asked for."""
        match provider, self._chosen:
            case Sourcegraph(), Instance(chosen, source) if chosen.endpoint == provider.endpoint:
                return self._credentials.refused(provider, source)
            case _:
                return False

    async def provider(self, *, at_most: float | None = None) -> Provider:
        """Whom to ask; waits for the embedded model to start, and a little for an instance.

        That is for `at_most` so many seconds, and by default for as long as `sites` has patience.
        Raises `ConfigurationError` when there is nobody, `NoCredential` without a credential, and
        `LocalModelFailed` when the model cannot start.
        """
        match self._chosen:
            case ConfigurationError() as error:
                raise error
            case Embedded(local, process):
                at = await process.ready(self._progress)
                return local.served(at.url, at.key, model_path=str(at.model_path), fim=at.fim)
            case Instance(chosen, source):
                instance = await self._credentials.given(chosen, source)
                self._also_ask(instance)
                site = await self._sites.site(instance, at_most=at_most)
                return self._fitted(chosen, instance, site)
            case provider:
                return provider

    def replaced(self, provider: Provider) -> None:
        """What `provider` was asked for was refused: an instance may have changed its mind."""
        if isinstance(provider, Sourcegraph):
            self._sites.forget(provider)

    def _fitted(self, chosen: Sourcegraph, instance: Sourcegraph, site: Site) -> Sourcegraph:
        if (reason := switched_off(site)) is not None:
            raise SwitchedOff(reason)
        fitting = self._fitting
        if fitting is None or fitting.site is not site or fitting.instance != instance:
            choice = completion_model(site, instance.model)
            if isinstance(choice, ConfigurationError):
                raise choice
            provider = fitted(instance, site, choice)
            if fitting is None or fitting.provider != provider:
                model, version = choice.model or "its own model", provider.api_version
                log.info("Asking %s for %s, API version %s", site.host, model, version)
            self._fitting = Fitting(chosen, instance, site, provider)
            # Once, until there is nothing to tell or something else.
            if choice.notice is not None and choice.notice != self._told:
                self._tell(choice.notice)
            self._told = choice.notice
            return provider
        return fitting.provider

    async def aclose(self) -> None:
        """Leave the embedded model, which ends when nobody else uses it."""
        if isinstance(self._chosen, Embedded):
            self._left.append(self._chosen.process)
        if self._preparing is not None:
            self._preparing.cancel()
            await asyncio.wait({self._preparing})
        await self._credentials.aclose()
        while self._left:
            await self._left.pop().aclose()
