"""What a model server of one's own says: of the key, and of its models."""

from collections.abc import Sequence

from lsp_completions.diagnosis.steps import Step, failed
from lsp_completions.errors import CompletionsError
from lsp_completions.pipeline.chats import family_for
from lsp_completions.providers.base import Provider
from lsp_completions.providers.model_lists import Listed
from lsp_completions.providers.own_server import OwnServer
from lsp_completions.settings import Settings


def key_step(provider: OwnServer, settings: Settings) -> Step:
    """Where the key is from."""
    source = settings.source_of("apiKey")
    sentence = "None is set." if provider.key is None else f"From {source or 'the settings'}."
    return Step(name="key", ok=True, sentence=sentence, details={"source": source})


def own_model_step(
    provider: Provider, listed: Sequence[Listed] | CompletionsError | None, settings: Settings
) -> Step:
    """Which model is asked for, and whether the server has it; `None` is one without a list."""
    host, name = provider.host, provider.model
    source = settings.source_of("model")
    # Where there is none, the server gives prompts their form.
    family = (
        family_for(provider.prompts_for, chats=provider.chats).name
        if provider.prompts_for
        else None
    )
    whose = f"{name} (from {source})" if name else "none is named, so the server chooses"
    details: dict[str, object] = {"model": name or None, "source": source, "family": family}
    if isinstance(listed, CompletionsError):
        return failed("model", listed, listed=None, **details)
    if listed is None:
        sentence = f"{whose}; {host} has no list to look it up in."
        return Step(name="model", ok=None, sentence=sentence, details={"listed": None, **details})
    details["listed"] = [each.name for each in listed]
    used = next((each for each in listed if each.in_use), None)
    if name and used is None:
        return Step(
            name="model",
            ok=False,
            sentence=f"{host} does not list the model {name}.",
            remedy=provider.GET_MODEL if isinstance(provider, OwnServer) else "",
            details=details,
            lines=(f"It lists: {_some([each.name for each in listed])}.",),
        )
    if used is not None and used.why_not:
        return Step(
            name="model",
            ok=False,
            sentence=f"{used.name} may not complete code: {used.why_not}.",
            remedy="Name another in the setting `model`.",
            details=details,
        )
    window = ""
    form = f" (prompts for {family})" if family is not None else ""
    if used is not None and used.input_tokens is not None:
        window = f"; reads {used.input_tokens:,} tokens"
        details["inputTokens"] = used.input_tokens
    return Step(
        name="model",
        ok=True,
        sentence=f"{whose}; {host} has it{form}{window}."
        if name
        else f"{whose}; {host} has {_some([each.name for each in listed])}.",
        details=details,
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return (", ".join(names[:5]) + more) or "none"
