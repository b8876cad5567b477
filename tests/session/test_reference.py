"""What Sourcegraph's own client shows for the same words of a model, and why ours differs.

It is no law. Each difference has its reason here, once, as a rule that tells which rows it is
about; a row that differs for no such reason fails.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from lsp_completions.pipeline.edit import edit_for
from lsp_completions.pipeline.outcome import Suggested
from lsp_completions.pipeline.surroundings import line_above, lines_below
from lsp_completions.pipeline.trigger import Mode, mode_for
from lsp_completions.request import Selection
from lsp_completions.switches import is_on
from tests.evaluation.virtual_time import run
from tests.support.clients import LINE_END
from tests.support.cursor import apply, context_of, cursor
from tests.support.desk import Desk, Told
from tests.support.extra import extra_cases


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A row, and the documents that either shows; none where nothing is shown."""

    row: dict[str, Any]
    drawn: str
    said: tuple[str, ...]
    theirs: frozenset[str]
    ours: frozenset[str]

    @property
    def rest(self) -> str:
        return cursor_rest(self.drawn)

    @property
    def earlier(self) -> list[dict[str, Any]]:
        """What was shown before the document became what it is."""
        last: dict[str, Any] = self.row["extra_setup"].get("last_candidate") or {}
        return list(last.get("items", []))

    @property
    def lines(self) -> list[str]:
        """All lines that the model said, but for the first of each."""
        return [line for said in self.said for line in LINE_END.split(said)[1:]]

    def begins(self, shorter: frozenset[str], longer: frozenset[str]) -> bool:
        """What one shows the other shows as well, and something after it."""
        return bool(shorter) and all(
            any(each.startswith(before(self.drawn, one)) for each in longer) for one in shorter
        )


def cursor_rest(drawn: str) -> str:
    return LINE_END.split(drawn.partition("<cursor>")[2])[0]


def before(drawn: str, whole: str) -> str:
    """A document with a suggestion, up to the suggestion's end."""
    after = drawn.partition("<cursor>")[2].removeprefix(cursor_rest(drawn))
    return whole[: len(whole) - len(after)].rstrip()


REASONS: dict[str, Callable[[Compared], bool]] = {
    "what leaves out the rest of the line is inserted before it, not hidden": lambda it: (
        not it.theirs and it.rest.strip() != ""
    ),
    "one character is a suggestion as well": lambda it: (
        not it.theirs and any(len(said.strip()) == 1 for said in it.said)
    ),
    "no special token is shown, whichever model says it": lambda it: any(
        re.search(r"<[|｜]", text) for text in it.theirs
    ),
    "letters beyond the first plane are one each, so the rest of the line is found": lambda it: any(
        ord(letter) > 0xFFFF for letter in it.drawn
    ),
    "a block is shown also in languages whose blocks it does not know": lambda it: (
        it.row["language"] in ("yaml", "markdown", "plaintext", "sql", "shellscript", "lua", "ruby")
        and it.begins(it.theirs, it.ours)
    ),
    "`else` belongs to its statement also where braces stand on lines of their own": lambda it: (
        it.begins(it.theirs, it.ours) and any(line.lstrip()[:4] == "else" for line in it.lines)
    ),
    "a line that is indented no more than the block's opener does not belong to it": lambda it: any(
        line[:1].strip() not in ("", "}", ")", "]")
        and any(line in text for text in it.theirs)
        and not any(line in text for text in it.ours)
        for line in it.lines
    ),
    "of lines that go round in circles one round is shown": lambda it: any(
        line.strip() and it.lines.count(line) > 1 for line in it.lines
    ),
    "after a closing bracket code may go on, as an arrow function does": lambda it: (
        not it.theirs and LINE_END.split(it.drawn.partition("<cursor>")[0])[-1].endswith((")", "]"))
    ),
    "of several candidates the first is typed into; for another one a model is asked": lambda it: (
        len(it.earlier) > 1
    ),
    "where what follows changed, or the indentation went, a model is asked again": lambda it: (
        bool(it.earlier) and not it.ours
    ),
    "what stands after a closing brace on its line stays": lambda it: any(
        re.match(r"}\s+\w", line) for line in it.lines
    ),
}


async def seen(
    *steps: tuple[str, Sequence[str]],
    language: str,
    by_hand: bool = False,
    selection: Selection | None = None,
) -> tuple[frozenset[str], int]:
    """What is shown at the last of the places, and how many requests it took there."""
    (drawn, said), *further = steps
    desk = Told(drawn, language, said)
    for drawn, said in further:
        await desk.asks()
        desk.moves(drawn, *said)
    before = desk.begun
    outcome = await desk.asks(by_hand=by_hand, selection=selection)
    shown: frozenset[str] = frozenset()
    if isinstance(outcome, Suggested):
        shown = frozenset(apply(outcome.document.text, edit) for edit in outcome.edits)
    await desk.generations.aclose()
    return shown, desk.begun - before


