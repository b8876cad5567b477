import json
from typing import Any

import pytest

from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.providers.sourcegraph_pages import (
    CHARS_OF_UNKNOWN_WINDOW,
    CLIENT_CONFIG,
    FEATURES,
    FIRST,
    MODELS,
    OLDER_MODEL,
    VERSION,
    Question,
    client_config_in,
    features_in,
    further,
    learned,
    models_in,
    older_model_in,
    version_in,
)
from lsp_completions.providers.sourcegraph_site import (
    Attribution,
    ClientConfig,
    Kind,
    Model,
    Models,
    OlderModel,
    Site,
    Window,
    completion_model,
    kind_of,
    unknown,
)
from lsp_completions.secret import Secret
from tests.support.extra import extra_cases

TOKEN = "sgp_local_0123456789abcdef"
INSTANCE = Sourcegraph(endpoint="https://sg.example.com/code", token=Secret(TOKEN))
SITE = unknown(INSTANCE)


def site_data(**fields: Any) -> str:
    return json.dumps({"data": {"site": fields}})


# ---- the questions


@pytest.mark.parametrize(
    ("question", "method", "path"),
    [
        pytest.param(VERSION, "POST", "/.api/graphql?SiteProductVersion", id="version"),
        pytest.param(CLIENT_CONFIG, "GET", "/.api/client-config", id="what is allowed"),
        pytest.param(MODELS, "GET", "/.api/modelconfig/supported-models.json", id="models"),
        pytest.param(
            FEATURES, "POST", "/.api/graphql?CodyConfigFeaturesResponse", id="what was allowed"
        ),
        pytest.param(
            OLDER_MODEL, "POST", "/.api/graphql?CurrentSiteCodyLlmConfiguration", id="older model"
        ),
    ],
)
def test_request(question: Question, method: str, path: str) -> None:
    request = question.request(INSTANCE)
    assert (request.method, request.url) == (method, f"https://sg.example.com/code{path}")
    assert ("Authorization", f"token {TOKEN}") in request.headers
    assert not request.stream
    assert TOKEN not in repr(request)
    if method == "POST":
        body = json.loads(request.body)
        assert body["query"].startswith(f"query {path.partition('?')[2]} {{ site {{")
        assert body["query"].count("{") == body["query"].count("}")
    else:
        assert request.body == b""


LISTED = Models(completing="a::v1::b")


@pytest.mark.parametrize(
    ("site", "questions"),
    [
        pytest.param(SITE, [FEATURES, OLDER_MODEL], id="an old instance"),
        pytest.param(
            Site(host="h", client_config=ClientConfig(lists_models=True), models=LISTED),
            [],
            id="a new one",
        ),
        pytest.param(
            Site(host="h", client_config=ClientConfig(lists_models=False), models=LISTED),
            [OLDER_MODEL],
            id="a list that is not for use",
        ),
        pytest.param(
            Site(host="h", client_config=ClientConfig(), models=Models()),
            [OLDER_MODEL],
            id="a list without a choice",
        ),
        pytest.param(Site(host="h", models=LISTED), [FEATURES], id="a list alone"),
    ],
)
def test_further_questions(site: Site, questions: list[Question]) -> None:
    assert [question.path for question in further(site)] == [each.path for each in questions]


def test_learned() -> None:
    site = learned(SITE, VERSION, site_data(productVersion="6.3.1234"))
    assert site == Site(host="sg.example.com", version="6.3.1234")
    assert learned(SITE, VERSION, "<html>") is None


# ---- their answers

UNREADABLE = [
    pytest.param("", id="nothing"),
    pytest.param("<!doctype html><html>", id="a login page"),
    pytest.param("Invalid access token.\n", id="a refusal"),
    pytest.param("null", id="null"),
    pytest.param("[]", id="a list"),
    pytest.param("{}", id="an empty object"),
    pytest.param('"text"', id="a text"),
    pytest.param("[" * 100_000, id="without an end"),
    pytest.param('{"data":null,"errors":[{"message":"Cannot query field"}]}', id="an error"),
    pytest.param('{"data":{"site":null}}', id="no site"),
    pytest.param('{"data":{"site":{"productVersion":7}}}', id="another type"),
    pytest.param('{"data":{"site":{"codyLLMConfiguration":null}}}', id="no configuration"),
    pytest.param('{"data":{"site":{"codyLLMConfiguration":{"provider":"x"}}}}', id="no model"),
    pytest.param('{"models":{},"defaultModels":[]}', id="other types"),
]


@pytest.mark.parametrize("body", UNREADABLE)
@pytest.mark.parametrize("question", [*FIRST, FEATURES, OLDER_MODEL], ids=lambda each: each.path)
def test_what_cannot_be_read_is_not_known(question: Question, body: str) -> None:
    assert learned(SITE, question, body) is None


