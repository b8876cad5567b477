"""May a model be asked where the cursor stands? Each refusal is a `SkipReason` with a sentence."""

from lsp_completions.pipeline.balance import stack_before_line
from lsp_completions.pipeline.brackets import COMMENT, PARTNER, scan
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.outcome import SkipReason


def why_not_ask(
    context: CursorContext, *, in_comments: bool = True, in_strings: bool = True
) -> SkipReason | None:
    """Why no model is asked here while the user types; `None` where one is.

    `in_comments` and `in_strings` say whether one is asked there.
    """
    if context.line_suffix and _is_of_word(context.line_suffix[0]):
        return SkipReason.INSIDE_WORD
    stack = scan(context.line_prefix, context.language, stack_before_line(context)).stack
    inside = stack[-1] if stack else ""
    if inside and inside not in PARTNER:
        is_comment = inside == COMMENT or inside in (context.language.block_comment or ())
        if is_comment and not in_comments:
            return SkipReason.IN_COMMENT
        if not is_comment and not in_strings:
            return SkipReason.IN_STRING
        return None
    # What stands in open brackets goes on, as the first part of `for (;;)` does.
    if context.line_prefix.rstrip().endswith(_ENDS) and inside not in ("(", "["):
        return None if context.line_suffix.strip() else SkipReason.STATEMENT_ENDED
    return None


def _is_of_word(character: str) -> bool:
    """Letters of any script: a name may well be `été`."""
    return character.isalnum() or character == "_"


_ENDS = (";", "}")
