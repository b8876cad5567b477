import dataclasses
import json
from dataclasses import fields
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_completions.proxy_address import NO_PROXY, ProxyAddress
from lsp_completions.secret import Secret
from lsp_completions.settings import (
    Api,
    LogLevel,
    Menu,
    Multiline,
    Problem,
    Settings,
    keys,
    resolve,
)


def resolved(raw: object) -> tuple[Settings, list[str]]:
    settings, problems = resolve([("here", raw)])
    return settings, [f"{problem.path}: {problem.message}" for problem in problems]


@pytest.mark.parametrize(
    ("raw", "field", "expected"),
    [
        pytest.param({"provider": "sourcegraph"}, "provider", Api.SOURCEGRAPH, id="provider"),
        pytest.param({"menu": "on"}, "menu", Menu.ON, id="a choice"),
        pytest.param({"menu": " Off "}, "menu", Menu.OFF, id="a choice in another case"),
        pytest.param({"multiline": "never"}, "multiline", Multiline.NEVER, id="one line only"),
        pytest.param({"logLevel": "debug"}, "log_level", LogLevel.DEBUG, id="log level"),
        pytest.param({"stream": False}, "stream", False, id="a flag"),
        pytest.param({"maxTokens": 64}, "max_tokens", 64, id="a whole number"),
        pytest.param({"maxTokens": 64.0}, "max_tokens", 64, id="a whole number written as 64.0"),
        pytest.param({"temperature": 1}, "temperature", 1.0, id="a number written without a point"),
        pytest.param({"topK": 0}, "top_k", 0, id="zero is a value"),
        pytest.param({"logprobs": 5}, "logprobs", 5, id="the largest there is"),
        pytest.param({"totalTimeout": None}, "total_timeout", 7.0, id="null is not set"),
        pytest.param({"provider": "llama.cpp"}, "provider", Api.LLAMA_CPP, id="another provider"),
        pytest.param({"keepAlive": "1h30m"}, "keep_alive", "1h30m", id="a length of time"),
        pytest.param({"keepAlive": -1}, "keep_alive", "-1s", id="for ever"),
        pytest.param({"keepAlive": 1_000_000}, "keep_alive", "1000000s", id="many seconds"),
        pytest.param({"keepAlive": 0}, "keep_alive", "0s", id="no time at all"),
        pytest.param({"keepAlive": "1.5"}, "keep_alive", "1.5s", id="seconds as text"),
        pytest.param({"keepAlive": ""}, "keep_alive", None, id="no length of time"),
        pytest.param({"url": "localhost:1234/v1"}, "url", "http://localhost:1234/v1", id="a URL"),
        pytest.param({"apiKey": "sk-1\n"}, "api_key", Secret("sk-1"), id="a key"),
        pytest.param({"contextTokens": 4096}, "context_tokens", 4096, id="room for a prompt"),
        pytest.param({"model": "  "}, "model", "", id="a blank text is not set"),
        pytest.param({"model": " a/b\n"}, "model", "a/b", id="blanks around a text"),
        pytest.param({"repository": ""}, "repository", None, id="no repository"),
        pytest.param(
            {"stopSequences": ["\n\n", " "]}, "stop_sequences", ("\n\n", " "), id="white space kept"
        ),
        pytest.param({"stopSequences": []}, "stop_sequences", (), id="no stops at all"),
        pytest.param({"stopSequences": {}}, "stop_sequences", (), id="Lua's empty list as a map"),
        pytest.param({"headers": []}, "headers", (), id="Lua's empty map as a list"),
        pytest.param(
            {"headers": {"X-Key": " a b "}}, "headers", (("X-Key", Secret("a b")),), id="a header"
        ),
        pytest.param({"commandSuffix": "-2"}, "command_suffix", "-2", id="command suffix"),
        pytest.param(
            {"proxy": " proxy.corp:3128\n"},
            "proxy",
            ProxyAddress(scheme="http", host="proxy.corp", port=3128),
            id="a proxy without its scheme",
        ),
        pytest.param(
            {"proxy": r"HTTPS://CORP\me:a%40b@[FD00::1]/"},
            "proxy",
            ProxyAddress(
                scheme="https", host="fd00::1", port=443, username=r"CORP\me", password="a@b"
            ),
            id="a proxy with a login",
        ),
        pytest.param(
            {"proxy": "socks5h://me@p"},
            "proxy",
            ProxyAddress(scheme="socks5", host="p", port=1080, username="me"),
            id="a SOCKS proxy",
        ),
        pytest.param(
            {"proxy": "socks5://me:a@b@p:1"},
            "proxy",
            ProxyAddress(scheme="socks5", host="p", port=1, username="me", password="a@b"),
            id="an @ in a password",
        ),
        pytest.param({"proxy": "NONE"}, "proxy", NO_PROXY, id="no proxy at all"),
        pytest.param(
            {"proxy": "unix:///run/a proxy"},
            "proxy",
            ProxyAddress(scheme="unix", path="/run/a proxy"),
            id="a unix socket as a URL",
        ),
        pytest.param(
            {"proxy": "/run/proxy"},
            "proxy",
            ProxyAddress(scheme="unix", path="/run/proxy"),
            id="a unix socket as a path",
        ),
        pytest.param({"proxy": ""}, "proxy", None, id="a blank proxy is not set"),
        pytest.param({"caFile": " ~/company.pem\n"}, "ca_file", "~/company.pem", id="a file"),
        pytest.param(
            {"caFile": "-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n"},
            "ca_file",
            "-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----",
            id="certificates as text",
        ),
        pytest.param([], "stream", True, id="Lua's empty map as all settings"),
        pytest.param(None, "stream", True, id="no settings"),
    ],
)
def test_values_that_are_taken(raw: object, field: str, expected: object) -> None:
    settings, problems = resolved(raw)
    assert problems == []
    value = getattr(settings, field)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        pytest.param(
            {"maxTokens": "64"},
            "$.maxTokens: maxTokens must be a whole number from 1 up, not a text.",
            id="a number as text",
        ),
        pytest.param(
            {"maxTokens": True},
            "$.maxTokens: maxTokens must be a whole number from 1 up, not true.",
            id="true is no number",
        ),
        pytest.param(
            {"maxTokens": 0},
            "$.maxTokens: maxTokens must be a whole number from 1 up.",
            id="too small",
        ),
        pytest.param(
            {"maxTokens": 1.5},
            "$.maxTokens: maxTokens must be a whole number from 1 up.",
            id="not whole",
        ),
        pytest.param(
            {"prefixChars": 10**400},
            "$.prefixChars: prefixChars must be a whole number from 1 up.",
            id="too large for anything",
        ),
        pytest.param(
            {"keepAlive": "soon"},
            '$.keepAlive: keepAlive must be a text such as "10m" or a number of seconds.',
            id="no length of time",
        ),
        pytest.param(
            {"url": "my server"},
            "$.url: url must be an address such as http://localhost:8080.",
            id="no address of a server",
        ),
        pytest.param(
            {"apiKey": "a b"},
            "$.apiKey: apiKey must be the key alone, without spaces or line breaks in it.",
            id="more than a key",
        ),
        pytest.param(
            {"logprobs": 6},
            "$.logprobs: logprobs must be a whole number from 0 to 5.",
            id="too large",
        ),
        pytest.param(
            {"temperature": float("nan")},
            "$.temperature: temperature must be a number from 0 to 1.",
            id="not a number",
        ),
        pytest.param(
            {"totalTimeout": float("inf")},
            "$.totalTimeout: totalTimeout must be a number above 0 and up to 600.",
            id="for ever",
        ),
        pytest.param(
            {"totalTimeout": 0},
            "$.totalTimeout: totalTimeout must be a number above 0 and up to 600.",
            id="no time at all",
        ),
        pytest.param(
            {"stream": "yes"},
            "$.stream: stream must be true or false, not a text.",
            id="a flag as text",
        ),
        pytest.param(
            {"stream": 1},
            "$.stream: stream must be true or false, not a number.",
            id="1 is no flag",
        ),
        pytest.param(
            {"menu": "onn"}, '$.menu: menu must be "auto", "on" or "off".', id="unknown choice"
        ),
        pytest.param(
            {"menu": True}, '$.menu: menu must be "auto", "on" or "off", not true.', id="YAML's on"
        ),
        pytest.param({"model": 3}, "$.model: model must be a text, not a number.", id="no text"),
        pytest.param(
            {"model": "a\nb"},
            "$.model: model must be one line without control characters.",
            id="two lines",
        ),
        pytest.param(
            {"commandSuffix": "a b"},
            "$.commandSuffix: commandSuffix must be a text of letters, digits, `.`, `_` and `-`.",
            id="no part of a command's name",
        ),
        pytest.param(
            {"stopSequences": "\n"},
            "$.stopSequences: stopSequences must be a list of texts, not a text.",
            id="a text as list",
        ),
        pytest.param(
            {"stopSequences": [""]},
            "$.stopSequences[0]: stopSequences[0] must be a text that is not empty.",
            id="a stop that would stop everything",
        ),
        pytest.param(
            {"headers": "X-Key: 1"},
            "$.headers: headers must be a map from name to text, not a text.",
            id="headers as text",
        ),
        pytest.param(
            {"headers": {"X Y": "1"}},
            '$.headers["X Y"]: headers["X Y"] must have the name of an HTTP header.',
            id="no header's name",
        ),
        pytest.param(
            {"headers": {"X-Key": "a\r\nHost: b"}},
            "$.headers.X-Key: headers.X-Key must be one line of plain ASCII.",
            id="a header in a header",
        ),
        pytest.param(
            {"headers": {"X-Key": 1}},
            "$.headers.X-Key: headers.X-Key must be a text, not a number.",
            id="a header's value is no text",
        ),
        pytest.param(
            {"max_tokens": 1},
            '$.max_tokens: There is no setting "max_tokens"; did you mean "maxTokens"?',
            id="words joined otherwise",
        ),
        pytest.param(
            {"token": ""},
            '$.token: There is no setting "token"; did you mean "accessToken"?',
            id="half of the name",
        ),
        pytest.param(
            {"endpiont": ""},
            '$.endpiont: There is no setting "endpiont"; did you mean "endpoint"?',
            id="a slip of the finger",
        ),
        pytest.param({"zzz": 1}, '$.zzz: There is no setting "zzz".', id="nothing like it"),
        pytest.param({"": 1}, '$[""]: There is no setting "".', id="no name"),
        pytest.param(
            {"x" * 99: 1},
            f'$["{"x" * 39}…"]: There is no setting "{"x" * 39}…".',
            id="a name without end",
        ),
        pytest.param(
            "maxTokens=3",
            "$: Settings must be a map from names to values, not a text.",
            id="no settings but a text",
        ),
    ],
)
def test_values_that_are_refused(raw: object, problem: str) -> None:
    settings, problems = resolved(raw)
    assert problems == [problem]
    assert settings == Settings()


