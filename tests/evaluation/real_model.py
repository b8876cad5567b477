"""The embedded model on lines held out of real code: what it says raw, and what is made of it.

Raw is what somebody gets who sends the text before the cursor and inserts the reply as it comes.
The same model with as many tokens then answers through the whole pipeline, from the prompt to the
edit. There is no chance in either, so that one machine gives the same table each time.
"""

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean

import httpx

from lsp_completions.completer import complete
from lsp_completions.generations import Generations
from lsp_completions.local_model.client import Endpoint, LocalModel
from lsp_completions.pipeline.context import Windows, context_at
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.excerpts.choosing import choose
from lsp_completions.pipeline.excerpts.index import Index, index_of
from lsp_completions.pipeline.excerpts.query import query_at
from lsp_completions.pipeline.excerpts.ranking import Source
from lsp_completions.pipeline.languages import language_of
from lsp_completions.pipeline.outcome import Suggested
from lsp_completions.pipeline.prompt import Excerpt
from lsp_completions.providers.base import Provider
from lsp_completions.providers.local import LIMITS, Local
from lsp_completions.request import ExcerptQuery, Request, at_hand
from lsp_completions.settings import Settings
from lsp_completions.transport import Timeouts, Transport
from tests.evaluation import corpora
from tests.evaluation.holes import LINES, Hole, holes_in
from tests.support.cursor import apply

# A busy machine may take long, and what it says then is the same.
PATIENCE = 600.0
TIMEOUTS = Timeouts(connect=PATIENCE, first_event=PATIENCE, total=PATIENCE)
EXCERPT_CHARS = 1256  # as most providers get
MOST_NEIGHBOURS = 20  # files beside one's own, as somebody may have open

