"""`lsp-completions check` as a process of its own: what it says in each state that people meet."""

import asyncio
import json
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyte
import pytest
import trustme

from lsp_completions.local_model.files import is_available
from tests.e2e.test_machine_file import WITH_MACHINE_FILE
from tests.support.home import COMMAND, TIMEOUT, USER, Home, user
from tests.support.model_servers import (
    LlamaCppServer,
    MistralServer,
    ModelServer,
    OllamaServer,
    OpenAIServer,
)
from tests.support.proxies import Kind, ProxyServer, running_proxy
from tests.support.sourcegraph import (
    TOKEN,
    Answer,
    Gate,
    Reply,
    Rules,
    StandIn,
    html_page,
    rate_limited,
    redirect,
    refusal,
    running_stand_in,
)
from tests.support.sourcegraph.pages import (
    CLIENT_CONFIG,
    FILTERS,
    MODELS,
    NAME,
    NEW,
    OLD,
    QWEN,
    STARCODER,
    config,
    filters,
    graphql,
    model,
    models,
)
from tests.support.terminal import written_in_terminal

PAGES = {**NEW, USER: user()}
NO_NAME = Reply(status=404, body="404 page not found\n")
OF_INSTANCE = (
    "settings provider proxy connection token version switch attribution apiVersion model "
    "suggestions sharing filters completion"
).split()
WITHOUT_A_MODEL = (
    "from lsp_completions.local_model import files; files.is_available = lambda: False\n"
    "from lsp_completions.cli import main; import sys; sys.exit(main())"
)
IMPATIENT = (
    "from lsp_completions.diagnosis import examination; examination.TALK = 0.3\n"
    "examination.LONGEST = examination.START = examination.CREDENTIAL = 0.3\n"
    "from lsp_completions.cli import main; import sys; sys.exit(main())"
)
WITHOUT_NAMES = (
    "import socket, time; from lsp_completions.cli import main; import sys\n"
    "socket.getaddrinfo = lambda *args, **more: time.sleep(300)\n"
    "sys.exit(main())"
)


class Found:
    """What was found, as JSON says it."""

    def __init__(self, ran: "subprocess.CompletedProcess[str]") -> None:
        assert ran.returncode in (0, 3), ran.stdout + ran.stderr
        assert ran.stderr == ""
        self.code = ran.returncode
        self.page = json.loads(ran.stdout)
        self.steps = {step["name"]: step for step in self.page["steps"]}
        assert self.page["ok"] is (self.code == 0)
        for step in self.page["steps"]:
            assert set(step) == {"name", "ok", "sentence", "remedy", "details"}
            # Whatever is wrong, something can be done.
            assert step["ok"] is not False or step["remedy"], step
            assert step["ok"] is None or not step["sentence"].startswith("Not tried")

    @property
    def wrong(self) -> list[str]:
        return [name for name, step in self.steps.items() if step["ok"] is False]

    def tried(self) -> list[str]:
        return [name for name, step in self.steps.items() if step["ok"] is not None]


