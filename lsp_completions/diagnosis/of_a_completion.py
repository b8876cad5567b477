"""What came of one real completion."""

from lsp_completions.diagnosis.steps import Step, failed, parted
from lsp_completions.errors import CompletionsError
from lsp_completions.pipeline.outcome import Outcome, Skipped, SkipReason, Suggested
from lsp_completions.providers.base import Provider
from lsp_completions.providers.sourcegraph import Sourcegraph


def completion_step(
    outcome: Outcome | CompletionsError,
    *,
    first_text: float | None,
    total: float,
    asked: Provider,
    answered: Provider,
) -> Step:
    """What came of one real completion, in seconds; `answered` may stand in for whom was asked."""
    details: dict[str, object] = {
        "firstTextMs": None if first_text is None else round(first_text * 1000),
        "totalMs": round(total * 1000),
        "provider": answered.name,
        "model": answered.model or None,
    }
    instead = _instead(asked, answered)
    if isinstance(outcome, CompletionsError):
        return failed("completion", outcome, **details)
    if isinstance(outcome, Skipped):
        sentence, remedy = parted(outcome.reason.value)
        if outcome.reason in (SkipReason.EMPTY, SkipReason.NOTHING_NEW):
            # It works; what a model makes of two lines is another matter.
            sentence = f"{answered.host} answered after {round(total * 1000)} ms, with nothing new."
            return Step(
                name="completion", ok=True, sentence=sentence, details=details, lines=instead
            )
        return Step(
            name="completion",
            ok=False,
            sentence=sentence,
            remedy=remedy or "Try again; if it goes on, tell whoever runs the server.",
            details=details,
            lines=instead,
        )
    assert isinstance(outcome, Suggested)
    first = "" if first_text is None else f"First text after {round(first_text * 1000)} ms, "
    sentence = f"{first}all of it after {round(total * 1000)} ms."
    return Step(
        name="completion",
        ok=True,
        sentence=sentence[:1].upper() + sentence[1:],
        details=details,
        lines=instead,
    )


def _instead(asked: Provider, answered: Provider) -> tuple[str, ...]:
    """What was refused on the way, and left out from then on."""
    if asked == answered:
        return ()
    if isinstance(asked, Sourcegraph) and isinstance(answered, Sourcegraph):
        if asked.api_version != answered.api_version:
            return (
                f"It refused version {asked.api_version} of the completions API, "
                f"so {answered.api_version} is spoken.",
            )
        if asked.model and not answered.model:
            return (f"It refused the model {asked.model}, so its own one answers.",)
    return ("It refused the first form of the request, and took another.",)