@pytest.mark.parametrize(
    ("written", "endpoint"),
    [
        pytest.param("https://sg.example.com", "https://sg.example.com", id="as it should be"),
        pytest.param("https://sg.example.com/", "https://sg.example.com", id="slash"),
        pytest.param(" https://sg.example.com//\r\n", "https://sg.example.com", id="line break"),
        pytest.param("https://example.com/code/", "https://example.com/code", id="path"),
        pytest.param("https://example.com/Code", "https://example.com/Code", id="path in capitals"),
        pytest.param("HTTPS://SG.Example.com", "https://sg.example.com", id="host in capitals"),
        pytest.param("sg.example.com", "https://sg.example.com", id="no scheme"),
        pytest.param("sg.example.com:8443/x", "https://sg.example.com:8443/x", id="host and port"),
        pytest.param("localhost:3080", "http://localhost:3080", id="this machine"),
        pytest.param("sg.localhost", "http://sg.localhost", id="a name on this machine"),
        pytest.param("127.0.0.1:3080/", "http://127.0.0.1:3080", id="this machine by number"),
        pytest.param("[::1]:3080", "http://[::1]:3080", id="this machine by long number"),
        pytest.param("http://sg.corp", "http://sg.corp", id="http where the user says so"),
        pytest.param("https://me:pw@Sg.corp", "https://sg.corp", id="a password is left out"),
        pytest.param("localhost.example.com", "https://localhost.example.com", id="not local"),
        pytest.param("https://sg.bücher.example", "https://sg.bücher.example", id="any letter"),
        pytest.param("", None, id="empty is not set"),
    ],
)
def test_endpoint(written: str, endpoint: str | None) -> None:
    settings, problems = resolved({"endpoint": written})
    assert (settings.endpoint, problems) == (endpoint, [])


