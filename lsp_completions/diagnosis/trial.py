"""One real completion, of a document that stands here: nothing of the user's is sent."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from lsp_completions.completer import complete
from lsp_completions.diagnosis.of_a_completion import completion_step
from lsp_completions.diagnosis.steps import Step
from lsp_completions.errors import CompletionsError, TimedOut
from lsp_completions.generations import Generations
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import Outcome
from lsp_completions.providers.base import Event, HttpRequest, Provider
from lsp_completions.request import Request, at_hand
from lsp_completions.settings import Settings
from lsp_completions.transport import Timeouts, Transport

BEFORE, AFTER = "def add(a, b):\n    return ", "\n\n\nprint(add(1, 2))\n"


async def tried_out(
    asked: Provider,
    settings: Settings,
    transport: Transport,
    timeouts: Timeouts,
    *,
    seconds: float,
) -> Step:
    """What comes of it, as an editor would get it, within so many seconds for all attempts."""
    began = time.monotonic()
    first_text: float | None = None

    async def opened(request: HttpRequest) -> AsyncGenerator[Event, None]:
        nonlocal first_text
        async with aclosing(transport.events(request, timeouts)) as events:
            async for event in events:
                with suppress(CompletionsError):  # which is for the reader
                    chunk = asked.chunk(event)
                    if first_text is None and chunk is not None and chunk.text.strip():
                        first_text = time.monotonic() - began
                yield event

    document = Document.open("untitled:check.py", "python", 1, BEFORE + AFTER)
    request = Request(
        document=document,
        offset=len(BEFORE),
        path="check.py",
        settings=settings,
        provider=at_hand(asked),
        current=lambda: document,
        by_hand=True,
    )
    generations = Generations(opened)
    outcome: Outcome | CompletionsError
    try:
        async with asyncio.timeout(seconds):
            outcome = await complete(request, generations)
    except TimeoutError:
        outcome = TimedOut(f"{asked.host} did not answer within {seconds:.2g} s.")
    except CompletionsError as error:
        outcome = error
    finally:
        answered = generations.whom(asked)
        await generations.aclose()
    return completion_step(
        outcome,
        first_text=first_text,
        total=time.monotonic() - began,
        asked=asked,
        answered=answered,
    )
