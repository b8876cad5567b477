"""The embedded model for real: one process for all, which leaves with the last who needs it."""

import asyncio
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from lsp_completions.completer import complete
from lsp_completions.errors import ConfigurationError, LocalModelFailed
from lsp_completions.generations import Generations
from lsp_completions.kinds import quoted
from lsp_completions.local_model import client as local_model
from lsp_completions.local_model.client import Endpoint, LocalModel, Place
from lsp_completions.local_model.process import Address
from lsp_completions.pipeline.context import Windows, context_at
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.prompt import build_prompt
from lsp_completions.pipeline.templates import family_of
from lsp_completions.providers.base import Event, HttpRequest, Provider
from lsp_completions.providers.llama_cpp import FIELDS
from lsp_completions.providers.local import Local
from lsp_completions.request import Request
from lsp_completions.settings import Settings
from lsp_completions.stdio import watch
from lsp_completions.transport import Timeouts, Transport
from tests.support.llama_server import model_file
from tests.support.lsp_client import LspClient
from tests.support.model_host import OPTIONS, Host
from tests.support.tiny_gguf import tiny_model

PATIENCE = 60.0  # seconds before a test that waits gives up
PATIENT = Timeouts(connect=PATIENCE, first_event=PATIENCE, total=PATIENCE)

on_unix = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no such signals, permissions and folders"
)


@pytest.fixture(scope="session")
def model() -> Path:
    return model_file()


class Machine:
    """Where the processes of one test are found, and what is left of them."""

    def __init__(self, folder: Path, model: Path) -> None:
        self.folder = folder
        self.model = model
        self.locals: list[LocalModel] = []
        self.hosts: list[Host] = []

    def local(self, model: Path | None = None, *, options: tuple[str, ...] = OPTIONS) -> LocalModel:
        """The model, as a server sees it."""
        path = str(model or self.model)
        self.locals.append(LocalModel(path, folder=self.folder, process_options=options))
        return self.locals[-1]

    def host(self, *, below_an_editor: bool = False) -> Host:
        """A server in a process of its own."""
        self.hosts.append(Host(self.folder, self.model, below_an_editor=below_an_editor))
        return self.hosts[-1]

    def place(self, model: Path | None = None) -> Place:
        return Place.of(model or self.model, self.folder)

    def address(self, model: Path | None = None) -> Address:
        """Where the process says that it is."""
        address = Address.read(self.place(model).address)
        assert address is not None
        return address

    @property
    def pid(self) -> int:
        return self.address().pid

    async def clean_up(self) -> None:
        for local in self.locals:
            await local.aclose()
        for host in self.hosts:
            host.close()
        for file in self.folder.glob("*.json"):
            # A process that was killed leaves its file behind, with an id that may be anybody's.
            if (address := Address.read(file)) is not None and Place(
                address=file, log=file
            ).is_owned():
                await gone(address.pid, "the process leaves")


@pytest.fixture
async def machine(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Machine, None]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    machine = Machine(tmp_path / "run", model)
    yield machine
    await machine.clean_up()


async def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for something that other processes do."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < PATIENCE, f"waited in vain until {what}"
        await asyncio.sleep(0.02)


async def gone(pid: int, what: str) -> None:
    await until(lambda: has_ended(pid), what)


def has_ended(pid: int) -> bool:
    return not watch.exists(pid)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)


async def completed(at: Endpoint, prompt: str, tokens: int = 4) -> dict[str, Any]:
    """What the model says, with how it came to it."""
    headers = {"Authorization": f"Bearer {at.key.reveal()}"}
    body = {"prompt": prompt, "n_predict": tokens, "temperature": 0, "cache_prompt": True}
    async with httpx.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as client:
        reply = await client.post(f"{at.url}/completion", json=body)
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


# ---- one process


async def test_it_starts_with_the_first_request_and_writes_code(machine: Machine) -> None:
    said: list[str] = []
    local = machine.local()
    at = await local.ready(said.append)
    assert said == [f"Starting the model {machine.model.stem}"]
    assert at.model_path == machine.model
    assert (await completed(at, "def add(a, b):\n    return"))["content"] == " a + b\n"

    assert await local.ready(said.append) == at
    assert len(said) == 1


