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
    UNKNOWN_SCHEME = "This is no file; the setting schemes says which other documents may be sent."
    NO_PROVIDER = "No provider is configured."
    MENU_LEFT_TO_INLINE = "The editor shows ghost text, so the menu is left to its other sources."
    SUPERSEDED = "A newer request took its place."
    MOVED_ON = "The document changed while the model was answering."
    SELECTION_DIFFERS = "The selected menu entry does not continue the text before it."
    TOO_SLOW = "The model had not answered in time."
    EMPTY = "The model had nothing to add."
    NOTHING_NEW = "The model only repeated what is already there."
    NOT_ATTRIBUTED = (
        "The provider could not check where the suggested code comes from, so it is not shown."
    )
    BACKING_OFF = "The provider is left alone for a while, because it failed."
    PROVIDER_FAILED = "The provider could not answer."


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
