"""`lsp-completions stats`: what came of suggestions, as it was counted on this machine."""

import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import click

from lsp_completions.cli.check import shows_ticks
from lsp_completions.cli.exits import Exit
from lsp_completions.cli.saying import say
from lsp_completions.errors import ConfigurationError
from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.running import running
from lsp_completions.statistics.records import DAY, SOON, Unusable
from lsp_completions.statistics.store import KEPT_DAYS, database_file, delete, read
from lsp_completions.statistics.summary import Group, Summary, summarized
from lsp_completions.statistics.waiting import bring_in
from lsp_completions.visible import in_json, visible

PATIENCE = 0.2  # seconds for servers that write
NARROWEST, WIDEST = 60, 100  # columns
BAR = 20  # columns
MOST_GROUPS, MOST_REASONS = 8, 8
HOW = {
    "ASKED": "asked for",
    "JOINED": "from a request under way",
    "MEMORY": "from memory",
    "AHEAD": "asked for ahead",
}


def stats(days: int, *, as_json: bool) -> Exit:
    """Show the last days; returns the exit code."""
    file = database_file()
    bring_in(file, patience=PATIENCE)
    try:
        held = read(file, time.time() - days * DAY)
    except Unusable as error:
        raise ConfigurationError(f"{file} cannot be read: {error}.") from None
    summary = summarized(held)
    if as_json:
        click.echo(in_json({"days": days, **fields(summary)}))
    elif not summary.requests:
        say(f"Nothing was counted in the last {days} days. {_when_it_is()}")
    else:
        width = min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST)
        page = Page(width=width, plain=not shows_ticks(os.environ))
        sys.stdout.write("\n".join(page.lines(summary, days)) + "\n")
        if sys.stdout.isatty():
            click.echo(err=True)
            say(
                f"Counted on this machine and told nobody, in {file}, for {KEPT_DAYS} days. "
                f"What is new takes up to {SOON:.0f} seconds to get there."
            )
    return Exit.GOOD


def _when_it_is() -> str:
    if running():
        return (
            f"A running server writes within {SOON:.0f} seconds what it counts, unless the setting "
            "statistics is false: look again then."
        )
    return "Editors' servers count while they run, unless the setting statistics is false."


def forget() -> Exit:
    """Delete all that was counted."""
    file = database_file()
    try:
        existed = delete(file)
    except OSError as error:
        raise ConfigurationError(
            f"{file} could not be deleted: {error.strerror or error}."
        ) from None
    say(f"Deleted {file}." if existed else "Nothing was counted.")
    return Exit.GOOD


def fields(summary: Summary) -> dict[str, object]:
    """The same for JSON."""

    def group(one: Group) -> dict[str, object]:
        return {
            "name": one.name,
            "suggestions": one.suggestions,
            "accepted": one.accepted,
            "medianMilliseconds": one.median,
            "slowMilliseconds": one.slow,
        }

    return {
        "requests": summary.requests,
        "suggestions": summary.suggestions,
        "reportedShown": summary.reported_shown,
        "accepted": summary.accepted,
        "acceptedInPart": summary.in_part,
        "typedThrough": summary.typed_through,
        "acceptedCharacters": summary.characters,
        "kept": [asdict(each) for each in summary.kept],
        "sources": {name.lower(): count for name, count in summary.sources},
        "models": [group(each) for each in summary.models],
        "languages": [group(each) for each in summary.languages],
        "nothing": {_key(name): count for name, count in summary.reasons},
        "perDay": [
            {"day": day, "suggestions": suggestions, "accepted": accepted}
            for day, suggestions, accepted in summary.days
        ],
    }


class Page:
    """The numbers as a person reads them, with small bars; `plain` ones where letters are few."""

    def __init__(self, *, width: int, plain: bool) -> None:
        self._width = width
        self._plain = plain

    def lines(self, summary: Summary, days: int) -> Iterator[str]:
        """The page."""
        yield f"The last {days} days"
        yield ""
        whole = summary.suggestions
        yield f"  {'Suggestions':28}{whole:>8,}"
        yield self._part("Accepted", summary.accepted, whole)
        if summary.in_part:
            yield self._part("  of these in part", summary.in_part, whole)
        if summary.typed_through:
            yield self._part("Typed as suggested", summary.typed_through, whole)
        for name, count in summary.sources:
            yield self._part(f"{HOW.get(name, name).capitalize()}", count, whole)
        if any(each.known for each in summary.kept):
            yield ""
            yield "  Of what was accepted still stands"
            for each in summary.kept:
                if each.share is not None:
                    yield self._share(f"  after {_span(each.after)}", each.known, each.share)
        if len(summary.days) > 1:
            yield ""
            yield f"  By day  {self._spark([count for _, count, _ in summary.days])}"
        yield from self._table("Provider and model", summary.models)
        yield from self._table("Language", summary.languages)
        if summary.reasons:
            total = sum(count for _, count in summary.reasons)
            yield ""
            yield f"  Nothing was shown {'once' if total == 1 else f'{total:,} times'}"
            for name, count in summary.reasons[:MOST_REASONS]:
                yield self._cut(f"{count:>10,}  {_sentence(name)}")

    def _part(self, name: str, count: int, whole: int) -> str:
        return self._share(name, count, count / whole if whole else 0.0)

    def _share(self, name: str, count: int, share: float) -> str:
        return f"  {name:28}{count:>8,}{share:>7.0%}  {self._bar(share)}".rstrip()

    def _table(self, title: str, groups: Sequence[Group]) -> Iterator[str]:
        if not groups:
            return
        room = self._width - 2 - 42
        yield ""
        yield f"  {title:{room}}{'shown':>8}{'accepted':>10}{'median':>10}{'9 in 10':>10}"
        for each in groups[:MOST_GROUPS]:
            name = visible(each.name).replace("\n", " ")
            if len(name) > room - 1:
                name = "…" + name[-(room - 2) :]
            rate = f"{each.accepted / each.suggestions:.0%}" if each.suggestions else "–"
            yield (
                f"  {name:{room}}{each.suggestions:>8,}{rate:>10}"
                f"{_duration(each.median):>10}{_duration(each.slow):>10}"
            )
        if len(groups) > MOST_GROUPS:
            yield f"  … and {len(groups) - MOST_GROUPS} more"

    def _bar(self, share: float) -> str:
        if self._plain:
            return "#" * round(share * BAR)
        eighths = round(share * BAR * 8)
        part = " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        return "█" * (eighths // 8) + part

    def _spark(self, counts: Sequence[int]) -> str:
        last = counts[-(self._width - 12) :]
        letters = ".:-=+*#@" if self._plain else "▁▂▃▄▅▆▇█"
        top = max(last) or 1
        return "".join(letters[min(count * 8 // (top + 1), 7)] for count in last)

    def _cut(self, line: str) -> str:
        return line if len(line) <= self._width else line[: self._width - 1] + "…"


def _duration(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "–"
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def _span(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min"


def _sentence(name: str) -> str:
    try:
        return SkipReason[name].value
    except KeyError:
        return name  # of another version


def _key(name: str) -> str:
    first, *others = name.lower().split("_")
    return first + "".join(map(str.capitalize, others))
