"""A document with the cursor drawn in, and an edit carried out."""

from lsp_completions.grammars import load
from lsp_completions.pipeline.context import CursorContext, Windows, context_at
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.languages import language_of

MARK = "<cursor>"


def cursor(drawn: str) -> tuple[str, int]:
    """`cursor("foo(<cursor>)\\n")` -> the document's text, and where its cursor stands."""
    before, mark, after = drawn.partition(MARK)
    assert mark, f"no {MARK} in {drawn!r}"
    assert MARK not in after, f"two cursors in {drawn!r}"
    return before + after, len(before)


def context_of(
    drawn: str,
    language: str = "python",
    *,
    prefix_chars: int = 4300,
    suffix_chars: int = 716,
    parsed: bool = False,
) -> CursorContext:
    """The context at a cursor drawn into a document; `parsed` with the language's grammar."""
    text, offset = cursor(drawn)
    return context_at(
        Document.open("file:///x", language, 1, text),
        offset,
        path="x",
        windows=Windows(prefix_chars=prefix_chars, suffix_chars=suffix_chars),
        grammar=load(language_of(language)) if parsed else None,
    )


def apply(text: str, edit: Edit | None) -> str:
    """The document after the edit."""
    if edit is None:
        return text
    return text[: edit.start] + edit.new_text + text[edit.end :]