async def test_all_servers_share_one(machine: Machine) -> None:
    hosts = [machine.host() for _ in range(4)]
    for host in hosts:
        host.ask()
    answers = {json.dumps(host.told()) for host in hosts}
    assert len(answers) == 1
    assert len(list(machine.folder.glob("*.json"))) == 1

    pid = machine.pid
    for host in hosts[:3]:
        host.kill()
    assert hosts[3].ready()["url"] == json.loads(answers.pop())["url"]
    assert machine.pid == pid
    hosts[3].kill()
    await gone(pid, "the process leaves with its last server")
    assert not machine.place().address.exists()


@on_unix
async def test_four_editors_complete_with_one_process(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "folder", tmp_path / "lsp-completions")
    text = "import json\n\n\ndef load(path):\n    with open(path) as f:\n        config = "
    document = {"uri": "file:///config.py", "languageId": "python", "version": 1, "text": text}
    where = {"uri": document["uri"]}
    at = {"line": 5, "character": 17}
    options = {
        "provider": "local",
        "modelPath": str(machine.model),
        "temperature": 0,
        "totalTimeout": PATIENCE,
        "firstEventTimeout": PATIENCE,
    }
    with ExitStack() as stack:
        clients = []
        for _ in range(4):
            environment = {"XDG_RUNTIME_DIR": str(tmp_path)}
            argv = [sys.executable, "-m", "lsp_completions"]
            client = stack.enter_context(LspClient.start(argv, env=environment))
            client.initialize(initializationOptions=options)
            client.notify("textDocument/didOpen", {"textDocument": document})
            clients.append(client)
        asked = {"textDocument": where, "position": at, "context": {"triggerKind": 1}}
        ids = [client.send("textDocument/inlineCompletion", asked) for client in clients]
        for client, id in zip(clients, ids, strict=True):
            answer = client.take(id, timeout=PATIENCE)
            assert [item["insertText"] for item in answer["result"]["items"]] == ["json.load(f)"]

        pid = machine.pid
        assert len(list(machine.folder.glob("*.json"))) == 1
        for name, of in [("model", pid), *(("server", client.process.pid) for client in clients)]:
            print(name, memory(of))
        for client in clients:
            client.process.kill()
    await gone(pid, "the process leaves")


