"""What is read from `initialize`, real ones included."""

import json
from typing import Any

import pytest

from lsp_completions.convert import Client, read_client
from lsp_completions.pipeline.positions import PositionEncoding
from tests.support.extra import extra_path

UTF8, UTF16, UTF32 = PositionEncoding.UTF8, PositionEncoding.UTF16, PositionEncoding.UTF32


@pytest.mark.parametrize(
    "params",
    [
        pytest.param(None, id="null"),
        pytest.param([], id="a list"),
        pytest.param({}, id="empty"),
        pytest.param({"capabilities": None, "clientInfo": None}, id="all null"),
        pytest.param(
            {
                "clientInfo": {"name": 1, "version": []},
                "processId": "7",
                "workspaceFolders": [1, {}],
                "rootUri": 3,
                "rootPath": {},
                "capabilities": {
                    "workspace": 1,
                    "window": [],
                    "general": {"positionEncodings": {"utf-8": 1}},
                    "textDocument": {
                        "inlineCompletion": None,
                        "completion": {
                            "completionItem": {
                                "snippetSupport": "yes",
                                "documentationFormat": "markdown",
                                "insertTextModeSupport": {"valueSet": [True, "1", None]},
                            }
                        },
                    },
                },
            },
            id="nothing of the right kind",
        ),
    ],
)
def test_an_editor_that_says_nothing_readable(params: object) -> None:
    assert read_client(params) == Client()


@pytest.mark.parametrize(
    ("offered", "encoding"),
    [
        pytest.param(["utf-8", "utf-16"], UTF8, id="the first"),
        pytest.param(["utf-7", "utf-32", "utf-8"], UTF32, id="the first known"),
        pytest.param([], UTF16, id="none"),
        pytest.param([1, None], UTF16, id="no names"),
    ],
)
def test_encoding(offered: list[Any], encoding: PositionEncoding) -> None:
    params = {"capabilities": {"general": {"positionEncodings": offered}}}
    assert read_client(params).encoding is encoding


@pytest.mark.parametrize(
    ("params", "roots"),
    [
        pytest.param(
            {"workspaceFolders": [{"uri": "file:///a"}, {"uri": "file:///b"}], "rootUri": "x:y"},
            ("file:///a", "file:///b"),
            id="folders",
        ),
        pytest.param(
            {"workspaceFolders": [], "rootUri": "file:///a", "rootPath": "/b"},
            ("file:///a",),
            id="URI",
        ),
        pytest.param({"rootUri": None, "rootPath": "/x y"}, ("file:///x%20y",), id="path"),
        pytest.param({"rootPath": "C:\\x"}, ("file:///C:/x",), id="path on a drive"),
        pytest.param({"workspaceFolders": None, "rootUri": None, "rootPath": None}, (), id="none"),
        pytest.param({"rootUri": ""}, (), id="empty"),
    ],
)
def test_roots(params: object, roots: tuple[str, ...]) -> None:
    assert read_client(params).roots == roots


@pytest.mark.parametrize(
    ("capability", "advertises"),
    [
        pytest.param({}, True, id="an empty object"),
        pytest.param({"dynamicRegistration": False}, True, id="an object"),
        pytest.param(True, True, id="true"),
        pytest.param(None, False, id="null, as lsp-mode has it"),
        pytest.param(False, False, id="false"),
    ],
)
def test_inline_completion(capability: object, advertises: bool) -> None:
    params = {"capabilities": {"textDocument": {"inlineCompletion": capability}}}
    assert read_client(params).advertises_inline is advertises


def test_the_rest() -> None:
    client = read_client(
        {
            "processId": 7,
            "clientInfo": {"name": "Ed", "version": "1.2"},
            "initializationOptions": {"menu": "on"},
            "capabilities": {
                "workspace": {
                    "executeCommand": {},
                    "configuration": True,
                    "didChangeConfiguration": {"dynamicRegistration": True},
                },
                "window": {"workDoneProgress": True, "showMessage": {"messageActionItem": {}}},
                "textDocument": {
                    "completion": {"completionItem": {"documentationFormat": ["plaintext"]}}
                },
            },
        }
    )
    assert client == Client(
        name="Ed",
        version="1.2",
        process_id=7,
        options={"menu": "on"},
        markdown=False,
        can_execute_commands=True,
        configuration=True,
        dynamic_configuration=True,
        work_done_progress=True,
        message_actions=True,
    )


@pytest.mark.parametrize(
    ("file", "encoding", "inline", "modes", "snippets", "commands"),
    [
        pytest.param("neovim_v0.11.4", UTF8, True, set(), True, True, id="Neovim 0.11"),
        pytest.param("neovim_v0.12.4", UTF8, True, set(), True, True, id="Neovim 0.12"),
        pytest.param("code-server_v1.139.1", UTF16, True, {1, 2}, True, True, id="VS Code"),
        pytest.param("coc.nvim_v0.0.82", UTF16, True, {1, 2}, True, True, id="coc.nvim"),
        pytest.param("helix_v25.07.1", UTF8, False, set(), True, True, id="Helix"),
        pytest.param("emacs-lsp-mode_v10.0.0", UTF32, False, {1, 2}, False, True, id="lsp-mode"),
        pytest.param("emacs-eglot_v1.17.30", UTF32, False, set(), False, True, id="Eglot"),
        pytest.param("kate_v22.12.3", UTF16, False, set(), False, False, id="Kate"),
    ],
)
def test_real_editors(
    file: str,
    encoding: PositionEncoding,
    inline: bool,
    modes: set[int],
    snippets: bool,
    commands: bool,
) -> None:
    params = json.loads(extra_path(f"editors/capabilities/{file}.json").read_bytes())
    client = read_client(params)
    assert client.encoding is encoding
    assert client.advertises_inline is inline
    assert client.insert_text_modes == modes
    assert client.snippets is snippets
    assert client.can_execute_commands is commands
    assert client.markdown
    assert client.name
    assert client.version


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"editorPluginInfo": {"name": "copilot.el"}}, True, id="it says its plugin"),
        pytest.param({"editorInfo": {"name": "Emacs"}}, False, id="its editor alone"),
        pytest.param({"editorPluginInfo": None}, False, id="null"),
        pytest.param([], False, id="a list"),
        pytest.param(None, False, id="no options"),
    ],
)
def test_clients_made_for_copilots_server_run_commands(options: object, expected: bool) -> None:
    client = read_client({"initializationOptions": options, "capabilities": {}})
    assert client.speaks_copilot is expected
    assert client.can_execute_commands is expected
