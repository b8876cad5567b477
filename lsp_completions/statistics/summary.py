"""What the statistics say: numbers for a person, made of what the database holds. Pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median, quantiles

from lsp_completions.statistics.records import AFTER, Held, Row, Suggestion

ASKED = ("ASKED", "JOINED")
"""Where somebody waited for a model, by the names of `trail.How`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What still stood of accepted suggestions after some seconds: of how many, on average."""

    after: int
    known: int
    share: float | None
    """From 0 to 1; `None` where it is known of none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Suggestions that have something in common. Times are in milliseconds.

    Those are from the request to the suggestion, where a model was waited for; `None` where none.
    """

    name: str
    suggestions: int
    accepted: int
    median: float | None
    slow: float | None
    """One in ten takes longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What came of suggestions in some time."""

    requests: int
    """Answers to the editor, most of them none."""
    suggestions: int
    """The rest of one that was typed into counts with it."""
    reported_shown: int
    """Those that the editor reported to be on the screen, which few do."""
    accepted: int
    """All of it, or a part."""
    in_part: int
    typed_through: int
    characters: int
    """Those accepted."""
    kept: tuple[Kept, ...]
    sources: tuple[tuple[str, int], ...]
    """How many came from where, by the names of `trail.How`, most first."""
    models: tuple[Group, ...]
    languages: tuple[Group, ...]
    reasons: tuple[tuple[str, int], ...]
    """Why there was nothing, by the names of `SkipReason`, most first."""
    days: tuple[tuple[str, int, int], ...]
    """Day, suggestions and acceptances, first ones first."""


def summarized(held: Held) -> Summary:
    """What the rows say."""
    each = [row.suggestion for row in held.rows]
    whole = _whole(each)
    taken = [one for one in whole if one.is_accepted]
    reasons: Counter[str] = Counter()
    for nothing, count in held.nothings.items():
        reasons[nothing.reason] += count
    return Summary(
        requests=len(each) + reasons.total(),
        suggestions=len(whole),
        reported_shown=sum(one.shown for one in whole),
        accepted=len(taken),
        in_part=sum(not one.is_accepted_whole for one in taken),
        typed_through=sum(one.is_typed_through for one in whole),
        characters=sum(one.taken for one in taken),
        kept=tuple(_kept(held.rows, number, after) for number, after in enumerate(AFTER)),
        sources=_counted(one.how for one in whole if one.how),
        models=_groups(whole, lambda one: " ".join(filter(None, (one.provider, one.model)))),
        languages=_groups(whole, lambda one: one.language),
        reasons=tuple(reasons.most_common()),
        days=_days(whole),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A suggestion with all that it was shown as, while it was typed into or taken word by word."""

    at: float
    provider: str
    model: str
    language: str
    how: str
    answered: float | None
    shown: bool
    taken: int
    is_accepted: bool
    is_accepted_whole: bool
    is_typed_through: bool


def _whole(each: Iterable[Suggestion]) -> list[Whole]:
    together: defaultdict[tuple[str, int], list[Suggestion]] = defaultdict(list)
    for one in each:
        together[one.server, one.first].append(one)
    return [_joined(sorted(ones, key=lambda one: one.number)) for ones in together.values()]


def _joined(ones: Sequence[Suggestion]) -> Whole:
    first, last = ones[0], ones[-1]
    fates = {one.fate for one in ones}
    accepted = not fates.isdisjoint({"ACCEPTED", "ACCEPTED_IN_PART"})
    is_used_up = last.taken >= last.characters > 0
    return Whole(
        at=first.at,
        provider=first.provider,
        model=first.model,
        language=first.language,
        how=first.how,
        answered=first.answered,
        shown=any(one.shown for one in ones),
        taken=sum(one.taken for one in ones if one.fate in ("ACCEPTED", "ACCEPTED_IN_PART")),
        is_accepted=accepted,
        is_accepted_whole="ACCEPTED" in fates or (accepted and is_used_up),
        is_typed_through=not accepted and last.fate == "TYPED_THROUGH" and is_used_up,
    )


def _kept(rows: Sequence[Row], number: int, after: int) -> Kept:
    known = [share for row in rows if (share := row.kept[number]) is not None]
    share = sum(known) / len(known) if known else None
    return Kept(after=after, known=len(known), share=share)


def _groups(each: Iterable[Whole], name_of: Callable[[Whole], str]) -> tuple[Group, ...]:
    by_name: defaultdict[str, list[Whole]] = defaultdict(list)
    for one in each:
        by_name[name_of(one) or "?"].append(one)
    groups = [_group(name, ones) for name, ones in by_name.items()]
    return tuple(sorted(groups, key=lambda group: (-group.suggestions, group.name)))


def _group(name: str, ones: Sequence[Whole]) -> Group:
    waits = [one.answered for one in ones if one.answered is not None and one.how in ASKED]
    return Group(
        name=name,
        suggestions=len(ones),
        accepted=sum(one.is_accepted for one in ones),
        median=median(waits) if waits else None,
        slow=_slow(waits),
    )


def _slow(waits: Sequence[float]) -> float | None:
    if not waits:
        return None
    return quantiles(waits, n=10, method="inclusive")[-1] if len(waits) > 1 else waits[0]


def _counted(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(names).most_common())


def _days(each: Iterable[Whole]) -> tuple[tuple[str, int, int], ...]:
    suggested: Counter[str] = Counter()
    accepted: Counter[str] = Counter()
    for one in each:
        day = datetime.fromtimestamp(one.at, UTC).date().isoformat()
        suggested[day] += 1
        accepted[day] += one.is_accepted
    return tuple((day, suggested[day], accepted[day]) for day in sorted(suggested))
