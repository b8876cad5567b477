"""What to replace in the document.

Text outside the range never changes, and what follows the cursor never stands there twice: a
suggestion without the rest of the line is inserted before it, one that includes the rest and goes
on beyond it replaces it.
"""

import re
from dataclasses import dataclass

from lsp_completions.pipeline.balance import imbalance, stack_before_line
from lsp_completions.pipeline.brackets import COMMENT, PARTNER, Scan, scan
from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.syntax import misfit


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    r"""Replace `[start, end)` of the document with `new_text`.

    `start` and `end` are offsets in code points on the cursor's line, `start <= cursor <= end`.
    `new_text` separates lines with `\n` only, whatever the document does.
    """

    start: int
    end: int
    new_text: str


def edit_for(text: str, context: CursorContext) -> Edit | None:
    """The change that puts `text` at the cursor; `None` when it would change nothing."""
    new_text, replaced = fit(text, context)
    if new_text == context.line_suffix[:replaced]:
        return None
    return Edit(start=context.offset, end=context.offset + replaced, new_text=new_text)


def after_typing(edit: Edit, typed: str, cursor: int) -> Edit | None:
    """The same suggestion with `typed` entered where it began; `None` when it no longer fits.

    `cursor` is the offset after what was typed.
    """
    said = typed.replace("\r\n", "\n").replace("\r", "\n")
    if not edit.new_text.startswith(said) or edit.start != cursor - len(typed):
        return None
    rest = edit.new_text[len(said) :]
    end = edit.end + len(typed)
    return Edit(start=cursor, end=end, new_text=rest) if rest or end > cursor else None


def fit(text: str, context: CursorContext) -> tuple[str, int]:
    """What to put at the cursor, and how many characters after it that replaces.

    There are several ways to read how a text and the rest of the line go together; the one that
    leaves the fewest brackets and quotes without a partner is right.
    """
    rest = context.line_suffix
    if not rest.strip() or not text:
        return text, 0
    ends_with_rest = _rest_at_end(text, rest, context)
    kept, cut = _same_closers(text, rest, context)
    readings = (
        ends_with_rest,
        _rest_filled(text, rest, context),
        _rest_opened(text, rest, context),
        kept,
        _rest_within(text, rest),
        _start_of_rest_at_end(text, rest, context),
        (text, 0),
        cut,
    )

    def lost(reading: Reading) -> int:
        # That words of the rest end the text as well is no chance: worth one stray bracket.
        sure = reading == ends_with_rest and len(rest.strip()) > _LONG_ENOUGH and _WORD.search(rest)
        return imbalance(reading[0], reading[1], context) - bool(sure)

    possible = list(dict.fromkeys(reading for reading in readings if reading is not None))
    if context.grammar is not None:
        possible += [each for each in _all_overlaps(text, rest) if each not in possible]
    replaced = 0
    if len(possible) > 1:
        losses = [lost(each) for each in possible]
        best = [each for each, loss in zip(possible, losses, strict=True) if loss == min(losses)]
        # Where brackets do not tell them apart, a grammar may; not where it finds fault with all.
        text, replaced = next(
            (each for each in best if len(best) > 1 and not misfit(each[0], each[1], context)),
            best[0],
        )
    if replaced == 0 and rest[0].isspace() and text.strip():
        text = text.rstrip(" \t")
    return text, replaced


Reading = tuple[str, int]


def _rest_at_end(text: str, rest: str, context: CursorContext) -> Reading | None:
    """The text ends with the rest of the line: leave that to the document."""
    trimmed = text.rstrip()
    if rest.strip() == ">" and not _one_angle_too_many(text, rest, context):
        return None
    for ending in (rest.rstrip(), rest.strip()):
        start = len(trimmed) - len(ending)
        if trimmed.endswith(ending) and (
            len(ending) >= _LONG_ENOUGH or not _splits_word(trimmed, start)
        ):
            return text[:start], 0
    return None


