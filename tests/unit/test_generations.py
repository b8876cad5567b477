import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace

import pytest

from lsp_completions.errors import Interrupted, ProviderError, RateLimited, Refused, Reply
from lsp_completions.generations import Generations
from lsp_completions.pipeline.chats import family_for
from lsp_completions.pipeline.prompt import Excerpt, Prompt
from lsp_completions.pipeline.stream import Chunk
from lsp_completions.providers.base import Event, HttpRequest, Limits, Provider
from tests.evaluation.virtual_time import run
from tests.support.cursor import context_of
from tests.support.reading import finish_of, said_by

PROMPT = Prompt(text="x = ")


@dataclass(frozen=True)
class Words:
    """A provider whose events are its chunks."""

    name: str = "words"
    host: str = "words.example"
    model: str = ""
    prompts_for: str = ""
    chats: bool | None = None
    limits: Limits = field(default_factory=Limits)
    finishes_reading: bool = False
    shows_early: bool = True

    def request(self, prompt: Prompt, *, max_tokens: int) -> HttpRequest:
        return HttpRequest(url=f"http://{self.name}", body=prompt.text.encode(), headers=())

    def chunk(self, event: Event) -> Chunk | None:
        if event.name == "broken":
            raise ValueError(event.data)
        finish = "stop" if event.data == "." else None
        return Chunk(text=event.data, finish=finish) if event.data else None

    def refusal(self, reply: Reply) -> ProviderError:
        return RateLimited(f"explained {reply.status}")

    def instead(self, reply: Reply) -> Provider | None:
        match reply.status:
            case 501:
                return replace(self, name="plain")
            case 400:
                return replace(self, name="plain", prompts_for="another")
        return None


class Stream:
    """A stream we write: pieces, then an exception or silence."""

    def __init__(self, *pieces: str, error: Exception | None = None, silent: bool = False) -> None:
        self.pieces, self.error, self.silent = pieces, error, silent
        self.closed = asyncio.Event()

    async def __call__(self, request: HttpRequest) -> AsyncGenerator[Event, None]:
        try:
            for piece in self.pieces:
                yield Event(data=piece, name="broken" if piece == "!" else "")
            if self.error is not None:
                raise self.error
            if self.silent:
                await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(0)  # hanging up takes time
            self.closed.set()


async def read_all(generations: Generations) -> str:
    generation = generations.start(Words(), PROMPT, max_tokens=8)
    said = await said_by(generation)
    await generation.task
    return said


async def test_every_reader_gets_all_that_was_said() -> None:
    generation = Generations(Stream("a", "", "b")).start(Words(), PROMPT, max_tokens=8)
    assert [*await asyncio.gather(said_by(generation), said_by(generation))] == ["ab", "ab"]
    assert await said_by(generation) == "ab"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(Interrupted("cut"), "cut", id="our own errors pass"),
        pytest.param(
            Refused("as it came", reply=Reply(status=429, headers={}, body="")),
            "explained 429",
            id="the provider explains a refusal",
        ),
        pytest.param(KeyError("secret"), "KeyError", id="a bug ends one request, without its text"),
    ],
)
async def test_what_ends_a_stream_early_reaches_its_readers(
    error: Exception, expected: str
) -> None:
    generation = Generations(Stream("a", error=error)).start(Words(), PROMPT, max_tokens=8)
    with pytest.raises(ProviderError, match=expected) as raised:
        await said_by(generation)
    assert generation.said == "a"
    assert "secret" not in str(raised.value)


async def test_an_event_that_cannot_be_read_ends_the_stream() -> None:
    with pytest.raises(ProviderError, match="ValueError"):
        await read_all(Generations(Stream("a", "!")))


@pytest.mark.parametrize("ticks", [0, 1, 2, 5])
async def test_closing_wakes_readers_and_hangs_up_once(ticks: int) -> None:
    stream = Stream("a", silent=True)
    generation = Generations(stream).start(Words(), PROMPT, max_tokens=8)
    reader = asyncio.create_task(said_by(generation))
    for _ in range(ticks):
        await asyncio.sleep(0)
    generation.close()
    generation.close()
    with pytest.raises(ProviderError, match="given up"):
        await reader
    await asyncio.wait([generation.task])
    assert generation.task.cancelling() == 1
    assert stream.closed.is_set() or ticks == 0


