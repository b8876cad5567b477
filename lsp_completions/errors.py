"""What can go wrong, each message a sentence for a person.

    CompletionsError
    ├── InvalidParams              a request's parameters make no sense
    ├── ConfigurationError         settings that prevent any request
    │   └── SwitchedOff            the administrator does not let code be completed
    └── ProviderError              the provider could not be reached or said no
        ├── Unreachable            no connection: name, refusal, certificate
        │   └── ProxyNotAuthorized the proxy on the way wants a user name and a password
        ├── TimedOut               connected, but the answer did not come in time
        ├── Interrupted            the answer broke off
        ├── UnexpectedReply        an answer that is not what the API promises
        │   ├── SignInPage         a page for signing in
        │   └── Redirected         to another address
        ├── NoCredential           a command or the keyring did not give the token it keeps
        ├── LocalModelFailed       the embedded model could not be installed or started
        └── Refused                a status other than success, or an error inside the stream
            ├── NotAuthorized      the token is missing or wrong
            │   ├── NotAllowed     it is right, but its owner may not complete code
            │   ├── SignInNeeded   a gateway before the provider wants its own kind of login
            │   └── SecondFactorNeeded
            ├── Blocked            a firewall stopped the request
            ├── NoSuchApi          nothing answers completions at this address
            ├── UnknownApiVersion  the server does not speak the version we asked for
            ├── UnsupportedEditor  the server lets only certain editors ask
            ├── UnknownModel       the server does not have the model, or not for completions
            ├── NotUnderstood      the server could make nothing of the request
            ├── TooLarge           the prompt is too long for the server or its model
            ├── RateLimited        too many requests
            ├── ModelFailed        the model behind the server failed
            ├── GatewayFailed      a gateway had no answer from the server
            ├── ServerFailed       the server failed
            └── NotAttributed      what was suggested may not be shown

No message, and no `repr`, holds a token or code.
"""

from dataclasses import dataclass, field


class CompletionsError(Exception):
    """Base of all that can go wrong; `str(error)` is a sentence for the user."""


class InvalidParams(CompletionsError):
    """A request's parameters make no sense; answered with JSON-RPC error -32602."""


class ConfigurationError(CompletionsError):
    """The settings prevent any request; the message says what to do.

    `remedy` says all that could be done, where that is more than an editor's line for messages has
    room for.
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class SwitchedOff(ConfigurationError):
    """The administrator does not let code be completed; it ends when he allows it again."""


class ProviderError(CompletionsError):
    """The provider could not be reached, or did not answer with a completion."""


class Unreachable(ProviderError):
    """No connection: unknown name, refusal, certificate."""


class ProxyNotAuthorized(Unreachable):
    """The proxy on the way wants a user name and a password, or others."""


class TimedOut(ProviderError):
    """No first event, or no end, within the deadline."""


class Interrupted(ProviderError):
    """The answer broke off before its end."""


class UnexpectedReply(ProviderError):
    """A reply that is not what the API promises; an `empty` one was a success without a word."""

    def __init__(self, message: str, *, empty: bool = False) -> None:
        super().__init__(message)
        self.empty = empty


class SignInPage(UnexpectedReply):
    """A web page in place of a completion, as for signing in."""


class Redirected(UnexpectedReply):
    """The way leads to another address, which is not followed."""


class NoCredential(ProviderError):
    """What keeps the token, a command or the system's keyring, did not give it."""


class LocalModelFailed(ProviderError):
    """The embedded model could not be installed or started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The head of an HTTP reply that was not a success, for a provider to explain.

    `headers` have lower-case names; `body` is the first 4 KiB, decoded. It may repeat what was
    sent, so neither is in the `repr`.
    """

    status: int
    headers: dict[str, str] = field(repr=False)
    body: str = field(repr=False)


class Refused(ProviderError):
    """The provider said no. `retry_after` is in seconds from the reply, where it named a time."""

    def __init__(
        self, message: str, *, reply: Reply | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.reply = reply
        self.retry_after = retry_after


class NotAuthorized(Refused):
    """The token is missing or wrong."""


class NotAllowed(NotAuthorized):
    """The account may not complete code, or the instance does not."""


class SignInNeeded(NotAuthorized):
    """A gateway before the provider wants its own kind of login."""


class SecondFactorNeeded(NotAuthorized):
    """A gateway before the provider asks for a second factor."""


class Blocked(Refused):
    """A firewall or gateway stopped the request."""


class NoSuchApi(Refused):
    """Nothing answers completions at this address."""


class UnknownApiVersion(Refused):
    """The server does not speak the API version we asked for."""


class UnsupportedEditor(Refused):
    """The server lets only certain editors ask."""


class UnknownModel(Refused):
    """The server does not have the model, or not for completions."""


class NotUnderstood(Refused):
    """The server could make nothing of the request."""


class TooLarge(Refused):
    """The prompt is too long for the server or its model."""


class RateLimited(Refused):
    """Too many requests."""


class ModelFailed(Refused):
    """The model behind the server failed, or did not answer it."""


class GatewayFailed(Refused):
    """A gateway before the server had no answer from it."""


class ServerFailed(Refused):
    """The server failed."""


class NotAttributed(Refused):
    """Nobody could say where the suggested code comes from, so none of it may be shown."""
