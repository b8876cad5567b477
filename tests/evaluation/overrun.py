"""What a model says beside what is missing, and whether only what is missing comes out.

The true text of a hole is followed by what models go on with, or wrapped in what they say around
it. The document after the suggestion should be the one the hole was cut into.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from lsp_completions.grammars import load
from lsp_completions.pipeline.context import CursorContext, Windows, context_at
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.languages import language_of
from tests.evaluation.holes import BLOCK, BLOCK_BEHIND, BLOCKS, LINES, Hole, ends_block
from tests.support.cursor import apply
from tests.support.pipeline import suggested

WINDOWS = Windows(prefix_chars=4300, suffix_chars=716)
ALONE = "the true text alone"
RUNS_ON = 900  # characters; 256 tokens are not more

Noise = Callable[[Hole, Random], str | None]


def alone(hole: Hole, chance: Random) -> str | None:
    return hole.text


def runs_on(hole: Hole, chance: Random) -> str | None:
    return hole.text + hole.after[:RUNS_ON]


def stops_anywhere(hole: Hole, chance: Random) -> str | None:
    return hole.text + hole.after[: chance.randrange(1, 160)]


def goes_on(hole: Hole, chance: Random) -> str | None:
    """With code of the same file that stands somewhere else."""
    lines = hole.before.split("\n")[:-1]
    tops = [n for n, line in enumerate(lines) if line[:1].isalnum() and not lines[n - 1].strip()]
    if not tops:
        return None
    closer = "" if hole.kind in LINES else _end_below(hole)
    other = chance.choice(tops)
    return f"{hole.text}{closer}\n\n" + "\n".join(lines[other : other + 12])


def _end_below(hole: Hole) -> str:
    """The line that ends the block, where it stands below the hole."""
    line = hole.after[1:].partition("\n")[0]
    return "\n" + line if hole.kind in (BLOCK, BLOCK_BEHIND) and ends_block(line) else ""


def special_token(hole: Hole, chance: Random) -> str | None:
    token = chance.choice(["<|endoftext|>", "<|im_end|>", "<EOT>", "<|fim_pad|>", "<|file_sep|>"])
    return hole.text + token + hole.after[: chance.choice([0, 200])]


def fence(hole: Hole, chance: Random) -> str | None:
    return f"```{hole.language}\n{hole.text}\n```\n"


def fence_with_line(hole: Hole, chance: Random) -> str | None:
    line = hole.before.rpartition("\n")[2]
    said = f"{line}{hole.text}".lstrip() if chance.random() < 0.5 else line + hole.text
    return f"```{hole.language}\n{said}\n```\n" if line.strip() else None


def fence_with_lines_above(hole: Hole, chance: Random) -> str | None:
    above = hole.before.rpartition("\n")[0].split("\n")[-chance.randrange(2, 5) :]
    line = hole.before.rpartition("\n")[2]
    if sum(map(str.isalnum, "".join(above))) < 12:
        return None
    return f"```{hole.language}\n" + "\n".join([*above, line + hole.text]) + "\n```\n"


def chatter(hole: Hole, chance: Random) -> str | None:
    said = chance.choice(["Here is the completed code:", "Sure! Here's the missing part:"])
    more = "\n\nThis does what the code above needs, and nothing else."
    return f"{said}\n\n```\n{hole.text}\n```{more}"


def chatter_behind(hole: Hole, chance: Random) -> str | None:
    return f"{hole.text}\n```\n\nThis completes the code. Let me know if you need more!"


def echo(hole: Hole, chance: Random) -> str | None:
    line = hole.before.rpartition("\n")[2]
    return line + hole.text if line.strip() else None


def echo_running_on(hole: Hole, chance: Random) -> str | None:
    said = echo(hole, chance)
    return said and said + hole.after[:RUNS_ON]


def loop(hole: Hole, chance: Random) -> str | None:
    """The last line, or the last two that stand side by side, again and again."""
    rest_of_line, _, _ = hole.after.partition("\n")
    lines = (hole.before.rpartition("\n")[2] + hole.text + rest_of_line).split("\n")
    last = lines[-chance.randrange(1, 3) :]
    if hole.kind in LINES or len(last) == len(lines) > 1 or len({*map(_indent, last)}) > 1:
        last = lines[-1:]
    if sum(map(str.isalnum, last[0])) < 8:
        return None
    return hole.text + rest_of_line + "".join(f"\n{line}" for _ in range(8) for line in last)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


NOISES: dict[str, Noise] = {
    ALONE: alone,
    "runs on into what follows": runs_on,
    "runs on and stops anywhere": stops_anywhere,
    "goes on with other code": goes_on,
    "a special token and more": special_token,
    "in a fence": fence,
    "in a fence, with its line": fence_with_line,
    "in a fence, with lines above": fence_with_lines_above,
    "a sentence and a fence": chatter,
    "a fence that closes, and a sentence": chatter_behind,
    "its line said again": echo,
    "its line said again, running on": echo_running_on,
    "its last lines in a loop": loop,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came out of a hole for what a model said.

    `lost` characters of the true text are missing, `left` ones stand there that should not.
    """

    hole: Hole
    noise: str
    said: str
    result: str
    lost: int
    left: int

    @property
    def exact(self) -> bool:
        return not self.lost and not self.left


