"""Requests and replies of model servers of one's own, to the byte."""

import json
from dataclasses import replace
from typing import Any

import pytest

from lsp_completions.errors import (
    GatewayFailed,
    NoSuchApi,
    NotAllowed,
    NotAuthorized,
    NotUnderstood,
    ProviderError,
    RateLimited,
    Redirected,
    Refused,
    Reply,
    ServerFailed,
    SignInNeeded,
    TooLarge,
    UnexpectedReply,
    UnknownModel,
)
from lsp_completions.pipeline.prompt import Excerpt, Prompt, build_prompt
from lsp_completions.pipeline.stream import Chunk
from lsp_completions.pipeline.templates import family_of
from lsp_completions.providers.base import Event, HttpRequest, Limits, Provider
from lsp_completions.providers.llama_cpp import LlamaCpp
from lsp_completions.providers.local import Local
from lsp_completions.providers.mistral import Mistral
from lsp_completions.providers.ollama import Ollama
from lsp_completions.providers.openai import OpenAI
from lsp_completions.providers.own_server import OwnServer
from lsp_completions.secret import Secret
from tests.support.cursor import context_of

KEY = "key-0123456789abcdef"
QWEN = "qwen2.5-coder:1.5b-base"
LLAMA = LlamaCpp(url="http://127.0.0.1:8080")
OLLAMA = Ollama(url="http://127.0.0.1:11434", model=QWEN)
OPENAI = OpenAI(url="http://127.0.0.1:8000", model=QWEN)
MISTRAL = Mistral(url="https://api.mistral.ai", key=Secret(KEY))
ALL = pytest.mark.parametrize(
    "provider", [LLAMA, OLLAMA, OPENAI, MISTRAL], ids=lambda provider: str(provider.name)
)
FILLED_QWEN = "<|file_sep|>x\n<|fim_prefix|>a = <|fim_suffix|>\nb<|fim_middle|>"


def prompt_for(provider: Provider, drawn: str = "a = <cursor>\nb", **more: Any) -> Prompt:
    family = family_of(provider.prompts_for)
    return replace(build_prompt(context_of(drawn), family=family, **more), stop_sequences=("<s>",))


def asked(
    provider: OwnServer, drawn: str = "a = <cursor>\nb", **more: Any
) -> tuple[HttpRequest, dict[str, Any]]:
    """The request, and its body without what all bodies of the provider have."""
    known: Provider = provider  # type: ignore[assignment]
    request = known.request(prompt_for(known, drawn, **more), max_tokens=64)
    return request, json.loads(request.body)


@ALL
def test_they_are_providers(provider: Provider) -> None:
    assert provider.limits == Limits()
    assert not provider.finishes_reading
    assert {provider: 1}[replace(provider)] == 1  # type: ignore[type-var]


# ---- requests


def test_llama_cpp_fills_in_by_itself() -> None:
    request, body = asked(LLAMA)
    assert request.url == "http://127.0.0.1:8080/infill"
    assert body == {
        "input_prefix": "a = ",
        "input_suffix": "\nb",
        "n_predict": 64,
        "stop": ["<s>"],
        "stream": True,
        "cache_prompt": True,
        "return_progress": True,
        "response_fields": ["content", "stop", "stop_type", "stopped_limit"],
    }


def test_llama_cpp_is_told_of_other_files() -> None:
    excerpts = [Excerpt(path="b.py", text="def g(): ...")]
    _, body = asked(LLAMA, excerpts=excerpts)
    assert body["input_extra"] == [{"filename": "b.py", "text": "def g(): ..."}]


def test_llama_cpp_goes_on_where_it_cannot_fill_in() -> None:
    request, body = asked(replace(LLAMA, infill=False))
    assert request.url == "http://127.0.0.1:8080/completion"
    assert body["prompt"] == "a = "
    assert "input_prefix" not in body


def test_the_embedded_model_gets_its_own_form_of_prompt() -> None:
    key = Secret(KEY)
    local = Local(temperature=0.2).served("http://127.0.0.1:5", key, model_path="/m/Qwen2.5-C.gguf")
    request, body = asked(local)
    assert request.url == "http://127.0.0.1:5/completion"
    assert body["prompt"] == FILLED_QWEN
    assert (local.name, local.finishes_reading, local.limits.multiline) == ("local", True, False)
    assert ("Authorization", f"Bearer {KEY}") in request.headers


