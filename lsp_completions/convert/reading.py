"""What the editor sends, read into our values, whatever the editor's age and habits.

A reader takes `params` as it came from JSON. It overlooks what is missing or strange where there is
one sensible meaning, and raises `InvalidParams` where there is none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lsp_completions.errors import InvalidParams
from lsp_completions.pipeline.document import Document, Position, Range, TextChange


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChange:
    """The changes of one `didChange`, in their order."""

    uri: str
    version: int | None
    changes: tuple[TextChange, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The entry selected in the editor's menu, and the range it would replace."""

    range: Range
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionQuery:
    """A request for inline completion or for menu entries.

    `version` is the document's as the editor sees it, where it says so. `invoked` means that the
    request was not, as far as one can tell, sent on its own by the editor; `trigger_kind` is the
    number as it came.
    """

    uri: str
    position: Position
    version: int | None = None
    invoked: bool = False
    trigger_kind: int | None = None
    selected: Selected | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCall:
    """A command to execute."""

    command: str
    arguments: tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of a suggestion: `identity` is its id, `accepted` how much of it is taken.

    That is in UTF-16 units from the start of its text. Without a known id it tells nothing.
    """

    identity: str | None
    accepted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldersChange:
    """URIs of folders that came to and left the workspace."""

    added: tuple[str, ...]
    removed: tuple[str, ...]


def read_open(params: object) -> Document:
    """`textDocument/didOpen`."""
    document = _object(_object(params, "params").get("textDocument"), "textDocument")
    language_id = document.get("languageId")
    return Document.open(
        _string(document.get("uri"), "textDocument.uri"),
        language_id if isinstance(language_id, str) else "",
        _version(document),
        _string(document.get("text"), "textDocument.text"),
    )


def read_change(params: object) -> DocumentChange:
    """`textDocument/didChange`."""
    uri, version = _document_of(params)
    changes = _list(_object(params, "params").get("contentChanges"), "contentChanges")
    return DocumentChange(
        uri=uri,
        version=version,
        changes=tuple(
            _change(change, f"contentChanges[{index}]") for index, change in enumerate(changes)
        ),
    )


def read_close(params: object) -> str:
    """`textDocument/didClose`: the document's URI."""
    return _document_of(params)[0]


def read_inline_completion(params: object) -> CompletionQuery:
    """`textDocument/inlineCompletion`.

    Since 3.18 an invoked request has kind 1 and an automatic one kind 2. Clients made before
    (vscode-languageclient up to 9) say 0 and 1, so that 1 alone tells nothing. It counts as
    automatic, since the older clients send it at every key.
    """
    selected = _selected(_context_of(params).get("selectedCompletionInfo"))
    return _query(params, by_hand=0, selected=selected)


def read_completion(params: object) -> CompletionQuery:
    """`textDocument/completion`; Kate sends it without `context`."""
    return _query(params, by_hand=1)


def _query(params: object, *, by_hand: int, selected: Selected | None = None) -> CompletionQuery:
    """A question. Its trigger kind is `by_hand` where a person asks."""
    uri, version = _document_of(params)
    kind = _number(_context_of(params).get("triggerKind"))
    return CompletionQuery(
        uri=uri,
        position=_position(_object(params, "params").get("position"), "position"),
        version=version,
        invoked=kind == by_hand,
        trigger_kind=kind,
        selected=selected,
    )


def read_execute_command(params: object) -> CommandCall:
    """`workspace/executeCommand`; missing arguments are none."""
    call = _object(params, "params")
    arguments = call.get("arguments")
    return CommandCall(
        command=_string(call.get("command"), "command"),
        arguments=tuple(arguments) if isinstance(arguments, list) else (),
    )


def read_report(params: object) -> Report:
    """`didShowCompletion` and `didPartiallyAcceptCompletion`, in the form of Copilot's server.

    Clients leave of the item no more than its command.
    """
    told = _object(params, "params")
    item = told.get("item")
    command = item.get("command") if isinstance(item, dict) else None
    arguments = command.get("arguments") if isinstance(command, dict) else None
    match arguments:
        case [str(identity), *_]:
            return Report(identity=identity, accepted=_number(told.get("acceptedLength")) or 0)
        case _:
            return Report(identity=None)


