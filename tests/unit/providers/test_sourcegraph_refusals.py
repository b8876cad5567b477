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
    Reply,
    SecondFactorNeeded,
    ServerFailed,
    SignInNeeded,
    TooLarge,
    UnknownApiVersion,
    UnknownModel,
    UnsupportedEditor,
)
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.secret import Secret

TOKEN = "sgp_local_0123456789abcdef"
HTML = {"content-type": "text/html; charset=UTF-8"}
DATE = {"date": "Fri, 07 Mar 2025 12:28:00 GMT"}


def refusal(
    status: int,
    body: str = "",
    headers: dict[str, str] | None = None,
    *,
    token: str | None = TOKEN,
    model: str = "",
    authorization: str = "",
) -> ProviderError:
    instance = Sourcegraph(
        endpoint="https://sg.example.com/code",
        token=Secret(token) if token is not None else None,
        model=model,
        api_version=8,
        headers=(("Authorization", Secret(authorization)),) if authorization else (),
    )
    return instance.refusal(Reply(status=status, headers=headers or {}, body=body))


@pytest.mark.parametrize(
    ("error", "kind", "parts"),
    [
        pytest.param(
            refusal(400, 'unsupported code completion model "x" (default "y::v1::z")\n', model="x"),
            UnknownModel,
            ["model x", "y::v1::z", "`model`"],
            id="model, in the words of older servers",
        ),
        pytest.param(
            refusal(400, 'model "x" is not supported (default: "y")\n', model="x"),
            UnknownModel,
            ["model x", "choice is y"],
            id="model, in the words of newer servers",
        ),
        pytest.param(
            refusal(400, "status 400, reason model not found"),
            UnknownModel,
            ["its own choice of a model"],
            id="model, not ours",
        ),
        pytest.param(
            refusal(400, "could not decode request body\n"),
            NotUnderstood,
            ["status 400", "could not decode request body."],
            id="body",
        ),
        pytest.param(
            refusal(401, "Invalid access token.\n"),
            NotAuthorized,
            [
                "does not accept the access token",
                "https://sg.example.com/code/user/settings/tokens",
            ],
            id="wrong token",
        ),
        pytest.param(
            refusal(401, "Private mode requires authentication.\n", token=None),
            NotAuthorized,
            ["wants an access token", "`lsp-completions login`", "/user/settings/tokens"],
            id="no token",
        ),
        pytest.param(
            refusal(401, "Invalid access token.\n", token=None, authorization="Bearer a"),
            NotAuthorized,
            ["does not accept the header that says who asks", "`authCommand`"],
            id="wrong header",
        ),
        pytest.param(
            refusal(401, "cody is not enabled: you are not on the list\n"),
            NotAllowed,
            ["for this account", "you are not on the list"],
            id="switched off",
        ),
        pytest.param(
            refusal(401, "<html>", {"x-corp-u2f-challenge": "TRUE"}),
            SecondFactorNeeded,
            ["second factor", "browser"],
            id="second factor",
        ),
        pytest.param(refusal(401, "<html>", HTML), SignInNeeded, ["gateway"], id="a gateway"),
        pytest.param(refusal(403, "", HTML), Blocked, ["firewall"], id="a firewall"),
        pytest.param(refusal(403, " <!doctype html>"), Blocked, ["firewall"], id="and its page"),
        pytest.param(
            refusal(403, "licence expired"), NotAllowed, ["licence expired"], id="not allowed"
        ),
        pytest.param(
            refusal(404, "404 page not found"),
            NoSuchApi,
            ["https://sg.example.com/code", "`endpoint`"],
            id="no API",
        ),
        pytest.param(refusal(405), NoSuchApi, ["`endpoint`"], id="no POST"),
        pytest.param(
            refusal(406, "Unsupported API Version (Please update your client)\n"),
            UnknownApiVersion,
            ["`apiVersion`, now 8"],
            id="API version",
        ),
        pytest.param(
            refusal(406, "ClientCodyIgnoreCompatibilityError: no\n"),
            UnsupportedEditor,
            ["context filters", "5.6"],
            id="only certain editors",
        ),
        pytest.param(refusal(407, "", HTML), ProxyNotAuthorized, ["proxy", "password"], id="proxy"),
        pytest.param(refusal(413, "", HTML), TooLarge, ["`prefixChars`"], id="too large"),
        pytest.param(
            refusal(500, "boom\nat line 1", {"x-trace": "0af7651916cd43dd"}),
            ServerFailed,
            ["status 500, trace 0af7651916cd43dd", ": boom."],
            id="server's fault",
        ),
        pytest.param(refusal(500), ServerFailed, ["(status 500)."], id="without a word"),
        pytest.param(
            refusal(503, 'Cody Gateway: unexpected status code 404: {"error":"def f(): pass"}'),
            ModelFailed,
            ["model behind", "status 404"],
            id="the model's server",
        ),
        pytest.param(
            refusal(503, "Cody Gateway: unexpected status code 429: slow down"),
            RateLimited,
            [],
            id="the model's limit",
        ),
        pytest.param(
            refusal(502, "<html>", HTML), GatewayFailed, ["no answer", "502"], id="gateway"
        ),
        pytest.param(
            refusal(504, "<html>", HTML), GatewayFailed, ["no answer", "504"], id="time out"
        ),
        pytest.param(refusal(302), Redirected, ["another address"], id="redirect"),
        pytest.param(refusal(418, "teapot"), Refused, ["418", "teapot"], id="any other"),
        pytest.param(
            refusal(500, '{"message":"JSON as well"}'), ServerFailed, ["JSON as well"], id="as JSON"
        ),
        pytest.param(
            refusal(500, 'Anthropic API failed with: {"detail":"Rate limit exceeded"}'),
            RateLimited,
            [],
            id="a limit, whatever the status",
        ),
    ],
)
def test_refusal(error: ProviderError, kind: type[ProviderError], parts: list[str]) -> None:
    assert type(error) is kind
    sentence = str(error)
    assert "sg.example.com" in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert "def f" not in sentence
    for part in parts:
        assert part in sentence


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        pytest.param(refusal(429, "", {"retry-after": "512"}), 512, id="seconds"),
        pytest.param(refusal(429, "", {"retry-after": "0"}), 0, id="at once"),
        pytest.param(
            refusal(429, "", {**DATE, "retry-after": "Fri, 07 Mar 2025 12:29:00 UTC"}),
            60,
            id="a date as Go writes it",
        ),
        pytest.param(
            refusal(
                429,
                'event: error\ndata: {"error":"you have exceeded the concurrency limit of 3 '
                'requests. Retry after 2025-03-07 12:28:18 +0000 UTC\\n"}\n\n'
                "event: done\ndata: {}\n\n",
                {**DATE, "content-type": "text/event-stream"},
            ),
            18,
            id="inside an event",
        ),
        pytest.param(refusal(429), None, id="without a word"),
    ],
)
def test_limits(error: ProviderError, seconds: float | None) -> None:
    assert isinstance(error, RateLimited)
    assert error.retry_after == seconds
    assert error.reply is not None


def test_a_token_sent_back_is_not_repeated() -> None:
    assert str(refusal(500, f"token {TOKEN} is bad")).endswith(": token *** is bad.")
