from collections.abc import Mapping
from typing import Any

import pytest

from lsp_completions.errors import ConfigurationError
from lsp_completions.providers.base import Provider
from lsp_completions.providers.choice import provider_for
from lsp_completions.providers.llama_cpp import LlamaCpp
from lsp_completions.providers.local import Local
from lsp_completions.providers.mistral import Mistral
from lsp_completions.providers.ollama import Ollama
from lsp_completions.providers.openai import OpenAI
from lsp_completions.providers.requirements import half_set_up
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.secret import Secret
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


LOG_IN = ["`lsp-completions login`", "`lsp-completions check`"]
MOST = 160  # characters of a message; editors show it in a line or two


@pytest.mark.parametrize(
    ("raw", "parts", "remedy"),
    [
        pytest.param(
            {},
            ["No completions yet. Run ", *LOG_IN, "`lsp-completions model install`"],
            [
                "Run `lsp-completions login`, or set SRC_ENDPOINT and SRC_ACCESS_TOKEN",
                "endpoint and accessToken in lsp-completions/config.toml",
                "`lsp-completions model install`",
                "`provider`",
                "started from a desktop",
            ],
            id="nothing is set",
        ),
        pytest.param(
            {"endpoint": "https://sourcegraph.company.example:3443/code"},
            ["No access token for sourcegraph.company.example:3443. ", *LOG_IN],
            ["set SRC_ACCESS_TOKEN for", "as accessToken in", "model install"],
            id="no token",
        ),
        pytest.param(
            {"accessToken": "x"},
            ["no `endpoint`", *LOG_IN],
            ["set SRC_ENDPOINT for", "model install"],
            id="no endpoint",
        ),
        pytest.param(
            {"provider": "sourcegraph", "accessToken": "x"},
            ["no `endpoint`", *LOG_IN],
            ["set SRC_ENDPOINT for", "started from a desktop"],
            id="Sourcegraph without an endpoint",
        ),
        pytest.param(
            {"provider": "sourcegraph"},
            ["from Sourcegraph. Run", *LOG_IN],
            ["set SRC_ENDPOINT and SRC_ACCESS_TOKEN for"],
            id="Sourcegraph, and nothing else",
        ),
        pytest.param(
            {**ACCOUNT, "headers": {"Authorization": "x"}},
            ["both an access token and a header", "Remove"],
            [],
            id="two credentials",
        ),
        pytest.param(
            {"provider": "local", **ACCOUNT},
            ["`local`", "`lsp-completions model install`", "`modelPath`"],
            [],
            id="no embedded model",
        ),
        pytest.param({"provider": "ollama"}, ["`model`", "ollama list"], [], id="Ollama, no model"),
        pytest.param({"provider": "openai"}, ["`url`"], [], id="OpenAI's API, but where"),
        pytest.param({"provider": "mistral"}, ["`apiKey`"], [], id="Mistral without a key"),
    ],
)
def test_what_is_missing(raw: dict[str, Any], parts: list[str], remedy: list[str]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        chosen(raw)
    message = str(raised.value)
    assert not [part for part in parts if part not in message], message
    assert not [part for part in remedy if part not in raised.value.remedy], raised.value.remedy
    assert bool(raised.value.remedy) is bool(remedy)
    assert len(message) <= MOST


@pytest.mark.parametrize(
    ("raw", "part", "remedy"),
    [
        pytest.param({}, None, "", id="nothing was begun"),
        pytest.param(ACCOUNT, None, "", id="an account"),
        pytest.param({"provider": "local", "endpoint": "sg.example"}, None, "", id="it was chosen"),
        pytest.param(
            {"endpoint": "https://sg.example"},
            "No access token for sg.example, so the small model answers. ",
            "set SRC_ACCESS_TOKEN",
            id="no token",
        ),
        pytest.param(
            {"accessToken": "x"},
            "but no `endpoint`, so the small",
            "set SRC_ENDPOINT",
            id="a token",
        ),
        pytest.param(OWN, "set `provider` to `llama.cpp`", "", id="a server of which kind"),
    ],
)
def test_what_is_half_set_up(raw: dict[str, str], part: str | None, remedy: str) -> None:
    settings, _ = resolve([("here", raw)])
    half = half_set_up(settings)
    if part is None:
        assert half is None
        return
    assert half is not None
    assert part in str(half)
    assert remedy in half.remedy
    assert len(str(half)) <= MOST


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
