"""`lsp-completions login` and `logout`: a token for a Sourcegraph instance, checked and stored."""

import asyncio
import getpass
import re
import sys
import warnings
from collections.abc import Sequence
from datetime import date
from urllib.parse import urlsplit

import click

from lsp_completions.cli.exits import Exit
from lsp_completions.cli.saying import say
from lsp_completions.configuration import load_user_layers
from lsp_completions.configuration.in_force import put_in_force
from lsp_completions.credentials import keychain
from lsp_completions.credentials.credential import origin_of
from lsp_completions.credentials.logins import Login, Logins, how_protected
from lsp_completions.diagnosis.asking import answer_to
from lsp_completions.errors import ConfigurationError, InvalidParams, NotAuthorized
from lsp_completions.kinds import Address, Token
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.providers.sourcegraph_user import question, token_page, user_in
from lsp_completions.secret import Secret
from lsp_completions.settings import Settings
from lsp_completions.transport import Transport
from lsp_completions.transport.network import network_of

LONGEST = 64 * 1024  # characters read of what is piped in; a token has some dozens
SECONDS = 20.0  # for an answer; a person is there and sees it
UNLOCKING = 60.0  # seconds; a locked keyring asks its owner for a password first

NEVER_AN_ARGUMENT = (
    "A token is not given as an argument, since everybody on this machine can see arguments. "
    "It is asked for, or read from standard input. If this one is real, revoke it and create "
    "another."
)


def login(given: Sequence[str]) -> Exit:
    """Ask for a token, check it, store it. Raises `CompletionsError` where nothing was stored."""
    if len(given) > 1 or any(_looks_like_token(word) for word in given):
        raise InvalidParams(NEVER_AN_ARGUMENT)
    settings = _settings()
    endpoint = _endpoint(given[0] if given else None, settings)
    say(f"Create an access token at {token_page(endpoint)} and enter it here; it is not shown.")
    if _travels_openly(endpoint):
        say(f"Warning: {endpoint} is not encrypted, so others may see the token on its way.")
    token = _token()

    user = asyncio.run(_whose(endpoint, token, settings))
    if (where := _store(Login(endpoint=endpoint, user=user, since=date.today()), token)) is None:
        where = "It is stored in the system's keyring."
    say(f"Logged in to {endpoint}{f' as {user}' if user else ''}. {where}")
    _tell_what_comes_before(endpoint)
    return Exit.GOOD


def logout(url: str | None, *, every: bool) -> Exit:
    """Forget a login, or all. Raises `CompletionsError` where something of it is left."""
    logins = Logins()
    known = logins.all()
    if every:
        leaving = known
    elif url is not None:
        if _looks_like_token(url):
            raise InvalidParams(NEVER_AN_ARGUMENT)
        endpoint = _address(url)
        leaving = [each for each in known if each.endpoint == endpoint]
        if not leaving:
            raise InvalidParams(f"There is no login to {endpoint}{_others(known)}.")
    elif len(known) > 1:
        raise InvalidParams(f"Which login? Name its address, or use --all{_others(known)}.")
    else:
        leaving = known
    if not leaving:
        say("There is no login.")

    left: list[str] = []
    for each in leaving:
        if each.in_keyring:
            try:
                keychain.forget(each.endpoint, patience=UNLOCKING)
            except keychain.NoKeyring as error:
                left.append(
                    f"The token for {each.endpoint} is still in the system's keyring, where it is "
                    f'an entry of "{keychain.SERVICE}": {error}.'
                )
                continue
        logins.remove(each.endpoint)
        say(
            f"Logged out of {each.endpoint}. The token itself stays valid until you revoke it at "
            f"{each.endpoint}/user/settings/tokens."
        )
    if every and not left:
        logins.clear()
    if left:
        raise ConfigurationError(" ".join(left))
    return Exit.GOOD


def _settings() -> Settings:
    layers, problems = load_user_layers()
    found = put_in_force(layers)
    for problem in (*problems, *found.problems):
        say(f"Warning: {problem}")
    return found.settings