async def test_a_finished_answer_is_read_to_its_end() -> None:
    stream = Stream("a", ".", "", "")
    generation = Generations(stream).start(Words(), PROMPT, max_tokens=8)
    assert await finish_of(generation) == "stop"
    generation.close()
    await generation.task
    assert not generation.task.cancelling()
    assert stream.closed.is_set()


async def test_a_finished_answer_without_an_end_is_hung_up_on() -> None:
    stream = Stream("a", ".", silent=True)
    generation = Generations(stream).start(Words(), PROMPT, max_tokens=8)
    assert await finish_of(generation) == "stop"
    generation.close()
    await asyncio.wait([generation.task])
    assert generation.task.cancelled()
    assert stream.closed.is_set()


async def test_another_provider_is_asked_in_its_place_from_then_on() -> None:
    asked: list[str] = []

    async def open_stream(request: HttpRequest) -> AsyncGenerator[Event, None]:
        asked.append(request.url)
        if request.url == "http://words":
            raise Refused("no", reply=Reply(status=501, headers={}, body=""))
        yield Event(data="a")

    generations = Generations(open_stream)
    assert await read_all(generations) == "a"
    assert await read_all(generations) == "a"
    assert asked == ["http://words", "http://plain", "http://plain"]


async def test_a_prompt_is_not_given_to_a_model_of_another_form() -> None:
    async def open_stream(request: HttpRequest) -> AsyncGenerator[Event, None]:
        if request.url == "http://words":
            raise Refused("no", reply=Reply(status=400, headers={}, body=""))
        yield Event(data="a")

    generations = Generations(open_stream)
    with pytest.raises(ProviderError, match="explained 400"):
        await read_all(generations)
    assert generations.whom(Words()) == Words(name="plain", prompts_for="another")
    assert await read_all(generations) == "a"


async def test_two_that_are_refused_at_once_both_ask_the_other() -> None:
    both_asked = asyncio.Barrier(2)

    async def open_stream(request: HttpRequest) -> AsyncGenerator[Event, None]:
        if request.url == "http://words":
            await both_asked.wait()
            raise Refused("no", reply=Reply(status=501, headers={}, body=""))
        yield Event(data="a")

    generations = Generations(open_stream)
    texts = await asyncio.gather(read_all(generations), read_all(generations))
    assert [*texts] == ["a", "a"]


async def test_nobody_is_asked_twice_in_one_place() -> None:
    stream = Stream(error=Refused("no", reply=Reply(status=501, headers={}, body="")))
    with pytest.raises(ProviderError, match="explained 501"):
        await read_all(Generations(stream))


@pytest.mark.parametrize(
    ("next_prefix", "goes_on"),
    [
        pytest.param("x = 1 + ", True, id="the next one extends it"),
        pytest.param("y = ", False, id="the next one is another"),
    ],
)
async def test_a_prompt_half_read_is_read_on_only_for_one_that_extends_it(
    next_prefix: str, goes_on: bool
) -> None:
    streams = [Stream(silent=True), Stream("b")]
    opened = iter(streams)
    generations = Generations(lambda request: next(opened)(request))
    local = Words(finishes_reading=True)
    first = generations.start(local, Prompt(text="x = ", prefix="x = "), max_tokens=8)
    await asyncio.sleep(0)
    first.close()
    await asyncio.sleep(0)
    assert not first.task.cancelling()

    second = generations.start(local, Prompt(text="", prefix=next_prefix), max_tokens=8)
    assert await said_by(second, "b") == "b"
    assert bool(first.task.cancelling()) is not goes_on
    await generations.aclose()
    assert streams[0].closed.is_set()


async def test_an_abandoned_prompt_is_hung_up_on_once_it_is_read() -> None:
    may_answer = asyncio.Event()
    closed = asyncio.Event()

    async def open_stream(request: HttpRequest) -> AsyncGenerator[Event, None]:
        try:
            await may_answer.wait()
            while True:
                yield Event(data="a")
        finally:
            closed.set()

    generation = Generations(open_stream).start(Words(finishes_reading=True), PROMPT, max_tokens=8)
    await asyncio.sleep(0)
    generation.close()
    may_answer.set()
    await generation.task
    assert closed.is_set()


async def test_a_cancelled_reader_leaves_the_stream_alone() -> None:
    generations = Generations(Stream("a", silent=True))
    generation = generations.start(Words(), PROMPT, max_tokens=8)
    reader = asyncio.create_task(said_by(generation))
    await said_by(generation, "a")
    reader.cancel()
    await asyncio.wait([reader])
    assert not generation.task.done()
    await generations.aclose()
    assert generation.task.done()


