"""Whose token it is: what a Sourcegraph instance says of whoever asks."""

import json

from lsp_completions.errors import UnexpectedReply
from lsp_completions.providers.base import HttpRequest
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.providers.wire import host_of


def question(instance: Sourcegraph) -> HttpRequest:
    """Ask who we are; instances of every age know."""
    query = "query CurrentUser { currentUser { username } }"
    return instance.post("/.api/graphql?CurrentUser", {"query": query})


def user_in(instance: Sourcegraph, answer: str) -> str | None:
    """The name of the user in an answer; `None` where nobody is signed in by this token.

    Raises `ProviderError` where it is no answer.
    """
    try:
        said = json.loads(answer)
    except (ValueError, RecursionError):
        raise instance.unreadable(answer) from None
    match said:
        case {"data": {"currentUser": {"username": str(name)}}}:
            return "".join(character for character in name if character.isprintable())[:80]
        case {"data": {"currentUser": None}}:
            return None
        case {"errors": [{"message": str(message)}, *_]}:
            raise instance.said_no(message)
        case _:
            raise UnexpectedReply(
                f"{host_of(instance.endpoint)} did not say whose token it is. Check the address: "
                "it may not be a Sourcegraph instance."
            )


def token_page(endpoint: str) -> str:
    """Where a user creates a token."""
    return f"{endpoint}/user/settings/tokens/new"