def _endpoint(given: str | None, settings: Settings) -> str:
    """The instance to log in to: the one that is named, configured, or typed in."""
    if given is None and not sys.stdin.isatty():
        given = settings.endpoint
        if given is None:
            raise InvalidParams(
                "Name the address of your Sourcegraph instance: "
                "lsp-completions login https://sourcegraph.example.com"
            )
    if given is None:
        given = click.prompt(
            "Address of your Sourcegraph instance", default=settings.endpoint, err=True
        )
        if _looks_like_token(str(given)):
            raise InvalidParams("This is a token; the address comes first.")
    return _address(str(given))


def _address(given: str) -> str:
    problems: list[str] = []
    address = Address(drops_user=True).read(given, lambda must, at="": problems.append(must))
    if address is None:
        must = problems[0] if problems else "must not be empty"
        raise InvalidParams(f"The address {must}.")
    return address


def _token() -> Secret:
    """What the user types without seeing it, or pipes in."""
    if sys.stdin.isatty():
        try:
            with warnings.catch_warnings():
                # It would be shown.
                warnings.simplefilter("error", getpass.GetPassWarning)
                typed = getpass.getpass("Access token: ", sys.stderr)
        except getpass.GetPassWarning:
            raise InvalidParams(
                "This terminal would show the token. Pipe it into standard input instead."
            ) from None
        except EOFError:
            typed = ""
    else:
        typed = sys.stdin.read(LONGEST + 1)
    problems: list[str] = []
    token = Token().read(typed, lambda must, at="": problems.append(must))
    if token is None or len(typed) > LONGEST:
        raise InvalidParams(f"The token {problems[0]}." if problems else "No token was given.")
    return token


async def _whose(endpoint: str, token: Secret, settings: Settings) -> str:
    """Whose token it is. Raises what the instance has against it, or why it cannot be asked."""
    ours = settings.endpoint == endpoint
    headers = tuple(
        each for each in settings.headers if ours and each[0].lower() != "authorization"
    )
    instance = Sourcegraph(endpoint=endpoint, token=token, headers=headers)
    transport = Transport(
        report=lambda sentence: say(f"Warning: {sentence}"), network=network_of(settings)
    )
    try:
        answer = await answer_to(question(instance), instance, transport, seconds=SECONDS)
    finally:
        await transport.aclose()
    user = user_in(instance, answer)
    if user is None:
        raise NotAuthorized(
            f"{urlsplit(endpoint).netloc} does not know whose token this is, so it is not valid "
            f"there. Create a new one at {token_page(endpoint)}."
        )
    return user


def _store(login: Login, token: Secret) -> str | None:
    """Store it in the keyring, or else in the file, of which a sentence tells."""
    logins = Logins()
    try:
        keychain.keep(login.endpoint, token, patience=UNLOCKING)
    except keychain.NoKeyring as error:
        logins.add(login.with_token(token))
        return (
            f"The token is stored in the file {logins.file}, {how_protected()}, and not in the "
            f"system's keyring: {error}."
        )
    logins.add(login)
    return None


def _tell_what_comes_before(endpoint: str) -> None:
    """A login counts only where nothing else is set."""
    settings = put_in_force(load_user_layers()[0]).settings
    if settings.endpoint != endpoint:
        source = settings.source_of("endpoint")
        say(f"Note: completions come from {settings.endpoint} still, which {source} names.")
    elif (origin := origin_of(settings, Logins().all())) is not None and not origin.is_login:
        say(f"Note: another credential comes before this login: {origin.sentence}.")


def _others(known: Sequence[Login]) -> str:
    return f"; there are logins to {', '.join(each.endpoint for each in known)}" if known else ""


def _travels_openly(endpoint: str) -> bool:
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    here = host == "localhost" or host.endswith(".localhost") or host.startswith("127.")
    return parts.scheme == "http" and not here and host != "::1"


def _looks_like_token(word: str) -> bool:
    return bool(re.fullmatch(r"\s*(sg[a-z]{1,4}_[\w-]{8,}|[0-9a-f]{40})\s*", word, re.IGNORECASE))
