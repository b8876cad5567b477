"""What is sent to the model: the text around the cursor and code from elsewhere, in its own form.

A prompt is never blank, and shorter than its budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from lsp_completions.pipeline.chats import ONE_LINE, SOME_LINES
from lsp_completions.pipeline.context import (
    CursorContext,
    from_line_start,
    to_line_end,
    window_start,
)
from lsp_completions.pipeline.templates import ABOUT_PATH, Family, ReplyForm

# What a model reads whose window holds 2,048 tokens, the smallest in wide use: 3.5 characters to a
# token, less 256 tokens for the reply.
BUDGET_CHARS = 6272
LONGEST_BEGUN = 200  # characters of a line said again in the model's place
MOST_STOP_SEQUENCES = 4  # what hosted APIs take; some refuse a request with more


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Code from elsewhere to show to the model."""

    path: str
    text: str
    document: str = ""
    """The key of the document it is from: paths as a model sees them may be those of several."""


class Speaker(Enum):
    """Whose turn it is in a conversation."""

    HUMAN = "human"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one of the two says; the last may be the beginning of the model's own answer."""

    speaker: Speaker
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The text a model continues, and the strings at which it should stop.

    `prefix` and `suffix` are what it was made of, as they stand in the document, for APIs that
    take the two apart and know the model's tokens themselves. Where one of `special_tokens` stands
    the reply is over, whether the model stopped there or not.
    """

    text: str
    prefix: str = ""
    suffix: str = ""
    excerpts: tuple[Excerpt, ...] = ()
    """Those that had room."""
    stop_sequences: tuple[str, ...] = ()
    special_tokens: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    """For a model that chats: `text` said by a human, and perhaps how the answer begins."""
    reply: ReplyForm | None = None
    """What such a model is to put around its code."""
    temperature: float | None = None
    """What suits the model; `None` leaves it to whoever serves it."""


def build_prompt(
    context: CursorContext,
    excerpts: Sequence[Excerpt] = (),
    *,
    family: Family,
    repository: str | None = None,
    budget_chars: int = BUDGET_CHARS,
    single_line: bool = False,
) -> Prompt:
    """The prompt for `family`, with as many of the first `excerpts` as fit beside the document.

    `single_line` says that nothing after the first line of the reply will be used. A budget smaller
    than the family's own tokens and words is exceeded.
    """
    comment = context.language.line_comment or "//"
    path = _name(context.path, family)
    header = ""
    if repository and family.repository:
        header = family.repository.format(repository=_name(repository, family))

    def rendered(shown: Sequence[str], prefix: str, suffix: str) -> str:
        parts = [_commented(part, comment) if family.comments else part for part in shown]
        return family.template.format(
            repository=header,
            path=path,
            language=context.language.id,
            wanted=ONE_LINE if single_line else SOME_LINES,
            excerpts="\n\n".join(parts) + (family.excerpts_end if parts else ""),
            prefix=prefix,
            suffix=suffix,
        )

    shown = [family.path_excerpt.format(path=path)] if family.path_excerpt else []
    begun = _begun(context, family)
    # What the answer begins with counts as well.
    budget_chars -= len(begun)
    prefix, suffix = _fitted(
        _defused(context.prefix, family),
        _defused(_suffix_for(family, context), family),
        room=budget_chars - 1 - len(rendered(shown, "", "")),
    )
    text = rendered(shown, prefix, suffix)
    taken: list[Excerpt] = []
    for excerpt in excerpts:
        shown.append(_described(excerpt, family))
        longer = rendered(shown, prefix, suffix)
        if len(longer) >= budget_chars:
            break
        text = longer
        taken.append(excerpt)

    # Without tokens of a family's own, an empty document leaves nothing to continue, and providers
    # refuse a blank prompt.
    if not text.strip():
        text = rendered([ABOUT_PATH.format(path=path)], prefix, suffix)

    before, after = _fitted(context.prefix, context.suffix, room=budget_chars - 1)
    return Prompt(
        text=text,
        prefix=before,
        suffix=after,
        excerpts=tuple(taken),
        stop_sequences=_stop_sequences(context, family, single_line=single_line),
        special_tokens=family.special_tokens,
        turns=_turns(text, begun) if family.reply is not None else (),
        reply=family.reply,
        temperature=family.temperature,
    )


def _turns(text: str, begun: str) -> tuple[Turn, ...]:
    asked = Turn(speaker=Speaker.HUMAN, text=text)
    return (asked, Turn(speaker=Speaker.ASSISTANT, text=begun)) if begun else (asked,)


def _begun(context: CursorContext, family: Family) -> str:
    """What the answer begins with, where that can be said: the beginning of the cursor's line.

    It never ends with white space, which APIs refuse.
    """
    if family.reply is None or not family.reply.begun:
        return ""
    line = _defused(context.prefix.rpartition("\n")[2], family).strip()
    return family.reply.opening + (line if len(line) <= LONGEST_BEGUN else "")


def _suffix_for(family: Family, context: CursorContext) -> str:
    """What follows the cursor, as far as the family can take it.

    With the rest of the cursor's line a model writes what is missing before it, and not the rest
    once more; some clients hold it back from all models.
    """
    if not family.takes_suffix:
        return ""
    return context.suffix if family.line_suffix else context.suffix[len(context.line_suffix) :]


def _fitted(prefix: str, suffix: str, room: int) -> tuple[str, str]:
    """Prefix and suffix cut to `room` characters together, what is far from the cursor first."""
    room = max(room, 1)
    if len(prefix) + len(suffix) > room:
        # A seventh for what follows, as the windows have it, and what the prefix leaves over.
        size = max(room // 7, room - len(prefix))
        if len(suffix) > size:
            suffix = to_line_end(suffix[:size], size)
        size = room - len(suffix)
        if start := window_start(len(prefix), size):
            whole_line = prefix[start - 1] == "\n"
            prefix = prefix[start:] if whole_line else from_line_start(prefix[start:], size)
    return prefix, suffix


def _described(excerpt: Excerpt, family: Family) -> str:
    text = _defused(excerpt.text, family)
    return family.excerpt.format(path=_name(excerpt.path, family), text=text)


def _stop_sequences(
    context: CursorContext, family: Family, *, single_line: bool
) -> tuple[str, ...]:
    r"""Where the provider should stop; a saving only, as the reply is cut here in any case.

    Not `\n\n`: it would hide all that comes after a blank line. `\n` only in the middle of a line:
    at a line's end, as after `def f():`, replies often begin with it.
    """
    stops = family.stop_sequences
    if single_line and context.line_suffix.strip() and family.reply is None:
        stops = ("\n", *stops)
    return stops[:MOST_STOP_SEQUENCES]


def _commented(text: str, comment: str) -> str:
    return "\n".join(f"{comment} {line}" for line in text.split("\n"))


def _name(text: str, family: Family) -> str:
    """A path or repository on one line."""
    return _defused(" ".join(text.splitlines()), family)


def _defused(text: str, family: Family) -> str:
    """`text` without the family's tokens, at which the model would take it for the prompt's frame.

    A space inside makes code of them, for the files that are about such tokens.
    """
    for token in family.special_tokens:
        if token in text:
            first = len(token) - len(token.lstrip()) + 1
            text = text.replace(token, f"{token[:first]} {token[first:]}")
    return text
