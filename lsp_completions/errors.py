"""What can go wrong, each message a sentence for a person.

    CompletionsError
    ├── InvalidParams            a request's parameters make no sense
    ├── ConfigurationError       settings that prevent any request
    │   └── SwitchedOff          the administrator does not let code be completed
    └── ProviderError            the provider could not be reached or said no
        ├── Unreachable          no connection: name, refusal, certificate
        ├── TimedOut             connected, but the answer did not come in time
        ├── Interrupted          the answer broke off
        ├── UnexpectedReply      an answer that is not what the API promises (a login page, say)
        ├── LocalModelFailed     the embedded model could not be installed or started
        └── Refused              a status other than success, or an error inside the stream
            ├── NotAuthorized    the token is missing, wrong or not allowed
            ├── RateLimited      too many requests
            ├── UnknownApiVersion the server does not speak the version we asked for
            └── NotAttributed    what was suggested may not be shown

No message, and no `repr`, holds a token or code.
"""

from dataclasses import dataclass


class CompletionsError(Exception):
    """Base of all that can go wrong; `str(error)` is a sentence for the user."""


class InvalidParams(CompletionsError):
    """A request's parameters make no sense; answered with JSON-RPC error -32602."""


class ConfigurationError(CompletionsError):
    """The settings prevent any request; the message says what to set."""


class SwitchedOff(ConfigurationError):
    """The administrator does not let code be completed; it ends when he allows it again."""


class ProviderError(CompletionsError):
    """The provider could not be reached, or did not answer with a completion."""


class Unreachable(ProviderError):
    """No connection: unknown name, refusal, certificate."""


class TimedOut(ProviderError):
    """No first event, or no end, within the deadline."""


class Interrupted(ProviderError):
    """The answer broke off before its end."""


class UnexpectedReply(ProviderError):
    """A reply that is not what the API promises, such as a login page or a redirect."""


class LocalModelFailed(ProviderError):
    """The embedded model could not be installed or started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The head of an HTTP reply that was not a success, for a provider to explain.

    `headers` have lower-case names; `body` is the first 4 KiB, decoded.
    """

    status: int
    headers: dict[str, str]
    body: str


class Refused(ProviderError):
    """The provider said no. `retry_after` is in seconds from the reply, where it named a time."""

    def __init__(
        self, message: str, *, reply: Reply | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.reply = reply
        self.retry_after = retry_after


class NotAuthorized(Refused):
    """The token is missing, wrong or not allowed to complete code."""


class RateLimited(Refused):
    """Too many requests."""


class UnknownApiVersion(Refused):
    """The server does not speak the API version we asked for."""


class NotAttributed(Refused):
    """Nobody could say where the suggested code comes from, so none of it may be shown."""
