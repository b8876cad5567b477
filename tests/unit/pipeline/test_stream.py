"""When a stream is good enough, however it is cut into pieces."""

from collections.abc import Iterator

import pytest

from lsp_completions.pipeline.stream import Candidate, Chunk, Collector
from lsp_completions.pipeline.trigger import Mode, mode_for
from tests.support.cursor import context_of

FUNCTION = "def f():\n    <cursor>\n\nx = 1\n"


def collector_at(drawn: str, **options: object) -> Collector:
    context = context_of(drawn, "python")
    return Collector(context, mode_for(context), **options)  # type: ignore[arg-type]


def pieces(text: str, size: int) -> Iterator[Chunk]:
    for end in range(size, len(text) + size, size):
        yield Chunk(text=text[end - size : end])


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize(
    ("drawn", "said", "expected"),
    [
        pytest.param("x = <cursor>\n", "1\ny = 2\n", "1", id="one line"),
        pytest.param("x = <cursor>\n", "1", "1", id="a line that does not end"),
        pytest.param("x = <cursor>\n", "1\r\ny", "1", id="carriage returns"),
        pytest.param(FUNCTION, "a()\n    b()\n\nz = 2\n", "a()\n    b()", id="a block"),
        pytest.param(FUNCTION, "a()\n    b()", "a()\n    b()", id="a block that does not end"),
        pytest.param("x = <cursor>\n", "1<|endoftext|>2\n", "1", id="a token cut in pieces"),
        pytest.param("x = <cursor>\n", "<|fim_middle|>1\n", "1", id="a token before the answer"),
        pytest.param("x = <cursor>\n", "<|im_end|>", None, id="a token and nothing else"),
        pytest.param("x = <cursor>\n", "", None, id="nothing"),
        pytest.param("x = <cursor>\n", "  \n\n", None, id="nothing but white space"),
        pytest.param("x = <cursor>\n", "'☃ 🙂'\n", "'☃ 🙂'", id="letters of every kind"),
    ],
)
def test_candidate(drawn: str, said: str, expected: str | None, size: int) -> None:
    collector = collector_at(drawn)
    candidate = None
    for chunk in pieces(said, size):
        if (candidate := collector.feed(chunk)) is not None:
            break
    candidate = candidate or collector.end()
    assert candidate == (Candidate(text=expected, complete=True) if expected else None)


@pytest.mark.parametrize(
    ("drawn", "said", "read"),
    [
        pytest.param("x = <cursor>\n", "1\n", "1\n", id="a line"),
        pytest.param(FUNCTION, "a()\n\nb", "a()\n\nb", id="not before the line after the block"),
        pytest.param(FUNCTION, "a()\nb = 1\nc", "a()\nb = 1\n", id="the line after the block"),
        pytest.param("x = <cursor>\n", "1<|end|>zzz", "1<|end|>", id="a token"),
        pytest.param("<cursor>", "# on and on\n" * 9, "# on and on\n" * 4, id="a loop"),
        pytest.param(
            "<cursor>", "a.xml\nb.xml\n" * 9, "a.xml\nb.xml\n" * 4, id="a loop of short lines"
        ),
        pytest.param(
            "<cursor>", "one two\nthree four\n" * 9, "one two\nthree four\n" * 4, id="a longer loop"
        ),
    ],
)
def test_no_more_is_read_than_needed(drawn: str, said: str, read: str) -> None:
    collector = collector_at(drawn)
    enough = (
        count
        for count, character in enumerate(said, start=1)
        if collector.feed(Chunk(text=character)) is not None
    )
    assert said[: next(enough, None)] == read


def test_a_candidate_comes_once() -> None:
    collector = collector_at("x = <cursor>\n")
    assert collector.feed(Chunk(text="1\n")) is not None
    assert collector.feed(Chunk(text="2\n")) is None
    assert collector.end() is None


def test_the_last_chunk_ends_the_stream() -> None:
    collector = collector_at("x = <cursor>\n")
    candidate = collector.feed(Chunk(text="1", finish="stop"))
    assert candidate == Candidate(text="1", complete=True)


@pytest.mark.parametrize("finish", ["length", "max_tokens"])
def test_an_unfinished_last_line_is_dropped(finish: str) -> None:
    collector = collector_at(FUNCTION)
    candidate = collector.feed(Chunk(text="a()\n    b(unfin", finish=finish))
    assert candidate == Candidate(text="a()", complete=False)


def test_an_only_line_is_kept_though_it_was_cut() -> None:
    collector = collector_at("x = <cursor>\n")
    candidate = collector.feed(Chunk(text="[1, 2, <|end", finish="length"))
    assert candidate == Candidate(text="[1, 2, ", complete=False)


def test_a_broken_stream_counts_up_to_its_last_line_end() -> None:
    collector = collector_at(FUNCTION)
    collector.feed(Chunk(text="a()\n    b(unfin"))
    assert collector.end(cut_off=True) == Candidate(text="a()", complete=False)


def test_a_broken_stream_without_a_whole_line_is_nothing() -> None:
    collector = collector_at("x = <cursor>\n")
    collector.feed(Chunk(text="compute_the_res"))
    assert collector.end(cut_off=True) is None


def test_tokens_of_the_model_asked() -> None:
    collector = collector_at("x = <cursor>\n", markers=["[SUFFIX]"])
    candidate = None
    for character in "1[SUFFIX]2":
        candidate = candidate or collector.feed(Chunk(text=character))
    assert candidate == Candidate(text="1", complete=True)


def test_a_stream_has_its_limits() -> None:
    collector = collector_at("def f():\n    <cursor>\n", max_lines=3)
    candidate = collector.feed(Chunk(text="".join(f"a{n}()\n    " for n in range(9))))
    assert candidate is not None
    assert candidate.text.count("\n") == 2

    collector = collector_at("x = <cursor>\n", max_chars=10)
    assert collector.feed(Chunk(text="'twelve char")) is not None


def test_feeding_costs_the_same_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line is looked at once, however many have come."""
    from lsp_completions.pipeline.extent import Extent

    looked_at = []
    take = Extent.take

    def counting(self: Extent, line: str) -> bool:
        looked_at.append(len(line))
        return take(self, line)

    monkeypatch.setattr(Extent, "take", counting)
    context = context_of("def f():\n    <cursor>\n", "python")
    collector = Collector(context, Mode.BLOCK, max_lines=10_000, max_chars=1_000_000)
    said = "".join(f"value_{n} = {n}\n    " for n in range(2000))
    for character in said:
        collector.feed(Chunk(text=character))
    assert sum(looked_at) <= len(said)
