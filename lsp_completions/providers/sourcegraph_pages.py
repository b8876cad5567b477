"""What to ask a Sourcegraph instance about itself, and how its answers read.

Pages of JSON come as plain text, old instances lack most of them, and new ones say more. So an
answer is judged by its content alone, and what is not known in there is passed over.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from lsp_completions.providers.base import HttpRequest
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.providers.sourcegraph_site import (
    Attribution,
    ClientConfig,
    Model,
    Models,
    OlderModel,
    Site,
    Window,
    name_parts,
    usable_models,
)

# What models on a server of one's own are given whose window nobody tells.
CHARS_OF_UNKNOWN_WINDOW = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something to ask an instance, and what of a `Site` its answer tells."""

    about: Literal["version", "client_config", "models", "older_model"]
    path: str
    query: str | None = None
    """In GraphQL; without one a page is read."""
    read: Callable[[str], Any]
    """What an answer says; `None` where it says nothing of that."""

    def request(self, instance: Sourcegraph) -> HttpRequest:
        """How `instance` is asked."""
        if self.query is None:
            return instance.get(self.path)
        return instance.post(self.path, {"query": self.query, "variables": {}})


def learned(site: Site, question: Question, body: str) -> Site | None:
    """The site with what an answer says; `None` where it says nothing."""
    value = question.read(body)
    return None if value is None else replace(site, **{question.about: value})


def further(site: Site) -> tuple[Question, ...]:
    """What to ask an older instance, which left some of `FIRST` unanswered."""
    questions = []
    if site.client_config is None:
        questions.append(FEATURES)
    models = usable_models(site)
    if models is None or not models.completing:
        questions.append(OLDER_MODEL)
    return tuple(questions)


# ---- their answers


def version_in(body: str) -> str | None:
    """The site's version."""
    version = _graphql(body, "site").get("productVersion")
    return version.strip() or None if isinstance(version, str) else None


def client_config_in(body: str) -> ClientConfig | None:
    """What the administrator allows."""
    page = _object(body)
    if page.keys().isdisjoint(_CLIENT_CONFIG):
        return None
    return ClientConfig(
        cody_enabled=_flag(page.get("codyEnabled")),
        completes=_flag(page.get("autoCompleteEnabled")),
        lists_models=_flag(page.get("modelsAPIEnabled")),
        attribution=_attribution(page.get("attribution"), page.get("attributionEnabled")),
        api_version=_number(page.get("latestSupportedCompletionsStreamAPIVersion")),
    )


def features_in(body: str) -> ClientConfig | None:
    """What the administrator allows, as older instances say it."""
    features = _graphql(body, "site", "codyConfigFeatures")
    if not features:
        return None
    return ClientConfig(
        completes=_flag(features.get("autoComplete")),
        attribution=_attribution(None, features.get("attribution")),
    )


def models_in(body: str) -> Models | None:
    """The list of models."""
    page = _object(body)
    listed, defaults = page.get("models"), page.get("defaultModels")
    if not isinstance(listed, list) and not isinstance(defaults, dict):
        return None
    models = [_model(item) for item in (listed if isinstance(listed, list) else [])]
    return Models(
        listed=tuple(model for model in models if model is not None),
        completing=_text(_mapping(defaults).get("codeCompletion")),
    )


def older_model_in(body: str) -> OlderModel | None:
    """The model that completes code, as older instances name it."""
    config = _graphql(body, "site", "codyLLMConfiguration")
    if not (name := _text(config.get("completionModel"))):
        return None
    window = Window(input_tokens=_number(config.get("completionModelMaxTokens")))
    return OlderModel(name=name, window=window)


def _model(item: object) -> Model | None:
    fields = _mapping(item)
    provider, name = name_parts(_text(fields.get("modelRef")))
    if not name:
        return None
    window = _mapping(fields.get("contextWindow"))
    own_server = _mapping(fields.get("clientSideConfig")).get("openAICompatible")
    hint = _number(_mapping(own_server).get("contextSizeHintTotalCharacters"))
    input_tokens = _number(window.get("maxInputTokens"))
    if isinstance(own_server, dict) and hint is None and input_tokens is None:
        hint = CHARS_OF_UNKNOWN_WINDOW
    capabilities = fields.get("capabilities")
    return Model(
        provider=provider,
        id=name,
        upstream=_text(fields.get("modelName")),
        title=_text(fields.get("displayName")),
        capabilities=frozenset(
            _text(word) for word in (capabilities if isinstance(capabilities, list) else [])
        ),
        status=_text(fields.get("status")).lower(),
        openai_compatible=isinstance(own_server, dict),
        window=Window(
            input_tokens=input_tokens,
            output_tokens=_number(window.get("maxOutputTokens")),
            chars=hint,
        ),
    )


def _attribution(mode: object, enabled: object) -> Attribution:
    match _text(mode).lower():
        case "none":
            return Attribution.NONE
        case "permissive":
            return Attribution.PERMISSIVE
        case "":
            return Attribution.PERMISSIVE if enabled is True else Attribution.NONE
        case _:
            # A mode we do not know may be as strict as the strictest we do.
            return Attribution.ENFORCED


def _graphql(body: str, *path: str) -> Mapping[str, Any]:
    """What stands at `path` in an answer to a query; empty where nothing does."""
    value = _mapping(_object(body).get("data"))
    for key in path:
        value = _mapping(value.get(key))
    return value


def _object(body: str) -> Mapping[str, Any]:
    try:
        return _mapping(json.loads(body))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _number(value: object) -> int | None:
    """A whole number from 1 up."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 1 <= value < 10**9 else None


_CLIENT_CONFIG = {
    "codyEnabled",
    "autoCompleteEnabled",
    "modelsAPIEnabled",
    "attribution",
    "attributionEnabled",
    "latestSupportedCompletionsStreamAPIVersion",
}

VERSION = Question(
    about="version",
    path="/.api/graphql?SiteProductVersion",
    query="query SiteProductVersion { site { productVersion } }",
    read=version_in,
)
CLIENT_CONFIG = Question(about="client_config", path="/.api/client-config", read=client_config_in)
MODELS = Question(about="models", path="/.api/modelconfig/supported-models.json", read=models_in)
# The oldest instances know these fields of it and no others; a query with more fails as a whole.
FEATURES = Question(
    about="client_config",
    path="/.api/graphql?CodyConfigFeaturesResponse",
    query="query CodyConfigFeaturesResponse { site { codyConfigFeatures { autoComplete } } }",
    read=features_in,
)
OLDER_MODEL = Question(
    about="older_model",
    path="/.api/graphql?CurrentSiteCodyLlmConfiguration",
    query=(
        "query CurrentSiteCodyLlmConfiguration "
        "{ site { codyLLMConfiguration { completionModel completionModelMaxTokens } } }"
    ),
    read=older_model_in,
)
FIRST = (VERSION, CLIENT_CONFIG, MODELS)
