"""Running model streams. Each has one owner, its task, which hangs up exactly once.

Readers come and go; none of them ever touches the connection. That is what makes cancelling
safe: an HTTP connection whose reader is cancelled twice at the wrong moment is lost to the pool.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing

from lsp_completions.back_off import BackOff
from lsp_completions.errors import (
    CompletionsError,
    ProviderError,
    Refused,
    Reply,
    UnexpectedReply,
)
from lsp_completions.pipeline.prompt import Prompt
from lsp_completions.pipeline.stream import Chunk
from lsp_completions.providers.base import Event, HttpRequest, Provider
from lsp_completions.providers.wire import pieces_of

CODE = 12  # characters that a refusal has in common with a prompt by quoting it only
LINGER = 0.1  # seconds; the end of an answer usually comes in one packet with its last text


class Generation:
    """One running model stream, which any number of readers may read from its start."""

    def __init__(
        self,
        provider: Provider,
        prompt: Prompt,
        ask: Callable[[Provider], AsyncGenerator[Event, None]],
        instead: dict[Provider, Provider],
        replaced: Callable[[Provider], None],
        back_off: BackOff,
    ) -> None:
        self.provider = provider
        self.prompt = prompt
        self.abandoned = False
        """Nobody reads it any more; it ends when the provider has read the prompt."""
        self._ask = ask
        self._instead = instead
        self._replaced = replaced
        self._chunks: list[Chunk] = []
        self._error: CompletionsError | None = None
        self._ended = False
        self._news = asyncio.Event()
        self._attempt = back_off.attempt(provider.host)
        self.task = asyncio.create_task(self._own(), name="generation")

    async def chunk(self, index: int) -> Chunk | None:
        """The chunk with this index, waiting for it; `None` after the last one.

        Raises what ended the stream early, once all that came before has been read.
        """
        while index >= len(self._chunks):
            if self._error is not None:
                raise self._error
            if self._ended:
                return None
            await self._news.wait()
        return self._chunks[index]

    def close(self) -> None:
        """Hang up. Returns at once; after the end, or a second time, it does nothing."""
        if self._ended:
            return
        self._attempt.given_up()
        self._end(ProviderError("The request to the provider was given up."))
        if not self._chunks and self.provider.finishes_reading:
            self.abandoned = True
        elif self._chunks and self._chunks[-1].finish is not None:
            # Read to its end, so that the next request finds the connection warm.
            asyncio.get_running_loop().call_later(LINGER, self.hang_up)
        else:
            self.hang_up()

    def hang_up(self) -> None:
        """Give the connection back now, whatever is still to come; once."""
        if not self.task.cancelling():
            self.task.cancel()

    async def _own(self) -> None:
        try:
            while not await self._tried():
                pass
        except CompletionsError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - one broken reply ends one request
            kind = type(error).__name__
            self._fail(ProviderError(f"The provider's reply could not be read ({kind})."))
        else:
            self._attempt.worked()
            self._end(None)

    async def _tried(self) -> bool:
        """Listen to the end; false when somebody else is to be asked in place of who refused."""
        try:
            await self._listen()
        except Refused as refused:
            # The transport reports the reply as it came; only the provider knows its meaning.
            reply = refused.reply
            if reply is None:
                raise
            if (other := self._other(reply)) is None:
                raise self.provider.refusal(reply) from None
            self.provider = other
            return False
        return True

    def _other(self, reply: Reply) -> Provider | None:
        """Who can answer this prompt in place of the provider that refused; it is remembered."""
        refuser, other = self.provider, self.provider.instead(reply)
        if other is None:
            return None
        # Another request may have learned more meanwhile; nobody is asked twice.
        other = successor(other, self._instead)
        if other == refuser:
            return None
        self._instead[refuser] = other
        self._replaced(refuser)
        # Another model may not understand this prompt: this request tells what was refused, and
        # the next one is written for that model.
        return other if other.prompts_for == refuser.prompts_for else None

    async def _listen(self) -> None:
        async with aclosing(self._ask(self.provider)) as events:
            async for event in events:
                if (chunk := self.provider.chunk(event)) is not None:
                    if not self._chunks:
                        self._attempt.worked()
                    self._chunks.append(chunk)
                    self._tell()
                if self.abandoned and self._chunks:
                    return

    def _fail(self, error: CompletionsError) -> None:
        # What goes wrong once nobody waits any more is our hanging up as a rule.
        if not self._ended:
            self._leave_out_what_is_sent_back(error)
            self._attempt.failed(error)
        self._end(error)

    def _leave_out_what_is_sent_back(self, error: CompletionsError) -> None:
        """A refusal may repeat the code it is about; what the provider said ends our sentence."""
        ours, _, said = str(error).partition(": ")
        if said and isinstance(error, Refused | UnexpectedReply):
            code = [self.prompt.text, self.prompt.prefix, self.prompt.suffix]
            code += [chunk.text for chunk in self._chunks]
            if not pieces_of(said, CODE).isdisjoint(pieces_of("\n".join(code), CODE)):
                error.args = (f"{ours}.",)

    def _end(self, error: CompletionsError | None) -> None:
        if not self._ended:
            self._ended = True
            self._error = error
            self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class Generations:
    """All running streams of this process. `replaced` is told of a provider that somebody else
    answers for from now on, since it refused.
    """

    def __init__(
        self,
        open_stream: Callable[[HttpRequest], AsyncGenerator[Event, None]],
        *,
        replaced: Callable[[Provider], None] = lambda _: None,
    ) -> None:
        self.back_off = BackOff()
        self._open_stream = open_stream
        self._replaced = replaced
        self._running: set[Generation] = set()
        self._instead: dict[Provider, Provider] = {}

    def start(self, provider: Provider, prompt: Prompt, *, max_tokens: int) -> Generation:
        """Ask `provider` to continue `prompt`. Whoever starts a generation closes it."""
        provider = self.whom(provider)
        if provider.finishes_reading:
            self._stop_reading_what_is_not_part_of(prompt)

        def ask(whom: Provider) -> AsyncGenerator[Event, None]:
            return self._open_stream(whom.request(prompt, max_tokens=max_tokens))

        generation = Generation(provider, prompt, ask, self._instead, self._replaced, self.back_off)
        self._running.add(generation)
        generation.task.add_done_callback(lambda _: self._running.discard(generation))
        return generation

    def whom(self, provider: Provider) -> Provider:
        """Whom to ask in the place of `provider`: itself, or whoever took over when it refused.

        A prompt has to be written for that one.
        """
        return successor(provider, self._instead)

    async def aclose(self) -> None:
        """Hang up on every stream and wait until its connection is given back."""
        running = list(self._running)
        for generation in running:
            generation.close()
            generation.hang_up()
        if running:
            await asyncio.wait([generation.task for generation in running])

    def _stop_reading_what_is_not_part_of(self, prompt: Prompt) -> None:
        """An abandoned prompt is worth reading on only where this one goes on from there."""
        for generation in self._running:
            if generation.abandoned and not prompt.prefix.startswith(generation.prompt.prefix):
                generation.hang_up()


def successor(provider: Provider, instead: Mapping[Provider, Provider]) -> Provider:
    """The end of the chain of those who took over; `instead` leads nobody back to himself."""
    while provider in instead:
        provider = instead[provider]
    return provider
