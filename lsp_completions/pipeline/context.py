"""The text around the cursor, cut to windows: what every later stage looks at.

The prefix window's start moves in steps, so that the prompts of successive keystrokes begin alike.
"""

from dataclasses import dataclass

from lsp_completions.pipeline.languages import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """How many characters to look at on either side of the cursor, at most."""

    prefix_chars: int
    suffix_chars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorContext:
    r"""The text around the cursor. All of it has `\n` line ends only, and no byte order mark."""

    path: str
    """The path shown to a model: relative to the workspace, `/` between its parts."""
    language: Language
    offset: int
    """Where the cursor stands in the document, in code points. Edits count from here."""
    prefix: str
    """The text before the cursor, as far as the window reaches."""
    suffix: str
    """The text after the cursor, as far as the window reaches."""
    line_prefix: str
    """The cursor's line up to the cursor, within the window."""
    line_suffix: str
    """The cursor's line from the cursor on, within the window; no line end."""
    eol: str
    r"""How lines end where the cursor stands: `\n`, `\r\n` or `\r`."""
    indent: str
    """The white space the cursor's line begins with, also where the cursor stands inside it."""
    indent_unit: str
    """One level of indentation, as the text around the cursor shows it: a tab, or some spaces."""
    starts_at_top: bool
    """The prefix begins where the document does."""
    ends_at_bottom: bool
    """The suffix ends where the document does."""
