"""Replies made of `choices`, as OpenAI, Mistral and all who follow them send them."""

from lsp_completions.pipeline.stream import Chunk
from lsp_completions.providers.base import Event
from lsp_completions.providers.own_server import OwnServer


def chunk_of(server: OwnServer, event: Event) -> Chunk | None:
    """Read one event, or a whole reply; `None` when it carries nothing. Raises its error."""
    match server.read(event):
        case {"choices": [dict(choice), *_]}:
            pass
        case {"choices": []} | {"usage": dict()} | None:
            return None
        case _:
            raise server.no_completion(event.data)

    text = _text(choice)
    reason = choice.get("finish_reason")
    finish = reason if isinstance(reason, str) and reason else None
    # Mistral tells its own limit from the one that was asked for.
    if finish == "model_length":
        finish = "length"
    # An event without a name is the whole reply.
    if not event.name:
        finish = finish or "stop"
    return Chunk(text=text, finish=finish) if text or finish else None


def _text(choice: dict[str, object]) -> str:
    match choice:
        case {"text": str(text)}:
            return text
        # The form of a chat: a piece of it, or the whole.
        case {"delta": {"content": content}} | {"message": {"content": content}}:
            return _joined(content)
        case _:
            return ""


def _joined(content: object) -> str:
    """A content's text, which may come in parts of several kinds."""
    match content:
        case str():
            return content
        case list():
            return "".join(_joined(part) for part in content)
        case {"type": "text", "text": str(text)}:
            return text
        case _:
            return ""
