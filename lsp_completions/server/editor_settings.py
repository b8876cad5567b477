"""The settings that the editor holds: asked for, or taken as it pushes them."""

import logging

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp_completions.configuration import SECTION, section
from lsp_completions.configuration.following import Following
from lsp_completions.protocol import Server
from lsp_completions.settings import keys

logger = logging.getLogger(__name__)


async def follow(server: Server, following: Following, *, register: bool) -> None:
    """Ask for the settings, and for word of their changes where that has to be registered."""
    if register:
        method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
        options = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
        registration = types.Registration(id=SECTION, method=method, register_options=options)
        try:
            await server.client_register_capability_async(types.RegistrationParams([registration]))
        except JsonRpcException as error:
            logger.info("The editor will not say when settings change: %s", error.message)
    await fetch(server, following)


async def fetch(server: Server, following: Following) -> None:
    """Ask for the settings, and take them over."""
    item = types.ConfigurationItem(section=SECTION)
    try:
        answer = await server.workspace_configuration_async(types.ConfigurationParams([item]))
    except JsonRpcException as error:
        logger.info("The editor did not say its settings: %s", error.message)
        return
    following.editor_says(section(answer[0]) if answer else None)


def take(pushed: object, following: Following) -> None:
    """Take over what was pushed, which may be the settings of other servers."""
    ours = section(pushed)
    if isinstance(ours, dict) and (not ours.keys().isdisjoint(keys()) or not ours):
        following.editor_says(ours)