@pytest.mark.parametrize(
    ("model", "path", "form"),
    [
        pytest.param("", "C:\\qwen\\SmolLM2-135M.gguf", "plain continuation", id="no known family"),
        pytest.param("", "C:\\m\\starcoder2-3b.gguf", "StarCoder", id="by the file's name"),
        pytest.param("codegemma", "/m/model.gguf", "CodeGemma", id="by the setting"),
    ],
)
def test_the_embedded_model_s_family(model: str, path: str, form: str) -> None:
    local = Local(model=model).served("http://127.0.0.1:5", Secret(KEY), model_path=path)
    assert family_of(local.prompts_for).name == form


def test_ollama_gets_the_model_s_own_form_of_prompt() -> None:
    provider = replace(OLLAMA, keep_alive="30m", context_tokens=4096, temperature=0.2)
    request, body = asked(provider)
    assert request.url == "http://127.0.0.1:11434/api/generate"
    assert body == {
        "model": QWEN,
        "prompt": FILLED_QWEN,
        "raw": True,
        "think": False,
        "stream": True,
        "keep_alive": "30m",
        "options": {"num_predict": 64, "num_ctx": 4096, "temperature": 0.2, "stop": ["<s>"]},
    }


@pytest.mark.parametrize(
    ("provider", "drawn", "body"),
    [
        pytest.param(
            replace(OLLAMA, model="own"),
            "a = <cursor>\nb",
            {"prompt": "a = ", "suffix": "\nb"},
            id="it fills in by itself",
        ),
        pytest.param(
            replace(OLLAMA, model="own"),
            "a = <cursor>\n",
            {"prompt": "a = ", "raw": True},
            id="with nothing below it would chat",
        ),
        pytest.param(
            replace(OLLAMA, model="own", insert=False),
            "a = <cursor>\nb",
            {"prompt": "a = ", "raw": True},
            id="it cannot fill in",
        ),
    ],
)
def test_ollama_with_a_model_of_no_known_family(
    provider: Ollama, drawn: str, body: dict[str, object]
) -> None:
    sent = asked(provider, drawn)[1]
    assert {key: sent.get(key) for key in body} == body
    assert ("raw" in sent) == ("raw" in body)


def test_ollama_can_be_asked_to_load_the_model() -> None:
    request = replace(OLLAMA, keep_alive="30m", context_tokens=4096).preparation()
    assert json.loads(request.body) == {
        "model": QWEN,
        "stream": False,
        "keep_alive": "30m",
        "options": {"num_ctx": 4096},
    }
    assert not request.stream


@pytest.mark.parametrize(
    ("provider", "body"),
    [
        pytest.param(OPENAI, {"model": QWEN, "prompt": FILLED_QWEN}, id="a known family"),
        pytest.param(
            replace(OPENAI, model="own"),
            {"model": "own", "prompt": "a = ", "suffix": "\nb"},
            id="no known family",
        ),
        pytest.param(
            replace(OPENAI, model="own", suffix=False),
            {"model": "own", "prompt": "a = "},
            id="it takes no suffix",
        ),
        pytest.param(
            replace(OPENAI, model=""), {"prompt": "a = ", "suffix": "\nb"}, id="the one it has"
        ),
        pytest.param(
            replace(OPENAI, url="https://api.deepseek.com/beta", model="deepseek-chat"),
            {"model": "deepseek-chat", "prompt": "a = ", "suffix": "\nb"},
            id="DeepSeek fills in by itself",
        ),
        pytest.param(
            replace(OPENAI, temperature=0.0, top_k=5, top_p=0.5, logprobs=2, stop_sequences=("x",)),
            {"temperature": 0.0, "top_k": 5, "top_p": 0.5, "logprobs": 2, "stop": ["x"]},
            id="all there is to set",
        ),
        pytest.param(
            OPENAI,
            {"max_tokens": 64, "stop": ["<s>"], "stream": True, "temperature": None},
            id="the least",
        ),
    ],
)
def test_openai(provider: OpenAI, body: dict[str, object]) -> None:
    sent = asked(provider)[1]
    assert {key: sent.get(key) for key in body} == body
    assert ("suffix" in sent) == ("suffix" in body)


