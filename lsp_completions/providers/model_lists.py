"""The models a server has: how it is asked for the list, how that reads, what can be chosen of it.

Ollama lists what was pulled, a llama.cpp server what it has loaded, the others what they serve.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from lsp_completions.providers.base import HttpRequest
from lsp_completions.providers.llama_cpp import LlamaCpp
from lsp_completions.providers.mistral import USUAL_MODEL, Mistral
from lsp_completions.providers.ollama import Ollama
from lsp_completions.providers.openai import OpenAI
from lsp_completions.providers.own_server import OwnServer
from lsp_completions.providers.sourcegraph_offer import offered
from lsp_completions.providers.sourcegraph_site import Kind, Site

MOST = 1000  # models; nobody reads a longer list


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A model, as a person may choose it."""

    name: str
    """What to write into the setting `model`."""
    title: str = ""
    """What its maker calls it, or how large it is; empty where nobody said."""
    kind: str = ""
    """What it does with code, in words; empty where nobody said."""
    input_tokens: int | None = None
    in_use: bool = False
    why_not: str = ""
    """What speaks against it, without a full stop."""


def models_of_instance(site: Site, chosen: str = "") -> tuple[Listed, ...]:
    """Those of a Sourcegraph instance, the one in use first."""
    words = {
        Kind.FILLS_IN: "completes code",
        Kind.CHATS: "chats",
        Kind.REWRITES: "rewrites code",
    }
    return tuple(
        Listed(
            name=offer.name,
            title=offer.title,
            kind=words[offer.kind],
            input_tokens=offer.window.input_tokens,
            in_use=offer.in_use,
            why_not=offer.why_not,
        )
        for offer in offered(site, chosen)
    )


def list_request(server: OwnServer) -> HttpRequest:
    """How a server of one's own is asked which models it has."""
    match server:
        case Ollama():
            return server.get("/api/tags")
        case OpenAI():
            return server.get("/models")
        case _:
            return server.get("/v1/models")


def models_in(server: OwnServer, body: str) -> tuple[Listed, ...] | None:
    """What an answer lists, the one in use marked; `None` where it is no list."""
    try:
        page = json.loads(body)
    except (ValueError, RecursionError):
        return None
    match page:
        case {"data": list(entries)} if not isinstance(server, Ollama):
            pass
        case {"models": list(entries)}:
            pass
        case _:
            return None
    listed = list(_listed(entries[:MOST]))
    used = _used(server, [each.name for each in listed])
    return tuple(
        Listed(
            name=each.name,
            title=each.title,
            kind=each.kind,
            input_tokens=each.input_tokens,
            in_use=each.name == used,
            why_not=each.why_not,
        )
        for each in listed
    )


def _listed(entries: list[object]) -> Iterator[Listed]:
    for entry in entries:
        match entry:
            case {"id": str(name), **fields} | {"name": str(name), **fields} if name.strip():
                pass
            case _:
                continue
        meta, abilities, about = (
            part if isinstance(part := fields.get(key), dict) else {}
            for key in ("meta", "capabilities", "details")
        )
        window = next(
            (
                number
                for number in (
                    fields.get("max_model_len"),  # vLLM
                    fields.get("max_context_length"),  # Mistral, LM Studio
                    meta.get("n_ctx_train"),  # llama.cpp
                )
                if isinstance(number, int) and not isinstance(number, bool) and number > 0
            ),
            None,
        )
        size = [about.get("parameter_size"), about.get("quantization_level")]  # Ollama
        no_fim = abilities.get("completion_fim") is False  # Mistral
        yield Listed(
            name=_plain(name),
            title=_plain(", ".join(part for part in size if isinstance(part, str) and part)),
            kind="completes code" if abilities.get("completion_fim") is True else "",
            input_tokens=window,
            why_not="it cannot fill in the middle" if no_fim else "",
        )


def _used(server: OwnServer, names: list[str]) -> str | None:
    """The one that answers; `None` where it is not in the list, or nobody can tell."""
    wanted = server.model
    if isinstance(server, Mistral):
        wanted = wanted or USUAL_MODEL
    # A llama.cpp server with one model takes any name for it.
    if not wanted or (isinstance(server, LlamaCpp) and len(names) == 1):
        return names[0] if len(names) == 1 else None
    # A name without a tag means the latest to Ollama.
    also = f"{wanted}:latest" if isinstance(server, Ollama) and ":" not in wanted else wanted
    return next((name for name in names if name in (wanted, also)), None)


def _plain(text: str) -> str:
    return "".join(character for character in text if character.isprintable())[:200]
