"""What is told of what was found."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lsp_completions.configuration.in_force import Told
from lsp_completions.diagnosis.of_a_completion import completion_step
from lsp_completions.diagnosis.of_an_instance import (
    api_version_step,
    attribution_step,
    filters_step,
    switch_step,
)
from lsp_completions.diagnosis.on_the_way import (
    Certificate,
    certificate_step,
    connection_step,
    is_of_certificate,
    proxy_step,
)
from lsp_completions.diagnosis.on_this_machine import provider_step, settings_step, sharing_step
from lsp_completions.errors import ConfigurationError, ProviderError, RateLimited, Unreachable
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.outcome import Skipped, SkipReason, Suggested
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.providers.sourcegraph_filters import UnreadableFilters
from lsp_completions.providers.sourcegraph_site import Attribution, ClientConfig, Site
from lsp_completions.proxy_address import read_proxy_address
from lsp_completions.settings import Api, Problem, Settings, resolve
from lsp_completions.sharing.gate import AboutSharing
from lsp_completions.transport.proxies import Proxy

NOW = datetime(2026, 5, 1, tzinfo=UTC)
SITE = Site(host="sg.example.com")
ASKED = Sourcegraph(endpoint="https://sg.example.com", api_version=2, model="f/starcoder")


# ---- on this machine


def told(key: str, value: str, source: str | None, locked_by: str | None = None) -> Told:
    return Told(key=key, value=value, source=source, locked_by=locked_by)


def test_settings_stand_below_their_places() -> None:
    step = settings_step(
        [
            told("endpoint", '"https://a"', "/etc/x.toml", "/etc/x.toml"),
            told("accessToken", '"***"', "SRC_ACCESS_TOKEN"),
            told("provider", "null", None, "/etc/x.toml"),
            told("maxTokens", "7", "/etc/x.toml"),
            told("exclude", '["' + "x" * 99 + '"]', "SRC_ACCESS_TOKEN"),
        ],
        [],
        ["/etc/x.toml", "SRC_ACCESS_TOKEN", "/etc/x.toml"],
        "own.toml",
    )
    assert step.lines == (
        "/etc/x.toml:",
        '  endpoint = "https://a" (locked by /etc/x.toml)',
        "  maxTokens = 7",
        "SRC_ACCESS_TOKEN:",
        "  accessToken = ***",
        '  exclude = ["' + "x" * 58 + "…",
        "set nowhere:",
        "  provider (locked by /etc/x.toml)",
    )
    assert step.sentence == "4 are not the default:"
    assert step.details["sources"] == ["/etc/x.toml", "SRC_ACCESS_TOKEN"]


def test_where_they_belong_is_said_where_there_are_none() -> None:
    step = settings_step([], [], [], "own.toml")
    assert (step.ok, step.sentence) == (
        True,
        "Nothing is set; your own settings belong in own.toml.",
    )


def test_what_is_wrong_with_them_comes_first() -> None:
    one = Problem(path="$.a", message="A is wrong.", source="x.toml")
    two = Problem(path="$.b", message="B is wrong.", source="y.toml")
    step = settings_step([], [one], [], "own.toml")
    assert (step.ok, step.sentence) == (False, "A is wrong.")
    assert step.remedy == "Mend or remove it in x.toml."
    step = settings_step([], [one, two], [], "own.toml")
    assert step.sentence == "2 things do not count:"
    assert step.lines == ("A is wrong. ($.a in x.toml)", "B is wrong. ($.b in y.toml)")


@pytest.mark.parametrize(
    ("said", "name", "half", "ok", "sentence"),
    [
        pytest.param(
            {"provider": "ollama"},
            Api.OLLAMA,
            None,
            True,
            "ollama, as `provider` says (from here).",
        ),
        pytest.param(
            {}, Api.LOCAL, None, True, "local, since nothing else is set and its model is here."
        ),
        pytest.param(
            {"url": "http://a"},
            Api.LOCAL,
            ConfigurationError("`url` is for a server."),
            False,
            "local, since nothing says who is asked at `url`.",
        ),
    ],
)
def test_who_answers(
    said: dict[str, Any], name: str, half: ConfigurationError | None, ok: bool, sentence: str
) -> None:
    step = provider_step(resolve([("here", said)])[0], name, half)
    assert (step.ok, step.sentence) == (ok, sentence)
    assert bool(step.remedy) is not ok


@pytest.mark.parametrize("reason", list(SkipReason))
def test_whatever_keeps_something_back_there_is_a_remedy(reason: SkipReason) -> None:
    for file in ("a.py", None):
        step = sharing_step(reason, Settings(), file=file)
        assert step.ok is False
        assert step.sentence
        assert step.remedy


# ---- on the way


def shown(days: float | None, **more: Any) -> Certificate:
    expires = None if days is None else NOW + timedelta(days=days)
    return Certificate(subject="sg.example.com", issuer="The company", expires=expires, **more)


@pytest.mark.parametrize(
    ("certificate", "sentence"),
    [
        pytest.param(
            shown(99), "For sg.example.com, made by The company, valid until 8 August 2026.", id="a"
        ),
        pytest.param(shown(None), "For sg.example.com, made by The company.", id="no date"),
        pytest.param(
            shown(1.5),
            "For sg.example.com, made by The company, valid until 2 May 2026. That is in 1 day.",
            id="soon",
        ),
        pytest.param(
            Certificate(subject="", issuer="", expires=None), "It is trusted.", id="nothing read"
        ),
    ],
)
def test_a_certificate(certificate: Certificate, sentence: str) -> None:
    step = certificate_step(certificate, "sg.example.com", ["the system's store"], [], NOW)
    assert (step.ok, step.sentence) == (True, sentence)


def test_each_place_of_authorities_is_named_once() -> None:
    places = ["/etc/ssl", "/a (SSL_CERT_FILE)", "/b (x) (caFile)", "/a (CURL_CA_BUNDLE)"]
    step = certificate_step(shown(99), "h", places, [], NOW)
    assert step.lines == (
        "Authorities are read from /etc/ssl, /a (SSL_CERT_FILE, CURL_CA_BUNDLE), /b (x) (caFile).",
    )
    assert step.details["authorities"] == places


@pytest.mark.parametrize(
    ("sentence", "of_certificate"),
    [
        ("No connection to sg: its certificate has expired; the server needs a new one.", True),
        ("No connection to sg: connection refused.", False),
        ("The proxy p cannot be used: its certificate has expired.", False),
    ],
)
def test_whether_it_is_the_certificate(sentence: str, of_certificate: bool) -> None:
    assert is_of_certificate(Unreachable(sentence)) is of_certificate


def test_what_is_not_encrypted_is_told() -> None:
    step = connection_step("sg", None, 0.0123, encrypted=False, loopback=False)
    assert step.ok
    assert "others on the way can read token and code" in step.sentence
    assert step.remedy
    step = connection_step("127.0.0.1", None, 0.0123, encrypted=False, loopback=True)
    assert (step.sentence, step.remedy) == ("127.0.0.1 is there, after 12 ms.", "")


def test_a_proxy_is_named_without_its_password() -> None:
    address = read_proxy_address("http://me:sesame@proxy.test:3128")
    step = proxy_step(Proxy(address=address, source="proxy"), "sg", [], "own.toml")
    assert step.sentence == (
        "http://proxy.test:3128, from `proxy` in own.toml, with a user name and password."
    )
    assert "sesame" not in repr(step)
    step = proxy_step(None, "sg", ["A is wrong.", "B is wrong."], None)
    assert (step.ok, step.sentence) == (False, "2 things cannot be used:")
    assert step.lines == ("A is wrong.", "B is wrong.", "None; the way leads straight to sg.")


# ---- at an instance


@pytest.mark.parametrize(
    ("site", "said", "sentence"),
    [
        pytest.param(SITE, {}, "2, which every instance speaks.", id="nothing known"),
        pytest.param(
            Site(host="h", version="6.3.0"), {}, "2; the instance speaks up to 8.", id="known"
        ),
        pytest.param(
            Site(host="h", version="5.3.0"),
            {"apiVersion": 2},
            "2, as `apiVersion` says (from here); the instance speaks up to 1.",
            id="set",
        ),
    ],
)
def test_the_version_spoken(site: Site, said: dict[str, Any], sentence: str) -> None:
    settings = resolve([("here", said)])[0]
    assert api_version_step(ASKED, site, settings).sentence == sentence


@pytest.mark.parametrize(
    ("config", "allowed", "mode"),
    [
        (None, None, None),
        (ClientConfig(), True, "none"),
        (ClientConfig(cody_enabled=False), False, "none"),
        (ClientConfig(completes=False, attribution=Attribution.PERMISSIVE), False, "permissive"),
        (ClientConfig(attribution=Attribution.ENFORCED), True, "enforced"),
    ],
)
def test_what_the_administrator_says(
    config: ClientConfig | None, allowed: bool | None, mode: str | None
) -> None:
    site = Site(host="h", client_config=config)
    switch, attribution = switch_step(site), attribution_step(site)
    assert switch.ok is allowed
    assert bool(switch.remedy) is (allowed is False)
    assert attribution.details["mode"] == mode


def about(
    reason: SkipReason | None, *names: str, filters: tuple[str, ...] | None = ()
) -> AboutSharing:
    return AboutSharing(reason=reason, repositories=names, filters=filters)


@pytest.mark.parametrize(
    ("found", "trouble", "ok", "sentence"),
    [
        pytest.param(
            about(None), None, True, "The instance has no rules about repositories.", id="no rules"
        ),
        pytest.param(
            about(None, "a", "b", filters=("x",)),
            None,
            True,
            "The instance's rules let a and b be sent.",
            id="let through",
        ),
        pytest.param(
            about(SkipReason.CONTEXT_FILTERS, "a", filters=("not a",)),
            None,
            False,
            "The instance's rules keep a from being sent.",
            id="kept back",
        ),
        pytest.param(
            about(SkipReason.IN_NO_REPOSITORY, filters=("x",)),
            None,
            False,
            "The instance's rules go by repositories, and this is in none with a remote.",
            id="no repository",
        ),
        pytest.param(
            about(SkipReason.CONTEXT_FILTERS_UNKNOWN, filters=None),
            UnreadableFilters("A pattern is wrong. Its administrator can mend it."),
            False,
            "A pattern is wrong.",
            id="rules that cannot be read",
        ),
        pytest.param(
            about(SkipReason.CONTEXT_FILTERS_UNKNOWN, filters=None),
            ProviderError("It failed."),
            False,
            "The instance did not say what may be sent to it, so nothing is.",
            id="rules that cannot be had",
        ),
        pytest.param(
            about(SkipReason.UNDECIDED, filters=None),
            None,
            False,
            "What the instance lets be sent was not known in time, so nothing is.",
            id="too late",
        ),
        pytest.param(
            about(SkipReason.SECRET_FILE, filters=("x",)),
            None,
            None,
            "Not needed, since what is here is kept back anyway.",
            id="kept back anyway",
        ),
    ],
)
def test_the_rules_of_an_instance(
    found: AboutSharing, trouble: ProviderError | None, ok: bool | None, sentence: str
) -> None:
    step = filters_step(found, "sg", trouble)
    assert (step.ok, step.sentence) == (ok, sentence)
    assert bool(step.remedy) is (ok is False)
    if found.filters and ok is not None:
        assert step.lines == (f"They are: {', '.join(found.filters)}.",)


# ---- a completion


DOCUMENT = Document.open("file:///a.py", "python", 1, "x = \n")
SUGGESTED = Suggested(document=DOCUMENT, edits=(Edit(start=4, end=4, new_text="1"),))


@pytest.mark.parametrize(
    ("outcome", "first", "ok", "sentence"),
    [
        pytest.param(
            SUGGESTED, 0.1, True, "First text after 100 ms, all of it after 200 ms.", id="a text"
        ),
        pytest.param(SUGGESTED, None, True, "All of it after 200 ms.", id="in one piece"),
        pytest.param(
            Skipped(reason=SkipReason.EMPTY),
            None,
            True,
            "sg.example.com answered after 200 ms, with nothing new.",
            id="nothing to add",
        ),
        pytest.param(
            Skipped(reason=SkipReason.NOT_ATTRIBUTED),
            None,
            False,
            SkipReason.NOT_ATTRIBUTED.value,
            id="not attributed",
        ),
        pytest.param(RateLimited("No more. Wait."), None, False, "No more.", id="an error"),
    ],
)
def test_a_completion(outcome: Any, first: float | None, ok: bool, sentence: str) -> None:
    step = completion_step(outcome, first_text=first, total=0.2, asked=ASKED, answered=ASKED)
    assert (step.ok, step.sentence) == (ok, sentence)
    assert bool(step.remedy) is not ok
    assert step.details["totalMs"] == 200


@pytest.mark.parametrize(
    ("answered", "line"),
    [
        (Sourcegraph(endpoint="https://h", api_version=1, model="f/starcoder"), "version 2 of"),
        (Sourcegraph(endpoint="https://h", api_version=2), "the model f/starcoder, so its own"),
    ],
)
def test_what_was_refused_on_the_way_is_told(answered: Sourcegraph, line: str) -> None:
    step = completion_step(SUGGESTED, first_text=None, total=0, asked=ASKED, answered=answered)
    assert line in step.lines[0]
