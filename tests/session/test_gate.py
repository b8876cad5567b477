"""What is sent where an instance has rules about it, and where nobody knows them."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_completions.errors import NotAuthorized
from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.secret import Secret
from lsp_completions.settings import resolve
from lsp_completions.sharing.context_filters import AGAIN, LASTS, SIGNING_IN, ContextFilters
from lsp_completions.sharing.gate import FRESH, Gate
from lsp_completions.sharing.whereabouts import Place, Places
from lsp_completions.transport import Transport
from tests.support.extra import extra_cases
from tests.support.sourcegraph import (
    TOKEN,
    Reply,
    Rules,
    StandIn,
    html_page,
    json_page,
    rate_limited,
    refusal,
    second_factor,
)
from tests.support.sourcegraph.pages import FILTERS, NAME, NO_FILTERS, filters, graphql

ALLOWED = None
IGNORED = SkipReason.CONTEXT_FILTERS
NOWHERE = SkipReason.IN_NO_REPOSITORY
UNKNOWN = SkipReason.CONTEXT_FILTERS_UNKNOWN
ONLY_OURS = filters({"include": [{"repoNamePattern": r"^h\.org/ours/"}]})


@dataclass
class Scene:
    """An instance, a gate before it, and how long the gate wants to wait before it asks again."""

    instance: StandIn
    gate: Gate
    filters: ContextFilters
    folder: Path
    provider: Sourcegraph
    pauses: list[float] = field(default_factory=list)
    turn: asyncio.Event = field(default_factory=asyncio.Event)
    kept_back: list[tuple[str, SkipReason]] = field(default_factory=list)
    version: str | None = None

    async def verdict(self, path: str = "ours/a.py") -> SkipReason | None:
        uri = path if ":" in path else (self.folder / path).as_uri()
        return await self.gate.decided(uri, self.provider, at_most=20)

    async def ask_again(self, reply: Reply) -> None:
        """Let the time pass until the instance is asked again, which then says this."""
        self.instance.pages[FILTERS] = reply
        asked = len(self.pauses)
        self.turn.set()
        async with asyncio.timeout(20):
            while len(self.pauses) == asked:  # noqa: ASYNC110 - the pause itself says nothing
                await asyncio.sleep(0.001)

    async def until_kept_back(self) -> None:
        async with asyncio.timeout(20):
            while not self.kept_back:  # noqa: ASYNC110 - nothing to be told by
                await asyncio.sleep(0.001)

    def times_asked(self, query: str = "ContextFilters") -> int:
        return sum(query in request.query for request in self.instance.requests)


def repository(folder: Path, *remotes: str) -> None:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    config = "".join(
        f'[remote "r{number}"]\n\turl = {remote}\n' for number, remote in enumerate(remotes)
    )
    (folder / ".git" / "config").write_text(config)


@asynccontextmanager
async def opened(
    folder: Path, reply: Reply, *, rules: Rules | None = None, **pages: Reply
) -> AsyncIterator[Scene]:
    repository(folder / "ours", "git@h.org:ours/a.git")
    repository(folder / "theirs", "https://h.org/theirs/b.git")
    repository(folder / "both", "https://h.org/ours/c", "https://h.org/theirs/c")
    repository(folder / "nameless", "/srv/git/x.git")
    async with AsyncExitStack() as closing:
        shown = {FILTERS: reply, **{f"/.api/graphql?{key}": page for key, page in pages.items()}}
        instance = await closing.enter_async_context(StandIn(pages=shown, rules=rules))
        transport = Transport()
        closing.push_async_callback(transport.aclose)
        scene: Scene

        async def version(_: Sourcegraph) -> str | None:
            return scene.version

        async def pause(woken: asyncio.Event, seconds: float) -> None:
            scene.pauses.append(seconds)
            waits = [asyncio.ensure_future(each.wait()) for each in (woken, scene.turn)]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in waits:
                    each.cancel()
            scene.turn.clear()

        known = ContextFilters(transport.events, version=version, pause=pause)
        closing.push_async_callback(known.aclose)
        gate = Gate(known, kept_back=lambda uri, reason: scene.kept_back.append((uri, reason)))
        closing.push_async_callback(gate.aclose)
        provider = Sourcegraph(endpoint=instance.url, token=Secret(TOKEN))
        scene = Scene(instance, gate, known, folder, provider)
        yield scene


@pytest.mark.parametrize(
    ("raw", "verdicts"),
    [
        pytest.param(None, [ALLOWED] * 5, id="none"),
        pytest.param({}, [ALLOWED] * 5, id="no lists"),
        pytest.param({"include": [], "exclude": []}, [ALLOWED] * 5, id="empty lists"),
        pytest.param({"include": None, "exclude": None}, [ALLOWED] * 5, id="null for lists"),
        pytest.param({"include": [".*"]}, [ALLOWED] * 5, id="everything"),
        pytest.param(
            {"include": ["^h.org/ours"]}, [ALLOWED, IGNORED, IGNORED, NOWHERE, NOWHERE], id="one"
        ),
        pytest.param(
            {"exclude": ["theirs"]}, [ALLOWED, IGNORED, IGNORED, NOWHERE, NOWHERE], id="all but one"
        ),
        pytest.param(
            {"include": [".*"], "exclude": ["ours"]},
            [IGNORED, ALLOWED, IGNORED, NOWHERE, NOWHERE],
            id="everything but one",
        ),
        pytest.param(
            {"include": ["ours", "theirs"]},
            [ALLOWED, ALLOWED, ALLOWED, NOWHERE, NOWHERE],
            id="any of two",
        ),
        pytest.param({"exclude": [""]}, [IGNORED] * 3 + [NOWHERE] * 2, id="an empty pattern"),
    ],
)
async def test_rules(tmp_path: Path, raw: Any, verdicts: list[SkipReason | None]) -> None:
    rules = raw and {
        key: patterns and [{"repoNamePattern": pattern} for pattern in patterns]
        for key, patterns in raw.items()
    }
    async with opened(tmp_path, filters(rules)) as scene:
        paths = ["ours/x.py", "theirs/x.py", "both/x.py", "nameless/x.py", "x.py"]
        assert [await scene.verdict(path) for path in paths] == verdicts


async def test_file_patterns_are_not_heeded(tmp_path: Path) -> None:
    rule = {"repoNamePattern": "ours", "filePathPatterns": ["\\.md$"]}
    async with opened(tmp_path, filters({"include": [rule], "more": 1})) as scene:
        assert await scene.verdict() is ALLOWED


async def test_documents_that_are_no_files(tmp_path: Path) -> None:
    async with opened(tmp_path, ONLY_OURS) as scene:
        schemes = ["file", "untitled", "http", "vscode-notebook-cell"]
        scene.gate.follow(resolve([("the test", {"schemes": schemes})])[0], [])
        assert await scene.verdict("http://h.org/a.py") is ALLOWED
        assert await scene.verdict("untitled:Untitled-1") is NOWHERE
        cell = f"vscode-notebook-cell:{(tmp_path / 'ours' / 'a.ipynb').as_posix()}#1"
        assert await scene.verdict(cell) is NOWHERE


EVERYTHING_ELSE = {
    "a failure": refusal(500, "internal error"),
    "no such page": refusal(404, "404 page not found"),
    "not signed in": refusal(401, "Invalid access token."),
    "a limit": rate_limited("512"),
    "a second factor": second_factor(),
    "a login page": html_page(),
    "no JSON": json_page("x", content_type="text/plain"),
    "cut off": Reply(status=200, body=b'{"data":{"site":{"codyContextFilters":{"raw":{"include":['),
    "no site": json_page({"data": {"site": None}}),
    "no filters": graphql(codyContextFilters=None),
    "nothing raw": graphql(codyContextFilters={}),
    "an error": json_page({"errors": [{"message": "boom"}], "data": None}),
    "an error beside none": json_page(
        {
            "errors": [{"message": "boom"}],
            "data": {"site": {"codyContextFilters": {"raw": None}}},
        }
    ),
    "an odd error": json_page({"errors": ["boom"]}),
    "a text": filters("include everything"),
    "a list": filters([]),
    "a flag": filters(False),
    "no list": filters({"include": "ours"}),
    "no rule": filters({"include": ["ours"]}),
    "no pattern": filters({"include": [{}]}),
    "no text": filters({"exclude": [{"repoNamePattern": 3}]}),
    "no regular expression": filters({"include": [{"repoNamePattern": "("}]}),
    "looking ahead": filters({"exclude": [{"repoNamePattern": "(?!a)"}]}),
    "one bad pattern": filters({"include": [{"repoNamePattern": p} for p in ("ours", "a**")]}),
}


@pytest.mark.parametrize("reply", [pytest.param(r, id=id) for id, r in EVERYTHING_ELSE.items()])
async def test_whatever_else_is_said_nothing_is_sent(tmp_path: Path, reply: Reply) -> None:
    async with opened(tmp_path, reply) as scene:
        assert await scene.verdict() is UNKNOWN
        trouble = scene.filters.trouble(scene.provider)
        assert trouble is not None
        assert TOKEN not in str(trouble)
        # Until it says something better.
        await scene.ask_again(ONLY_OURS)
        assert await scene.verdict() is ALLOWED
        assert await scene.verdict("theirs/a.py") is IGNORED
        assert scene.filters.trouble(scene.provider) is None


async def test_an_instance_that_hangs_up_is_sent_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, NO_FILTERS) as scene:
        scene.provider = Sourcegraph(endpoint="http://127.0.0.1:9", token=Secret(TOKEN))
        assert await scene.verdict() is UNKNOWN


@given(
    body=st.recursive(
        st.none() | st.booleans() | st.integers(0, 9) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    "data site codyContextFilters raw include exclude repoNamePattern".split()
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=12,
    )
)
def test_no_answer_that_is_not_clear_lets_anything_pass(body: Any) -> None:
    from json import dumps

    from lsp_completions.providers.sourcegraph_filters import UnreadableFilters, filters_in

    try:
        known = filters_in(Sourcegraph(endpoint="https://h.org"), dumps(body))
    except UnreadableFilters:
        return
    raw = body["data"]["site"]["codyContextFilters"]["raw"]
    if known.allow_all:
        assert raw is None or not any(raw.get(key) for key in ("include", "exclude"))
    else:
        assert known.patterns


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(
            json_page({"errors": [{"message": 'Cannot query field "x" on type "Site".'}]}),
            id="a field it does not know",
        ),
        pytest.param(
            refusal(400, '{"errors":[{"message":"Cannot query field"}]}'), id="refused so"
        ),
        pytest.param(Reply(status=200), id="nothing at all"),
        pytest.param(
            json_page({"errors": [{"message": "Unexpected end of JSON input"}]}), id="cut JSON"
        ),
    ],
)
async def test_an_instance_too_old_for_rules_has_none(tmp_path: Path, reply: Reply) -> None:
    async with opened(tmp_path, reply) as scene:
        assert [await scene.verdict(path) for path in ("ours/a", "a")] == [ALLOWED, ALLOWED]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param("5.3.2", ALLOWED, id="older"),
        pytest.param("5.2.9999", ALLOWED, id="much older"),
        pytest.param("5.3.3", UNKNOWN, id="the first with rules"),
        pytest.param("6.3.1234", UNKNOWN, id="newer"),
        pytest.param("265083_2024-03-19_5.3-1b54a6", UNKNOWN, id="from the main branch"),
        pytest.param("0.0.0+dev", UNKNOWN, id="of its developers"),
        pytest.param(None, UNKNOWN, id="not known"),
    ],
)
async def test_the_version_excuses(
    tmp_path: Path, version: str | None, expected: SkipReason | None
) -> None:
    async with opened(tmp_path, refusal(500, "internal error")) as scene:
        scene.version = version
        assert await scene.verdict() is expected


async def test_the_vendors_own_instance_is_not_asked(tmp_path: Path) -> None:
    async with opened(tmp_path, refusal(500, "internal error")) as scene:
        for host in ("sourcegraph.com", "www.sourcegraph.com/", "Sourcegraph.com:443"):
            scene.provider = Sourcegraph(endpoint=f"https://{host}", token=Secret(TOKEN))
            assert await scene.verdict() is ALLOWED
            assert await scene.verdict("a.py") is ALLOWED
        assert not scene.instance.requests


async def test_when_it_is_asked_again(tmp_path: Path) -> None:
    async with opened(tmp_path, NO_FILTERS) as scene:
        await scene.verdict()
        await scene.ask_again(refusal(500, "internal error"))
        await scene.ask_again(refusal(503, "still starting"))
        await scene.ask_again(second_factor())
        await scene.ask_again(NO_FILTERS)
        await scene.ask_again(refusal(500, "internal error"))
        assert scene.pauses == [LASTS, AGAIN, AGAIN * 1.5, SIGNING_IN, LASTS, AGAIN]


async def test_whoever_asks_by_hand_need_not_wait_for_that(tmp_path: Path) -> None:
    async with opened(tmp_path, refusal(500, "internal error")) as scene:
        uri = (scene.folder / "ours" / "a.py").as_uri()
        scene.gate.judge(uri)
        assert await scene.verdict() is UNKNOWN
        scene.instance.pages[FILTERS] = NO_FILTERS
        scene.gate.retry(uri)
        assert await scene.verdict() is ALLOWED


async def test_a_document_that_may_be_sent_no_more_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path, NO_FILTERS) as scene:
        uri = (scene.folder / "theirs" / "a.py").as_uri()
        scene.gate.judge(uri)
        assert await scene.gate.decided(uri, scene.provider) is ALLOWED
        assert not scene.kept_back
        await scene.ask_again(ONLY_OURS)
        await scene.until_kept_back()
        assert scene.kept_back == [(uri, IGNORED)]
        assert await scene.gate.decided(uri, scene.provider) is IGNORED
        # Another provider has other rules, or none.
        assert await scene.gate.decided(uri, None) is ALLOWED


async def test_the_instance_s_own_name_counts(tmp_path: Path) -> None:
    said = json_page({"data": {"repository": {"name": "mirror/secret"}}})
    rules = filters({"exclude": [{"repoNamePattern": "^mirror/"}]})
    async with opened(tmp_path, rules, ResolveRepoName=said) as scene:
        assert await scene.verdict() is IGNORED
        assert await scene.verdict("ours/b.py") is IGNORED
        asked = [r for r in scene.instance.requests if "ResolveRepoName" in r.query]
        (one,) = asked
        assert one.json["variables"] == {"cloneURL": "git@h.org:ours/a.git"}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param(json_page({"data": {"repository": None}}), ALLOWED, id="not known there"),
        pytest.param(refusal(404, "404 page not found"), ALLOWED, id="no such page"),
        pytest.param(
            json_page({"errors": [{"message": "Cannot query field"}]}), ALLOWED, id="no such field"
        ),
        pytest.param(refusal(500, "internal error"), UNKNOWN, id="a failure"),
        pytest.param(refusal(401, "Invalid access token."), UNKNOWN, id="not signed in"),
        pytest.param(json_page({"errors": [{"message": "boom"}]}), UNKNOWN, id="an error"),
        pytest.param(json_page({"data": {"repository": {"name": 3}}}), UNKNOWN, id="no name"),
    ],
)
async def test_where_it_has_no_name_ours_does(
    tmp_path: Path, said: Reply, expected: SkipReason | None
) -> None:
    async with opened(tmp_path, ONLY_OURS, ResolveRepoName=said) as scene:
        for _ in range(3):  # and it is asked once, not at every key
            assert await scene.verdict() is expected
        assert scene.times_asked("ResolveRepoName") == 1
        # By hand it is.
        scene.instance.pages[NAME] = json_page({"data": {"repository": None}})
        scene.filters.try_again()
        assert await scene.verdict() is ALLOWED


async def test_a_password_in_a_remote_stays_here(tmp_path: Path) -> None:
    async with opened(tmp_path, ONLY_OURS) as scene:
        repository(tmp_path / "p", "https://me:geheim@h.org/ours/p.git", "https://tok@h.org/ours/q")
        assert await scene.verdict("p/a.py") is ALLOWED
        assert not any(b"geheim" in r.body or b"tok@" in r.body for r in scene.instance.requests)


async def test_the_setting_adds_a_name_and_never_takes_one_away(tmp_path: Path) -> None:
    async with opened(tmp_path, ONLY_OURS) as scene:
        for name, verdicts in {
            "h.org/ours/z": [ALLOWED, IGNORED, NOWHERE],
            "h.org/theirs/z": [IGNORED, IGNORED, NOWHERE],
        }.items():
            scene.gate.follow(resolve([("the test", {"repository": name})])[0], [])
            paths = ["ours/a.py", "theirs/a.py", "a.py"]
            assert [await scene.verdict(path) for path in paths] == verdicts


async def test_nobody_waits_for_ever(tmp_path: Path) -> None:
    async with opened(tmp_path, NO_FILTERS) as scene:
        never: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def version(_: Sourcegraph) -> None:
            await never

        scene.filters._version = version
        scene.instance.pages[FILTERS] = refusal(500, "internal error")
        uri = (scene.folder / "ours" / "a.py").as_uri()
        reason = await scene.gate.decided(uri, scene.provider, at_most=0.05)
        assert reason is SkipReason.UNDECIDED


async def test_what_there_is_to_tell(tmp_path: Path) -> None:
    async with opened(tmp_path, ONLY_OURS) as scene:
        about = await scene.gate.about_sharing(
            (scene.folder / "both" / "a.py").as_uri(), scene.provider
        )
        assert about.reason is IGNORED
        assert about.repositories == ("h.org/ours/c", "h.org/theirs/c")
        assert about.filters == (r"^h\.org/ours/",)
        scene.instance.pages[FILTERS] = refusal(401, "Invalid access token.")
        other = Sourcegraph(endpoint=scene.instance.url, token=Secret(TOKEN + "x"))
        about = await scene.gate.about_sharing((scene.folder / "a.py").as_uri(), other)
        assert (about.reason, about.filters) == (UNKNOWN, None)
        assert isinstance(scene.filters.trouble(other), NotAuthorized)


class SlowDisk(Places):
    """Answers when it is let to."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = threading.Event()

    def look(self, uri: str, roots: Sequence[str], named: Sequence[str] = ()) -> Place:
        assert self.answers.wait(20)
        return super().look(uri, roots, named)


