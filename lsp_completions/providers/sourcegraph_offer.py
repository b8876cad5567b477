"""The models a Sourcegraph instance has, and which of them can be chosen."""

from dataclasses import dataclass

from lsp_completions.errors import ConfigurationError
from lsp_completions.providers.sourcegraph_site import (
    UNKNOWN_WINDOW,
    Kind,
    Model,
    ModelChoice,
    Site,
    Window,
    completion_model,
    described,
    usable_models,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A model, as a person may choose it."""

    name: str
    """What to write into the setting `model`; it need not work for one that is not listed."""
    title: str
    """What its maker calls it; empty where nobody said."""
    kind: Kind
    in_use: bool
    window: Window = UNKNOWN_WINDOW
    why_not: str = ""
    """What speaks against it, without a full stop; empty where nothing does."""


def offered(site: Site, chosen: str = "") -> tuple[Offer, ...]:
    """All models that the instance lists, as it lists them, and before them the one in use.

    `chosen` is what the setting `model` says. One in use may be missing in the list; none is in
    use where the instance has none that completes code.
    """
    models = usable_models(site)
    listed = () if models is None else models.listed
    choice = completion_model(site, chosen)
    if isinstance(choice, ConfigurationError):
        return tuple(_offer(model, in_use=False) for model in listed)

    used = next((model for model in listed if _is_meant(model, choice)), None)
    offers = [_offer(model, in_use=False) for model in listed if model is not used]
    if used is not None:
        return (_offer(used, in_use=True), *offers)
    unlisted = Offer(
        name=choice.model or choice.prompts_for,
        title="",
        kind=choice.kind,
        in_use=True,
        window=choice.window,
    )
    return (unlisted, *offers)


def _is_meant(model: Model, choice: ModelChoice) -> bool:
    if choice.model:
        return model.name == choice.model
    return choice.prompts_for in (model.name, described(model))


def _offer(model: Model, *, in_use: bool) -> Offer:
    capabilities = model.capabilities
    if model.kind is Kind.REWRITES:
        why_not = "it rewrites code and cannot complete it"
    elif model.status == "waitlist":
        why_not = "not everybody may use it yet"
    elif capabilities and "autocomplete" not in capabilities:
        why_not = "the instance has it for chats, and may refuse to complete code with it"
    elif model.status == "deprecated":
        why_not = "it is going to be taken away"
    else:
        why_not = ""
    return Offer(
        name=model.name,
        title=model.title,
        kind=model.kind,
        in_use=in_use,
        window=model.window,
        why_not=why_not,
    )
