"""What a Sourcegraph instance says: of the token, of itself, of what may be sent to it."""

from dataclasses import replace

from lsp_completions.credentials.credential import CredentialOrigin
from lsp_completions.diagnosis.steps import Step, failed, parted
from lsp_completions.errors import CompletionsError, ConfigurationError
from lsp_completions.pipeline.chats import family_for
from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.providers.sourcegraph_filters import UnreadableFilters
from lsp_completions.providers.sourcegraph_site import (
    Attribution,
    Kind,
    ModelChoice,
    Site,
    Window,
    enforces_attribution,
    newest_api_version,
    switched_off,
)
from lsp_completions.providers.sourcegraph_user import token_page
from lsp_completions.settings import Settings
from lsp_completions.sharing.gate import AboutSharing

NOT_SAID = "The instance did not say; completions are asked for all the same."


def token_step(
    origin: CredentialOrigin | None, endpoint: str, said: str | CompletionsError | None
) -> Step:
    """Where the token is from, and whose the instance `said` it is."""
    source = "unknown" if origin is None else origin.sentence
    details = {"source": source, "login": origin is not None and origin.is_login}
    if isinstance(said, CompletionsError):
        found = failed("token", said, user=None, **details)
        return replace(found, lines=(f"The token is {source}.",))
    if said is None:
        return Step(
            name="token",
            ok=False,
            sentence="The instance does not know whose token this is, so it is not valid there.",
            remedy=f"Create a new one at {token_page(endpoint)} and run `lsp-completions login`.",
            details={"user": None, **details},
            lines=(f"The token is {source}.",),
        )
    return Step(
        name="token", ok=True, sentence=f"{said}'s, {source}.", details={"user": said, **details}
    )


def version_step(site: Site) -> Step:
    """Which version of Sourcegraph it is."""
    known = site.version is not None
    return Step(
        name="version",
        ok=True if known else None,
        sentence=f"Sourcegraph {site.version}." if known else NOT_SAID,
        details={"version": site.version},
    )


def switch_step(site: Site) -> Step:
    """Whether the administrator lets code be completed."""
    config = site.client_config
    details = {
        "codyEnabled": None if config is None else config.cody_enabled,
        "autoCompleteEnabled": None if config is None else config.completes,
    }
    if (reason := switched_off(site)) is not None:
        sentence, remedy = parted(reason)
        return Step(
            name="switch",
            ok=False,
            sentence=sentence,
            remedy=remedy or "Ask them to switch it on for you.",
            details=details,
        )
    if config is None:
        return Step(name="switch", ok=None, sentence=NOT_SAID, details=details)
    sentence = "The administrator lets code be completed."
    return Step(name="switch", ok=True, sentence=sentence, details=details)


def attribution_step(site: Site) -> Step:
    """What happens to code that stands in a public repository."""
    config = site.client_config
    if config is None:
        return Step(name="attribution", ok=None, sentence=NOT_SAID, details={"mode": None})
    mode = config.attribution
    words = {
        Attribution.NONE: "Not checked; text is shown as it comes.",
        Attribution.PERMISSIVE: "Not enforced; text is shown as it comes.",
        Attribution.ENFORCED: "Enforced: text is shown once the instance has looked at all of it.",
    }
    details = {"mode": mode.name.lower(), "enforced": enforces_attribution(site)}
    return Step(name="attribution", ok=True, sentence=words[mode], details=details)


def api_version_step(asked: Sourcegraph, site: Site, settings: Settings) -> Step:
    """Which version of the completions API is spoken."""
    newest = newest_api_version(site)
    source = settings.source_of("apiVersion")
    sentence = f"{asked.api_version}"
    if source is not None:
        sentence += f", as `apiVersion` says (from {source})"
    if site.version is not None or site.client_config is not None:
        sentence += f"; the instance speaks up to {newest}"
    elif source is None:
        sentence += ", which every instance speaks"
    return Step(
        name="apiVersion",
        ok=True,
        sentence=f"{sentence}.",
        details={"apiVersion": asked.api_version, "newest": newest, "source": source},
    )


