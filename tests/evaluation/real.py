"""The same typing in real time: the real process, its pipes, and HTTP to a stand-in instance.

It takes as long as typing takes, and shows whether virtual time tells the truth.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.evaluation.editors import EDITORS, Editor
from tests.evaluation.edits import Sitting
from tests.evaluation.hands import CALM, Hands
from tests.evaluation.oracle import USUAL, Model, Oracle
from tests.evaluation.replay import Typed
from tests.evaluation.services import Conversation
from tests.support.lsp_client import framed
from tests.support.sourcegraph import TOKEN, Answer, Exchange, StandIn, running_stand_in

TOLD_BY = "<｜fim▁hole｜>"


def typed_for_real(
    sitting: Sitting,
    *,
    editor: str = "VS Code",
    model: Model = USUAL,
    hands: Hands = CALM,
    most_keys: int | None = None,
) -> Typed:
    """Make the edits of one document or the first keys of them, in real time."""
    oracle = Oracle(sitting, model)

    def script(exchange: Exchange) -> Answer:
        prompt = exchange.prompt.partition(TOLD_BY)[0]
        tokens = oracle.answer(prompt[max(0, prompt.find(sitting.edits[0].before)) :])
        oracle.tokens += len(tokens)  # as if all of them were made
        return Answer(*tokens, delay=model.first_after, gap=1 / model.tokens_a_second)

    with running_stand_in(script) as instance:
        typed = asyncio.run(_typed(sitting, instance, EDITORS[editor], oracle, hands, most_keys))
        oracle.requests = len(instance.completions)
        oracle.asked_at = [exchange.arrived_at for exchange in instance.completions]
        return typed


async def _typed(
    sitting: Sitting,
    instance: StandIn,
    editor: type[Editor],
    oracle: Oracle,
    hands: Hands,
    most_keys: int | None,
) -> Typed:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(120):
        with own_environment(instance) as environment:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "lsp_completions"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=environment,
            )
            service = RealServer(process, inline=not editor.MENU)
            try:
                at_work = editor(service, sitting, loop.time)
                at_work.patience = 2.0
                await service.ready()
                seen = await at_work.type(hands, most_keys)
            finally:
                await service.aclose()
    return Typed(sitting=sitting, seen=seen, oracle=oracle)


@contextmanager
def own_environment(instance: StandIn) -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="replay-", ignore_cleanup_errors=True) as folder:
        folders = dict.fromkeys(("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"), folder)
        folders |= {f"XDG_{kind}_HOME": folder for kind in ("CONFIG", "STATE", "DATA")}
        yield {
            **os.environ,
            **folders,
            "SRC_ENDPOINT": instance.url,
            "SRC_ACCESS_TOKEN": TOKEN,
        }


class RealServer(Conversation):
    """The process, spoken to over its pipes."""

    def __init__(self, process: asyncio.subprocess.Process, *, inline: bool) -> None:
        super().__init__(inline=inline)
        self._process = process
        self._initialized = asyncio.Event()
        self._reading = asyncio.create_task(self._read(), name="reading")

    async def ready(self) -> None:
        """Wait until it can be typed to, and has asked the instance what it wants to know."""
        await self._initialized.wait()
        await asyncio.sleep(1)

    async def aclose(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        await self._reading

    def _deliver(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(framed(message))

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while head := await self._process.stdout.readline():
            if head.lower().startswith(b"content-length:"):
                length = int(head.split(b":")[1])
                await self._process.stdout.readuntil(b"\r\n")
                self._take(await self._process.stdout.readexactly(length))
                self._initialized.set()
