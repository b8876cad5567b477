"""What came of a request: nothing to show is a value, with its reason."""

from dataclasses import dataclass
from enum import Enum

from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit


class SkipReason(Enum):
    """Why nothing is shown; the value is a sentence for the user."""

    UNKNOWN_DOCUMENT = "The editor has not opened this document."
    DOCUMENT_OUT_OF_STEP = "A change to this document could not be read; reopen it to go on."
    SECRET_FILE = "Files of this name hold secrets; the setting secretFiles would let them be sent."
    EXCLUDED = "The setting exclude keeps this document from being sent."
    EXCLUDE_UNREADABLE = (
        "The setting exclude has a mistake, and nothing is sent until it is mended."
    )
    GIT_IGNORED = "Git ignores this file; the setting gitIgnored would let it be sent."
    GIT_UNREADABLE = (
        "What git ignores here cannot be read, so nothing is sent; the setting gitIgnored would "
        "let it be."
    )
    OUTSIDE_WORKSPACE = (
        "This file is outside of the workspace; the setting outsideWorkspace would let it be sent."
    )
    CONTEXT_FILTERS = "The rules of the Sourcegraph instance keep this repository from being sent."
    IN_NO_REPOSITORY = (
        "The rules of the Sourcegraph instance go by repositories, and this document is in none "
        "with a remote that is known."
    )
    CONTEXT_FILTERS_UNKNOWN = (
        "The rules of the Sourcegraph instance about what may be sent could not be fetched, and "
        "nothing is sent without them."
    )
    UNDECIDED = "Whether this document may be sent was not known in time."
    UNKNOWN_SCHEME = "This is no file; the setting schemes says which other documents may be sent."
    NO_PROVIDER = "No provider is configured."
    MENU_LEFT_TO_INLINE = "The editor shows ghost text, so the menu is left to its other sources."
    BY_HAND_ONLY = "The setting trigger leaves it to you to ask, by hand."
    LANGUAGE_OFF = "Suggestions are off for this kind of document; the setting languages tells."
    SWITCHED_OFF = (
        "Suggestions are switched off here; the command lspCompletions.toggle switches them."
    )
    INSIDE_WORD = "The cursor is inside a word."
    IN_COMMENT = "The cursor is in a comment, and the setting inComments is false."
    IN_STRING = "The cursor is in a string, and the setting inStrings is false."
    STATEMENT_ENDED = "Nothing is missing on this line."
    SUPERSEDED = "A newer request took its place."
    CANCELLED = "The editor took its request back."
    MOVED_ON = "The document changed while the model was answering."
    SELECTION_DIFFERS = "The selected menu entry does not continue the text before it."
    TOO_SLOW = "The model had not answered in time."
    EMPTY = "The model had nothing to add."
    NOTHING_NEW = "The model only repeated what is already there."
    NOT_ATTRIBUTED = (
        "The provider could not check where the suggested code comes from, so it is not shown."
    )
    BACKING_OFF = "The provider is left alone for a while, because it failed."
    NOT_AHEAD = "It was asked for before anybody wanted it, or not at all."
    PROVIDER_FAILED = "The provider could not answer."

    @property
    def key(self) -> str:
        """Its name for scripts, such as `gitIgnored`."""
        first, *others = self.name.lower().split("_")
        return first + "".join(map(str.capitalize, others))


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggested:
    """What to show in `document`, best first. All edits of one answer start at the same place.

    `complete` is false when the model was cut short, so that asking again may give more.
    """

    document: Document
    edits: tuple[Edit, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Nothing to show. `detail` is a sentence about this one case, without code."""

    reason: SkipReason
    detail: str = ""


Outcome = Suggested | Skipped


KEPT_BACK = frozenset(
    {
        SkipReason.SECRET_FILE,
        SkipReason.EXCLUDED,
        SkipReason.EXCLUDE_UNREADABLE,
        SkipReason.GIT_IGNORED,
        SkipReason.GIT_UNREADABLE,
        SkipReason.OUTSIDE_WORKSPACE,
        SkipReason.CONTEXT_FILTERS,
        SkipReason.IN_NO_REPOSITORY,
        SkipReason.CONTEXT_FILTERS_UNKNOWN,
        SkipReason.UNDECIDED,
        SkipReason.UNKNOWN_SCHEME,
    }
)

# What is said to whoever asks by hand; other reasons pass by themselves or have words of their own.
TOLD_BY_HAND = KEPT_BACK | {SkipReason.LANGUAGE_OFF, SkipReason.SWITCHED_OFF}