def memory(pid: int) -> str:
    """How much of it a process uses, where that can be read."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return "unknown"
    return " ".join(re.findall(r"(?:VmRSS|RssAnon):\s+\d+ kB", status))


async def test_another_model_has_another_process(machine: Machine, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.hardlink_to(machine.model)
    first, second = machine.local(), machine.local(other)
    one, two = await asyncio.gather(first.ready(), second.ready())
    assert one.url != two.url
    assert one.key != two.key
    pids = [machine.pid, machine.address(other).pid]
    await first.aclose()
    await gone(pids[0], "the first process leaves")
    assert await second.ready() == two


async def test_a_file_that_was_replaced_is_another_model(machine: Machine, tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    model.hardlink_to(machine.model)
    before = machine.place(model)
    model.unlink()
    model.write_bytes(b"another")
    assert machine.place(model) != before


async def test_requests_that_come_together_wait_for_one_start(machine: Machine) -> None:
    local = machine.local()
    said: list[str] = []
    waiting = [asyncio.create_task(local.ready(said.append)) for _ in range(5)]
    await until(lambda: bool(said), "it starts")
    waiting[0].cancel()
    waiting[3].cancel()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert len({result for result in results if isinstance(result, Endpoint)}) == 1
    assert [type(result) for result in results].count(asyncio.CancelledError) == 2
    assert len(said) == 1


# ---- filling in the middle

QWEN = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
FILES = [
    pytest.param("notes.gguf", QWEN, {}, id="usual tokens, and a name that says nothing"),
    pytest.param("qwen2.5-coder.gguf", (), {}, id="a name that says so, and no tokens"),
    pytest.param("notes.gguf", ("▁<PRE>", "▁<SUF>", "▁<MID>"), {}, id="tokens with a space"),
    pytest.param("starcoder.gguf", QWEN, {}, id="usual tokens, and another one's name"),
    pytest.param(
        "notes.gguf",
        ("{before}", "{after}", "{now}"),
        {"fim_pre": "{before}", "fim_suf": "{after}", "fim_mid": "{now}"},
        id="tokens of its own, named by number",
    ),
]


def tiny(folder: Path, name: str, tokens: tuple[str, ...], keys: dict[str, str]) -> Path:
    """A model that says `filled` where its last token stands, and else `plain`."""
    file = folder / name
    answers = {tokens[2]: "filled"} if tokens else {}
    file.write_bytes(tiny_model(tokens, answers=answers, **keys))
    return file


@pytest.mark.parametrize(("name", "tokens", "keys"), FILES)
async def test_the_engine_reads_the_file_s_own_tokens_in_order(
    machine: Machine, tmp_path: Path, name: str, tokens: tuple[str, ...], keys: dict[str, str]
) -> None:
    at = await machine.local(tiny(tmp_path, name, tokens, keys)).ready()
    # Whoever comes to a model that runs already is told the same.
    assert await machine.local(at.model_path).ready() == at
    provider = Local().served(at.url, at.key, model_path=str(at.model_path), fim=at.fim)
    context = context_at(
        Document.open("file:///sums.py", "python", 1, "a = b\n+ c"),
        4,
        path="sums.py",
        windows=Windows(prefix_chars=100, suffix_chars=100),
    )
    prompt = build_prompt(context, family=family_of(provider.prompts_for))
    sent = json.loads(provider.request(prompt, max_tokens=4).body)["prompt"]
    headers = {"Authorization": f"Bearer {at.key.reveal()}"}
    async with httpx.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as client:
        body = {"content": sent, "parse_special": True, "with_pieces": True}
        reply = await client.post(f"{at.url}/tokenize", json=body)
    pieces = [token["piece"] for token in reply.json()["tokens"]]
    framed = [piece for piece in pieces if piece in tokens]
    assert framed == list(tokens)
    assert (await completed(at, sent))["content"].strip() == ("filled" if tokens else "plain")
    before, _, after = sent.partition(tokens[1]) if tokens else (sent, "", "")
    # Who continues plain text says the space too.
    assert before.endswith("a = " if tokens else "a =")
    assert after == (f"b\n+ c{tokens[2]}" if tokens else "")


@on_unix
@pytest.mark.parametrize(("name", "tokens", "keys"), FILES)
def test_editors_and_the_command_line_get_what_is_filled_in(
    tmp_path: Path, name: str, tokens: tuple[str, ...], keys: dict[str, str]
) -> None:
    model = tiny(tmp_path, name, tokens, keys)
    said = "filled" if tokens else "plain"
    options = {"provider": "local", "modelPath": str(model), "totalTimeout": PATIENCE}
    environment = {
        **os.environ,
        "XDG_RUNTIME_DIR": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    command = [sys.executable, "-m", "lsp_completions"]
    document = {
        "uri": "file:///a.py",
        "languageId": "python",
        "version": 1,
        "text": "a = \nb = 1\n",
    }
    (tmp_path / "config" / "lsp-completions").mkdir(parents=True)
    config = tmp_path / "config" / "lsp-completions" / "config.toml"
    config.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items()))
    with LspClient.start(command, env=environment) as client:
        client.initialize()
        client.notify("textDocument/didOpen", {"textDocument": document})
        asked = {
            "textDocument": {"uri": document["uri"]},
            "position": {"line": 0, "character": 4},
            "context": {"triggerKind": 1},
        }
        id = client.send("textDocument/inlineCompletion", asked)
        items = client.take(id, timeout=PATIENCE)["result"]["items"]
        assert [item["insertText"].strip() for item in items] == [said]

        (tmp_path / "a.py").write_text(str(document["text"]))
        ran = subprocess.run(
            [*command, "complete", "--json", "a.py:1:5"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert json.loads(ran.stdout)["text"].strip() == said


# ---- nothing is left behind


@pytest.mark.parametrize(
    "order",
    [
        pytest.param(order, id=", ".join(order))
        for order in itertools.permutations(("editor", "server", "model"))
    ],
)
async def test_killed_in_every_order(machine: Machine, order: tuple[str, ...]) -> None:
    host = machine.host(below_an_editor=True)
    host.ready()
    pids = {"editor": host.process.pid, "server": host.pid, "model": machine.pid}
    for name in order:
        if not has_ended(pids[name]):
            kill(pids[name])
        if name == "editor":
            host.process.wait()
    for name, pid in pids.items():
        await gone(pid, f"the {name} is gone")
    assert not machine.place().is_owned()

    # Whatever they left, the next one begins anew.
    at = await machine.local().ready()
    assert machine.pid != pids["model"]
    assert (await completed(at, "x ="))["content"]


async def test_a_server_outlives_its_model(machine: Machine) -> None:
    one, two = machine.host(), machine.host()
    before = [one.ready(), two.ready()]
    kill(machine.pid)
    after = [one.ready(), two.ready()]
    assert before[0] == before[1]
    assert after[0] == after[1]
    assert before[0]["key"] != after[0]["key"]


async def test_who_starts_it_is_killed_while_it_loads(machine: Machine) -> None:
    host = machine.host()
    host.ask()
    await until(machine.place().is_owned, "it starts")
    host.kill()
    # It waits a while for a lease, and the next one gets it.
    local = machine.local()
    await local.ready()
    pid = machine.pid
    await local.aclose()
    await gone(pid, "it leaves")


async def test_nobody_comes_after_it_was_started(machine: Machine) -> None:
    child = machine.place().spawn(machine.model, ("--first-lease", "0.2"))
    assert await asyncio.to_thread(child.wait, PATIENCE) == 0
    assert not machine.place().address.exists()


async def test_a_second_process_leaves_it_to_the_first(machine: Machine) -> None:
    await machine.local().ready()
    pid = machine.pid
    child = machine.place().spawn(machine.model, ())
    assert await asyncio.to_thread(child.wait, PATIENCE) == 3
    assert machine.pid == pid


async def test_closed_while_it_starts(machine: Machine) -> None:
    local = machine.local(options=("--first-lease", "0.2"))
    waiting = asyncio.create_task(local.ready())
    await until(machine.place().is_owned, "it starts")
    await local.aclose()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await until(lambda: not machine.place().is_owned(), "it leaves")
    assert not machine.place().address.exists()


async def test_idle_it_leaves_and_the_next_request_starts_it_again(machine: Machine) -> None:
    local = machine.local(options=("--idle", "0.5"))
    before = await local.ready()
    pid = machine.pid
    await gone(pid, "it leaves")
    after = await local.ready()
    assert before.key != after.key


async def test_it_holds_none_of_the_server_s_pipes(machine: Machine) -> None:
    host = machine.host()
    host.ready()
    keeps_it = machine.local()
    await keeps_it.ready()
    pid = machine.pid
    host.kill()
    assert await asyncio.to_thread(host.rest_of_output) == ""
    assert not has_ended(pid)


@on_unix
async def test_signals_for_the_editor_s_processes_do_not_reach_it(machine: Machine) -> None:
    await machine.local().ready()
    assert os.getsid(machine.pid) == machine.pid


# ---- what others find there


async def test_an_address_that_is_out_of_date(machine: Machine) -> None:
    """A process that was killed leaves its file, and anybody may have its port by now."""

    async def stranger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        challenge = await reader.readline()
        writer.write(b"0" * 64 + b" challenge\n")
        heard.append((challenge, await reader.readline()))
        writer.close()

    heard: list[tuple[bytes, bytes]] = []
    async with await asyncio.start_server(stranger, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        Address(pid=1, control_port=port, port=port, key="secret", model="x").write(
            machine.place().address
        )
        at = await machine.local().ready()
    assert str(port) not in at.url
    assert heard
    assert all(len(challenge) == 33 and proof == b"" for challenge, proof in heard)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="empty"),
        pytest.param('{"pid": 1, "control_por', id="cut off"),
        pytest.param("[]", id="something else"),
        pytest.param(
            '{"pid": 1, "control_port": 99999999, "port": 1, "key": "k", "model": "m"}',
            id="no port",
        ),
        pytest.param(
            '{"pid": 1, "control_port": "22", "port": 1, "key": "k", "model": "m"}',
            id="wrong types",
        ),
        pytest.param(
            '{"pid": 1, "control_port": 22, "port": 1, "key": "k", "model": "m", "fim": [1]}',
            id="tokens that are none",
        ),
        pytest.param(
            '{"pid": 1, "control_port": 22, "port": 1, "key": "k", "model": "m",'
            ' "fim": {"prefix": 1, "others": []}}',
            id="tokens that are no texts",
        ),
    ],
)
async def test_an_address_that_cannot_be_read(machine: Machine, content: str) -> None:
    machine.place().address.write_text(content)
    await machine.local().ready()


async def test_an_address_that_somebody_deleted_comes_back(machine: Machine) -> None:
    first, second = machine.local(), machine.local()
    at = await first.ready()
    machine.place().address.unlink()
    assert await second.ready() == at


async def test_a_lease_needs_the_key(machine: Machine) -> None:
    await machine.local().ready()
    address = machine.address()
    reader, writer = await asyncio.open_connection("127.0.0.1", address.control_port)
    writer.write(b"challenge\n")
    proof, _, challenge = (await reader.readline()).decode().strip().partition(" ")
    assert proof == address.proof("process", "challenge")
    # What the process proves is no proof of ours.
    writer.write(f"{address.proof('process', challenge)}\n".encode())
    assert await reader.readline() == b""
    writer.close()


async def test_completions_need_the_key(machine: Machine) -> None:
    at = await machine.local().ready()
    async with httpx.AsyncClient(base_url=at.url, trust_env=False) as client:
        for path in ("/completion", "/infill", "/v1/completions", "/tokenize"):
            assert (await client.post(path, json={"prompt": "x"})).status_code == 401, path
        for path in ("/slots", "/props", "/v1/models"):
            assert (await client.get(path)).status_code == 401, path
        assert (await client.get("/")).status_code == 404, "no page for browsers"
        key = {"Authorization": f"Bearer {at.key.reveal()}", "Origin": "https://evil.example"}
        reply = await client.get("/v1/models", headers=key)
        assert reply.headers["access-control-allow-origin"] == "https://none.invalid"
        assert (await client.get("/slots", headers=key)).status_code == 501, "they hold prompts"


@on_unix
async def test_nobody_else_can_read_its_files(machine: Machine) -> None:
    machine.folder.mkdir(mode=0o755)
    await machine.local().ready()
    assert machine.folder.stat().st_mode & 0o777 == 0o700
    for file in (*machine.folder.iterdir(), local_model.log_file()):
        assert file.stat().st_mode & 0o777 == 0o600, file


@on_unix
async def test_a_folder_that_leads_elsewhere(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    machine.folder.symlink_to(tmp_path / "theirs")
    with pytest.raises(LocalModelFailed, match="is not a folder of yours"):
        await machine.local().ready()


async def test_it_takes_nothing_from_the_folder_one_is_in(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for module in ("xllamacpp", "json", "filelock", "lsp_completions"):
        (project / f"{module}.py").write_text("raise SystemExit('mine')")
    monkeypatch.chdir(project)
    await machine.local().ready()


async def test_its_log_holds_no_code(machine: Machine) -> None:
    at = await machine.local().ready()
    headers = {"Authorization": f"Bearer {at.key.reveal()}"}
    async with httpx.AsyncClient(base_url=at.url, headers=headers, trust_env=False) as client:
        for path, content in (
            ("/completion", '{"prompt": "hunter2'),
            ("/completion", json.dumps({"prompt": "hunter2 " * 3000})),
            ("/completion", json.dumps({"prompt": "hunter2", "n_predict": "hunter2"})),
            ("/infill", json.dumps({"input_prefix": "hunter2"})),
            ("/hunter2", "{}"),
        ):
            assert (await client.post(path, content=content)).status_code >= 400
    await completed(at, "hunter2 = ")
    assert "hunter2" not in local_model.log_file().read_text()


# ---- going wrong


# Elsewhere a file's name is always text.
NO_TEXT = [b"no-model-\xff.gguf"] if sys.platform == "linux" else []


@pytest.mark.parametrize("name", [b"no-model.gguf", "no-model-é.gguf".encode(), *NO_TEXT])
async def test_a_file_that_is_no_model(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: bytes
) -> None:
    no_model = tmp_path / os.fsdecode(name)
    no_model.write_bytes(b"GGUF" + bytes(1000))
    local = machine.local(no_model)
    with pytest.raises(LocalModelFailed) as failed:
        await local.ready()
    assert str(failed.value) == (
        f"The file {quoted(no_model.name)} cannot be loaded as a model. "
        f"What it said is in {local_model.log_file()}."
    )
    said = local_model.log_file().read_text(encoding="utf-8", errors="replace")
    assert "no-model" in said
    assert "Traceback" not in said
    # Not for every key that is pressed.
    monkeypatch.setattr(Place, "spawn", lambda *_: pytest.fail("it is started again"))
    with pytest.raises(LocalModelFailed, match="cannot be loaded"):
        await local.ready()


async def test_no_model(machine: Machine, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="There is no model file"):
        await machine.local(tmp_path / "none.gguf").ready()


async def test_no_engine(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lsp_completions.local_model.files.has_engine", lambda: False)
    with pytest.raises(ConfigurationError, match="extra `local`"):
        await machine.local().ready()


async def test_a_place_that_cannot_be_written(machine: Machine) -> None:
    machine.folder.write_text("a file where a folder is wanted")
    with pytest.raises(LocalModelFailed, match="No place for the process"):
        await machine.local().ready()


# ---- engines that misbehave

ENGINE = """
import os, threading, time
class Any:
    def __getattr__(self, name):
        value = self.__dict__[name] = Any()
        return value
