"""The texts that may be searched, as far as they are known: open documents, and files read."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from lsp_completions.pipeline.document import Document, TextChange
from lsp_completions.pipeline.excerpts.index import Index
from lsp_completions.pipeline.languages import Language, are_relatives
from lsp_completions.pipeline.uris import document_key
from lsp_completions.providers.base import Provider
from lsp_completions.settings import Context, Settings

MOST_OPEN = 20  # open documents that are searched, those looked at last
EDITS = 4  # places remembered in each document
PLACE = 10  # lines that count as the same place


@dataclass(slots=True, eq=False)
class Text:
    """A text that may be shown, as far as it is known."""

    uri: str
    language: Language
    document: Document | None = None
    """As it is now; `None` for a file that is not open."""
    index: Index | None = None
    indexed: Document | None = None
    """What the index was made of."""
    made_at: float = 0.0
    task: asyncio.Task[None] | None = None
    roots: tuple[str, ...] = ()
    """The workspace folders that the index has its path from."""
    edited: deque[int] = field(default_factory=lambda: deque(maxlen=EDITS))
    settled_for: Provider | None = None
    """To whom it may be sent or not, as the gate was asked last, and when."""
    settled_at: float = 0.0


class Texts:
    """Open documents and files that were read, by the keys of their documents."""

    def __init__(self) -> None:
        # Those looked at last come last.
        self.open: OrderedDict[str, Text] = OrderedDict()
        self.read: OrderedDict[str, Text] = OrderedDict()
        self._edited_last: OrderedDict[str, None] = OrderedDict()

    def get(self, key: str) -> Text | None:
        """What is known of a text; `None` where nothing is."""
        return self.open.get(key) or self.read.get(key)

    def opened(self, document: Document, language: Language) -> None:
        """A document was opened, or has another text than before by all of it."""
        key = document_key(document.uri)
        self.open.pop(key, None)
        self.open[key] = Text(document.uri, language, document=document)
        # From now on the editor says what is in it.
        self.read.pop(key, None)

    def changed(self, document: Document, changes: Sequence[TextChange]) -> None:
        """An open document was edited."""
        key = document_key(document.uri)
        text = self.open[key]
        text.document = document
        for change in changes:
            if change.range is not None:
                line = change.range.start.line
                near = [each for each in text.edited if abs(each - line) <= PLACE]
                for each in near:
                    text.edited.remove(each)
                text.edited.append(line)
                self._edited_last[key] = None
                self._edited_last.move_to_end(key)

    def looked_at(self, key: str) -> None:
        """The user looks at a document."""
        if key in self.open:
            self.open.move_to_end(key)

    def closed(self, key: str) -> None:
        """A document was closed."""
        self.open.pop(key, None)
        self._edited_last.pop(key, None)

    def candidates(self, own: str, imported: Sequence[str], settings: Settings) -> list[Text]:
        """Those that the settings let be searched, the one around the cursor among them."""
        here = self.open.get(own)
        if here is None:
            return []
        found: dict[str, Text] = {}
        if settings.distant_code:
            found[own] = here
        if settings.context is Context.DOCUMENT:
            return list(found.values())
        others = [key for key in reversed(self.open) if key != own]
        wanted = others[:MOST_OPEN] if settings.open_documents else []
        if settings.recent_edits:
            wanted += [key for key in reversed(self._edited_last) if key != own][:EDITS]
        if settings.imported_files:
            wanted += [key for key in imported if key != own]
        for key in wanted:
            text = self.get(key)
            if text is not None and are_relatives(text.language, here.language):
                found[key] = text
        return list(found.values())
