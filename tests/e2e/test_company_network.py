"""The real process behind a company's proxy, with a company's certificates."""

import ssl
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme

from tests.support.lsp_client import LspClient
from tests.support.proxies import Kind, ProxyServer, running_proxy
from tests.support.sourcegraph import TOKEN, Answer, StandIn, running_stand_in

INLINE = "textDocument/inlineCompletion"
SERVER = [sys.executable, "-m", "lsp_completions"]
NEOVIM = {"textDocument": {"inlineCompletion": {"dynamicRegistration": False}}}


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> str:
    authority.cert_pem.write_to_path(str(tmp_path / "company.pem"))
    return str(tmp_path / "company.pem")


@pytest.fixture
def instance(authority: trustme.CA) -> Iterator[StandIn]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("instance.test").configure_cert(context)
    with running_stand_in(Answer("42"), ssl_context=context) as running:
        yield running


@contextmanager
def editor(env: Mapping[str, str | None]) -> Iterator[LspClient]:
    settings = {"SRC_ENDPOINT": "https://instance.test", "SRC_ACCESS_TOKEN": TOKEN}
    with LspClient.start(SERVER, env={**settings, **env}) as client:
        client.initialize(NEOVIM)
        yield client
        assert client.stop() == 0
        for unwanted in (TOKEN, "secret", "Traceback", "never awaited"):
            assert unwanted not in client.stderr


def suggestions(client: LspClient, *, by_hand: bool = True) -> list[str]:
    document = {"uri": "file:///w/a.py", "languageId": "python", "version": 1, "text": "x = \n"}
    client.notify("textDocument/didOpen", {"textDocument": document})
    at = {
        "textDocument": {"uri": document["uri"]},
        "position": {"line": 0, "character": 4},
        "context": {"triggerKind": 1 if by_hand else 2},
    }
    return [item["insertText"] for item in client.result(INLINE, at)["items"]]


def test_by_environment(instance: StandIn, ca_file: str) -> None:
    proxy = ProxyServer(Kind.HTTP, to=instance.port, login=("me", "secret"))
    with running_proxy(proxy):
        env = {"HTTPS_PROXY": proxy.url_with("me:secret"), "NODE_EXTRA_CA_CERTS": ca_file}
        with editor(env) as client:
            assert suggestions(client) == ["42"]
            assert set(proxy.asked) == {"instance.test:443"}


def test_by_settings(instance: StandIn, ca_file: str, tmp_path: Path) -> None:
    with running_proxy(ProxyServer(Kind.SOCKS5, to=instance.port)) as proxy:
        folder = tmp_path / "lsp-completions"
        folder.mkdir()
        (folder / "config.toml").write_text(
            f"proxy = '{proxy.url}'\ncaFile = '{ca_file}'\ntotalTimeout = 9\n"
        )
        env = {"XDG_CONFIG_HOME": str(tmp_path), "ALL_PROXY": "http://192.0.2.1:1"}
        with editor(env) as client:
            assert suggestions(client) == ["42"]
            assert set(proxy.asked) == {"instance.test:443"}
    assert instance.completions[-1].headers["x-timeout-ms"] == "9000"


def test_what_is_wrong_is_told_and_stops_nothing(instance: StandIn, ca_file: str) -> None:
    """Each thing once, and the rest of the environment counts all the same."""
    with running_proxy(ProxyServer(Kind.SOCKS5, to=instance.port)) as proxy:
        env = {
            "ALL_PROXY": proxy.url,
            "HTTP_PROXY": "ftp://me:secret@proxy.test",
            "NO_PROXY": "[::1],10.0.0.0/8,a/b/c",
            "SSL_CERT_FILE": "/no/such/file.pem",
            "CURL_CA_BUNDLE": ca_file,
        }
        with editor(env) as client:
            assert suggestions(client) == ["42"]
            told = [client.expect("window/showMessage")["message"] for _ in range(3)]
    assert sorted(told) == [
        "lsp-completions: NO_PROXY holds 'a/b/c', which is neither a name nor a network; ignored.",
        "lsp-completions: The certificates in /no/such/file.pem (SSL_CERT_FILE) could not be read:"
        " No such file or directory.",
        "lsp-completions: The proxy that HTTP_PROXY names is not used: it must begin with http://,"
        " https://, socks5:// or unix:.",
    ]


OTHERS = 'provider = "openai"\nurl = "https://models.test/v1"\nmodel = "m"\n'


@pytest.mark.parametrize("kind", [Kind.HTTP, Kind.SOCKS5])
@pytest.mark.parametrize("whom", ["", OTHERS], ids=["an instance", "others"])
@pytest.mark.parametrize(
    ("login", "told"),
    [
        pytest.param("", "wants a user name and a password", id="none"),
        pytest.param("me:wrong", "does not accept the user name", id="another"),
    ],
)
def test_a_proxy_that_wants_a_login_says_so_at_once(
    instance: StandIn, ca_file: str, tmp_path: Path, kind: Kind, login: str, told: str, whom: str
) -> None:
    """It is told by the first request, once, and not asked at every key."""
    file = tmp_path / "lsp-completions" / "config.toml"
    file.parent.mkdir()
    proxy = ProxyServer(kind, to=instance.port, login=("me", "secret"))
    with running_proxy(proxy):
        file.write_text(f"{whom}proxy = '{proxy.url_with(login) if login else proxy.url}'\n")
        env = {"XDG_CONFIG_HOME": str(tmp_path), "NODE_EXTRA_CA_CERTS": ca_file}
        with editor(env) as client:
            assert suggestions(client, by_hand=False) == []
            message = client.expect("window/showMessage")["message"]
            assert f"The proxy {proxy.place} {told}" in message
            tried = proxy.connections
            for _ in range(3):
                assert suggestions(client, by_hand=False) == []
            assert proxy.connections == tried
            assert told not in str(client.waiting())
            # The file is read beside the first question.
            file.write_text(f"proxy = '{proxy.url_with('me:secret')}'\n")
            assert any(suggestions(client, by_hand=False) for _ in range(50))
