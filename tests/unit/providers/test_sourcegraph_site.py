from dataclasses import replace

import pytest

from lsp_completions.errors import ConfigurationError, Reply
from lsp_completions.providers.base import Limits
from lsp_completions.providers.sourcegraph import USUAL_MODEL, Sourcegraph
from lsp_completions.providers.sourcegraph_site import (
    Attribution,
    ClientConfig,
    Kind,
    Model,
    ModelChoice,
    Models,
    OlderModel,
    Site,
    Window,
    api_version,
    completion_model,
    enforces_attribution,
    fitted,
    kind_of,
    newest_api_version,
    switched_off,
    unknown,
)
from lsp_completions.secret import Secret
from tests.support.extra import extra_cases

INSTANCE = Sourcegraph(endpoint="https://sg.example.com", token=Secret("t"))
SITE = unknown(INSTANCE)
SMALL = Window(input_tokens=2048, output_tokens=256)


def model(provider: str, name: str, *capabilities: str, status: str = "stable") -> Model:
    return Model(
        provider=provider,
        id=name,
        capabilities=frozenset(capabilities),
        status=status,
        window=SMALL,
    )


STAR = "fireworks/starcoder"
BASE = "fireworks/deepseek-coder-v2-lite-base"

DEEPSEEK = model("fireworks", "deepseek-coder-v2-lite-base", "autocomplete")
STARCODER = model("fireworks", "starcoder", "autocomplete")
AUTOEDITS = model("fireworks", "autoedits-deepseek-lite-default", "autocomplete")
HAIKU = model("anthropic", "claude-3-haiku", "autocomplete", "edit", "chat")
OWN = replace(
    model("own", "fast"), upstream="qwen2.5-coder-7b", openai_compatible=True, window=Window()
)
OLD = model("f", "old", status="deprecated")
LIST = (HAIKU, AUTOEDITS, STARCODER, DEEPSEEK, OWN)


def listing(default: str, *listed: Model) -> Site:
    return replace(SITE, models=Models(listed=listed or LIST, completing=default))


DEFAULT = listing("fireworks::v1::deepseek-coder-v2-lite-base")
OLDER = replace(SITE, older_model=OlderModel(name=STAR, window=Window(input_tokens=9000)))
NO_LIST = ClientConfig(lists_models=False)

# ---- the version


@pytest.mark.parametrize(
    ("site", "newest"),
    [
        pytest.param(SITE, 1, id="nothing known"),
        pytest.param(replace(SITE, client_config=ClientConfig(api_version=4)), 4, id="said"),
        pytest.param(
            replace(SITE, version="5.2.0", client_config=ClientConfig(api_version=7)),
            7,
            id="what it says before what it is",
        ),
        pytest.param(
            replace(SITE, version="6.3.1", client_config=ClientConfig()), 8, id="not said"
        ),
        pytest.param(Site(host="sourcegraph.com", version="5.1.0"), 8, id="the vendor's own"),
        pytest.param(replace(SITE, version="5.7.9"), 1, id="before deltas"),
        pytest.param(replace(SITE, version="5.8.0-rc.1"), 1, id="just before deltas"),
        pytest.param(replace(SITE, version="5.8.0"), 5, id="with deltas"),
        pytest.param(replace(SITE, version="v5.10"), 5, id="shorter, with a letter"),
        pytest.param(replace(SITE, version="6.2.0"), 8, id="new"),
        pytest.param(replace(SITE, version="10.0.0+build.7"), 8, id="years later"),
        pytest.param(replace(SITE, version="0.0.0+dev"), 8, id="a developer's"),
        pytest.param(replace(SITE, version="1_2024-09-10_5.7-abc"), 1, id="an older day"),
        pytest.param(replace(SITE, version="1_2024-09-11_5.7-abc"), 5, id="a day"),
        pytest.param(replace(SITE, version="1_2025-03-11_6.1-abc"), 8, id="a newer day"),
        pytest.param(replace(SITE, version=f"{'9' * 5000}.0.0"), 1, id="no number we can read"),
        pytest.param(replace(SITE, version="nightly"), 1, id="no version we know"),
    ],
)
def test_api_version(site: Site, newest: int) -> None:
    assert newest_api_version(site) == newest
    assert api_version(site) == min(newest, 2)