def read_focus(params: object) -> str | None:
    """`textDocument/didFocus`: the URI of the document; `None` where it is none."""
    document = params.get("textDocument") if isinstance(params, dict) else None
    uri = document.get("uri") if isinstance(document, dict) else None
    return uri if isinstance(uri, str) else None


def read_place(arguments: Sequence[object]) -> tuple[str | None, Position | None]:
    """The document and the place in it that a command is about; `None` for what is not told."""
    if not arguments or arguments[0] is None:
        return None, None
    place = _object(arguments[0], "arguments[0]")
    if (document := place.get("textDocument")) is not None:
        uri = _object(document, "textDocument").get("uri")
    else:
        uri = place.get("uri")
    if uri is None:
        return None, None
    at = place.get("position")
    return _string(uri, "uri"), None if at is None else _position(at, "position")


def read_configuration_change(params: object) -> object:
    """`workspace/didChangeConfiguration`: the settings sent along, `None` where there are none."""
    return params.get("settings") if isinstance(params, dict) else None


def read_workspace_folders_change(params: object) -> FoldersChange:
    """`workspace/didChangeWorkspaceFolders`."""
    event = _object(_object(params, "params").get("event"), "event")
    return FoldersChange(
        added=folder_uris(event.get("added")), removed=folder_uris(event.get("removed"))
    )


def folder_uris(folders: object) -> tuple[str, ...]:
    """The URIs in a list of workspace folders; what is no folder is passed over."""
    if not isinstance(folders, list):
        return ()
    uris = (folder.get("uri") for folder in folders if isinstance(folder, dict))
    return tuple(uri for uri in uris if isinstance(uri, str) and uri)


def _document_of(params: object) -> tuple[str, int | None]:
    document = _object(_object(params, "params").get("textDocument"), "textDocument")
    return _string(document.get("uri"), "textDocument.uri"), _version(document)


def _version(document: Mapping[str, object]) -> int | None:
    return _number(document.get("version"))


def _change(change: object, name: str) -> TextChange:
    change = _object(change, name)
    text = _string(change.get("text"), f"{name}.text")
    if change.get("range") is None:
        return TextChange(None, text)
    return TextChange(_range(change["range"], f"{name}.range"), text)


def _context_of(params: object) -> Mapping[str, object]:
    context = _object(params, "params").get("context")
    return context if isinstance(context, dict) else {}


def _selected(info: object) -> Selected | None:
    """The selected entry; one that cannot be read only costs the preview of it."""
    if not isinstance(info, dict) or not isinstance(text := info.get("text"), str):
        return None
    try:
        return Selected(range=_range(info.get("range"), "range"), text=text)
    except InvalidParams:
        return None


def _range(value: object, name: str) -> Range:
    # vscode-languageclient 9 writes a pair of positions here.
    if isinstance(value, list) and len(value) == 2:
        start, end = value
    else:
        value = _object(value, name)
        start, end = value.get("start"), value.get("end")
    return Range(_position(start, f"{name}.start"), _position(end, f"{name}.end"))


def _position(value: object, name: str) -> Position:
    value = _object(value, name)
    return Position(
        _natural(value.get("line"), f"{name}.line"),
        _natural(value.get("character"), f"{name}.character"),
    )


def _natural(value: object, name: str) -> int:
    number = _number(value)
    if number is None or number < 0:
        raise InvalidParams(f"{name} must be a whole number, 0 or more.")
    return number


def _number(value: object) -> int | None:
    """A whole number; some editors know floating-point numbers only and write 4.0."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else None


def _string(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidParams(f"{name} must be a string.")
    return value


def _object(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InvalidParams(f"{name} must be an object.")
    return value


def _list(value: object, name: str) -> Sequence[object]:
    if not isinstance(value, list):
        raise InvalidParams(f"{name} must be a list.")
    return value
