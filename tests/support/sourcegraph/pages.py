"""What instances say about themselves: a new one in pages of JSON, an old one in GraphQL."""

from typing import Any

from tests.support.sourcegraph.answers import Reply, go_json, json_page

VERSION = "/.api/graphql?SiteProductVersion"
CLIENT_CONFIG = "/.api/client-config"
MODELS = "/.api/modelconfig/supported-models.json"
FEATURES = "/.api/graphql?CodyConfigFeaturesResponse"
OLDER_MODEL = "/.api/graphql?CurrentSiteCodyLlmConfiguration"
FILTERS = "/.api/graphql?ContextFilters"
NAME = "/.api/graphql?ResolveRepoName"
EVERYTHING = (VERSION, CLIENT_CONFIG, MODELS, FEATURES, OLDER_MODEL)

STARCODER = "fireworks::v1::starcoder"
QWEN = "fireworks::v1::qwen2.5-coder-7b"


def graphql(**site: Any) -> Reply:
    """An answer to a query about the site."""
    body = go_json({"data": {"site": site}})
    return Reply(status=200, body=body, content_type="application/json")


def filters(raw: Any) -> Reply:
    """What may be sent, as the administrator wrote it."""
    return graphql(codyContextFilters={"raw": raw})


NO_FILTERS = filters(None)


def config(**said: Any) -> Reply:
    """What the administrator allows: everything, but for what is said."""
    usual = {
        "codyEnabled": True,
        "chatEnabled": True,
        "autoCompleteEnabled": True,
        "attribution": "none",
        "modelsAPIEnabled": True,
        "latestSupportedCompletionsStreamAPIVersion": 9,
    }
    return json_page({**usual, **said})


def model(ref: str, **said: Any) -> dict[str, Any]:
    """A model of the list, with the name `provider::version::model`."""
    name = ref.split("::")[-1]
    return {
        "modelRef": ref,
        "displayName": name.title(),
        "modelName": name,
        "capabilities": ["autocomplete"],
        "category": "speed",
        "status": "stable",
        "tier": "enterprise",
        "contextWindow": {"maxInputTokens": 2048, "maxOutputTokens": 256},
        **said,
    }


def models(*listed: dict[str, Any], default: str = "") -> Reply:
    """The list of models; the first one completes code unless `default` says which one."""
    completing = default or listed[0]["modelRef"]
    return json_page(
        {
            "schemaVersion": "1.0",
            "revision": "-",
            "providers": [],
            "models": list(listed),
            "defaultModels": {"chat": "", "fastChat": "", "codeCompletion": completing},
        }
    )


NEW = {
    VERSION: graphql(productVersion="6.3.1234"),
    CLIENT_CONFIG: config(),
    MODELS: models(model(STARCODER)),
}
OLD = {
    VERSION: graphql(productVersion="5.3.9104"),
    FEATURES: graphql(codyConfigFeatures={"autoComplete": True}),
    OLDER_MODEL: graphql(codyLLMConfiguration={"completionModel": "fireworks/starcoder"}),
}
