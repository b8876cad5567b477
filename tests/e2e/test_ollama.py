"""The real process beside an Ollama that takes longer to load its model than a request may."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import LspClient
from tests.support.model_servers import OllamaServer

COMMAND = [sys.executable, "-m", "lsp_completions"]
PATIENCE = 60.0
STEPS = 3
DOCUMENT = {"uri": "file:///a.py", "languageId": "python", "version": 1, "text": "x = \n"}
AT = {
    "textDocument": {"uri": DOCUMENT["uri"]},
    "position": {"line": 0, "character": 4},
    "context": {"triggerKind": 1},
}
PROGRESS = {"window": {"workDoneProgress": True}}


def environment(folder: Path, server: OllamaServer, **more: Any) -> dict[str, str]:
    """That of a user whose own file of settings names `server`."""
    config = folder / "config" / "lsp-completions" / "config.toml"
    config.parent.mkdir(parents=True)
    settings = {"provider": "ollama", "url": server.url, "model": server.model, **more}
    config.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()))
    return {**os.environ, "XDG_CONFIG_HOME": str(folder / "config"), "HOME": str(folder)}


def ask(client: LspClient) -> list[str]:
    id = client.send("textDocument/inlineCompletion", AT)
    items = client.take(id, timeout=PATIENCE)["result"]["items"]
    return [item["insertText"] for item in items]


@pytest.mark.parametrize("capabilities", [PROGRESS, {}], ids=["progress", "messages"])
async def test_editors_are_answered_once_it_is_loaded(
    capabilities: dict[str, Any], tmp_path: Path
) -> None:
    async with OllamaServer("12", load_steps=STEPS) as server:
        env = environment(tmp_path, server, firstEventTimeout=0.5, totalTimeout=1.0)
        with LspClient.start(COMMAND, env=env) as client:
            client.answers["window/workDoneProgress/create"] = None
            await asyncio.to_thread(client.initialize, capabilities)
            client.notify("textDocument/didOpen", {"textDocument": DOCUMENT})
            # Nobody has to ask for anything first.
            await server.load_on()
            assert "prompt" not in server.bodies[0]

            assert await asyncio.to_thread(ask, client) == []
            if capabilities:
                told = await asyncio.to_thread(client.expect, "$/progress")
                assert told["value"] == {
                    "kind": "begin",
                    "title": f"Loading the model {server.model}",
                }
            else:
                told = await asyncio.to_thread(client.expect, "window/showMessage")
                assert told["message"] == (
                    f"lsp-completions: Loading the model {server.model}. "
                    "Suggestions come when it is there."
                )
            await server.load_on(STEPS - 1)
            if capabilities:
                ended = await asyncio.to_thread(client.expect, "$/progress")
                assert ended["value"]["kind"] == "end"
            assert await asyncio.to_thread(ask, client) == ["12"]
            assert server.given_up == 0
            assert await asyncio.to_thread(client.stop) == 0
            assert "never awaited" not in client.stderr


async def test_an_editor_that_leaves_while_it_loads(tmp_path: Path) -> None:
    async with OllamaServer("12", load_steps=STEPS) as server:
        with LspClient.start(COMMAND, env=environment(tmp_path, server)) as client:
            await asyncio.to_thread(client.initialize, {})
            await server.until(lambda: server.waiting)
            assert await asyncio.to_thread(client.stop) == 0
        await server.until(lambda: server.given_up == 1)


async def test_the_command_line_waits_for_it(tmp_path: Path) -> None:
    async with OllamaServer("12", load_steps=STEPS) as server:
        env = environment(tmp_path, server, totalTimeout=0.3)
        (tmp_path / "a.py").write_text(str(DOCUMENT["text"]))
        running = asyncio.create_task(
            asyncio.to_thread(
                subprocess.run,
                [*COMMAND, "complete", "--json", "a.py:1:5"],
                cwd=tmp_path,
                env=env,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )
        )
        for _ in range(STEPS):
            await server.load_on()
        ran = await running
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["text"] == "12"
