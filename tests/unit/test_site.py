"""What an instance says about itself, from a stand-in that says it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.providers.sourcegraph_site import (
    ClientConfig,
    ModelChoice,
    Site,
    api_version,
    completion_model,
    switched_off,
    unknown,
)
from lsp_completions.secret import Secret
from lsp_completions.site import AGAIN, LASTS, MOST, OFF_LASTS, Sites
from lsp_completions.transport import Transport
from tests.support.clock import Clock
from tests.support.sourcegraph import (
    TOKEN,
    Reply,
    StandIn,
    html_page,
    json_page,
    rate_limited,
    redirect,
    refusal,
)
from tests.support.sourcegraph.pages import (
    CLIENT_CONFIG,
    FEATURES,
    MODELS,
    NEW,
    OLD,
    VERSION,
    config,
    graphql,
)


@dataclass
class Asking:
    """An instance, and who asks it."""

    instance: StandIn
    sites: Sites
    clock: Clock
    provider: Sourcegraph = field(init=False)

    def __post_init__(self) -> None:
        self.provider = Sourcegraph(endpoint=self.instance.url, token=Secret(TOKEN))

    async def site(self) -> Site:
        return await self.sites.site(self.provider)

    @property
    def asked(self) -> list[str]:
        """What was asked, by its path, since this was looked at last."""
        paths = [
            each.path + "".join(f"?{name}" for name in each.query)
            for each in self.instance.requests
        ]
        self.instance.requests.clear()
        return sorted(paths)

    async def told_again(self) -> Site:
        """What is known after what is being asked was answered."""
        self.sites.known(self.provider)
        await asyncio.gather(*[t for t in asyncio.all_tasks() if t.get_name() == "site"])
        return self.sites.known(self.provider)


@asynccontextmanager
async def asking(pages: Mapping[str, Reply], *, patience: float = 30.0) -> AsyncIterator[Asking]:
    async with AsyncExitStack() as closing:
        instance = await closing.enter_async_context(StandIn(pages=pages))
        transport = Transport()
        closing.push_async_callback(transport.aclose)
        clock = Clock()
        sites = Sites(transport.events, patience=patience, clock=clock)
        closing.push_async_callback(sites.aclose)
        yield Asking(instance, sites, clock)


async def test_a_new_instance_is_asked_for_its_pages() -> None:
    async with asking(NEW) as it:
        site = await it.site()
        assert site.version == "6.3.1234"
        assert site.client_config is not None
        assert api_version(site) == 2
        choice = completion_model(site)
        assert isinstance(choice, ModelChoice)
        assert choice.model == "fireworks/starcoder"
        assert it.asked == sorted(NEW)


async def test_an_old_instance_is_asked_in_the_old_way() -> None:
    async with asking(OLD) as it:
        site = await it.site()
        assert site.client_config == ClientConfig(completes=True)
        assert api_version(site) == 1
        choice = completion_model(site)
        assert isinstance(choice, ModelChoice)
        assert choice.prompts_for == "fireworks/starcoder"
        assert it.asked == sorted([*OLD, CLIENT_CONFIG, MODELS])


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(refusal(401, "Invalid access token."), id="no token"),
        pytest.param(refusal(403, "no"), id="not allowed"),
        pytest.param(refusal(404, "404 page not found"), id="no such page"),
        pytest.param(refusal(500, "oops"), id="broken"),
        pytest.param(rate_limited("60"), id="too many"),
        pytest.param(html_page(), id="a login page"),
        pytest.param(Reply(status=200, body="<!doctype html>"), id="one as plain text"),
        pytest.param(Reply(status=200), id="no text"),
        pytest.param(redirect("https://login.example.com/"), id="sent away"),
        pytest.param(Reply(status=200, body="{" * 20, cut_after=3), id="cut off"),
        pytest.param(Reply(status=200, body="x" * 2_000_000), id="too long"),
        pytest.param(Reply(status=200, body=b'{"a": "\xff'), id="not UTF-8"),
        pytest.param(json_page({"data": None, "errors": [{"message": "no"}]}), id="an error"),
    ],
)
@pytest.mark.parametrize("failing", [VERSION, CLIENT_CONFIG, MODELS])
async def test_one_page_that_fails_spoils_no_other(failing: str, reply: Reply) -> None:
    async with asking({**NEW, failing: reply}) as it:
        site = await it.site()
        assert [site.version, site.client_config, site.models].count(None) == 1


async def test_nothing_known_stops_nothing() -> None:
    async with asking({}) as it:
        it.provider = replace(it.provider, token=Secret("wrong"))
        site = await it.site()
        assert site == unknown(it.provider)
        assert isinstance(completion_model(site), ModelChoice)
        assert switched_off(site) is None
        it.provider = replace(it.provider, endpoint="http://127.0.0.1:1")
        assert await it.site() == unknown(it.provider)


@pytest.mark.parametrize("content_type", ["application/json", "text/html", "", "image/png"])
async def test_pages_are_not_judged_by_their_type(content_type: str) -> None:
    pages = {path: replace(page, content_type=content_type) for path, page in NEW.items()}
    async with asking(pages) as it:
        site = await it.site()
        assert None not in (site.version, site.client_config, site.models)


async def test_it_is_asked_once_for_all_who_want_to_know() -> None:
    async with asking(NEW) as it:
        chosen = replace(it.provider, model="x/y", api_version=2)
        sites = await asyncio.gather(*[it.site() for _ in range(5)], it.sites.site(chosen))
        assert len({site.version for site in sites}) == 1
        assert it.asked == sorted(NEW)
        it.clock.now += LASTS - 1
        await it.told_again()
        assert it.asked == []


async def test_another_account_is_asked_for_itself() -> None:
    async with asking(NEW) as it:
        await it.site()
        other = await it.sites.site(replace(it.provider, token=Secret("wrong")))
        assert other.client_config is None


async def test_it_is_asked_again_after_an_hour_behind_what_is_known() -> None:
    async with asking(NEW) as it:
        await it.site()
        it.instance.pages[CLIENT_CONFIG] = config(autoCompleteEnabled=False)
        it.clock.now += LASTS
        assert switched_off(await it.site()) is None
        assert switched_off(await it.told_again()) is not None


async def test_one_that_is_switched_off_is_asked_again_sooner() -> None:
    async with asking({**NEW, CLIENT_CONFIG: config(autoCompleteEnabled=False)}) as it:
        assert switched_off(await it.site()) is not None
        it.instance.pages[CLIENT_CONFIG] = config()
        it.clock.now += OFF_LASTS
        assert switched_off(await it.told_again()) is None
        assert it.asked
        it.clock.now += OFF_LASTS
        await it.told_again()
        assert it.asked == []


async def test_an_old_instance_is_asked_again_in_the_old_way() -> None:
    async with asking(OLD) as it:
        await it.site()
        it.instance.pages[FEATURES] = graphql(codyConfigFeatures={"autoComplete": False})
        it.clock.now += LASTS
        assert switched_off(await it.told_again()) is not None


async def test_what_was_known_stays_while_it_fails() -> None:
    async with asking(NEW) as it:
        before = await it.site()
        for path in list(it.instance.pages):
            it.instance.pages[path] = refusal(502, "Bad Gateway")
        it.clock.now += LASTS
        assert await it.told_again() == before


async def test_failures_are_asked_again_ever_more_seldom() -> None:
    async with asking({**NEW, CLIENT_CONFIG: refusal(503, "starting")}) as it:
        await it.site()
        assert it.asked
        for wait in (AGAIN, 2 * AGAIN, 4 * AGAIN):
            it.clock.now += wait - 1
            await it.told_again()
            assert it.asked == []
            it.clock.now += 1
            await it.told_again()
            assert it.asked
        it.instance.pages[CLIENT_CONFIG] = config(autoCompleteEnabled=False)
        it.clock.now += 8 * AGAIN
        assert switched_off(await it.told_again()) is not None


async def test_what_failed_is_asked_again_when_the_way_is_another() -> None:
    async with asking({**NEW, CLIENT_CONFIG: refusal(503, "starting")}) as it:
        await it.site()
        assert it.asked
        it.instance.pages[CLIENT_CONFIG] = NEW[CLIENT_CONFIG]
        it.sites.retry(it.provider)
        assert (await it.told_again()).client_config is not None
        assert it.asked
        # Nothing failed, so nothing is asked.
        it.sites.retry(it.provider)
        await it.told_again()
        assert it.asked == []


async def test_accounts_of_long_ago_are_forgotten() -> None:
    async with asking(NEW) as it:
        for number in range(MOST):
            await it.sites.site(replace(it.provider, token=Secret(f"t{number}")))
        assert len(it.asked) == MOST * 5
        await it.sites.site(replace(it.provider, token=Secret("t1")))
        await it.site()
        assert it.asked == sorted(NEW)
        await it.sites.site(replace(it.provider, token=Secret("t0")))
        assert it.asked


async def test_what_it_once_said_can_be_forgotten() -> None:
    async with asking(NEW) as it:
        it.sites.forget(it.provider)
        await it.site()
        it.instance.pages[VERSION] = graphql(productVersion="6.4.0")
        it.sites.forget(replace(it.provider, model="x/y"))
        assert (await it.told_again()).version == "6.4.0"


async def test_nobody_waits_longer_than_patience_lasts() -> None:
    """What has come by then is used, and what comes later is used later."""
    late = replace(NEW[VERSION], delay=3600)
    async with asking({**NEW, VERSION: late}) as it:
        waiting = asyncio.create_task(it.site())
        await it.instance.until(lambda: len(it.instance.requests) == 3)
        it.clock.now += 31
        assert (await it.site()).version is None
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait([waiting])
        # Whoever gives up waiting stops nobody else's questions.
        assert not it.instance.hang_ups


async def test_no_patience_at_all() -> None:
    async with asking(NEW, patience=0) as it:
        assert (await it.site()).version is None
        assert (await it.told_again()).version == "6.3.1234"


async def test_whoever_has_less_patience_waits_less() -> None:
    late = replace(NEW[VERSION], delay=3600)
    async with asking({**NEW, VERSION: late}, patience=3600) as it, asyncio.timeout(10):
        site = await it.sites.site(it.provider, at_most=0.01)
        assert site.version is None
        waiting = asyncio.create_task(it.site())
        await it.instance.until(lambda: len(it.instance.requests) == 3)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait([waiting])


async def test_closing_hangs_up() -> None:
    late = {path: replace(page, delay=3600) for path, page in NEW.items()}
    async with asking(late) as it:
        waiting = asyncio.create_task(it.site())
        await it.instance.until(lambda: len(it.instance.requests) == 3)
        await it.sites.aclose()
        assert await waiting == unknown(it.provider)
        await it.instance.until(lambda: len(it.instance.hang_ups) == 3)
        assert await it.site() == unknown(it.provider)


async def test_the_token_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", logger="lsp_completions")
    async with asking({VERSION: refusal(500, f"no {TOKEN}")}) as it:
        site = await it.site()
        assert caplog.records
        assert TOKEN not in caplog.text
        assert TOKEN not in repr(site)