def test_mistral_refuses_what_it_does_not_know_so_it_gets_little() -> None:
    provider = replace(MISTRAL, temperature=0.2, top_k=5, top_p=0.5)
    request, body = asked(provider)
    assert request.url == "https://api.mistral.ai/v1/fim/completions"
    assert body == {
        "model": "codestral-latest",
        "prompt": "a = ",
        "suffix": "\nb",
        "max_tokens": 64,
        "temperature": 0.2,
        "top_p": 0.5,
        "stop": ["<s>"],
        "stream": True,
    }
    assert "suffix" not in asked(MISTRAL, "a = <cursor>")[1]


@pytest.mark.parametrize(
    "provider",
    [
        replace(LLAMA, infill=False),
        replace(OLLAMA, model="own"),
        replace(OPENAI, model="own"),
        MISTRAL,
    ],
    ids=lambda provider: str(provider.name),
)
def test_what_is_continued(provider: OwnServer) -> None:
    excerpts = [Excerpt(path="b.py", text="import os")]
    shown = "# Here is a reference snippet of code from b.py:\n# import os\n\na = "
    assert asked(provider, "a = <cursor>", excerpts=excerpts)[1]["prompt"] == shown
    assert asked(provider, "\n\na = <cursor>")[1]["prompt"] == "\n\na = "
    assert asked(provider, "<cursor>")[1]["prompt"].strip(), "a blank prompt would be refused"


@pytest.mark.parametrize(
    ("drawn", "sent"),
    [
        pytest.param("a = <cursor>", "a =", id="before a word"),
        pytest.param("def f():\n    <cursor>", "def f():\n   ", id="spaces, all but one"),
        pytest.param("{\n\t\t<cursor>", "{\n\t", id="tabs, all but one"),
        pytest.param("a = b<cursor>", "a = b", id="there is none"),
        pytest.param("f()\n<cursor>", "f()\n", id="a line's end is no space"),
        pytest.param("\n <cursor>", "\n ", id="a prompt is never blank"),
    ],
)
def test_the_embedded_model_says_the_space_before_the_cursor_itself(drawn: str, sent: str) -> None:
    local = Local().served("http://127.0.0.1:5", Secret(KEY), model_path="/m/SmolLM2.gguf")
    prompt = asked(local, drawn)[1]["prompt"]
    assert prompt.endswith(sent) if sent.strip() else prompt.strip()
    assert asked(replace(LLAMA, infill=False), drawn)[1]["prompt"].endswith(drawn[:-8])


@pytest.mark.parametrize(
    ("provider", "url", "sent"),
    [
        pytest.param(LLAMA, "http://h:1/", "http://h:1/infill", id="slash"),
        pytest.param(LLAMA, "http://h:1/v1", "http://h:1/infill", id="OpenAI's address"),
        pytest.param(LLAMA, "http://h:1/infill", "http://h:1/infill", id="the whole"),
        pytest.param(LLAMA, "https://h/llama/", "https://h/llama/infill", id="path before"),
        pytest.param(OLLAMA, "http://h:1/api", "http://h:1/api/generate", id="Ollama's API"),
        pytest.param(OLLAMA, "http://h:1/v1/", "http://h:1/api/generate", id="its other API"),
        pytest.param(OPENAI, "http://h:1", "http://h:1/v1/completions", id="no path"),
        pytest.param(OPENAI, "http://h:1/v1", "http://h:1/v1/completions", id="its version"),
        pytest.param(OPENAI, "http://h:1/v1/completions", "http://h:1/v1/completions", id="all"),
        pytest.param(
            OPENAI, "http://h/v1/chat/completions", "http://h/v1/completions", id="the chat's"
        ),
        pytest.param(
            OPENAI, "https://h/inference/v1", "https://h/inference/v1/completions", id="a long one"
        ),
        pytest.param(OPENAI, "https://h/beta", "https://h/beta/completions", id="no version"),
        pytest.param(MISTRAL, "https://h", "https://h/v1/fim/completions", id="Mistral"),
        pytest.param(MISTRAL, "https://h/v1", "https://h/v1/fim/completions", id="with version"),
        pytest.param(
            MISTRAL,
            "https://h/v1/fim/completions",
            "https://h/v1/fim/completions",
            id="all of Mistral",
        ),
        pytest.param(LLAMA, "http://me:pw@h", "http://h/infill", id="password"),
    ],
)
def test_address(provider: OwnServer, url: str, sent: str) -> None:
    assert asked(replace(provider, url=url))[0].url == sent


