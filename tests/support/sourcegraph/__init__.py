r"""A stand-in Sourcegraph instance: a real HTTP/1.1 server on loopback that answers by script.

In a test with a loop, in a test without one, and by hand:

    async with StandIn(Answer("return ", "a + b", delay=0.15, gap=0.02)) as instance: ...
    with running_stand_in(Answer("pass")) as instance: ...       # a thread of its own
    python -m tests.support.sourcegraph --port 3080 --answer "return a\n" --delay 0.15 --gap 0.02

Point a client at `instance.url` with the token `TOKEN` (`instance.rules.token`).

What it says: `instance.script`, which may be changed at any time, is an `Answer` (the model's words
as steps: text, pauses, `Gate`s, raw bytes, `HEAD`, `CUT`, `RESET`), a `Reply` (an HTTP reply as it
stands; `refusal`, `rate_limited`, `upstream_error`, `html_page`, `second_factor`, `redirect`
make the common ones), a list of both (one per completion, the last one stays), or a function from
`Exchange` to either. One `Answer` serves all shapes: cumulative events without an API version or
with 1, deltas from 2 on, JSON where `stream` is not true.

A client that accepts gzip gets gzip, and with it all events at once at the end, as on a real one:
send `Accept-Encoding: identity`.

What it refuses: `Rules(...)`, checked in the order of a real instance before the script is asked;
messages are looked at last, by the model's own server, where the script says an `Answer`.
Anything may be sent unless `pages` has context filters.
Other paths than completions are 404 unless `pages={"/.api/client-config": json_page({...})}`;
a query in GraphQL is the page `"/.api/graphql?SiteProductVersion"`.

What it notes: `instance.requests` (all), `.completions`, `.hang_ups`, `.streaming` (being answered
now), `.connections` (ever accepted), `.open_connections`. Each `Exchange` has `method`, `path`,
`query`, `headers` (lower-case names), `body`, `json`, `prompt`, `status`, `arrived_at`, `sent_at`,
`bytes_sent`, `finished_at`, `hung_up_at`, `cut_at`, `over`.

Waiting without sleeping: `await instance.until(lambda: instance.hang_ups)` in its own loop,
`instance.wait_until(...)` from another thread. `instance.drop_connections()` is a restart.
"""

from tests.support.sourcegraph.answers import (
    CUT,
    HEAD,
    RESET,
    Answer,
    Gate,
    Reply,
    Step,
    html_page,
    json_page,
    rate_limited,
    redirect,
    refusal,
    second_factor,
    upstream_error,
    words,
)
from tests.support.sourcegraph.instance import Exchange, Script, StandIn, running_stand_in
from tests.support.sourcegraph.rules import CODE, DEFAULT_MODEL, STREAM, TOKEN, Rules

__all__ = [
    "CODE",
    "CUT",
    "DEFAULT_MODEL",
    "HEAD",
    "RESET",
    "STREAM",
    "TOKEN",
    "Answer",
    "Exchange",
    "Gate",
    "Reply",
    "Rules",
    "Script",
    "StandIn",
    "Step",
    "html_page",
    "json_page",
    "rate_limited",
    "redirect",
    "refusal",
    "running_stand_in",
    "second_factor",
    "upstream_error",
    "words",
]
