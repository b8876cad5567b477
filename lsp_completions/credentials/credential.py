"""Whose name goes along with a request: where the credential for an instance comes from.

`source_of` decides it, in one place; `Credentials` waits for it where a command or the system's
keyring has to be asked, once for all requests, and remembers it as long as it lasts.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from lsp_completions.credentials import keychain
from lsp_completions.credentials.auth_command import LASTS, Credential, Run
from lsp_completions.credentials.logins import Login
from lsp_completions.errors import CompletionsError, NoCredential
from lsp_completions.kinds import CommandLine
from lsp_completions.providers.requirements import has_authorization, token_for
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.secret import LoginToken
from lsp_completions.settings import Settings

log = logging.getLogger(__name__)

EARLY = 60.0  # seconds before its end that a credential is renewed, or a tenth of its time
FOR_EVER = float("inf")  # a login lasts until the next one
AGAIN = 30.0  # seconds after a failure, or a refusal of what is new; it may open a window each time


@dataclass(frozen=True, slots=True)
class AtHand:
    """The settings hold it: a token, or a header `Authorization`."""


@dataclass(frozen=True, slots=True)
class FromCommand:
    """A command prints it."""

    command: CommandLine


@dataclass(frozen=True, slots=True)
class FromKeyring:
    """`lsp-completions login` stored it in the system's keyring, for this endpoint."""

    endpoint: str


Source = AtHand | FromCommand | FromKeyring


def source_of(settings: Settings) -> Source | None:
    """Where the credential for `settings.endpoint` comes from; `None` where there is none."""
    if settings.auth_command is not None:
        return FromCommand(settings.auth_command)
    match token_for(settings):
        case LoginToken() as stored if not stored.is_at_hand:
            return FromKeyring(stored.endpoint)
        case None if not has_authorization(settings):
            return None
        case _:
            return AtHand()


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialOrigin:
    """Where the credential in force came from, in words, and as whom it was given if known."""

    sentence: str
    """Such as "from the login of 3 May, stored in the keyring"."""
    user: str = ""
    is_login: bool = False
    """Whether `lsp-completions login` stored it."""


def origin_of(settings: Settings, logins: Iterable[Login]) -> CredentialOrigin | None:
    """Where the credential in force comes from; `None` where there is none."""
    source = source_of(settings)
    if source is None:
        return None
    if isinstance(source, FromCommand):
        place = settings.source_of("authCommand") or "the settings"
        return CredentialOrigin(sentence=f"printed by `authCommand`, which {place} names")
    match token_for(settings):
        case None:
            place = settings.source_of("headers") or "the settings"
            return CredentialOrigin(sentence=f"the header Authorization from {place}")
        case LoginToken(endpoint=endpoint):
            for login in logins:
                if login.endpoint == endpoint:
                    return CredentialOrigin(
                        sentence=f"from {login.told()}", user=login.user, is_login=True
                    )
    return CredentialOrigin(sentence=f"from {settings.source_of('accessToken') or 'the settings'}")


def with_credential(provider: Sourcegraph, credential: Credential) -> Sourcegraph:
    """The provider with a credential in place of what it had; its headers come before others."""
    own = {name.lower() for name, _ in credential.headers}
    kept = tuple(each for each in provider.headers if each[0].lower() not in own)
    if credential.token is not None:
        kept = tuple(each for each in kept if each[0].lower() != "authorization")
    return replace(provider, token=credential.token, headers=(*kept, *credential.headers))


