"""The page of `lsp-completions inspect` in a real Chromium, in both themes and by keys alone."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lsp_completions.statistics.records import AFTER, Batch, Nothing, Suggestion
from lsp_completions.statistics.store import database_file, write
from tests.support import browser as chromium
from tests.support.browser import Browser, Page, running_browser
from tests.support.home import ROOT, Home
from tests.support.inspection import running_inspection
from tests.support.picture import WRITE_PICTURES

PICTURE = ROOT / "editors" / "inspect.png"
SIZE = (1360, 900)
MODEL = "fireworks::v1::deepseek-coder-v2-lite-base"
NASTY = '<img src=x onerror="document.title=1">.py'

pytestmark = pytest.mark.skipif(
    chromium.executable() is None,
    reason="needs Chromium: LSP_COMPLETIONS_CHROMIUM=$(tests/editors/install_chromium.sh)",
)

WATCH = """
window.told = [];
for (const name of ["error", "unhandledrejection"])
  addEventListener(name, (event) => told.push(String(event.message ?? event.reason)));
addEventListener("securitypolicyviolation", (event) => told.push(event.violatedDirective));
"""


def outcome(number: int, path: str, how: str | None, *times: float | None, **more: Any) -> Any:
    """What a server tells of a request; times from the prompt on."""
    names = ("prompt", "sent", "firstEvent", "firstText", "answered")
    return {
        "number": number,
        "at": time.time() - 600 + 11.7 * number,
        "method": "inline",
        "path": path,
        "language": "python" if path.endswith("py") else "rust",
        "line": 7 * number % 90 + 3,
        "byHand": False,
        "provider": None if how is None else "sourcegraph",
        "model": None if how is None else MODEL,
        "how": how,
        "reason": None,
        "message": None,
        "times": {"gate": 0.4, **dict(zip(names, times, strict=True))},
        "candidates": 1,
        "lines": 1,
        "characters": 24,
        "excerpts": None if how is None else 3,
        "shown": False,
        "fate": "passed over",
        "taken": 0,
        "settled": 1830.5,
        **more,
    }


def nothing(number: int, path: str, reason: str, message: str, **more: Any) -> Any:
    given: dict[str, Any] = {"fate": None, "lines": 0, "characters": 0, "candidates": 0}
    given |= {"settled": None, "reason": reason, "message": message}
    return outcome(number, path, None, None, None, None, None, 0.7, **{**given, **more})


ANEW, JOINED, MEMORY = "asked anew", "from a stream that ran already", "from memory"
EMPTY = "The model had nothing to add."
REQUESTS = [
    outcome(1, "app/models.py", ANEW, 2.1, 2.4, 300.0, 310.0, 342.0, fate="accepted", taken=24),
    outcome(2, "app/models.py", MEMORY, None, None, None, None, 1.2, fate="typed as suggested"),
    nothing(3, "app/models.py", "statementEnded", "Nothing is missing on this line."),
    outcome(4, "app/views.py", ANEW, 2.0, 2.2, 401.0, 405.0, 780.0, lines=6, fate="accepted"),
    nothing(5, "app/views.py", "superseded", "A newer request took its place."),
    outcome(6, "app/views.py", JOINED, None, -140.0, 160.0, 163.0, 255.0, fate="passed over"),
    outcome(7, "src/parser/lexer.rs", ANEW, 301.0, 301.5, 620.0, 622.0, 702.0),
    nothing(8, "config/.env", "secretFile", "Files of this name hold secrets."),
    outcome(9, "app/views.py", ANEW, 2.0, 2.1, 250.0, 252.0, 290.0, fate="accepted in part"),
    outcome(10, "app/views.py", MEMORY, None, None, None, None, 0.9, fate="accepted", taken=12),
    outcome(
        11,
        "app/forms.py",
        ANEW,
        *(2.0, 2.2, 240.0, None, 251.0),
        reason="empty",
        message=EMPTY,
        fate=None,
    ),
    outcome(12, "app/forms.py", ANEW, 2.2, 2.5, 511.0, 513.0, 930.0, lines=9, fate="accepted"),
    outcome(
        13,
        "app/forms.py",
        ANEW,
        *(2.0, 2.3, 3.0, None, 64.0),
        reason="providerFailed",
        message="sourcegraph.example.com is at its limit; suggestions come again in 12 seconds.",
        fate=None,
    ),
    outcome(14, "tests/test_forms.py", ANEW, 2.2, 2.4, 280.0, 281.0, 311.0, fate="nothing yet"),
]
PROMPT = (
    "<fim_prefix># Path: tests/test_forms.py\n# from app/forms.py:\n#def total(values):\n"
    "\nimport pytest\n\nfrom app.forms import total\n\n\ndef test_total() -> None:\n    assert "
    "<fim_suffix>\n\n\ndef test_nothing() -> None:\n    assert total([]) == 0\n<fim_middle>"
)
STAGES = {
    "prompt": PROMPT,
    "excerpts": ["app/forms.py"],
    "before": "    assert ",
    "steps": [
        {
            "name": "what the model said",
            "text": "```python\ntotal([1, 2]) == 3\n\n\ndef test_nothing",
        },
        {"name": "no fences", "text": "total([1, 2]) == 3\n\n\ndef test_nothing"},
        {"name": "cut", "text": "total([1, 2]) == 3"},
    ],
    "shown": ["total([1, 2]) == 3"],
}


class Desk:
    """Servers that tell of themselves, and a database: what the page shows is known."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.servers = home.folder / "lsp-completions" / "servers"
        self.servers.mkdir(mode=0o700, parents=True)

    def tells(self, requests: list[Any]) -> None:
        """What the running servers tell from now on, newest first."""
        told = {
            "version": "1",
            "started": 1.0,
            "editor": "Neovim",
            "editorVersion": "0.12.0",
            "workspace": ["/home/you/shop"],
            "status": {"state": "ready", "message": "", "model": MODEL},
            "outcomes": requests[::-1],
        }
        file = self.servers / f"{os.getpid()}.json"
        file.with_suffix(".new").write_text(json.dumps(told))
        file.with_suffix(".new").replace(file)

    def keeps_code(self, number: int) -> None:
        (self.servers / f"{os.getpid()}.code").write_text(json.dumps({number: STAGES}))

    def counted(self) -> None:
        day = 86_400
        models = (MODEL, "fireworks::v1::starcoder-16b")
        suggestions = [
            Suggestion(
                server="s",
                number=number,
                first=number,
                at=time.time() - (number * number % 23) * day,
                method="inline",
                language=("python", "python", "rust", "typescriptreact")[number % 4],
                provider="sourcegraph",
                model=models[number % 7 == 0],
                how=("ASKED", "MEMORY", "ASKED", "JOINED")[number % 4],
                sent=2.0,
                first_text=240.0 + number,
                answered=260.0 + 3 * number % 700,
                lines=1,
                characters=20,
                fate=("ENDED", "ACCEPTED", "ENDED")[number % 3],
                taken=20,
            )
            for number in range(1, 421)
        ]
        kept = {
            ("s", each.number, after): float(each.number % 11 != 0)
            for each in suggestions
            for after in AFTER
            if each.fate == "ACCEPTED"
        }
        today = time.strftime("%Y-%m-%d", time.gmtime())
        superseded = Nothing(day=today, reason="EMPTY", language="python", provider="sourcegraph")
        state = self.home.folder / "state" / "lsp-completions"
        write(
            database_file(state),
            Batch(suggestions=suggestions, kept=kept, nothings={superseded: 211}),
        )


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running_browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    home = Home(tmp_path)
    home.env["XDG_RUNTIME_DIR"] = str(tmp_path)
    return Desk(home)