def test_reference_api_versions() -> None:
    for row in extra_cases("cases/reference_functions.jsonl"):
        if row["function"] == "inferCodyApiVersion":
            version, is_dotcom = row["args"]
            site = Site(host="sourcegraph.com" if is_dotcom else "h", version=version)
            # What is built by its developers speaks the newest, whatever its number is.
            assert newest_api_version(site) == min(row["result"], 8), row["id"]


# ---- the model


@pytest.mark.parametrize(
    ("name", "capabilities", "kind"),
    [
        pytest.param(STAR, "", Kind.FILLS_IN, id="a base model"),
        pytest.param("f::v1::deepseek-coder-v2-lite-base", "", Kind.FILLS_IN, id="DeepSeek"),
        pytest.param("own/qwen2.5-coder", "chat", Kind.FILLS_IN, id="of code, chats too"),
        pytest.param("own/deepseek-r1", "chat", Kind.CHATS, id="chats only"),
        pytest.param("own/deepseek-chat", "", Kind.CHATS, id="chats by its name"),
        pytest.param("mistral/codestral", "autocomplete chat", Kind.FILLS_IN, id="Codestral"),
        pytest.param("anthropic/claude-instant-1", "", Kind.CHATS, id="Claude"),
        pytest.param("anthropic.claude-v2", "", Kind.CHATS, id="Claude on Bedrock"),
        pytest.param("openai/gpt-4o", "", Kind.CHATS, id="GPT"),
        pytest.param("mistral/mixtral-8x7b", "autocomplete chat", Kind.CHATS, id="Mixtral"),
        pytest.param("x/new", "autocomplete", Kind.FILLS_IN, id="unknown, completes"),
        pytest.param("x/new", "autocomplete chat", Kind.CHATS, id="unknown, chats"),
        pytest.param("fireworks/autoedits-default", "autocomplete", Kind.REWRITES, id="auto-edit"),
        pytest.param("x/smart-apply-qwen", "smartApply", Kind.REWRITES, id="applies changes"),
        pytest.param("x/qwen-embed", "embed", Kind.REWRITES, id="does something else"),
        pytest.param("x/auto-edit-coder-base", "", Kind.REWRITES, id="auto-edit of a base"),
    ],
)
def test_kind(name: str, capabilities: str, kind: Kind) -> None:
    assert kind_of(name, frozenset(capabilities.split())) is kind


@pytest.mark.parametrize(
    ("site", "chosen", "asked", "prompts_for"),
    [
        pytest.param(
            DEFAULT,
            "",
            BASE,
            BASE,
            id="the administrator's choice",
        ),
        pytest.param(
            DEFAULT,
            STAR,
            STAR,
            STAR,
            id="chosen",
        ),
        pytest.param(
            DEFAULT,
            "Fireworks::v9::StarCoder",
            STAR,
            STAR,
            id="chosen in other words",
        ),
        pytest.param(
            DEFAULT,
            "starcoder",
            STAR,
            STAR,
            id="without provider",
        ),
        pytest.param(
            DEFAULT,
            "sourcegraph/starcoder",
            STAR,
            STAR,
            id="with a provider of old",
        ),
        pytest.param(
            DEFAULT, "qwen2.5-coder-7b", "own/fast", "qwen2.5-coder-7b", id="by its maker's name"
        ),
        pytest.param(
            listing("own::1::fast"), "", "", "qwen2.5-coder-7b", id="a server of one's own"
        ),
        pytest.param(
            listing("x::1::new-coder"), "", "x/new-coder", "x/new-coder", id="a choice not listed"
        ),
        pytest.param(
            replace(OLDER, models=DEFAULT.models),
            "",
            BASE,
            BASE,
            id="the list before the older setting",
        ),
        pytest.param(OLDER, "", "", STAR, id="the older setting"),
        pytest.param(
            replace(OLDER, models=DEFAULT.models, client_config=NO_LIST),
            "",
            "",
            STAR,
            id="a list that is not for use",
        ),
        pytest.param(
            replace(OLDER, models=listing("").models),
            "",
            "",
            STAR,
            id="no choice in the list",
        ),
        pytest.param(OLDER, "x/any", "x/any", "x/any", id="chosen without a list to look at"),
        pytest.param(
            listing("fireworks::v1::autoedits-deepseek-lite-default"),
            "",
            STAR,
            STAR,
            id="one that rewrites makes way for one that fills in",
        ),
        pytest.param(
            replace(OLDER, models=listing("f::1::old", OLD).models),
            "",
            "",
            STAR,
            id="a deprecated one makes way",
        ),
        pytest.param(
            listing("f::1::old", OLD),
            "",
            "f/old",
            "f/old",
            id="a deprecated one is better than none",
        ),
        pytest.param(SITE, "", "", USUAL_MODEL, id="nothing known"),
        pytest.param(replace(SITE, models=Models()), "", "", USUAL_MODEL, id="an empty list"),
        pytest.param(
            replace(SITE, older_model=OlderModel(name="fireworks/autoedits")),
            "",
            "",
            USUAL_MODEL,
            id="an older setting that rewrites",
        ),
    ],
)
def test_completion_model(site: Site, chosen: str, asked: str, prompts_for: str) -> None:
    choice = completion_model(site, chosen)
    assert isinstance(choice, ModelChoice)
    assert (choice.model, choice.prompts_for) == (asked, prompts_for)
    assert choice.kind is Kind.FILLS_IN
    assert choice.notice is None