@pytest.mark.parametrize(
    ("version", "read"),
    [
        pytest.param("5.3.9104", "5.3.9104", id="a release"),
        pytest.param("0.0.0+dev", "0.0.0+dev", id="a developer's build"),
        pytest.param(" 5.3.0\n", "5.3.0", id="blanks around it"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_version(version: str, read: str | None) -> None:
    assert version_in(site_data(productVersion=version)) == read


@pytest.mark.parametrize(
    ("page", "config"),
    [
        pytest.param(
            {
                "codyEnabled": True,
                "chatEnabled": True,
                "autoCompleteEnabled": True,
                "customCommandsEnabled": True,
                "attributionEnabled": False,
                "smartContextWindowEnabled": True,
                "modelsAPIEnabled": True,
                "latestSupportedCompletionsStreamAPIVersion": 9,
                "whatIsYetToCome": {"a": [1]},
            },
            ClientConfig(cody_enabled=True, completes=True, lists_models=True, api_version=9),
            id="a new one",
        ),
        pytest.param(
            {"codyEnabled": True, "autoCompleteEnabled": False},
            ClientConfig(cody_enabled=True, completes=False),
            id="little",
        ),
        pytest.param(
            {"codyEnabled": "yes", "autoCompleteEnabled": None, "modelsAPIEnabled": 1},
            ClientConfig(),
            id="other types",
        ),
        pytest.param(
            {"latestSupportedCompletionsStreamAPIVersion": 0}, ClientConfig(), id="no version"
        ),
        pytest.param(
            {"attributionEnabled": True, "attribution": ""},
            ClientConfig(attribution=Attribution.PERMISSIVE),
            id="an empty mode follows the flag",
        ),
        pytest.param(
            {"attributionEnabled": True},
            ClientConfig(attribution=Attribution.PERMISSIVE),
            id="no mode follows the flag",
        ),
        pytest.param(
            {"attributionEnabled": True, "attribution": "none"},
            ClientConfig(),
            id="the mode before the flag",
        ),
        pytest.param(
            {"attribution": "permissive"},
            ClientConfig(attribution=Attribution.PERMISSIVE),
            id="permissive",
        ),
        pytest.param(
            {"attribution": "Enforced"},
            ClientConfig(attribution=Attribution.ENFORCED),
            id="enforced",
        ),
        pytest.param(
            {"attribution": "stricter", "codyEnabled": True},
            ClientConfig(cody_enabled=True, attribution=Attribution.ENFORCED),
            id="an unknown mode is taken for the strictest, and spoils nothing else",
        ),
    ],
)
def test_client_config(page: object, config: ClientConfig) -> None:
    assert client_config_in(json.dumps(page, indent=4) + "\n") == config


@pytest.mark.parametrize(
    ("features", "config"),
    [
        pytest.param(
            {"chat": True, "autoComplete": True, "commands": True},
            ClientConfig(completes=True),
            id="the oldest",
        ),
        pytest.param(
            {"autoComplete": False, "attribution": True},
            ClientConfig(completes=False, attribution=Attribution.PERMISSIVE),
            id="off",
        ),
    ],
)
def test_features(features: object, config: ClientConfig) -> None:
    assert features_in(site_data(codyConfigFeatures=features)) == config


@pytest.mark.parametrize(
    ("config", "model"),
    [
        pytest.param(
            {"completionModel": "fireworks/starcoder", "completionModelMaxTokens": 9000},
            OlderModel(name="fireworks/starcoder", window=Window(input_tokens=9000)),
            id="with a window",
        ),
        pytest.param(
            {"completionModel": "anthropic.claude-v2", "completionModelMaxTokens": 0, "new": 1},
            OlderModel(name="anthropic.claude-v2"),
            id="without one",
        ),
    ],
)
def test_older_model(config: object, model: OlderModel) -> None:
    assert older_model_in(site_data(codyLLMConfiguration=config)) == model


@pytest.mark.parametrize(
    ("item", "model"),
    [
        pytest.param(
            {
                "modelRef": "fireworks::v1::deepseek-coder-v2-lite-base",
                "displayName": "DeepSeek V2 Lite Base",
                "modelName": "accounts/x/deepseek",
                "capabilities": ["autocomplete", "New"],
                "category": "speed",
                "status": "Stable",
                "tier": "enterprise",
                "contextWindow": {"maxInputTokens": 2048, "maxOutputTokens": 256},
                "clientSideConfig": None,
            },
            Model(
                provider="fireworks",
                id="deepseek-coder-v2-lite-base",
                upstream="accounts/x/deepseek",
                title="DeepSeek V2 Lite Base",
                capabilities=frozenset({"autocomplete", "New"}),
                status="stable",
                window=Window(input_tokens=2048, output_tokens=256),
            ),
            id="all of it",
        ),
        pytest.param({"modelRef": "a::1::b"}, Model(provider="a", id="b"), id="the name alone"),
        pytest.param({"modelRef": "a/b"}, Model(provider="a", id="b"), id="in older words"),
        pytest.param(
            {
                "modelRef": "own::1::b",
                "capabilities": "autocomplete",
                "contextWindow": {"maxInputTokens": -1, "maxOutputTokens": True},
                "clientSideConfig": {"openAICompatible": {"contextSizeHintTotalCharacters": 900}},
            },
            Model(provider="own", id="b", openai_compatible=True, window=Window(chars=900)),
            id="a server of one's own",
        ),
        pytest.param(
            {"modelRef": "own::1::b", "clientSideConfig": {"openAICompatible": {}}},
            Model(
                provider="own",
                id="b",
                openai_compatible=True,
                window=Window(chars=CHARS_OF_UNKNOWN_WINDOW),
            ),
            id="a server of one's own without a window",
        ),
        pytest.param({"displayName": "nameless"}, None, id="no name"),
        pytest.param("text", None, id="no object"),
        pytest.param(None, None, id="null"),
    ],
)
def test_listed_model(item: object, model: Model | None) -> None:
    page = {"schemaVersion": "9", "models": [item], "defaultModels": {"codeCompletion": "a::1::b"}}
    listed = () if model is None else (model,)
    assert models_in(json.dumps(page)) == Models(listed=listed, completing="a::1::b")


@pytest.mark.parametrize(
    ("page", "models"),
    [
        pytest.param({"models": []}, Models(), id="an empty list"),
        pytest.param({"models": None, "defaultModels": {}}, Models(), id="no list"),
        pytest.param(
            {"defaultModels": {"codeCompletion": "a::1::b", "chat": 7}},
            Models(completing="a::1::b"),
            id="a choice without a list",
        ),
        pytest.param(
            {"models": [], "defaultModels": {"codeCompletion": 1}}, Models(), id="no name"
        ),
    ],
)
def test_models(page: object, models: Models) -> None:
    assert models_in(json.dumps(page)) == models


# ---- recorded ones

RECORDED = {
    "site_version": VERSION,
    "client_config": CLIENT_CONFIG,
    "modelconfig": MODELS,
    "llm_config": OLDER_MODEL,
    "config_features": FEATURES,
}


def test_recorded_configurations_are_understood() -> None:
    understood = 0
    for row in extra_cases("cases/recorded_config_exchanges.jsonl"):
        if (question := RECORDED.get(row["set"])) is None:
            continue
        body, path = row["response_body"], question.path
        if row["method"] == "POST" and path.partition("?")[2] not in row["url"]:
            continue  # another question about the same thing
        site = learned(SITE, question, body)
        if row["status"] != 200 or (question is OLDER_MODEL and "completionModel" not in body):
            assert site is None, row["id"]
            continue
        assert site is not None, row["id"]
        understood += 1
        _compare(site, json.loads(body), row["id"])
    assert understood


def _compare(site: Site, page: Any, row: str) -> None:
    """All that is used of the page has been read."""
    fields = page["data"]["site"] if "data" in page else page
    if site.version is not None:
        assert site.version == fields["productVersion"], row
    if site.older_model is not None:
        config = fields["codyLLMConfiguration"]
        assert site.older_model.name == config["completionModel"], row
        assert site.older_model.window.input_tokens == config["completionModelMaxTokens"], row
    if (config := site.client_config) is not None:
        features = fields.get("codyConfigFeatures", {})
        completes = features.get("autoComplete", fields.get("autoCompleteEnabled"))
        assert config.completes is completes, row
        assert config.cody_enabled is fields.get("codyEnabled"), row
        assert config.lists_models is fields.get("modelsAPIEnabled"), row
        version = fields.get("latestSupportedCompletionsStreamAPIVersion")
        assert config.api_version == version, row
    if site.models is not None:
        assert len(site.models.listed) == len(page["models"]), row
        for model, item in zip(site.models.listed, page["models"], strict=True):
            assert item["modelRef"].startswith(f"{model.provider}::"), row
            assert item["modelRef"].endswith(f"::{model.id}"), row
            assert model.capabilities == set(item["capabilities"]), row
            assert model.window.input_tokens == item["contextWindow"]["maxInputTokens"], row
        choice = completion_model(site)
        assert not isinstance(choice, Exception), row
        default = page["defaultModels"]["codeCompletion"]
        assert choice.model == default.split("::")[0] + "/" + default.split("::")[2], row
        assert choice.kind is Kind.FILLS_IN, row
        assert choice.window.limits.prefix_chars == 4300, row
        for item in page["models"]:
            fills_in = any(part in item["modelRef"] for part in ("::starcoder", "-lite-base"))
            kind = kind_of(item["modelRef"], frozenset(item["capabilities"]))
            assert (kind is Kind.FILLS_IN) is fills_in, item["modelRef"]