async def test_a_disk_that_does_not_answer_holds_up_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, NO_FILTERS) as scene:
        disk = SlowDisk()
        gate = Gate(scene.filters, places=disk)
        uris = [(tmp_path / name).as_uri() for name in ("ours/a.py", ".env")]
        try:
            for uri in uris:
                gate.judge(uri)
            assert gate.why_kept_back(uris[0]) is SkipReason.UNDECIDED
            # Its name alone is enough.
            assert gate.why_kept_back(uris[1]) is SkipReason.SECRET_FILE
            reason = await gate.decided(uris[0], scene.provider, at_most=0.01)
            assert reason is SkipReason.UNDECIDED
            disk.answers.set()
            assert await gate.decided(uris[0], scene.provider, at_most=20) is ALLOWED
        finally:
            disk.answers.set()
            await gate.aclose()


async def test_what_git_ignores_may_change_while_a_document_is_open(tmp_path: Path) -> None:
    async with opened(tmp_path, NO_FILTERS) as scene:
        now = 0.0
        gate = Gate(scene.filters, clock=lambda: now)
        uri = (tmp_path / "ours" / "a.py").as_uri()
        try:
            gate.judge(uri)
            assert await gate.decided(uri, scene.provider) is ALLOWED
            (tmp_path / "ours" / ".gitignore").write_text("*.py\n")
            now += FRESH
            await gate.decided(uri, scene.provider)
            async with asyncio.timeout(20):
                while gate.why_kept_back(uri) is ALLOWED:  # noqa: ASYNC110 - a slow disk
                    await asyncio.sleep(0.001)
            assert gate.why_kept_back(uri) is SkipReason.GIT_IGNORED
        finally:
            await gate.aclose()


