"""`lsp-completions inspect`: what it serves, to whom, and that it shows code only when asked."""

import json
import os
import signal
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_completions import INLINE, NEOVIM, Editor, running_editor
from tests.support.home import Home
from tests.support.inspection import Inspection, running_inspection

CODE = "quark_strange"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.env["XDG_RUNTIME_DIR"] = str(tmp_path)
    return home


@pytest.fixture
def editor(home: Home) -> Iterator[Editor]:
    env = {name: home.env[name] for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR")}
    yield from running_editor(NEOVIM, env)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where nobody's servers tell of themselves."""
    folder = tmp_path_factory.mktemp("home") / "lsp-completions" / "servers"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[Inspection]:
    """A page of nobody's requests."""
    home = Home(folder.parents[1])
    home.env["XDG_RUNTIME_DIR"] = str(home.folder)
    with running_inspection(home) as running:
        yield running


def completes(editor: Editor, drawn: str = f"{CODE} = <cursor>\n") -> dict[str, Any]:
    editor.says(f"{CODE}(1)\nand more")
    at = editor.open(drawn)
    (item,) = editor.client.result(INLINE, at)["items"]
    return {**at, "item": item}


def seen(page: Inspection, count: int) -> list[Any]:
    """The requests that the page was told of, once there are so many."""
    found: dict[str, Any] = {}
    with page.events() as events:
        for _, news in events:
            found.update({each["id"]: each for each in news.get("requests", ())})
            if len(found) >= count:
                return list(found.values())
    raise AssertionError("the events ended")


def code_of(page: Inspection, editor: Editor, drawn: str = f"{CODE} = <cursor>\n") -> Any:
    """The code of a request that is made now; a server that has just begun keeps none yet."""
    for count in range(1, 50):
        completes(editor, drawn)
        newest = max(seen(page, count), key=lambda each: each["number"])
        for _ in range(50):
            answer = page.ask(f"code/{newest['pid']}/{newest['number']}")
            if answer.status == 200:
                return answer.json
            time.sleep(0.05)  # a thread of the server writes it, and tells nobody
    raise AssertionError("no code was kept")


def files_of(home: Home) -> list[Path]:
    return [each for each in home.folder.rglob("*") if each.is_file()]


def test_requests_are_told_as_they_happen(home: Home, editor: Editor) -> None:
    with running_inspection(home) as page:
        with page.events() as events:
            assert next(events)[0] == "all"
            completes(editor)
            news = next(told for _, told in events if told.get("requests"))
        (request,) = news["requests"]
        assert request["path"] == "1.py"
        assert (request["reason"], request["how"]) == (None, "asked anew")
        assert request["times"]["firstText"] <= request["times"]["answered"]
        # Also to those who come later.
        assert [each["id"] for each in seen(page, 1)] == [request["id"]]
        assert CODE not in json.dumps(seen(page, 1))
        assert page.ask("statistics").json["days"] == 30


def test_code_is_shown_only_where_it_was_asked_for(home: Home, editor: Editor) -> None:
    completes(editor)
    with running_inspection(home) as page:
        (request,) = seen(page, 1)
        assert page.ask("about").json == {"code": False}
        where = f"code/{request['pid']}/{request['number']}"
        assert page.ask(where).status == 403
    assert not [each for each in files_of(home) if CODE.encode() in each.read_bytes()]

    with running_inspection(home, "--with-code") as page:
        assert page.ask("about").json == {"code": True}
        # What came before is not kept.
        assert page.ask(where).status == 404
        told = code_of(page, editor)
        assert CODE in told["prompt"]
        assert told["steps"][0] == {
            "name": "what the model said",
            "text": f"{CODE}(1)\nand more",
        }
        assert told["steps"][-1]["text"] == f"{CODE}(1)"
        assert told["shown"] == [f"{CODE}(1)"]
        (kept,) = [each for each in files_of(home) if CODE.encode() in each.read_bytes()]
        if os.name == "posix":
            assert stat.S_IMODE(kept.stat().st_mode) == 0o600
            assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert not [each for each in files_of(home) if CODE.encode() in each.read_bytes()]
    completes(editor)
    assert editor.client.result("workspace/executeCommand", {"command": "lspCompletions.enable"})
    assert not [each for each in files_of(home) if CODE.encode() in each.read_bytes()]


def holds_code(home: Home) -> bool:
    for each in files_of(home):
        with suppress(OSError):  # removed just now
            if CODE.encode() in each.read_bytes():
                return True
    return False


def wishes(home: Home) -> list[Path]:
    return [each for each in files_of(home) if each.suffix == ".wish"]


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)  # a thread of the server removes it, and tells nobody


def test_code_is_kept_no_longer_than_whoever_asked_lives(home: Home, editor: Editor) -> None:
    with running_inspection(home, "--with-code") as page:
        code_of(page, editor)
        assert holds_code(home)
        page.process.kill()
        page.process.wait()
        # Though the editor asks for nothing any more.
        until(lambda: not holds_code(home) and not wishes(home))


