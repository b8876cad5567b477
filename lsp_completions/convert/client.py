"""What the editor says of itself in `initialize`, as far as it changes what we do."""

from dataclasses import dataclass, field

from lsp_completions.convert.reading import folder_uris
from lsp_completions.pipeline.positions import PositionEncoding
from lsp_completions.pipeline.uris import uri_of_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """The editor at the other end; the defaults are those of one that says nothing.

    `advertises_inline` is false for some that ask all the same (Emacs, and Neovim 0.11 set up by
    hand). `insert_text_modes` are the numbers of LSP's `InsertTextMode`. `roots` are URIs.
    """

    name: str = ""
    version: str = ""
    process_id: int | None = None
    encoding: PositionEncoding = PositionEncoding.UTF16
    roots: tuple[str, ...] = ()
    options: object = field(default=None, repr=False)
    """`initializationOptions`, as they came."""

    advertises_inline: bool = False
    snippets: bool = False
    insert_text_modes: frozenset[int] = frozenset()
    cuts_plain_text: bool = False
    """Of plain text in the menu it inserts the first word only, as Neovim 0.11 does."""
    markdown: bool = True
    can_execute_commands: bool = False

    configuration: bool = False
    """It answers `workspace/configuration`."""
    dynamic_configuration: bool = False
    """`workspace/didChangeConfiguration` may be registered."""
    work_done_progress: bool = False
    message_actions: bool = False
    """A message to the user may carry buttons."""
    speaks_copilot: bool = False
    """It was written for Copilot's server."""
    follows_status: bool = False
    """It takes `lspCompletions/status`."""


def _cuts_plain_text(name: str, version: str) -> bool:
    return name == "Neovim" and version.startswith(("0.11", "0.10"))


def read_client(params: object) -> Client:
    """The editor, from the params of `initialize`. Whatever is malformed counts as not said."""
    name = _at(params, "clientInfo", "name")
    version = _at(params, "clientInfo", "version")
    process_id = _at(params, "processId")
    workspace = _at(params, "capabilities", "workspace")
    window = _at(params, "capabilities", "window")
    text_document = _at(params, "capabilities", "textDocument")
    item = _at(text_document, "completion", "completionItem")
    formats = _at(item, "documentationFormat")
    name = name if isinstance(name, str) else ""
    speaks_copilot = _at(params, "initializationOptions", "editorPluginInfo") is not None
    return Client(
        name=name,
        version=version if isinstance(version, str) else "",
        process_id=process_id if type(process_id) is int else None,
        encoding=_encoding(_at(params, "capabilities", "general", "positionEncodings")),
        roots=_roots(params),
        options=_at(params, "initializationOptions"),
        # `"inlineCompletion": null` is what lsp-mode writes.
        advertises_inline=_at(text_document, "inlineCompletion") not in (None, False),
        snippets=_at(item, "snippetSupport") is True,
        insert_text_modes=frozenset(
            mode
            for mode in _items(_at(item, "insertTextModeSupport", "valueSet"))
            if type(mode) is int
        ),
        cuts_plain_text=_cuts_plain_text(name, version if isinstance(version, str) else ""),
        # Those that name no format (Helix, Eglot) show Markdown.
        markdown="markdown" in _items(formats) or not _items(formats),
        can_execute_commands=_at(workspace, "executeCommand") not in (None, False)
        or name in _EXECUTES_UNANNOUNCED
        # Such as copilot.el, which announces next to nothing.
        or speaks_copilot,
        configuration=_at(workspace, "configuration") is True,
        dynamic_configuration=_at(workspace, "didChangeConfiguration", "dynamicRegistration")
        is True,
        work_done_progress=_at(window, "workDoneProgress") is True,
        message_actions=_at(window, "showMessage", "messageActionItem") not in (None, False),
        speaks_copilot=speaks_copilot,
        # To others a notification that they do not know may be an error in their log.
        follows_status=_at(params, "capabilities", "experimental", "lspCompletionsStatus") is True,
    )


_EXECUTES_UNANNOUNCED = {
    # Its client runs an item's command, though 0.11 and 0.12 do not list the capability.
    "Neovim",
}


def _encoding(offered: object) -> PositionEncoding:
    """The first offered that we know, as the editor lists them in the order it likes them."""
    known = {encoding.value: encoding for encoding in PositionEncoding}
    for name in _items(offered):
        if isinstance(name, str) and name in known:
            return known[name]
    return PositionEncoding.UTF16


def _roots(params: object) -> tuple[str, ...]:
    if folders := folder_uris(_at(params, "workspaceFolders")):
        return folders
    uri, path = _at(params, "rootUri"), _at(params, "rootPath")
    if isinstance(uri, str) and uri:
        return (uri,)
    return (uri_of_path(path),) if isinstance(path, str) and path else ()


def _at(value: object, *keys: str) -> object:
    """What stands below these keys; `None` where anything on the way is missing or no object."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []
