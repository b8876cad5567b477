"""What other code is shown: which may be, what is ready, and that it stays while somebody types."""

import asyncio
import gc
import json
import os
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lsp_completions.neighbours import Neighbours
from lsp_completions.pipeline.context import Windows, context_at
from lsp_completions.pipeline.document import (
    Document,
    Position,
    Range,
    TextChange,
    apply_changes,
)
from lsp_completions.pipeline.excerpts.index import Index
from lsp_completions.pipeline.imports import Import
from lsp_completions.pipeline.positions import PositionEncoding
from lsp_completions.pipeline.prompt import Excerpt
from lsp_completions.pipeline.uris import display_path
from lsp_completions.providers.base import Event, HttpRequest, Provider
from lsp_completions.providers.ollama import Ollama
from lsp_completions.providers.sourcegraph import Sourcegraph
from lsp_completions.request import ExcerptQuery
from lsp_completions.secret import Secret
from lsp_completions.settings import Settings, resolve
from lsp_completions.sharing.context_filters import ContextFilters
from lsp_completions.sharing.gate import Gate
from lsp_completions.sharing.imported_files import Found, ImportedFiles
from lsp_completions.transport import Timeouts
from tests.support.cursor import cursor

OWN_SERVER = Ollama(url="http://127.0.0.1:1", model="m")
INSTANCE = Sourcegraph(endpoint="http://127.0.0.1:1", token=Secret("t"))
KEY = "AKIA" + "IOSFODNN7ABCDEFG"  # no real one, and not written as one
PRICES = f'AWS = "{KEY}"\n\n\ndef price_of(article, *, discount):\n    return article.price\n'
SHOP = "from prices import AWS, price_of\n\n\ndef total(cart):\n    return <cursor>\n"
SHOWN = "def price_of(article, *, discount):"


@dataclass
class Scene:
    """A workspace, what is open in it, and somebody who asks."""

    folder: Path
    gate: Gate
    settings: Settings
    neighbours: Neighbours
    provider: Provider = OWN_SERVER
    now: float = 0.0
    chars: int = 1256
    documents: dict[str, Document] = field(default_factory=dict)
    offsets: dict[str, int] = field(default_factory=dict)

    def opens(self, path: str, drawn: str, language: str = "python") -> str:
        text, offset = cursor(drawn) if "<cursor>" in drawn else (drawn, len(drawn))
        uri = path if ":" in path else (self.folder / path).as_uri()
        self.documents[path] = document = Document.open(uri, language, 1, text)
        self.offsets[path] = offset
        self.gate.judge(uri)
        self.neighbours.opened(document)
        return uri

    def closes(self, path: str) -> None:
        uri = self.documents.pop(path).uri
        self.gate.forget(uri)
        self.neighbours.closed(uri)

    def types(self, path: str, text: str) -> None:
        document, offset = self.documents[path], self.offsets[path]
        line, column = document.place_at(offset)
        place = Position(line, column)
        change = TextChange(Range(place, place), text)
        document = apply_changes(document, [change], PositionEncoding.UTF32, 2)
        self.documents[path], self.offsets[path] = document, offset + len(text)
        self.neighbours.changed(document, [change])

    def follows(self, **settings: object) -> None:
        self.settings, problems = resolve([("test", settings)])
        assert not problems
        self.gate.follow(self.settings, [self.folder.as_uri()])
        self.neighbours.follow(self.settings)

    async def sees(self, path: str = "shop.py") -> tuple[Excerpt, ...]:
        """The excerpts of one request."""
        document = self.documents[path]
        # Nothing is asked for a document of which it is not known that it may be sent.
        await self.gate.decided(document.uri, self.provider)
        context = context_at(
            document,
            self.offsets[path],
            path=display_path(document.uri, [self.folder.as_uri()]),
            windows=Windows(prefix_chars=4300, suffix_chars=716),
        )
        query = ExcerptQuery(
            document=document,
            context=context,
            provider=self.provider,
            settings=self.settings,
            chars=self.chars,
        )
        await self.neighbours.decided(query)
        return self.neighbours.excerpts(query)

    async def reads(self, path: str = "shop.py", *, until: str = "") -> str:
        """All that is shown, once it is ready or holds a text."""
        async with asyncio.timeout(20):
            while True:
                shown = "\n".join(each.text for each in await self.sees(path))
                if until in shown and not self.neighbours.is_busy:
                    return shown
                await asyncio.sleep(0.001)


