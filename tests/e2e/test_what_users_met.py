"""What users of such systems met, tried on the real process with words of our own."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_completions import INLINE, MENU, NEOVIM, SERVER, Editor, running_editor, texts
from tests.e2e.test_life_cycle import process
from tests.support import jumping_clocks
from tests.support.lsp_client import LspClient
from tests.support.sourcegraph import TOKEN, Answer, Reply, rate_limited, running_stand_in


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    options = {"menu": "on", "maxTokens": 200}
    yield from running_editor(NEOVIM, initializationOptions=options)


def opened(editor: Editor, text: str, **document: Any) -> dict[str, Any]:
    """Open `text` as it stands; the params of a request at the end of its first line."""
    uri = document.pop("uri", f"file:///w/{abs(hash(text))}.py")
    given = {"uri": uri, "languageId": "python", "version": 1, "text": text, **document}
    editor.client.notify("textDocument/didOpen", {"textDocument": given})
    character = len(text.partition("\n")[0].encode())
    position = {"line": 0, "character": character}
    return {"textDocument": {"uri": uri}, "position": position, "context": {"triggerKind": 1}}


def change(editor: Editor, uri: str, line: int, start: int, end: int, text: str) -> None:
    places = [{"line": line, "character": character} for character in (start, end)]
    edit = {"range": dict(zip(("start", "end"), places, strict=True)), "text": text}
    document = {"uri": uri, "version": None}
    params = {"textDocument": document, "contentChanges": [edit]}
    editor.client.notify("textDocument/didChange", params)


def prompt(editor: Editor) -> str:
    """What the model was told last."""
    return str(editor.instance.completions[-1].json["messages"][0]["text"])


# ---- the protocol


@pytest.mark.parametrize("version", [None, 0, "absent"])
def test_documents_without_versions(editor: Editor, version: Any) -> None:
    editor.says("1")
    at = opened(editor, f"x{version} = \n", version=version)
    if version == "absent":
        del at["context"]
    assert texts(editor.client.result(INLINE, at)) == ["1"]
    change(editor, at["textDocument"]["uri"], 0, 0, 1, "yy")
    at["position"]["character"] += 1
    assert texts(editor.client.result(INLINE, at)) == ["1"]
    assert f"yy{version} = " in prompt(editor)


SEPARATORS = ("\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85")


@pytest.mark.parametrize("separator", SEPARATORS, ids=[f"U+{ord(s):04X}" for s in SEPARATORS])
def test_lines_end_where_the_protocol_says(editor: Editor, separator: str) -> None:
    editor.says("1")
    uri = f"file:///w/separator{ord(separator)}.py"
    at = opened(editor, f"a{separator}b\nc", uri=uri)
    change(editor, uri, 1, 0, 1, "X = ")
    at = {**at, "position": {"line": 1, "character": 4}}
    assert texts(editor.client.result(INLINE, at)) == ["1"]
    assert f"a{separator}b\nX = " in prompt(editor)


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        pytest.param("untitled:Untitled-1", "Untitled-1", id="untitled"),
        pytest.param("untitled:/home/me/secret-name/a.py", "a.py", id="untitled with a path"),
        pytest.param("vscode-notebook-cell:/w/n.ipynb#W0s", "n.ipynb", id="a notebook's cell"),
    ],
)
def test_documents_that_are_no_files(uri: str, shown: str) -> None:
    for own in running_editor(NEOVIM, workspaceFolders=None):
        own.says("<- 1")
        at = opened(own, "x ", uri=uri)
        (item,) = own.client.result(INLINE, at)["items"]
        assert item["insertText"] == "<- 1"
        assert shown in prompt(own)
        assert "secret-name" not in prompt(own)


@pytest.mark.parametrize(
    ("opens", "asks"),
    [
        pytest.param("file:///w/a.py", "file:/w/a.py", id="one slash"),
        pytest.param("file:///c%3A/a.py", "file:///c:/a.py", id="a drive, encoded"),
        pytest.param("file:///c:/a.py", "file:///C:/a.py", id="a drive, upper case"),
        pytest.param("file:///w/%61.py", "file:///w/a.py", id="a letter, encoded"),
        pytest.param("file:///w/a%20b.py", "file:///w/a b.py", id="a space"),
    ],
)
def test_two_spellings_of_one_document(editor: Editor, opens: str, asks: str) -> None:
    editor.says("1")
    for first, second in ((opens, asks), (asks, opens)):
        at = opened(editor, "x = ", uri=first)
        at["textDocument"] = {"uri": second}
        assert texts(editor.client.result(INLINE, at)) == ["1"]
        editor.client.notify("textDocument/didClose", {"textDocument": {"uri": second}})
        assert editor.client.result(INLINE, at)["items"] == []


@pytest.mark.parametrize("language", ["", "rust", "typescriptreact", "COBOL", "ü", "x" * 999])
def test_any_language(editor: Editor, language: str) -> None:
    editor.says("1")
    at = opened(editor, "x = ", languageId=language, uri=f"file:///w/l{len(language)}")
    assert texts(editor.client.result(INLINE, at)) == ["1"]
    assert editor.instance.completions[-1].status == 200


@pytest.mark.parametrize("inline", [{}, {"dynamicRegistration": False}, None])
def test_it_is_offered_whatever_is_announced(inline: object) -> None:
    """And registered with nobody who cannot be told afterwards."""
    with LspClient.start(SERVER) as client:
        capabilities = {"textDocument": {"inlineCompletion": inline}}
        offered = client.initialize(capabilities)["capabilities"]
        assert offered["inlineCompletionProvider"] == {}
        assert "completionProvider" in offered
        client.settle()
        registered = [each["params"] for each in client.requests if "register" in each["method"]]
        assert "inlineCompletion" not in str(registered)
        assert client.stop() == 0


def test_a_line_too_long_for_any_screen(editor: Editor) -> None:
    line = "x" * 1738
    editor.says("y" * 300)
    at = opened(editor, line)
    for method in (INLINE, MENU):
        for item in editor.client.result(method, at)["items"]:
            where = (item.get("textEdit") or item)["range"]
            assert where["start"]["line"] == where["end"]["line"] == 0
            assert 0 <= where["start"]["character"] <= where["end"]["character"] <= 1738
            assert "additionalTextEdits" not in item


def test_a_command_that_reports_after_the_document_is_closed(editor: Editor) -> None:
    editor.says("1")
    at = opened(editor, "accepted = ")
    (item,) = editor.client.result(INLINE, at)["items"]
    editor.client.notify("textDocument/didClose", {"textDocument": at["textDocument"]})
    for _ in range(2):
        assert editor.client.result("workspace/executeCommand", item["command"]) is None


# ---- workspaces


def test_a_folder_whose_drive_is_written_otherwise() -> None:
    for own in running_editor(NEOVIM, workspaceFolders=[{"uri": "file:///C:/Repo", "name": "r"}]):
        own.says("1")
        at = opened(own, "x = ", uri="file:///c%3A/repo/pkg/a.py")
        assert texts(own.client.result(INLINE, at)) == ["1"]
        assert "pkg/a.py" in prompt(own)
        assert "epo/pkg/a.py" not in prompt(own)


def test_a_document_opened_twice_is_the_second(editor: Editor) -> None:
    editor.says("1")
    uri = "file:///w/twice.py"
    opened(editor, "first = 1\nx = ", uri=uri, version=7)
    at = opened(editor, "second = ", uri=uri, version=1)
    opened(editor, "second = ", uri="file:///w/renamed.py")
    assert texts(editor.client.result(INLINE, at)) == ["1"]
    assert "second = " in prompt(editor)
    assert "first" not in prompt(editor)


def test_a_file_that_was_removed_is_completed_from_memory(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    (folder / "a.py").write_text("x = \n")
    for own in running_editor(NEOVIM):
        own.says("1")
        at = opened(own, "x = ", uri=(folder / "a.py").as_uri())
        (folder / "a.py").unlink()
        assert texts(own.client.result(INLINE, at)) == ["1"]
        folder.rmdir()
        change(own, at["textDocument"]["uri"], 0, 0, 1, "yy")
        at["position"]["character"] += 1
        assert texts(own.client.result(INLINE, at)) == ["1"]


# ---- the start


@pytest.mark.parametrize(
    ("env", "told"),
    [
        pytest.param({"SRC_ACCESS_TOKEN": None}, "No access token for", id="no token"),
        pytest.param({"ALL_PROXY": "socks5://[::1"}, "ALL_PROXY", id="a proxy that is no address"),
        pytest.param({"SRC_ENDPOINT": "::nonsense::"}, "SRC_ENDPOINT", id="no address"),
    ],
)
def test_a_bad_start_is_told_once_and_answers(env: dict[str, str | None], told: str) -> None:
    with (
        running_stand_in(Answer("1")) as instance,
        LspClient.start(
            SERVER, env={"SRC_ENDPOINT": instance.url, "SRC_ACCESS_TOKEN": TOKEN, **env}
        ) as client,
    ):
        # Else the model on this machine would answer.
        options = {"provider": "sourcegraph"}
        client.initialize(NEOVIM, rootUri="file:///w", initializationOptions=options)
        own = Editor(client, instance)
        for number in range(3):
            at = opened(own, f"x{number} = ")
            assert texts(client.result(INLINE, at)) in ([], ["1"])
        client.settle()
        messages = [
            each["params"]["message"]
            for each in client.waiting()
            if each.get("method") == "window/showMessage"
        ]
        assert len(messages) == len(set(messages))
        assert any(told in each for each in messages), messages
        assert client.stop() == 0


@pytest.mark.parametrize("tail", ["/", "  ", "//"])
def test_addresses_as_people_write_them(tail: str) -> None:
    with running_stand_in(Answer("1")) as instance:
        env = {"SRC_ENDPOINT": instance.url + tail, "SRC_ACCESS_TOKEN": f" {TOKEN}\n"}
        with LspClient.start(SERVER, env=env) as client:
            client.initialize(NEOVIM, rootUri="file:///w")
            assert texts(client.result(INLINE, opened(Editor(client, instance), "x = "))) == ["1"]
            assert "//" not in instance.completions[-1].path
            assert client.stop() == 0


# ---- answers


LIMITED = (
    'event: error\ndata: {"error":"you have exceeded the concurrency limit of 3 requests. '
    'Retry after 2025-03-07 12:28:18 +0000 UTC\\n"}\n\nevent: done\ndata: {}\n\n'
)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(
            Reply(status=200, body='Somebody\'s API failed with: {"detail":"Rate limit exceeded"}'),
            id="plain words, 200",
        ),
        pytest.param(
            Reply(status=500, body='Somebody\'s API failed with: {"detail":"Rate limit exceeded"}'),
            id="plain words, 500",
        ),
        pytest.param(
            Reply(status=429, body=LIMITED, content_type="text/event-stream"), id="a stream, 429"
        ),
        pytest.param(rate_limited("Wed, 21 Oct 2065 07:28:00 GMT"), id="until a far day"),
        pytest.param(rate_limited("99999999999"), id="for three thousand years"),
        pytest.param(rate_limited("soon"), id="until soon"),
    ],
)
def test_a_limit_is_no_stream_of_messages(reply: Reply) -> None:
    for own in running_editor(NEOVIM):
        own.instance.script = reply
        at = opened(own, "x = ")
        del at["context"]
        for number in range(6):
            assert own.client.result(INLINE, at)["items"] == []
            at = own.type(at, "abcdef"[number])
        told = [each for each in own.client.waiting() if each.get("method", "").endswith("Message")]
        assert len(told) <= 1
        own.says("1")
        # What was said may have been mended: asked by hand it is tried again, or says how long.
        own.client.notify(
            "workspace/didChangeConfiguration", {"settings": {"lspCompletions": {"maxTokens": 9}}}
        )
        assert texts(own.client.result(INLINE, at)) == ["1"]


def test_five_megabytes_are_not_inserted(editor: Editor) -> None:
    editor.says(*["xxxxxxxxxx" * 1_000] * 500)
    answer = editor.client.result(INLINE, opened(editor, "flood x"))
    assert len(str(answer)) < 100_000
    editor.says(*["y = 1\n" * 1_000] * 500)
    answer = editor.client.result(INLINE, opened(editor, "flood y = "))
    assert len(str(answer)) < 100_000
    editor.instance.wait_until(lambda: not editor.instance.streaming)
    # Of the sixty megabytes that these events are, whole texts each; some is on its way.
    assert all(each.bytes_sent < 20_000_000 for each in editor.instance.completions)


def test_a_line_of_a_million_letters(editor: Editor) -> None:
    half = "x" * 500_000
    editor.says("1")
    at = opened(editor, f"{half} = {half}", uri="file:///w/minified.js")
    at["position"]["character"] = 500_003
    for _ in range(20):
        editor.client.result(INLINE, at)
        at = editor.type(at, "a")
    assert len(prompt(editor)) < 100_000


@pytest.mark.parametrize("shape", [{"delay": 0.2}, {"chunk_bytes": 1}, {"delay": 0.2, "gap": 0}])
def test_however_a_proxy_holds_it_back(editor: Editor, shape: dict[str, Any]) -> None:
    editor.says("1 + ", "é😀\n", **shape)
    at = opened(editor, f"held_back_{len(str(shape))} = ")
    assert texts(editor.client.result(INLINE, at)) == ["1 + é😀"]


def test_two_hundred_requests_cancelled_twice_lose_no_connection(editor: Editor) -> None:
    editor.says("1", gap=0.01, delay=0.005)
    at = opened(editor, "cancelled = ")
    sent = []
    for number in range(200):
        sent.append(editor.client.send(INLINE, at))
        if number % 3 == 0:
            editor.client.settle()
        editor.client.cancel(sent[-1])
        at = editor.type(at, "z")
        sent.append(editor.client.send(INLINE, at))
    for id in sent:
        editor.client.take(id)
    editor.says("1")
    assert texts(editor.client.result(INLINE, opened(editor, "alive = "))) == ["1"]
    editor.instance.wait_until(lambda: not editor.instance.streaming)
    assert editor.instance.open_connections <= 10


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_huge_workspace_is_not_walked() -> None:
    """`/usr` is one that every machine has."""
    for own in running_editor(NEOVIM, workspaceFolders=[{"uri": "file:///usr", "name": "u"}]):
        own.says("1")
        assert texts(own.client.result(INLINE, opened(own, "x = ", uri="file:///usr/a.py")))
        status = Path(f"/proc/{own.client.process.pid}/status").read_text(encoding="ascii")
        assert int(status.partition("VmHWM:")[2].split()[0]) < 150_000  # kB


# ---- what is kept back


SECRETS = """
    .env .env.local .envrc id_rsa server.pem .netrc .npmrc credentials prod.tfvars kubeconfig
    .kube/config .pypirc .git-credentials x/.ENV terraform.tfstate .aws/credentials