CommonParams = Any
class Server:
    listening_address = "http://127.0.0.1:9"
    def __init__(self, params):
        %s
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put an engine of one's own in the place of xllamacpp."""

    def put(code: str) -> None:
        folder = tmp_path / "engine"
        folder.mkdir()
        (folder / "xllamacpp.py").write_text(ENGINE % code)
        monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)

    return put


async def test_an_engine_that_crashes(machine: Machine, engine: Callable[[str], None]) -> None:
    engine("os._exit(77)")
    with pytest.raises(LocalModelFailed, match=r"The process of the model .* ended \(code 77\)"):
        await machine.local().ready()


async def test_an_engine_that_cannot_be_imported(
    machine: Machine, engine: Callable[[str], None]
) -> None:
    engine("pass\nraise ImportError('libgomp.so.1: cannot open shared object file')")
    with pytest.raises(LocalModelFailed, match=r"ended \(code 1\)"):
        await machine.local().ready()
    assert "libgomp" in local_model.log_file().read_text()


async def test_an_engine_that_ends_again_and_again(
    machine: Machine, engine: Callable[[str], None]
) -> None:
    engine("threading.Timer(0.2, os._exit, [77]).start()")
    local = machine.local()
    for _ in range(local_model.MOST_STARTS):
        await local.ready()
        pid = machine.pid
        await gone(pid, "it crashes")
    with pytest.raises(LocalModelFailed, match="ends again and again"):
        await local.ready()


