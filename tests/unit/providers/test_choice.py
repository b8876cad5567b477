from collections.abc import Mapping

import pytest

from lsp_completions.errors import ConfigurationError
from lsp_completions.kinds import Secret
from lsp_completions.providers.base import Provider
from lsp_completions.providers.choice import provider_for
from lsp_completions.providers.llama_cpp import LlamaCpp
from lsp_completions.providers.local import Local
from lsp_completions.providers.mistral import Mistral
from lsp_completions.providers.ollama import Ollama
from lsp_completions.providers.openai import OpenAI
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.settings import Api, resolve

ACCOUNT = {"endpoint": "https://sg.example.com", "accessToken": "sgp_secret"}
OWN = {"url": "http://gpu.example:1", "apiKey": "key_secret", "model": "m"}


def chosen(raw: Mapping[str, object], *, local: bool = False) -> Provider | Local:
    settings, problems = resolve([("here", raw)])
    assert problems == ()
    return provider_for(settings, local_available=local)


@pytest.mark.parametrize(
    ("raw", "local", "kind"),
    [
        pytest.param(ACCOUNT, False, Sourcegraph, id="an account"),
        pytest.param(ACCOUNT, True, Sourcegraph, id="an account, and the embedded model"),
        pytest.param({}, True, Local, id="the embedded model"),
        pytest.param({"endpoint": "sg.example"}, True, Local, id="half an account"),
        pytest.param({**ACCOUNT, "provider": "local"}, True, Local, id="the one named"),
        pytest.param({**OWN, "provider": "llama.cpp"}, True, LlamaCpp, id="llama.cpp"),
        pytest.param({**OWN, "provider": "ollama"}, True, Ollama, id="ollama"),
        pytest.param({**OWN, "provider": "openai"}, True, OpenAI, id="openai"),
        pytest.param({**OWN, "provider": "mistral"}, True, Mistral, id="mistral"),
    ],
)
def test_which_provider_answers(raw: dict[str, str], local: bool, kind: type) -> None:
    provider = chosen(raw, local=local)
    assert type(provider) is kind
    assert provider.name == raw.get("provider", provider.name)


@pytest.mark.parametrize(
    ("raw", "parts"),
    [
        pytest.param(
            {},
            [
                "set SRC_ENDPOINT and SRC_ACCESS_TOKEN",
                "endpoint and accessToken in lsp-completions/config.toml",
                "`lsp-completions model install`",
                "`provider`",
                "started from a desktop",
            ],
            id="nothing is set",
        ),
        pytest.param(
            {"endpoint": "sg.example"},
            ["set SRC_ACCESS_TOKEN for", "as accessToken in", "model install"],
            id="no token",
        ),
        pytest.param(
            {"provider": "sourcegraph", "accessToken": "x"},
            ["set SRC_ENDPOINT for", "started from a desktop"],
            id="Sourcegraph without an endpoint",
        ),
        pytest.param(
            {"provider": "local", **ACCOUNT},
            ["`local`", "`lsp-completions model install`", "`modelPath`"],
            id="no embedded model",
        ),
        pytest.param({"provider": "ollama"}, ["`model`", "ollama list"], id="Ollama, no model"),
        pytest.param({"provider": "openai"}, ["`url`"], id="OpenAI's API, but where"),
        pytest.param({"provider": "mistral"}, ["`apiKey`"], id="Mistral without a key"),
    ],
)
def test_what_is_missing(raw: dict[str, str], parts: list[str]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        chosen(raw)
    assert not [part for part in parts if part not in str(raised.value)], raised.value


@pytest.mark.parametrize(
    ("api", "url"),
    [
        ("llama.cpp", "http://127.0.0.1:8080"),
        ("ollama", "http://127.0.0.1:11434"),
        ("mistral", "https://api.mistral.ai"),
    ],
)
def test_where_they_are_looked_for(api: str, url: str) -> None:
    provider = chosen({"provider": api, "model": "m", "apiKey": "k"})
    assert isinstance(provider, LlamaCpp | Ollama | Mistral)
    assert provider.url == url


@pytest.mark.parametrize("api", [api for api in Api if api is not Api.SOURCEGRAPH])
def test_the_token_stays_with_sourcegraph(api: Api) -> None:
    provider = chosen({**ACCOUNT, **OWN, "provider": api.value}, local=True)
    if isinstance(provider, Local):
        provider = provider.served("http://127.0.0.1:1", Secret("k"), model_path="m.gguf")
        assert provider.key == Secret("k")
    else:
        assert isinstance(provider, LlamaCpp | Ollama | OpenAI | Mistral)
        assert (provider.url, provider.key) == ("http://gpu.example:1", Secret("key_secret"))
    assert "secret" not in repr(provider)
    assert not [value for value in _secrets(provider) if value == "sgp_secret"]


def test_the_key_stays_with_its_server() -> None:
    assert "key_secret" not in _secrets(chosen({**ACCOUNT, **OWN}))


def test_every_setting_reaches_its_provider() -> None:
    generation = {
        "temperature": 0.5,
        "topK": 7,
        "topP": 0.25,
        "stopSequences": ["x"],
        "stream": False,
    }
    for api in Api:
        raw = {**ACCOUNT, **OWN, **generation, "provider": api.value, "keepAlive": 5}
        provider = chosen({**raw, "contextTokens": 4096, "modelPath": "~/a.gguf"}, local=True)
        assert isinstance(provider, Sourcegraph | LlamaCpp | Ollama | OpenAI | Mistral | Local)
        assert provider.temperature == 0.5
        assert (provider.top_k, provider.top_p) == (7, 0.25)
        assert (provider.stop_sequences, provider.stream) == (("x",), False)
        assert provider.model == "m"
        match provider:
            case Ollama():
                assert (provider.keep_alive, provider.context_tokens) == ("5s", 4096)
            case Local():
                assert provider.model_path == "~/a.gguf"


def _secrets(provider: object) -> list[str]:
    fields = [getattr(provider, name) for name in ("token", "key") if hasattr(provider, name)]
    return [field.reveal() for field in fields if isinstance(field, Secret)]


@pytest.mark.parametrize(
    ("more", "model"),
    [
        pytest.param({}, "", id="named for somebody else"),
        pytest.param({"provider": "local"}, "", id="named for somebody else, and this one chosen"),
        pytest.param({"modelPath": "m.gguf"}, "starcoder", id="for a file of one's own"),
    ],
)
def test_whose_form_prompts_to_the_embedded_model_have(more: dict[str, str], model: str) -> None:
    settings, _ = resolve([("the test", {"model": "starcoder", **more})])
    local = provider_for(settings, local_available=True)
    assert isinstance(local, Local)
    assert local.model == model
