"""What users of such systems met between their machine and the model, tried on the real process."""

import ssl
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.e2e.test_backend_faults import running as running_backend
from tests.support.lsp_client import LspClient
from tests.support.proxies import Kind, ProxyServer, running_proxy
from tests.support.sourcegraph import TOKEN, Answer, running_stand_in

INLINE = "textDocument/inlineCompletion"
SERVER = [sys.executable, "-m", "lsp_completions"]
NEOVIM: dict[str, Any] = {"textDocument": {"inlineCompletion": {}}}
OURS, THEIRS = trustme.CA(), trustme.CA()


@contextmanager
def editing(env: Mapping[str, str | None], **settings: object) -> Iterator[LspClient]:
    with LspClient.start(SERVER, env={"SRC_ACCESS_TOKEN": TOKEN, **env}) as client:
        # Else the model on this machine would answer where something is set wrong.
        options = {"provider": "sourcegraph", **settings}
        client.initialize(NEOVIM, rootUri="file:///w", initializationOptions=options)
        yield client
        assert client.stop() == 0
        for unwanted in (TOKEN, "Traceback", "never awaited"):
            assert unwanted not in client.stderr


def ask(client: LspClient, number: int = 0, *, by_hand: bool = False) -> int | str:
    uri = f"file:///w/{number}.py"
    document = {"uri": uri, "languageId": "python", "version": 1, "text": "x = "}
    client.notify("textDocument/didOpen", {"textDocument": document})
    place = {"line": 0, "character": 4}
    context = {"triggerKind": 1 if by_hand else 2}
    return client.send(
        INLINE, {"textDocument": {"uri": uri}, "position": place, "context": context}
    )


def suggested(client: LspClient) -> list[str]:
    result = client.take(ask(client))["result"]
    return [item["insertText"] for item in result["items"]]


def told(client: LspClient) -> list[str]:
    client.settle()
    waiting = [each for each in client.waiting() if each["method"] == "window/showMessage"]
    return [each["params"]["message"] for each in waiting]