def opened(browser: Browser, url: str, *, dark: bool = False) -> Page:
    """The page, where whatever goes wrong in it is noted."""
    page = browser.page("about:blank", SIZE)
    page.call("Page.enable")
    page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page.call("Emulation.setEmulatedMedia", features=[scheme])
    page.call("Page.navigate", url=url)
    page.wait_for("the page", "document.querySelector('#connection')?.className === 'live'")
    return page


def rows(page: Page) -> list[str]:
    return list(
        page.evaluate(
            "[...document.querySelectorAll('#requests button')].map((row) => row.innerText)"
        )
    )


def shows(page: Page, count: int) -> list[str]:
    page.wait_for(
        f"{count} requests", f"document.querySelectorAll('#requests button').length === {count}"
    )
    return rows(page)


def in_order(page: Page) -> None:
    """Nothing went wrong, and nothing was asked for elsewhere."""
    assert page.evaluate("told") == []
    asked = page.evaluate("performance.getEntriesByType('resource').map((each) => each.name)")
    assert asked
    origin = page.evaluate("location.origin")
    assert [each for each in asked if not each.startswith(origin)] == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_is_readable_in_both_themes(
    desk: Desk, browser: Browser, tmp_path: Path, dark: bool
) -> None:
    desk.counted()
    desk.tells(REQUESTS)
    with running_inspection(desk.home, "--with-code") as inspection:
        desk.keeps_code(14)
        page = opened(browser, inspection.url, dark=dark)
        said = shows(page, 13)
        assert "tests/test_forms.py" in said[0]
        page.wait_for("figures", "document.querySelector('#figures strong')")
        page.wait_for("days", "document.querySelector('#days rect')")
        page.wait_for("what is new to settle", "!document.getAnimations().length")
        assert page.evaluate(CONTRAST) == []
        page.picture(tmp_path / f"page-{dark}.png")
        if WRITE_PICTURES and not dark:
            smaller(tmp_path / f"page-{dark}.png", PICTURE)
        page.evaluate("document.querySelector('#requests button').click()")
        page.wait_for("the prompt", "document.querySelector('pre.prompt')")
        assert page.evaluate(CONTRAST) == []
        page.call(
            "Emulation.setDeviceMetricsOverride",
            width=SIZE[0],
            height=1500,
            deviceScaleFactor=2,
            mobile=False,
        )
        page.picture(tmp_path / f"details-{dark}.png", ".requests")
        in_order(page)
        page.close()


