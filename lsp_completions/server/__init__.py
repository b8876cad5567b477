"""The language server. What an editor waits for at the start stands here, the rest is built after.

offered          what the editor is told that we can do
conversation     everything it says once it is initialized: one short handler per LSP method
by_hand          whether a person asked for a suggestion, or the editor by itself
requests         a request for a suggestion, from what it needs to its outcome
commands         what the editor may have executed
telling          how things stand, told to whoever shows it
editor_settings  the settings that the editor holds

A handler runs when its message is dispatched and takes what it needs there; what takes time is the
coroutine it returns.
"""

import logging
import sys
from collections.abc import Callable, Coroutine
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn

from lsprotocol import types

from lsp_completions import __version__, convert, signed_in
from lsp_completions.configuration.following import Following
from lsp_completions.configuration.in_force import Question
from lsp_completions.convert import Client
from lsp_completions.log_file import Formatter, LogFile
from lsp_completions.messages import Messages
from lsp_completions.notices import Notices
from lsp_completions.protocol import Server
from lsp_completions.server import editor_settings, offered
from lsp_completions.settings import Menu, Settings

if TYPE_CHECKING:
    from lsp_completions.server.conversation import Conversation
    from lsp_completions.transport import Transport

logger = logging.getLogger(__name__)

READERS: dict[str, Callable[[object], Any]] = {
    types.TEXT_DOCUMENT_DID_OPEN: convert.read_open,
    types.TEXT_DOCUMENT_DID_CHANGE: convert.read_change,
    types.TEXT_DOCUMENT_DID_CLOSE: convert.read_close,
    offered.INLINE: convert.read_inline_completion,
    offered.MENU: convert.read_completion,
    types.WORKSPACE_EXECUTE_COMMAND: convert.read_execute_command,
    offered.DID_SHOW: convert.read_report,
    offered.DID_ACCEPT_PART: convert.read_report,
    offered.DID_FOCUS: convert.read_focus,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: convert.read_configuration_change,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: convert.read_workspace_folders_change,
}


def serve(*, client_process_id: int | None = None) -> NoReturn:
    """Serve one editor over standard input and output, until it ends."""
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setFormatter(Formatter("%(levelname)s %(message)s"))
    logging.basicConfig(handlers=[stderr], level=logging.WARNING)
    CompletionServer(stderr=stderr).serve_stdio(editor_pid=client_process_id)


class CompletionServer(Server):
    """Speaks with one editor. `transport` is another way to ask models."""

    def __init__(
        self, transport: "Transport | None" = None, *, stderr: logging.Handler | None = None
    ) -> None:
        super().__init__("lsp-completions", __version__, READERS)
        self.client = Client()
        self.shows_inline = False
        self.messages = Messages(self)
        self.notices = Notices(self.messages.warn)
        self.following = Following(
            ask=self._ask,
            tell=self.notices.problem,
            changed=self._settings_changed,
            logged_in=self._try_again,
        )
        self.log = LogFile(stderr)
        self._transport = transport
        self.on_stop += [self.messages.aclose, self.following.aclose, self.log.aclose]

        menu = types.CompletionOptions(trigger_characters=list(offered.TRIGGER_CHARACTERS))
        self.feature(types.INITIALIZE)(self.initialize)
        self.feature(types.INITIALIZED)(self.initialized)
        for method, options in (
            (types.TEXT_DOCUMENT_DID_OPEN, None),
            (types.TEXT_DOCUMENT_DID_CHANGE, None),
            (types.TEXT_DOCUMENT_DID_CLOSE, None),
            # Advertised whatever the editor says: Emacs and Neovim 0.11 ask without announcing it.
            (offered.INLINE, types.InlineCompletionOptions()),
            (offered.MENU, menu),
            (types.WORKSPACE_EXECUTE_COMMAND, None),
            (offered.DID_SHOW, None),
            (offered.DID_ACCEPT_PART, None),
            (offered.DID_FOCUS, None),
            (types.WORKSPACE_DID_CHANGE_CONFIGURATION, None),
            (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, None),
            (signed_in.CHECK, None),
            *((method, None) for method in signed_in.SIGN_IN),
            (signed_in.SIGN_OUT, None),
        ):
            self.feature(method, options)(partial(self._later, method))

    def _later(self, method: str, params: Any) -> Any:
        return self.conversation.handlers[method](params)

    @cached_property
    def conversation(self) -> "Conversation":
        """All that comes after `initialize`.

        Built when the first of it does: its modules take a third of all the time to start.
        """
        from lsp_completions.server.conversation import Conversation

        return Conversation(self, self._transport)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.following.settings

    def initialize(self, params: object) -> None:
        """Learn who asks and what is set; decide what to offer."""
        self.client = self.messages.client = client = convert.read_client(params)
        self.shows_inline = client.advertises_inline
        self.position_encoding = client.encoding.value
        self.following.begin(client.roots, client.options, more_follows=client.configuration)

        if self.settings.menu is Menu.OFF:
            del self.handlers[offered.MENU]
        elif self.menu_is_left_to_inline():
            self.options[offered.MENU] = types.CompletionOptions()
        commands = offered.commands(self.settings.command_suffix)
        self.options[types.WORKSPACE_EXECUTE_COMMAND] = types.ExecuteCommandOptions(commands)
        if not client.advertises_inline:
            logger.info("%s does not announce inline completion.", client.name or "The editor")

    def initialized(self, _: object) -> Coroutine[None, None, None]:
        """Ask for the settings, and for word of their changes; get ready for the first request."""
        return self._get_ready()

    async def _get_ready(self) -> None:
        if self.client.configuration:
            # Before anything else is imported: the editor answers meanwhile.
            try:
                await editor_settings.follow(
                    self, self.following, register=self.client.dynamic_configuration
                )
            finally:
                self.following.all_known()
        await self.conversation.begin()

    def menu_is_left_to_inline(self) -> bool:
        """Whether the menu stays empty until somebody asks for it, as there is ghost text."""
        return self.settings.menu is Menu.AUTO and self.shows_inline

    def on_unreadable(self, method: str | None, params: object) -> None:
        """A change that could not be read leaves its document out of step."""
        if method == types.TEXT_DOCUMENT_DID_CHANGE and isinstance(params, dict):
            document = params.get("textDocument")
            uri = document.get("uri") if isinstance(document, dict) else None
            if isinstance(uri, str):
                self.conversation.service.documents.mark_out_of_step(uri)

    def _settings_changed(self, before: Settings) -> None:
        if "conversation" in self.__dict__:
            self.conversation.settings_changed(changed=self.settings != before)
        self.log.level(self.settings.log_level.value)

    def _try_again(self) -> None:
        if "conversation" in self.__dict__:
            self.conversation.try_again()

    async def _ask(self, question: Question) -> bool | None:
        return await self.messages.ask(question, instead=self.notices.problem)