@ALL
def test_the_key_goes_into_one_header_and_nowhere_else(provider: OwnServer) -> None:
    provider = replace(provider, key=Secret(KEY), headers=(("X-Team", Secret("a")),))
    request, _ = asked(provider)
    assert dict(request.headers)["Authorization"] == f"Bearer {KEY}"
    assert dict(request.headers)["X-Team"] == "a"
    assert KEY not in repr(provider) + repr(request) + request.url + request.body.decode()
    assert "Authorization" not in dict(asked(replace(provider, key=None))[0].headers)


@ALL
def test_no_stream(provider: OwnServer) -> None:
    request, body = asked(replace(provider, stream=False))
    assert (request.stream, body["stream"]) == (False, False)


# ---- replies


@pytest.mark.parametrize(
    ("provider", "data", "chunk"),
    [
        pytest.param(LLAMA, '{"content":"a","stop":false}', Chunk(text="a"), id="llama.cpp"),
        pytest.param(
            LLAMA,
            '{"content":"","stop":true,"stop_type":"eos"}',
            Chunk(text="", finish="stop"),
            id="llama.cpp, the end",
        ),
        pytest.param(
            LLAMA,
            '{"content":"","stop":true,"stop_type":"limit"}',
            Chunk(text="", finish="length"),
            id="llama.cpp, cut off",
        ),
        pytest.param(
            LLAMA,
            '{"content":"","stop":true,"stopped_limit":true}',
            Chunk(text="", finish="length"),
            id="an older llama.cpp, cut off",
        ),
        pytest.param(LLAMA, '{"content":"","stop":false}', None, id="llama.cpp, half a letter"),
        pytest.param(OLLAMA, '{"response":"a","done":false}', Chunk(text="a"), id="Ollama"),
        pytest.param(
            OLLAMA,
            '{"response":"","done":true,"done_reason":"length"}',
            Chunk(text="", finish="length"),
            id="Ollama, cut off",
        ),
        pytest.param(
            OLLAMA,
            '{"response":"","done":true}',
            Chunk(text="", finish="stop"),
            id="Ollama, the end",
        ),
        pytest.param(
            OLLAMA, '{"response":"","thinking":"hm","done":false}', None, id="Ollama thinks"
        ),
        pytest.param(
            OPENAI,
            '{"choices":[{"text":"a","index":0,"finish_reason":null}]}',
            Chunk(text="a"),
            id="OpenAI",
        ),
        pytest.param(
            OPENAI,
            '{"choices":[{"text":"a","finish_reason":"length"}],"usage":{}}',
            Chunk(text="a", finish="length"),
            id="OpenAI, cut off",
        ),
        pytest.param(OPENAI, '{"choices":[],"usage":{"total_tokens":1}}', None, id="usage"),
        pytest.param(OPENAI, "[DONE]", None, id="the mark at the end"),
        pytest.param(OPENAI, '{"choices":[{"text":null}]}', None, id="no text"),
        pytest.param(
            OPENAI,
            '{"choices":[{"delta":{"content":"a"}}]}',
            Chunk(text="a"),
            id="in the form of a chat",
        ),
        pytest.param(
            MISTRAL,
            '{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}',
            Chunk(text="a"),
            id="Mistral",
        ),
        pytest.param(
            MISTRAL,
            '{"choices":[{"delta":{"content":[{"type":"text","text":"a"},'
            '{"type":"reference","reference_ids":[1]},{"type":"text","text":"b"}]}}]}',
            Chunk(text="ab"),
            id="Mistral, in parts",
        ),
        pytest.param(
            MISTRAL,
            '{"choices":[{"delta":{"content":""},"finish_reason":"model_length"}]}',
            Chunk(text="", finish="length"),
            id="Mistral, cut off by the model",
        ),
    ],
)
def test_event(provider: Provider, data: str, chunk: Chunk | None) -> None:
    assert provider.chunk(Event(name="message", data=data)) == chunk