def _same_closers(
    text: str, rest: str, context: CursorContext
) -> tuple[Reading | None, Reading | None]:
    """The text closes what the rest of the line closes as well: each closer counts once.

    First the reading that keeps all the text says, then the one that keeps only what it says
    before it closes anything, for when what it says later contradicts the rest of the line.
    """
    stack = scan(context.line_prefix, context.language, stack_before_line(context)).stack
    ours = scan(text, context.language, stack).closings
    theirs = scan(rest, context.language, stack).closings
    # What the line opens and does not close is left to the text to close first.
    ours = ours[max(_opened_on_line(context) - len(theirs), 0) :]
    if not ours or not theirs:
        return None, None

    # What both close, in order, where what stands between the closers is the same too.
    taken = passed = 0
    first = ours[0][0]
    cut = (text[:first], 0)
    said_more = False  # between the closers, where nothing stands in the rest of the line
    for (our_at, our_mark), (their_at, their_mark) in zip(ours, theirs, strict=False):
        between = rest[passed:their_at].strip()
        if our_mark != their_mark or not text[taken:our_at].rstrip().endswith(between):
            return None, (text[:first].rstrip(), 0) if taken == 0 else cut
        if taken == 0 and between:
            # What stands before the first closer in both is left to the document as well.
            cut = (text[:our_at].rstrip().removesuffix(between), 0)
        said_more |= taken > 0 and text[taken:our_at].strip() != between
        taken, passed = our_at + len(our_mark), their_at + len(their_mark)

    beyond, left = text[taken:], rest[passed:]
    if left.strip().startswith(beyond.strip()) and not said_more:
        return cut, None
    if beyond.strip() and left.strip():
        if left.strip() in beyond.partition("\n")[0] or beyond.rstrip().endswith(left.strip()):
            passed = len(rest.rstrip())
        elif _WORD.search(left):
            return None, cut
    return _replacing(text, rest[:passed]), cut


def _rest_within(text: str, rest: str) -> Reading | None:
    """The rest of the line stands in the text, which goes on after it."""
    ending = rest.rstrip()
    first_line, newline, _ = text.partition("\n")
    if newline and first_line.rstrip().endswith(ending.strip()):
        return _replacing(text, ending)
    # A single word may well come twice; a piece of code does not.
    if _PIECE_OF_CODE.search(ending.strip()) and ending in first_line:
        return _replacing(text, ending)
    return None


def _rest_filled(text: str, rest: str, context: CursorContext) -> Reading | None:
    """The text says the rest of the line as well, with something in its empty brackets."""
    said, first_line = text.rstrip(), text.partition("\n")[0]
    matched = _scan_at_cursor(text, context).matched
    for empty in _EMPTY_BRACKETS.finditer(rest):
        mark, before, after = empty[0][0], rest[: empty.start()].strip(), rest[empty.end() :]
        # What stands behind the brackets may be left to the document.
        for ending, replaced in ((after.strip(), len(rest.rstrip())), ("", empty.end())):
            end = len(said.removesuffix(ending).rstrip()) - 1
            opener = next((at for at, closer in matched if closer == end), -1)
            if opener < 0 or text[opener] != mark or not text[opener + 1 : end].strip():
                continue
            if ending == after.strip():
                # An `else` has brackets of its own: then the first ones stand for the empty ones.
                begins = before in first_line and mark in first_line[first_line.find(before) :]
                fills = said.endswith(ending) and (begins or _ends_with(text[:opener], before))
            else:
                fills = "\n" in text[opener:end] and _ends_with(text[:opener], before)
            if fills:
                return _replacing(text, rest[:replaced])
    return None


def _rest_opened(text: str, rest: str, context: CursorContext) -> Reading | None:
    """The text was cut short while it filled the rest's empty brackets: they stay empty."""
    opened = _scan_at_cursor(text, context).opened
    for empty in _EMPTY_BRACKETS.finditer(rest):
        before = rest[: empty.start()].strip()
        for at in opened:
            if text[at] == empty[0][0] and "\n" in text[at:] and _ends_with(text[:at], before):
                return text[:at].rstrip().removesuffix(before), 0
    return None