def model_step(
    choice: ModelChoice | ConfigurationError, asked: Sourcegraph, settings: Settings
) -> Step:
    """Which model completes code, of what kind it is, and how much it reads."""
    chosen = settings.model or None
    if isinstance(choice, ConfigurationError):
        return failed("model", choice, model=None, chosen=chosen)
    family = family_for(asked.prompts_for, chats=asked.chats).name
    name = choice.model or choice.prompts_for
    details = {
        "model": name,
        "chosen": chosen,
        "kind": choice.kind.name.lower(),
        "family": family,
        "inputTokens": choice.window.input_tokens,
        "outputTokens": choice.window.output_tokens,
        "prefixChars": asked.limits.overridden(settings).prefix_chars,
    }
    source = settings.source_of("model")
    whose = f"from {source}" if chosen and source else "the instance's own choice"
    kind = "it is told in words what to write" if choice.kind is Kind.CHATS else "it fills in"
    about = f"{name}, {whose}; {kind} (prompts for {family}){_window(choice.window)}."
    if choice.notice is not None:
        sentence, rest = parted(choice.notice)
        instead = rest.removesuffix(" Change the setting `model`.")
        where = f"`model` in {source}" if source else "the setting `model`"
        return Step(
            name="model",
            ok=False,
            sentence=sentence,
            remedy=f"Change {where}; `lsp-completions models` lists what there is.",
            details={"notice": choice.notice, **details},
            lines=(instead,),
        )
    return Step(name="model", ok=True, sentence=about, details=details)


def _window(window: Window) -> str:
    if window.input_tokens is not None:
        writes = f", writes {window.output_tokens:,}" if window.output_tokens else ""
        return f"; reads {window.input_tokens:,} tokens{writes}"
    return f"; reads {window.chars:,} characters" if window.chars else ""


def filters_step(about: AboutSharing, host: str, trouble: CompletionsError | None) -> Step:
    """Whether the instance's rules let the repository around here be sent to it."""
    names = list(about.repositories)
    of = " and ".join(names) or "no repository with a remote"
    reason = about.reason
    details = {
        "repositories": names,
        "filters": None if about.filters is None else list(about.filters),
        "reason": None if reason is None else reason.name.lower(),
    }
    patterns = (f"They are: {', '.join(about.filters)}.",) if about.filters else ()

    def step(ok: bool | None, sentence: str, remedy: str = "") -> Step:
        return Step(
            name="filters",
            ok=ok,
            sentence=sentence,
            remedy=remedy,
            details=details,
            lines=() if ok and not patterns else (*patterns,),
        )

    match reason:
        case None if about.filters:
            return step(True, f"The instance's rules let {of} be sent.")
        case None if names:
            return step(True, f"The instance has no rules about repositories; this is {of}.")
        case None:
            return step(True, "The instance has no rules about repositories.")
        case SkipReason.CONTEXT_FILTERS:
            return step(
                False,
                f"The instance's rules keep {of} from being sent.",
                f"Only the administrator of {host} can change that.",
            )
        case SkipReason.IN_NO_REPOSITORY:
            return step(
                False,
                "The instance's rules go by repositories, and this is in none with a remote.",
                "Work in a clone of a repository that the instance knows.",
            )
        case SkipReason.CONTEXT_FILTERS_UNKNOWN | SkipReason.UNDECIDED:
            if isinstance(trouble, UnreadableFilters):
                return failed("filters", trouble, **details)
            if trouble is not None:
                found = failed("filters", trouble, **details)
                sentence = "The instance did not say what may be sent to it, so nothing is."
                return replace(found, sentence=sentence, lines=(found.sentence,))
            return step(
                False,
                "What the instance lets be sent was not known in time, so nothing is.",
                "Try again in a minute; if it goes on, tell the instance's administrator.",
            )
        case _:
            return step(None, "Not needed, since what is here is kept back anyway.")
