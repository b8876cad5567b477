import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from httpx_sse._decoders import SSEDecoder

from lsp_completions.errors import (
    NotAuthorized,
    ProviderError,
    RateLimited,
    Refused,
    Reply,
    UnexpectedReply,
)
from lsp_completions.pipeline.chats import family_for
from lsp_completions.pipeline.prompt import Prompt, build_prompt
from lsp_completions.pipeline.stream import Chunk
from lsp_completions.pipeline.templates import family_of
from lsp_completions.providers.base import Event, Provider
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.secret import Secret
from tests.support.cursor import context_of
from tests.support.extra import extra_cases

TOKEN = "sgp_local_0123456789abcdef"
INSTANCE = Sourcegraph(endpoint="https://sg.example.com", token=Secret(TOKEN))
PROMPT = Prompt(text="def f():", stop_sequences=("<stop>",))


def body_of(provider: Sourcegraph, prompt: Prompt = PROMPT, max_tokens: int = 256) -> Any:
    return json.loads(provider.request(prompt, max_tokens=max_tokens).body)


def header_of(provider: Sourcegraph, name: str) -> list[str]:
    headers = provider.request(PROMPT, max_tokens=1).headers
    return [text for header, text in headers if header.lower() == name.lower()]


def test_it_is_a_provider() -> None:
    provider: Provider = INSTANCE
    assert (provider.name, provider.model) == ("sourcegraph", "")
    assert family_of(provider.prompts_for).name == "DeepSeek-Coder"
    assert replace(INSTANCE, model="starcoder").prompts_for == "starcoder"


def test_the_least_that_is_sent() -> None:
    assert body_of(INSTANCE) == {
        "messages": [{"speaker": "human", "text": "def f():"}],
        "maxTokensToSample": 256,
        "stopSequences": ["<stop>"],
        "stream": True,
    }


def test_every_parameter_can_be_sent() -> None:
    provider = replace(
        INSTANCE,
        model="fireworks/starcoder",
        temperature=0.0,
        top_k=0,
        top_p=0.5,
        logprobs=5,
        stop_sequences=("a", "b"),
        stream=False,
    )
    request = provider.request(PROMPT, max_tokens=7)
    assert not request.stream
    assert json.loads(request.body) == {
        "messages": [{"speaker": "human", "text": "def f():"}],
        "model": "fireworks/starcoder",
        "maxTokensToSample": 7,
        "temperature": 0.0,
        "topK": 0,
        "topP": 0.5,
        "stopSequences": ["a", "b"],
        "logprobs": 5,
        "stream": False,
    }


def test_no_stop_sequences_are_a_choice_too() -> None:
    assert "stopSequences" not in body_of(replace(INSTANCE, stop_sequences=()))
    assert "stopSequences" not in body_of(INSTANCE, Prompt(text="x"))


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        pytest.param("é😀\u2028\u0085\x00\\\"'", "é😀\u2028\u0085\x00\\\"'", id="any character"),
        pytest.param("a\ud800b", "a\ufffdb", id="half a surrogate pair"),
        pytest.param("\ud83d\ude00", "😀", id="a character in two halves"),
    ],
)
def test_text_is_sent_as_utf_8(text: str, sent: str) -> None:
    body = INSTANCE.request(Prompt(text=text), max_tokens=1).body
    assert json.loads(body.decode())["messages"][0]["text"] == sent
    assert b"\\u00e9" not in body


@pytest.mark.parametrize(
    ("endpoint", "base"),
    [
        pytest.param("https://h.example", "https://h.example", id="bare"),
        pytest.param("https://h.example/", "https://h.example", id="slash at the end"),
        pytest.param("https://h.example/sg//", "https://h.example/sg", id="path before ours"),
        pytest.param(" http://localhost:3080/\n", "http://localhost:3080", id="space around"),
        pytest.param("https://me:pw@h.example:8443", "https://h.example:8443", id="password"),
        pytest.param("http://[::1]:3080", "http://[::1]:3080", id="IPv6"),
    ],
)
def test_url(endpoint: str, base: str) -> None:
    url = replace(INSTANCE, endpoint=endpoint).request(PROMPT, max_tokens=1).url
    assert url.startswith(f"{base}/.api/completions/code?client-name=lsp-completions&")