@asynccontextmanager
async def opened(
    folder: Path, *, filters: object = None, files: ImportedFiles | None = None, **settings: Any
) -> AsyncIterator[Scene]:
    async def events(request: HttpRequest, _: Timeouts) -> AsyncGenerator[Event, None]:
        site = {"codyContextFilters": {"raw": filters}} if "Filters" in request.url else {}
        yield Event(data=json.dumps({"data": {"site": site, "repository": None}}))

    async def version(_: Sourcegraph) -> str | None:
        return "6.0.0"

    known = ContextFilters(events, version=version)
    gate = Gate(known)
    scene: Scene
    neighbours = Neighbours(
        gate,
        lambda: (folder.as_uri(),),
        files=files,
        clock=lambda: scene.now,
        # What takes longer than that is a test that fails.
        wait=20,
    )
    scene = Scene(folder, gate, Settings(), neighbours)
    scene.follows(**settings)
    try:
        yield scene
    finally:
        await neighbours.aclose()
        await gate.aclose()
        await known.aclose()


async def test_what_is_defined_in_another_open_document_is_shown(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        scene.opens("prices.py", PRICES)
        scene.opens("shop.py", SHOP)
        (excerpt,) = await scene.sees()
        assert excerpt.path == "prices.py"
        assert SHOWN in excerpt.text


async def test_a_secret_is_masked(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        scene.opens("prices.py", PRICES)
        scene.opens("shop.py", SHOP)
        shown = await scene.reads(until=SHOWN)
        assert 'AWS = "AKIAxxxxxxxxxxxxxxxx"' in shown
        assert KEY not in shown


@pytest.mark.parametrize(
    ("path", "settings"),
    [
        pytest.param("prices.py", {"exclude": ["prices.py"]}, id="excluded"),
        pytest.param("ignored/prices.py", {}, id="ignored by git"),
        pytest.param(".aws/credentials", {}, id="secret by its name"),
        pytest.param("file:///elsewhere/prices.py", {"outsideWorkspace": False}, id="outside"),
        pytest.param("git:/w/prices.py?main", {}, id="no file"),
        pytest.param("prices.py", {"exclude": ["("], "schemes": ["git"]}, id="of no known kind"),
    ],
)
async def test_what_may_not_be_sent_is_not_shown(
    tmp_path: Path, path: str, settings: dict[str, Any]
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / ".gitignore").write_text("ignored/\n")
    async with opened(tmp_path, **settings) as scene:
        scene.opens(path, PRICES)
        scene.opens("shop.py", SHOP)
        assert await scene.reads() == ""


async def test_what_comes_to_be_excluded_is_gone_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        scene.opens("prices.py", PRICES)
        scene.opens("shop.py", SHOP)
        await scene.reads(until=SHOWN)
        before = scene.settings
        scene.follows(exclude=["prices.py"])
        assert await scene.sees() == ()
        # Also where a request began under the settings of before.
        scene.settings = before
        assert await scene.sees() == ()
        scene.follows()
        assert SHOWN in await scene.reads(until=SHOWN)


async def test_of_what_grew_too_long_to_search_nothing_old_is_shown(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        scene.opens("prices.py", PRICES)
        scene.opens("shop.py", SHOP)
        await scene.reads(until=SHOWN)
        scene.types("prices.py", "x = 1\n" * 80_000)
        assert await scene.sees() == ()


@pytest.mark.parametrize(
    "narrower",
    [
        pytest.param({"context": "document"}, id="the document alone"),
        pytest.param({"openDocuments": False}, id="no open documents"),
    ],
)
async def test_who_asked_before_is_shown_no_more_than_the_settings_let_now(
    tmp_path: Path, narrower: dict[str, Any]
) -> None:
    async with opened(tmp_path) as scene:
        scene.opens("prices.py", PRICES)
        scene.opens("shop.py", SHOP)
        await scene.reads(until=SHOWN)
        before = scene.settings
        scene.follows(**narrower)
        scene.settings = before
        assert await scene.sees() == ()


async def test_what_is_closed_is_gone_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        scene.opens("prices.py", PRICES)
        scene.opens("shop.py", SHOP)
        await scene.reads(until=SHOWN)
        scene.closes("prices.py")
        assert await scene.sees() == ()


async def test_an_instance_sees_of_each_repository_what_its_rules_allow(tmp_path: Path) -> None:
    for name in ("ours", "theirs"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        config = f'[remote "origin"]\n\turl = https://h.org/{name}/a.git\n'
        (tmp_path / name / ".git" / "config").write_text(config)
    rules = {"exclude": [{"repoNamePattern": "theirs"}]}
    async with opened(tmp_path, filters=rules) as scene:
        scene.opens("theirs/prices.py", PRICES)
        scene.opens("ours/shop.py", SHOP)
        assert SHOWN in await scene.reads("ours/shop.py", until=SHOWN)
        scene.provider = INSTANCE
        assert SHOWN not in await scene.reads("ours/shop.py")
        scene.opens("ours/prices.py", PRICES)
        assert SHOWN in await scene.reads("ours/shop.py", until=SHOWN)
        assert {each.path for each in await scene.sees("ours/shop.py")} == {"ours/prices.py"}


# ---- files on the disk


async def test_an_imported_file_is_shown_when_it_was_read(tmp_path: Path) -> None:
    (tmp_path / "prices.py").write_text(PRICES)
    async with opened(tmp_path) as scene:
        scene.opens("shop.py", SHOP)
        assert await scene.sees() == ()
        assert SHOWN in await scene.reads(until=SHOWN)


async def test_what_an_imported_file_passes_on_is_found_behind_it(tmp_path: Path) -> None:
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices" / "__init__.py").write_text("from .inner import price_of as price_of\n")
    (tmp_path / "prices" / "inner.py").write_text(PRICES)
    async with opened(tmp_path) as scene:
        scene.opens("shop.py", SHOP)
        assert SHOWN in await scene.reads(until=SHOWN)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"exclude": ["prices.py"]}, id="excluded"),
        pytest.param({"importedFiles": False}, id="switched off"),
        pytest.param({"context": "document"}, id="the document alone"),
    ],
)
async def test_a_file_that_may_not_be_shown_is_not_even_read(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    (tmp_path / "prices.py").write_text(PRICES)
    read: list[str] = []

    class Watched(ImportedFiles):
        def read(self, found: Found) -> str | None:
            read.append(found.uri)
            return super().read(found)

    async with opened(tmp_path, files=Watched(), **settings) as scene:
        scene.opens("shop.py", SHOP)
        for _ in range(3):
            assert await scene.reads() == ""
            scene.now += 10
        assert read == []


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
async def test_no_link_leads_out_of_the_workspace(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "prices.py").write_text(PRICES)
    (inside / "prices.py").symlink_to(outside / "prices.py")
    (inside / "linked").symlink_to(outside)
    async with opened(inside) as scene:
        scene.opens("shop.py", SHOP + "\n\nfrom linked.prices import price_of\n")
        for _ in range(3):
            assert SHOWN not in await scene.reads()
            scene.now += 10


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
async def test_a_link_that_leads_elsewhere_by_now_is_judged_anew(tmp_path: Path) -> None:
    (tmp_path / "sold.py").write_text(PRICES)
    (tmp_path / "prices.py").symlink_to("sold.py")
    (tmp_path / ".env").write_text("def price_of(secret):\n    return 1\n")
    async with opened(tmp_path) as scene:
        scene.opens("shop.py", SHOP)
        await scene.reads(until=SHOWN)
        (tmp_path / "prices.py").unlink()
        (tmp_path / "prices.py").symlink_to(".env")
        scene.now += 10
        await scene.sees()
        await scene.reads()
        assert await scene.reads() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
async def test_a_file_that_is_another_when_it_is_read_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "shown").mkdir()
    (tmp_path / "kept").mkdir()
    (tmp_path / "shown" / "prices.py").write_text(PRICES)
    (tmp_path / "kept" / "prices.py").write_text(PRICES)
    read: list[str | None] = []

    class Swapped(ImportedFiles):
        def read(self, found: Found) -> str | None:
            (tmp_path / "shown").rename(tmp_path / "gone")
            (tmp_path / "shown").symlink_to("kept")
            read.append(super().read(found))
            return read[-1]

    async with opened(tmp_path, files=Swapped(), exclude=["kept/"]) as scene:
        scene.opens("shop.py", "from shown.prices import price_of\n" + SHOP)
        async with asyncio.timeout(20):
            while not read:
                await scene.reads()
                scene.now += 10
        assert read == [None]
        assert await scene.reads() == ""


