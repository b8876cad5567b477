"""The life of a request, from cursor to edit. Read this first.

`complete` reads top to bottom; what it calls are plain functions of values in `pipeline/`, and the
`asker`, which knows whether a model has to be asked at all. Everything it needs was taken from the
session when the editor asked, so nothing here waits for the world but the model itself.
"""

import asyncio
import contextlib

from lsp_completions.asker import Asker
from lsp_completions.cache import Memory
from lsp_completions.generations import Generations
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.outcome import Outcome, Skipped, SkipReason, Suggested
from lsp_completions.pipeline.rebase import rebased, told_before
from lsp_completions.request import Request, Selection

NOTICEABLE = 0.1  # seconds waited before a model could be asked; less is not worth a deadline


async def complete(
    request: Request, generations: Generations, memory: Memory | None = None
) -> Outcome:
    """What to show at the cursor. Raises `ProviderError` where the provider failed.

    Without a `memory` nothing is remembered.
    """
    memory = memory or Memory()
    document, offset = request.document, request.offset
    began = _now()
    ends = None if request.deadline is None else began + request.deadline

    # An entry selected in the menu is completed as if it had been accepted already.
    if (selection := request.selection) is not None:
        if not selection.text.startswith(document.slice(selection.start, offset)):
            return Skipped(reason=SkipReason.SELECTION_DIFFERS)
        document = document.replaced(
            document.place_at(selection.start),
            document.place_at(offset),
            selection.text,
            document.version,
        )
        offset = selection.start + len(selection.text)

    # The embedded model may have to start first.
    try:
        async with asyncio.timeout_at(ends):
            provider = generations.whom(await request.provider())
    except TimeoutError:
        return Skipped(reason=SkipReason.TOO_SLOW)

    repository = None
    # Not everything may be sent to everybody, and who decides that may have to be asked first.
    if (permission := request.permission) is not None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(ends):
                await permission.decided(provider)
        if (reason := permission.why_kept_back(provider)) is not None:
            return Skipped(reason=reason)
        repository = permission.repository(provider)
    request.trail.may_be_sent(provider)
    if ends is None and request.in_all is not None and _now() - began > NOTICEABLE:
        # What was waited for is part of it. What comes later is remembered.
        ends = began + request.in_all

    asker = Asker(
        request, provider, generations, memory, repository=repository, began=began, ends=ends
    )
    found = await asker.find(document, offset)
    if isinstance(found, Skipped):
        return found
    if request.ahead:
        return Skipped(reason=SkipReason.NOT_AHEAD)

    # Asked by hand where something is shown already: what else could it be?
    piece, suggestion, place = found.piece, found.suggestion, found.place
    cycles = request.by_hand and request.follow_typing and piece.shown and not found.typed.text
    if cycles and not piece.others:
        piece.others = await asker.others(found)
    # A menu's entry may never have been looked at.
    piece.shown |= request.follow_typing
    # A menu has its own ways to choose, and other sources beside us.
    suggestions = (suggestion, *(piece.others if request.follow_typing else ()))
    edits = [edit for each in suggestions if (edit := found.edit(each)) is not None]
    if not edits:
        return Skipped(reason=suggestion.nothing or SkipReason.NOTHING_NEW)

    if selection is not None:
        edits = [including(selection, edit, cursor=request.offset) for edit in edits]

    now = request.current()
    if not request.follow_typing:
        if now is None or rebased(edits[0], place.document, place.cursor, now) is None:
            return Skipped(reason=SkipReason.MOVED_ON)
        if place.document is not request.document:
            edits = [
                told_before(edit, place.document, request.offset, place.cursor) for edit in edits
            ]
        return Suggested(
            document=request.document, edits=tuple(edits), complete=suggestion.complete
        )
    fresh = [
        edit
        for each in edits
        if now is not None
        and (edit := rebased(each, request.document, request.offset, now)) is not None
    ]
    if now is None or not fresh:
        return Skipped(reason=SkipReason.MOVED_ON)
    return Suggested(document=now, edits=tuple(fresh), complete=suggestion.complete)


def including(selection: Selection, edit: Edit, cursor: int) -> Edit:
    """The edit made after the selected entry, as one edit that holds the entry as well."""
    beyond = edit.end - (selection.start + len(selection.text))
    return Edit(start=selection.start, end=cursor + beyond, new_text=selection.text + edit.new_text)


def _now() -> float:
    return asyncio.get_running_loop().time()
