"""Which settings count: who may decide what, and what nobody may change.

What decides where code goes or what is run counts from the user's own places. An editor passes on
what an opened project says as if the user had said it, so from there it counts with limits: an
address once the user has approved of its host, less to be sent at any time, the rest never.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lsp_completions.configuration.addresses import is_same, origin_of
from lsp_completions.configuration.pairs import Place, address_of, places_of, with_credentials
from lsp_completions.configuration.sources import Kind, Layer, Locks, Source
from lsp_completions.errors import ConfigurationError
from lsp_completions.providers.requirements import api_for
from lsp_completions.settings import (
    Api,
    Context,
    Problem,
    Settings,
    guarded,
    is_known,
    keys,
    resolve,
)

# Where code goes, and what goes there with it.
DESTINATION = ("provider", "endpoint", "accessToken", "url", "apiKey", "headers")
# What is meant for that address, and would puzzle another.
MEANT_FOR_IT = ("model", "apiVersion")
# What lets more be sent, or kept, by the value that does.
WIDENING = {
    "secretFiles": True,
    "gitIgnored": True,
    "outsideWorkspace": True,
    "context": Context.WORKSPACE,
    "openDocuments": True,
    "recentEdits": True,
    "importedFiles": True,
    "distantCode": True,
    "statistics": True,
    "logFile": True,
}

# A host as the network knows it; what else looks like one may be made to mislead who reads it.
PLAUSIBLE = re.compile(r"https?://([a-z0-9._-]{1,253}|\[[0-9a-f:.]+\])(:\d{1,5})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Whether code may go to a host that only the editor's settings name."""

    origin: str
    key: str
    """The setting that leads there."""
    credentials: tuple[str, ...] = ()
    """Those that would go along."""

    @property
    def words(self) -> str:
        """It, for a person who may never have heard of that host."""
        along = f", with {_listed(self.credentials)} from there" if self.credentials else ""
        return f"Send code to {self.origin}{along}? {self._why}"

    @property
    def refusal(self) -> str:
        """What holds until it is answered."""
        return (
            f"No code is sent to {self.origin}. {self._why} "
            f"If you mean it, run `lsp-completions trust {self.origin}`."
        )

    @property
    def _why(self) -> str:
        return (
            f"`{self.key}` in your editor's settings names it, "
            "and an opened project may have set that."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The settings that count, what is wrong with the others, and what the user has to decide."""

    settings: Settings
    problems: tuple[Problem, ...] = ()
    question: Question | None = None
    locked: Mapping[str, str] = field(default_factory=dict)
    """The settings that cannot be changed, and who says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A setting, for a person who wants to know why it is as it is."""

    key: str
    value: str
    """As in a settings file, credentials as `***`."""
    source: str | None
    """Where it was set; `None` where it is the default."""
    locked_by: str | None


def tell(found: InForce) -> list[Told]:
    """The settings that somebody set or locked, in the order of the reference."""
    return [
        Told(
            key=key,
            value=_shown(found.settings.value_of(key)),
            source=found.settings.source_of(key),
            locked_by=found.locked.get(key),
        )
        for key in keys()
        if found.settings.source_of(key) is not None or key in found.locked
    ]


def put_in_force(
    layers: Iterable[Layer], approved: Collection[str] = (), *, own_file: str = "config.toml"
) -> InForce:
    """The settings that count. Later layers win.

    `approved` are the origins that code may go to whoever names them; `own_file` is where the
    user's own settings belong.
    """
    said = list(layers)
    locks = Locks.of(said).by
    problems: list[Problem] = []
    unlocked = [_without_locked(layer, said, locks, problems) for layer in said]
    trusted = [layer for layer in unlocked if layer.source.is_trusted]
    own_places = places_of(trusted, said)
    own, _ = with_credentials(resolve(trusted)[0], own_places)

    kept: list[Layer] = []
    offered: list[Layer] = []
    for layer in unlocked:
        if not layer.source.is_trusted:
            harmless, destination = _apart(layer, own, own_file, problems)
            kept.append(harmless)
            if destination:
                offered.append(Layer(layer.source, destination))

    free = _named(own, own_places) | {*approved}
    settings, faults = resolve([*trusted, *kept, *offered])
    offered = [_to_the_point(layer, settings, free) for layer in offered]
    settings, _ = resolve([*trusted, *kept, *offered])
    settings, astray = with_credentials(settings, places_of([*trusted, *offered], said))
    verdict = _judged(settings, own, astray, offered, free)
    if verdict is not None:
        # What was meant for that address would puzzle another.
        kept = [Layer(layer.source, _without(layer, MEANT_FOR_IT)) for layer in kept]
        settings, astray = with_credentials(resolve([*trusted, *kept])[0], own_places)
    if isinstance(verdict, Problem):
        problems.append(verdict)
    return InForce(
        settings=settings,
        problems=(*problems, *astray, *faults),
        question=verdict if isinstance(verdict, Question) else None,
        locked=locks,
    )


def _without_locked(
    layer: Layer, said: list[Layer], locks: Mapping[str, str], problems: list[Problem]
) -> Layer:
    """A layer without what a machine's file locks; what is kept back always adds up."""
    source, values = layer
    if source.kind is Kind.MACHINE or not isinstance(values, Mapping):
        return layer
    machine, _ = resolve([each for each in said if each.source.kind is Kind.MACHINE])
    locked = [key for key in values if key in locks and key != "exclude"]
    for key in locked:
        wish = _read(key, values[key])
        if wish.source_of(key) is not None and wish.value_of(key) != machine.value_of(key):
            problems.append(
                Problem(
                    path=f"$.{key}",
                    message=f"{key} is locked by {locks[key]}; what is set here does not count.",
                    source=source.name,
                )
            )
    return Layer(source, _without(layer, locked))


def _apart(
    layer: Layer, own: Settings, own_file: str, problems: list[Problem]
) -> tuple[Layer, dict[str, object]]:
    """What of an untrusted layer counts at any time, and what of it says where code goes."""
    source, values = layer
    if not isinstance(values, Mapping):
        return layer, {}
    kept: dict[str, object] = {}
    destination: dict[str, object] = {}
    for key, value in values.items():
        if not is_known(key) or not guarded(key):
            kept[key] = value
        elif key in DESTINATION and (source.kind is Kind.EDITOR or _is_small_model(key, value)):
            destination[key] = value
        elif (wish := _read(key, value)).source_of(key) is None:
            kept[key] = value  # to be told what is wrong with it
        elif key == "schemes":
            kept[key] = _fewer_schemes(wish, own, source, own_file, problems)
        elif key in WIDENING and wish.value_of(key) != WIDENING[key]:
            kept[key] = value
        elif key in WIDENING and own.value_of(key) == WIDENING[key]:
            # What the user's editor narrowed, a project does not widen again.
            if source.kind is Kind.EDITOR:
                kept[key] = value
        elif wish.value_of(key) != own.value_of(key):
            problems.append(_not_from_here(key, source, own_file))
    return Layer(source, kept), destination


def _fewer_schemes(
    wish: Settings, own: Settings, source: Source, own_file: str, problems: list[Problem]
) -> object:
    """The schemes that the user's own settings have as well; all of these where there is none."""
    own_schemes = {_plain(scheme) for scheme in own.schemes}
    fewer = [scheme for scheme in wish.schemes if _plain(scheme) in own_schemes]
    if len(fewer) < len(wish.schemes):
        problems.append(_not_from_here("schemes", source, own_file))
    return fewer or None


def _plain(scheme: str) -> str:
    return scheme.strip().lower().rstrip(":/")


def _to_the_point(layer: Layer, settings: Settings, free: Collection[str]) -> Layer:
    """What an untrusted layer says of the address in use, and of those the user knows."""
    address = address_of(settings)
    beside = [
        key
        for key in ("endpoint", "url")
        if (other := _read(key, _values(layer).get(key)).value_of(key)) is not None
        and origin_of(str(other)) not in free
        and not (address is not None and is_same(str(other), address))
    ]
    return Layer(layer.source, _without(layer, beside))


def _judged(
    settings: Settings,
    own: Settings,
    astray: Sequence[Problem],
    offered: Sequence[Layer],
    free: Collection[str],
) -> Problem | Question | None:
    """Why the address that the editor's settings make does not count; `None` when it does."""
    if not offered:
        return None
    source = offered[-1].source
    names = {layer.source.name for layer in offered}
    theirs = [key for key in DESTINATION if settings.source_of(key) in names]
    address = address_of(settings)
    origin = None if address is None else origin_of(address)
    is_new = origin is not None and origin not in free
    missing = _missing(settings)
    leading = "endpoint" if settings.provider in (None, Api.SOURCEGRAPH) else "url"
    leading = leading if leading in theirs else "provider"
    if origin is not None and is_new and not PLAUSIBLE.fullmatch(origin):
        message = f"{leading} is not used, since no host has such a name."
        return Problem(path=f"$.{leading}", message=message, source=source.name)
    if origin is not None and is_new and missing is None:
        fitting = "accessToken" if leading == "endpoint" else "apiKey"
        along = [key for key in theirs if key in (fitting, "headers")]
        return Question(origin=origin, key=leading, credentials=tuple(along))
    # Nothing could be asked there, and what works is not given up for it.
    if missing is not None and (is_new or (theirs and _works(own))):
        if astray:
            credential = astray[0].path.removeprefix("$.")
            reason = f"since {credential} was set elsewhere and may not be meant for it"
            advice = "Set both in one place."
        else:
            reason, advice = "since something is missing beside it", missing
        message = f"{leading} is not used, {reason}. {advice}"
        return Problem(path=f"$.{leading}", message=message, source=source.name)
    return None


def _missing(settings: Settings) -> str | None:
    """What nobody can answer for want of, as a sentence; `None` where somebody can."""
    if settings.provider is Api.LOCAL:
        return None
    try:
        api_for(settings, local_available=False)
    except ConfigurationError as error:
        return str(error)
    return None


def _works(own: Settings) -> bool:
    return _missing(own) is None


def _named(own: Settings, places: Iterable[Place]) -> set[str]:
    """The origins that the user named: none where the user wants nothing sent anywhere."""
    if own.provider is Api.LOCAL:
        return set()
    return {origin_of(address) for place in places for address in place.addresses}


def _is_small_model(key: str, value: object) -> bool:
    """Whether it chooses the embedded model, which sends nothing anywhere."""
    return key == "provider" and _read(key, value).provider is Api.LOCAL


def _not_from_here(key: str, source: Source, own_file: str) -> Problem:
    why = "" if source.kind is Kind.PROJECT else ", where an opened project may have set it"
    message = f"{key} does not count from here{why}. If you mean it, put it into {own_file}."
    return Problem(path=f"$.{key}", message=message, source=source.name)


def _read(key: str, value: object) -> Settings:
    return resolve([("", {key: value})])[0]


def _values(layer: Layer) -> Mapping[object, object]:
    return layer.values if isinstance(layer.values, Mapping) else {}


def _without(layer: Layer, keys: Collection[str]) -> object:
    if not isinstance(layer.values, Mapping):
        return layer.values
    return {key: value for key, value in layer.values.items() if key not in keys}


def _listed(keys: Iterable[str]) -> str:
    return " and ".join(f"`{key}`" for key in keys)


def _shown(value: object) -> str:
    """A value as JSON, without what only its server may know."""

    def plain(part: object) -> object:
        match part:
            case str() | int() | float() | None:
                return part
            case tuple() if part and all(isinstance(each, tuple) for each in part):
                return {name: plain(each) for name, each in part}
            case tuple():
                return [plain(each) for each in part]
            case _:
                return "***"

    return json.dumps(plain(value), ensure_ascii=False)