def test_query() -> None:
    provider = replace(INSTANCE, client_name="my editor", client_version="1.0+x", api_version=2)
    query = urlsplit(provider.request(PROMPT, max_tokens=1).url).query
    assert query == "client-name=my+editor&client-version=1.0%2Bx&api-version=2"
    assert "api-version" not in INSTANCE.request(PROMPT, max_tokens=1).url


def test_headers() -> None:
    provider = replace(INSTANCE, client_name="n", client_version="1.2", timeout_ms=7000)
    assert dict(provider.request(PROMPT, max_tokens=1).headers) == {
        "Content-Type": "application/json; charset=utf-8",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": "n/1.2",
        "X-Requested-With": "n 1.2",
        "X-Sourcegraph-API-Client-Name": "n",
        "X-Sourcegraph-API-Client-Version": "1.2",
        "Authorization": f"token {TOKEN}",
        "X-Timeout-Ms": "7000",
    }


def test_added_headers_replace_none_that_are_needed() -> None:
    added = (("X-Team", Secret("a")), ("AUTHORIZATION", Secret("Basic b")))
    assert header_of(replace(INSTANCE, headers=added), "x-team") == ["a"]
    assert header_of(replace(INSTANCE, headers=added), "authorization") == [f"token {TOKEN}"]
    # Without a token a gateway's own authorization is all there is.
    provider = replace(INSTANCE, headers=added, token=None)
    assert header_of(provider, "authorization") == ["Basic b"]


def test_the_token_is_stripped_and_shown_nowhere() -> None:
    provider = replace(INSTANCE, token=Secret(f" {TOKEN}\r\n"))
    assert header_of(provider, "authorization") == [f"token {TOKEN}"]
    assert TOKEN not in repr(provider)
    assert "***" in repr(provider)
    assert TOKEN not in repr(provider.request(PROMPT, max_tokens=1))


@pytest.mark.parametrize(
    ("api_version", "event", "chunk"),
    [
        pytest.param(
            None,
            Event(name="completion", data='{"completion":"a","stopReason":""}'),
            Chunk(text="a", cumulative=True),
            id="all so far",
        ),
        pytest.param(
            1,
            Event(name="completion", data='{"completion":"a \\u003c b","stopReason":"stop"}'),
            Chunk(text="a < b", cumulative=True, finish="stop"),
            id="all of it, and why it ends",
        ),
        pytest.param(
            2,
            Event(name="completion", data='{"deltaText":"a"}'),
            Chunk(text="a"),
            id="what is new",
        ),
        pytest.param(
            8,
            Event(name="completion", data='{"deltaText":"","stopReason":"length"}'),
            Chunk(text="", finish="length"),
            id="nothing new, cut off",
        ),
        pytest.param(
            8,
            Event(name="completion", data='{"stopReason":"length"}'),
            Chunk(text="", finish="length"),
            id="the reason alone",
        ),
        pytest.param(
            2,
            Event(name="completion", data='{"completion":"ab","deltaText":"b"}'),
            Chunk(text="b"),
            id="both, version 2",
        ),
        pytest.param(
            1,
            Event(name="completion", data='{"completion":"ab","deltaText":"b"}'),
            Chunk(text="ab", cumulative=True),
            id="both, version 1",
        ),
        pytest.param(
            2,
            Event(name="completion", data='{"completion":"ab"}'),
            Chunk(text="ab", cumulative=True),
            id="a version 1 answer to version 2",
        ),
        pytest.param(
            1,
            Event(name="message", data='{"deltaText":"b"}'),
            Chunk(text="b"),
            id="an event without a name",
        ),
        pytest.param(
            1, Event(name="completion", data='{"usage":{"total":1}}'), None, id="nothing for us"
        ),
        pytest.param(1, Event(name="done", data="{}"), None, id="the end"),
        pytest.param(1, Event(name="new in 7.0", data="?"), None, id="an unknown event"),
        pytest.param(
            None,
            Event(data='{"completion":"a","stopReason":"length","logprobs":null}'),
            Chunk(text="a", cumulative=True, finish="length"),
            id="not a stream",
        ),
        pytest.param(
            2,
            Event(data='{"deltaText":"a"}'),
            Chunk(text="a", finish="stop"),
            id="not a stream, in the words of one",
        ),
    ],
)
def test_chunk(api_version: int | None, event: Event, chunk: Chunk | None) -> None:
    assert replace(INSTANCE, api_version=api_version).chunk(event) == chunk


