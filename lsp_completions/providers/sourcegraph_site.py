"""What is known of a Sourcegraph instance, and what follows from it.

Nobody can rely on any of it: what an instance did not say is `None`, and never stops a completion.
"""

import re
from dataclasses import dataclass, replace
from enum import Enum

from lsp_completions.errors import ConfigurationError
from lsp_completions.kinds import quoted
from lsp_completions.pipeline.chats import sounds_like_chat
from lsp_completions.pipeline.templates import PLAIN, family_of
from lsp_completions.providers.base import Limits
from lsp_completions.providers.sourcegraph import USUAL_MODEL, Sourcegraph
from lsp_completions.providers.wire import host_of

# As the vendor's own client counts; a token of code is rarely shorter.
CHARS_PER_TOKEN = 3.5
# From this version on an event brings what is new. Higher ones bring nothing for completions, and
# from 5 on leave out why a text ended.
DELTAS = 2


class Kind(Enum):
    """What a model was taught to do with a request for a completion."""

    FILLS_IN = "continues code, most of them with regard to what follows"
    CHATS = "wants to be told in words what to do"
    REWRITES = "answers with lines that are there, changed, or with something else"


class Attribution(Enum):
    """What happens to code that stands in a public repository."""

    NONE = "nothing"
    PERMISSIVE = "it is shown, marked"
    ENFORCED = "it is not shown, so nothing is before the instance has looked at all of it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """What the administrator allows. `None` is what was not said, and counts as allowed."""

    cody_enabled: bool | None = None
    completes: bool | None = None
    lists_models: bool | None = None
    """Whether the list of models is meant for use."""
    attribution: Attribution = Attribution.NONE
    api_version: int | None = None
    """The newest that is spoken."""


MOST_EXCERPT_CHARS = 5000  # some 1,400 tokens, which hosted models read within 0.1 seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How much a model reads and writes, as far as it is known."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    chars: int | None = None
    """In characters, where the administrator tuned it."""

    @property
    def limits(self) -> Limits:
        """How much to send and to ask for; more than usual only takes longer."""
        usual = Limits()
        max_tokens = min(usual.max_tokens, self.output_tokens or usual.max_tokens)
        chars = self.chars or (self.input_tokens and int(self.input_tokens * CHARS_PER_TOKEN))
        if not chars:
            return replace(usual, max_tokens=max_tokens)
        return replace(
            usual,
            prefix_chars=min(usual.prefix_chars, max(1, int(0.6 * chars))),
            suffix_chars=min(usual.suffix_chars, int(0.1 * chars)),
            # Where there is room, what is defined elsewhere helps more than what is far above.
            excerpt_chars=min(MOST_EXCERPT_CHARS, int(0.175 * chars)),
            own_chars=min(usual.own_chars, int(0.175 * chars)),
            instruction_chars=min(usual.instruction_chars, int(0.1 * chars)),
            max_tokens=max_tokens,
        )


UNKNOWN_WINDOW = Window()


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model of an instance's list; `id` is its name there, `upstream` its maker's."""

    provider: str
    id: str
    upstream: str = ""
    title: str = ""
    capabilities: frozenset[str] = frozenset()
    status: str = ""
    openai_compatible: bool = False
    """It runs on a server with an API like OpenAI's, which the administrator chose."""
    window: Window = UNKNOWN_WINDOW

    @property
    def name(self) -> str:
        """The name to ask for it by, which old instances know as well as new ones."""
        return f"{self.provider}/{self.id}" if self.provider else self.id

    @property
    def kind(self) -> Kind:
        """What it does with a request for a completion."""
        return kind_of(f"{self.id} {self.upstream}", self.capabilities)


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """An instance's list of models, and which of them is to complete code; empty names none."""

    listed: tuple[Model, ...] = ()
    completing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderModel:
    """The model that completes code, as instances without a list of models name it."""

    name: str
    window: Window = UNKNOWN_WINDOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """All that is known of an instance."""

    host: str
    version: str | None = None
    client_config: ClientConfig | None = None
    models: Models | None = None
    older_model: OlderModel | None = None

    @property
    def is_dotcom(self) -> bool:
        """Whether it is the vendor's own, for everybody."""
        return self.host.lower() in ("sourcegraph.com", "www.sourcegraph.com")

    def or_else(self, before: "Site") -> "Site":
        """What is known, and what was known `before` for the rest."""
        return Site(
            host=self.host,
            version=self.version or before.version,
            client_config=self.client_config or before.client_config,
            models=self.models or before.models,
            older_model=self.older_model or before.older_model,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """Which model to ask; an empty `model` leaves it to the instance, which takes `prompts_for`."""

    model: str
    prompts_for: str
    kind: Kind
    window: Window = UNKNOWN_WINDOW
    notice: str | None = None
    """Why it is not the one that the user chose."""


def unknown(instance: Sourcegraph) -> Site:
    """An instance of which nothing is known yet."""
    return Site(host=host_of(instance.endpoint))


# ---- what follows from it


def fitted(instance: Sourcegraph, site: Site, choice: ModelChoice) -> Sourcegraph:
    """The instance, to be asked as it wants to be. A version that was chosen stays."""
    version = api_version(site) if instance.api_version is None else instance.api_version
    return replace(
        instance,
        model=choice.model,
        default_model=_own_model(site) if choice.model else choice.prompts_for,
        form=choice.prompts_for if choice.model and choice.prompts_for != choice.model else "",
        chats=choice.kind is Kind.CHATS,
        limits=choice.window.limits,
        shows_early=not enforces_attribution(site),
        api_version=version,
    )


def api_version(site: Site) -> int:
    """The version of the completions API to speak: no more of it than is of use."""
    return min(newest_api_version(site), DELTAS)


def newest_api_version(site: Site) -> int:
    """The newest version the instance speaks, as it says or by its own version."""
    if site.client_config is not None and site.client_config.api_version is not None:
        return site.client_config.api_version
    if site.is_dotcom:
        return 8
    if site.version is None:
        return 1  # every instance does

    # The core of a version by semver.org; what is marked with `-` comes before it.
    if release := _RELEASE.fullmatch(site.version.strip()):
        number = tuple(int(part or 0) for part in release.group(1, 2, 3))
        at = (*number, 0 if release[4] else 1)
        if number == (0, 0, 0) or at >= (6, 2, 0, 1):
            return 8  # built by its developers, or new
        return 1 if at < (5, 8, 0, 1) else 5
    # Built from the main branch, such as 265083_2024-03-19_5.3-1b54a6.
    day = re.search(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)", site.version, re.ASCII)
    if day is None or day[0] < "2024-09-11":
        return 1
    return 8 if day[0] >= "2025-03-11" else 5


def completion_model(site: Site, chosen: str = "") -> ModelChoice | ConfigurationError:
    """Who completes code: the user's choice, else the administrator's; or why nobody can."""
    models = usable_models(site)
    missing = ""
    if chosen:
        model = None if models is None else _found(models, chosen)
        kind = kind_of(chosen) if model is None else model.kind
        if kind is Kind.REWRITES:
            missing = f"{quoted(chosen)} rewrites code and cannot complete it"
        elif model is not None:
            return ModelChoice(
                model=model.name, prompts_for=described(model), kind=kind, window=model.window
            )
        elif models is None or not models.listed:
            # Only the instance knows; it says so when it is asked.
            return ModelChoice(model=chosen, prompts_for=chosen, kind=kind)
        else:
            missing = f"{site.host} has no model {quoted(chosen)}"

    choice = _administrators(site, models)
    if choice is None:
        reason = missing or f"{site.host} names no model that completes code"
        return ConfigurationError(
            f"{reason}. Name one of its models in the setting `model`, or ask its administrator."
        )
    if not missing:
        return choice
    # Nobody may have said which one that is.
    guessed = not choice.model and choice.prompts_for == USUAL_MODEL
    own = "its own choice" if guessed else choice.prompts_for
    return replace(choice, notice=f"{missing}; {own} does instead. Change the setting `model`.")


def usable_models(site: Site) -> Models | None:
    """The list of models, where it is meant for use."""
    config = site.client_config
    if config is not None and config.lists_models is False and not site.is_dotcom:
        return None
    return site.models


def kind_of(name: str, capabilities: frozenset[str] = frozenset()) -> Kind:
    """What a model does with a request for a completion, by its name and what is said of it.

    Old instances say of nearly every model that it completes code.
    """
    name = name.lower()
    if _REWRITES.search(name) or (capabilities and not capabilities & {"autocomplete", "chat"}):
        return Kind.REWRITES
    if family_of(name) is not PLAIN:
        chats = "chat" in capabilities or sounds_like_chat(name)
        return Kind.CHATS if chats and not _OF_CODE.search(name) else Kind.FILLS_IN
    return Kind.CHATS if "chat" in capabilities or sounds_like_chat(name) else Kind.FILLS_IN


def switched_off(site: Site) -> str | None:
    """Why the instance completes no code, as a sentence; `None` where it does, or may."""
    config = site.client_config
    if config is None:
        return None
    if config.cody_enabled is False:
        return f"{site.host} completes no code for you: Cody is off there. Ask its administrator."
    if config.completes is False:
        return f"The administrator of {site.host} has switched code completion off."
    return None


def enforces_attribution(site: Site) -> bool:
    """Whether nothing may be shown before a stream has ended well."""
    config = site.client_config
    return config is not None and config.attribution is Attribution.ENFORCED


def _administrators(site: Site, models: Models | None) -> ModelChoice | None:
    listed = () if models is None else models.listed
    default = _default(models)
    if default is not None and default.status not in ("deprecated", "waitlist"):
        return _as_default(default)
    older = site.older_model
    if older is not None and (kind := kind_of(older.name)) is not Kind.REWRITES:
        # Its name there need not be one that can be asked for.
        return ModelChoice(model="", prompts_for=older.name, kind=kind, window=older.window)
    for model in listed:
        if (
            "autocomplete" in model.capabilities
            and model.kind is Kind.FILLS_IN
            and family_of(described(model)) is not PLAIN
            and model.status not in ("deprecated", "waitlist")
        ):
            return _as_default(replace(model, openai_compatible=False))
    if default is not None:
        return _as_default(default)
    if listed:
        return None
    return ModelChoice(model="", prompts_for=USUAL_MODEL, kind=Kind.FILLS_IN)


def _own_model(site: Site) -> str:
    """What the instance completes code with when no model is named; empty where nobody knows."""
    own = _administrators(site, usable_models(site))
    return "" if own is None or own.prompts_for == USUAL_MODEL else own.prompts_for


def _default(models: Models | None) -> Model | None:
    """The model the administrator chose, unless it does something else."""
    if models is None or not models.completing:
        return None
    provider, name = name_parts(models.completing)
    model = _found(models, models.completing) or Model(provider=provider, id=name)
    return None if model.kind is Kind.REWRITES else model


def _as_default(model: Model) -> ModelChoice:
    return ModelChoice(
        # An instance may know the models of such a server by other names than it lists.
        model="" if model.openai_compatible else model.name,
        prompts_for=described(model),
        kind=model.kind,
        window=model.window,
    )


def described(model: Model) -> str:
    """The one of its names that tells the form of its prompts."""
    known = family_of(model.name) is not PLAIN or family_of(model.upstream) is PLAIN
    return model.name if known else model.upstream


def _found(models: Models, named: str) -> Model | None:
    """The model that a name means: `provider/model`, `provider::version::model`, or the last part.

    An unusual provider before the name of one model only is forgiven.
    """
    provider, name = (part.lower() for part in name_parts(named.strip()))
    whole = named.strip().lower()
    exact = [
        model
        for model in models.listed
        if provider in ("", model.provider.lower()) and model.id.lower() == name
    ]
    named_by_maker = [
        model
        for model in models.listed
        if model.upstream and model.upstream.lower() in (name, whole)
    ]
    alike = [model for model in models.listed if model.id.lower() in (name, whole)]
    for found in (exact, named_by_maker, alike if len(alike) == 1 else []):
        if found:
            return found[0]
    return None


def name_parts(name: str) -> tuple[str, str]:
    """The provider of a model, which may be missing, and the model."""
    match name.split("::", 2):
        case [provider, _, model]:
            return provider, model
        case [provider, model]:
            return provider, model
    provider, slash, model = name.partition("/")
    return (provider, model) if slash else ("", name)


_RELEASE = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?(-[^+]*)?(\+.*)?")
_REWRITES = re.compile(r"auto-?edit|smart-?apply")
_OF_CODE = re.compile(r"code|coder|starc|granite|base\b")