async def test_what_is_kept_back_ends_the_streams_that_were_shown_it() -> None:
    generations = Generations(lambda _: Stream("a", silent=True)(_))
    # Two may have one path, as a model sees it.
    kept_back, other = (Excerpt(path="a.py", text="y", document=key) for key in ("1", "2"))
    shown: list[tuple[Excerpt, ...]] = [(kept_back,), (other, kept_back), (other,), ()]
    running = [
        generations.start(
            Words(),
            Prompt(text="x", excerpts=excerpts),
            max_tokens=8,
            document=str(number),
        )
        for number, excerpts in enumerate(shown)
    ]
    generations.keep_back("1")
    assert [each.ended for each in running] == [True, True, False, False]
    await generations.aclose()


async def test_closing_all_waits_until_connections_are_given_back() -> None:
    streams = [Stream("a", silent=True) for _ in range(3)]
    started = iter(streams)
    generations = Generations(lambda request: next(started)(request))
    running = [
        generations.start(Words(), PROMPT, max_tokens=8, document=str(number))
        for number, _ in enumerate(streams)
    ]
    await asyncio.gather(*(said_by(generation, "a") for generation in running))
    await generations.aclose()
    assert all(stream.closed.is_set() for stream in streams)


@dataclass(frozen=True)
class Cumulative(Words):
    """A provider whose events each tell the whole text so far."""

    def chunk(self, event: Event) -> Chunk | None:
        return Chunk(text=event.data, cumulative=True)


async def test_of_a_reply_only_the_code_counts_and_not_what_was_taken_back() -> None:
    form = family_for("gpt-4o", chats=True).reply
    assert form is not None
    told = Stream(f"{form.opening}retu", f"{form.opening}pass{form.closing}")
    provider = Cumulative()
    prompt = Prompt(text="", reply=form)
    generation = Generations(told).start(provider, prompt, context_of("<cursor>"), max_tokens=8)
    assert await said_by(generation) == "pass"
    await generation.task
    assert generation.taken_back == 1
    assert generation.said_all


async def test_only_the_oldest_of_the_prompts_given_up_is_read_on() -> None:
    streams = [Stream(silent=True) for _ in range(3)]
    started = iter(streams)
    generations = Generations(lambda request: next(started)(request))
    provider = Words(finishes_reading=True)
    for typed in ("x", "xy", "xyz"):
        prompt = Prompt(text=typed, prefix=typed)
        generation = generations.start(provider, prompt, max_tokens=8)
        await asyncio.sleep(0)
        generation.close()
    async with asyncio.timeout(20):
        await streams[1].closed.wait()
    assert [stream.closed.is_set() for stream in streams] == [False, True, False]
    await generations.aclose()


class Slowly:
    """Opens streams that speak after so many seconds each."""

    def __init__(self, *seconds: float) -> None:
        self.seconds = iter(seconds)

    async def __call__(self, request: HttpRequest) -> AsyncGenerator[Event, None]:
        await asyncio.sleep(next(self.seconds))
        yield Event(data="a")


@pytest.mark.parametrize(
    ("given_up_after", "expected"),
    [
        pytest.param([], 0.7, id="a guess at first"),
        pytest.param([0.2, 0.3], 0.7, id="the hurried tell nothing of a model"),
        pytest.param([2.0, 3.0, 4.0], 3.0, id="the patient tell that it is slow"),
        pytest.param([2.0, 0.1, 0.1, 0.1], 2.0, id="one that is slow stays so for the hurried"),
    ],
)
def test_streams_given_up_in_silence_tell_of_slow_models(
    given_up_after: list[float], expected: float
) -> None:
    async def usual_wait() -> float:
        generations = Generations(Slowly(*[60.0] * len(given_up_after)))
        for seconds in given_up_after:
            generation = generations.start(Words(), PROMPT, max_tokens=8)
            with generation.reading():
                await asyncio.sleep(seconds)
            generation.close()
            await asyncio.wait([generation.task])
            await asyncio.sleep(0)
        return generations.usual_wait(Words())

    assert run(usual_wait()) == pytest.approx(expected)


def test_the_usual_wait_is_a_median() -> None:
    async def usual_wait() -> float:
        generations = Generations(Slowly(0.1, 0.2, 5.0))
        for _ in range(3):
            await read_all(generations)
            await asyncio.sleep(0)
        return generations.usual_wait(Words())

    assert run(usual_wait()) == pytest.approx(0.2)