@pytest.mark.parametrize(
    ("site", "chosen", "asked", "words"),
    [
        pytest.param(
            DEFAULT,
            "openai/gpt-9",
            BASE,
            ("sg.example.com has no model", "openai/gpt-9", "deepseek-coder-v2-lite-base does"),
            id="unknown",
        ),
        pytest.param(
            DEFAULT,
            "autoedits-deepseek-lite-default",
            BASE,
            ("rewrites code", "autoedits-deepseek-lite-default"),
            id="one that rewrites",
        ),
        pytest.param(SITE, "x/autoedits", "", ("rewrites", "its own choice does"), id="no list"),
    ],
)
def test_a_model_that_cannot_be_asked_is_dropped_with_a_notice(
    site: Site, chosen: str, asked: str, words: tuple[str, ...]
) -> None:
    choice = completion_model(site, chosen)
    assert isinstance(choice, ModelChoice)
    assert choice.model == asked
    assert choice.notice is not None
    assert all(word in choice.notice for word in words)
    assert "`model`" in choice.notice


@pytest.mark.parametrize(
    ("site", "chosen"),
    [
        pytest.param(listing("anthropic::1::claude-3-haiku"), "", id="the administrator's"),
        pytest.param(DEFAULT, "claude-3-haiku", id="the user's"),
        pytest.param(
            replace(SITE, older_model=OlderModel(name="anthropic/claude-instant-1")),
            "",
            id="the older setting's",
        ),
    ],
)
def test_a_chat_model_is_chosen_as_such(site: Site, chosen: str) -> None:
    choice = completion_model(site, chosen)
    assert isinstance(choice, ModelChoice)
    assert choice.kind is Kind.CHATS


@pytest.mark.parametrize(
    ("site", "chosen", "words"),
    [
        pytest.param(listing("", HAIKU), "", "names no model that completes code", id="none"),
        pytest.param(
            listing("f::1::autoedits-x", HAIKU, AUTOEDITS), "", "names no model", id="it rewrites"
        ),
        pytest.param(listing("", HAIKU), "x/y", 'has no model "x/y"', id="nor the user's"),
    ],
)
def test_nobody_completes_code(site: Site, chosen: str, words: str) -> None:
    problem = completion_model(site, chosen)
    assert isinstance(problem, ConfigurationError)
    assert words in str(problem)
    assert "`model`" in str(problem)


@pytest.mark.parametrize(
    ("window", "limits"),
    [
        pytest.param(Window(), Limits(), id="unknown"),
        pytest.param(
            SMALL,
            Limits(
                prefix_chars=4300,
                suffix_chars=716,
                excerpt_chars=1254,
                own_chars=1254,
                instruction_chars=716,
            ),
            id="the usual one",
        ),
        pytest.param(
            Window(input_tokens=1024, output_tokens=64),
            Limits(
                prefix_chars=2150,
                suffix_chars=358,
                excerpt_chars=627,
                own_chars=627,
                instruction_chars=358,
                max_tokens=64,
            ),
            id="a smaller one",
        ),
        pytest.param(
            Window(input_tokens=175_000, output_tokens=8000),
            Limits(excerpt_chars=5000),
            id="more for excerpts alone, within reason",
        ),
        pytest.param(
            Window(input_tokens=9000, chars=1000),
            Limits(
                prefix_chars=600,
                suffix_chars=100,
                excerpt_chars=175,
                own_chars=175,
                instruction_chars=100,
            ),
            id="as the administrator tuned it",
        ),
        pytest.param(
            Window(chars=1),
            Limits(
                prefix_chars=1, suffix_chars=0, excerpt_chars=0, own_chars=0, instruction_chars=0
            ),
            id="hardly any",
        ),
    ],
)
def test_limits(window: Window, limits: Limits) -> None:
    assert window.limits == limits


