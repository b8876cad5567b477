"""Of a suggestion made long ago less is remembered; whoever comes back is shown the same."""

import hashlib
import json
from collections.abc import AsyncGenerator
from random import Random

import pytest

from lsp_completions import cache
from lsp_completions.pipeline.outcome import Suggested
from lsp_completions.providers.base import Event, HttpRequest
from tests.support.desk import Desk, Told

STEPS = 60
SAID = (
    "call(1)\n",
    "foo(a, b)\nbar = 2\nreturn foo\n",
    "    x = 1\n    y = 2\n\nz\n",
    "value",
    "",
    "  return a + b\n\n\ndef g():\n    pass\n",
    "if x:\n    y()\nelse:\n    z()\n",
    "x = 1)\n",
    "é = 'ü'\nq = 3\n",
)
TEXT = "import os\n" + "".join(f"def f_{n}(a, b):\n    \n\nx_{n} = \n" for n in range(6))


async def test_pieces_of_one_stream_age_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_WHOLE", 2)
    desk = Told("x = <cursor>\n", "python", ["call(1)\nother(2)\n", "2\n"])
    desk.accepts(await desk.asks())
    desk.accepts(await desk.asks())
    assert desk.begun == 1
    for number in range(4):
        desk.becomes(f"y_{number} = <cursor>\n")
        assert await desk.sees() == f"y_{number} = 2\n"
    asked = desk.begun
    desk.becomes("x = ca<cursor>\n")
    assert await desk.sees() == "x = call(1)\n"
    desk.becomes("x = call(1)\not<cursor>\n")
    assert await desk.sees() == "x = call(1)\nother(2)\n"
    assert desk.begun == asked


class Echo(Desk):
    """A desk whose model says the same whenever it is asked the same."""

    async def _open(self, request: HttpRequest) -> AsyncGenerator[Event, None]:
        first, second, both, size = hashlib.sha256(request.body).digest()[:4]
        said = SAID[first % len(SAID)] + (SAID[second % len(SAID)] if both % 2 else "")
        size = 1 + size % 9
        for at in range(0, len(said), size):
            data = json.dumps({"deltaText": said[at : at + size]})
            yield Event(name="completion", data=data)


async def wandered(seed: int) -> list[object]:
    """What somebody is shown who types, accepts, takes back and comes back."""
    desk, random = Echo(f"{TEXT}<cursor>"), Random(seed)
    history, been = [(desk.document.text, desk.offset)], [desk.offset]
    shown: list[object] = []
    last = None
    for _ in range(STEPS):
        before = desk.document.text, desk.offset
        text = before[0]
        match random.choice(
            ("ask", "ask", "ask", "go", "come back", "type", "take", "erase", "undo")
        ):
            case "ask":
                last = await desk.asks()
                edits = last.edits if isinstance(last, Suggested) else last.reason
                shown.append((desk.offset, edits))
                been.append(desk.offset)
            case "go":
                desk.offset = random.choice([n for n, each in enumerate(text) if each == "\n"])
            case "come back":
                desk.offset = min(random.choice(been), len(text))
            case "type":
                desk.types(random.choice(("x", " ", "(", "fo", "ca", "\n")))
            case "take" if isinstance(last, Suggested) and last.document is desk.document:
                edit = last.edits[0]
                if random.random() < 0.5:
                    desk.accepts(last)
                else:
                    desk.offset = edit.start
                    desk.types(edit.new_text[: random.randint(1, len(edit.new_text))])
            case "erase":
                desk.deletes(min(random.randint(1, 4), desk.offset))
            case "undo":
                text, offset = history.pop() if len(history) > 1 else history[0]
                desk.becomes(f"{text[:offset]}<cursor>{text[offset:]}")
            case _:
                pass
        if before[0] != desk.document.text:
            history.append(before)
    return shown


@pytest.mark.parametrize("seed", range(12))
async def test_whoever_comes_back_is_shown_the_same(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    expected = await wandered(seed)
    monkeypatch.setattr(cache, "MOST_WHOLE", 1)
    assert await wandered(seed) == expected