@pytest.mark.parametrize(
    ("provider", "data", "finish"),
    [
        pytest.param(LLAMA, '{"content":"a","stop":true,"stop_type":"word"}', "stop", id="llama"),
        pytest.param(OLLAMA, '{"response":"a","done":true,"done_reason":"stop"}', "stop", id="Ol"),
        pytest.param(
            OPENAI, '{"choices":[{"text":"a","finish_reason":null}]}', "stop", id="OpenAI"
        ),
        pytest.param(
            MISTRAL,
            '{"choices":[{"message":{"content":"a"},"finish_reason":"length"}]}',
            "length",
            id="Mistral",
        ),
    ],
)
def test_whole_reply(provider: Provider, data: str, finish: str) -> None:
    assert provider.chunk(Event(data=data)) == Chunk(text="a", finish=finish)


@ALL
@pytest.mark.parametrize(
    ("data", "kind", "part"),
    [
        pytest.param('{"error":{"message":"slot is gone"}}', Refused, "slot is gone", id="error"),
        pytest.param('{"error":"it broke: [x]"}', Refused, "it broke", id="error as text"),
        pytest.param('{"object":"error","message":"bad"}', Refused, "bad", id="an object"),
        pytest.param('{"error":"rate limit reached"}', RateLimited, "limit", id="rate limit"),
        pytest.param(
            '{"error":{"message":"maximum context length is 2048 tokens"}}',
            Refused,
            "too long",
            id="too long",
        ),
        pytest.param("<html><body>Sign in", UnexpectedReply, "web page", id="a page"),
        pytest.param('{"id":1}', UnexpectedReply, "something other", id="another object"),
        pytest.param("[1]", UnexpectedReply, "something other", id="a list"),
        pytest.param("nothing", UnexpectedReply, "something other", id="text"),
    ],
)
def test_event_that_says_no(
    provider: Provider, data: str, kind: type[ProviderError], part: str
) -> None:
    with pytest.raises(kind, match=part):
        provider.chunk(Event(name="message", data=data))


@ALL
@pytest.mark.parametrize(
    ("status", "body", "kind", "parts"),
    [
        pytest.param(
            401,
            '{"error":{"message":"Incorrect API key provided: ' + KEY + '"}}',
            NotAuthorized,
            ["does not accept the API key", "`apiKey`"],
            id="another key",
        ),
        pytest.param(401, "<html>Sign in", SignInNeeded, ["gateway", "`headers`"], id="gateway"),
        pytest.param(402, "", NotAllowed, ["no credit left"], id="no credit"),
        pytest.param(
            403,
            '{"error":{"message":"Country not supported for ' + KEY + '"}}',
            NotAllowed,
            ["does not let you", "Country not supported for ***"],
            id="forbidden",
        ),
        pytest.param(
            404, '{"detail":"Not Found"}', NoSuchApi, ["no completions API at", "`url`"], id="path"
        ),
        pytest.param(
            404, "404 page not found", NoSuchApi, ["no completions API at"], id="path, as text"
        ),
        pytest.param(
            404,
            '{"error":{"message":"The model `x` does not exist."}}',
            UnknownModel,
            ["does not have the model m", "`model`"],
            id="unknown model",
        ),
        pytest.param(
            400,
            '{"object":"error","message":"Invalid model: x","type":"invalid_model"}',
            UnknownModel,
            ["does not have the model m"],
            id="unknown model, in Mistral's words",
        ),
        pytest.param(
            400,
            '{"error":{"message":"request (15000 tokens) exceeds the available context size (2048'
            ' tokens), try increasing it"}}',
            TooLarge,
            ["too long", "`prefixChars`"],
            id="too long",
        ),
        pytest.param(413, "", TooLarge, ["too long"], id="too large"),
        pytest.param(
            422,
            '{"detail":[{"loc":["body","top_k"],"msg":"Extra inputs are not permitted"}]}',
            NotUnderstood,
            ["(status 422): Extra inputs are not permitted."],
            id="wrong parameter",
        ),
        pytest.param(
            422,
            '{"object":"error","message":{"detail":[{"msg":"Field required","input":"code"}]}}',
            NotUnderstood,
            ["(status 422): Field required."],
            id="wrong parameter, wrapped",
        ),
        pytest.param(429, "", RateLimited, ["limit is reached"], id="rate limit"),
        pytest.param(
            503,
            '{"error":{"message":"Loading model"}}',
            ServerFailed,
            ["still loading"],
            id="loading",
        ),
        pytest.param(
            503,
            '{"error":"server busy, please try again.  maximum pending requests exceeded"}',
            RateLimited,
            ["limit is reached"],
            id="busy",
        ),
        pytest.param(
            502, "<html>Bad gateway", GatewayFailed, ["gateway", "(502)"], id="gateway's page"
        ),
        pytest.param(500, "", ServerFailed, ["(status 500)."], id="no reason"),
        pytest.param(302, "", Redirected, ["`url`"], id="moved"),
    ],
)
def test_refusal(
    provider: OwnServer, status: int, body: str, kind: type[ProviderError], parts: list[str]
) -> None:
    provider = replace(provider, key=Secret(KEY), model="m")
    error = provider.refusal(Reply(status=status, headers={}, body=body))
    sentence = str(error)
    assert type(error) is kind
    assert all(part in sentence for part in parts), sentence
    assert provider.host in sentence or status == 413
    assert KEY not in sentence
    assert sentence.endswith(".")