RAW = "raw"
FIRST_LINE = "raw, its first line"
OURS = "the pipeline"
WITH_EXCERPTS = "the pipeline, with excerpts"
WAYS = (RAW, FIRST_LINE, OURS, WITH_EXCERPTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A hole, and what stood in its line from the cursor on, by the way it was filled."""

    hole: Hole
    way: str
    wanted: str
    got: str
    said: str
    """What the model said."""
    anything: bool
    """Whether there was anything to accept."""

    @property
    def exact(self) -> bool:
        return self.got == self.wanted

    @property
    def similarity(self) -> float:
        return similarity(self.got, self.wanted)


def held_out(*, lines: int, installed: bool = True, seed: int = 0) -> list[Hole]:
    """So many holes, of all languages and all kinds of lines in turns."""
    sources = corpora.own_code()
    if installed:
        # Another seed than what the pipeline's own rules were looked at with.
        sources += corpora.installed_code(files=4, seed=2000 + seed)
    by_kind = defaultdict[tuple[str, str], list[Hole]](list)
    for hole in holes_in(sources, each=1, seed=seed):
        if hole.kind in LINES and hole.text.strip():
            by_kind[hole.kind, hole.language].append(hole)
    chance = Random(seed)
    for holes in by_kind.values():
        chance.shuffle(holes)
    found: list[Hole] = []
    while len(found) < lines and any(by_kind.values()):
        languages = sorted({language for _, language in by_kind})
        chance.shuffle(languages)
        for number, language in enumerate(languages):
            kind = LINES[(number + len(found)) % len(LINES)]
            if (holes := by_kind[kind, language]) and len(found) < lines:
                found.append(holes.pop())
    return found


@asynccontextmanager
async def served(model: Path, folder: Path) -> AsyncIterator[Endpoint]:
    """The model in a process of its own, as servers start it."""
    local = LocalModel(str(model), folder=folder)
    try:
        yield await local.ready()
    finally:
        await local.aclose()


async def trials(
    holes: Sequence[Hole],
    at: Endpoint,
    *,
    ways: Sequence[str] = WAYS,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Tried]:
    """Each hole filled in each of the ways."""
    provider = Local(temperature=0.0).served(
        at.url, at.key, model_path=str(at.model_path), fim=at.fim
    )
    transport = Transport()
    generations = Generations(lambda request: transport.events(request, TIMEOUTS))
    found: list[Tried] = []
    try:
        for number, hole in enumerate(holes):
            if RAW in ways or FIRST_LINE in ways:
                said = await raw(at, hole)
                firsts = {RAW: said, FIRST_LINE: said.partition("\n")[0]}
                found += [_tried(hole, way, said, firsts[way]) for way in firsts if way in ways]
            for way, elsewhere in ((OURS, None), (WITH_EXCERPTS, Beside(hole))):
                if way in ways:
                    found.append(await _through(hole, way, provider, generations, elsewhere))
            tell(f"{number + 1} of {len(holes)}")
    finally:
        await generations.aclose()
        await transport.aclose()
    return found


async def raw(at: Endpoint, hole: Hole) -> str:
    """What the model says after as much text before the cursor as the pipeline looks at."""
    windows = Windows(prefix_chars=LIMITS.prefix_chars, suffix_chars=LIMITS.suffix_chars)
    document = _document(hole)
    context = context_at(document, len(hole.before), path="", windows=windows)
    async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as client:
        answer = await client.post(
            f"{at.url}/completion",
            headers={"Authorization": f"Bearer {at.key.reveal()}"},
            json={
                "prompt": context.prefix,
                "n_predict": LIMITS.max_tokens,
                "temperature": 0,
                "cache_prompt": True,
            },
        )
    answer.raise_for_status()
    return str(json.loads(answer.content)["content"])


async def _through(
    hole: Hole, way: str, provider: Provider, generations: Generations, elsewhere: "Beside | None"
) -> Tried:
    document = _document(hole)
    settings = Settings(
        total_timeout=PATIENCE, excerpt_chars=EXCERPT_CHARS if way == WITH_EXCERPTS else None
    )
    outcome = await complete(
        Request(
            document=document,
            offset=len(hole.before),
            path=_path(hole).name,
            settings=settings,
            provider=at_hand(provider),
            current=lambda: document,
            by_hand=True,
            elsewhere=elsewhere if way == WITH_EXCERPTS else None,
        ),
        generations,
    )
    if not isinstance(outcome, Suggested):
        return _tried(hole, way, outcome.reason.name, "")
    edit = outcome.edits[0]
    text = apply(_text(hole), edit)
    below = hole.after.partition("\n")[2]
    got = text[len(hole.before) : len(text) - len(below) - ("\n" in hole.after)]
    return Tried(
        hole=hole, way=way, wanted=_wanted(hole), got=got, said=edit.new_text, anything=True
    )


def _tried(hole: Hole, way: str, said: str, inserted: str) -> Tried:
    got = inserted + hole.after.partition("\n")[0]
    return Tried(
        hole=hole, way=way, wanted=_wanted(hole), got=got, said=said, anything=bool(inserted)
    )


def _document(hole: Hole) -> Document:
    return Document.open(f"file:///w/{_path(hole).name}", hole.language, 1, _text(hole))


def _path(hole: Hole) -> Path:
    return Path(hole.name.rpartition(":")[0])


def _text(hole: Hole) -> str:
    return hole.before + hole.after


def _wanted(hole: Hole) -> str:
    return hole.text + hole.after.partition("\n")[0]


class Beside:
    """The files in a file's own folder, as if they were open."""

    def __init__(self, hole: Hole) -> None:
        self._path = _path(hole)
        self._sources: list[Source] | None = None

    async def decided(self, query: ExcerptQuery) -> None:
        """All is known."""

    def excerpts(self, query: ExcerptQuery) -> Sequence[Excerpt]:
        """What the pipeline would choose of them."""
        if self._sources is None:
            own = index_of(
                query.document.text,
                key="own",
                path=self._path.name,
                language=query.context.language,
            )
            others = [Source(index=each) for each in self._others()]
            self._sources = [*others, Source(index=own, is_own=True)]
        wanted = query_at(query.context, self._sources[-1].index.imports)
        return [each.excerpt for each in choose(wanted, self._sources, chars=query.chars)]

    def _others(self) -> Iterator[Index]:
        if not self._path.is_absolute():
            return
        alike = sorted(self._path.parent.glob(f"*{self._path.suffix}"))
        for path in [each for each in alike if each != self._path][:MOST_NEIGHBOURS]:
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if len(text) <= corpora.LONGEST:
                language = language_of("", path.name)
                yield index_of(text, key=path.name, path=path.name, language=language)


def similarity(one: str, other: str) -> float:
    """1 less the share of characters that have to be inserted, deleted or changed."""
    if not one and not other:
        return 1.0
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(other, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (left != right))
    return 1 - row[-1] / max(len(one), len(other))


# ---- tables


def table(found: Sequence[Tried]) -> str:
    """By kind of hole, in Markdown: how many are exact, and how similar all of them are."""
    ways = list(dict.fromkeys(each.way for each in found))
    head = ["lines held out", "", *(f"{way}: exact | similar" for way in ways)]
    rows = [f"| {' | '.join(head)} |", "| --- | ---: |" + " ---: | ---: |" * len(ways)]
    for kind in (*LINES, "all"):
        some = [each for each in found if kind in (each.hole.kind, "all")]
        count = len(some) // len(ways) if ways else 0
        if not count:
            continue
        cells = [str(count)]
        for way in ways:
            mine = [each for each in some if each.way == way]
            cells.append(f"{fmean(each.exact for each in mine):.1%}")
            cells.append(f"{fmean(each.similarity for each in mine):.3f}")
        rows.append(f"| {kind} | {' | '.join(cells)} |")
    nothing = [
        f"{way} {sum(not each.anything for each in found if each.way == way)}" for way in ways
    ]
    return "\n".join([*rows, "", f"Nothing to accept: {', '.join(nothing)}.", ""])


def shown(found: Sequence[Tried]) -> str:
    """One hole with all that came of it, for a person who wants to know why."""
    hole = found[0].hole
    before = "\n".join(hole.before.split("\n")[-4:])
    lines = [f"--- {hole.name} ({hole.language}, {hole.kind})", f"{before}▮", ""]
    lines.append(f"{'wanted':28} {found[0].wanted!r}")
    lines += [f"{each.way:28} {each.got!r}  ({each.said!r})" for each in found]
    return "\n".join(lines)
