"""What the server makes of an outcome, whatever has happened since."""

from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit
from lsp_completions.pipeline.outcome import Outcome, Suggested
from lsp_completions.server import CompletionServer

URI = "file:///w/a.py"


async def test_a_key_that_crosses_the_answer_tears_no_range() -> None:
    conversation = CompletionServer().conversation
    asked = Document.open(URI, "python", 1, "x = \n")

    async def work() -> tuple[Outcome, int]:
        conversation.did_open(Document.open(URI, "python", 2, "# one\nx = \n"))
        edit = Edit(start=4, end=4, new_text="call()")
        return Suggested(document=asked, edits=(edit,)), 1

    answer = await conversation._inline_answer(work)
    assert answer is not None
    (item,) = answer.items
    assert item.range is not None
    assert (item.range.start.line, item.range.start.character) == (0, 4)
    assert item.range.end == item.range.start