@pytest.mark.parametrize(
    ("written", "must"),
    [
        pytest.param("ftp://example.com", "must begin with https:// or http://", id="ftp"),
        pytest.param("file:///etc", "must be an address such as", id="a file"),
        pytest.param("https:/example.com", "must be an address such as", id="one slash"),
        pytest.param("https:example.com", "must be an address such as", id="no slash"),
        pytest.param("https://", "must be an address such as", id="no host"),
        pytest.param("/", "must be an address such as", id="a slash alone"),
        pytest.param("https://a:port", "must be an address such as", id="no number for a port"),
        pytest.param("https://[::1", "must be an address such as", id="half a bracket"),
        pytest.param("https://a b.com", "must be an address such as", id="a space inside"),
        pytest.param("https://a\x00", "must be an address such as", id="a control character"),
        pytest.param("https://a.com/\ud800", "must be an address such as", id="half a character"),
        pytest.param("https://\udcff.com", "must be an address such as", id="no text"),
        pytest.param("https://a\u202emoc", "must be an address such as", id="turned around"),
        pytest.param("https://a\n.com", "must be an address such as", id="a line break inside"),
        pytest.param('"https://a.com"', "must be an address such as", id="quotes kept"),
        pytest.param("C:\\sourcegraph", "must be an address such as", id="a path"),
        pytest.param("https://a.com/?x=1", "must end with its path", id="a query"),
        pytest.param("https://a.com/#x", "must end with its path", id="a fragment"),
        pytest.param(3080, "must be a text, not a number", id="a port alone"),
    ],
)
def test_endpoint_that_is_none(written: object, must: str) -> None:
    settings, problems = resolved({"endpoint": written})
    assert settings.endpoint is None
    assert [problem.startswith(f"$.endpoint: endpoint {must}") for problem in problems] == [True]
    assert "pw" not in problems[0]


@pytest.mark.parametrize(
    ("written", "token"),
    [
        pytest.param("sgp_abc", "sgp_abc", id="as it should be"),
        pytest.param(" sgp_abc\r\n", "sgp_abc", id="line break of a file"),
        pytest.param("\N{NO-BREAK SPACE}sgp_abc", "sgp_abc", id="space of a web page"),
        pytest.param("", None, id="empty is not set"),
        pytest.param("\n", None, id="blank is not set"),
    ],
)
def test_token(written: str, token: str | None) -> None:
    settings, problems = resolved({"accessToken": written})
    assert problems == []
    assert settings.access_token == (None if token is None else Secret(token))
    assert token is None or (settings.access_token or Secret("")).reveal() == token


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("sgp_hidden\N{ZERO WIDTH SPACE}", id="a letter nobody sees"),
        pytest.param("sgp_hidden…", id="cut off by a web page"),
        pytest.param("token sgp_hidden", id="with the scheme of the header"),
        pytest.param("sgp_\nhidden", id="broken over two lines"),
        pytest.param("sgp_hidden\0", id="a control character"),
        pytest.param({"sgp_hidden": 1}, id="a map"),
    ],
)
def test_token_that_is_none_is_not_shown(written: object) -> None:
    settings, problems = resolve([("here", {"accessToken": written})])
    assert settings.access_token is None
    assert [problem.path for problem in problems] == ["$.accessToken"]
    assert "hidden" not in repr(problems) + str(problems[0])


def test_secrets_stay_out_of_every_way_to_print_settings() -> None:
    settings, _ = resolved({"accessToken": "sgp_hidden", "headers": {"X-Key": "hidden"}})
    printed = [
        repr(settings),
        str(settings),
        f"{settings.access_token}",
        f"{settings.headers}",
        str(dataclasses.asdict(settings)),
        json.dumps(dataclasses.asdict(settings), default=str),
    ]
    assert not [text for text in printed if "hidden" in text]
    assert "***" in repr(settings)


