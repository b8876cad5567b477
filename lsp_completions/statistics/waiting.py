"""What a server that ends cannot write, since another program is at the database: it waits beside.

Whoever writes next takes it along. It is for its user alone, as the database is. All of it blocks.
"""

import json
import secrets
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from lsp_completions.on_disk import found_in
from lsp_completions.private import write_private
from lsp_completions.statistics.records import (
    AFTER,
    MOST_COUNTED,
    Batch,
    NewerVersion,
    Nothing,
    Suggestion,
    Unusable,
    is_sound,
)
from lsp_completions.statistics.store import waiting_names, write

MOST = 20  # files; of servers that end while nobody can write for days, the later ones are lost


def write_or_wait(file: Path, batch: Batch, *, patience: float) -> None:
    """Write it now or have it wait. Raises `Unusable` where neither can be."""
    try:
        write_all(file, batch, patience=patience)
    except NewerVersion:
        raise
    except Unusable:
        _keep(file, batch)


def write_all(file: Path, batch: Batch, *, patience: float) -> None:
    """Write it, then what waits. Raises `Unusable` where it cannot be, with nothing written."""
    write(file, batch, patience=patience)
    bring_in(file, patience=patience)


def bring_in(file: Path, *, patience: float) -> None:
    """Write what waits, or let it wait on."""
    if not (taken := _take(file)):
        return
    try:
        write(file, _together(taken), patience=patience)
    except Unusable:
        for each in taken:
            with suppress(Unusable):
                _keep(file, each)


def _waiting(file: Path) -> list[Path]:
    try:
        return found_in(file.parent, waiting_names(file))
    except OSError:
        return []


def _keep(file: Path, batch: Batch) -> None:
    if len(_waiting(file)) >= MOST:
        raise Unusable("too much waits already")
    held = {
        "suggestions": [asdict(each) for each in batch.suggestions],
        "nothings": [[asdict(each), count] for each, count in batch.nothings.items()],
        "kept": [[*where, share] for where, share in batch.kept.items()],
    }
    name = waiting_names(file).replace("*", secrets.token_hex(4))
    try:
        write_private(file.with_name(name), json.dumps(held))
    except OSError as error:
        raise Unusable(error.strerror or str(error)) from error


def _take(file: Path) -> list[Batch]:
    """What waits, from now on with us alone."""
    found = []
    for each in _waiting(file):
        try:
            text = each.read_text(encoding="utf-8")
            each.unlink()  # of those who want it, one alone can do that
        except (OSError, ValueError):
            continue
        if (batch := _read(text)) is not None:
            found.append(batch)
    return found


def _read(text: str) -> Batch | None:
    """`None` for anything else than was written."""
    try:
        held = json.loads(text)
        suggestions = [Suggestion(**each) for each in held["suggestions"]]
        nothings = {Nothing(**each): count for each, count in held["nothings"]}
        kept = {
            (str(server), number, int(after)): float(share)
            for server, number, after, share in held["kept"]
            if after in AFTER
        }
    except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
        return None
    counted = [*nothings.values(), *(number for _, number, _ in kept)]
    if not all(isinstance(each, int) and 0 <= each <= MOST_COUNTED for each in counted):
        return None
    if not (all(is_sound(each) for each in suggestions) and all(map(is_sound, nothings))):
        return None
    return Batch(suggestions=suggestions, nothings=nothings, kept=kept)


def _together(batches: Iterable[Batch]) -> Batch:
    suggestions: list[Suggestion] = []
    nothings: Counter[Nothing] = Counter()
    kept: dict[tuple[str, int, int], float] = {}
    for each in batches:
        suggestions += each.suggestions
        nothings.update(each.nothings)
        kept.update(each.kept)
    return Batch(suggestions=suggestions, nothings=nothings, kept=kept)
