"""What an instance refuses, in the order in which a real one looks.

Each check returns the reply that refuses the request, or `None`.
"""

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.sourcegraph.answers import Reply, refusal

TOKEN = "sgp_local_0123456789abcdef0123456789abcdef01234567"
DEFAULT_MODEL = "fireworks::v1::deepseek-coder-v2-lite-base"

CODE = "/.api/completions/code"
STREAM = "/.api/completions/stream"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How strict the instance is, and about what.

    - `token`: the only one accepted; `None` lets everybody in.
    - `enabled=False`: completions are switched off for everybody.
    - `versions`: the API versions it knows besides none at all; an old server knows only 1.
    - `requested_with=True`: `X-Requested-With: NAME VERSION` is required (servers 5.10 to 6.11).
    - `context_filters=True`: only known clients may complete (servers 5.4 and 5.5).
    - `models`: the models it serves in any spelling; `None` serves whatever is asked for.
    - `backend`: `fireworks` wants exactly one message that is not blank, `anthropic` turns that
      alternate and are not blank, the last without white space at its end; `any` takes what comes.
    - `limit`: so many completions are allowed, then 429 with `retry_after`.
    - `retry_after`: sent on those, seconds or a date; `None` leaves it out.
    - `gzip`: a client that accepts gzip gets it, and with it all events at once at the end.
    - `deadline=True`: `X-Timeout-Ms` ends the answer with an error event, as on a real one; off
      because a test of the client's own deadline would race with it.
    """

    token: str | None = TOKEN
    enabled: bool = True
    versions: Sequence[int] = range(1, 10)
    requested_with: bool = False
    context_filters: bool = False
    models: Sequence[str] | None = None
    default_model: str = DEFAULT_MODEL
    backend: str = "fireworks"
    limit: int | None = None
    retry_after: str | None = "512"
    gzip: bool = True
    deadline: bool = False


class UpstreamError(Exception):
    """The model's own server will not take these messages: told inside the stream."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A request that was let through: what it asks for."""

    version: int
    stream: bool
    gzip: bool
    deadline: float | None
    """Seconds until the model's answer is given up."""
    body: dict[str, Any]


def check_access(rules: Rules, headers: Mapping[str, str]) -> Reply | None:
    """Who asks: comes before everything else, whatever is asked for."""
    if rules.token is None:
        return None
    credential = headers.get("authorization")
    if credential is None:
        return refusal(401, "Private mode requires authentication.")
    scheme, _, token = credential.partition(" ")
    if scheme.lower() not in ("token", "bearer") or not token:
        return refusal(401, "Invalid Authorization header.")
    if token != rules.token:
        return refusal(401, "Invalid access token.")
    return None


def check_completion(
    rules: Rules,
    *,
    method: str,
    path: str,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    body: bytes,
    served: int,
) -> Reply | Ask:
    """Whether a completion is asked for in a way the instance accepts; `served` so far."""
    if method != "POST":
        return refusal(405, f"unsupported method {method}")
    if not rules.enabled:
        return refusal(401, "cody is not enabled: site admin has disabled it")
    if rules.requested_with and not re.fullmatch(r"\S+ \S+", headers.get("x-requested-with", "")):
        return refusal(400, "X-Requested-With header must be of the form: NAME VERSION")

    asked = query.get("api-version", "")
    known = [str(version) for version in rules.versions]
    if asked and asked not in known:
        return refusal(406, "Unsupported API Version (Please update your client)")
    version = int(asked or 1)

    if rules.context_filters:
        refused = _check_client(query)
        if refused is not None:
            return refused

    try:
        value = _decoded(body)
    except ValueError:
        return refusal(400, "could not decode request body")

    kind = "code completion" if path == CODE else "chat"
    model = value.get("model") or rules.default_model
    if rules.models is not None:
        served_models = {_model_name(name) for name in (*rules.models, rules.default_model)}
        if _model_name(model) not in served_models:
            return refusal(
                400, f'unsupported {kind} model "{model}" (default "{rules.default_model}")'
            )

    if rules.limit is not None and served >= rules.limit:
        sentence = (
            f"you exceeded the rate limit for {kind}s, only {rules.limit} requests are allowed"
            " per day at the moment to ensure the service stays functional."
        )
        retry = {} if rules.retry_after is None else {"Retry-After": rules.retry_after}
        limits = {"X-RateLimit-Limit": str(rules.limit), "X-RateLimit-Remaining": "0"}
        return refusal(429, sentence, limits | retry)

    stream = value.get("stream")
    return Ask(
        version=version,
        stream=path == STREAM if stream is None else bool(stream),
        gzip=rules.gzip and _accepts_gzip(headers.get("accept-encoding", "")),
        deadline=_deadline(headers) if rules.deadline else None,
        body=value,
    )


