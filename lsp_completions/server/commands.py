"""The commands that the editor may have executed: a suggestion accepted, switches, and "why?"."""

import time
from collections.abc import Callable
from typing import Any

from lsp_completions import convert, explanation
from lsp_completions.acceptance import Acceptance
from lsp_completions.configuration.following import Following
from lsp_completions.convert import Client, CommandCall
from lsp_completions.errors import InvalidParams
from lsp_completions.journal import Journal
from lsp_completions.messages import Messages
from lsp_completions.pipeline.document import Position
from lsp_completions.pipeline.uris import document_key
from lsp_completions.server.offered import ACCEPTED, DISABLE, ENABLE, TOGGLE, WHY
from lsp_completions.service import Service
from lsp_completions.status import Status
from lsp_completions.switches import Scope, Switch

# What clients written for Copilot's server report. Never offered: VS Code registers what is offered
# for all its windows, and fails where another has it already.
ACCEPTED_IN_COPILOT = "github.copilot.didAcceptCompletionItem"
SWITCHES = {ENABLE: Switch.ON, DISABLE: Switch.OFF, TOGGLE: Switch.OTHER}

# Where a command is executed, and nobody is told what came of it.
SHOWS_NO_ANSWER = ("helix",)


class Commands:
    """Executes them. `client` is the editor; `switched` is called when a switch was thrown."""

    def __init__(
        self,
        service: Service,
        *,
        following: Following,
        acceptance: Acceptance,
        journal: Journal,
        messages: Messages,
        status: Status,
        client: Callable[[], Client],
        switched: Callable[[], None],
    ) -> None:
        self._service = service
        self._following = following
        self._acceptance = acceptance
        self._journal = journal
        self._messages = messages
        self._status = status
        self._client = client
        self._switched = switched

    def execute(self, call: CommandCall) -> dict[str, Any] | None:
        """What a command answers; `None` for a word that wants no answer."""
        suffix = self._following.settings.command_suffix
        if call.command in (ACCEPTED + suffix, ACCEPTED_IN_COPILOT):
            match call.arguments:
                case [str(identity), *_]:
                    self._acceptance.accepted(identity)
            return None
        if call.command == WHY + suffix:
            return self._why(*convert.read_place(call.arguments))
        for name, switch in SWITCHES.items():
            if call.command == name + suffix:
                return self._switch(switch, _scope_of(call))
        raise InvalidParams(f"There is no command {call.command[:100]}.")

    def _switch(self, switch: Switch, scope: Scope) -> dict[str, Any]:
        """Switch suggestions on or off; the state after it, for the editor to show."""
        enabled = self._service.switches.switch(switch, scope, self._following.settings.languages)
        self._service.end_what_is_off()
        self._switched()
        if self._client().name in SHOWS_NO_ANSWER:
            where = f" for {scope.language}" if scope.language else ""
            where = " in this workspace" if scope.workspace else where
            self._messages.answer(f"Suggestions are {'on' if enabled else 'off'}{where}.")
        return {
            "enabled": enabled,
            "everything": self._service.switches.everything,
            "workspace": self._service.switches.workspace,
            "languages": self._service.switches.languages,
        }

    def _why(self, uri: str | None, position: Position | None) -> dict[str, Any]:
        """Why there is a suggestion or none: in a document's line, a document, or where we were."""
        entries = self._journal.entries()
        if uri is None:
            uri = self._status.uri or (entries[0].asked.uri if entries else None)
        if uri is None:
            return explanation.explained(explanation.NOWHERE, None, at=time.time())
        key, now = document_key(uri), explanation.Now()
        here = [each for each in entries if document_key(each.asked.uri) == key]
        if position is not None:
            here = [each for each in here if each.asked.line == position.line + 1]
            now = self._service.why_not_at(uri, position, self._client().encoding)
        elif (reason := self._service.why_not(uri, by_hand=False)) is not None:
            now = explanation.Now(reason=reason)
        return explanation.explained(now, explanation.telling(here), at=time.time())


def _scope_of(call: CommandCall) -> Scope:
    """What a command is about: the language or the workspace it names, or everything."""
    match call.arguments[:1]:
        case () | (None,):
            return Scope()
        case ({"language": str(language)},) if language.strip():
            return Scope(language=language)
        case ({"workspace": True},):
            return Scope(workspace=True)
        case ({**rest},) if not rest:
            return Scope()
    raise InvalidParams(
        f'{call.command[:100]} takes {{"language": "…"}}, {{"workspace": true}} or nothing.'
    )
