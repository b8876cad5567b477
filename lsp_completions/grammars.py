"""Grammars from the packages of the extra `syntax`: each loaded once, and only where installed.

Without them brackets and indentation decide.
"""

import asyncio
import importlib
import logging
from functools import lru_cache, partial

from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.grammar import Grammar
from lsp_completions.pipeline.languages import Language, language_of

logger = logging.getLogger(__name__)


class Grammars:
    """What is loaded by now. It is loaded in a thread, when a document is opened."""

    def __init__(self) -> None:
        self._loaded: dict[str, Grammar | None] = {}
        self._loading: set[asyncio.Task[None]] = set()

    def of(self, document: Document) -> Grammar | None:
        """The grammar for a document; `None` where there is none, or it is not loaded yet."""
        return self._loaded.get(_language(document).grammar)

    def begin(self, document: Document) -> None:
        """Load the grammar for a document that was opened."""
        language = _language(document)
        if language.grammar and language.grammar not in self._loaded:
            self._loaded[language.grammar] = None
            task = asyncio.create_task(self._load(language), name="grammar")
            self._loading.add(task)
            task.add_done_callback(self._loading.discard)

    async def prepared(self, document: Document) -> Grammar | None:
        """The grammar for a document, as soon as it is loaded."""
        self.begin(document)
        await self.aclose()
        return self.of(document)

    async def aclose(self) -> None:
        """Wait for what is being loaded, which takes milliseconds."""
        await asyncio.gather(*self._loading)

    async def _load(self, language: Language) -> None:
        self._loaded[language.grammar] = await asyncio.to_thread(load, language)


@lru_cache(maxsize=64)
def load(language: Language) -> Grammar | None:
    """A language's grammar, from its package; `None` where that is not installed or not usable."""
    package, _, variant = language.grammar.partition(".")
    if not package:
        return None
    try:
        import tree_sitter

        module = importlib.import_module(f"tree_sitter_{package}")
        pointer = getattr(module, f"language_{variant}" if variant else "language")()
        make_parser = partial(tree_sitter.Parser, tree_sitter.Language(pointer))
        make_parser().parse(b"")
    except ModuleNotFoundError:
        return None
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, there are other rules
        logger.warning(
            "The grammar for %s cannot be used, so brackets and indentation decide where "
            "suggestions end: %s. Installing lsp-completions[syntax] anew may mend it.",
            language.id,
            error,
        )
        return None
    return Grammar(name=language.grammar, make_parser=make_parser)


def _language(document: Document) -> Language:
    return language_of(document.language_id, document.uri)
