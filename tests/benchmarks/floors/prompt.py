"""What both floors ask the model, and when they stop listening."""

import os
from contextlib import aclosing

from tests.benchmarks.floors.raw_http import RawClient

PREFIX_CHARS, SUFFIX_CHARS = 4300, 716  # the windows of our own server's defaults


def client() -> RawClient:
    return RawClient(os.environ["SRC_ENDPOINT"], os.environ["SRC_ACCESS_TOKEN"])


async def first_line(client: RawClient, prefix: str, suffix: str) -> str:
    """The first line of the model's answer, as soon as it is whole."""
    prompt = f"<fim_prefix>{prefix}<fim_suffix>{suffix}<fim_middle>"
    text = ""
    async with aclosing(client.texts(prompt)) as texts:
        async for text in texts:
            if "\n" in text:
                break
    return text.partition("\n")[0]
