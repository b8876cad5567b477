"""Lines of the document that stand above the cursor, said once more before the new code."""

from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.surroundings import says_something
from lsp_completions.pipeline.trigger import opens_block

MOST_LINES_AGAIN = 200


def least_again(context: CursorContext) -> int:
    """How many lines above the cursor have to be said again before it is no chance.

    In code one out of some thousand is equal to the line before it; in lists people make, more.
    """
    return 2 if context.language.prose else 1


def said_again(text: str, context: CursorContext, *, whole: bool, least: int = 0) -> int | None:
    """Where the new code begins, after lines that end at the cursor and were said once more.

    They may be indented in any way, and are at least `least` above the cursor's. `None` as long as
    more of them may follow.
    """
    said = text.lstrip()
    if not said:
        return 0 if whole else None
    start = len(text) - len(said)
    *lines, rest = (said + "\n" if whole else said).split("\n")
    *above, line = context.prefix.split("\n")
    above = above[-MOST_LINES_AGAIN:]
    head = line.lstrip()
    after, undecided = 0, False
    for first in range(len(above) + 1 - least):
        if lines and first < len(above) and above[first].strip() != lines[0].strip():
            continue
        again = [each.strip() for each in above[first:]]
        if not _is_unlikely_twice(again, line, context):
            continue
        if any(one.strip() != other for one, other in zip(lines, again, strict=False)):
            continue
        if len(lines) < len(again):
            undecided |= again[len(lines)].startswith(rest.strip())
            continue
        # All lines above; now the beginning of the cursor's own.
        at = start + sum(len(each) + 1 for each in lines[: len(again)])
        own = [*lines, rest][len(again)]
        code = own.lstrip()
        if code.startswith(head):
            after = max(after, at + (len(own) - len(code) + len(head) if head else 0))
        elif len(lines) == len(again):
            undecided |= head.startswith(code)
    if undecided and not whole:
        return None
    return min(after, len(text))


def _is_unlikely_twice(above: list[str], line: str, context: CursorContext) -> bool:
    """Nobody writes these lines, and the beginning of another, twice in a row."""
    said = line.lstrip()
    letters = sum(character.isalnum() for character in said)
    if not above:
        if line[-1:].isspace():
            return letters >= 1
        return 3 <= letters < len(said)
    if not above[0]:
        return False
    letters += sum(character.isalnum() for each in above for character in each)
    if said:
        return letters >= 4
    spoken = [each for each in above if each]
    return letters >= 6 and (
        len(spoken) > 1 or says_something(spoken[0]) or opens_block(spoken[0], context.language)
    )
