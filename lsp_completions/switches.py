"""Whether suggestions come at all: by the language, and by what was switched while we run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from lsp_completions.pipeline.languages import PLAIN, language_of
from lsp_completions.pipeline.outcome import SkipReason

Languages = Sequence[tuple[str, bool]]
"""Names of languages, and whether there are suggestions; the first word on each counts."""

# Text for people, and what is not written at all. As VS Code, Neovim, Helix and Emacs name it, in
# lower case; other names of a language that the table of languages knows need not be here.
OFF_BY_DEFAULT = frozenset(
    [
        # Plain text, and letters
        *("plaintext", "mail", "message", "mutt"),
        # Messages to commits, and what to do in a rebase
        *("git-commit", "scminput", "git-notes", "git-tag", "gitsendemail", "neogitcommitmessage"),
        *("hgcommit", "svn", "cvs", "jj", "jjdescription", "log-edit", "vc-git-log-edit"),
        # Prompts and other places to put in a line
        *("prompt", "telescopeprompt", "snacks_picker_input", "snacks_input", "dressinginput"),
        *("fzf", "neo-tree-popup", "avanteinput", "codecompanion", "copilot-chat"),
        *("minibuffer", "minibuffer-inactive", "comint", "eshell", "term", "vterm", "terminal"),
        # Pages to read
        *("help", "man", "woman", "info", "apropos", "checkhealth", "qf", "log", "output"),
        *("lspinfo", "messages-buffer", "compilation"),
    ]
)


class Switch(Enum):
    """What to do with a switch."""

    ON = "on"
    OFF = "off"
    OTHER = "the other way round"

    def of(self, before: bool) -> bool:
        """The state after it."""
        return not before if self is Switch.OTHER else self is Switch.ON


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is switched: a `language`, the workspace, or everything."""

    language: str | None = None
    workspace: bool = False


@dataclass(slots=True, kw_only=True)
class Switches:
    """What was switched since the server started. A language's own switch outdoes the settings."""

    everything: bool = True
    workspace: bool = True
    languages: dict[str, bool] = field(default_factory=dict)

    def switch(self, how: Switch, scope: Scope, languages: Languages) -> bool:
        """Switch; whether suggestions come in that scope by now. `languages` is of the settings."""
        if scope.language is not None:
            name = scope.language.strip().lower()
            self.languages = {
                **{each: on for each, on in self.languages.items() if not _same(each, name)},
                name: how.of(self._is_on(name, "", languages)),
            }
        elif scope.workspace:
            self.workspace = how.of(self.workspace)
        else:
            self.everything = how.of(self.everything)
        language = scope.language is None or self._is_on(scope.language, "", languages)
        return self.everything and (not scope.workspace or self.workspace) and language

    def why_off(
        self, language_id: str, path: str, languages: Languages, *, in_workspace: bool
    ) -> SkipReason | None:
        """Why nothing is suggested in such a document; `None` where it is."""
        if not self.everything or (in_workspace and not self.workspace):
            return SkipReason.SWITCHED_OFF
        if self._is_on(language_id, path, languages):
            return None
        switched = _said(tuple(self.languages.items()), *_names(language_id, path))
        return SkipReason.LANGUAGE_OFF if switched is None else SkipReason.SWITCHED_OFF

    def _is_on(self, language_id: str, path: str, languages: Languages) -> bool:
        switched = _said(tuple(self.languages.items()), *_names(language_id, path))
        return is_on(language_id, path, languages) if switched is None else switched


def is_on(language_id: str, path: str, languages: Languages) -> bool:
    """Whether there are suggestions in a language, by the settings.

    What the editor calls it counts before what it is called in common, `*` for all that nobody
    named, be it for want of a name.
    """
    names = _names(language_id, path)
    if (said := _said(languages, *names)) is not None:
        return said
    if not OFF_BY_DEFAULT.isdisjoint(names):
        return False
    return next((on for name, on in languages if name.strip() == "*"), True)


def _names(language_id: str, path: str) -> tuple[str, ...]:
    """What a language is called, from the editor's own name to the common one."""
    name = language_id.strip().lower()
    by_name, by_path = language_of(name), language_of(name, path)
    if by_path is PLAIN:
        # What a file's name tells is plain text only where the editor does not know better.
        return () if not name else tuple(dict.fromkeys((name, by_name.id)))
    if by_name is PLAIN:
        # Some editors call so whatever they do not know.
        return (by_path.id,)
    # `text.gitsendemail`: Neovim joins several names with a point.
    return tuple(dict.fromkeys((name, name.partition(".")[0], by_path.id)))


def _said(languages: Languages, *names: str) -> bool | None:
    """What is said of the first of the names that is spoken of; `None` where none is."""
    said = [(name.strip().lower(), on) for name, on in languages if name.strip() not in ("", "*")]
    for name in names:
        for each, on in said:
            if each == name:
                return on
    for each, on in said:
        if names and _same(each, names[-1]):
            return on
    return None


def _same(one: str, other: str) -> bool:
    return language_of(one).id == language_of(other).id
