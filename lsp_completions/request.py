"""What somebody wants completed, as it was at the moment the editor asked."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lsp_completions.pipeline.context import CursorContext
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.grammar import Grammar
from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.pipeline.prompt import Excerpt
from lsp_completions.providers.base import Provider
from lsp_completions.settings import Settings
from lsp_completions.trail import Trail


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The entry selected in the editor's menu: it would replace `[start, cursor)` with `text`."""

    start: int
    text: str


class Permission(Protocol):
    """Whether something of the document may be sent to a provider."""

    async def decided(self, provider: Provider) -> object:
        """Wait, not for long, for what is not known yet."""

    def why_kept_back(self, provider: Provider) -> SkipReason | None:
        """Why nothing may be sent, by what is known now; `None` when it may."""

    def repository(self, provider: Provider) -> str | None:
        """The name of the repository around the document, where the provider is to be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptQuery:
    """Where code from elsewhere is wanted, by whom, by which settings, and how much of it."""

    document: Document
    context: CursorContext
    provider: Provider
    settings: Settings
    chars: int


class Elsewhere(Protocol):
    """The code from elsewhere that may be shown beside the text around the cursor."""

    async def decided(self, query: ExcerptQuery) -> None:
        """Wait, some milliseconds, for what is nearly known."""

    def excerpts(self, query: ExcerptQuery) -> Sequence[Excerpt]:
        """What to show, by what is known and allowed now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Everything a completion needs, taken at the moment the editor asked.

    `offset` is the cursor's, in code points. `path` is what the model is told. `provider` waits
    where the embedded model has to start first. `deadline` is in seconds and for all of it; `None`
    leaves it to the provider's own, and `in_all` seconds where something had to be waited for
    before anybody could be asked. `current` gives the document as it is by then; `follow_typing`
    asks for the edit in that document, and not in the one asked about. `by_hand` means that a
    person wants it now, whatever went wrong before. Without a `permission` whoever asks knows that
    the document may be sent. One `ahead` was asked for by nobody yet: a model is asked once, and
    only where that costs little and nothing went wrong before. `grammar` parses the document's
    language; `None` where nothing does.
    """

    document: Document
    offset: int
    path: str
    settings: Settings
    provider: Callable[[], Awaitable[Provider]]
    current: Callable[[], Document | None]
    selection: Selection | None = None
    deadline: float | None = None
    in_all: float | None = None
    follow_typing: bool = True
    by_hand: bool = False
    ahead: bool = False
    permission: Permission | None = None
    elsewhere: Elsewhere | None = None
    """`None` where nothing but the document is shown."""
    grammar: Grammar | None = None
    trail: Trail = field(default_factory=Trail, repr=False, compare=False)
    """What it goes through is noted there."""


def at_hand(provider: Provider) -> Callable[[], Awaitable[Provider]]:
    """A provider that need not be waited for."""

    async def ready() -> Provider:
        return provider

    return ready
