"""Completions by instances that say different things about themselves."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from lsp_completions.backend import Backend
from lsp_completions.completer import complete
from lsp_completions.errors import ConfigurationError, ProviderError, Refused, SwitchedOff
from lsp_completions.generations import Generations
from lsp_completions.pipeline.document import Document
from lsp_completions.pipeline.outcome import Outcome, Skipped, SkipReason, Suggested
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.request import Request
from lsp_completions.settings import Settings, resolve
from lsp_completions.site import LASTS, OFF_LASTS, Sites
from lsp_completions.transport import Timeouts, Transport
from tests.support.clock import Clock
from tests.support.cursor import cursor
from tests.support.extra import extra_cases
from tests.support.sourcegraph import (
    CUT,
    TOKEN,
    Answer,
    Exchange,
    Gate,
    Reply,
    Rules,
    StandIn,
    html_page,
)
from tests.support.sourcegraph.pages import (
    CLIENT_CONFIG,
    EVERYTHING,
    FEATURES,
    MODELS,
    NEW,
    OLD,
    OLDER_MODEL,
    QWEN,
    STARCODER,
    VERSION,
    config,
    graphql,
    model,
    models,
)

PATIENT = Timeouts(connect=30, first_event=30, total=30)
HAIKU = "anthropic::2023-06-01::claude-3-haiku"
EDITS = "fireworks::v1::autoedits-deepseek-lite-default"
ENFORCED = {**NEW, CLIENT_CONFIG: config(attribution="enforced")}


@dataclass
class Session:
    """A user of one instance, whose clock can be put forward."""

    instance: StandIn
    backend: Backend
    generations: Generations
    clock: Clock
    told: list[str] = field(default_factory=list)
    settings: Settings = field(default_factory=Settings)

    def choose(self, **given: Any) -> None:
        account = {"endpoint": self.instance.url, "accessToken": TOKEN}
        self.settings, problems = resolve([("the test", {**account, **given})])
        assert not problems
        self.backend.choose(self.settings)

    async def outcome(self, drawn: str = "x = <cursor>\n", **given: Any) -> Outcome:
        text, offset = cursor(drawn)
        document = Document.open("file:///w/a.py", "python", 1, text)
        request = Request(
            document=document,
            offset=offset,
            path="a.py",
            settings=self.settings,
            provider=self.backend.provider,
            current=lambda: document,
            **given,
        )
        return await complete(request, self.generations)

    async def suggested(self, drawn: str = "x = <cursor>\n", **given: Any) -> str:
        outcome = await self.outcome(drawn, **given)
        assert isinstance(outcome, Suggested), outcome
        return outcome.edits[0].new_text

    async def later(self, seconds: float = LASTS) -> None:
        """Time passes, and what an instance says by then is heard."""
        self.clock.now += seconds
        await self.heard()

    async def heard(self) -> None:
        """What is to be asked again is asked, and answered."""
        self.backend.get_ready()
        await asyncio.gather(*[t for t in asyncio.all_tasks() if t.get_name() == "site"])

    @property
    def asked(self) -> list[Exchange]:
        return self.instance.completions

    @property
    def versions(self) -> list[str]:
        return [each.query["api-version"] for each in self.asked]

    @property
    def models(self) -> list[str | None]:
        return [each.json.get("model") for each in self.asked]


@asynccontextmanager
async def using(
    pages: Mapping[str, Reply],
    answer: Answer | None = None,
    *,
    rules: Rules | None = None,
    patience: float = 30.0,
    **given: Any,
) -> AsyncIterator[Session]:
    async with AsyncExitStack() as closing:
        script = answer or Answer("a + b\n")
        instance = StandIn(script, rules=rules or Rules(), pages=pages)
        await closing.enter_async_context(instance)
        transport = Transport()
        closing.push_async_callback(transport.aclose)
        clock, told = Clock(), list[str]()
        sites = Sites(transport.events, patience=patience, clock=clock)
        closing.push_async_callback(sites.aclose)
        backend = Backend(pytest.fail, sites=sites, tell=told.append)
        generations = Generations(
            lambda request: transport.events(request, PATIENT), replaced=backend.replaced
        )
        closing.push_async_callback(generations.aclose)
        session = Session(instance, backend, generations, clock, told)
        session.choose(**given)
        yield session


# ---- which version and which model


@pytest.mark.parametrize(
    ("pages", "version", "model", "begins"),
    [
        pytest.param(NEW, "2", "fireworks/starcoder", "<filename>a.py<fim_", id="a new one"),
        pytest.param(OLD, "1", None, "<filename>a.py<fim_", id="an old one"),
        pytest.param({}, "1", None, "\n\n#a.py\n<｜fim", id="one that says nothing"),
        pytest.param(
            dict.fromkeys(EVERYTHING, html_page()), "1", None, "\n\n#a.py\n<｜fim", id="wrong pages"
        ),
        pytest.param(
            dict.fromkeys(EVERYTHING, Reply(status=200, body="{" * 50, cut_after=9)),
            "1",
            None,
            "\n\n#a.py\n<｜fim",
            id="pages that break off",
        ),
        pytest.param(
            {
                **NEW,
                MODELS: models(model("own::x::fast", modelName="qwen2.5-coder-7b")),
            },
            "2",
            "own/fast",
            "<|file_sep|>a.py\n<|fim_prefix|>",
            id="its maker's name tells the form",
        ),
        pytest.param(
            {
                **NEW,
                MODELS: models(
                    model(
                        "own::x::starcoder2",
                        clientSideConfig={"openAICompatible": {}},
                    )
                ),
            },
            "2",
            None,
            "<filename>a.py<fim_",
            id="on the administrator's own server it is not named",
        ),
        pytest.param(
            {**NEW, MODELS: models(model(QWEN, status="deprecated"), model(STARCODER))},
            "2",
            "fireworks/starcoder",
            "<filename>a.py<fim_",
            id="one that is going to be taken away",
        ),
        pytest.param(
            {**NEW, MODELS: models(model(EDITS), model(QWEN), model(STARCODER), default=EDITS)},
            "2",
            "fireworks/qwen2.5-coder-7b",
            "<|file_sep|>a.py\n<|fim_prefix|>",
            id="one that rewrites code",
        ),
    ],
)
async def test_it_is_asked_as_it_wants_to_be(
    pages: Mapping[str, Reply], version: str, model: str | None, begins: str
) -> None:
    async with using(pages) as it:
        assert await it.suggested() == "a + b"
        assert it.versions == [version]
        assert it.models == [model]
        assert it.asked[0].prompt.startswith(begins)
        assert it.told == []


@pytest.mark.parametrize("body", [b"\xff\xfe", b"", b"[]", b"null", b'{"models": 3}'])
@pytest.mark.parametrize("path", EVERYTHING)
async def test_a_wrong_page_never_stops_completions(path: str, body: bytes) -> None:
    async with using({**OLD, **NEW, path: Reply(status=200, body=body)}) as it:
        assert await it.suggested() == "a + b"


async def test_one_that_hangs_is_asked_as_every_instance_may_be() -> None:
    late = {path: replace(page, delay=3600) for path, page in NEW.items()}
    async with using(late, patience=0.05) as it:
        assert await it.suggested() == "a + b"
        assert await it.suggested() == "a + b"
        assert it.versions == ["1", "1"]
        assert not any(each.over for each in it.instance.requests if each not in it.asked)


async def test_what_comes_late_counts_from_then_on() -> None:
    async with using(NEW, patience=0) as it:
        assert await it.suggested() == "a + b"
        await it.heard()
        assert await it.suggested() == "a + b"
        assert it.versions == ["1", "2"]


async def test_a_version_that_is_chosen_stays() -> None:
    async with using(NEW, apiVersion=5) as it:
        assert await it.suggested() == "a + b"
        assert it.versions == ["5"]


async def test_a_version_it_does_not_speak_is_remembered_after_it_was_asked_again() -> None:
    async with using(NEW, rules=Rules(versions=[1])) as it:
        for _ in range(2):
            assert await it.suggested() == "a + b"
        assert it.versions == ["2", "1", "1"]
        await it.later()
        assert await it.suggested() == "a + b"
        assert it.versions == ["2", "1", "1", "1"]


async def test_another_instance_is_asked_what_it_says() -> None:
    async with using(NEW) as it, StandIn(Answer("c\n"), pages=OLD) as other:
        assert await it.suggested() == "a + b"
        it.choose(endpoint=other.url)
        assert await it.suggested() == "c"
        assert other.completions[0].query["api-version"] == "1"
        it.choose()
        assert await it.suggested() == "a + b"
        assert it.versions == ["2", "2"]


async def test_another_account_is_asked_what_it_says() -> None:
    async with using(NEW) as it:
        assert await it.suggested() == "a + b"
        before = len(it.instance.requests)
        it.choose(accessToken="sgp_of_another")
        with pytest.raises(Refused):
            await it.outcome()
        others = it.instance.requests[before:]
        assert {each.headers["authorization"] for each in others} == {"token sgp_of_another"}


# ---- the user's choice of a model


TWO = {**NEW, MODELS: models(model(STARCODER), model(QWEN), model(EDITS), default=STARCODER)}


@pytest.mark.parametrize(
    ("chosen", "asked"),
    [
        pytest.param(QWEN, "fireworks/qwen2.5-coder-7b", id="by its reference"),
        pytest.param("qwen2.5-coder-7b", "fireworks/qwen2.5-coder-7b", id="by its name"),
    ],
)
async def test_the_user_s_choice(chosen: str, asked: str) -> None:
    async with using(TWO, model=chosen) as it:
        assert await it.suggested() == "a + b"
        assert it.models == [asked]
        assert it.asked[0].prompt.startswith("<|file_sep|>a.py\n")
        assert it.told == []
        assert it.backend.model == asked


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        pytest.param("fireworks/codegemma", "has no model", id="it is not there"),
        pytest.param(EDITS, "rewrites code", id="it rewrites code"),
    ],
)
async def test_a_choice_that_cannot_be_is_told_once(chosen: str, sentence: str) -> None:
    async with using(TWO, model=chosen) as it:
        for _ in range(3):
            assert await it.suggested() == "a + b"
        await it.later()
        assert await it.suggested() == "a + b"
        assert it.models == ["fireworks/starcoder"] * 4
        (told,) = it.told
        assert sentence in told
        assert "fireworks/starcoder" in told
        # There by now, and gone again.
        it.instance.pages[MODELS] = models(model(STARCODER), model(chosen, modelName="qwen"))
        if "edits" not in chosen:
            await it.later()
            await it.suggested()
            assert it.told == [told]
            it.instance.pages[MODELS] = TWO[MODELS]
            await it.later()
            await it.suggested()
            assert it.told == [told, told]


async def test_a_model_that_is_refused_has_the_list_asked_again() -> None:
    rules = Rules(models=[STARCODER], default_model=STARCODER)
    async with using(TWO, rules=rules, model=QWEN) as it:
        with pytest.raises(Refused, match=r"fireworks/qwen2\.5-coder-7b"):
            await it.outcome()
        before = len(it.instance.requests)
        assert await it.suggested() == "a + b"
        await it.heard()
        assert [each.path for each in it.instance.requests[before:]].count(MODELS) == 1
        # It is still in the list, yet not asked for again.
        await it.later()
        assert await it.suggested() == "a + b"
        assert it.models == ["fireworks/qwen2.5-coder-7b", None, None]
        assert it.asked[-1].prompt.startswith("<filename>a.py<fim_")
        assert it.told == []


async def test_where_nobody_completes_code_it_is_told_what_to_do() -> None:
    pages = {**NEW, MODELS: models(model(HAIKU, capabilities=["chat"]), default="a::b::autoedits")}
    async with using(pages) as it:
        with pytest.raises(ConfigurationError, match="setting `model`"):
            await it.outcome()
        assert not it.asked


async def test_which_model_answers_is_logged_when_it_changes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "lsp_completions.backend")
    async with using(NEW) as it:
        for _ in range(3):
            await it.suggested()
            await it.later()
        it.instance.pages[MODELS] = models(model(QWEN))
        await it.later()
        await it.suggested()
    starcoder, qwen = [each.getMessage() for each in caplog.records]
    assert "fireworks/starcoder" in starcoder
    assert "fireworks/qwen2.5-coder-7b" in qwen


# ---- how much it reads


async def test_a_small_window_makes_a_short_prompt() -> None:
    window = {"maxInputTokens": 200, "maxOutputTokens": 40}
    async with using({**NEW, MODELS: models(model(STARCODER, contextWindow=window))}) as it:
        await it.suggested("".join(f"line_{n} = {n}\n" for n in range(500)) + "x = <cursor>\n")
        assert len(it.asked[0].prompt) < 200 * 3.5
        assert "line_499" in it.asked[0].prompt
        assert it.asked[0].json["maxTokensToSample"] == 40
        it.choose(prefixChars=2000, maxTokens=99)
        await it.suggested("".join(f"line_{n} = {n}\n" for n in range(500)) + "x = <cursor>\n")
        assert len(it.asked[1].prompt) > 1700
        assert it.asked[1].json["maxTokensToSample"] == 99


# ---- the administrator's switches


@pytest.mark.parametrize(
    ("off", "on"),
    [
        pytest.param(
            {**NEW, CLIENT_CONFIG: config(autoCompleteEnabled=False)}, NEW, id="completions"
        ),
        pytest.param({**NEW, CLIENT_CONFIG: config(codyEnabled=False)}, NEW, id="everything"),
        pytest.param(
            {**OLD, FEATURES: graphql(codyConfigFeatures={"autoComplete": False})},
            OLD,
            id="on an old instance",
        ),
    ],
)
async def test_switched_off_until_it_is_on_again(
    off: Mapping[str, Reply], on: Mapping[str, Reply]
) -> None:
    async with using(off) as it:
        for _ in range(3):
            with pytest.raises(SwitchedOff, match=r"127\.0\.0\.1"):
                await it.outcome()
        assert not it.asked
        it.instance.pages.update(on)
        await it.later(OFF_LASTS)
        assert await it.suggested() == "a + b"


async def test_switched_off_while_it_is_used() -> None:
    async with using(NEW) as it:
        assert await it.suggested() == "a + b"
        it.instance.pages[CLIENT_CONFIG] = config(autoCompleteEnabled=False)
        await it.later()
        with pytest.raises(SwitchedOff):
            await it.outcome()


# ---- where code comes from


async def test_with_attribution_it_is_shown_when_all_has_come() -> None:
    gate = Gate()
    async with using(ENFORCED, Answer("a + b\n", "y = 2\n", gate, "z = 3\n")) as it:
        waiting = asyncio.create_task(it.suggested())
        await it.instance.until(lambda: it.asked and len(it.asked[0].sent_at) >= 2)
        await asyncio.wait([waiting], timeout=0.05)
        assert not waiting.done()
        gate.open()
        assert await waiting == "a + b"
        assert not it.instance.hang_ups


async def test_without_it_is_shown_as_soon_as_it_is_good() -> None:
    async with using(NEW, Answer("a + b\n", "y = 2\n", Gate())) as it:
        assert await it.suggested() == "a + b"


@pytest.mark.parametrize(
    ("pages", "drawn", "said"),
    [
        pytest.param(ENFORCED, "x = <cursor>\n", [], id="nothing was said"),
        pytest.param(ENFORCED, "x = <cursor>\n", ["a + b"], id="a line"),
        pytest.param(ENFORCED, "x = <cursor>\n", ["a + b\n", "y = 2\n"], id="more than a line"),
        pytest.param(NEW, "x = <cursor>\n", [], id="known by nothing else"),
        pytest.param(NEW, "def f():<cursor>\n", ["\n    a = 1\n    b"], id="a broken block"),
    ],
)
async def test_what_has_no_known_origin_is_not_shown(
    pages: Mapping[str, Reply], drawn: str, said: list[str]
) -> None:
    answer = Answer(*said, stop_reason="", attribution_error="no attribution")
    async with using(pages, answer) as it:
        assert await it.outcome(drawn) == Skipped(reason=SkipReason.NOT_ATTRIBUTED)
        assert it.told == []


@pytest.mark.parametrize(
    ("drawn", "answer", "shown"),
    [
        pytest.param(
            "x = <cursor>\n",
            Answer("a + b\n", "y", stop_reason="", error="no"),
            "a + b",
            id="an error",
        ),
        pytest.param("x = <cursor>\n", Answer("a + b\n", "y", CUT), "a + b", id="it breaks off"),
        pytest.param(
            "def f():<cursor>\n",
            Answer("\n    a = 1\n", "    b", CUT, stop_reason=""),
            "\n    a = 1",
            id="a block breaks off",
        ),
    ],
)
async def test_with_attribution_nothing_is_shown_of_what_failed(
    drawn: str, answer: Answer, shown: str
) -> None:
    async with using(ENFORCED, answer) as it:
        with pytest.raises(ProviderError):
            await it.outcome(drawn)
        # It would be without.
        it.instance.pages[CLIENT_CONFIG] = config()
        await it.later()
        assert await it.suggested(drawn) == shown


async def test_with_attribution_nothing_is_shown_at_the_deadline() -> None:
    async with using(ENFORCED, Answer("a + b\n", "y = 2\n", Gate())) as it:
        await it.heard()
        outcome = await it.outcome(deadline=0.2)
        assert outcome == Skipped(reason=SkipReason.TOO_SLOW)
        assert it.asked


# ---- recorded ones


RECORDED = {
    "site_version": VERSION,
    "client_config": CLIENT_CONFIG,
    "modelconfig": MODELS,
    "llm_config": OLDER_MODEL,
    "config_features": FEATURES,
}


async def test_recorded_configurations_through_the_real_transport() -> None:
    for row in extra_cases("cases/recorded_config_exchanges.jsonl"):
        if (path := RECORDED.get(row["set"])) is None:
            continue
        headers = row["response_headers"]
        page = Reply(
            status=row["status"],
            body=row["response_body"],
            content_type=headers.get("content-type", ""),
            headers={"retry-after": headers["retry-after"]} if "retry-after" in headers else {},
        )
        pages = {path: page}
        if path == MODELS:
            pages[CLIENT_CONFIG] = NEW[CLIENT_CONFIG]
        elif path == OLDER_MODEL:
            pages[CLIENT_CONFIG] = config(modelsAPIEnabled=False)
        async with using(pages, rules=Rules(backend="any")) as it:
            understood = row["status"] == 200
            off = path == CLIENT_CONFIG and '"autoCompleteEnabled": false' in row["response_body"]
            if off and understood:
                with pytest.raises(SwitchedOff):
                    await it.outcome()
                continue
            assert await it.suggested() == "a + b", row["id"]
            if not understood:
                assert it.versions == ["1" if path != MODELS else "2"], row["id"]
            elif path == MODELS:
                (asked,) = it.models
                assert asked in ("fireworks/deepseek-coder-v2-lite-base", "fireworks/starcoder")
            elif path == OLDER_MODEL and "completionModel" in row["response_body"]:
                provider = await it.backend.provider()
                assert isinstance(provider, Sourcegraph)
                assert provider.default_model in row["response_body"]