async def test_a_file_is_read_again_when_it_changed(tmp_path: Path) -> None:
    (tmp_path / "prices.py").write_text(PRICES)
    async with opened(tmp_path) as scene:
        scene.opens("shop.py", SHOP)
        await scene.reads(until=SHOWN)
        (tmp_path / "prices.py").write_text("def price_of(thing):\n    return 1\n")
        os.utime(tmp_path / "prices.py", (1, 1))
        scene.now += 10
        assert "article" not in await scene.reads(until="def price_of(thing):")
        (tmp_path / "prices.py").unlink()
        scene.now += 10
        await scene.sees()
        await scene.reads()
        assert await scene.reads() == ""


async def test_a_slow_disk_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "taxes.py").write_text("def tax_on(amount):\n    return 1\n")
    goes_on = threading.Event()

    class Slow(ImportedFiles):
        def find(self, uri: str, imports: Sequence[Import], roots: Sequence[str]) -> list[Found]:
            assert goes_on.wait(20)
            return super().find(uri, imports, roots)

    async with opened(tmp_path, files=Slow()) as scene:
        scene.opens("prices.py", PRICES)
        scene.opens("shop.py", "from taxes import tax_on\n" + SHOP)
        for _ in range(3):
            shown = "\n".join(each.text for each in await scene.sees())
            assert SHOWN in shown
            assert "tax_on" not in shown
        goes_on.set()
        assert SHOWN in await scene.reads(until="def tax_on(amount):")