def drawn_in(text: str) -> str:
    return LINE_END.sub("\n", text.replace("█", "<cursor>"))


def applied(drawn: str, insert_text: str, place: list[int] | None) -> str:
    """The document with an item of the reference in it."""
    text, offset = cursor(drawn)
    lines = text.split("\n")
    start = end = offset
    if place is not None:
        start, end = (
            sum(len(line) + 1 for line in lines[:line]) + _code_points(lines[line], units)
            for line, units in (place[:2], place[2:])
        )
    return text[:start] + insert_text + text[end:]


def _code_points(line: str, units: int) -> int:
    return len(line.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore"))


def words_of(row: dict[str, Any]) -> tuple[str, ...]:
    said = row["model_output"]
    if isinstance(said, dict):
        return (said["final"],)
    return tuple(said) if isinstance(said, list) else (said or "",)


def theirs(row: dict[str, Any]) -> list[frozenset[str]]:
    """What the reference shows; for either of its ways to find an end, where there are two."""
    drawn, expected = drawn_in(row["document_with_cursor"]), row["expected"]
    if "insert_texts" in expected:
        items = expected.get("items") or [{"insert_text": it} for it in expected["insert_texts"]]
        places = [(item["insert_text"], item.get("replace_range")) for item in items]
        return [frozenset(applied(drawn, text, place) for text, place in places)]
    ways = []
    for way in expected.values():
        if way is None or way.get("insert_texts") is None:
            continue
        found = zip(
            way["insert_texts"], way["replace_ranges"], way["visible_in_vscode"], strict=True
        )
        ways.append(
            frozenset(applied(drawn, text, place) for text, place, visible in found if visible)
        )
    return ways


def ours(row: dict[str, Any]) -> frozenset[str]:
    drawn, extra = drawn_in(row["document_with_cursor"]), row["extra_setup"]
    by_hand = extra.get("trigger") == "Manual"
    before: list[tuple[str, Sequence[str]]] = []
    if (last := extra.get("last_candidate")) is not None:
        texts = [item["insert_text"] for item in last["items"]]
        before = [(drawn_in(last["document_with_cursor"]), texts)]
    shown: set[str] = set()
    for said in words_of(row):
        steps = [*before, (drawn, [said])]
        shown |= run(seen(*steps, language=row["language"], by_hand=by_hand))[0]
    return frozenset(shown)


@pytest.mark.parametrize("file", ["reference_behaviour", "reference_pipeline"])
def test_what_is_shown_differs_for_a_reason(file: str) -> None:
    used: set[str] = set()
    unexplained, tried = [], 0
    for row in extra_cases(f"cases/{file}.jsonl"):
        if row["kind"] != "inline_completion" or row["expected"].get("source") == "HotStreak":
            continue  # What filled its memory is the business of other rows.
        tried += 1
        shown = ours(row)
        ways = theirs(row)
        if shown in ways:
            continue
        compared = [
            Compared(
                row=row,
                drawn=drawn_in(row["document_with_cursor"]),
                said=words_of(row),
                theirs=way,
                ours=shown,
            )
            for way in ways
        ]
        why = [reason for reason, holds in REASONS.items() if any(holds(each) for each in compared)]
        used.update(why)
        if not why:
            unexplained.append((row["id"], ways, shown))
    assert tried
    assert not unexplained


def rows(*kinds: str) -> list[dict[str, Any]]:
    found = extra_cases("cases/reference_behaviour.jsonl")
    return [row for row in found if row["kind"] in kinds]


def test_the_text_around_the_cursor_is_the_same() -> None:
    for row in rows("doc_context", "insert_into_doc_context"):
        drawn, extra, expected = (
            drawn_in(row["document_with_cursor"]),
            row["extra_setup"],
            row["expected"],
        )
        text, _ = cursor(drawn)
        if (entry := extra.get("selected_completion_info")) is not None:
            line, start, _, end = entry["range"]
            at = sum(len(each) + 1 for each in text.split("\n")[:line])
            drawn = f"{text[: at + start]}{entry['text']}<cursor>{text[at + end :]}"
        if row["kind"] == "insert_into_doc_context":
            # Where words follow, one line is suggested, so what replaces them is tried by itself.
            edit = edit_for(words_of(row)[0], context_of(drawn, row["language"]))
            text = apply(text, edit)
            after = drawn.partition("<cursor>")[2]
            below = after.removeprefix(cursor_rest(drawn))
            drawn = f"{text[: len(text) - len(below)]}<cursor>{below}"
        context = context_of(
            drawn,
            row["language"],
            prefix_chars=extra["max_prefix_chars"],
            suffix_chars=extra["max_suffix_chars"],
        )
        assert context.line_prefix == expected["currentLinePrefix"], row["id"]
        assert context.line_suffix == expected["currentLineSuffix"], row["id"]
        assert (line_above(context) or "") == expected["prevNonEmptyLine"], row["id"]
        assert (lines_below(context) or ("",))[0] == expected["nextNonEmptyLine"], row["id"]
        # Our windows stand still while somebody types, and count line ends: they begin elsewhere.
        assert context.prefix.endswith(expected["prefix"]) or expected["prefix"].endswith(
            context.prefix
        ), row["id"]
        assert context.suffix.startswith(expected["suffix"]) or expected["suffix"].startswith(
            context.suffix
        ), row["id"]


def test_blocks_are_asked_for_at_the_same_places() -> None:
    for row in rows("doc_context", "multiline_detection", "inline_completion"):
        if row["extra_setup"].get("selected_completion_info") is not None:
            continue
        drawn = drawn_in(row["document_with_cursor"])
        mode = mode_for(context_of(drawn, row["language"]))
        expected = row["expected"]
        if expected.get("multiline_trigger", expected.get("multilineTrigger")) is None:
            # At the end of the document whatever comes next is being written.
            assert mode is not Mode.BLOCK or not drawn.partition("<cursor>")[2].strip(), row["id"]
        else:
            # A call or list may be closed where it is opened: its first line will tell.
            assert mode is Mode.BLOCK or opens_one_line(drawn), row["id"]


def opens_one_line(drawn: str) -> bool:
    return LINE_END.split(drawn.partition("<cursor>")[0])[-1].endswith(("(", "["))


def test_what_is_visible_is_shown() -> None:
    for row in rows("visibility"):
        drawn, extra = drawn_in(row["document_with_cursor"]), row["extra_setup"]
        selection = None
        if (entry := extra.get("selected_completion_info")) is not None:
            line, start, *_ = entry["range"]
            at = sum(len(each) + 1 for each in cursor(drawn)[0].split("\n")[:line])
            selection = Selection(start=at + start, text=entry["text"])
            if not extra["complete_suggest_widget_selection"]:
                # What is selected counts from the first request on, so the model is told of it.
                continue
        said = row["model_output"].removeprefix(selection.text if selection else "")
        shown, _ = run(seen((drawn, [said]), language=row["language"], selection=selection))
        assert bool(shown) is row["expected"]["visible"], row["id"]


def test_a_stream_goes_on_as_long_as_what_is_typed_fits() -> None:
    for row in rows("request_relevance"):
        earlier = drawn_in(row["extra_setup"]["in_flight_request_document_with_cursor"])
        drawn = drawn_in(row["document_with_cursor"])
        (said,) = words_of(row)
        typed = drawn.partition("<cursor>")[0].removeprefix(earlier.partition("<cursor>")[0])
        # A reply that says something else by now is of no use to anybody: ours hangs up at once.
        fits = said.startswith(typed) or typed.startswith(said)

        async def asked_again(earlier: str = earlier, said: str = said, drawn: str = drawn) -> bool:
            desk = Desk(earlier, language="typescript")
            first = desk.asks(by_hand=True)
            stream = await desk.stream()
            stream.says(said)
            await asyncio.sleep(0)
            desk.becomes(drawn)
            await asyncio.sleep(1)
            goes_on = not stream.hung_up.is_set()
            first.cancel()
            await asyncio.wait([first])
            await desk.generations.aclose()
            return goes_on

        assert run(asked_again()) is fits, row["id"]
        assert fits <= row["expected"]["still_relevant"], row["id"]


def test_what_was_said_is_remembered_where_theirs_is() -> None:
    for row in rows("sequence"):
        earlier = [
            *row["extra_setup"].get("earlier", ()),
            *row["extra_setup"].get("earlier_in_flight", ()),
        ]
        if not earlier:
            continue  # A line gets no stream of its own: two for a document, and the newest wins.
        steps = [(drawn_in(it["document_with_cursor"]), [it["model_output"]]) for it in earlier]
        said = row["model_output"]
        is_new = said is not None and not said.startswith("__")
        last = (drawn_in(row["document_with_cursor"]), [said if is_new else "never"])
        shown, asked = run(seen(*steps, last, language=row["language"]))
        drawn = last[0]
        wanted = {applied(drawn, text, None) for text in row["expected"]["insert_texts"]}
        stands_once = {
            applied(drawn, text.removesuffix(cursor_rest(drawn)), None)
            for text in row["expected"]["insert_texts"]
        }
        assert shown in (wanted, stands_once), row["id"]
        assert asked == is_new, row["id"]


def test_languages_are_switched_alike() -> None:
    for row in rows("language_filter"):
        languages = tuple(row["extra_setup"]["languages"].items())
        languages = tuple(sorted(languages, key=lambda it: it[0] == "*"))
        for name in row["expected"]["disabled"]:
            assert not is_on(name, f"a.{name}", languages)
        for name in row["expected"]["enabled_includes"]:
            assert is_on(name, f"a.{name}", languages)
