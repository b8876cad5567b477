"""What the editor is told that we can do: methods beside those of LSP, characters, commands."""

from lsprotocol import types

INLINE = types.TEXT_DOCUMENT_INLINE_COMPLETION
MENU = types.TEXT_DOCUMENT_COMPLETION

DID_SHOW = "textDocument/didShowCompletion"
DID_ACCEPT_PART = "textDocument/didPartiallyAcceptCompletion"
DID_FOCUS = "textDocument/didFocus"

# Not a space: VS Code would open its menu over the ghost text after every word.
TRIGGER_CHARACTERS = (".", "(", "[", "{", ":", "=", ",", ">", '"', "'", "/")

WHY = "lspCompletions.why"
ACCEPTED = "lspCompletions.didAcceptCompletion"
ENABLE = "lspCompletions.enable"
DISABLE = "lspCompletions.disable"
TOGGLE = "lspCompletions.toggle"


def commands(suffix: str) -> list[str]:
    """The commands that are offered to the editor, by the names that it is to use."""
    return [name + suffix for name in (ACCEPTED, ENABLE, DISABLE, TOGGLE, WHY)]
