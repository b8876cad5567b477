"""The machine's proxies, and who is reached without them."""

import re

import pytest

from lsp_completions.transport.proxies import Proxy, find_proxies


@pytest.mark.parametrize(
    ("no_proxy", "host", "direct"),
    [
        pytest.param("", "model.example", False, id="no exceptions"),
        pytest.param("*", "model.example", True, id="everything"),
        pytest.param("model.example", "model.example", True, id="the name"),
        pytest.param("MODEL.example", "Model.Example.", True, id="the name in other letters"),
        pytest.param("example", "model.example", True, id="the domain"),
        pytest.param(".example", "model.example", True, id="the domain with a dot"),
        pytest.param("*.example", "model.example", True, id="the domain with a star"),
        pytest.param("ample", "model.example", False, id="the end of a word"),
        pytest.param("model.example.org", "model.example", False, id="another name"),
        pytest.param(" a , model.example ,b", "model.example", True, id="blanks in the list"),
        pytest.param("a model.example", "model.example", True, id="blanks for commas"),
        pytest.param("http://model.example", "model.example", True, id="written as a URL"),
        pytest.param("model.example:8080", "model.example:8080", True, id="with its port"),
        pytest.param("model.example:8080", "model.example", False, id="with another port"),
        pytest.param("model.example:443", "model.example", True, id="with the usual port"),
        pytest.param("a;model.example", "model.example", True, id="semicolons for commas"),
        pytest.param("10.0.0.0/8", "10.1.2.3", True, id="a network"),
        pytest.param("10.0.0.1/8", "10.1.2.3", True, id="a network by one of its addresses"),
        pytest.param("10.0.0.0/8", "11.1.2.3", False, id="another network"),
        pytest.param("10.0.0.0/8", "model.example", False, id="a network and a name"),
        pytest.param("10.1.2.3", "10.1.2.3", True, id="an address"),
        pytest.param("10.1.2.3:8080", "10.1.2.3:8080", True, id="an address with its port"),
        pytest.param("10.1.2.3:8080", "10.1.2.3", False, id="an address with another port"),
        pytest.param("fd00::/8", "fd00::1", True, id="an IPv6 network"),
        pytest.param("[fd00::1]", "[fd00::1]", True, id="an IPv6 address in brackets"),
        pytest.param("[fd00::1]:443", "fd00::1", True, id="an IPv6 address with its port"),
        pytest.param("[fd00::1]:80", "fd00::1", False, id="an IPv6 address with another port"),
        pytest.param("[fd00::]/8", "fd00::1", True, id="an IPv6 network in brackets"),
        pytest.param("example.", "model.example", True, id="a domain that ends with a dot"),
        pytest.param("..", "model.example", False, id="dots only"),
        pytest.param("::1", "fd00::1", False, id="another IPv6 address"),
        pytest.param("", "localhost", True, id="this machine"),
        pytest.param("", "model.localhost", True, id="this machine by another name"),
        pytest.param("", "127.8.8.8", True, id="this machine's address"),
        pytest.param("", "[::1]", True, id="this machine's IPv6 address"),
        pytest.param("", "::ffff:127.0.0.1", True, id="this machine's IPv4 address as IPv6"),
        pytest.param("", "localhost.example", False, id="another machine"),
    ],
)
def test_exceptions(
    no_proxy: str, host: str, direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = None
    if found := re.fullmatch(r"([^:]*):(\d+)", host):
        host, port = found[1], int(found[2])
    monkeypatch.setenv("NO_PROXY", no_proxy)
    monkeypatch.setenv("ALL_PROXY", "http://proxy.example:3128")
    problems: list[str] = []
    proxy = find_proxies(problems.append).proxy_for("https", host, port)
    assert shown(proxy) == (None if direct else "http://proxy.example:3128")
    assert problems == []


@pytest.mark.parametrize(
    ("variables", "plain", "secure"),
    [
        ({}, None, None),
        ({"HTTP_PROXY": "http://a:1"}, "http://a:1", None),
        ({"https_proxy": "http://a:1"}, None, "http://a:1"),
        ({"ALL_PROXY": "http://a:1", "HTTPS_PROXY": "http://b:1"}, "http://a:1", "http://b:1"),
        ({"ALL_PROXY": "a:1"}, "http://a:1", "http://a:1"),
        ({"all_proxy": "socks://a"}, "socks5://a:1080", "socks5://a:1080"),
        ({"HTTPS_PROXY": "http://me:pw@a"}, None, "http://a:80"),
        ({"HTTPS_PROXY": "https://[fd00::1]/"}, None, "https://[fd00::1]:443"),
        ({"ALL_PROXY": " "}, None, None),
    ],
)
def test_proxies(
    variables: dict[str, str],
    plain: str | None,
    secure: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    proxies = find_proxies(print)
    assert shown(proxies.proxy_for("http", "model.example")) == plain
    assert shown(proxies.proxy_for("https", "model.example")) == secure


@pytest.mark.parametrize("entry", ["ht!tp", "10.0.0.0/99", "[::1", "a/b", "*x*"])
def test_exception_that_cannot_be_read(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", f"{entry},example")
    monkeypatch.setenv("ALL_PROXY", "http://proxy.example")
    problems: list[str] = []
    proxies = find_proxies(problems.append)
    assert proxies.proxy_for("https", "model.example") is None
    assert len(problems) == 1


def shown(proxy: Proxy | None) -> str | None:
    return None if proxy is None else str(proxy.address)


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
