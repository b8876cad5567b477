"""Which credential goes where: only to the address that was set in the same place.

A place may be a file, the environment, a login. Where two places name the same address, what one
of them has for it counts for both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lsp_completions.configuration.addresses import is_same, origin_of
from lsp_completions.configuration.sources import Layer
from lsp_completions.providers.requirements import LLAMA_CPP_URL, MISTRAL_URL, OLLAMA_URL
from lsp_completions.secret import LoginToken
from lsp_completions.settings import Api, Problem, Settings, resolve

USUAL_URLS = {
    Api.LLAMA_CPP: LLAMA_CPP_URL,
    Api.OLLAMA: OLLAMA_URL,
    Api.MISTRAL: MISTRAL_URL,
}

TO_THE_INSTANCE = {"accessToken": "access_token", "authCommand": "auth_command"}
TO_OWN_SERVER = {"apiKey": "api_key"}
TO_EITHER = {"headers": "headers"}


def address_of(settings: Settings) -> str | None:
    """Where code goes by these settings; `None` where it stays on this machine."""
    match settings.provider:
        case Api.LOCAL:
            return None
        case None | Api.SOURCEGRAPH:
            return settings.endpoint
        case _:
            return _url_of(settings)


@dataclass(frozen=True, slots=True)
class Place:
    """What one place says, taken for itself."""

    is_trusted: bool
    settings: Settings
    named: Settings
    """What it said before a lock took something out of it: what a credential was set with."""

    def has(self, key: str) -> bool:
        """Whether it sets `key` to something of use."""
        return self.settings.source_of(key) is not None

    def names(self, address: str | None, kind: str) -> bool:
        """Whether it names `address` as its `endpoint`, its `url` or `either`."""
        return (kind != "url" and is_same(self.named.endpoint, address)) or (
            kind != "endpoint" and is_same(_url_of(self.named), address)
        )

    @property
    def addresses(self) -> list[str]:
        """All that it names."""
        named = (self.named.endpoint, _url_of(self.named))
        return [address for address in named if address is not None]


def places_of(layers: Sequence[Layer], said: Sequence[Layer]) -> list[Place]:
    """The places, the one whose word counts most first: those of the user, and later ones.

    `said` are the layers as they were before a lock took something out of them.
    """
    whole = _by_place(said)
    places = [
        Place(parts[0].source.is_trusted, resolve(parts)[0], resolve(whole[name])[0])
        for name, parts in _by_place(layers).items()
    ]
    return [place for place in reversed(places) if place.is_trusted] + [
        place for place in reversed(places) if not place.is_trusted
    ]


def _by_place(layers: Sequence[Layer]) -> dict[str, list[Layer]]:
    found: dict[str, list[Layer]] = {}
    for layer in layers:
        found.setdefault(layer.source.place, []).append(layer)
    return found


def with_credentials(
    settings: Settings, places: Sequence[Place]
) -> tuple[Settings, tuple[Problem, ...]]:
    """The settings with the credentials that are meant for their addresses, and no others."""
    problems: list[Problem] = []
    for credentials, kind, address in (
        (TO_THE_INSTANCE, "endpoint", settings.endpoint),
        (TO_OWN_SERVER, "url", _url_of(settings)),
        (TO_EITHER, "either", address_of(settings)),
    ):
        if address is None:
            continue  # nothing is sent there
        for key, field in credentials.items():
            having = [place for place in places if place.has(key)]
            meant = [place for place in having if place.names(address, kind)]
            sources = {name: source for name, source in settings.sources.items() if name != key}
            if meant:
                chosen = meant[0].settings
                sources[key] = chosen.sources[key]
                value: Any = chosen.value_of(key)
            else:
                value = getattr(Settings(), field)
            # A login waits until its instance is chosen, and is no mistake until then.
            set_here = [each for each in having if not _is_of_login(each.settings.value_of(key))]
            if set_here and not meant:
                problems.append(_astray(key, kind, address, settings, set_here[0]))
            change: dict[str, Any] = {field: value, "sources": sources}
            settings = replace(settings, **change)
    return settings, tuple(problems)


def _is_of_login(value: object) -> bool:
    return isinstance(value, LoginToken)


def _url_of(settings: Settings) -> str | None:
    if settings.url is not None or settings.provider is None:
        return settings.url
    return USUAL_URLS.get(settings.provider)


def _astray(key: str, kind: str, address: str, settings: Settings, having: Place) -> Problem:
    name = kind
    if kind == "either":
        name = "endpoint" if is_same(address, settings.endpoint) else "url"
    where = settings.source_of(name)
    beside = f", which {where} names" if where is not None else ""
    return Problem(
        path=f"$.{key}",
        message=f"{key} is not sent to {origin_of(address)}{beside}, since it was set elsewhere "
        f"and may not be meant for it. Set `{name}` and `{key}` in one place.",
        source=having.settings.sources[key],
    )