def test_recorded_rules() -> None:
    from json import dumps

    from lsp_completions.providers.sourcegraph_filters import filters_in

    instance = Sourcegraph(endpoint="https://h.org")
    for row in extra_cases("cases/context_filters.jsonl"):
        raw = row["filters"] if "filters" in row else row["setup"].get("filters")
        body = {"data": {"site": {"codyContextFilters": {"raw": raw}}}}
        known = filters_in(instance, dumps(body))
        for name in row.get("allowed", ()):
            assert known.allow([name]), (row["id"], name)
        for name in row.get("ignored", ()):
            assert not known.allow([name]), (row["id"], name)
        if "filters" in row.get("setup", ()):
            kept_back = not known.allow(row["setup"]["repos_of_file"])
            assert kept_back == bool(row["expected_is_ignored"]), row["id"]


def test_recorded_answers() -> None:
    from lsp_completions.providers.sourcegraph_filters import filters_in, name_in

    instance = Sourcegraph(endpoint="https://h.org")
    for row in extra_cases("cases/recorded_config_exchanges.jsonl"):
        if row["set"] == "context_filters" and row["status"] == 200:
            assert filters_in(instance, row["response_body"]).allow_all
        if row["set"] == "repo_name":
            assert name_in(row["response_body"]) == "github.com/sourcegraph/cody"
