"""What the model said, made to fit what stands around the cursor: one step per file, in order."""

from collections.abc import Callable

from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.extent import cut
from lsp_completions.pipeline.postprocess.closing_brackets import no_closers_of_next_line
from lsp_completions.pipeline.postprocess.closing_line import closer_on_its_own_line
from lsp_completions.pipeline.postprocess.echo import no_echo
from lsp_completions.pipeline.postprocess.fences import no_fences
from lsp_completions.pipeline.postprocess.first_line import well_begun
from lsp_completions.pipeline.postprocess.following_lines import no_following_lines
from lsp_completions.pipeline.postprocess.indentation import indented_alike
from lsp_completions.pipeline.postprocess.line_ends import plain_line_ends
from lsp_completions.pipeline.postprocess.lines_above import no_lines_above
from lsp_completions.pipeline.postprocess.loops import no_loops
from lsp_completions.pipeline.postprocess.named_twice import nothing_named_twice
from lsp_completions.pipeline.postprocess.nothing_new import something_new
from lsp_completions.pipeline.postprocess.prompt_echo import no_prompt_echo
from lsp_completions.pipeline.postprocess.special_tokens import no_special_tokens
from lsp_completions.pipeline.postprocess.trailing_space import no_trailing_space
from lsp_completions.pipeline.trigger import Mode

Step = Callable[[str, CursorContext], str]

# What the model said beside its code.
CLEAN: tuple[Step, ...] = (
    plain_line_ends,
    no_special_tokens,
    no_fences,
    no_prompt_echo,
    no_lines_above,
    no_echo,
)

# How the code fits what stands around it.
BEGIN: tuple[Step, ...] = (well_begun, indented_alike)
END: tuple[Step, ...] = (
    no_following_lines,
    nothing_named_twice,
    no_loops,
    no_closers_of_next_line,
    no_trailing_space,
    closer_on_its_own_line,
    something_new,
)


def finish(text: str, context: CursorContext, mode: Mode) -> str:
    """The text to show, from what the model said; empty when it said nothing new.

    What it says of the rest of the cursor's line is still in it: `edit_for` sees to that.
    """
    for step in (*CLEAN, *BEGIN):
        text = step(text, context)
    text = cut(text, context, mode)
    for step in END:
        text = step(text, context)
    return text


def fit_below(text: str, context: CursorContext) -> str:
    """The rest of a text that was shown already, made to fit what stands below by now."""
    for step in END:
        text = step(text, context)
    return text
