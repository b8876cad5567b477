"""The least an HTTP client can do: a kept connection, and events as they come."""

import asyncio
import json
from collections.abc import AsyncGenerator
from urllib.parse import urlsplit


class RawClient:
    """Posts to the completions API of one instance."""

    def __init__(self, endpoint: str, token: str) -> None:
        place = urlsplit(endpoint)
        assert place.hostname is not None
        assert place.port is not None
        self._host, self._port = place.hostname, place.port
        self._head = (
            f"POST /.api/completions/code?client-name=floor&client-version=1 HTTP/1.1\r\n"
            f"Host: {place.netloc}\r\nAuthorization: token {token}\r\n"
            "Content-Type: application/json; charset=utf-8\r\nContent-Length: "
        ).encode()
        self._kept: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def texts(self, prompt: str) -> AsyncGenerator[str, None]:
        """The whole text so far, after each event. Closing it hangs up."""
        body = json.dumps(
            {
                "messages": [{"speaker": "human", "text": prompt}],
                "maxTokensToSample": 256,
                "temperature": 0.2,
                "stopSequences": ["<|endoftext|>"],
                "stream": True,
            },
            ensure_ascii=False,
        ).encode()
        kept, self._kept = self._kept, None
        if kept is not None and not kept[0].at_eof():
            reader, writer = kept
        else:
            reader, writer = await asyncio.open_connection(self._host, self._port)
        try:
            writer.write(b"%b%d\r\n\r\n%b" % (self._head, len(body), body))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 "), head
            waiting = b""
            while (size := int(await reader.readline(), 16)) > 0:
                waiting += (await reader.readexactly(size + 2))[:-2]
                *whole, waiting = waiting.split(b"\n\n")
                for event in whole:
                    if event.startswith(b"event: completion\ndata: "):
                        yield json.loads(event[24:])["completion"]
            await reader.readexactly(2)
        except BaseException:
            writer.transport.abort()
            raise
        self._kept = reader, writer
