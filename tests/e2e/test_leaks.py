"""Nothing that is written holds a credential or code.

A real server goes through everything that may happen to it; then all that it wrote is searched:
standard error, every message but the completions themselves, and every file.
"""

import json
import os
import ssl
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import trustme

from lsp_completions.completer import complete
from lsp_completions.errors import CompletionsError
from lsp_completions.generations import Generations
from lsp_completions.local_model.files import is_available
from lsp_completions.pipeline.document import Document
from lsp_completions.providers.openai import OpenAI
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.request import Request, at_hand
from lsp_completions.secret import Secret
from lsp_completions.settings import Settings
from lsp_completions.transport import Timeouts, Transport
from tests.support.leaks import found, fresh
from tests.support.lsp_client import LspClient, Message
from tests.support.refusals import ALL, EACH, No
from tests.support.sourcegraph import (
    CUT,
    RESET,
    Answer,
    Exchange,
    Gate,
    Reply,
    Rules,
    StandIn,
    json_page,
    redirect,
    refusal,
    running_stand_in,
)

INLINE = "textDocument/inlineCompletion"
MENU = "textDocument/completion"
TOKEN = fresh("sgp_")
API_KEY = fresh("sk-")
HEADER = fresh("hdr.")
PASSWORD = fresh("pw")
CODE = fresh("quark_")
ANSWER = fresh("blender_")
SECRETS = {
    "the token": TOKEN,
    "the API key": API_KEY,
    "a header": HEADER,
    "a password": PASSWORD,
    "code of the document": CODE,
    "code of the model": ANSWER,
}
TEXT = f"import {CODE}\n\n\ndef {CODE}_b():\n    {CODE}_c = "
AT = {"line": 4, "character": len(f"    {CODE}_c = ")}
HEADERS = {"X-Corp-Key": HEADER}
LEVELS = pytest.mark.parametrize("level", ["warning", "debug"])
PATIENT = Timeouts(connect=30, first_event=30, total=30)


class Recorder(LspClient):
    """Keeps all that the server says but the completions themselves."""

    def _arrive(self, message: Message) -> None:
        result = message.get("result")
        if not (isinstance(result, dict) and "items" in result):
            self.said += json.dumps(message, ensure_ascii=False).encode() + b"\n"
        super()._arrive(message)

    said = b""


