"""The two pipes to the editor: bytes in, JSON out, and how we notice that nobody is there any more.

`framing` finds the messages in a stream of bytes, `pipes` holds the threads that read and write,
`watch` notices the death of a process. Nothing here knows LSP.
"""

from lsp_completions.stdio.framing import Damage, Frames, frame
from lsp_completions.stdio.pipes import Reader, Stderr, Writer, take_pipes
from lsp_completions.stdio.watch import exists, when_gone, when_orphaned

__all__ = [
    "Damage",
    "Frames",
    "Reader",
    "Stderr",
    "Writer",
    "exists",
    "frame",
    "take_pipes",
    "when_gone",
    "when_orphaned",
]
