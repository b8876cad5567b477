"""Code is shown on request, and whatever goes wrong with that harms no completion."""

from pathlib import Path

from lsp_completions.disclosure import Disclosure
from lsp_completions.pipeline.outcome import Skipped, SkipReason
from lsp_completions.trail import Trail


async def test_where_wishes_cannot_be_looked_for_there_is_none(tmp_path: Path) -> None:
    # Too long a name fails as a folder of another user does, for root as well.
    disclosure = Disclosure(tmp_path / ("x" * 300))
    await disclosure.begin()
    assert not disclosure.is_wanted
    disclosure.note(1, Trail(), Skipped(reason=SkipReason.EMPTY))
    await disclosure.aclose()