# ---- the rules


@pytest.mark.parametrize(
    ("config", "word"),
    [
        pytest.param(None, None, id="not known"),
        pytest.param(ClientConfig(), None, id="not said"),
        pytest.param(ClientConfig(cody_enabled=True, completes=True), None, id="on"),
        pytest.param(ClientConfig(cody_enabled=True, completes=False), "switched", id="off"),
        pytest.param(ClientConfig(cody_enabled=False, completes=True), "Cody is off", id="all off"),
    ],
)
def test_switched_off(config: ClientConfig | None, word: str | None) -> None:
    sentence = switched_off(replace(SITE, client_config=config))
    assert (sentence is None) is (word is None)
    if sentence is not None and word is not None:
        assert word in sentence
        assert "sg.example.com" in sentence


@pytest.mark.parametrize(
    ("config", "enforced"),
    [
        pytest.param(None, False, id="not known"),
        pytest.param(ClientConfig(attribution=Attribution.PERMISSIVE), False, id="permissive"),
        pytest.param(ClientConfig(attribution=Attribution.ENFORCED), True, id="enforced"),
    ],
)
def test_attribution(config: ClientConfig | None, enforced: bool) -> None:
    assert enforces_attribution(replace(SITE, client_config=config)) is enforced


# ---- the instance, asked as it wants to be


def fitted_to(site: Site, instance: Sourcegraph = INSTANCE) -> Sourcegraph:
    choice = completion_model(site, instance.model)
    assert isinstance(choice, ModelChoice)
    return fitted(instance, site, choice)


def test_fitted_to_what_it_says() -> None:
    window = Window(input_tokens=1024)
    site = replace(OLDER, version="6.0.0", older_model=OlderModel(name="starcoder", window=window))
    provider = fitted_to(site)
    assert (provider.model, provider.prompts_for, provider.api_version) == ("", "starcoder", 2)
    assert provider.limits.prefix_chars == 2150
    assert fitted_to(DEFAULT).prompts_for == BASE


def test_the_model_s_maker_names_the_form_of_prompts() -> None:
    provider = fitted_to(DEFAULT, replace(INSTANCE, model="own/fast"))
    assert (provider.model, provider.prompts_for) == ("own/fast", "qwen2.5-coder-7b")
    # Refused, it makes way for the instance's own in every respect.
    refused = Reply(status=400, headers={}, body='model "own/fast" is not supported')
    other = provider.instead(refused)
    assert other is not None
    assert (other.model, other.prompts_for) == ("", BASE)


@pytest.mark.parametrize(
    ("chosen", "chats"),
    [
        pytest.param("", False, id="the administrator's"),
        pytest.param("anthropic/claude-3-haiku", True, id="one that chats"),
        pytest.param("own/deepseek-r1", True, id="one with the name of another family"),
    ],
)
def test_whether_it_wants_to_be_told_in_words(chosen: str, chats: bool) -> None:
    site = listing(BASE, *LIST, model("own", "deepseek-r1", "autocomplete", "chat"))
    assert fitted_to(site, replace(INSTANCE, model=chosen)).chats is chats


def test_nothing_is_shown_early_where_its_origin_is_looked_up() -> None:
    enforced = ClientConfig(attribution=Attribution.ENFORCED)
    assert not fitted_to(replace(SITE, client_config=enforced)).shows_early
    assert fitted_to(SITE).shows_early


def test_fitted_to_nothing_known() -> None:
    provider = fitted_to(SITE)
    assert (provider.model, provider.prompts_for, provider.api_version) == ("", USUAL_MODEL, 1)
    assert provider.limits == INSTANCE.limits


def test_a_version_that_was_chosen_stays() -> None:
    assert fitted_to(SITE, replace(INSTANCE, api_version=5)).api_version == 5
