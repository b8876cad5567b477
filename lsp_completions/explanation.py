"""Why there is a suggestion or none, for whoever asks: in words, and in fields for scripts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lsp_completions.journal import Entry
from lsp_completions.pipeline.outcome import KEPT_BACK, SkipReason
from lsp_completions.providers.retry_after import in_words

PASSED = (SkipReason.SUPERSEDED, SkipReason.CANCELLED)
"""Outcomes of typing on, which explain little where another is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """What keeps suggestions from a place at this moment; the defaults are those of nothing."""

    reason: SkipReason | None = None
    detail: str = ""
    """A sentence about this one case."""

    @property
    def message(self) -> str:
        """Why, in the best words there are."""
        return self.detail or ("" if self.reason is None else self.reason.value)


NOWHERE = Now(
    reason=SkipReason.UNKNOWN_DOCUMENT, detail="The editor has opened no document with this server."
)


def telling(entries: Sequence[Entry]) -> Entry | None:
    """The newest that tells something, of those for one place, newest first."""
    newest = next(iter(entries), None)
    return next((each for each in entries if each.reason not in PASSED), newest)


def explained(now: Now, entry: Entry | None, *, at: float) -> dict[str, object]:
    """The answer to "why?" at a place.

    `entry` is what came of it last, if anything did; `at` is the time of day.
    """
    holds = now.reason is not None and (now.reason in LASTING or entry is None)
    # What came of a request knows more than what is seen beforehand.
    if holds and now.reason is not None and (entry is None or entry.reason is not now.reason):
        never = "Nothing was asked here yet. " if entry is None else ""
        sentence, reason = f"{never}{now.message}", now.reason
        help = HELP.get(now.reason, "")
    elif entry is None:
        sentence, reason = "Nothing was asked here yet.", None
        help = "Nothing speaks against a suggestion: type, or ask by hand."
    elif entry.reason is None:
        sentence, reason, help = _about(entry), None, ""
        if now.reason is not None:
            sentence, reason = f"{sentence} By now: {now.message}", now.reason
            help = HELP.get(now.reason, "")
    else:
        sentence, reason, help = entry.message, entry.reason, HELP.get(entry.reason, "")
    lines = [sentence]
    if entry is not None:
        lines += circumstances(entry, at=at)
    if help:
        lines.append(f"What helps: {help}")
    return {
        "text": "\n".join(lines),
        "sentence": sentence,
        "reason": None if reason is None else reason.key,
        "help": help or None,
        "entry": None if entry is None else entry.fields(),
    }


def circumstances(entry: Entry, *, at: float) -> list[str]:
    """When it was, who answered, and how long each stage took: some lines."""
    asked, ago = entry.asked, in_words(max(at - entry.at, 1))
    how = "by hand" if asked.by_hand else "while typing"
    lines = [f"Asked {ago} ago in {asked.path}, line {asked.line} ({asked.method.value}, {how})."]
    if entry.provider:
        who = f"{entry.provider} ({entry.model})" if entry.model else entry.provider
        if entry.how is None:
            lines.append(f"{who} was not asked.")
        elif entry.times.first_event is None and entry.times.sent is not None:
            lines.append(f"{who} was asked, and said nothing of use.")
        else:
            shown = "" if not entry.excerpts else f", with {_counted(entry.excerpts, 'excerpt')}"
            lines.append(f"Answered by {who}, {entry.how.value}{shown}.")
    times = entry.times
    named = (
        ("allowed", times.gate),
        ("prompt", times.prompt),
        ("sent", times.sent),
        ("first event", times.first_event),
        ("first text", times.first_text),
        ("answered", times.answered),
    )
    reached = [f"{name} {_milliseconds(each)}" for name, each in named if each is not None]
    lines.append(f"After milliseconds: {', '.join(reached)}.")
    return lines


def _about(entry: Entry) -> str:
    lines = (
        _counted(entry.lines, "line")
        if entry.lines > 1
        else _counted(entry.characters, "character")
    )
    more = f", and {entry.candidates - 1} more" if entry.candidates > 1 else ""
    return f"There was a suggestion of {lines}{more}: {entry.fate.value}."


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def _milliseconds(each: float) -> str:
    # A twentieth of one and nothing at all are the same to a person.
    size = abs(each)
    told = f"{size:.1f}" if size < 10 and not math.isclose(each, round(each)) else f"{size:.0f}"
    # Of a stream that was there before the request.
    return f"{told} before" if each < 0 and told.strip("0.") else told