@dataclass
class World:
    """A home of its own, and everything that was written."""

    home: Path
    written: dict[str, bytes] = field(default_factory=dict)
    given: list[Path] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str | None]:
        """The variables that lead everything written here."""
        kinds = ("CONFIG", "STATE", "DATA", "CACHE", "RUNTIME")
        places = {f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in kinds}
        return {
            **places,
            "XDG_RUNTIME_DIR": str(self.home),
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "USERPROFILE": str(self.home),
            "PYTHONWARNINGS": "default",
        }

    def give(self, name: str, text: str) -> Path:
        """A file that a user wrote, which is no leak."""
        file = self.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.given.append(file)
        return file

    def configure(self, **settings: Any) -> None:
        """What the user's own settings file says, where credentials and addresses count."""
        lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
        self.give(
            "config/lsp-completions/config.toml",
            "\n".join([*lines, "[headers]", f'X-Corp-Key = "{HEADER}"']),
        )

    @contextmanager
    def server(
        self, argv: tuple[str, ...] = ("-m", "lsp_completions"), **env: str
    ) -> Iterator[Recorder]:
        """A server whose words are kept to the end."""
        with Recorder.start([sys.executable, *argv], env={**self.env, **env}) as client:
            yield client
        number = len(self.written)
        self.written[f"stderr {number}"] = client.all_stderr().encode()
        self.written[f"messages {number}"] = client.said + client.junk

    def server_of(
        self, instance: StandIn, argv: tuple[str, ...] = ("-m", "lsp_completions")
    ) -> AbstractContextManager[Recorder]:
        """A server that asks `instance`."""
        self.configure(endpoint=instance.url, accessToken=TOKEN)
        return self.server(argv)

    def check(self) -> None:
        """Look for every secret in all that was written."""
        for file in self.home.rglob("*"):
            if file.is_file() and file not in self.given:
                self.written[str(file)] = file.read_bytes()
                self.written[f"name of {file}"] = str(file).encode()
        for where, written in self.written.items():
            for what, secret in SECRETS.items():
                assert not found(written, secret), f"{what} in {where}"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Everything is searched when the test is over."""
    world = World(tmp_path)
    yield world
    world.check()


def open_document(client: LspClient, name: str = "a.py", text: str = TEXT) -> dict[str, Any]:
    uri = f"file:///w/{name}"
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    return {"textDocument": {"uri": uri}, "position": AT, "context": {"triggerKind": 2}}


def set_up(client: LspClient, **options: Any) -> dict[str, Any]:
    capabilities = {"textDocument": {"inlineCompletion": {}}, "window": {"workDoneProgress": True}}
    client.initialize(capabilities, rootUri="file:///w", initializationOptions=options)
    return open_document(client)


def change(client: LspClient, **settings: Any) -> None:
    client.notify("workspace/didChangeConfiguration", {"settings": {"lspCompletions": settings}})


def echo(status: int, wrapped: Callable[[str], str], **headers: str) -> Callable[[Exchange], Reply]:
    """An instance that repeats what it was sent, which debug builds and gateways do."""

    def said(exchange: Exchange) -> Reply:
        token, key = exchange.headers["authorization"], exchange.headers["x-corp-key"]
        text = f"bad request of {token} {token[6:20]} {key}: {exchange.prompt}"
        return refusal(status, wrapped(text), {**headers, "X-Trace": token.split()[1]})

    return said


ECHOES = [
    echo(status, wrapped)
    for status in (400, 401, 403, 404, 406, 429, 500, 503)
    for wrapped in (
        lambda text: text,
        lambda text: text.replace("\n", " "),
        lambda text: text.split(": ", 1)[1].replace("\n", " "),
        lambda text: json.dumps({"error": text.replace("\n", " ")}),
        lambda text: f"Fireworks: unexpected status code 400: {text}",
        lambda text: f"<html><title>{text}",
    )
]


@LEVELS
def test_nothing_is_written_of_what_an_instance_is_told(world: World, level: str) -> None:
    rules = Rules(token=TOKEN)
    with (
        running_stand_in(Answer(ANSWER), rules=rules) as instance,
        world.server_of(instance) as client,
    ):
        at = set_up(client, logLevel=level, maxTokens=9)
        assert ANSWER in json.dumps(client.result(INLINE, at))

        def again(script: Any, number: int, **settings: Any) -> None:
            instance.script = script
            change(client, maxTokens=number, logLevel=level, **settings)
            for _ in range(2):
                client.request(INLINE, at)

        scripts: list[Any] = [no.said for no in EACH]
        scripts += ECHOES
        scripts += [
            Answer(f"\n{ANSWER}\n", f"{ANSWER}", error=f"{TOKEN} {ANSWER} {CODE}"),
            Answer(error=TEXT),
            Answer(f"{ANSWER}", RESET),
            Answer(f"{ANSWER}", CUT),
            Answer(b"event: completion\ndata: {" + ANSWER.encode() + b"\n\n"),
            Answer(b"event: " + ANSWER.encode() + b"\ndata: {}\n\n"),
            Answer(ANSWER, content_type="text/plain"),
            json_page({"completion": 3, "text": ANSWER}),
            json_page({"error": f"{TOKEN} {HEADER} failed"}),
            Reply(status=200, body=f"error in {CODE}, {CODE}_c and {TOKEN}"),
            Reply(status=200, body=ANSWER.encode() + b"\xff\xfe", content_type="application/json"),
            redirect(f"https://{TOKEN}:{HEADER}@sso.example.com/{TOKEN}?next={CODE}"),
            redirect(f"http://127.0.0.1:{instance.port}/{TOKEN}"),
        ]
        for number, script in enumerate(scripts, 10):
            again(script, number)
        assert len(instance.completions) > len(scripts)
        prompts = [asked.prompt for asked in instance.completions if asked.json]
        assert all(CODE in prompt for prompt in prompts)
        assert all(asked.headers["x-corp-key"] == HEADER for asked in instance.completions)
        again(Answer(ANSWER), 1, stream=False)
        again(Answer(ANSWER), 2, model=CODE[:6])
        rules_before, instance.rules = instance.rules, Rules(token="another")
        again(Answer(ANSWER), 3)
        instance.rules = rules_before
        assert client.stop() == 0


def test_nothing_is_written_of_what_cannot_be_read(world: World) -> None:
    with (
        running_stand_in(Answer(ANSWER), rules=Rules(token=TOKEN)) as instance,
        world.server_of(instance) as client,
    ):
        at = set_up(client, logLevel="debug")
        for method in (INLINE, MENU, "workspace/executeCommand", "no/such", f"x/{'y' * 9}"):
            for params in (
                {**at, "position": CODE},
                {**at, "textDocument": {"uri": [CODE]}},
                {"textDocument": CODE, "command": [CODE], "arguments": [CODE]},
                [TEXT],
                TEXT,
                None,
            ):
                client.request(method, params)
        for method in ("textDocument/didOpen", "textDocument/didChange", "textDocument/didClose"):
            for document in ({"uri": 3, "text": TEXT}, {"uri": "file:///w/b.py", "text": [TEXT]}):
                params = {"textDocument": document, "contentChanges": [{"text": {"x": TEXT}}]}
                client.notify(method, params)
        client.notify("textDocument/didChange", {**at, "contentChanges": [{"range": TEXT}]})
        client.notify("no/such", {"text": TEXT})
        for garbage in (
            b"Content-Length: 9\r\n\r\n" + CODE[:9].encode(),
            b"Content-Length: %d\r\n\r\n{%s" % (len(TEXT) + 1, TEXT.encode()),
            b'Content-Length: 3\r\nX-Odd: %s\r\n\r\n"a"' % TOKEN.encode(),
            b"%s: 3\r\n\r\n" % CODE.encode(),
        ):
            client.send_bytes(garbage)
        client.send_bytes(b"Content-Length: 2\r\n\r\n{}")
        first = client.send(INLINE, at)
        client.cancel(first)
        client.take(first)
        assert client.stop() == 0


WRONG: list[dict[str, Any]] = [
    {"accessToken": [TOKEN], "apiKey": {"x": API_KEY}},
    {"accessToken": f"{TOKEN}\n{TOKEN}é", "apiKey": f"{API_KEY}é\x00"},
    {"headers": {"X Y": 3, "X-Key": f"{HEADER}\n{HEADER}", "Y": [HEADER]}},
    {"headers": HEADER},
    {"headers": [HEADER]},
    {"endpoint": f"https://me:{PASSWORD}@[::bad", "accessToken": TOKEN},
    {"endpoint": f"ftp://me:{PASSWORD}@sg.example.com/{TOKEN}", "accessToken": TOKEN},
    {"endpoint": f"https://me:{PASSWORD}@127.0.0.1:1/x", "accessToken": TOKEN},
    {"endpoint": TOKEN, "accessToken": TOKEN},
    {"provider": "openai", "url": f"http://me:{PASSWORD}@127.0.0.1:1/v1", "apiKey": API_KEY},
    {"provider": "openai", "url": f"::{PASSWORD}", "apiKey": API_KEY},
    {"provider": "mistral", "apiKey": f"{API_KEY}\n", "url": "http://127.0.0.1:1"},
    {"provider": API_KEY},
    {"model": [CODE], "logLevel": CODE, "maxTokens": CODE, "topK": CODE, "menu": [CODE]},
    {"proxy": f"http://me:{PASSWORD}@127.0.0.1:1"},
    {"proxy": f"{PASSWORD}://x"},
    {"caFile": ["/no"], "clientCertificate": "/no/such"},
    {TOKEN[:7]: 1},
]


def test_nothing_is_written_of_settings_that_are_wrong(world: World) -> None:
    level = "debug"
    world.give(
        "config/lsp-completions/config.toml",
        f'accessToken = ["{TOKEN}"]\napiKey = 3\n[headers]\nX = {{ a = "{HEADER}" }}\n',
    )
    with world.server(
        SRC_ACCESS_TOKEN=f"{TOKEN}é\n", HTTPS_PROXY=f"http://me:{PASSWORD}@[", NO_PROXY="[x"
    ) as client:
        at = set_up(client, **{**WRONG[0], "logLevel": level})
        for number, wrong in enumerate(WRONG):
            change(client, **{"logLevel": level, "maxTokens": number + 1, **wrong})
            client.request(INLINE, at)
        assert client.stop() == 0
    world.give("config/lsp-completions/config.toml", f'accessToken = "{TOKEN}\napiKey = {API_KEY}')
    with world.server(SRC_ENDPOINT=f"https://me:{PASSWORD}@127.0.0.1:1") as client:
        client.request(INLINE, set_up(client, logLevel=level))
        assert client.stop() == 0


@pytest.mark.parametrize(
    "place",
    [
        pytest.param({"endpoint": "http://127.0.0.1:9"}, id="nobody there"),
        pytest.param({"endpoint": "UNTRUSTED"}, id="a certificate nobody trusts"),
        pytest.param({"endpoint": "https:PLAIN"}, id="no TLS there"),
        pytest.param({"endpoint": "http://no-such-host.invalid"}, id="no such name"),
        pytest.param(
            {"endpoint": "http://sg.example", "proxy": f"http://me:{PASSWORD}@127.0.0.1:9"},
            id="no proxy there",
        ),
        pytest.param({"endpoint": "https://sg.example", "proxy": "PROXY"}, id="no such proxy"),
        pytest.param({"provider": "openai", "url": "PLAIN", "apiKey": API_KEY}, id="no such API"),
    ],
)
def test_nothing_is_written_when_nobody_can_be_reached(world: World, place: dict[str, Any]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)
    with (
        running_stand_in(Answer(ANSWER), ssl_context=context) as untrusted,
        running_stand_in(Answer(ANSWER)) as plain,
    ):
        places = {
            "UNTRUSTED": untrusted.url,
            "PLAIN": plain.url,
            "https:PLAIN": plain.url.replace("http:", "https:"),
            "PROXY": plain.url.replace("//", f"//me:{PASSWORD}@"),
        }
        named = {key: places.get(value, value) for key, value in place.items()}
        world.configure(**{"accessToken": TOKEN, "logLevel": "debug", **named})
        with world.server() as client:
            at = set_up(client, logLevel="debug")
            for number in range(2):
                change(client, maxTokens=number + 1, logLevel="debug")
                client.request(INLINE, at)
            assert client.stop() == 0


BROKEN = """
import lsp_completions.asker as asker, lsp_completions.server.conversation as conversation
import lsp_completions.service as service
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.cli import main