async def test_two_servers_wait_while_it_loads(
    machine: Machine, engine: Callable[[str], None]
) -> None:
    engine("time.sleep(2)")
    one, two = machine.local(), machine.local()
    first = asyncio.create_task(one.ready())
    await until(machine.place().is_owned, "it starts")
    assert await two.ready() == await first


async def test_a_token_for_elsewhere_is_none_of_its_business(
    machine: Machine, engine: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SRC_ACCESS_TOKEN", "sgp_secret")
    engine("os._exit(78 if 'SRC_ACCESS_TOKEN' in os.environ else 77)")
    with pytest.raises(LocalModelFailed, match="code 77"):
        await machine.local().ready()


async def test_an_early_answer_is_not_taken_for_a_later_one(machine: Machine) -> None:
    """Who is cancelled while waiting leaves an answer behind that is not read as the next one."""
    local = machine.local()
    at = await local.ready()
    for _ in range(20):
        asked = asyncio.create_task(local.ready())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        asked.cancel()
    await asyncio.wait([asked])
    assert await local.ready() == at
    kill(machine.pid)
    assert (await local.ready()).key != at.key


# ---- lively


async def test_typing_reads_next_to_nothing_again(machine: Machine) -> None:
    """Nearly all of each prompt is in the engine's cache, across the steps of the window."""
    lines = [f"    total_{n} = price_{n} * amount_{n}  # of the item\n" for n in range(40)]
    before = "def sums():\n" + "".join(lines)
    typed = "    for number, item in enumerate(items):\n        if item is None:\n" + 350 * "x"
    at = await machine.local().ready()
    provider = Local().served(at.url, at.key, model_path=str(at.model_path))
    read: list[tuple[int, int]] = []
    transport = Transport()

    async def events(request: HttpRequest) -> AsyncGenerator[Event, None]:
        asked = json.loads(request.body)
        body = {**asked, "timings_per_token": True, "response_fields": [*FIELDS, "timings"]}
        asking = replace(request, body=json.dumps(body).encode())
        async with aclosing(transport.events(asking, PATIENT)) as stream:
            async for event in stream:
                if (timings := json.loads(event.data).get("timings")) is not None:
                    read[-1] = (timings["cache_n"], timings["prompt_n"])
                yield event

    async def provided() -> Provider:
        return provider

    generations = Generations(events)
    # Every third key: one types faster than the model answers.
    for count in range(0, len(typed), 3):
        document = Document.open("file:///sums.py", "python", 1, before + typed[:count])
        read.append((0, 0))
        request = Request(
            document=document,
            offset=document.length,
            path="sums.py",
            settings=Settings(max_tokens=1),
            provider=provided,
            current=lambda document=document: document,  # type: ignore[misc]
        )
        await complete(request, generations)
    await generations.aclose()
    await transport.aclose()

    cached, fresh = (sum(column) for column in zip(*read, strict=True))
    assert all(map(sum, read))
    assert fresh > 500, "the window has moved"
    assert cached / (cached + fresh) > 0.9


async def test_an_abandoned_prompt_is_read_no_further(machine: Machine) -> None:
    at = await machine.local().ready()
    prompt = "\n".join(f"value_{n} = compute({n}, {n * 7})" for n in range(30))
    body = {"prompt": prompt, "stream": True, "return_progress": True}
    headers = {"Authorization": f"Bearer {at.key.reveal()}"}
    async with (
        httpx.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as client,
        client.stream("POST", f"{at.url}/completion", json=body) as reply,
    ):
        async for line in reply.aiter_lines():
            if '"processed":32' in line:
                break
    assert (await completed(at, "def f(x):\n    return"))["content"]
    timings = (await completed(at, prompt))["timings"]
    assert timings["prompt_n"] > 2 * timings["cache_n"]


async def test_going_back_to_another_file_reads_it_from_memory(machine: Machine) -> None:
    at = await machine.local().ready()
    one, other = ("\n".join(f"{name}_{n} = {n}" for n in range(20)) for name in ("one", "other"))
    await completed(at, one)
    await completed(at, other)
    timings = (await completed(at, one + "\n"))["timings"]
    assert timings["cache_n"] > 0.9 * (timings["cache_n"] + timings["prompt_n"])
