"""What became of a model's words on their way to the editor, for whoever asks to see code."""

from typing import Any

from lsp_completions.cache import Piece
from lsp_completions.pipeline import postprocess
from lsp_completions.pipeline.edit import edit_for
from lsp_completions.pipeline.extent import cut
from lsp_completions.pipeline.outcome import Outcome, Suggested
from lsp_completions.pipeline.stream import Chunk, Collector
from lsp_completions.trail import Trail


def stages(trail: Trail, outcome: Outcome) -> dict[str, Any]:
    """What was made of what a model said, step by step; steps that change nothing are left out."""
    piece = trail.piece
    shown = [edit.new_text for edit in outcome.edits] if isinstance(outcome, Suggested) else []
    if not isinstance(piece, Piece):
        return {"prompt": None, "steps": [], "shown": shown}
    generation, context = piece.generation, piece.context
    steps = [("what the model said", generation.raw)]
    if piece.is_faded:
        said = [{"name": name, "text": text} for name, text in steps]
        return {"prompt": None, "faded": True, "steps": said, "shown": shown}

    def then(name: str, text: str) -> str:
        if text != steps[-1][1]:
            steps.append((name, text))
        return text

    text = then("the code in it", piece.said)
    collector = Collector(context, piece.mode, markers=generation.prompt.special_tokens)
    candidate = collector.feed(Chunk(text=text)) or collector.end(
        cut_off=generation.error is not None
    )
    text = then("up to where a suggestion ends", candidate.text if candidate else "")
    for step in (*postprocess.CLEAN, *postprocess.BEGIN):
        text = then(_words(step.__name__), step(text, context))
    text = then("cut where it ends", cut(text, context, piece.mode)) if text else text
    for step in postprocess.END:
        text = then(_words(step.__name__), step(text, context)) if text else text
    if text and (edit := edit_for(text, context)) is not None:
        then("as an edit", edit.new_text)
    told = {
        "before": context.line_prefix,
        "steps": [{"name": name, "text": text} for name, text in steps],
        "shown": shown,
    }
    prompt = generation.prompt
    if generation.is_forgotten:  # a piece of today, of words of long ago
        return {"prompt": None, "faded": True, **told}
    return {
        "prompt": prompt.text or f"{prompt.prefix}\n{prompt.suffix}",
        "excerpts": [each.path for each in prompt.excerpts],
        **told,
    }


def _words(name: str) -> str:
    return name.replace("_", " ")
