"""Every way in which a Sourcegraph instance, or what stands before it, says no to a completion."""

from dataclasses import dataclass
from typing import Any

import pytest

from lsp_completions.errors import (
    Blocked,
    GatewayFailed,
    ModelFailed,
    NoSuchApi,
    NotAllowed,
    NotAuthorized,
    NotUnderstood,
    ProviderError,
    ProxyNotAuthorized,
    RateLimited,
    Redirected,
    Refused,
    SecondFactorNeeded,
    ServerFailed,
    SignInNeeded,
    SignInPage,
    TooLarge,
    UnexpectedReply,
    UnknownApiVersion,
    UnknownModel,
    UnsupportedEditor,
)
from tests.support.sourcegraph import (
    CUT,
    Answer,
    Reply,
    html_page,
    json_page,
    rate_limited,
    redirect,
    refusal,
    second_factor,
    upstream_error,
)

TEXT_DATE = "Thu, 02 May 2024 11:24:39"
DATED = {"Date": f"{TEXT_DATE[:-8]}11:20:00 GMT"}
GOAWAY = 'http2: server sent GOAWAY and closed the connection; LastStreamID=1, debug="x = y"'
CONCURRENCY = (
    "you have exceeded the concurrency limit of 3 requests. "
    "Retry after 2024-05-02 11:24:38 +0000 UTC\n"
)
DAILY = (
    "you exceeded the rate limit for code completions, only 1000 requests are allowed per day at "
    "the moment to ensure the service stays functional. Current usage: 1001. Retry after 3h12m5s"
)


@dataclass(frozen=True, kw_only=True)
class No:
    """What is said, what it is, and what a person is told. `seconds`: when to come again.

    `passes`: it is told when it goes on only, since it may be over at the next key.
    """

    said: Answer | Reply
    kind: type[ProviderError]
    parts: tuple[str, ...]
    seconds: float | None = None
    passes: bool = False


def row(
    id: str,
    said: Answer | Reply,
    kind: type[ProviderError],
    *parts: str,
    seconds: float | None = None,
    passes: bool = False,
) -> Any:
    no = No(said=said, kind=kind, parts=parts, seconds=seconds, passes=passes)
    return pytest.param(no, id=id)


