"""What each refusal becomes, over the real transport."""

import pytest

from lsp_completions.completer import complete
from lsp_completions.errors import ProviderError, Refused
from lsp_completions.generations import Generations
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import Skipped, SkipReason, Suggested
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.request import Request, at_hand
from lsp_completions.secret import Secret
from lsp_completions.settings import Settings
from lsp_completions.transport import Timeouts, Transport
from tests.support.refusals import ALL, No
from tests.support.sourcegraph import TOKEN, Answer, StandIn

PATIENT = Timeouts(connect=30, first_event=30, total=30)
CODE = "def f():"
# What Neovim shows of a message without a key pressed is a line; three of them are for bad days.
LONGEST = 230


def request(instance: StandIn, *, by_hand: bool = False) -> Request:
    document = Document.open("file:///w/a.py", "python", 1, CODE)
    return Request(
        document=document,
        offset=document.length,
        path="a.py",
        settings=Settings(),
        provider=at_hand(Sourcegraph(endpoint=instance.url, token=Secret(TOKEN), api_version=2)),
        current=lambda: document,
        by_hand=by_hand,
    )


@pytest.mark.parametrize("no", ALL)
async def test_each_refusal_has_a_class_and_a_sentence(no: No) -> None:
    transport = Transport()
    generations = Generations(lambda asked: transport.events(asked, PATIENT))
    try:
        async with StandIn(no.said) as instance:
            with pytest.raises(ProviderError) as caught:
                await complete(request(instance), generations)
    finally:
        await generations.aclose()
        await transport.aclose()
    error = caught.value
    assert type(error) is no.kind or no.kind is ProviderError
    sentence = str(error)
    assert all(part in sentence for part in no.parts), sentence
    assert sentence.endswith((".", "?"))
    assert len(sentence) <= LONGEST, sentence
    assert CODE not in repr(error)
    assert sentence.count("\n") == 0
    if isinstance(error, Refused):
        assert error.retry_after == no.seconds


async def test_while_it_is_left_alone_nothing_is_sent() -> None:
    transport = Transport()
    generations = Generations(lambda asked: transport.events(asked, PATIENT))
    try:
        async with StandIn(Answer(error="quota reached, retry after 512s")) as instance:
            with pytest.raises(ProviderError):
                await complete(request(instance), generations)
            connections = instance.connections
            outcome = await complete(request(instance), generations)
            assert isinstance(outcome, Skipped)
            assert outcome.reason is SkipReason.BACKING_OFF
            assert "is asked again in about 9 minutes" in outcome.detail
            assert (len(instance.requests), instance.connections) == (1, connections)
            instance.script = Answer("\n    pass\n")
            assert isinstance(
                await complete(request(instance, by_hand=True), generations), Suggested
            )
            assert isinstance(await complete(request(instance), generations), Suggested)
    finally:
        await generations.aclose()
        await transport.aclose()


async def test_whole_lines_before_an_error_are_shown() -> None:
    transport = Transport()
    generations = Generations(lambda asked: transport.events(asked, PATIENT))
    try:
        said = Answer("\n    a = 1\n", "    b = ", error="upstream reset")
        async with StandIn(said) as instance:
            outcome = await complete(request(instance), generations)
            assert isinstance(outcome, Suggested)
            assert [edit.new_text for edit in outcome.edits] == ["\n    a = 1"]
            assert not outcome.complete
    finally:
        await generations.aclose()
        await transport.aclose()