# ---- switches and budgets

FAR = "def far_away(one, two):\n    return one\n" + "# filler\n" * 900


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, {"open", "imported", "far"}, id="all"),
        pytest.param({"context": "document"}, {"far"}, id="the document alone"),
        pytest.param({"openDocuments": False}, {"imported", "far"}, id="no open documents"),
        pytest.param({"importedFiles": False}, {"open", "far"}, id="no imported files"),
        pytest.param({"distantCode": False}, {"open", "imported"}, id="nothing far away"),
        pytest.param(
            {"openDocuments": False, "importedFiles": False, "distantCode": False}, set(), id="none"
        ),
    ],
)
async def test_each_source_can_be_switched_off(
    tmp_path: Path, settings: dict[str, Any], expected: set[str]
) -> None:
    (tmp_path / "disk.py").write_text("def from_disk(one):\n    return 1\n")
    async with opened(tmp_path, **settings) as scene:
        scene.opens("other.py", "def from_other(one):\n    return 1\n")
        scene.opens(
            "shop.py",
            FAR + "from disk import from_disk\nfrom_other\nfar_away\nfrom_disk\nx = <cursor>\n",
        )
        told = {"open": "def from_other", "imported": "def from_disk", "far": "def far_away"}
        for _ in range(4):
            shown = await scene.reads()
            scene.now += 10
        assert {name for name, text in told.items() if text in shown} == expected


@pytest.mark.parametrize(("on", "expected"), [(True, True), (False, False)])
async def test_where_somebody_edited_last_counts_by_itself(
    tmp_path: Path, on: bool, expected: bool
) -> None:
    async with opened(tmp_path, openDocuments=False, recentEdits=on) as scene:
        scene.opens("prices.py", PRICES.replace("return article", "return <cursor>article"))
        scene.types("prices.py", "2 * ")
        scene.opens("shop.py", SHOP.replace("from prices import", "# of"))
        assert (SHOWN in await scene.reads()) is expected


async def test_a_budget_is_kept_and_nothing_comes_without_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        many = "".join(
            f"def price_{n}(article, discount):\n    return {n}\n\n\n" for n in range(80)
        )
        scene.opens("prices.py", many)
        scene.opens("shop.py", "from prices import *\n\n\nprice_1, price_70\nprice_<cursor>\n")
        for chars in (0, 100, 300, 1256, 5000):
            scene.chars = chars
            shown = await scene.sees()
            assert sum(len(each.text) + len(each.path) for each in shown) <= chars
            assert bool(shown) is (chars >= 300)


# ---- while somebody types


