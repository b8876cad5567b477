"""Looks at everything that has to be right for a suggestion, in the order in which it is needed.

Every look has an end, and all of them together take no longer than `MOST`.
"""

import asyncio
import importlib.metadata
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import urlsplit

from lsp_completions.backend import Backend
from lsp_completions.configuration.in_force import InForce, tell
from lsp_completions.configuration.places import Read
from lsp_completions.credentials.credential import AtHand, Credentials, Source, origin_of, source_of
from lsp_completions.credentials.logins import Logins
from lsp_completions.diagnosis import of_an_instance, of_own_server
from lsp_completions.diagnosis import on_the_way as way
from lsp_completions.diagnosis import on_this_machine as here
from lsp_completions.diagnosis.asking import answer_to
from lsp_completions.diagnosis.steps import Step, failed, not_tried, not_yet
from lsp_completions.diagnosis.trial import tried_out
from lsp_completions.errors import (
    CompletionsError,
    ConfigurationError,
    Interrupted,
    NoCredential,
    NotAuthorized,
    ProxyNotAuthorized,
    Redirected,
    Refused,
    SignInPage,
    TimedOut,
    Unreachable,
)
from lsp_completions.local_model import files as model_files
from lsp_completions.local_model.client import log_file
from lsp_completions.local_model.gguf import fim_tokens
from lsp_completions.model_loading import ModelLoading
from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.pipeline.templates import family_of, family_with
from lsp_completions.providers.base import HttpRequest, Provider
from lsp_completions.providers.choice import provider_for
from lsp_completions.providers.local import Local
from lsp_completions.providers.model_lists import Listed, list_request, models_in
from lsp_completions.providers.own_server import OwnServer
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.providers.sourcegraph_site import (
    Site,
    api_version,
    completion_model,
    fitted,
    switched_off,
)
from lsp_completions.providers.sourcegraph_user import question, user_in
from lsp_completions.settings import Problem, Settings
from lsp_completions.sharing.context_filters import ContextFilters
from lsp_completions.sharing.gate import AboutSharing, Gate
from lsp_completions.site import Sites
from lsp_completions.transport import Timeouts, Transport
from lsp_completions.transport.network import is_loopback, network_of, place

MOST = 26.0  # seconds for everything; a person watches
CREDENTIAL = 8.0  # seconds; a command or a keyring may ask its owner for a password
TALK = 5.0  # seconds for an instance to say something of itself
START = 15.0  # seconds for the embedded model, or Ollama's, to be there
LONGEST = 8.0  # seconds for one connection, or one completion, where the settings allow more

OF_SITE = ("version", "switch", "attribution", "apiVersion", "model")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is looked at: a file, or any file in a folder; and the workspace around it."""

    uri: str
    roots: tuple[str, ...]
    file: str | None
    """The file's name as it was given; `None` for a folder."""


async def examine(
    read: Read, found: InForce, subject: Subject, own_file: str, told: Callable[[Step], None]
) -> None:
    """Look at everything; each step is `told` as soon as it is known."""
    sources = [str(layer.source) for layer in (*read.layers, *read.project)]
    problems: Sequence[Problem] = (*read.problems, *found.problems)
    told(here.settings_step(tell(found), problems, sources, own_file))
    async with AsyncExitStack() as closing:
        await _Examination(found.settings, subject, told, closing).run()


