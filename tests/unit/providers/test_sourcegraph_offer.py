from dataclasses import replace

import pytest

from lsp_completions.providers.sourcegraph import USUAL_MODEL
from lsp_completions.providers.sourcegraph_offer import Offer, offered
from lsp_completions.providers.sourcegraph_site import (
    ClientConfig,
    Kind,
    Model,
    Models,
    OlderModel,
    Site,
)

SITE = Site(host="sg.example.com")


def model(name: str, *capabilities: str, status: str = "stable") -> Model:
    said = frozenset(capabilities or ("autocomplete",))
    return Model(provider="f", id=name, title=name.title(), capabilities=said, status=status)


STARCODER, QWEN = model("starcoder"), model("qwen2.5-coder")
HAIKU = model("claude-3-haiku", "autocomplete", "chat")
OPUS = model("claude-3-opus", "chat")
EDITS = model("autoedits-deepseek")
OLD, NEW = model("starcoder-1", status="deprecated"), model("codegemma", status="waitlist")
LIST = Models(listed=(HAIKU, STARCODER, QWEN, OPUS, EDITS, OLD, NEW), completing="f::v1::starcoder")
LISTED = replace(SITE, models=LIST)


@pytest.mark.parametrize(
    ("site", "chosen", "used"),
    [
        pytest.param(LISTED, "", "f/starcoder", id="the administrator's"),
        pytest.param(LISTED, "qwen2.5-coder", "f/qwen2.5-coder", id="the user's"),
        pytest.param(LISTED, "f/none", "f/starcoder", id="one that is not there"),
        pytest.param(LISTED, "f/autoedits-deepseek", "f/starcoder", id="one that cannot"),
        pytest.param(SITE, "", USUAL_MODEL, id="nothing known"),
        pytest.param(SITE, "a/b", "a/b", id="the user's, with nothing known"),
        pytest.param(
            replace(SITE, older_model=OlderModel(name="f/starcoder")), "", "f/starcoder", id="older"
        ),
        pytest.param(
            replace(LISTED, models=replace(LIST, completing="f::v1::elsewhere-coder")),
            "",
            "f/elsewhere-coder",
            id="not in the list",
        ),
        pytest.param(
            replace(
                SITE,
                models=Models(listed=(replace(QWEN, openai_compatible=True),), completing="f/x"),
            ),
            "",
            "f/x",
            id="not in a list of others",
        ),
        pytest.param(
            replace(
                SITE,
                models=Models(
                    listed=(replace(QWEN, openai_compatible=True),),
                    completing="f::v1::qwen2.5-coder",
                ),
            ),
            "",
            "f/qwen2.5-coder",
            id="on a server of one's own, which is asked for without its name",
        ),
    ],
)
def test_the_one_in_use_comes_first(site: Site, chosen: str, used: str) -> None:
    first, *others = offered(site, chosen)
    assert (first.name, first.in_use) == (used, True)
    assert not any(each.in_use for each in others)
    names = [each.name for each in others]
    listed = site.models.listed if site.models is not None else ()
    assert names == [each.name for each in listed if each.name != used]


def test_what_speaks_against_them() -> None:
    offers = {each.name: each for each in offered(LISTED)}
    assert offers["f/qwen2.5-coder"] == Offer(
        name="f/qwen2.5-coder", title="Qwen2.5-Coder", kind=Kind.FILLS_IN, in_use=False
    )
    assert (offers["f/claude-3-haiku"].kind, offers["f/claude-3-haiku"].why_not) == (Kind.CHATS, "")
    for name, word in {
        "f/claude-3-opus": "chats",
        "f/autoedits-deepseek": "rewrites",
        "f/starcoder-1": "taken away",
        "f/codegemma": "yet",
    }.items():
        assert word in offers[name].why_not


def test_where_nobody_completes_code_none_is_in_use() -> None:
    site = replace(SITE, models=Models(listed=(OPUS,), completing="f::v1::autoedits"))
    assert [each.in_use for each in offered(site)] == [False]


def test_a_list_that_is_not_meant_for_use_is_not_shown() -> None:
    site = replace(LISTED, client_config=ClientConfig(lists_models=False))
    assert [each.name for each in offered(site)] == [USUAL_MODEL]