def check_messages(rules: Rules, path: str, body: Mapping[str, Any]) -> None:
    """What the model's own server refuses; raises `UpstreamError` with its words."""
    messages = body.get("messages") or []
    if rules.backend == "any":
        return
    if path == STREAM:
        if any(not _said(message).strip() for message in messages) or not messages:
            raise UpstreamError("message content cannot be empty")
        return
    if rules.backend == "anthropic":
        speakers = [message.get("speaker") for message in messages]
        if not speakers or any(a == b for a, b in itertools.pairwise(speakers)):
            raise UpstreamError("messages must alternate between human and assistant")
        if speakers[0] != "human" or any(not _said(message).strip() for message in messages):
            raise UpstreamError("the first message must be human, and none empty")
        if speakers[-1] == "assistant" and _said(messages[-1])[-1].isspace():
            raise UpstreamError("final assistant content cannot end with trailing whitespace")
        return
    if len(messages) != 1:
        raise UpstreamError("Expected to receive exactly one message with the prompt")
    if not _said(messages[0]).strip():
        raise UpstreamError("Prompt message text is empty")


def _check_client(query: Mapping[str, str]) -> Reply | None:
    name, version = query.get("client-name", ""), query.get("client-version", "")
    if not name:
        return _incompatible('please use one of the supported clients: "vscode", "jetbrains"')
    oldest = {"vscode": (1, 20, 0), "jetbrains": (6, 0, 0), "web": (0, 0, 0)}
    if name not in oldest:
        return _incompatible(
            f'please use one of the supported clients: "{name}" is not one of them'
        )
    if name == "web":
        return None
    if not version:
        return _incompatible(f"the {name} client did not say its version")
    match = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)([-+].*)?", version)
    if match is None:
        return refusal(400, f'ClientCodyIgnoreCompatibilityError: no version: "{version}"')
    if tuple(int(part) for part in match.groups()[:3]) < oldest[name]:
        return _incompatible(f"the {name} client is too old: {version}")
    return None


def _incompatible(sentence: str) -> Reply:
    return refusal(406, f"ClientCodyIgnoreCompatibilityError: {sentence}")


def _decoded(body: bytes) -> dict[str, Any]:
    """The body as Go's decoder takes it: right types, unknown fields left alone."""
    value = json.loads(body.decode())
    if not isinstance(value, dict):
        raise ValueError("not an object")
    kinds: dict[str, tuple[type, ...]] = {
        "model": (str,),
        "messages": (list,),
        "maxTokensToSample": (int,),
        "temperature": (int, float),
        "topK": (int,),
        "topP": (int, float),
        "stopSequences": (list,),
        "stream": (bool,),
        "logprobs": (int,),
    }
    for name, types in kinds.items():
        field = value.get(name)
        if field is None:
            continue
        if not isinstance(field, types) or (isinstance(field, bool) and bool not in types):
            raise ValueError(name)
    for message in value.get("messages") or []:
        if not isinstance(message, dict):
            raise ValueError("messages")
        if not all(isinstance(message.get(key, ""), str) for key in ("speaker", "text")):
            raise ValueError("messages")
    if not all(isinstance(stop, str) for stop in value.get("stopSequences") or []):
        raise ValueError("stopSequences")
    return value


def _accepts_gzip(accepted: str) -> bool:
    for entry in accepted.split(","):
        name, _, parameter = entry.partition(";")
        if name.strip().lower() in ("gzip", "*"):
            return not re.fullmatch(r"\s*q=0(\.0*)?\s*", parameter)
    return False


def _deadline(headers: Mapping[str, str]) -> float:
    milliseconds = headers.get("x-timeout-ms", "")
    return int(milliseconds) / 1000 if milliseconds.isdecimal() else 60.0


def _model_name(model: str) -> str:
    """`provider/model`, whichever of the spellings was used; a bare name stands for itself."""
    parts = model.split("::")
    return f"{parts[0]}/{parts[-1]}" if len(parts) == 3 else model


def _said(message: Mapping[str, Any]) -> str:
    return str(message.get("text") or "")