class Credentials:
    """What was asked of commands and the keyring, and its answers. Belongs to one event loop."""

    def __init__(
        self,
        *,
        run: Callable[[CommandLine, str], Run] = lambda command, at: Run(command, endpoint=at),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._run = run
        self._clock = clock
        self._kept: dict[tuple[Source, str], _Kept] = {}
        self._left: list[_Kept] = []

    async def given(self, provider: Sourcegraph, source: Source) -> Sourcegraph:
        """The provider with the credential from `source`. Raises `NoCredential`."""
        if isinstance(source, AtHand):
            return provider
        kept = self._kept_for(source, provider.endpoint)
        return with_credential(provider, await kept.credential())

    def refused(self, provider: Sourcegraph, source: Source) -> bool:
        """The instance did not accept `provider`; returns whether there may be a better one now."""
        if not isinstance(source, FromCommand):
            return False
        return self._kept_for(source, provider.endpoint).refused(provider)

    def renew(self) -> None:
        """Something has changed, such as a login: what did not work is tried again.

        What a keyring said may not be so any more.
        """
        for (source, endpoint), kept in list(self._kept.items()):
            if isinstance(source, FromKeyring):
                # Who waits for it gets it, so it ends by itself.
                self._left.append(self._kept.pop((source, endpoint)))
            else:
                kept.try_again()

    async def aclose(self) -> None:
        """End what runs."""
        every = [*self._kept.values(), *self._left]
        tasks = [task for kept in every if (task := kept.stop()) is not None]
        if tasks:
            await asyncio.wait(tasks)

    def _kept_for(self, source: Source, endpoint: str) -> "_Kept":
        key = (source, endpoint)
        if (kept := self._kept.get(key)) is None:
            if isinstance(source, FromCommand):
                run = self._run(source.command, endpoint)
                kept = _Kept(lambda: run.credential(self._clock), run.stop, self._clock)
            else:
                kept = _Kept(
                    lambda: _from_keyring(endpoint), lambda: None, self._clock, lasts=FOR_EVER
                )
            self._kept[key] = kept
        return kept


class _Kept:
    """One credential, asked for once for all who want it, and again shortly before its end."""

    def __init__(
        self,
        ask: Callable[[], Credential],
        stop: Callable[[], None],
        clock: Callable[[], float],
        *,
        lasts: float = LASTS,
    ) -> None:
        self._ask = ask
        self._stop = stop
        self._clock = clock
        self._lasts = lasts
        self._credential: Credential | None = None
        self._failure: CompletionsError | None = None
        self._ends = self._due = 0.0
        self._next = 0.0  # until then it is not asked again
        self._task: asyncio.Task[None] | None = None
        self._refused = False

    async def credential(self) -> Credential:
        """It, waiting for it where there is none that is still good. Raises `NoCredential`."""
        now = self._clock()
        if self._credential is not None and now < self._ends:
            if now >= self._due and now >= self._next:
                self._begin()
            return self._credential
        if self._failure is not None and now < self._next:
            raise self._failure
        # Who waits may be cancelled; the others still want it.
        await asyncio.wait({self._begin()})
        if self._credential is None or self._failure is not None:
            raise self._failure or NoCredential("The server is shutting down.")
        return self._credential

    def refused(self, provider: Sourcegraph) -> bool:
        """Whether what is given now may be accepted, since `provider` was not."""
        if self._credential is None:
            return self._failure is None
        if with_credential(provider, self._credential) != provider:
            return True  # there is a newer one
        now = self._clock()
        if self._refused and now < self._next:
            return False
        self._refused = True
        self._credential = None
        self._next = now + AGAIN
        return True

    def try_again(self) -> None:
        """Do not wait longer before it is asked again."""
        self._next = 0.0

    def stop(self) -> "asyncio.Task[None] | None":
        """End what runs, and return it."""
        self._stop()
        if self._task is not None:
            self._task.cancel()
        return self._task

    def _begin(self) -> "asyncio.Task[None]":
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._renewed(), name="credential")
        return self._task

    async def _renewed(self) -> None:
        try:
            credential = await asyncio.to_thread(self._ask)
        except CompletionsError as error:
            # Nobody may be waiting for a renewal; whoever asks when it is over is told.
            log.info("%s", error)
            self._failure = error
            self._next = self._clock() + AGAIN
            return
        now = self._clock()
        lasts = self._lasts if credential.expires is None else credential.expires - now
        self._credential, self._failure = credential, None
        self._ends = now + lasts
        self._due = self._ends - min(EARLY, lasts / 10)


def _from_keyring(endpoint: str) -> Credential:
    try:
        token = keychain.read(endpoint)
    except keychain.NoKeyring as error:
        raise NoCredential(
            f"The token for {endpoint} is in the system's keyring, which cannot be read: {error}. "
            "Unlock it, or run `lsp-completions login` again."
        ) from None
    if token is None:
        raise NoCredential(
            f"The system's keyring has no token for {endpoint} any more. "
            "Run `lsp-completions login` again."
        )
    return Credential(token=token)