""".split()


@pytest.fixture(scope="module")
def keeper() -> Iterator[Editor]:
    yield from running_editor(NEOVIM, initializationOptions={"menu": "on"})


@pytest.mark.parametrize("language", ["dotenv", "shellscript", "plaintext"])
@pytest.mark.parametrize("name", SECRETS)
def test_a_file_that_holds_secrets_by_its_name(keeper: Editor, name: str, language: str) -> None:
    keeper.says("x")
    before = len(keeper.instance.requests)
    at = opened(keeper, "API_KEY=abc", uri=f"file:///w/{name}", languageId=language)
    for method in (INLINE, MENU):
        for context in ({"triggerKind": 1}, {"triggerKind": 2}):
            assert keeper.client.result(method, {**at, "context": context})["items"] == []
    asked = keeper.instance.requests[before:]
    assert not any(b"abc" in each.body for each in asked)
    assert not [each for each in asked if "completions" in each.path]


@pytest.mark.parametrize("name", ["env.py", "id_rsa.pub", ".env.example", "tfvars.md", "npmrc"])
def test_a_name_like_those_is_none(keeper: Editor, name: str) -> None:
    keeper.says("x")
    assert texts(keeper.client.result(INLINE, opened(keeper, "a = ", uri=f"file:///w/{name}")))


@pytest.mark.parametrize("root", ["real", "w"])
@pytest.mark.parametrize(
    "pattern",
    [
        "**/secret/**",
        "{real}/secret",
        "{w}/secret",
        "{w}/sec*",
        "{w}/secret/a.py",
        "secret/",
        "passage/",
    ],
)
def test_excluded_whatever_its_folder_is_called(tmp_path: Path, root: str, pattern: str) -> None:
    """The workspace may be a link, and so may the file; a path may be written in odd ways."""
    real, linked = tmp_path / "real", tmp_path / "w"
    (real / "secret").mkdir(parents=True)
    (real / "secret" / "a.py").write_text("x = \n")
    (real / "open.py").write_text("x = \n")
    linked.symlink_to(real)
    (real / "innocent.py").symlink_to(real / "secret" / "a.py")
    (real / "passage").symlink_to(real / "secret")
    folder = tmp_path / root
    excluded = pattern.format(real=real.as_posix(), w=linked.as_posix())
    options = {"exclude": [excluded], "outsideWorkspace": True}
    for own in running_editor(
        NEOVIM,
        initializationOptions=options,
        workspaceFolders=[{"uri": folder.as_uri(), "name": "w"}],
    ):
        own.says("x")
        for base in (real.as_uri(), linked.as_uri()):
            for path in ("secret/a.py", "secre%74/a.py", "innocent.py", "passage/a.py"):
                at = opened(own, "x = ", uri=f"{base}/{path}")
                assert own.client.result(INLINE, at)["items"] == [], path
            assert not own.instance.completions
        for base in (real.as_uri(), linked.as_uri()):
            at = opened(own, "x = ", uri=f"{base}/open.py")
            assert texts(own.client.result(INLINE, at)) == ["x"]
            assert "open.py" in prompt(own)


# ---- files that are not open


def test_a_file_that_was_never_opened_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "cwdfile").write_text("here = ")
    for own in running_editor(NEOVIM, workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "w"}]):
        own.says("x")
        for uri in ("file:///", "", (tmp_path / "cwdfile").as_uri(), "untitled:cwdfile"):
            for kind in (1, 2):
                at = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 7}}
                answer = own.client.request(INLINE, {**at, "context": {"triggerKind": kind}})
                assert answer["result"] == {"items": []}
        assert own.asked == 0
        assert own.client.waiting() == []


# ---- the end


def test_an_editor_that_is_gone_after_days(tmp_path: Path) -> None:
    """Nothing was asked for days, and somebody else holds the pipe."""
    file = tmp_path / "jumps"
    with (
        process("input()") as host,
        LspClient.start([sys.executable, jumping_clocks.__file__, str(file)]) as client,
    ):
        client.initialize(NEOVIM, rootUri="file:///w", processId=host.pid)
        opened(Editor(client, None), "x = ")  # type: ignore[arg-type]
        client.settle()
        jumping_clocks.Clocks(file).jump(wall=3 * 86_400.0, monotonic=3 * 86_400.0)
        client.settle()
        host.kill()
        assert client.wait() == 1
