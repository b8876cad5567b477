"""The code in the reply of a model that chats, piece by piece as it comes.

What comes out does not depend on how the reply was cut into pieces. Nothing inside the tags is
touched but a fence around it all and its beginning: lines of the document said once more, and a
line break that belongs to the tag. Chatter without tags is left to `wrapping`, as for every model.
"""

import re

from lsp_completions.pipeline.again import said_again
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.templates import ReplyForm
from lsp_completions.pipeline.trigger import opens_block

# How far to look for the opening: longer than what is said before code, not much of a reply.
LONGEST_OPENING = 400
LONGEST_THOUGHTS = 20_000  # characters; no completion is worth waiting for more
SHORTEST_CUT_OFF = 4  # characters by which a tag is told from code


class ReplyReader:
    """Takes a reply in pieces, gives its code in pieces. `ended` as soon as no more can come."""

    def __init__(self, form: ReplyForm, context: CursorContext) -> None:
        self.ended = False
        self._form = form
        self._context = context
        self._ends: tuple[str, ...] = (form.closing, form.opening)
        self._held = ""
        self._opened = False
        self._tagged = False
        self._fenced = context.language.id == "markdown"  # there it is part of the text
        self._started = False

    def feed(self, text: str) -> str:
        """Take a piece; the code that is certain by now, and was not before."""
        return self._read(text, whole=False)

    def end(self) -> str:
        """The rest of the code, when no more comes."""
        text = self._read("", whole=True)
        self.ended = True
        return text

    def _read(self, text: str, *, whole: bool) -> str:
        if self.ended:
            return ""
        self._held += text
        if not self._opened:
            code = opened(self._held, self._form, self._context, whole=whole)
            if code is None:
                self.ended = len(self._held) > LONGEST_THOUGHTS
                return ""
            before = self._held[: len(self._held) - len(code)]
            self._tagged = before.endswith(self._form.opening)
            self._opened, self._held = True, code
        if not self._started:
            end = _first(self._held, self._ends)
            last = whole or end is not None
            if end is None:
                end = len(self._held) - (0 if whole else self._overlap(self._held))
            head = self._held[:end]
            if not self._fenced:
                if fence := _FENCE_FIRST.match(head):
                    self._fenced, self._held = True, self._held[fence.end() :]
                    self._ends = (*self._ends, _FENCE_LAST)
                    return self._read("", whole=whole)
                if not last and _MAYBE_FENCE.fullmatch(head):
                    return ""
            code = started(head, self._form, self._context, tagged=self._tagged, whole=last)
            if code is None:
                return ""
            self._started, self._held = True, code + self._held[end:]
            self._ends = (*self._ends, self._form.cursor)

        code, self._held = self._held, ""
        if (end := _first(code, self._ends)) is not None:
            self.ended = True
            return code[:end]
        # A tag that was cut off is no code; `</` may well be.
        unfinished = self._overlap(code)
        if not whole:
            self._held = code[len(code) - unfinished :]
        elif unfinished < SHORTEST_CUT_OFF:
            unfinished = 0
        return code[: len(code) - unfinished]

    def _overlap(self, text: str) -> int:
        """How many characters at the text's end may be the beginning of a tag."""
        tags = (*self._ends, self._form.cursor)
        longest = max(map(len, tags)) - 1
        return next(
            (
                length
                for length in range(min(longest, len(text)), 0, -1)
                if any(tag.startswith(text[-length:]) for tag in tags)
            ),
            0,
        )


def opened(text: str, form: ReplyForm, context: CursorContext, *, whole: bool) -> str | None:
    """The reply from where its code begins; `None` as long as that is not known."""
    said = text.lstrip()
    if found := _THOUGHTS.match(text):
        text = text[found.end() :]
        said = text.lstrip()
    elif not whole and (said.startswith(_THINKS) or any(tag.startswith(said) for tag in _THINKS)):
        return None
    elif said.startswith(_THINKS):
        return ""
    if form.begun:
        if said.startswith(form.opening):
            return said.removeprefix(form.opening)
        return None if form.opening.startswith(said) and not whole else text

    head = text[: LONGEST_OPENING + len(form.opening)]
    _, opening, _ = head.partition(form.opening)
    if opening:
        return text.partition(opening)[2]
    if len(text) < LONGEST_OPENING + len(form.opening) and not whole:
        return None
    if context.language.id == "markdown":
        return text
    fence = _FENCE.search(head)
    return text[fence.start() :] if fence is not None else text


def started(
    text: str, form: ReplyForm, context: CursorContext, *, tagged: bool, whole: bool
) -> str | None:
    """The code without what the document says before the cursor; `None` while it may be said.

    `tagged` says that the text follows the opening tag.
    """
    after = said_again(text, context, whole=whole)
    if after is None:
        return None
    text = text[after:]
    code = text.lstrip()
    if code.startswith(form.cursor):
        text = code.removeprefix(form.cursor)
        code = text.lstrip()
    if not code and not whole:
        return None
    space = text[: len(text) - len(code)]
    line, indent = context.line_prefix, space.rpartition("\n")[2]
    if "\n" not in space or not line.strip():
        return text
    # Where a line goes on, the line break stands after the tag for looks.
    if line[-1].isspace() or (context.line_suffix.strip() and not indent):
        return code
    if not tagged:
        return text
    if space.count("\n") > 1 or (
        opens_block(line, context.language) and len(indent) > len(context.indent)
    ):
        return f"\n{indent}{code}"
    # Another one before the closing tag tells.
    if not whole:
        return None
    if text.rstrip(" \t").endswith("\n"):
        return f" {code}" if indent == " " else code
    return text


def _first(text: str, tags: tuple[str, ...]) -> int | None:
    """Where the first of the tags stands; `None` where none does."""
    return min((place for tag in tags if (place := text.find(tag)) >= 0), default=None)


_THINKS = ("<think>", "<thinking>")
_THOUGHTS = re.compile(r"\s*<(think|thinking)>.*?</\1>", re.DOTALL)
_FENCE_FIRST = re.compile(r"\s*```[^\n`]*\n")
_MAYBE_FENCE = re.compile(r"\s*(?:`{0,2}|```[^\n`]*)")
_FENCE_LAST = "\n```"
_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n", re.MULTILINE)