def test_of_two_pages_each_has_code_until_its_own_end(home: Home, editor: Editor) -> None:
    with running_inspection(home, "--with-code") as second:
        with running_inspection(home, "--with-code") as first:
            code_of(first, editor)
        assert holds_code(home)
        assert CODE in code_of(second, editor)["prompt"]
    assert not holds_code(home)
    completes(editor)
    assert not holds_code(home)
    assert not wishes(home)


SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] if os.name == "posix" else ["SIGTERM"]


@pytest.mark.parametrize("name", SIGNALS)
def test_whatever_ends_it_no_code_stays(home: Home, editor: Editor, name: str) -> None:
    number = getattr(signal, name)
    with running_inspection(home, "--with-code") as page:
        code_of(page, editor)
        page.process.send_signal(number)
        code = page.process.wait(30)
        if os.name == "posix":
            assert code == 128 + number
            assert not holds_code(home)
            assert not wishes(home)
        until(lambda: not holds_code(home) and not wishes(home))


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        pytest.param({}, 200, id="as it should be"),
        pytest.param({"Host": "localhost:{port}"}, 200, id="by its other name"),
        pytest.param({"Origin": "http://127.0.0.1:{port}"}, 200, id="from itself"),
        pytest.param({"root": "/"}, 403, id="no key"),
        pytest.param({"root": "/{wrong}/"}, 403, id="a wrong key"),
        pytest.param({"root": "/{key}"}, 403, id="a key alone"),
        pytest.param({"root": "/{key}x/"}, 403, id="a longer key"),
        pytest.param({"root": "//{key}/"}, 403, id="two slashes"),
        pytest.param({"root": "/%C3%A9%ff%00/"}, 403, id="no letters"),
        pytest.param({"Host": "evil.example:{port}"}, 403, id="a name that leads here"),
        pytest.param({"Host": "127.0.0.1"}, 403, id="another port"),
        pytest.param({"Host": ""}, 403, id="no host"),
        pytest.param({"Origin": "http://evil.example"}, 403, id="another page"),
        pytest.param({"Origin": "null"}, 403, id="a page without an address"),
        pytest.param({"Sec_Fetch_Site": "cross-site"}, 403, id="led here by another site"),
        pytest.param({"method": "POST"}, 403, id="to change something"),
        pytest.param({"method": "OPTIONS", "Origin": "http://evil.example"}, 403, id="preflight"),
    ],
)
def test_who_is_answered(page: Inspection, changed: dict[str, str], status: int) -> None:
    key = page.root.strip("/")
    names = {"port": page.port, "key": key, "wrong": key[:-1] + ("a" if key[-1] != "a" else "b")}
    asked = {name: value.format(**names) for name, value in changed.items()}
    for path in ("", "about", "statistics", "code/1/1"):
        answer = page.ask(path, **asked)
        assert (answer.status == 403) is (status == 403 or path.startswith("code"))
        assert "access-control-allow-origin" not in answer.headers
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert key not in answer.body.decode()


def test_nobody_is_told_the_key_twice(home: Home) -> None:
    with running_inspection(home) as first, running_inspection(home) as second:
        assert first.root != second.root
        assert len(first.root) > 40
        assert second.ask(root=first.root).status == 403


def test_half_of_a_surrogate_pair_breaks_no_answer(page: Inspection, folder: Path) -> None:
    """Whatever is in the files: a server of another version may have written them."""
    outcome = {"number": 1, "path": "\ud800.py"}
    told = {"outcomes": [outcome], "editor": "\udfff"}
    (folder / f"{os.getpid()}.json").write_text(json.dumps(told))
    (request,) = seen(page, 1)
    assert request["path"] == "?.py"


def test_code_with_half_of_a_surrogate_pair_is_shown(home: Home) -> None:
    with running_inspection(home, "--with-code") as page:
        folder = home.folder / "lsp-completions" / "servers"
        (folder / f"{os.getpid()}.code").write_text(json.dumps({1: {"prompt": "a\ud800"}}))
        assert page.ask(f"code/{os.getpid()}/1").json == {"prompt": "a?"}


def test_the_page_asks_for_nothing_elsewhere(page: Inspection) -> None:
    for name in ("", "page.css", "page.js", "drawing.js"):
        answer = page.ask(name)
        assert answer.status == 200
        text = answer.body.decode().replace("http://www.w3.org/2000/svg", "")
        for elsewhere in ("http:", "https:", "url(", "@import", 'src="//', "import("):
            assert elsewhere not in text


def test_without_the_extra_it_says_what_to_install(home: Home) -> None:
    (home.folder / "starlette.py").write_text("raise ImportError\n")
    hidden = home.folder / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'uvicorn' else find(name, *more)\n"
    )
    path = f"{hidden}{os.pathsep}{home.env['PYTHONPATH']}"
    ran = home.run("inspect", env={"PYTHONPATH": path})
    assert ran.returncode == 3
    assert "needs the extra `inspect`" in ran.stderr
