"""The context filters of a Sourcegraph instance: of which repositories something may be sent to it.

An instance that does not know of filters has none. Every other answer that cannot be read may have
meant anything, so then nothing is sent.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lsp_completions.errors import CompletionsError, ProviderError, Refused, UnexpectedReply
from lsp_completions.providers.base import HttpRequest
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.providers.wire import host_of
from lsp_completions.re2 import Flaw, Pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Of which repositories something may be sent."""

    include: tuple[Pattern, ...] = field(default=(), compare=False)
    """One of them has to match; without any, every repository does."""
    exclude: tuple[Pattern, ...] = field(default=(), compare=False)
    allow_all: bool = True
    """They let everything pass, also what is in no repository."""
    patterns: tuple[str, ...] = ()
    """As the administrator wrote them, for people."""

    def allow(self, names: Iterable[str]) -> bool:
        """Whether something may be sent of a file that is in all these repositories."""
        if self.allow_all:
            return True
        names = list(names)
        return bool(names) and all(map(self._allow, names))

    def _allow(self, name: str) -> bool:
        if any(pattern.occurs_in(name) for pattern in self.exclude):
            return False
        return not self.include or any(pattern.occurs_in(name) for pattern in self.include)


ALLOW_ALL = Filters()


class UnreadableFilters(ProviderError):
    """The instance's rules cannot be read."""


def has_none(instance: Sourcegraph) -> bool:
    """Whether nobody need ask: the vendor's own instance, for everybody, has no filters."""
    host, _, port = host_of(instance.endpoint).lower().partition(":")
    return host in ("sourcegraph.com", "www.sourcegraph.com") and port in ("", "443")


def question(instance: Sourcegraph) -> HttpRequest:
    """How `instance` is asked for its filters."""
    query = "query ContextFilters { site { codyContextFilters(version: V1) { raw } } }"
    body = {"query": query, "variables": {}}
    return instance.post("/.api/graphql?ContextFilters", body)


def filters_in(instance: Sourcegraph, body: str) -> Filters:
    """What an answer says. Raises `UnreadableFilters` where it cannot be read."""
    host = host_of(instance.endpoint)
    unreadable = UnreadableFilters(
        f"What {host} says about which code may be sent to it cannot be read, so nothing is sent."
    )
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise unreadable from None
    match answer:
        case {"errors": [_, *_] as errors}:
            if any(_is_of_an_old_instance(_message(error)) for error in errors):
                return ALLOW_ALL
            raise UnreadableFilters(
                f"{host} failed to say which code may be sent to it, so nothing is sent."
            )
        case {"data": {"site": {"codyContextFilters": {"raw": None}}}}:
            return ALLOW_ALL
        case {"data": {"site": {"codyContextFilters": {"raw": dict() as raw}}}}:
            pass
        case _:
            raise unreadable
    include, exclude = (_patterns(raw.get(kind)) for kind in ("include", "exclude"))
    if include is None or exclude is None:
        raise unreadable
    try:
        return Filters(
            include=tuple(map(Pattern, include)),
            exclude=tuple(map(Pattern, exclude)),
            allow_all=not exclude and include in ([], [".*"]),
            patterns=(*include, *(f"not {pattern}" for pattern in exclude)),
        )
    except Flaw as flaw:
        raise UnreadableFilters(
            f"A pattern in the context filters of {host} cannot be read ({flaw}), so nothing is "
            "sent. Its administrator can mend it."
        ) from None


def without_an_answer(error: CompletionsError) -> Filters | None:
    """The filters of an instance that answered so; `None` where that says nothing about them."""
    match error:
        case UnexpectedReply(empty=True):
            return ALLOW_ALL
        case Refused(reply=reply) if reply is not None and _is_of_an_old_instance(reply.body):
            return ALLOW_ALL
        case _:
            return None


def is_too_old(version: str | None) -> bool:
    """Whether an instance of this version knows no filters, whatever it answers."""
    # What has a build's number in place of a version was built later.
    release = _RELEASE.match(version or "")
    number = tuple(map(int, release.groups())) if release else (0, 0, 0)
    return (0, 0, 0) < number < _FIRST_WITH_FILTERS


def wants_second_factor(error: CompletionsError) -> bool:
    """Whether a gateway before the instance waits for somebody to sign in."""
    reply = error.reply if isinstance(error, Refused) else None
    return (
        reply is not None
        and reply.status == 401
        and any(
            re.fullmatch(r"x-.*-u2f-challenge", name.lower()) and value.strip().lower() == "true"
            for name, value in reply.headers.items()
        )
    )


# ---- names of repositories


def name_question(instance: Sourcegraph, clone_url: str) -> HttpRequest:
    """How `instance` is asked what it calls the repository that is cloned from there."""
    query = "query ResolveRepoName($cloneURL: String!) { repository(cloneURL: $cloneURL) { name } }"
    body = {"query": query, "variables": {"cloneURL": clone_url}}
    return instance.post("/.api/graphql?ResolveRepoName", body)


def name_in(body: str) -> str | None:
    """The name in an answer; `None` where the repository is not known there.

    Raises `UnreadableFilters` where that is not what the answer says.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    match answer:
        case {"data": {"repository": {"name": str(name)}}} if name.strip():
            return name.strip()
        case {"data": {"repository": None}}:
            return None
        case {"errors": [_, *_] as errors} if any(
            _is_of_an_old_instance(_message(error)) for error in errors
        ):
            return None
    raise UnreadableFilters("What the instance calls this repository could not be read.")


def _patterns(rules: object) -> list[str] | None:
    """The patterns in a list of rules; `None` where it is no such list.

    `filePathPatterns` may stand beside them, which no instance heeds.
    """
    if rules is None:
        return []
    if not isinstance(rules, list):
        return None
    patterns = []
    for rule in rules:
        match rule:
            case {"repoNamePattern": str(pattern)}:
                patterns.append(pattern)
            case _:
                return None
    return patterns


def _message(error: object) -> str:
    fields: Mapping[str, Any] = error if isinstance(error, dict) else {}
    return str(fields.get("message", ""))


def _is_of_an_old_instance(text: str) -> bool:
    return "Cannot query field" in text or "Unexpected end of JSON input" in text


_FIRST_WITH_FILTERS = (5, 3, 3)
_RELEASE = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})(?![0-9])")
