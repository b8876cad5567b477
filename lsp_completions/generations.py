"""Running model streams. Each has one owner, its task, which hangs up exactly once.

Readers come and go; none of them ever touches the connection. That is what makes cancelling
safe: an HTTP connection whose reader is cancelled twice at the wrong moment is lost to the pool.
A stream outlives the request that began it: what is typed now usually fits what is coming.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import replace

from lsp_completions.back_off import BackOff
from lsp_completions.errors import (
    CompletionsError,
    ProviderError,
    Refused,
    Reply,
    UnexpectedReply,
)
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.prompt import Prompt
from lsp_completions.pipeline.replies import ReplyReader
from lsp_completions.pipeline.stream import Chunk
from lsp_completions.providers.base import Event, HttpRequest, Provider
from lsp_completions.providers.wire import pieces_of

CODE = 12  # characters that a refusal has in common with a prompt by quoting it only
LINGER = 0.1  # seconds; the end of an answer usually comes in one packet with its last text
# Seconds without a reader: editors that cancel at each key ask again 1 to 205 ms later.
UNWANTED = 0.3
USUAL_WAIT = 0.7  # seconds until the first words, where no stream has told yet
LINES_AHEAD = 5  # whole lines beyond what was suggested, for when that is accepted
CHARS_AHEAD = 20_000  # beyond it, on a line without an end; a suggestion has half of that at most
MOST_PER_DOCUMENT = 2
MOST = 4


class GivenUp(ProviderError):
    """We hung up: nobody wanted the rest. Never told to a user."""


class MadeRoom(GivenUp):
    """We hung up, as somebody asked for something newer."""


class SaidEnough(GivenUp):
    """We hung up on a model that may have had more to say; its last line may be half of one."""


class Generation:
    """One running model stream, which any number of readers may read from its start."""

    def __init__(
        self,
        provider: Provider,
        prompt: Prompt,
        context: CursorContext | None,
        ask: Callable[[Provider, Prompt], AsyncGenerator[Event, None]],
        instead: dict[Provider, Provider],
        replaced: Callable[[Provider], None],
        back_off: BackOff,
    ) -> None:
        self.provider = provider
        self.prompt = prompt
        self.document = ""
        """Which document it is for."""
        self.ahead = False
        """Nobody has seen anything of it yet: it was asked before somebody wanted it."""
        self.said = ""
        """All the code that the model has said so far."""
        self.taken_back = 0
        """How often the provider began its text anew."""
        self.finish: str | None = None
        """Why the model stopped; `None` while it has not."""
        self.error: CompletionsError | None = None
        """What ended the stream early."""
        self.ended = False
        self.abandoned = False
        """Nobody reads it any more; it ends when the provider has read the prompt."""
        self.is_forgotten = False
        """What was asked is not kept any more; what was said is."""
        self.wanted = False
        """A suggestion was made of it, so that what comes after that is worth having."""
        self.began = asyncio.get_running_loop().time()
        self.event_after: float | None = None
        """Seconds until anything came."""
        self.first_after: float | None = None
        """Seconds until the first text."""
        self._ask = ask
        self._instead = instead
        self._replaced = replaced
        self._speaks = False  # it answers, be it without a word yet
        self._raw = ""  # all the model has said, with what it puts around its code
        self._context = context
        self._reply = self._reply_reader()
        self._readers = 0
        self._was_read = False
        self._unwanted = self._soon_unwanted()
        self._ahead_of = 0
        self._news = asyncio.Event()
        self._attempt = back_off.attempt(provider.host)
        self.task = asyncio.create_task(self._own(), name="generation")

    async def news(self) -> None:
        """Wait until more was said, or the end."""
        if not self.ended:
            await self._news.wait()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """As long as this is entered somebody waits for the text."""
        self._readers += 1
        self._was_read = True
        self._unwanted.cancel()
        try:
            yield
        finally:
            self._readers -= 1
            if not self._readers and not self.ended:
                self._unwanted = self._soon_unwanted()

    def _soon_unwanted(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(UNWANTED, self._close_if_unwanted)

    def _close_if_unwanted(self) -> None:
        if not self.wanted:
            self.close()

    @property
    def raw(self) -> str:
        """All that the model has said, with what it puts around its code."""
        return self._raw

    @property
    def said_all(self) -> bool:
        """The model has no more to say, though the stream may still have to end."""
        return self.ended or self.finish is not None

    @property
    def is_read(self) -> bool:
        """Somebody waits for the text, or is about to."""
        return self._readers > 0 or not self._was_read

    def keep_ahead_of(self, length: int) -> None:
        """A suggestion ends after `length` characters: what follows it is kept, within bounds."""
        self.wanted = True
        self._ahead_of = max(self._ahead_of, length)
        if self.ended:
            return
        if self.finish is not None:
            self._hang_up_soon()
        elif self._said_enough():
            self._end(SaidEnough("The model had said enough."))
            self.hang_up()

    def _said_enough(self) -> bool:
        if len(self.said) > self._ahead_of + CHARS_AHEAD:
            return True
        if not self.wanted:
            return False
        return self.said.count("\n", self._ahead_of) > LINES_AHEAD

    def close(self, why: type[GivenUp] = GivenUp) -> None:
        """Hang up. Returns at once; after the end, or a second time, it does nothing."""
        if self.ended:
            return
        self._attempt.given_up()
        self._end(why("The request to the provider was given up."))
        if not self._speaks and self.provider.finishes_reading:
            self.abandoned = True
        elif self.finish is not None:
            self._hang_up_soon()
        else:
            self.hang_up()

    def forget_what_was_asked(self) -> None:
        """Keep of the prompt only what tells about the answer. The stream has to be over.

        A second time, as for the next piece of what was said, it does nothing.
        """
        if self.is_forgotten:
            return
        excerpts = tuple(replace(each, text="") for each in self.prompt.excerpts)
        self.prompt = replace(
            self.prompt, text="", prefix="", suffix="", turns=(), excerpts=excerpts
        )
        self._context = None
        self.is_forgotten = True
        # An event holds half a kilobyte, and nobody waits for these any more.
        del self._news, self._attempt

    def _hang_up_soon(self) -> None:
        # Read to its end, so that the next request finds the connection warm.
        asyncio.get_running_loop().call_later(LINGER, self.hang_up)

    def hang_up(self) -> None:
        """Give the connection back now, whatever is still to come; once."""
        if not self.task.cancelling():
            self.task.cancel()

    async def _own(self) -> None:
        try:
            while not await self._tried():
                pass
        except asyncio.CancelledError:
            # Hung up on after the model had said all.
            self._end(None)
            raise
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
        async with aclosing(self._ask(self.provider, self.prompt)) as events:
            async for event in events:
                if self.event_after is None:
                    self.event_after = asyncio.get_running_loop().time() - self.began
                if (chunk := self.provider.chunk(event)) is not None:
                    self._take(chunk)
                if self.abandoned and self._speaks:
                    return
                if self._said_enough():
                    self._end(None if self.finish else SaidEnough("The model had said enough."))
                    return

    def _take(self, chunk: Chunk) -> None:
        if not self._speaks:
            self._speaks = True
            self._attempt.worked()
        new = chunk.text
        if chunk.cumulative:
            if not new.startswith(self._raw):
                self.taken_back += 1
                self._raw = self.said = ""
                self._reply = self._reply_reader()
            new = new[len(self._raw) :]
        self._raw += new
        self.said += new if self._reply is None else self._reply.feed(new)
        if self.first_after is None and self._raw:
            self.first_after = asyncio.get_running_loop().time() - self.began
        if chunk.finish is not None or (self._reply is not None and self._reply.ended):
            self.finish = chunk.finish or "stop"
            self._flush()
            if self.wanted:
                self._hang_up_soon()
        self._tell()

    def _flush(self) -> None:
        """Nothing more is said: what was held back, as it might have been no code, is code."""
        if self._reply is not None:
            self.said += self._reply.end()

    def _reply_reader(self) -> ReplyReader | None:
        if self.prompt.reply is None or self._context is None:
            return None
        return ReplyReader(self.prompt.reply, self._context)

    def _fail(self, error: CompletionsError) -> None:
        # What goes wrong once nobody waits any more is our hanging up as a rule.
        if not self.ended:
            self._leave_out_what_is_sent_back(error)
            self._attempt.failed(error)
        self._end(error)

    def _leave_out_what_is_sent_back(self, error: CompletionsError) -> None:
        """A refusal may repeat the code it is about; what the provider said ends our sentence."""
        ours, _, said = str(error).partition(": ")
        if said and isinstance(error, Refused | UnexpectedReply):
            code = [self.prompt.text, self.prompt.prefix, self.prompt.suffix, self._raw]
            if not pieces_of(said, CODE).isdisjoint(pieces_of("\n".join(code), CODE)):
                error.args = (f"{ours}.",)

    def _end(self, error: CompletionsError | None) -> None:
        if not self.ended:
            self._flush()
            self.ended = True
            self.error = error
            self._unwanted.cancel()
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
        self._running: dict[Generation, None] = {}  # in the order they began
        self._instead: dict[Provider, Provider] = {}
        self._waited: dict[Provider, deque[float]] = {}
        self._said_nothing: Counter[str] = Counter()  # times in a row, by document

    def start(
        self,
        provider: Provider,
        prompt: Prompt,
        context: CursorContext | None = None,
        *,
        max_tokens: int,
        document: str = "",
    ) -> Generation:
        """Ask `provider` to continue `prompt`, for the `document` with that key.

        The `context` tells what a model that chats says around its code.

        Where too many run already, the oldest makes room.
        """
        provider = self.whom(provider)
        self._make_room(provider, document)
        if provider.finishes_reading:
            self._stop_reading_what_is_not_part_of(prompt)

        def ask(whom: Provider, prompt: Prompt) -> AsyncGenerator[Event, None]:
            return self._open_stream(whom.request(prompt, max_tokens=max_tokens))

        generation = Generation(
            provider, prompt, context, ask, self._instead, self._replaced, self.back_off
        )
        generation.document = document
        self._running[generation] = None
        generation.task.add_done_callback(lambda _: self._ended(generation))
        return generation

    def running(self, document: str) -> list[Generation]:
        """The streams for a document that still run, oldest first."""
        return [each for each in self._running if each.document == document and not each.ended]

    def forget(self, document: str) -> None:
        """Nothing more is wanted for a document: all its streams are hung up on."""
        for generation in self.running(document):
            generation.close()
        self._said_nothing.pop(document, None)

    def keep_back(self, document: str) -> None:
        """A document may not be sent any more: streams that were shown code of it end.

        Who waits for one asks anew, without that code.
        """
        for generation in list(self._running):
            if any(excerpt.document == document for excerpt in generation.prompt.excerpts):
                generation.close()

    def said_nothing(self, document: str) -> int:
        """How many streams for a document came to their ends without a word, since the last one
        that said something.
        """
        return self._said_nothing[document]

    def usual_wait(self, provider: Provider) -> float:
        """The median of the seconds that its last first words took; a guess while not known."""
        waited = self._waited.get(self.whom(provider))
        if not waited:
            return USUAL_WAIT
        # Not from `statistics`, which imports a megabyte of other numbers.
        ordered, half = sorted(waited), len(waited) // 2
        return (ordered[half] + ordered[~half]) / 2

    def _make_room(self, provider: Provider, document: str) -> None:
        alive = [each for each in self._running if not each.ended]
        here = [each for each in alive if each.document == document]
        # Those that nobody waits for go first; `sorted` keeps the order of age.
        if provider.finishes_reading:
            surplus = alive  # it answers one at a time
        elif len(here) >= MOST_PER_DOCUMENT:
            surplus = sorted(here, key=lambda each: each.is_read)[: len(here) - 1]
        else:
            surplus = sorted(alive, key=lambda each: each.is_read)[: max(0, len(alive) - MOST + 1)]
        for generation in surplus:
            generation.close(MadeRoom)

    def _ended(self, generation: Generation) -> None:
        self._running.pop(generation, None)
        if generation.said.strip():
            self._said_nothing.pop(generation.document, None)
        elif generation.error is None:
            self._said_nothing[generation.document] += 1
        waited = generation.first_after
        if waited is None and isinstance(generation.error, GivenUp):
            # It would have taken longer still, which tells something where that is long already.
            silent_for = asyncio.get_running_loop().time() - generation.began
            waited = silent_for if silent_for > self.usual_wait(generation.provider) else None
        if waited is not None:
            self._waited.setdefault(generation.provider, deque(maxlen=9)).append(waited)

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
        """An abandoned prompt is worth reading on only where this one goes on from there.

        One of them is being read, the oldest; the others would only stand in its line.
        """
        is_reading = False
        for generation in [each for each in self._running if each.abandoned]:
            if is_reading or not prompt.prefix.startswith(generation.prompt.prefix):
                generation.hang_up()
            else:
                is_reading = True


def successor(provider: Provider, instead: Mapping[Provider, Provider]) -> Provider:
    """The end of the chain of those who took over; `instead` leads nobody back to himself."""
    while provider in instead:
        provider = instead[provider]
    return provider