def _scan_at_cursor(text: str, context: CursorContext) -> Scan:
    stack = scan(context.line_prefix, context.language, stack_before_line(context)).stack
    return scan(text, context.language, stack)


def _ends_with(text: str, ending: str) -> bool:
    return text.rstrip().endswith(ending)


def _start_of_rest_at_end(text: str, rest: str, context: CursorContext) -> Reading | None:
    """The text ends with the beginning of the rest of the line."""
    trimmed = text.rstrip()
    for length in range(min(len(rest), len(trimmed), _LONGEST_OVERLAP), 0, -1):
        overlap = rest[:length]
        start = len(trimmed) - length
        if not trimmed.endswith(overlap) or _splits_word(trimmed, start):
            continue
        long_enough = length >= _LONG_ENOUGH and len({*overlap}) > 1
        if _splits_word(rest, length) and not (long_enough and _CUT_OFF.search(overlap)):
            continue
        if long_enough or _no_chance(overlap.strip(), trimmed, rest, context):
            return text[:start], 0
    return None


def _no_chance(overlap: str, text: str, rest: str, context: CursorContext) -> bool:
    """Few characters are equal, but nobody means to say them twice."""
    mark = overlap[:1]
    if mark == ">":
        return _one_angle_too_many(text, rest, context)
    if mark in _OPENERS:
        # In a string, where brackets are words.
        return text.count(mark) > text.count(_OPENERS[mark])
    if mark and mark in "\"'`":
        # The scanner does not know it where the language has no such strings.
        return text.count(mark) % 2 == 1 == context.line_prefix.count(mark) % 2
    if mark == "<":
        return rest.lstrip().startswith("</")
    return mark in _SEPARATORS or (overlap == ":" and not rest.startswith("::"))


def _one_angle_too_many(text: str, rest: str, context: CursorContext) -> bool:
    """In the line as a whole, types and tags are closed once more than they are opened."""
    line = _ARROWS.sub("", context.line_prefix + text) + _ARROWS.sub("", rest)
    return line.count(">") > line.count("<")


def _all_overlaps(text: str, rest: str) -> list[Reading]:
    """The text ends with the beginning of the rest of the line, as may be by chance."""
    trimmed = text.rstrip()
    most = min(len(rest), len(trimmed), _LONG_ENOUGH)
    return [
        (text[: len(trimmed) - length], 0)
        for length in range(most, 0, -1)
        if trimmed.endswith(rest[:length])
    ]


def _replacing(text: str, replaced: str) -> Reading | None:
    """Replace, if every replaced character is in the text: else editors show nothing at all."""
    position = 0
    for character in replaced:
        position = text.find(character, position) + 1
        if position == 0:
            return None
    return text, len(replaced)


def _opened_on_line(context: CursorContext) -> int:
    """How many brackets and quotes the cursor's line has opened before the cursor."""
    found = scan(context.line_prefix, context.language, stack_before_line(context))
    return len(found.opened) - (COMMENT in found.stack)


def _splits_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


_WORD = re.compile(r"\w")
_PIECE_OF_CODE = re.compile(r"\w.*[^\w\s.].*\w|^[^\w\s].*\w.*[^\w\s]")
_EMPTY_BRACKETS = re.compile(r"\{\s*\}|\[\s*\]|\(\s*\)")
_LONG_ENOUGH = 4  # characters that are equal by more than chance
_LONGEST_OVERLAP = 200
_SEPARATORS = frozenset(",;")
_OPENERS = {closer: opener for opener, closer in PARTNER.items()}
_ARROWS = re.compile(r"->|=>|>=|<=|<<|(?<=\w) [<>] (?=\w)")
_CUT_OFF = re.compile(r"\W\w*$")  # the beginning of a word, after something that is none
