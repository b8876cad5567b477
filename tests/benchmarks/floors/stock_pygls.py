"""The other floor: a server written by pygls' own tutorial, with pygls' own documents."""

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from tests.benchmarks.floors.prompt import PREFIX_CHARS, SUFFIX_CHARS, client, first_line

server = LanguageServer("stock-pygls", "1")
model = client()


@server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())
async def complete(params: types.InlineCompletionParams) -> types.InlineCompletionList:
    document = server.workspace.get_text_document(params.text_document.uri)
    offset = document.offset_at_position(params.position)
    source = document.source
    text = await first_line(
        model,
        source[max(offset - PREFIX_CHARS, 0) : offset],
        source[offset : offset + SUFFIX_CHARS],
    )
    item = types.InlineCompletionItem(
        insert_text=text, range=types.Range(start=params.position, end=params.position)
    )
    return types.InlineCompletionList(items=[item])


if __name__ == "__main__":
    server.start_io()
