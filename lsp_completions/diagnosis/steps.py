"""What is told of one thing that was looked at, and how what went wrong becomes that."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lsp_completions.errors import (
    CompletionsError,
    ConfigurationError,
    Interrupted,
    NoCredential,
    ProviderError,
    ProxyNotAuthorized,
    RateLimited,
    Redirected,
    TimedOut,
    UnexpectedReply,
    Unreachable,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing, for a person and for a script."""

    name: str
    """What was looked at; the same in every version."""
    ok: bool | None
    """`None` where it was not tried, or is not known and need not be."""
    sentence: str
    remedy: str = ""
    """What to do; empty where nothing need be done."""
    details: Mapping[str, object] = field(default_factory=dict)
    """For scripts, in what JSON can hold."""
    lines: tuple[str, ...] = ()
    """More for people."""


def not_tried(name: str, why: str) -> Step:
    """A step that another one stands in the way of; `why` follows on "since"."""
    return Step(name=name, ok=None, sentence=f"Not tried, since {why}.")


def not_yet(name: str, sentence: str, more: str = "") -> Step:
    """A step that takes longer than anybody watches, and may well end well."""
    lines = (more,) if more else ()
    remedy = "Wait a minute, and try again."
    return Step(name=name, ok=None, sentence=sentence, remedy=remedy, lines=lines)


def failed(name: str, error: CompletionsError, **details: object) -> Step:
    """A step that ended with an error."""
    sentence, remedy = parted(str(error))
    if isinstance(error, ConfigurationError) and error.remedy:
        remedy = error.remedy
    if remedy == "Is it running?":
        remedy += " Start it, or check its address."
    if name != "completion":
        sentence = sentence.replace(" could not complete the code", " could not answer")
    kind = type(error).__name__
    return Step(
        name=name,
        ok=False,
        sentence=sentence,
        remedy=remedy or _usual_remedy(error),
        details={"error": kind, **details},
    )


def parted(message: str) -> tuple[str, str]:
    """What is wrong, and what to do about it, which our messages tell in one.

    The first sentence says what is wrong, up to a semicolon if there is one outside of brackets.
    """
    depth = 0
    for at, character in enumerate(message):
        if character in "()":
            depth += 1 if character == "(" else -1
        rest = message[at + 2 :]
        if depth == 0 and character in ".;" and message[at + 1 : at + 2] == " " and rest:
            if character == "." and not (rest[0].isupper() or rest[0] == "`"):
                continue
            return f"{message[:at]}.", _as_sentence(rest)
    return message, ""


def _as_sentence(text: str) -> str:
    # Not the name of a model, which is to be written as it is.
    if re.match(r"[a-z]+(?![\w/:-]|\.\w)", text):
        text = text[:1].upper() + text[1:]
    return text if text[-1] in ".?!" else f"{text}."


def _usual_remedy(error: CompletionsError) -> str:
    match error:
        case ProxyNotAuthorized():
            return (
                "Put the right ones into the proxy's address, http://USER:PASSWORD@HOST:PORT; in "
                "them @ is written as %40, : as %3A and / as %2F."
            )
        case Unreachable():
            return (
                "Check the address, and whether this machine is online and in the company's "
                "network (VPN); a proxy is set by `proxy` or HTTPS_PROXY."
            )
        case NoCredential():
            return "Run the command by hand to see what it says, or `lsp-completions login`."
        case TimedOut():
            return (
                "Try again; if it is always that slow, raise the settings `firstEventTimeout` and "
                "`totalTimeout`."
            )
        case Redirected():
            return "Set the address to where it is now."
        case RateLimited():
            return "Wait a while; suggestions come back by themselves."
        case Interrupted():
            return (
                "Try again in a minute; a server that hangs up at once may want a client "
                "certificate (`clientCertificate`)."
            )
        case UnexpectedReply():
            return "Check the address; something else may answer there."
        case ProviderError():
            return "Try again in a minute; if it goes on, tell whoever runs the server."
        case _:
            return "Change the settings."