class _Examination:
    def __init__(
        self,
        settings: Settings,
        subject: Subject,
        told: Callable[[Step], None],
        closing: AsyncExitStack,
    ) -> None:
        self._settings = settings
        self._subject = subject
        self._told = told
        self._ends = time.monotonic() + MOST
        self._reports: list[str] = []
        self._transport = Transport(report=self._reports.append, network=network_of(settings))
        events = self._transport.events
        self._sites = Sites(events, patience=TALK)
        self._filters = ContextFilters(events, version=self._version)
        self._gate = Gate(self._filters)
        self._gate.follow(settings, subject.roots)
        self._credentials = Credentials()
        self._backend = Backend(
            lambda _: None,
            sites=self._sites,
            tell=lambda _: None,
            credentials=self._credentials,
            also_ask=self._filters.begin,
        )
        for close in (
            self._transport.aclose,
            self._sites.aclose,
            self._filters.aclose,
            self._gate.aclose,
            self._backend.aclose,
        ):
            closing.push_async_callback(close)

    async def _version(self, instance: Sourcegraph) -> str | None:
        return (await self._sites.site(instance)).version

    def _left(self, most: float) -> float:
        """How many seconds a look may take."""
        return max(0.1, min(most, self._ends - time.monotonic()))

    def _skip(self, names: Iterable[str], why: str) -> None:
        for name in names:
            self._told(not_tried(name, why))

    async def run(self) -> None:
        """Everything but the settings."""
        settings = self._settings
        half = self._backend.choose(settings)
        if (problem := self._backend.problem) is not None:
            self._told(here.no_provider(problem))
            await self._locally()
            self._skip(["completion"], "nobody answers")
            return
        self._told(here.provider_step(settings, self._backend.name, half))
        match provider_for(settings, local_available=True):
            case Local():
                await self._local()
            case Sourcegraph() as chosen:
                await self._instance(chosen, source_of(settings) or AtHand())
            case provider:
                assert isinstance(provider, OwnServer)
                await self._own_server(provider)

    # ---- a Sourcegraph instance

    async def _instance(self, chosen: Sourcegraph, source: Source) -> None:
        if (why := await self._way(chosen.endpoint)) is not None:
            await self._cut_short(("token", *OF_SITE), why)
            return
        instance = await self._token(chosen, source)
        if isinstance(instance, str):
            await self._cut_short(OF_SITE, instance)
            return
        site = await self._sites.site(instance, at_most=self._left(TALK))
        why = self._of_site(instance, site)
        await self._locally()
        await self._of_filters(instance)
        if why is not None:
            self._skip(["completion"], why)
            return
        try:
            asked = await self._in_time(self._backend.provider(), TALK)
        except CompletionsError as error:
            self._told(failed("completion", error))
        else:
            await self._completion(asked)

    async def _cut_short(self, names: Iterable[str], why: str) -> None:
        self._skip(names, why)
        await self._locally()
        self._skip(("filters", "completion"), why)

    async def _token(self, chosen: Sourcegraph, source: Source) -> Sourcegraph | str:
        """The instance with its credential; why nothing can be asked where that is no good."""
        origin = origin_of(self._settings, await asyncio.to_thread(Logins().all))
        try:
            instance = await self._in_time(self._credentials.given(chosen, source), CREDENTIAL)
        except CompletionsError as error:
            if isinstance(error, TimedOut):
                error = NoCredential(f"It did not come within {CREDENTIAL:.0f} seconds.")
            self._told(of_an_instance.token_step(origin, chosen.endpoint, error))
            return "there is no token"
        # All at once, lest a slow instance be waited for again and again.
        self._sites.known(instance)
        self._filters.begin(instance)
        said: str | CompletionsError | None
        try:
            said = user_in(instance, await self._ask(question(instance), instance))
        except CompletionsError as error:
            said = error
        self._told(of_an_instance.token_step(origin, chosen.endpoint, said))
        if said is None or isinstance(said, NotAuthorized):
            return "the token did not let us in"
        if isinstance(said, _SHUT_OUT):
            return "the instance did not let us ask"
        return instance

    def _of_site(self, instance: Sourcegraph, site: Site) -> str | None:
        """Tell what the instance says of itself; why no completion is worth trying."""
        choice = completion_model(site, instance.model)
        if isinstance(choice, ConfigurationError):
            spoken = instance.api_version or api_version(site)
            asked = replace(instance, api_version=spoken)
        else:
            asked = fitted(instance, site, choice)
        self._told(of_an_instance.version_step(site))
        self._told(of_an_instance.switch_step(site))
        self._told(of_an_instance.attribution_step(site))
        self._told(of_an_instance.api_version_step(asked, site, self._settings))
        self._told(of_an_instance.model_step(choice, asked, self._settings))
        if switched_off(site) is not None:
            return "it is switched off"
        return "there is no model for it" if isinstance(choice, ConfigurationError) else None

    async def _of_filters(self, instance: Sourcegraph) -> None:
        about = await self._about_sharing(instance)
        trouble = self._filters.trouble(instance)
        self._told(of_an_instance.filters_step(about, instance.host, trouble))

    # ---- a model server of one's own

    async def _own_server(self, provider: OwnServer) -> None:
        asked = self._backend.at_hand
        assert asked is not None
        if (why := await self._way(provider.base)) is not None:
            self._skip(("key", "model"), why)
            await self._locally()
            self._skip(["completion"], why)
            return
        self._told(of_own_server.key_step(provider, self._settings))
        listed: tuple[Listed, ...] | CompletionsError | None
        try:
            listed = models_in(provider, await self._ask(list_request(provider), asked))
        except CompletionsError as error:
            reply = error.reply if isinstance(error, Refused) else None
            listed = None if reply is not None and reply.status in (404, 405) else error
        self._told(of_own_server.own_model_step(asked, listed, self._settings))
        await self._locally()
        if isinstance(listed, _SHUT_OUT):
            self._skip(["completion"], "the server did not let us ask")
            return
        loading = ModelLoading(
            lambda request, longest: self._transport.events(
                request, replace(self._timeouts(longest), first_event=longest)
            ),
            lambda *_: None,
        )
        try:
            await loading.wait(asked, self._left(START))
        except TimedOut as error:
            self._told(not_yet("completion", str(error)))
            return
        finally:
            await loading.aclose()
        await self._completion(asked)

    # ---- the embedded model

    async def _local(self) -> None:
        try:
            version = importlib.metadata.version("xllamacpp") if model_files.has_engine() else None
        except importlib.metadata.PackageNotFoundError:
            version = "of an unknown version"
        self._told(here.engine_step(version, model_files.NO_ENGINE))
        named = self._settings.model_path
        try:
            path = await asyncio.to_thread(model_files.find, named)
            fim = await asyncio.to_thread(fim_tokens, path)
            size = (await asyncio.to_thread(path.stat)).st_size
        except (ConfigurationError, OSError) as error:
            if not isinstance(error, ConfigurationError):
                error = ConfigurationError(f"The model cannot be read: {error.strerror}.")
            self._told(here.no_model_file(error, self._settings))
            await self._locally()
            self._skip(["completion"], "there is no model")
            return
        name = self._settings.model if named is not None else ""
        family = family_of(name or path.stem) if fim is None else family_with(fim, name, path.stem)
        found = here.FoundModel(
            path=path,
            size=size,
            source=None if named is None else self._settings.source_of("modelPath"),
            fim=fim,
            family=family.name,
        )
        self._told(here.model_file_step(found))
        await self._locally()
        if version is None:
            self._skip(["completion"], "what runs models is missing")
            return
        try:
            provider = await self._in_time(self._backend.provider(), START)
        except TimedOut as error:
            log = f"What it says meanwhile is in {log_file()}."
            self._told(not_yet("completion", f"The model is still starting. {error}", log))
        except CompletionsError as error:
            self._told(failed("completion", error))
        else:
            await self._completion(provider)

    # ---- what all have in common

    async def _way(self, url: str) -> str | None:
        """Look at the way to a host; returns why nothing that lies behind it can be tried."""
        host, encrypted = place(url), urlsplit(url).scheme == "https"
        proxy = await self._transport.proxy_for(url)
        source = self._settings.source_of("proxy")
        self._told(way.proxy_step(proxy, host, self._taken_reports(), source))

        authorities = await self._transport.authorities() if encrypted else ()
        await asyncio.sleep(0)  # what was found in a thread is reported in the loop
        of_certificates = self._taken_reports()
        seconds = min(self._settings.connect_timeout, LONGEST)
        began = time.monotonic()
        certificate: way.Certificate | None = None
        if encrypted:
            peer = await self._transport.look_at(url, seconds=seconds)
            problem = peer.problem
            certificate = way.Certificate(
                subject=peer.subject, issuer=peer.issuer, expires=peer.expires, problem=problem
            )
        else:
            problem = await self._transport.reach(url, seconds=seconds)
        took = time.monotonic() - began

        untrusted = problem is not None and way.is_of_certificate(problem)
        self._told(
            way.connection_step(
                host,
                None if untrusted else problem,
                took,
                encrypted=encrypted,
                loopback=is_loopback((urlsplit(url).hostname or "").lower()),
            )
        )
        if problem is not None and not untrusted:
            if encrypted:
                self._skip(["certificate"], "there is no connection")
            return "there is no connection"
        if certificate is not None:
            now = datetime.now(UTC)
            self._told(way.certificate_step(certificate, host, authorities, of_certificates, now))
        return "the certificate is not trusted" if untrusted else None

    def _taken_reports(self) -> tuple[str, ...]:
        taken = tuple(dict.fromkeys(self._reports))
        self._reports.clear()
        return taken

    async def _locally(self) -> None:
        file = self._subject.file
        self._told(here.suggestions_step(self._settings, file=file))
        about = await self._about_sharing(None)
        self._told(here.sharing_step(about.reason, self._settings, file=file))

    async def _about_sharing(self, provider: Provider | None) -> AboutSharing:
        seconds = self._left(TALK)
        try:
            async with asyncio.timeout(seconds + 1):
                return await self._gate.about_sharing(self._subject.uri, provider, at_most=seconds)
        except TimeoutError:  # of the disk
            return AboutSharing(reason=SkipReason.UNDECIDED, repositories=(), filters=None)

    async def _completion(self, asked: Provider) -> None:
        timeouts = self._timeouts(LONGEST)
        # Its own limits come first, which say more.
        seconds = self._left(LONGEST + 1)
        self._told(
            await tried_out(asked, self._settings, self._transport, timeouts, seconds=seconds)
        )

    def _timeouts(self, most: float) -> Timeouts:
        """Those of the settings, for no longer than that."""
        settings, left = self._settings, self._left(most)
        return Timeouts(
            connect=min(settings.connect_timeout, left),
            first_event=min(settings.first_event_timeout, left),
            total=min(settings.total_timeout, left),
        )

    async def _ask(self, request: HttpRequest, provider: Provider) -> str:
        seconds = self._left(TALK)
        return await answer_to(request, provider, self._transport, seconds=seconds)

    async def _in_time(self, work: Awaitable[T], most: float) -> T:
        """What comes of it. Raises `TimedOut` where that takes too long."""
        seconds = self._left(most)
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            raise TimedOut(f"It took longer than {seconds:.2g} seconds.") from None


# What lies behind it would fail in the same way.
_SHUT_OUT = (
    Interrupted,
    NotAuthorized,
    NoCredential,
    ProxyNotAuthorized,
    Redirected,
    SignInPage,
    Unreachable,
)