_HOW = (
    "$.proxy: proxy must be an address such as http://proxy.example.com:3128; in its user name"
    " and password, write / as %2F, # as %23 and ? as %3F."
)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        pytest.param({"proxy": "http://me:pa/ss@p:1"}, _HOW, id="a slash in a password"),
        pytest.param({"proxy": "http://me:pa#ss@p:1"}, _HOW, id="a hash in a password"),
        pytest.param({"proxy": "http://me:pass@p:99999"}, _HOW, id="a port too high"),
        pytest.param({"proxy": "http://me:pass@"}, _HOW, id="no host"),
        pytest.param({"proxy": "http://"}, _HOW, id="no more than a scheme"),
        pytest.param({"proxy": "http://pass\nx@p"}, _HOW, id="a line break"),
        pytest.param(
            {"proxy": "socks4://me:pass@p"},
            "$.proxy: proxy must begin with http://, https://, socks5:// or unix:.",
            id="SOCKS 4",
        ),
        pytest.param(
            {"proxy": "unix:run/pass"},
            "$.proxy: proxy must name a unix socket by its whole path, such as unix:/run/proxy.",
            id="half a path",
        ),
        pytest.param({"proxy": 3128}, "$.proxy: proxy must be a text, not a number.", id="a port"),
        pytest.param(
            {"caFile": "a pass\nb"},
            "$.caFile: caFile must be a path, or the text of certificates from its -----BEGIN line"
            " on.",
            id="neither a path nor certificates",
        ),
        pytest.param(
            {"caFile": "-----BEGIN PRIVATE KEY-----\npass"},
            "$.caFile: caFile must not hold a private key; certificates are enough.",
            id="a key",
        ),
    ],
)
def test_ways_through_the_network_that_are_none(raw: dict[str, Any], problem: str) -> None:
    settings, problems = resolved(raw)
    assert problems == [problem]
    assert (settings.proxy, settings.ca_file) == (None, None)


def test_a_proxy_is_shown_without_its_login() -> None:
    settings, _ = resolved({"proxy": "https://jane:hunter2@p"})
    assert str(settings.proxy) == "https://p:443"
    assert "hunter2" not in repr(settings)
    assert "jane" not in repr(settings)


def test_a_wrong_value_leaves_the_one_below_in_force() -> None:
    settings, problems = resolve(
        [
            ("file", {"maxTokens": 64, "menu": "on", "endpoint": "a.example"}),
            ("editor", {"maxTokens": "many", "menu": "off", "endpoint": None}),
        ]
    )
    assert (settings.max_tokens, settings.menu) == (64, Menu.OFF)
    assert settings.endpoint == "https://a.example"
    assert [(problem.path, problem.source) for problem in problems] == [("$.maxTokens", "editor")]


def test_a_wrong_entry_leaves_the_others_in_force() -> None:
    settings, problems = resolved(
        {"stopSequences": ["a", 1, "b"], "headers": {"X-A": "1", "X-B": None}}
    )
    assert settings.stop_sequences == ("a", "b")
    assert settings.headers == (("X-A", Secret("1")),)
    assert [problem.split(":")[0] for problem in problems] == [
        "$.stopSequences[1]",
        "$.headers.X-B",
    ]


def test_each_value_knows_where_it_came_from() -> None:
    settings, _ = resolve(
        [
            ("file", {"maxTokens": 64, "model": "a", "topK": 1}),
            ("editor", {"maxTokens": 32, "model": 5, "topK": None}),
        ]
    )
    assert settings.sources == {"maxTokens": "editor", "model": "file", "topK": "file"}
    assert settings.source_of("stream") is None


def test_settings_are_equal_by_value_wherever_they_came_from() -> None:
    one, _ = resolve([("file", {"maxTokens": 64, "accessToken": "a"})])
    other, _ = resolve([("editor", {"maxTokens": 64, "accessToken": "a"})])
    assert one == other
    assert hash(one) == hash(other)


def test_a_problem_reads_as_a_sentence() -> None:
    problem = Problem(path="$.menu", message="menu must be on.", source="config.toml")
    assert str(problem) == "menu must be on. ($.menu in config.toml)"


def test_defaults_are_values_their_own_kind_takes() -> None:
    for key, setting in zip(keys(), fields(Settings), strict=False):
        default: Any = setting.default
        if default in (None, "", ()):
            continue
        raw = default.value if isinstance(default, Enum) else default
        settings, problems = resolved({key: raw})
        assert (getattr(settings, setting.name), problems) == (default, [])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(keys()) | st.text(max_size=9), json_values) | json_values)
def test_no_value_stops_the_server(raw: object) -> None:
    settings, problems = resolve([("here", raw)])
    assert all(problem.message.endswith((".", "?")) for problem in problems)
    assert isinstance(settings, Settings)
    hash(settings)


def test_switches_of_languages_add_up_and_the_later_word_counts() -> None:
    settings, problems = resolve(
        [
            ("the user", {"languages": {"python": False, "lua": False}}),
            ("a project", {"languages": {"lua": True, "*": False, "sql": 3}}),
        ]
    )
    assert dict(settings.languages) == {"python": False, "lua": True, "*": False}
    assert [problem.path for problem in problems] == ["$.languages.sql"]