def certified(authority: trustme.CA, *, whole: bool = True) -> ssl.SSLContext:
    """For `localhost`, by one below the authority; without that one where it is not `whole`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    issued = authority.create_child_ca().issue_cert("localhost")
    if whole:
        issued.configure_cert(context)
    else:
        with issued.private_key_pem.tempfile() as key, issued.cert_chain_pems[0].tempfile() as leaf:
            context.load_cert_chain(leaf, key)
    return context


@pytest.fixture
def files(tmp_path: Path) -> Path:
    OURS.cert_pem.write_to_path(str(tmp_path / "ours.pem"))
    THEIRS.cert_pem.write_to_path(str(tmp_path / "theirs.pem"))
    return tmp_path


# ---- certificates


@pytest.mark.parametrize("authority", [OURS, THEIRS], ids=["the variable's", "the setting's"])
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"])
def test_authorities_add_to_each_other(files: Path, variable: str, authority: trustme.CA) -> None:
    with running_stand_in(Answer("1"), ssl_context=certified(authority)) as instance:
        own = files / "lsp-completions" / "config.toml"
        own.parent.mkdir()
        own.write_text(f"caFile = '{files / 'theirs.pem'}'\n")
        env = {
            "SRC_ENDPOINT": instance.url,
            "XDG_CONFIG_HOME": str(files),
            variable: str(files / "ours.pem"),
        }
        with editing(env) as client:
            assert suggested(client) == ["1"]
            assert told(client) == []


@pytest.mark.parametrize(
    ("trusted", "whole"),
    [
        pytest.param("theirs.pem", True, id="another's authority"),
        pytest.param("ours.pem", False, id="the one in between is not sent"),
    ],
)
def test_a_certificate_that_is_not_trusted_is_explained(
    files: Path, trusted: str, whole: bool
) -> None:
    with running_stand_in(Answer("1"), ssl_context=certified(OURS, whole=whole)) as instance:
        env = {"SRC_ENDPOINT": instance.url, "SSL_CERT_FILE": str(files / trusted)}
        with editing(env) as client:
            for _ in range(4):
                assert suggested(client) == []
            (message,) = told(client)
    assert f"No connection to localhost:{instance.url.rpartition(':')[2]}" in message
    assert "its certificate is not trusted" in message
    assert "`caFile`" in message


# ---- addresses


@pytest.mark.parametrize(
    ("address", "name"), [("127.0.0.1", "localhost"), ("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")]
)
def test_this_machine_by_any_address(address: str, name: str) -> None:
    with running_backend(host=address) as backend:
        env = {"SRC_ENDPOINT": f"http://{name}:{backend.port}"}
        with editing(env, totalTimeout=60, firstEventTimeout=60) as client:
            assert suggested(client) == ["1"]
            assert told(client) == []


def test_the_address_that_was_tried_is_told() -> None:
    with running_backend() as backend:
        env = {"SRC_ENDPOINT": f"http://localhost:{backend.port}"}
    with editing(env) as client:
        assert suggested(client) == []
        (message,) = told(client)
    assert f"localhost:{backend.port}" in message
    assert "127.0.0.1" in message


@pytest.mark.parametrize("tail", ["", "/", "//", " \n"])
@pytest.mark.parametrize("prefix", ["", "/sourcegraph", "/a/b"])
def test_an_instance_below_a_path(prefix: str, tail: str) -> None:
    with running_backend() as backend:
        env = {
            "SRC_ENDPOINT": f" http://127.0.0.1:{backend.port}{prefix}{tail}",
            "SRC_ACCESS_TOKEN": f"\n {TOKEN} \n",
        }
        with editing(env) as client:
            assert suggested(client) == ["1"]
            assert told(client) == []
        assert all(f" {prefix}/.api/" in each.line for each in backend.requests)
        assert backend.requests[-1].headers["authorization"] == f"token {TOKEN}"


@pytest.mark.parametrize(
    ("token", "works"),
    [
        pytest.param(f"{TOKEN}\n", True, id="a line end"),
        pytest.param(f"{TOKEN}\r\n", True, id="another line end"),
        pytest.param(f"\t{TOKEN} ", True, id="blanks"),
        pytest.param(f"{TOKEN}\nX-Other: 1", False, id="a line end in it"),
        pytest.param(f"{TOKEN}é", False, id="a letter that no header has"),
    ],
)
def test_a_token_read_from_a_file_is_in_no_log(token: str, works: bool) -> None:
    with running_stand_in(Answer("1")) as instance:
        env = {"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": token}
        with editing(env, logLevel="debug") as client:
            assert suggested(client) == (["1"] if works else [])
            said = told(client)
            assert bool(said) is not works
            assert TOKEN not in str(said)
            assert "INFO" in client.stderr  # there is a log
        assert bool(instance.completions) is works


def test_this_machine_without_a_scheme() -> None:
    with (
        running_stand_in(Answer("1")) as instance,
        editing({"SRC_ENDPOINT": instance.url.removeprefix("http://")}) as client,
    ):
        assert suggested(client) == ["1"]
        assert told(client) == []


def test_another_machine_without_a_scheme_is_asked_by_https() -> None:
    with running_proxy(ProxyServer(Kind.HTTP, says=b"HTTP/1.1 403 No\r\n\r\n")) as proxy:
        env = {"SRC_ENDPOINT": "instance.test/sub", "HTTPS_PROXY": proxy.url}
        with editing(env) as client:
            assert suggested(client) == []
        assert set(proxy.asked) == {"instance.test:443"}


@pytest.mark.parametrize(
    ("host", "through"),
    [("sg.corp", False), ("a.x", False), ("corp.test", True), ("10.test", True)],
)
def test_exceptions_to_the_proxy_in_every_spelling(host: str, through: bool) -> None:
    """None of them is complained about, whatever httpx would make of it."""
    with (
        running_stand_in(Answer("1")) as instance,
        running_proxy(ProxyServer(Kind.HTTP, to=instance.port)) as proxy,
    ):
        env = {
            "SRC_ENDPOINT": f"http://{host}:9",
            "HTTPS_PROXY": proxy.url,
            "HTTP_PROXY": proxy.url,
            "NO_PROXY": "10.0.0.0/8,[::1],.corp,*.x",
        }
        with editing(env, connectTimeout=1) as client:
            assert suggested(client) == (["1"] if through else [])
            assert bool(proxy.asked) is through
            assert not any("NO_PROXY" in each for each in told(client))


# ---- connections


@pytest.mark.parametrize("hangs", [True, False], ids=["in the middle", "soon after"])
def test_requests_cancelled_while_they_connect_lose_no_connection(
    files: Path, *, hangs: bool
) -> None:
    """The way there may take its time; whoever asks afterwards has it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    OURS.issue_cert("instance.test").configure_cert(context)
    with (
        running_stand_in(Answer("1"), ssl_context=context) as instance,
        running_proxy(ProxyServer(Kind.HTTP, to=instance.port)) as proxy,
    ):
        env = {
            "SRC_ENDPOINT": "https://instance.test",
            "HTTPS_PROXY": proxy.url,
            "SSL_CERT_FILE": str(files / "ours.pem"),
        }
        with editing(env) as client:
            assert suggested(client) == ["1"]
            for number in range(1, 51):
                proxy.slam(hangs=hangs)
                asked = ask(client, number)
                for _ in range(number % 4):
                    client.settle()
                client.cancel(asked)
                client.take(asked)
            proxy.slam()
            # What broke on the way counts as failed, and who failed often is left alone a moment.
            assert client.take(ask(client, 51, by_hand=True))["result"]["items"]
            assert told(client) == []
            assert proxy.open <= 3