def trials(
    holes: Iterable[Hole],
    noises: Sequence[str] = tuple(NOISES),
    *,
    seed: int = 0,
    parsed: bool = False,
) -> Iterator[Trial]:
    """What comes out of each hole for each noise; `parsed` with the grammar of its language."""
    for hole in holes:
        context = context_of(hole, parsed=parsed)
        for noise in noises:
            said = NOISES[noise](hole, Random(f"{seed} {noise} {hole.text}"))
            if said is not None:
                yield _trial(hole, noise, said, context)


def context_of(hole: Hole, *, parsed: bool) -> CursorContext:
    document = Document.open("file:///x", hole.language, 1, hole.before + hole.after)
    grammar = load(language_of(hole.language)) if parsed else None
    return context_at(document, len(hole.before), path="x", windows=WINDOWS, grammar=grammar)


def _trial(hole: Hole, noise: str, said: str, context: CursorContext) -> Trial:
    result = apply(hole.before + hole.after, suggested(context, said))
    lost, left = difference(hole.before + hole.text + hole.after, result)
    return Trial(hole=hole, noise=noise, said=said, result=result, lost=lost, left=left)


def difference(expected: str, result: str) -> tuple[int, int]:
    """How many characters are missing in the result, and how many it has too many."""
    if expected == result:
        return 0, 0
    shorter = min(len(expected), len(result))
    same = next((n for n in range(shorter) if expected[n] != result[n]), shorter)
    most = shorter - same
    at_end = next((n for n in range(most) if expected[-1 - n] != result[-1 - n]), most)
    return len(expected) - same - at_end, len(result) - same - at_end


@dataclass(slots=True)
class Tally:
    """How many trials, how many of them exact, and what the others lost or left."""

    trials: int = 0
    exact: int = 0
    lost: int = 0
    left: int = 0

    def add(self, trial: Trial) -> None:
        self.trials += 1
        self.exact += trial.exact
        self.lost += trial.lost
        self.left += trial.left

    @property
    def share(self) -> float:
        return self.exact / self.trials if self.trials else 1.0


class Tallies:
    """The trials counted by what the model said, by language, and by the kind of hole."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, str], Tally] = {}

    def add(self, trial: Trial) -> None:
        key = (trial.noise, trial.hole.language, trial.hole.kind)
        self._counts.setdefault(key, Tally()).add(trial)

    @property
    def languages(self) -> list[str]:
        return sorted({language for _, language, _ in self._counts})

    def of(
        self,
        kinds: Sequence[str],
        *,
        noises: Sequence[str] | None = None,
        language: str | None = None,
    ) -> Tally:
        """The sum over some of them. Without `noises`: over all but the true text alone."""
        total = Tally()
        for (noise, of_language, kind), tally in self._counts.items():
            if kind not in kinds or language not in (None, of_language):
                continue
            if noise in noises if noises is not None else noise != ALONE:
                total.trials += tally.trials
                total.exact += tally.exact
                total.lost += tally.lost
                total.left += tally.left
        return total


def counted(found: Iterable[Trial]) -> Tallies:
    tallies = Tallies()
    for trial in found:
        tallies.add(trial)
    return tallies


def tables(tallies: Tallies) -> Iterator[str]:
    """In Markdown: do no harm by language, overrun by what the model said and by language."""
    yield "### Do no harm: the true text alone comes out untouched\n"
    kinds = (*LINES, *BLOCKS)
    yield markdown(
        ("language", *kinds, "trials"),
        [
            (
                language or "all",
                *(
                    _share(tallies.of((kind,), noises=(ALONE,), language=language))
                    for kind in kinds
                ),
                str(tallies.of(kinds, noises=(ALONE,), language=language).trials),
            )
            for language in (*tallies.languages, None)
        ],
    )
    head = ("exact", "lost", "left", "trials")
    yield "\n### Overrun: only the true text comes out; lost and left are characters a trial\n"
    yield markdown(
        ("what the model says", *(f"lines: {h}" for h in head), *(f"blocks: {h}" for h in head)),
        [
            (
                noise or "all",
                *_figures(tallies.of(LINES, noises=noises)),
                *_figures(tallies.of(BLOCKS, noises=noises)),
            )
            for noise, noises in [*((n, (n,)) for n in NOISES if n != ALONE), (None, None)]
        ],
    )
    yield "\n### Overrun by language\n"
    yield markdown(
        ("language", *(f"lines: {h}" for h in head), *(f"blocks: {h}" for h in head)),
        [
            (
                language,
                *_figures(tallies.of(LINES, language=language)),
                *_figures(tallies.of(BLOCKS, language=language)),
            )
            for language in tallies.languages
        ],
    )


def shown(trial: Trial) -> str:
    """One trial, for a person who looks for what went wrong."""
    hole = trial.hole
    meant = hole.before + hole.text + hole.after
    cursor = len(hole.before)
    ends = (max(len(hole.text), len(trial.result) - len(meant) + len(hole.text)), 120)
    return (
        f"\n{hole.name} ({hole.kind}): {trial.noise}, lost {trial.lost}, left {trial.left}\n"
        f"  before {hole.before[-160:]!r}\n"
        f"  after  {hole.after[:120]!r}\n"
        f"  said   {trial.said!r}\n"
        f"  meant  {meant[cursor : cursor + sum(ends)]!r}\n"
        f"  result {trial.result[cursor : cursor + sum(ends)]!r}"
    )


def _figures(tally: Tally) -> tuple[str, ...]:
    many = max(tally.trials, 1)
    return (
        _share(tally),
        f"{tally.lost / many:.2f}",
        f"{tally.left / many:.2f}",
        str(tally.trials),
    )


def _share(tally: Tally) -> str:
    return f"{tally.share:.1%}" if tally.trials else ""


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
