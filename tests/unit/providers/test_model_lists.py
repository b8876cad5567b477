"""The lists of models that servers have."""

import json
from typing import Any

import pytest

from lsp_completions.providers.llama_cpp import LlamaCpp
from lsp_completions.providers.mistral import Mistral
from lsp_completions.providers.model_lists import Listed, list_request, models_in
from lsp_completions.providers.ollama import Ollama
from lsp_completions.providers.openai import OpenAI
from lsp_completions.providers.own_server import OwnServer
from lsp_completions.secret import Secret

OLLAMA = {
    "models": [
        {
            "name": "qwen2.5-coder:1.5b-base",
            "model": "qwen2.5-coder:1.5b-base",
            "size": 986061892,
            "details": {"parameter_size": "1.5B", "quantization_level": "Q4_K_M"},
        },
        {"name": "codellama:latest", "model": "codellama:latest", "details": None},
    ]
}
VLLM = {"object": "list", "data": [{"id": "Qwen/Qwen2.5-Coder-7B", "max_model_len": 32768}]}
LLAMA = {
    "models": [{"name": "/m/a.gguf"}],
    "object": "list",
    "data": [{"id": "/m/a.gguf", "meta": {"n_ctx_train": 4096}}],
}
MISTRAL = {
    "data": [
        {
            "id": "codestral-latest",
            "capabilities": {"completion_chat": True, "completion_fim": True},
            "max_context_length": 256000,
        },
        {"id": "mistral-large", "capabilities": {"completion_fim": False}},
    ]
}


@pytest.mark.parametrize(
    ("server", "url"),
    [
        pytest.param(Ollama(url="http://h:1/api/generate"), "http://h:1/api/tags", id="ollama"),
        pytest.param(OpenAI(url="http://h:1"), "http://h:1/v1/models", id="openai"),
        pytest.param(OpenAI(url="http://h:1/openai/v1/"), "http://h:1/openai/v1/models", id="path"),
        pytest.param(LlamaCpp(url="http://h:1/infill"), "http://h:1/v1/models", id="llama.cpp"),
        pytest.param(Mistral(url="https://h"), "https://h/v1/models", id="mistral"),
    ],
)
def test_how_it_is_asked(server: OwnServer, url: str) -> None:
    request = list_request(server)
    assert (request.method, request.url, request.body) == ("GET", url, b"")
    assert "authorization" not in {name.lower() for name, _ in request.headers}


def test_the_key_goes_along() -> None:
    request = list_request(OpenAI(url="http://h", key=Secret("k"), headers=(("X", Secret("y")),)))
    assert dict(request.headers)["Authorization"] == "Bearer k"
    assert dict(request.headers)["X"] == "y"


@pytest.mark.parametrize(
    ("server", "page", "names", "used"),
    [
        pytest.param(
            Ollama(url="http://h", model="codellama"),
            OLLAMA,
            ["qwen2.5-coder:1.5b-base", "codellama:latest"],
            "codellama:latest",
            id="without a tag",
        ),
        pytest.param(
            Ollama(url="http://h", model="qwen2.5-coder"),
            OLLAMA,
            ["qwen2.5-coder:1.5b-base", "codellama:latest"],
            None,
            id="another tag",
        ),
        pytest.param(
            OpenAI(url="http://h"), VLLM, ["Qwen/Qwen2.5-Coder-7B"], "Qwen/Qwen2.5-Coder-7B", id="1"
        ),
        pytest.param(
            OpenAI(url="http://h", model="x"), VLLM, ["Qwen/Qwen2.5-Coder-7B"], None, id="none"
        ),
        pytest.param(
            LlamaCpp(url="http://h", model="x"), LLAMA, ["/m/a.gguf"], "/m/a.gguf", id="any name"
        ),
        pytest.param(
            Mistral(url="http://h"),
            MISTRAL,
            ["codestral-latest", "mistral-large"],
            "codestral-latest",
            id="the usual one",
        ),
        pytest.param(OpenAI(url="http://h"), {"data": []}, [], None, id="an empty list"),
        pytest.param(
            OpenAI(url="http://h"),
            {"data": [None, 3, {"id": ""}, {"id": 4}, {"id": "a\x1b[31mb"}]},
            ["a[31mb"],
            "a[31mb",
            id="odd entries",
        ),
    ],
)
def test_what_is_listed(server: OwnServer, page: Any, names: list[str], used: str | None) -> None:
    listed = models_in(server, json.dumps(page))
    assert listed is not None
    assert [each.name for each in listed] == names
    assert [each.name for each in listed if each.in_use] == ([used] if used else [])


def test_what_is_said_of_them() -> None:
    first, _ = models_in(Ollama(url="http://h", model="x"), json.dumps(OLLAMA)) or ()
    assert first.title == "1.5B, Q4_K_M"
    (one,) = models_in(OpenAI(url="http://h"), json.dumps(VLLM)) or ()
    assert one.input_tokens == 32768
    (one,) = models_in(LlamaCpp(url="http://h"), json.dumps(LLAMA)) or ()
    assert one.input_tokens == 4096
    assert models_in(Mistral(url="http://h"), json.dumps(MISTRAL)) == (
        Listed(name="codestral-latest", kind="completes code", input_tokens=256000, in_use=True),
        Listed(name="mistral-large", why_not="it cannot fill in the middle"),
    )


@pytest.mark.parametrize("body", ["", "[]", "<html>", "[" * 9999, '{"data": 3}', "null", "{}"])
@pytest.mark.parametrize("server", [OpenAI(url="http://h"), Ollama(url="http://h", model="m")])
def test_no_list(server: OwnServer, body: str) -> None:
    assert models_in(server, body) is None