@pytest.mark.parametrize(
    ("event", "kind", "part"),
    [
        pytest.param(
            Event(name="error", data='{"error":"message content cannot be empty"}'),
            Refused,
            ": message content cannot be empty.",
            id="as JSON",
        ),
        pytest.param(
            Event(name="error", data="http2: server sent GOAWAY and closed the connection"),
            Refused,
            "lost its connection to the model",
            id="as text",
        ),
        pytest.param(
            Event(name="error", data='{"error":"you exceeded the rate limit, retry after 30s"}'),
            RateLimited,
            "in 30 seconds",
            id="a limit",
        ),
        pytest.param(
            Event(name="error", data='{"error":"Invalid access token."}'),
            NotAuthorized,
            "https://sg.example.com/user/settings/tokens",
            id="a token",
        ),
        pytest.param(
            Event(name="error", data='{"error":"Gateway: unexpected status code 500: {code}"}'),
            Refused,
            "failed with status 500",
            id="the model's own server",
        ),
        pytest.param(
            Event(name="attribution-error", data="no"), Refused, "not shown", id="attribution"
        ),
        pytest.param(
            Event(data='Anthropic API failed with: {"detail":"Rate limit exceeded"}'),
            RateLimited,
            "limit",
            id="a limit in a success",
        ),
        pytest.param(
            Event(data="upstream error: x"), UnexpectedReply, ": upstream error: x.", id="an error"
        ),
        pytest.param(
            Event(data='{"error":{"message":"no such thing"}}'),
            Refused,
            ": no such thing.",
            id="an error as JSON in a success",
        ),
        pytest.param(
            Event(data="\n<!DOCTYPE html><title>Sign in</title>"),
            UnexpectedReply,
            "web page",
            id="a page to sign in",
        ),
        pytest.param(
            Event(data='{"completion":null}'), UnexpectedReply, "other than", id="no text"
        ),
        pytest.param(Event(data="[1]"), UnexpectedReply, "other than", id="other JSON"),
        pytest.param(
            Event(name="completion", data="<"), UnexpectedReply, "other than", id="no JSON"
        ),
    ],
)
def test_error_events(event: Event, kind: type[ProviderError], part: str) -> None:
    with pytest.raises(kind) as caught:
        INSTANCE.chunk(event)
    assert part in str(caught.value)


def test_text_that_is_no_error_is_not_repeated() -> None:
    # It may be code.
    with pytest.raises(UnexpectedReply) as caught:
        INSTANCE.chunk(Event(name="completion", data="password = compute()"))
    assert "compute" not in str(caught.value)


def events_in(body: str) -> Iterator[Event]:
    decoder = SSEDecoder()
    # In some recordings the last blank line is missing.
    for line in [*body.split("\n"), "", ""]:
        event = decoder.decode(line)
        if event is not None and event.data:
            yield Event(name=event.event, data=event.data)


def text_of(row: dict[str, Any]) -> str:
    """The text in a recorded body, read the plainest way there is."""
    text = ""
    for line in row["response_body"].split("\n"):
        if line.startswith("data: {"):
            value = json.loads(line.removeprefix("data: "))
            text = value.get("completion", text) + value.get("deltaText", "")
    return text


def recorded(name: str) -> list[dict[str, Any]]:
    return [row for row in extra_cases(name) if "/.api/completions/" in row["url"]]