# What holds for every request there, and so counts more than what came of the last one.
LASTING = (KEPT_BACK - {SkipReason.UNDECIDED}) | {
    SkipReason.UNKNOWN_DOCUMENT,
    SkipReason.DOCUMENT_OUT_OF_STEP,
    SkipReason.NO_PROVIDER,
    SkipReason.LANGUAGE_OFF,
    SkipReason.SWITCHED_OFF,
}

CHECK = "Run `lsp-completions check` in a terminal."
HELP = {
    SkipReason.UNKNOWN_DOCUMENT: "Open the file again; if that changes nothing, the editor does "
    "not start this server for such files.",
    SkipReason.DOCUMENT_OUT_OF_STEP: "Close the file and open it again.",
    SkipReason.SECRET_FILE: "If this file holds no secret, set secretFiles = true in your own "
    "settings file.",
    SkipReason.EXCLUDED: "Look at `exclude` in your settings file, your editor's settings and the "
    "project's .lsp-completions.toml; all of them count.",
    SkipReason.EXCLUDE_UNREADABLE: f"{CHECK} It names the mistake.",
    SkipReason.GIT_IGNORED: "Set gitIgnored = true in your own settings file, or have git track "
    "the file.",
    SkipReason.GIT_UNREADABLE: "Mend the repository's git files, or set gitIgnored = true in your "
    "own settings file.",
    SkipReason.OUTSIDE_WORKSPACE: "Open the folder of the file, or set outsideWorkspace = true in "
    "your own settings file.",
    SkipReason.CONTEXT_FILTERS: "Ask the administrator of the Sourcegraph instance.",
    SkipReason.IN_NO_REPOSITORY: "Work in a clone whose remote the instance knows.",
    SkipReason.CONTEXT_FILTERS_UNKNOWN: CHECK,
    SkipReason.UNDECIDED: "Ask again in a moment; a slow disk or instance took too long.",
    SkipReason.UNKNOWN_SCHEME: "Save the document as a file, or name its scheme in `schemes`.",
    SkipReason.NO_PROVIDER: "Run `lsp-completions login`, or `lsp-completions model install` for a "
    "small model on this machine.",
    SkipReason.MENU_LEFT_TO_INLINE: 'Set menu = "on" to have both.',
    SkipReason.BY_HAND_ONLY: 'Ask by hand, or set trigger = "automatic".',
    SkipReason.LANGUAGE_OFF: "Switch its language on in the setting `languages`.",
    SkipReason.SWITCHED_OFF: "Run the command lspCompletions.enable, or toggle.",
    SkipReason.INSIDE_WORD: "Go to the end of the word, or ask by hand.",
    SkipReason.IN_COMMENT: "Ask by hand, or set inComments = true.",
    SkipReason.IN_STRING: "Ask by hand, or set inStrings = true.",
    SkipReason.STATEMENT_ENDED: "Begin the next line, or ask by hand.",
    SkipReason.SUPERSEDED: "Stop typing for a moment.",
    SkipReason.CANCELLED: "Stop typing for a moment.",
    SkipReason.MOVED_ON: "Stop typing for a moment.",
    SkipReason.SELECTION_DIFFERS: "Select another entry, or close the menu.",
    SkipReason.TOO_SLOW: "Ask again: the answer may have come by now. A faster model helps, or a "
    "larger menuDeadline in a menu.",
    SkipReason.EMPTY: "Write the beginning of what you want, or a comment that says it.",
    SkipReason.NOTHING_NEW: "Write the beginning of what you want, or a comment that says it.",
    SkipReason.NOT_ATTRIBUTED: "The administrator of the instance decides about that check.",
    SkipReason.BACKING_OFF: f"Ask by hand to try at once. {CHECK}",
    SkipReason.PROVIDER_FAILED: f"Ask by hand to try at once. {CHECK}",
}
