"""A suggestion made for a document as it was, in the document as it is now; and the other way."""

from dataclasses import replace

from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit, after_typing

REACH = 2000  # characters each side that must be the same: more than a screen, less than a window


def rebased(edit: Edit, before: Document, cursor: int, now: Document) -> Edit | None:
    """The edit for `now`, with a fresh range, or `None` when it no longer fits.

    It fits when all that happened around the cursor is that the suggestion was typed into, or
    when something happened far away, which only moves it.
    """
    if now is before:
        return edit
    grown = now.length - before.length
    moved = cursor + grown
    if moved < 0:
        return None
    prefix = before.slice(max(0, cursor - REACH), cursor)
    suffix = before.slice(cursor, min(before.length, cursor + REACH))
    untouched = now.slice(max(0, cursor - REACH), cursor) == prefix
    if untouched and now.slice(cursor, cursor + REACH) == suffix:
        return edit
    if now.slice(moved, moved + REACH) != suffix:
        return None

    if grown >= 0 and untouched:
        if edit.start == cursor:
            return after_typing(edit, now.slice(cursor, moved), moved)
        covered = now.slice(edit.start, moved)
        return replace(edit, end=edit.end + grown) if edit.new_text.startswith(covered) else None
    # Where the document's top is near, a new first line is near as well.
    if cursor > REACH and now.slice(moved - REACH, moved) == prefix:
        return replace(edit, start=edit.start + grown, end=edit.end + grown)
    return None


def cursor_after_typing(before: Document, cursor: int, now: Document) -> int | None:
    """Where the cursor is by now, if all that happened is that the user typed on in the line."""
    moved = cursor + now.length - before.length
    if moved <= cursor:
        return None
    typed = now.slice(cursor, moved)
    start, end = max(0, cursor - REACH), min(before.length, cursor + REACH)
    same = now.slice(start, cursor) == before.slice(start, cursor)
    same = same and now.slice(moved, moved + end - cursor) == before.slice(cursor, end)
    return moved if same and "\n" not in typed and "\r" not in typed else None


def told_before(edit: Edit, now: Document, before: int, cursor: int) -> Edit:
    """An edit at `cursor`, as one of the document before `[before, cursor)` was typed."""
    start = min(edit.start, before)
    return Edit(
        start=start,
        end=edit.end - (cursor - before),
        new_text=now.slice(start, edit.start) + edit.new_text,
    )