@ALL
def test_refusal_without_a_key(provider: OwnServer) -> None:
    error = replace(provider, key=None).refusal(Reply(status=401, headers={}, body=""))
    assert "wants an API key" in str(error)


def test_refusal_of_a_model_nobody_named() -> None:
    body = '{"error":{"message":"No models loaded. Please load a model in the developer page."}}'
    error = replace(OPENAI, model="").refusal(Reply(status=404, headers={}, body=body))
    assert "wants to be told which" in str(error)


def test_ollama_says_how_to_get_a_model() -> None:
    reply = Reply(status=404, headers={}, body='{"error":"model \'x\' not found"}')
    assert "ollama pull" in str(OLLAMA.refusal(reply))


# ---- whom to ask instead

NO_INFILL = '{"error":{"code":501,"message":"Infill is not supported by this model: ..."}}'
NO_SUFFIX = '{"error":{"message":"suffix is not currently supported","code":400}}'
NO_INSERT = '{"error":"registry.ollama.ai/library/own:latest does not support insert"}'


@pytest.mark.parametrize(
    ("provider", "status", "body", "other"),
    [
        pytest.param(LLAMA, 501, NO_INFILL, replace(LLAMA, infill=False), id="llama.cpp"),
        pytest.param(OPENAI, 400, NO_SUFFIX, replace(OPENAI, suffix=False), id="vLLM"),
        pytest.param(
            OPENAI,
            500,
            '{"error":{"message":"Unsupported param: suffix"}}',
            replace(OPENAI, suffix=False),
            id="others",
        ),
        pytest.param(OLLAMA, 400, NO_INSERT, replace(OLLAMA, insert=False), id="Ollama"),
        pytest.param(LLAMA, 503, NO_INFILL, None, id="llama.cpp loads"),
        pytest.param(OPENAI, 401, NO_SUFFIX, None, id="no key"),
        pytest.param(OPENAI, 400, '{"error":"bad"}', None, id="another reason"),
        pytest.param(OLLAMA, 400, '{"error":"bad"}', None, id="another reason of Ollama"),
        pytest.param(MISTRAL, 501, NO_INFILL, None, id="Mistral"),
    ],
)
def test_instead(provider: Provider, status: int, body: str, other: Provider | None) -> None:
    reply = Reply(status=status, headers={}, body=body)
    assert provider.instead(reply) == other
    if other is not None:
        assert other.instead(reply) is None
        assert other.prompts_for == provider.prompts_for, "the prompt stays the same"
