"""What all providers' requests and replies have in common."""

import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from lsp_completions import __version__
from lsp_completions.errors import NotUnderstood, Refused, ServerFailed
from lsp_completions.secret import Secret

USER_AGENT = f"lsp-completions/{__version__}"


def encoded(body: Mapping[str, object]) -> bytes:
    """A JSON body without what is `None`, in UTF-8."""
    sent = {key: value for key, value in body.items() if value is not None}
    text = json.dumps(sent, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair, as an editor may send it, is no character and cannot be sent on.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def with_added(
    needed: Mapping[str, str], added: tuple[tuple[str, Secret], ...]
) -> tuple[tuple[str, str], ...]:
    """The headers an API needs and, before them, those `added` that replace none of these."""
    taken = {header.lower() for header in needed}
    kept = [(header, text.reveal()) for header, text in added if header.lower() not in taken]
    return (*kept, *needed.items())


def base_of(url: str) -> str:
    """An address without what may stand behind or before the host: a slash, a password."""
    parts = urlsplit(url.strip())
    return f"{parts.scheme}://{host_of(url)}{parts.path.rstrip('/')}"


def host_of(url: str) -> str:
    """The host of an address, with its port where it names one."""
    return urlsplit(url.strip()).netloc.rpartition("@")[2]


def sentence_in(body: str) -> str:
    """What a body says, which may be text, JSON, or server-sent events with one of them inside."""
    if _EVENTS.match(body):
        body = "\n".join(_DATA.findall(body)[:1])
    try:
        value = json.loads(body)
    except ValueError:
        return body.strip()
    for key in ("error", "message", "detail", "msg"):
        if isinstance(value, dict) and value.get(key):
            value = value[key]
        # What is wrong with a request, field by field: the first says enough.
        if isinstance(value, list) and value and isinstance(value[0], dict):
            value = value[0]
    return value.strip() if isinstance(value, str) else ""


def first_sentence(text: str, secrets: Iterable[Secret | None]) -> str:
    """The part of a refusal that may be repeated to the user, without a full stop.

    From a bracket, a quote or a second line on it may be anything, such as the prompt.
    """
    for secret in secrets:
        if secret is not None:
            text = hidden(text, secret.reveal().strip())
    return re.split(r"[{\[<`\"\n]", text)[0][:160].strip(" .:;,")


def hidden(text: str, secret: str, *, piece: int = 8) -> str:
    """`text` with stars where it and `secret` have a piece of so many characters in common."""
    if len(secret) <= piece:
        return text.replace(secret, "***") if secret else text
    kept: list[str] = []
    pieces, start = pieces_of(secret, piece), 0
    while start < len(text):
        end = start
        while text[end : end + piece] in pieces:
            end += 1
        if end == start:
            kept.append(text[start])
            start += 1
        else:
            kept.append("***")
            start = end - 1 + piece
    return "".join(kept)


def pieces_of(text: str, piece: int) -> set[str]:
    """All parts of `text` that have this length."""
    return {text[start : start + piece] for start in range(len(text) - piece + 1)}


def kind_of(status: int) -> type[Refused]:
    """What a refusal is where its status alone tells."""
    if status >= 500:
        return ServerFailed
    return NotUnderstood if status in (400, 422) else Refused


def is_page(body: str, content_type: str = "") -> bool:
    """Whether it is a web page, as for signing in."""
    return "text/html" in content_type.lower() or bool(_PAGE.match(body))


_PAGE = re.compile(r"\s*<(!doctype|html|head|body)", re.IGNORECASE)
_EVENTS = re.compile(r"\s*(event|data|id|retry)?:")
_DATA = re.compile(r"^data: ?(.*?)\r?$", re.MULTILINE)