@pytest.mark.parametrize(
    "name", ["cases/recorded_code_exchanges.jsonl", "cases/recorded_config_exchanges.jsonl"]
)
def test_recorded_exchanges(name: str) -> None:
    rows = recorded(name)
    for row in rows:
        versions = parse_qs(urlsplit(row["url"]).query).get("api-version", [])
        provider = replace(INSTANCE, api_version=int(versions[0]) if versions else None)
        if row["status"] != 200:
            reply = Reply(
                status=row["status"],
                headers=row["response_headers"],
                body=row["response_body"] or "",
            )
            expected = {400: Refused, 401: NotAuthorized, 429: RateLimited}[row["status"]]
            assert isinstance(provider.refusal(reply), expected), row["id"]
            continue
        if "event: error" in row["response_body"]:
            with pytest.raises(Refused):
                [provider.chunk(event) for event in events_in(row["response_body"])]
            continue
        text = ""
        for event in events_in(row["response_body"]):
            if (chunk := provider.chunk(event)) is not None:
                text = chunk.text if chunk.cumulative else text + chunk.text
        assert text == text_of(row), row["id"]
    assert rows


# ---- whom to ask instead

UNKNOWN_VERSION = "Unsupported API Version (Please update your client)\n"
NO_MODEL = 'unsupported code completion model "a/b" (default "fireworks::v1::starcoder")\n'
CHOSEN = replace(INSTANCE, model="a/b", api_version=2)


@pytest.mark.parametrize(
    ("provider", "status", "body", "other"),
    [
        pytest.param(
            CHOSEN, 406, UNKNOWN_VERSION, replace(CHOSEN, api_version=1), id="a lower version"
        ),
        pytest.param(
            replace(CHOSEN, api_version=9), 406, "", replace(CHOSEN, api_version=1), id="no words"
        ),
        pytest.param(replace(CHOSEN, api_version=1), 406, UNKNOWN_VERSION, None, id="the lowest"),
        pytest.param(
            replace(CHOSEN, api_version=None), 406, UNKNOWN_VERSION, None, id="no version"
        ),
        pytest.param(
            CHOSEN, 406, "ClientCodyIgnoreCompatibilityError: no\n", None, id="context filters"
        ),
        pytest.param(CHOSEN, 400, UNKNOWN_VERSION, None, id="another status"),
        pytest.param(
            CHOSEN,
            400,
            NO_MODEL,
            replace(CHOSEN, model="", default_model="fireworks::v1::starcoder"),
            id="the instance's own model, as it names it",
        ),
        pytest.param(
            CHOSEN,
            400,
            'model "a/b" is not supported (default: "x::v1::y")',
            replace(CHOSEN, model="", default_model="x::v1::y"),
            id="in newer words",
        ),
        pytest.param(
            CHOSEN,
            400,
            '{"error":"Unsupported code completion model a/b"}',
            replace(CHOSEN, model=""),
            id="as JSON, without naming it",
        ),
        pytest.param(
            replace(CHOSEN, default_model="x/y"),
            400,
            "status 400, reason model a/b is not allowed",
            replace(CHOSEN, model="", default_model="x/y"),
            id="its own model known before",
        ),
        pytest.param(replace(CHOSEN, model=""), 400, NO_MODEL, None, id="its own model refused"),
        pytest.param(CHOSEN, 400, "could not decode request body", None, id="another reason"),
        pytest.param(CHOSEN, 401, "Invalid access token.", None, id="a wrong token"),
        pytest.param(
            CHOSEN, 503, "X: unexpected status code 400: " + NO_MODEL, None, id="the model's server"
        ),
    ],
)
def test_instead(provider: Sourcegraph, status: int, body: str, other: Sourcegraph | None) -> None:
    assert provider.instead(Reply(status=status, headers={}, body=body)) == other


def test_both_can_be_refused_one_after_the_other() -> None:
    version = Reply(status=406, headers={}, body=UNKNOWN_VERSION)
    model = Reply(status=400, headers={}, body=NO_MODEL)
    lower = CHOSEN.instead(version)
    assert lower is not None
    own = lower.instead(model)
    assert own is not None
    assert (own.model, own.prompts_for) == ("", "fireworks::v1::starcoder")
    assert own.instead(version) is None
    assert own.instead(model) is None