class User(Home):
    """A user, and the folder that is looked at."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.project = folder / "project"
        self.project.mkdir()
        for name in ("SRC_ENDPOINT", "SRC_ACCESS_TOKEN", "HTTPS_PROXY", "NO_COLOR"):
            self.env.pop(name, None)

    def found(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        script: str = "",
        given: tuple[str, ...] = (),
    ) -> Found:
        return Found(self.checked("--json", *arguments, env=env, script=script, given=given))

    def checked(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        script: str = "",
        given: tuple[str, ...] = (),
    ) -> "subprocess.CompletedProcess[str]":
        """`script` stands in for the program, with arguments `given` of its own."""
        program = ["-c", script, *given] if script else ["-m", "lsp_completions"]
        ran = subprocess.run(
            [sys.executable, *program, "check", *arguments],
            cwd=self.project,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=TIMEOUT,
            check=False,
        )
        for unwanted in ("Traceback", TOKEN, "secret-of", "never awaited", "return a + b"):
            assert unwanted not in ran.stdout + ran.stderr
        return ran

    def connect(self, url: str, more: str = "", token: str = TOKEN) -> None:
        self.configure(f'endpoint = "{url}"\naccessToken = "{token}"\n{more}')

    def clone(self, url: str) -> None:
        """Make the project a clone."""
        git = self.project / ".git"
        git.mkdir()
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text(f'[remote "origin"]\n\turl = {url}\n')


@pytest.fixture
def person(tmp_path: Path) -> User:
    return User(tmp_path)


@pytest.fixture
def instance() -> Iterator[StandIn]:
    with running_stand_in(Answer("return ", "a + b"), pages=PAGES) as instance:
        yield instance


def test_all_is_right(person: User, instance: StandIn) -> None:
    person.connect(instance.url)
    person.clone("https://github.com/ada/engine.git")
    instance.pages[FILTERS] = filters({"include": [{"repoNamePattern": "ada/"}]})
    instance.pages[NAME] = NO_NAME
    found = person.found()
    assert found.code == 0
    assert list(found.steps) == OF_INSTANCE
    assert found.tried() == OF_INSTANCE
    assert not any(step["remedy"] for step in found.page["steps"])
    said = {name: step["sentence"] for name, step in found.steps.items()}
    own_file = str(person.folder / "config" / "lsp-completions" / "config.toml")
    assert said["settings"] == "2 are not the default:"
    assert said["provider"].startswith("sourcegraph, since `endpoint` and a token")
    assert said["token"] == f"ada's, from {own_file}."
    assert said["version"] == "Sourcegraph 6.3.1234."
    assert said["apiVersion"] == "2; the instance speaks up to 9."
    assert said["model"].startswith("fireworks/starcoder, the instance's own choice; it fills in")
    assert said["filters"] == "The instance's rules let github.com/ada/engine be sent."
    assert said["completion"].startswith("First text after ")
    assert found.steps["settings"]["details"]["set"]["accessToken"] == {
        "value": "***",
        "source": own_file,
        "lockedBy": None,
    }
    assert found.steps["model"]["details"]["family"] == "StarCoder"
    assert found.steps["filters"]["details"]["filters"] == ["ada/"]
    # Of the user's nothing is sent, not even the name of a file.
    (asked,) = instance.completions
    assert "def add(a, b)" in asked.prompt
    assert "project" not in asked.prompt


# ---- what an instance says


def instance_rows() -> Iterator[Any]:
    """The pages that differ, the script, rules and settings; the step; its words and remedy."""
    unknown = 'model = "fireworks/none"\n'
    slow = "firstEventTimeout = 0.3\n"
    excluding = filters({"exclude": [{"repoNamePattern": "engine"}]})
    broken = filters({"exclude": [{"repoNamePattern": "(?="}]})
    rows: list[tuple[str, dict[str, Any], str, str, str]] = [
        (
            "a token that is not accepted",
            {"rules": Rules(token="sgp_another")},
            "token",
            "does not accept the access token",
            "Create a new one at http://127.0.0.1:",
        ),
        (
            "nobody's token",
            {"pages": {USER: user(None)}},
            "token",
            "does not know whose token this is",
            "Create a new one at http://127.0.0.1:",
        ),
        (
            "a login page",
            {"pages": {USER: html_page()}},
            "token",
            "answered with a web page",
            "Check the endpoint",
        ),
        (
            "sent on to a company's sign-on",
            {"pages": {USER: redirect("https://sso.example.com/")}},
            "token",
            "redirects to sso.example.com",
            "Is the endpoint right?",
        ),
        (
            "Cody is off",
            {"pages": {CLIENT_CONFIG: config(codyEnabled=False)}},
            "switch",
            "Cody is off there",
            "Ask its administrator.",
        ),
        (
            "completion is off",
            {"pages": {CLIENT_CONFIG: config(autoCompleteEnabled=False)}},
            "switch",
            "has switched code completion off",
            "Ask them to switch it on",
        ),
        (
            "a model that is not there",
            {"settings": unknown},
            "model",
            'has no model "fireworks/none"',
            "`lsp-completions models` lists what there is.",
        ),
        (
            "no model at all",
            {"pages": {MODELS: models(model("x::v1::autoedits-a"), default="x::v1::autoedits-a")}},
            "model",
            "names no model that completes code",
            "Name one of its models in the setting `model`",
        ),
        (
            "this repository is excluded",
            {"pages": {FILTERS: excluding, NAME: NO_NAME}},
            "filters",
            "keep github.com/ada/engine from being sent",
            "Only the administrator of 127.0.0.1:",
        ),
        (
            "rules that cannot be read",
            {"pages": {FILTERS: broken}},
            "filters",
            "A pattern in the context filters of",
            "Its administrator can mend it.",
        ),
        (
            "rules that cannot be had",
            {"pages": {FILTERS: refusal(500, "no")}},
            "filters",
            "did not say what may be sent to it, so nothing is",
            "Try again in a minute",
        ),
        (
            "a limit is reached",
            {"script": rate_limited("3600")},
            "completion",
            "takes no more requests for now, because a limit is reached",
            "It takes more in ",
        ),
        (
            "an instance that speaks no version we know",
            {"rules": Rules(versions=[])},
            "completion",
            "speaks no version of its completions API that is known here",
            "A newer lsp-completions may know it.",
        ),
        (
            "a slow model",
            {"script": Answer(Gate()), "settings": slow},
            "completion",
            "did not answer within 0.3 s",
            "raise the settings `firstEventTimeout`",
        ),
        (
            "the model's server fails",
            {"script": refusal(503, "Fireworks: unexpected status code 500: x = 1")},
            "completion",
            "failed with status 500",
            "the instance's administrator can find out why",
        ),
    ]
    for phrase, given, step, sentence, remedy in rows:
        yield pytest.param(given, step, sentence, remedy, id=phrase)


@pytest.mark.parametrize(("given", "step", "sentence", "remedy"), list(instance_rows()))
def test_something_is_wrong_there(
    person: User, given: dict[str, Any], step: str, sentence: str, remedy: str
) -> None:
    person.clone("https://github.com/ada/engine.git")
    pages = {**PAGES, **given.get("pages", {})}
    script, rules = given.get("script", Answer("pass")), given.get("rules")
    with running_stand_in(script, rules=rules, pages=pages) as instance:
        person.connect(instance.url, given.get("settings", ""))
        found = person.found()
    assert found.code == 3
    assert found.wrong == [step]
    assert sentence in found.steps[step]["sentence"]
    assert remedy in found.steps[step]["remedy"]
    # What does not depend on it is looked at all the same.
    assert found.steps["sharing"]["ok"]
    assert list(found.steps) == OF_INSTANCE
    if step == "token":
        assert found.tried() == [*OF_INSTANCE[:5], "suggestions", "sharing"]
        assert found.steps["completion"]["sentence"].startswith("Not tried, since")
    if step == "switch":
        assert not instance.completions


def test_an_old_instance(person: User) -> None:
    """It has no pages about itself, and refuses the version that it is asked for."""
    with running_stand_in(rules=Rules(versions=[1]), pages={**OLD, USER: user()}) as instance:
        person.connect(instance.url, "apiVersion = 5\n")
        ran = person.checked()
        found = person.found()
    assert found.code == 0
    assert "It refused version 5 of the completions API, so 1 is spoken." in ran.stdout
    assert found.steps["apiVersion"]["sentence"].startswith("5, as `apiVersion` says (from ")
    assert found.steps["version"]["sentence"] == "Sourcegraph 5.3.9104."


def test_one_that_says_nothing_of_itself(person: User) -> None:
    with running_stand_in(pages={USER: user()}) as instance:
        person.connect(instance.url)
        found = person.found()
    assert found.code == 0
    assert found.steps["version"]["ok"] is None
    assert "completions are asked for all the same" in found.steps["version"]["sentence"]
    assert found.steps["apiVersion"]["sentence"] == "1, which every instance speaks."


def test_attribution_is_enforced(person: User, instance: StandIn) -> None:
    instance.pages[CLIENT_CONFIG] = config(attribution="enforced")
    person.connect(instance.url)
    assert person.found().steps["attribution"]["details"] == {"mode": "enforced", "enforced": True}


# ---- the way there


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA(organization_name="The company")


def served(authority: trustme.CA, name: str, **options: Any) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, common_name=name, **options).configure_cert(context)
    return context


NOW = datetime.now(UTC)
ENDED = {"not_before": NOW - timedelta(days=9), "not_after": NOW - timedelta(days=2)}


@pytest.mark.parametrize(
    ("name", "dates", "trusted", "sentence", "remedy"),
    [
        pytest.param(
            "other.test", {}, True, "is for another host", "Is the address right?", id="host name"
        ),
        pytest.param("localhost", {}, False, "is not trusted", "`caFile`", id="authority"),
        pytest.param(
            "localhost", ENDED, True, "has expired", "The server needs a new one", id="expired"
        ),
    ],
)
def test_a_certificate_that_is_not_accepted(
    person: User,
    authority: trustme.CA,
    name: str,
    dates: dict[str, Any],
    trusted: bool,
    sentence: str,
    remedy: str,
) -> None:
    authority.cert_pem.write_to_path(str(person.folder / "ca.pem"))
    with running_stand_in(ssl_context=served(authority, name, **dates), pages=PAGES) as instance:
        ca = f"caFile = '{person.folder / 'ca.pem'}'\n" if trusted else ""
        person.connect(instance.url, ca)
        found, ran = person.found(), person.checked()
        assert not instance.requests
    assert found.wrong == ["certificate"]
    step = found.steps["certificate"]
    assert sentence in step["sentence"]
    assert remedy in step["remedy"]
    assert step["details"]["issuer"] == "The company"
    assert "made by The company" in ran.stdout
    assert "Authorities are read from" in ran.stdout
    assert found.steps["connection"]["ok"]
    assert "not trusted" in found.steps["token"]["sentence"]


def test_a_certificate_that_is(person: User, authority: trustme.CA) -> None:
    authority.cert_pem.write_to_path(str(person.folder / "ca.pem"))
    ends = {"not_after": NOW + timedelta(days=5, hours=1)}
    with running_stand_in(
        ssl_context=served(authority, "localhost", **ends), pages=PAGES
    ) as instance:
        person.connect(instance.url, f"caFile = '{person.folder / 'ca.pem'}'\n")
        found = person.found(env={"SSL_CERT_FILE": "/no/such.pem"})
    step = found.steps["certificate"]
    assert found.wrong == ["certificate"]  # for the variable alone
    assert "/no/such.pem (SSL_CERT_FILE) could not be read" in step["sentence"]
    assert step["details"]["subject"] == "localhost"
    assert step["details"]["authorities"][-1] == f"{person.folder / 'ca.pem'} (caFile)"
    assert found.steps["completion"]["ok"]


@pytest.mark.parametrize(
    ("endpoint", "sentence", "remedy"),
    [
        pytest.param("http://127.0.0.1:9", "connection refused", "Is it running?", id="refused"),
        pytest.param(
            "https://127.0.0.1:9", "connection refused", "Is it running?", id="refused, with TLS"
        ),
        pytest.param(
            "https://no-such-host.invalid", "could not be resolved", "VPN", id="no such name"
        ),
        pytest.param(
            "http://no-such-host.invalid", "could not be resolved", "VPN", id="nor without TLS"
        ),
        pytest.param("https://PLAIN", "TLS failed", "Check the address", id="no TLS there"),
    ],
)
def test_nobody_there(
    person: User, instance: StandIn, endpoint: str, sentence: str, remedy: str
) -> None:
    person.connect(endpoint.replace("PLAIN", f"127.0.0.1:{instance.port}"))
    found = person.found()
    assert found.wrong == ["connection"]
    assert sentence in found.steps["connection"]["sentence"]
    assert remedy in found.steps["connection"]["remedy"]
    assert "Not tried, since there is no connection" in found.steps["model"]["sentence"]
    assert found.steps["sharing"]["ok"]


def test_a_name_that_is_looked_up_for_ever_holds_nobody_up(person: User) -> None:
    person.connect("https://sg.example.com", "connectTimeout = 0.2\n")
    found = person.found(script=WITHOUT_NAMES)  # it takes longer than the test may
    assert found.wrong == ["connection"]
    assert "in time" in found.steps["connection"]["sentence"]


@pytest.mark.parametrize(
    ("proxy", "login", "sentence", "remedy"),
    [
        pytest.param(
            ProxyServer(Kind.HTTP, login=("me", "secret-of-mine")),
            "",
            "wants a user name and a password",
            "http://USER:PASSWORD@",
            id="a login is wanted",
        ),
        pytest.param(
            ProxyServer(Kind.HTTP, login=("me", "secret-of-mine")),
            "me:secret-of-another",
            "does not accept the user name and password",
            "@ is written as %40",
            id="another login is wanted",
        ),
        pytest.param(
            ProxyServer(Kind.HTTP, says=b"HTTP/1.1 403 Forbidden\r\n\r\n"),
            "",
            "refused to connect to sg.example.com: 403 Forbidden",
            "a proxy is set by `proxy`",
            id="refused",
        ),
    ],
)
def test_a_proxy_that_lets_nothing_through(
    person: User, proxy: ProxyServer, login: str, sentence: str, remedy: str
) -> None:
    person.connect("https://sg.example.com")
    with running_proxy(proxy):
        url = proxy.url_with(login) if login else proxy.url
        found = person.found(env={"HTTPS_PROXY": url})
    assert found.wrong == ["connection"]
    assert sentence in found.steps["connection"]["sentence"]
    assert remedy in found.steps["connection"]["remedy"]
    assert f"{proxy.url}, from HTTPS_PROXY" in found.steps["proxy"]["sentence"]


def test_through_a_proxy(person: User, instance: StandIn) -> None:
    """Of the environment one part is wrong, which stops nothing."""
    with running_proxy(ProxyServer(Kind.HTTP, to=instance.port, login=("me", "pw"))) as proxy:
        person.connect("http://sg.example.com", f'proxy = "{proxy.url_with("me:pw")}"\n')
        found = person.found(env={"NO_PROXY": "a/b/c"})
    own_file = person.folder / "config" / "lsp-completions" / "config.toml"
    assert found.wrong == ["proxy"]
    assert found.steps["proxy"]["sentence"].startswith("NO_PROXY holds 'a/b/c'")
    assert found.steps["proxy"]["details"]["proxy"] == proxy.url
    assert "others on the way can read" in found.steps["connection"]["sentence"]
    assert "https://" in found.steps["connection"]["remedy"]
    assert found.steps["completion"]["ok"]
    assert str(own_file) in found.steps["settings"]["details"]["sources"]


# ---- settings


def test_nothing_is_set(person: User) -> None:
    found = person.found(script=WITHOUT_A_MODEL)
    assert found.wrong == ["provider"]
    assert found.steps["provider"]["sentence"] == "No completions yet."
    assert found.steps["provider"]["remedy"].startswith("Run `lsp-completions login`, or set SRC_")
    assert "config.toml" in found.steps["settings"]["sentence"]
    assert found.steps["completion"]["sentence"] == "Not tried, since nobody answers."


def test_half_is_set(person: User) -> None:
    found = person.found(env={"SRC_ENDPOINT": "https://sg.example.com"}, script=WITHOUT_A_MODEL)
    assert found.wrong == ["provider"]
    assert "SRC_ACCESS_TOKEN" in found.steps["provider"]["remedy"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param('endpoint = "https://a', 'config.toml" is not TOML', id="no TOML"),
        pytest.param('endpoint = "https://a"\nmodell = "x"\n', "There is no setting", id="unknown"),
        pytest.param("maxTokens = 0\n", "maxTokens must be a whole number", id="a wrong value"),
    ],
)
def test_a_file_that_is_wrong(person: User, text: str, sentence: str) -> None:
    person.configure(text)
    found = person.found(script=WITHOUT_A_MODEL)
    assert found.wrong[0] == "settings"
    assert sentence in found.steps["settings"]["sentence"]
    assert found.steps["settings"]["remedy"].startswith("Mend or remove it in ")
    assert "config.toml" in found.steps["settings"]["remedy"]


def test_what_is_locked(person: User, instance: StandIn) -> None:
    machine = person.folder / "machine.toml"
    machine.write_text(
        f'endpoint = "{instance.url}"\nmaxTokens = 7\nlocked = ["endpoint", "maxTokens"]\n'
    )
    machine.chmod(0o644)
    person.connect(instance.url, "maxTokens = 9\n")
    given = (str(machine),)
    found = person.found(script=WITH_MACHINE_FILE, given=given)
    ran = person.checked(script=WITH_MACHINE_FILE, given=given)
    assert found.wrong == ["settings"]
    assert f"maxTokens is locked by {machine}" in found.steps["settings"]["sentence"]
    assert found.steps["settings"]["details"]["set"]["maxTokens"] == {
        "value": 7,
        "source": str(machine),
        "lockedBy": str(machine),
    }
    assert "~/machine.toml:\n" in ran.stdout
    assert "maxTokens = 7 (locked by ~/machine.toml)" in ran.stdout
    assert found.steps["completion"]["ok"]


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        pytest.param("import sys; sys.exit(3)", "ended with code 3", id="it fails"),
        pytest.param("import time; time.sleep(300)", "It did not come within", id="it hangs"),
        pytest.param("print()", "printed", id="it says nothing"),
    ],
)
def test_a_command_that_gives_no_token(
    person: User, instance: StandIn, code: str, sentence: str
) -> None:
    person.configure(
        f'endpoint = "{instance.url}"\nauthCommand = [\'{sys.executable}\', "-c", "{code}"]\n'
    )
    found = person.found(script=IMPATIENT if "300" in code else "")
    assert found.wrong == ["token"]
    assert sentence in found.steps["token"]["sentence"]
    assert "Run the command by hand" in found.steps["token"]["remedy"]
    assert found.steps["filters"]["sentence"] == "Not tried, since there is no token."
    assert not instance.requests


# ---- a model server of one's own, and the model on this machine


@pytest.mark.parametrize(
    ("kind", "settings", "wrong", "step", "sentence"),
    [
        pytest.param(OllamaServer, 'model = "{model}"', [], "model", "has it", id="ollama"),
        pytest.param(
            OllamaServer, 'model = "none"', ["model", "completion"], "model", "not list", id="none"
        ),
        pytest.param(OpenAIServer, 'model = "{model}"', [], "model", "has it", id="openai"),
        pytest.param(LlamaCppServer, "", [], "model", "the server chooses", id="llama.cpp"),
        pytest.param(
            MistralServer, 'apiKey = "{key}"', [], "key", "From ", id="mistral, with its key"
        ),
        pytest.param(
            MistralServer,
            'apiKey = "secret-of-others"',
            ["model"],
            "model",
            "does not accept the API key",
            id="a key that is not accepted",
        ),
    ],
)
async def test_a_model_server(
    person: User,
    kind: type[ModelServer],
    settings: str,
    wrong: list[str],
    step: str,
    sentence: str,
) -> None:
    async with kind("return a + b") as server:
        named = settings.format(model=kind.model, key=server.key)
        person.configure(f'provider = "{kind.provider}"\nurl = "{server.url}"\n{named}\n')
        found = await asyncio.to_thread(person.found)
        listed = await asyncio.to_thread(person.run, "models", "--json")
    page = json.loads(listed.stdout)
    assert found.wrong == wrong
    assert sentence in found.steps[step]["sentence"]
    assert [name for name in found.steps if name in ("certificate", "token", "filters")] == []
    assert found.steps["completion"]["ok"] is (None if wrong == ["model"] else not wrong)
    if wrong == ["model"]:
        assert page["error"] == "NotAuthorized"
    else:
        assert page["provider"] == kind.provider
        assert page["models"]


async def test_a_model_that_is_still_loading(person: User) -> None:
    async with OllamaServer("return a + b", load_steps=1) as server:
        person.configure(f'provider = "ollama"\nurl = "{server.url}"\nmodel = "{server.model}"\n')
        ran = await asyncio.to_thread(person.checked, script=IMPATIENT)
        assert ran.returncode == 0
        assert f"is still loading the model {server.model}." in ran.stdout
        assert "Wait a minute, and try again." in ran.stdout
        assert "whether a suggestion comes is not known yet" in ran.stdout
        assert server.given_up == 1


@pytest.mark.skipif(not is_available(), reason="there is no model here")
def test_the_model_on_this_machine(person: User) -> None:
    person.configure('provider = "local"\n')
    found = person.found()
    assert found.code == 0
    assert list(found.steps) == (
        "settings provider engine model suggestions sharing completion".split()
    )
    assert found.steps["model"]["details"]["fimTokens"] == ["", "", ""]


@pytest.mark.parametrize(
    ("content", "step", "sentence", "remedy"),
    [
        pytest.param(None, "model", "There is no model file", "Name another", id="no file"),
        pytest.param(b"GGUF", "completion", "cannot be loaded as a model", "", id="a broken file"),
    ],
)
def test_a_model_file_that_cannot_be_run(
    person: User, content: bytes | None, step: str, sentence: str, remedy: str
) -> None:
    file = person.folder / "mine.gguf"
    if content is not None:
        file.write_bytes(content)
    person.configure(f"provider = 'local'\nmodelPath = '{file}'\n")
    found = person.found()
    assert found.wrong == [step]
    assert sentence in found.steps[step]["sentence"]
    assert remedy in found.steps[step]["remedy"]


# ---- what stays here


@pytest.mark.parametrize(
    ("name", "settings", "sentence", "remedy"),
    [
        pytest.param(".env", "", "hold secrets", "secretFiles", id="secrets"),
        pytest.param(
            "a.sql", 'exclude = ["*.sql"]\n', "exclude", "change `exclude` in ", id="excluded"
        ),
        pytest.param("gone.log", "", "Git ignores", "gitIgnored", id="ignored"),
    ],
)
def test_a_file_that_is_kept_back(
    person: User, instance: StandIn, name: str, settings: str, sentence: str, remedy: str
) -> None:
    person.connect(instance.url, settings)
    person.clone("https://github.com/ada/engine.git")
    (person.project / ".gitignore").write_text("*.log\n")
    (person.project / name).write_text("x = 1\n")
    found = person.found(name)
    assert found.wrong == ["sharing"]
    assert sentence in found.steps["sharing"]["sentence"]
    assert remedy in found.steps["sharing"]["remedy"]
    assert found.page["file"].endswith(name)
    # The same for the folder around it: other files may be sent.
    assert person.found(str(person.project)).code == 0


def test_a_language_that_is_off(person: User, instance: StandIn) -> None:
    person.connect(instance.url, 'trigger = "manual"\n[languages]\nmarkdown = false\n')
    (person.project / "README.md").write_text("# x\n")
    found = person.found("README.md")
    assert found.wrong == ["suggestions"]
    assert "off for this kind of document" in found.steps["suggestions"]["sentence"]
    assert "The setting `languages` can switch them on" in found.steps["suggestions"]["remedy"]
    said = person.found().steps["suggestions"]["sentence"]
    assert said.startswith("They come only when you ask, as `trigger` says (from ")
    assert said.endswith(" Off for: markdown.")


def test_there_is_no_such_file(person: User) -> None:
    ran = person.checked("no-such.py")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == 'Error: There is no file or folder "no-such.py".\n'


# ---- how it looks


def test_a_page_for_people(person: User, instance: StandIn) -> None:
    person.connect(instance.url)
    ran = person.checked(env={"TERM": "xterm", "LC_ALL": "C.UTF-8"})
    assert ran.returncode == 0
    assert "\x1b" not in ran.stdout
    lines = ran.stdout.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("✓")] == [
        *"settings provider proxy connection token version allowed attribution API model".split(),
        *"suggestions files filters completion".split(),
    ]
    assert lines[-1].startswith("All of this is right.")


@pytest.mark.skipif(sys.platform == "win32", reason="locales of Unix")
@pytest.mark.parametrize(
    "env",
    [
        pytest.param({"LC_ALL": "C", "TERM": "xterm"}, id="a locale without ticks"),
        pytest.param({"LC_ALL": "C.UTF-8", "TERM": "dumb"}, id="a plain terminal"),
    ],
)
def test_plain_marks(person: User, env: dict[str, str]) -> None:
    person.connect("http://127.0.0.1:9")
    ran = person.checked(env=env)
    assert ran.stdout.startswith("ok  settings")
    assert "\nBAD connection" in ran.stdout
    assert "\n                -> Is it running?" in ran.stdout
    assert "✓" not in ran.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")
def test_on_a_terminal_it_fits_and_shows_what_is_wrong_in_colour(person: User) -> None:
    person.connect("https://no-such-host.invalid")
    code, written = written_in_terminal(
        [*COMMAND, "check"],
        folder=person.project,
        environment={**person.env, "LC_ALL": "C.UTF-8"},
        size=(60, 40),
    )
    assert code == 3
    screen = pyte.Screen(60, 60)
    pyte.ByteStream(screen).feed(written)
    lines = [line.rstrip() for line in screen.display]
    (wrong,) = [number for number, line in enumerate(lines) if line.startswith("✗")]
    assert lines[wrong].startswith("✗ connection  No connection to no-such-host.invalid")
    assert screen.buffer[wrong][0].fg == "red"
    assert any(line.startswith("              → Check the address") for line in lines)
    assert "- certificate, token, version, allowed, attribution, API" in lines
    assert max(map(len, lines)) <= 60


def test_it_ends_in_time_whatever_the_instance_does(person: User) -> None:
    """Every answer is one that never comes, whatever the settings would wait for."""
    gone = Reply(status=200, body="{}", delay=300)
    pages = dict.fromkeys((*NEW, USER, FILTERS), gone)
    with running_stand_in(Answer(Gate()), pages=pages) as instance:
        person.connect(instance.url, "firstEventTimeout = 500\ntotalTimeout = 500\n")
        found = person.found(script=IMPATIENT)
    assert found.wrong == ["token", "filters", "completion"]
    for name in found.wrong:
        assert "in time" in found.steps[name]["sentence"] or "0.3" in found.steps[name]["sentence"]


def test_graphql_pages_of_the_stand_in_are_asked_once(person: User, instance: StandIn) -> None:
    person.connect(instance.url)
    person.found()
    asked = [f"{each.path}?{next(iter(each.query), '')}" for each in instance.requests]
    assert asked.count(USER) == 1
    assert asked.count(FILTERS) == 1
    assert len(instance.completions) == 1


def test_models(person: User, instance: StandIn) -> None:
    chat = model("anthropic::v1::claude-3-opus", capabilities=["chat"])
    instance.pages[MODELS] = models(model(STARCODER), model(QWEN), chat)
    person.connect(instance.url)
    ran = person.run("models")
    assert (ran.returncode, ran.stderr) == (
        0,
        "* is in use. The setting `model` names another.\n",
    )
    used, other, last = ran.stdout.splitlines()
    assert used.startswith("* fireworks/starcoder ")
    assert used.endswith("completes code, reads 2,048 tokens")
    assert other.startswith("  fireworks/qwen2.5-coder-7b ")
    assert "but the instance has it for chats" in last
    page = json.loads(person.run("models", "--json").stdout)
    assert page["provider"] == "sourcegraph"
    assert [each["inUse"] for each in page["models"]] == [True, False, False]
    assert page["models"][0] == {
        "name": "fireworks/starcoder",
        "title": "Starcoder",
        "kind": "completes code",
        "inputTokens": 2048,
        "inUse": True,
        "whyNot": None,
    }


def test_models_that_cannot_be_listed(person: User) -> None:
    with running_stand_in(rules=Rules(token="sgp_another"), pages=PAGES) as instance:
        person.connect(instance.url)
        ran = person.run("models")
        assert (ran.returncode, ran.stdout) == (3, "")
        assert "does not accept the access token" in ran.stderr
        assert json.loads(person.run("models", "--json").stdout)["error"] == "NotAuthorized"


def test_models_of_this_machine(person: User) -> None:
    file = person.folder / "a-model.gguf"
    file.write_bytes(b"GGUF")
    person.configure(f"provider = 'local'\nmodelPath = '{file}'\n")
    page = json.loads(person.run("models", "--json").stdout)
    assert page["models"][0]["name"] == str(file)
    assert page["models"][0]["inUse"]
    # The setting `model` would change nothing there.
    assert "The setting `modelPath` names another." in person.run("models").stderr


def test_graphql_is_all_there_is(person: User) -> None:
    """An older instance without a list of models names the one in use."""
    pages = {**OLD, USER: user(), CLIENT_CONFIG: graphql()}
    with running_stand_in(pages=pages) as instance:
        person.connect(instance.url)
        page = json.loads(person.run("models", "--json").stdout)
    assert [(each["name"], each["inUse"]) for each in page["models"]] == [
        ("fireworks/starcoder", True)
    ]