def smaller(picture: Path, to: Path) -> None:
    """The same with a pixel for each of the page's, and as few colours as it has."""
    with Image.open(picture) as image:
        half = image.convert("RGB").resize((image.width // 2, image.height // 2))
        half.quantize(200, Image.Quantize.MAXCOVERAGE).save(to, optimize=True)


# Texts that cannot be told from what is behind them, by the measure of WCAG 2: 4.5 to 1.
CONTRAST = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((each) => each / 255)
    .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
    .reduce((sum, each, at) => sum + each * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    for (; element; element = element.parentElement) {
      const color = rgb(getComputedStyle(element).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
  };
  const bad = [];
  for (const element of document.querySelectorAll("body *")) {
    const style = getComputedStyle(element);
    const own = [...element.childNodes].some((each) => each.nodeType === 3 && each.data.trim());
    if (!own || !element.getClientRects().length) continue;
    const color = element instanceof SVGElement ? style.fill : style.color;
    const [one, other] = [light(rgb(color)), light(behind(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) bad.push([element.textContent.slice(0, 30), ratio.toFixed(2)]);
  }
  return bad;
})()
"""


def test_requests_appear_and_change_while_one_looks(desk: Desk, browser: Browser) -> None:
    desk.tells([])
    with running_inspection(desk.home) as inspection:
        page = opened(browser, inspection.url)
        assert page.evaluate("document.querySelector('#empty').checkVisibility()")
        desk.tells(REQUESTS[-1:])
        assert "24 characters suggested" in shows(page, 1)[0]
        desk.tells([{**REQUESTS[-1], "fate": "accepted"}])
        page.wait_for(
            "the acceptance",
            "document.querySelector('#requests').innerText.includes('characters accepted')",
        )
        assert page.evaluate("document.querySelectorAll('#waits circle').length") == 1
        # Never code, unless it is asked for in this run.
        page.evaluate("document.querySelector('#requests button').click()")
        page.wait_for("a word on code", "document.querySelector('#code .note')")
        in_order(page)
        page.close()


def test_it_is_used_by_keys_alone(desk: Desk, browser: Browser) -> None:
    desk.tells(REQUESTS)
    with running_inspection(desk.home) as inspection:
        page = opened(browser, inspection.url)
        shows(page, 13)
        focus = "document.activeElement.closest('li')?.dataset.id ?? ''"
        page.press("ArrowDown")
        page.press("ArrowDown")
        assert page.evaluate(focus).endswith("-13")
        page.press("Enter")
        page.wait_for("the details", "!document.querySelector('#details').hidden")
        assert "at its limit" in page.evaluate("document.querySelector('#details').innerText")
        page.press("ArrowUp")
        page.wait_for(
            "the one above",
            "document.querySelector('#details').innerText.includes('test_forms.py')",
        )
        page.press("Escape")
        assert page.evaluate("document.querySelector('#details').hidden")
        page.press("/")
        page.type("empty lexer")
        shows(page, 0)
        page.press("Escape")
        shows(page, 13)
        page.press("/")
        page.type("accepted views")
        shows(page, 3)
        in_order(page)
        page.close()


def test_what_ended_by_typing_on_is_shown_where_wanted(desk: Desk, browser: Browser) -> None:
    desk.tells(REQUESTS)
    with running_inspection(desk.home) as inspection:
        page = opened(browser, inspection.url)
        shows(page, 13)
        page.evaluate("document.querySelector('#passing').click()")
        assert any("A newer request" in each for each in shows(page, 14))
        page.close()


def test_a_name_is_a_name_and_no_markup(desk: Desk, browser: Browser) -> None:
    desk.tells([{**REQUESTS[0], "path": NASTY, "model": NASTY, "message": NASTY}])
    with running_inspection(desk.home) as inspection:
        page = opened(browser, inspection.url)
        assert NASTY in shows(page, 1)[0]
        page.evaluate("document.querySelector('#requests button').click()")
        page.wait_for("the details", "!document.querySelector('#details').hidden")
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        assert page.evaluate("document.title") == "lsp-completions"
        in_order(page)
        page.close()


def test_another_page_reads_nothing(desk: Desk, browser: Browser) -> None:
    """Not even with the key, which it cannot know."""
    desk.tells(REQUESTS)
    with running_inspection(desk.home) as inspection, running_inspection(desk.home) as other:
        page = opened(browser, other.url)
        for path in ("", "statistics", "page.js"):
            page.evaluate(
                "window.read = undefined;"
                f"fetch({json.dumps(inspection.url + path)}).then((answer) => answer.text())"
                ".then((text) => { window.read = text }, () => { window.read = null })"
            )
            page.wait_for("an answer", "window.read !== undefined")
            assert page.evaluate("window.read") is None
        page.close()