def broken(*args, **more):
    # As numbers, since Python writes the lines of code that led to an exception.
    raise ValueError(bytes({numbers}).decode(), args, more)

assert {what}
{what} = broken
main([])
"""


@pytest.mark.parametrize(
    "what",
    [
        "asker.build_prompt",
        "asker.first_known",
        "asker.context_at",
        "Sourcegraph.request",
        "Sourcegraph.chunk",
        "Sourcegraph.refusal",
        "conversation.inline_items",
        "service.Service.request",
        "service.Service._open_stream",
        "service.Documents.change",
    ],
)
def test_nothing_is_written_of_a_mistake_of_ours(world: World, what: str) -> None:
    code = BROKEN.format(numbers=list(f"{TOKEN} {HEADER} {TEXT}".encode()), what=what)
    with (
        running_stand_in(Answer(ANSWER), rules=Rules(token=TOKEN)) as instance,
        world.server_of(instance, argv=("-c", code)) as client,
    ):
        at = set_up(client, logLevel="debug")
        for script in (Answer(ANSWER), refusal(400, TEXT)):
            instance.script = script
            client.request(INLINE, at)
        place = {"start": AT, "end": AT}
        changes = [{"range": place, "text": CODE}]
        client.notify("textDocument/didChange", {**at, "contentChanges": changes})
        client.settle()
        assert client.stop() == 0


UNCAUGHT = """
import threading
import lsp_completions.life_cycle as life_cycle
from lsp_completions.cli import main

