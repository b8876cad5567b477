"""From a drawn cursor and the model's words to the document after the suggestion."""

from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.edit import Edit, edit_for
from lsp_completions.pipeline.postprocess import finish
from lsp_completions.pipeline.stream import Candidate, Chunk, Collector
from lsp_completions.pipeline.trigger import Mode, mode_for
from tests.support.cursor import apply, context_of, cursor


def collected(context: CursorContext, mode: Mode, pieces: list[str]) -> Candidate | None:
    """What a collector makes of a stream."""
    collector = Collector(context, mode)
    for piece in pieces:
        if (candidate := collector.feed(Chunk(text=piece))) is not None:
            return candidate
    return collector.end()


def suggested(
    context: CursorContext, said: str, *, multiline: str = "auto", piecewise: bool = False
) -> Edit | None:
    """The edit that comes of what the model said, whole or one character at a time."""
    mode = mode_for(context, multiline)
    candidate = collected(context, mode, list(said) if piecewise else [said])
    text = finish(candidate.text, context, mode) if candidate is not None else ""
    return edit_for(text, context) if text else None


def accepted(
    drawn: str, said: str, language: str, *, multiline: str = "auto", parsed: bool = False
) -> str:
    """The document after accepting, which must not depend on how the stream was cut."""
    text, offset = cursor(drawn)
    context = context_of(drawn, language, parsed=parsed)
    edit = suggested(context, said, multiline=multiline)
    assert edit == suggested(context, said, multiline=multiline, piecewise=True)
    if edit is not None:
        line_end = offset + len(context.line_suffix)
        assert edit.start == offset <= edit.end <= line_end, "the range leaves the cursor's line"
        assert "\r" not in edit.new_text
    return apply(text, edit)