def limited(sentence: str, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return refusal(429, sentence, DATED | named)


def json_error(status: int, sentence: str) -> Reply:
    return Reply(
        status=status, body=f'{{"error": "{sentence}"}}\n', content_type="application/json"
    )


ALL = [
    row(
        "wrong token",
        refusal(401, "Invalid access token."),
        NotAuthorized,
        "does not accept the access token",
        "/user/settings/tokens",
    ),
    row(
        "private mode",
        refusal(401, "Private mode requires authentication."),
        NotAuthorized,
        "does not accept the access token",
    ),
    row(
        "switched off for the account",
        refusal(401, "cody is not enabled: the licence has no seats left"),
        NotAllowed,
        "for this account",
        "the licence has no seats left",
    ),
    row(
        "a second factor",
        second_factor("X-Corp-Mobile-U2F-Challenge"),
        SecondFactorNeeded,
        "second factor",
        "browser",
    ),
    row("a gateway's login", html_page(401), SignInNeeded, "gateway", "`headers`"),
    row("a login page", html_page(200), SignInPage, "web page"),
    row(
        "a login page that says it is JSON",
        Reply(status=200, body="<!DOCTYPE html><p>Sign in", content_type="application/json"),
        SignInPage,
        "web page",
    ),
    row(
        "a redirect to sign on",
        redirect("https://sso.example.com/login?next=x"),
        Redirected,
        "sso.example.com",
    ),
    row("a firewall", html_page(403, "Attention Required! | Cloudflare"), Blocked, "firewall"),
    row("not allowed", refusal(403, "licence expired"), NotAllowed, "licence expired"),
    row("no API, as a page", html_page(404, "Not found"), NoSuchApi, "`endpoint`"),
    row("no API, as JSON", json_error(404, "not found"), NoSuchApi, "`endpoint`"),
    row("no API, as text", refusal(404, "404 page not found"), NoSuchApi, "`endpoint`"),
    row("not to be posted", refusal(405, ""), NoSuchApi, "`endpoint`"),
    row(
        "an API version nobody knows",
        refusal(406, "Unsupported API Version (Please update your client)"),
        UnknownApiVersion,
        "version",
    ),
    row(
        "only certain editors",
        refusal(
            406,
            "ClientCodyIgnoreCompatibilityError: please use one of the supported clients: "
            '"vscode", "jetbrains"',
        ),
        UnsupportedEditor,
        "context filters",
        "administrator",
    ),
    row(
        "only certain editors, of known versions",
        refusal(400, 'ClientCodyIgnoreCompatibilityError: no version: "0.1"'),
        UnsupportedEditor,
        "context filters",
    ),
    row(
        "a proxy's password",
        html_page(407, "Proxy Authentication Required"),
        ProxyNotAuthorized,
        "proxy",
        "password",
    ),
    row("too large", html_page(413, "Request Entity Too Large"), TooLarge, "`prefixChars`"),
    row(
        "a model of older servers",
        refusal(400, 'unsupported code completion model "x" (default "y/z")'),
        UnknownModel,
        "`model`",
    ),
    row(
        "a model of newer servers",
        refusal(400, 'model "x" is not supported (default: "y::v1::z")'),
        UnknownModel,
        "`model`",
    ),
    row(
        "a body not understood",
        refusal(400, "could not decode request body"),
        NotUnderstood,
        "could not decode request body",
    ),
    row("a limit without a word", rate_limited(), RateLimited, "limit"),
    row("a limit in seconds", rate_limited("512"), RateLimited, "about 9 minutes", seconds=512),
    row("a limit that is over", rate_limited("0"), RateLimited, "limit", seconds=0),
    row("a limit below zero", rate_limited("-5"), RateLimited, "limit"),
    row(
        "a limit beyond reason",
        rate_limited("999999999999"),
        RateLimited,
        "about 31 days",
        seconds=31 * 86400,
    ),
    row(
        "a limit until a date in GMT",
        limited("", Retry_After=f"{TEXT_DATE} GMT"),
        RateLimited,
        "about 5 minutes",
        seconds=279,
    ),
    row(
        "a limit until a date in UTC",
        limited("", Retry_After=f"{TEXT_DATE} UTC"),
        RateLimited,
        "about 5 minutes",
        seconds=279,
    ),
    row(
        "a limit until a time in the text",
        limited(CONCURRENCY.strip()),
        RateLimited,
        "about 5 minutes",
        seconds=278,
    ),
    row("a limit by the day", limited(DAILY), RateLimited, "about 3 hours", seconds=11525),
    row(
        "a limit of the free plan", rate_limited("512", pro=False), RateLimited, "paid", seconds=512
    ),
    row(
        "a limit as a stream",
        Reply(
            status=429,
            body=f'event: error\ndata: {{"error":"{CONCURRENCY.strip()}"}}\n\n'
            "event: done\ndata: {}\n\n",
            content_type="text/event-stream",
            headers=DATED,
        ),
        RateLimited,
        "about 5 minutes",
        seconds=278,
    ),
    row(
        "a limit inside a stream",
        Answer(error="you exceeded the rate limit, try again in 10m"),
        RateLimited,
        "about 10 minutes",
        seconds=600,
    ),
    row(
        "a short limit",
        rate_limited("9", "too many requests"),
        RateLimited,
        "9 seconds",
        seconds=9,
        passes=True,
    ),
    row("the server's fault", refusal(500, "boom"), ServerFailed, "500", "boom", passes=True),
    row(
        "the server's fault, as JSON",
        json_error(500, "it broke"),
        ServerFailed,
        "it broke",
        passes=True,
    ),
    row(
        "the model's server",
        upstream_error(500, '{"prompt": "x = "}'),
        ModelFailed,
        "status 500",
        passes=True,
    ),
    row("the model's limit", upstream_error(429, "slow down"), RateLimited, "limit"),
    row("a gateway's page", html_page(502), GatewayFailed, "gateway", "502", passes=True),
    row("a gateway's patience", html_page(504), GatewayFailed, "504", passes=True),
    row("maintenance", html_page(503), GatewayFailed, "503", passes=True),
    row("going away", Answer(error=GOAWAY), ModelFailed, "connection to the model", passes=True),
    row(
        "too late inside",
        Answer(error="context deadline exceeded"),
        ModelFailed,
        "in time",
        passes=True,
    ),
    row(
        "nothing to say to",
        Answer(error="message content cannot be empty"),
        Refused,
        "message content cannot be empty",
    ),
    row(
        "a limit in place of a completion",
        Reply(status=200, body='Anthropic API failed with: {"detail":"Rate limit exceeded"}'),
        RateLimited,
        "limit",
    ),
    row(
        "an error in place of a completion",
        json_page({"error": "it broke"}, "application/json"),
        Refused,
        "it broke",
    ),
    row("no completion", json_page([1], "application/json"), UnexpectedReply, "other than"),
    row("nothing at all", Reply(status=200), UnexpectedReply, "no text"),
    row("cut off", Answer(CUT), ProviderError, "without an answer", passes=True),
]

EACH: list[No] = [param.values[0] for param in ALL]
