r"""Edits as the items an editor shows, in the shape in which that editor inserts them rightly.

What editors do with the same item differs; the shapes below are those that left the same bytes in
Neovim 0.11 and 0.12, VS Code, Helix, Emacs (lsp-mode, Eglot) and Kate.
"""

import re
import textwrap
import unicodedata
from collections.abc import Sequence

from lsprotocol import types

from lsp_completions.convert.client import Client
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.edit import Edit

MAX_LABEL = 100  # characters: as wide as a menu gets
MAX_WORD = 128  # characters to look back for the start of the word at the cursor

AS_IS = types.InsertTextMode.AsIs


def inline_items(
    document: Document, edits: Sequence[Edit], client: Client, *, command: str, ids: Sequence[str]
) -> types.InlineCompletionList:
    r"""Ghost text. `ids[n]` comes back as the argument of `command` when `edits[n]` is accepted.

    The range is always there: without one VS Code supposes one up to the end of the line and shows
    nothing, and Neovim 0.12 fails. Lines are separated by `\n` and indented as they are to stand;
    editors insert such text as it is and see to the line ends themselves.
    """
    return types.InlineCompletionList(
        items=[
            types.InlineCompletionItem(
                insert_text=edit.new_text,
                range=_range(document, edit.start, edit.end, client),
                command=_command(client, command, identity),
            )
            for edit, identity in zip(edits, ids, strict=True)
        ]
    )


def menu_items(
    document: Document,
    offset: int,
    edits: Sequence[Edit],
    client: Client,
    *,
    command: str,
    ids: Sequence[str],
    detail: str,
    is_incomplete: bool,
) -> types.CompletionList:
    """Menu entries for the cursor at `offset`, in this order. None is selected from the start.

    All replace text from the same place on, the start of the word where possible: editors filter
    by what stands between there and the cursor, and some take one item's start for all.
    """
    start = min([_word_start(document, offset), *(edit.start for edit in edits)])
    items = []
    for index, (edit, identity) in enumerate(zip(edits, ids, strict=True)):
        item = _menu_item(document, start, offset, edit, client)
        item.detail = detail or None
        item.sort_text = f"{index:04}"
        item.command = _command(client, command, identity)
        items.append(item)
    return types.CompletionList(is_incomplete=is_incomplete, items=items)


def _menu_item(
    document: Document, start: int, offset: int, edit: Edit, client: Client
) -> types.CompletionItem:
    """One entry.

    Several lines are said as plain text to be kept as it is, where the editor knows that mode.
    Plain text is cut to its first line by Neovim (to its first word by 0.11), so to editors that
    know snippets it is one, and those (Helix too) indent its lines like the first. What is left
    inserts it as it is.
    """
    line = document.place_at(start)[0]
    indent = _indent_before(document, line, start)
    text = document.slice(start, edit.start) + edit.new_text
    as_is = AS_IS in client.insert_text_modes
    breaks = r"\s" if client.cuts_plain_text else r"\n"
    snippet = client.snippets and not as_is and re.search(breaks, text) is not None
    if snippet:
        text = _expressible(text, indent)
        snippet = re.search(breaks, text) is not None

    # Clients without snippets may keep `\n` in a CRLF file as it is; the others convert line ends.
    new_text = _snippet(text, indent) if snippet else text.replace("\n", document.eol_at(line))

    label, is_whole = _label(text)
    return types.CompletionItem(
        label=label,
        kind=types.CompletionItemKind.Text,
        documentation=None if is_whole else _documentation(document, indent + text, client),
        filter_text=_filter_text(document.slice(start, offset), text, label),
        text_edit=types.TextEdit(
            range=_range(document, start, edit.end, client), new_text=new_text
        ),
        insert_text_format=types.InsertTextFormat.Snippet
        if snippet
        else types.InsertTextFormat.PlainText,
        insert_text_mode=AS_IS if as_is else None,
    )


def _expressible(text: str, indent: str) -> str:
    """As much of `text` as a snippet can say: editors indent each of its lines like the first."""
    first, *rest = text.split("\n")
    kept = [first]
    for number, line in enumerate(rest, start=1):
        # The last line may be no more than the indentation of what stands right of the cursor.
        is_blank = not line.strip() and number < len(rest)
        if not is_blank and not line.startswith(indent):
            break
        kept.append(line)
    else:
        return text
    while len(kept) > 1 and not kept[-1].strip():
        kept.pop()
    return "\n".join(kept)


def _snippet(text: str, indent: str) -> str:
    """`text` in LSP's snippet syntax, its lines indented relative to the line it starts on."""
    escaped = re.sub(r"[\\$}]", r"\\\g<0>", text)
    first, *rest = escaped.split("\n")
    last = len(rest) - 1
    lines = (
        line.removeprefix(indent) if line.strip() or number == last else ""
        for number, line in enumerate(rest)
    )
    return "\n".join([first, *lines])


def _label(text: str) -> tuple[str, bool]:
    """One line to show, and whether it shows all there is."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    label = lines[0] if lines else ""
    if len(lines) == 1 and len(label) <= MAX_LABEL:
        return label, True
    return f"{label[:MAX_LABEL].rstrip()} …".lstrip(), False


def _filter_text(typed: str, text: str, label: str) -> str:
    """What the editor matches the typed text with: it begins with the text in the range."""
    first = text.partition("\n")[0]
    if not first.startswith(typed):
        first = typed + first
    # An empty text counts as none; the label stands in for it then.
    return first or label


def _documentation(document: Document, text: str, client: Client) -> types.MarkupContent:
    text = textwrap.dedent(text)
    if not client.markdown:
        return types.MarkupContent(kind=types.MarkupKind.PlainText, value=text)
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    language = re.sub(r"[^\w#+.-]", "", document.language_id)
    return types.MarkupContent(
        kind=types.MarkupKind.Markdown, value=f"{fence}{language}\n{text}\n{fence}"
    )


def _word_start(document: Document, offset: int) -> int:
    line_start = offset - document.place_at(offset)[1]
    before = document.slice(max(line_start, offset - MAX_WORD), offset)
    length = 0
    for character in reversed(before):
        if not (character.isalnum() or character == "_" or unicodedata.combining(character)):
            break
        length += 1
    return offset - length


def _indent_before(document: Document, line: int, offset: int) -> str:
    """The white space at the start of a line, up to `offset`."""
    start = document.offset_at(line, 0)
    text = document.slice(start, min(offset, start + 1000))
    return text[: len(text) - len(text.lstrip(" \t"))]


def _range(document: Document, start: int, end: int, client: Client) -> types.Range:
    places = (document.position_of(offset, client.encoding) for offset in (start, end))
    return types.Range(*(types.Position(place.line, place.character) for place in places))


def _command(client: Client, command: str, identity: str) -> types.Command | None:
    if not client.can_execute_commands:
        return None
    return types.Command(title="Suggestion accepted", command=command, arguments=[identity])