async def test_excerpts_stay_as_they_are_while_somebody_types(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        for name in ("prices", "taxes", "stock"):
            scene.opens(f"{name}.py", PRICES.replace("price_of", f"{name}_of"))
        scene.opens(
            "shop.py",
            "from prices import prices_of\nimport taxes, stock\n\n\ndef f(cart):\n    x<cursor>\n",
        )
        before = await scene.sees()
        assert before
        for key in " = cart.items()\n    y = [each for each in x]\n    return y\n\n":
            scene.types("shop.py", key)
            scene.now += 0.4
            await scene.reads()
            assert await scene.sees() == before


async def test_a_name_typed_to_its_end_brings_its_definition_and_the_rest_stays(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as scene:
        scene.opens("prices.py", PRICES)
        scene.opens("taxes.py", "def levy(amount):\n    return amount\n" + "# words\n" * 40)
        scene.opens("shop.py", SHOP)
        before = await scene.sees()
        assert not any("levy" in each.text for each in before)
        scene.types("shop.py", "levy(")
        after = await scene.sees()
        assert after[: len(before)] == before
        assert any("def levy(amount):" in each.text for each in after[len(before) :])


async def test_what_was_edited_since_is_not_shown_as_it_was(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        scene.opens("prices.py", PRICES.replace("article, *", "<cursor>article, *"))
        scene.opens("shop.py", SHOP)
        await scene.reads(until=SHOWN)
        scene.types("prices.py", "an_")
        scene.now += 10
        assert SHOWN not in await scene.reads(until="def price_of(an_article, *, discount):")


async def test_an_edit_elsewhere_in_a_document_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        notes = "\n".join(f"# note {number}" for number in range(200))
        scene.opens("prices.py", f"{PRICES}\n\n{notes}<cursor>\n")
        scene.opens("shop.py", SHOP)
        before = await scene.sees()
        scene.types("prices.py", "a note")
        scene.now += 10
        await scene.reads()
        assert await scene.sees() == before


async def test_what_the_model_sees_anyway_is_not_shown_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        scene.opens("prices.py", PRICES)
        scene.opens("copy.py", PRICES)
        scene.opens("shop.py", PRICES + SHOP)
        assert SHOWN not in await scene.reads()
        scene.opens("shop.py", SHOP)
        assert (await scene.reads(until=SHOWN)).count(SHOWN) == 1


async def test_other_languages_say_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        scene.opens("prices.ts", "export function price_of(article) {\n}\n", "typescript")
        scene.opens("shop.py", SHOP)
        assert await scene.reads() == ""


async def test_a_mistake_in_choosing_costs_no_more_than_the_excerpts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: object, **more: object) -> None:
        raise ValueError(PRICES)

    async with opened(tmp_path) as scene:
        scene.opens("prices.py", PRICES)
        scene.opens("shop.py", SHOP)
        monkeypatch.setattr("lsp_completions.neighbours.query_at", broken)
        assert await scene.reads() == ""
        monkeypatch.undo()
        assert SHOWN in await scene.reads(until=SHOWN)
    assert "ValueError" in caplog.text
    assert "price_of" not in caplog.text


def alive(path: str) -> list[Index]:
    """The indexes of a file that anybody still holds."""
    gc.collect()
    return [
        each for each in gc.get_objects() if isinstance(each, Index) and each.key.endswith(path)
    ]


async def test_of_a_text_that_was_edited_only_the_newest_index_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        scene.opens("prices.py", PRICES)
        for shop in ("shop.py", "other_shop.py"):
            scene.opens(shop, SHOP)
            await scene.reads(shop, until=SHOWN)
        scene.types("prices.py", "\n\ndef levy(amount):\n    return amount / 2\n")
        scene.now += 10
        # The other choice was made of the old one.
        await scene.reads("shop.py", until=SHOWN)
        (left,) = alive("prices.py")
        assert "levy" in left.defined


async def test_of_closed_documents_and_of_what_they_import_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "prices.py").write_text(PRICES)
    (tmp_path / "taxes.py").write_text("def levy(amount):\n    return amount / 2\n")
    taxed = SHOP.replace("AWS, price_of\n", "price_of\nfrom taxes import levy\n")
    async with opened(tmp_path) as scene:
        scene.opens("shop.py", SHOP)
        scene.opens("taxed_shop.py", taxed)
        for path in ("shop.py", "taxed_shop.py"):
            await scene.reads(path, until=SHOWN)
        await scene.reads("taxed_shop.py", until="def levy")
        scene.closes("taxed_shop.py")
        assert not alive("taxed_shop.py")
        assert not alive("taxes.py")
        assert alive("prices.py")  # the other one imports it as well
        await scene.reads("shop.py", until=SHOWN)
        scene.closes("shop.py")
        assert not [*alive("shop.py"), *alive("prices.py")]
