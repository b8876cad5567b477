"""What was found on this machine: settings, who answers by them, a model, what is kept back."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lsp_completions.configuration.in_force import Told
from lsp_completions.diagnosis.steps import Step, failed, parted
from lsp_completions.errors import ConfigurationError
from lsp_completions.kinds import UNREADABLE
from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.pipeline.templates import FimTokens
from lsp_completions.settings import Api, Problem, Settings, Trigger
from lsp_completions.switches import is_on

UNREADABLE_AS_JSON = json.dumps(UNREADABLE)[1:-1]
LONGEST_VALUE = 60  # characters of a value; a list of patterns may be endless


def settings_step(
    told: Sequence[Told], problems: Sequence[Problem], sources: Iterable[str], own_file: str
) -> Step:
    """The settings that somebody set, where each came from, and what of them does not count."""
    names = list(dict.fromkeys(sources))
    details = {
        "sources": names,
        "ownFile": own_file,
        "set": {
            each.key: {
                "value": json.loads(each.value.replace(UNREADABLE_AS_JSON, "(unreadable)")),
                "source": each.source,
                "lockedBy": each.locked_by,
            }
            for each in told
        },
        "problems": [
            {"message": each.message, "path": each.path, "source": each.source} for each in problems
        ],
    }
    lines = tuple(_lines(told))
    if not problems:
        count = sum(each.source is not None for each in told)
        sentence = (
            f"{count} {'is' if count == 1 else 'are'} not the default:"
            if count
            else f"Nothing is set; your own settings belong in {own_file}."
        )
        return Step(name="settings", ok=True, sentence=sentence, details=details, lines=lines)
    if len(problems) == 1:
        (problem,) = problems
        sentence, remedy = problem.message, f"Mend or remove it in {problem.source}."
    else:
        sentence, remedy = f"{len(problems)} things do not count:", "Mend or remove them."
        lines = (*map(str, problems), *lines)
    return Step(
        name="settings", ok=False, sentence=sentence, remedy=remedy, details=details, lines=lines
    )


def _lines(told: Sequence[Told]) -> Iterator[str]:
    """The settings of each source below its name."""
    for source in dict.fromkeys(each.source for each in told):
        yield f"{source}:" if source is not None else "set nowhere:"
        for each in told:
            if each.source == source:
                value = each.value.replace(UNREADABLE_AS_JSON, "(unreadable)")
                value = "***" if value == '"***"' else value
                if len(value) > LONGEST_VALUE:
                    value = f"{value[:LONGEST_VALUE]}…"
                locked = f" (locked by {each.locked_by})" if each.locked_by is not None else ""
                yield f"  {each.key}" + (f" = {value}" if source is not None else "") + locked


def provider_step(settings: Settings, name: str, half_set_up: ConfigurationError | None) -> Step:
    """Who answers, and why."""
    source = settings.source_of("provider")
    if source is not None:
        why = f"as `provider` says (from {source})"
    elif name == Api.SOURCEGRAPH:
        why = "since `endpoint` and a token for it are set, and `provider` is not"
    else:
        why = "since nothing else is set and its model is here"
    details = {"provider": name, "source": source}
    if half_set_up is not None:
        if half_set_up.remedy:
            sentence = "local, since half of what Sourcegraph needs is missing."
        else:
            sentence = "local, since nothing says who is asked at `url`."
        remedy = half_set_up.remedy or str(half_set_up)
        return Step(name="provider", ok=False, sentence=sentence, remedy=remedy, details=details)
    return Step(name="provider", ok=True, sentence=f"{name}, {why}.", details=details)


def no_provider(error: ConfigurationError) -> Step:
    """Nobody answers."""
    return failed("provider", error, provider=None)


# ---- the embedded model


def engine_step(version: str | None, missing: str) -> Step:
    """What runs models here; `missing` is the sentence for where there is none."""
    details = {"engine": "xllamacpp", "version": version}
    if version is None:
        sentence, remedy = parted(missing)
        return Step(name="engine", ok=False, sentence=sentence, remedy=remedy, details=details)
    return Step(name="engine", ok=True, sentence=f"xllamacpp {version}.", details=details)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundModel:
    """A model file, and what stands in it."""

    path: Path
    size: int
    source: str | None
    """Where `modelPath` was set; `None` where the installed one is meant."""
    fim: FimTokens | None
    family: str


def no_model_file(error: ConfigurationError, settings: Settings) -> Step:
    """There is none that could be run."""
    source = settings.source_of("modelPath")
    step = failed("model", error, path=settings.model_path)
    if source is None:
        return step
    remedy = f"Name another in `modelPath` in {source}, or remove it."
    return replace(step, remedy=remedy)


def model_file_step(found: FoundModel) -> Step:
    """The file of the embedded model, and the tokens it has to fill in the middle with."""
    fim = found.fim
    tokens = None if fim is None else [fim.prefix, fim.suffix, fim.middle]
    whence = "installed" if found.source is None else f"from {found.source}"
    if fim is None:
        told = f"nothing is told of its tokens; prompts go by its name ({found.family})"
    elif fim.prefix:
        told = f"it fills in the middle ({found.family}: {fim.prefix} {fim.suffix} {fim.middle})"
    else:
        told = "it has no tokens to fill in the middle, so it continues what is before the cursor"
    return Step(
        name="model",
        ok=True,
        sentence=f"{found.path.stem} ({found.size / 1e6:,.0f} MB, {whence}); {told}.",
        details={
            "model": found.path.stem,
            "path": str(found.path),
            "bytes": found.size,
            "fimTokens": tokens,
            "family": found.family,
        },
        lines=(str(found.path),),
    )


# ---- what is suggested here, and what stays here


def suggestions_step(settings: Settings, *, file: str | None) -> Step:
    """Whether suggestions are wanted at all, in any file or in `file`."""
    off = [name for name, on in settings.languages if not on]
    is_off = file is not None and not is_on("", file, settings.languages)
    details = {
        "trigger": settings.trigger.value,
        "off": off,
        "file": None if file is None else not is_off,
    }
    if is_off:
        sentence, _ = parted(SkipReason.LANGUAGE_OFF.value)
        source = settings.source_of("languages")
        remedy = f"The setting `languages` can switch them on{f' ({source})' if source else ''}."
        return Step(name="suggestions", ok=False, sentence=sentence, remedy=remedy, details=details)
    sentence = "They come while you type."
    if settings.trigger is Trigger.MANUAL:
        source = settings.source_of("trigger") or "the settings"
        sentence = f"They come only when you ask, as `trigger` says (from {source})."
    if off:
        sentence += f" Off for: {', '.join(off)}."
    return Step(name="suggestions", ok=True, sentence=sentence, details=details)


def sharing_step(reason: SkipReason | None, settings: Settings, *, file: str | None) -> Step:
    """Whether something may be sent of files here, or of `file`, whoever answers."""
    flags = (
        (not settings.secret_files, "files that hold secrets"),
        (not settings.git_ignored, "what git ignores"),
        (bool(settings.exclude), f"what `exclude` names ({len(settings.exclude)})"),
        (not settings.outside_workspace, "what is outside the workspace"),
    )
    kept = [words for holds, words in flags if holds]
    details = {"reason": None if reason is None else reason.name.lower(), "keptBack": kept}
    what = "This file" if file is not None else "What is here"
    if reason is None:
        rest = f" Kept back: {_listed(kept)}." if kept else ""
        sentence = f"{what} may be sent.{rest}"
        return Step(name="sharing", ok=True, sentence=sentence, details=details)
    sentence, remedy = parted(reason.value)
    if file is None:
        sentence = sentence.replace("this document", "what is here")
        sentence = sentence.replace("this file", "what is here")
    exclude = f"`exclude` in {settings.source_of('exclude') or 'the settings'}"
    match reason:
        case SkipReason.EXCLUDED:
            remedy = f"If you mean it to be sent, change {exclude}."
        case SkipReason.EXCLUDE_UNREADABLE:
            remedy = f"Mend {exclude}."
        case _:
            remedy = remedy or "Try again; a disk far away may be slow."
    return Step(name="sharing", ok=False, sentence=sentence, remedy=remedy, details=details)


def _listed(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