def asked(model: str, provider: Sourcegraph = INSTANCE, drawn: str = "x = <cursor>\n") -> Any:
    """What is sent for a document to a model by this name."""
    provider = replace(provider, model=model)
    family = family_for(provider.prompts_for, chats=provider.chats)
    return body_of(provider, build_prompt(context_of(drawn), family=family))


@pytest.mark.parametrize(
    ("model", "speakers", "answer", "parameters"),
    [
        pytest.param(
            "anthropic/claude-haiku-4-5",
            ["human", "assistant"],
            "<missing-code>x =",
            {"temperature": 0.2, "stopSequences": ["</missing-code>"]},
            id="a Claude whose answer can be begun",
        ),
        pytest.param(
            "anthropic::2023-06-01::claude-opus-4-7",
            ["human"],
            None,
            {"stopSequences": ["</missing-code>"]},
            id="a Claude that wants the last word to be ours",
        ),
        pytest.param(
            "openai/gpt-4.1-nano",
            ["human"],
            None,
            {"temperature": 0.2, "stopSequences": ["</missing-code>"]},
            id="OpenAI's",
        ),
        pytest.param("openai/o3", ["human"], None, {}, id="one that thinks"),
        pytest.param(
            "google/gemini-2.0-flash",
            ["human"],
            None,
            {"temperature": 0.2, "stopSequences": ["</missing-code>"]},
            id="Google's",
        ),
        pytest.param(
            "fireworks/mixtral-8x7b-instruct",
            ["human"],
            None,
            {"temperature": 0.2, "stopSequences": ["</missing-code>"]},
            id="where one message is read",
        ),
    ],
)
def test_a_model_that_chats_is_asked_in_turns(
    model: str, speakers: list[str], answer: str | None, parameters: dict[str, Any]
) -> None:
    body = asked(model)
    messages = body.pop("messages")
    assert [message["speaker"] for message in messages] == speakers
    assert messages[0]["text"].endswith("put nothing between them.")
    assert (messages[1]["text"] if len(messages) > 1 else None) == answer
    assert body == {"model": model, "maxTokensToSample": 256, "stream": True, **parameters}


def test_a_model_that_fills_in_is_asked_in_one_message() -> None:
    body = asked("deepseek-coder-v2-lite-base")
    assert [message["speaker"] for message in body["messages"]] == ["human"]
    assert body["messages"][0]["text"].startswith("\n\n#x\n<｜fim▁begin｜>")
    assert body["temperature"] == 0.2


def test_a_model_can_be_known_to_chat_whatever_its_name() -> None:
    body = asked("our/model", replace(INSTANCE, chats=True))
    assert "<cursor-here/>" in body["messages"][0]["text"]
    assert "<cursor-here/>" not in asked("our/model")["messages"][0]["text"]


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "o3"])
def test_what_the_user_chose_counts_more_than_what_suits_the_model(model: str) -> None:
    body = asked(model, replace(INSTANCE, temperature=0.7, stop_sequences=("end",)))
    assert (body["temperature"], body["stopSequences"]) == (0.7, ["end"])


def test_a_temperature_nobody_chose_does_not_go_with_a_top_p() -> None:
    # Newer models that chat refuse the two together.
    body = asked("claude-haiku-4-5", replace(INSTANCE, top_p=0.9))
    assert body["topP"] == 0.9
    assert "temperature" not in body
    assert asked("starcoder", replace(INSTANCE, top_p=0.9))["temperature"] == 0.2


def test_another_model_is_judged_by_its_own_name() -> None:
    provider = replace(INSTANCE, model="our/model", chats=True, default_model="starcoder")
    reply = Reply(status=400, headers={}, body='model "our/model" is not supported')
    other = provider.instead(reply)
    assert other is not None
    assert (other.model, other.prompts_for, other.chats) == ("", "starcoder", None)