class Odd:
    def __del__(self):
        broken()

def broken():
    # As numbers, since Python writes the lines of code that led to an exception.
    raise ValueError(bytes({numbers}).decode())

def replaced(before=life_cycle._replace_hooks):
    before()
    thread = threading.Thread(target=broken)
    thread.start()
    thread.join()
    Odd()

life_cycle._replace_hooks = replaced
main([])
"""


def test_nothing_is_written_of_what_nobody_catches(world: World) -> None:
    code = UNCAUGHT.format(numbers=list(f"{TOKEN} {HEADER} {TEXT}".encode()))
    with (
        running_stand_in(Answer(ANSWER), rules=Rules(token=TOKEN)) as instance,
        world.server_of(instance, argv=("-c", code)) as client,
    ):
        client.request(INLINE, set_up(client, logLevel="debug"))
        assert client.stop() == 0
        assert client.stderr.count("nobody caught: ValueError") == 2


@pytest.mark.parametrize("end", ["killed", "asked to end", "left alone"])
def test_nothing_is_written_when_it_ends_in_the_middle(world: World, end: str) -> None:
    with (
        running_stand_in(Answer(ANSWER, Gate()), rules=Rules(token=TOKEN)) as instance,
        world.server_of(instance) as client,
    ):
        at = set_up(client, logLevel="debug")
        client.send(INLINE, at)
        instance.wait_until(lambda: instance.completions)
        match end:
            case "killed":
                client.process.kill()
            case "asked to end":
                client.process.terminate()
            case _:
                client.close_stdin()
        client.wait()


def test_nothing_is_written_on_the_command_line(world: World) -> None:
    file = world.give("a.py", TEXT)
    place = f"{file}:5:{AT['character'] + 1}"
    with running_stand_in(Answer(ANSWER), rules=Rules(token=TOKEN)) as instance:
        environment = {
            **os.environ,
            **{name: value for name, value in world.env.items() if value is not None},
            "SRC_ENDPOINT": instance.url,
            "SRC_ACCESS_TOKEN": TOKEN,
            "HTTPS_PROXY": f"http://me:{PASSWORD}@127.0.0.1:1",
        }

        def run(*arguments: str, **env: str) -> None:
            ran = subprocess.run(
                [sys.executable, "-m", "lsp_completions", *arguments],
                env=environment | env,
                capture_output=True,
                timeout=60,
                check=False,
            )
            number = len(world.written)
            # What was asked for may be shown.
            out = b"" if ran.returncode == 0 else ran.stdout
            world.written[f"output {number}"] = out + ran.stderr

        run("complete", place)
        instance.script = refusal(500, f"{TOKEN} {CODE} {TEXT}")
        run("complete", place)
        run("complete", place, "--json")
        run("complete", f"{file}:99:1")
        run("complete", place, "--json", SRC_ACCESS_TOKEN=f"{TOKEN}x")
        run("complete", place, SRC_ACCESS_TOKEN=f"{TOKEN}é")
        run("complete", place, SRC_ENDPOINT=f"https://me:{PASSWORD}@127.0.0.1:1")


def test_nothing_is_written_by_a_check(world: World) -> None:
    """All of its output is searched, also when nothing is wrong."""
    echoed = refusal(500, f"{TOKEN} {TOKEN[6:30]} {HEADER}")
    listed = json_page({"models": [{"modelRef": f"x::v1::{CODE[:6]}"}], "defaultModels": {}})
    with running_stand_in(Answer(ANSWER), rules=Rules(token=TOKEN)) as instance:

        def check(script: Any = None, env: dict[str, str] | None = None, **settings: Any) -> None:
            instance.script = script or Answer(ANSWER)
            world.configure(**{"endpoint": instance.url, "accessToken": TOKEN, **settings})
            file = str(world.give("a.py", TEXT))
            for arguments in (["check"], ["check", file, "--json"], ["models"]):
                ran = subprocess.run(
                    [sys.executable, "-m", "lsp_completions", *arguments],
                    env={
                        **os.environ,
                        **{key: value for key, value in world.env.items() if value is not None},
                        **(env or {}),
                    },
                    capture_output=True,
                    timeout=60,
                    check=False,
                )
                world.written[f"output {len(world.written)}"] = ran.stdout + ran.stderr

        check()
        assert instance.completions
        for script in (ECHOES[0], ECHOES[-1], Answer(error=f"{TOKEN} {HEADER}")):
            check(script)
        pages = ("CurrentUser", "ContextFilters", "SiteProductVersion", "ResolveRepoName")
        instance.pages = {f"/.api/graphql?{page}": echoed for page in pages}
        instance.pages["/.api/modelconfig/supported-models.json"] = listed
        check()
        check(accessToken=f"{TOKEN}x", model=CODE[:6])
        check(authCommand=f"echo {TOKEN}x{TOKEN}", accessToken="")
        check(proxy=f"http://me:{PASSWORD}@127.0.0.1:9", endpoint="https://sg.example.com")
        check(endpoint=f"https://me:{PASSWORD}@127.0.0.1:9")
        check(env={"HTTPS_PROXY": f"http://me:{PASSWORD}@127.0.0.1:9", "ALL_PROXY": PASSWORD})
        place = instance.url.replace("//", f"//me:{PASSWORD}@")
        check(provider="openai", url=place, apiKey=API_KEY)
        check(accessToken=[TOKEN], apiKey={"x": API_KEY}, authCommand=[TOKEN, 3])


@pytest.mark.skipif(not is_available(), reason="there is no model here")
def test_nothing_is_written_by_the_model_on_this_machine(world: World) -> None:
    with world.server(SRC_ACCESS_TOKEN=TOKEN) as client:
        at = set_up(client, logLevel="debug", provider="local")
        client.request(INLINE, at, timeout=120)
        assert client.stop() == 0


PROVIDERS: dict[str, Callable[[str], Any]] = {
    "sourcegraph": lambda url: Sourcegraph(
        endpoint=url, token=Secret(TOKEN), headers=(("X-Corp-Key", Secret(HEADER)),)
    ),
    "openai": lambda url: OpenAI(
        url=f"{url}/.api/completions/code", key=Secret(API_KEY), headers=(("X", Secret(HEADER)),)
    ),
}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("no", ALL)
async def test_no_exception_holds_any_of_it(no: No, provider: str) -> None:
    async with StandIn(no.said, rules=Rules(token=None)) as instance:
        for written in await exceptions_of(PROVIDERS[provider](instance.url)):
            for what, secret in SECRETS.items():
                assert not found(written.encode(), secret), what


@pytest.mark.parametrize("script", ECHOES)
async def test_no_exception_repeats_what_is_sent_back(script: Any) -> None:
    async with StandIn(script, rules=Rules(token=None)) as instance:
        for written in await exceptions_of(PROVIDERS["sourcegraph"](instance.url)):
            for what, secret in SECRETS.items():
                assert not found(written.encode(), secret), what


async def exceptions_of(provider: Any) -> list[str]:
    """Everything a failed completion could have anybody write."""
    transport = Transport()
    generations = Generations(lambda asked: transport.events(asked, PATIENT))
    document = Document.open("file:///w/a.py", "python", 1, TEXT)
    written = [repr(provider)]
    request = Request(
        document=document,
        offset=document.length,
        path="a.py",
        settings=Settings(),
        provider=at_hand(provider),
        current=lambda: document,
    )
    try:
        await complete(request, generations)
    except CompletionsError as error:
        waiting: list[BaseException | None] = [error]
        while waiting:
            if (one := waiting.pop()) is not None:
                written += [repr(one), str(one), repr(vars(one)), repr(one.args)]
                waiting += [one.__cause__, one.__context__]
        written.append("".join(traceback.format_exception(error)))
    finally:
        await generations.aclose()
        await transport.aclose()
    return written


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(f"Authorization: token {TOKEN}", id="plain"),
        pytest.param(f"token {TOKEN[9:17]}…", id="a piece"),
        pytest.param(TOKEN.replace("_", "%5f"), id="percent-encoded"),
        pytest.param("".join(f"%{ord(letter):02X}" for letter in TOKEN), id="all of it so"),
        pytest.param(TOKEN.encode().hex(), id="hex"),
        pytest.param("".join(f"\\u{ord(letter):04x}" for letter in TOKEN), id="JSON escapes"),
    ],
)
def test_the_search_finds_it(written: str) -> None:
    assert found(written.encode(), TOKEN)
    assert not found(written.encode(), API_KEY)


def test_the_search_finds_it_in_base64() -> None:
    import base64

    for before in ("", "u:", "me:", "user:"):
        assert found(base64.b64encode(f"{before}{TOKEN}".encode()), TOKEN)


def test_the_search_finds_what_a_server_writes(tmp_path: Path) -> None:
    world = World(tmp_path)
    code = f"import sys; print({TOKEN!r}, file=sys.stderr); from lsp_completions.cli import main"
    with world.server(argv=("-c", f"{code}; main([])")) as client:
        set_up(client)
        assert client.stop() == 0
    with pytest.raises(AssertionError, match="the token in stderr"):
        world.check()
