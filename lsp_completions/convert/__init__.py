"""The protocol's JSON and types on one side, our values on the other.

reading  what the editor sends -> our values, whatever its age and habits
client   what the editor says of itself
items    edits -> items shaped for the editor that asked; imported by itself, as it comes last
"""

from lsp_completions.convert.client import Client, read_client
from lsp_completions.convert.reading import (
    CommandCall,
    CompletionQuery,
    DocumentChange,
    FoldersChange,
    Report,
    Selected,
    read_change,
    read_close,
    read_completion,
    read_configuration_change,
    read_execute_command,
    read_focus,
    read_inline_completion,
    read_open,
    read_place,
    read_report,
    read_workspace_folders_change,
)

__all__ = [
    "Client",
    "CommandCall",
    "CompletionQuery",
    "DocumentChange",
    "FoldersChange",
    "Report",
    "Selected",
    "read_change",
    "read_client",
    "read_close",
    "read_completion",
    "read_configuration_change",
    "read_execute_command",
    "read_focus",
    "read_inline_completion",
    "read_open",
    "read_place",
    "read_report",
    "read_workspace_folders_change",
]
