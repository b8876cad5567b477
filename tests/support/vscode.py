"""A real VS Code: code-server, and a window of it in a browser."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from tests.editors.scenarios import SETTINGS, squeezed
from tests.support import browser
from tests.support.at_work import HUMAN, is_running, recorded, runtime_folder
from tests.support.browser import Browser, Page

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "editors" / "vscode"
SECOND_SERVER = ROOT / "tests" / "support" / "second_server.py"
SECOND_EXTENSION = ROOT / "tests" / "support" / "second_extension"

PATIENCE = 60.0  # seconds; code-server, a browser and two extensions start on two cores
PAUSE = 0.6  # seconds; VS Code asks 50 ms after a key
REACHES = 1.2  # seconds until a hand is at a key that nobody presses often
REGISTERS = 2.5  # seconds until VS Code asks a server that started anew; nobody is told
SIZE = (1000, 640)

SETTINGS_OF_VS_CODE = {
    "chat.disableAIFeatures": True,
    "extensions.autoCheckUpdates": False,
    "editor.unusualLineTerminators": "off",  # it would ask about them in a window of its own
    "files.autoSave": "off",  # code-server has another default than VS Code
    "git.enabled": False,
    # All files have one name here, and what is typed is the path of one.
    "search.quickOpen.includeHistory": False,
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}
NOTHING: Mapping[str, str] = MappingProxyType({})
CLOSE = "Control+Alt+w"
KEYS = [{"key": "ctrl+alt+w", "command": "workbench.action.revertAndCloseActiveEditor"}]


def executable() -> str | None:
    """The code-server that the environment names."""
    return os.environ.get("LSP_COMPLETIONS_CODE_SERVER")


def missing() -> str | None:
    """What has to be there and is not, for a person."""
    if executable() is None:
        return "needs VS Code: LSP_COMPLETIONS_CODE_SERVER=$(tests/editors/install_code_server.sh)"
    if browser.executable() is None:
        return "needs Chromium: LSP_COMPLETIONS_CHROMIUM=$(tests/editors/install_chromium.sh)"
    if shutil.which("npm") is None:
        return "needs npm, to build the extension"
    return None


def build(folder: Path) -> Path:
    """The extension, built as its README says; or the one that the environment names."""
    if named := os.environ.get("LSP_COMPLETIONS_VSIX"):
        return Path(named)
    vsix = folder / "lsp-completions.vsix"
    subprocess.run(
        [sys.executable, str(EXTENSION / "build.py"), f"--out={vsix}"],
        check=True,
        timeout=300,
        stdout=subprocess.DEVNULL,
    )
    return vsix


def build_second(folder: Path) -> Path:
    """An extension with the second language server, by the same client library."""
    script = folder / "second.js"
    subprocess.run(
        [
            str(EXTENSION / "node_modules" / ".bin" / "esbuild"),
            str(SECOND_EXTENSION / "extension.js"),
            *("--bundle", "--platform=node", "--format=cjs", "--external:vscode"),
            *("--log-level=warning", f"--outfile={script}"),
        ],
        check=True,
        timeout=60,
        env={**os.environ, "NODE_PATH": str(EXTENSION / "node_modules")},
    )
    manifest = json.loads((SECOND_EXTENSION / "package.json").read_text("utf-8"))
    vsix = folder / "second.vsix"
    with zipfile.ZipFile(vsix, "w") as archive:
        archive.write(SECOND_EXTENSION / "package.json", "extension/package.json")
        archive.write(script, "extension/extension.js")
        archive.writestr(
            "extension.vsixmanifest",
            '<?xml version="1.0" encoding="utf-8"?>'
            '<PackageManifest Version="2.0.0" '
            'xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011"><Metadata>'
            f'<Identity Id="{manifest["name"]}" Version="{manifest["version"]}" '
            f'Publisher="{manifest["publisher"]}" Language="en-US"/></Metadata>'
            '<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>'
            '<Dependencies/><Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" '
            'Path="extension/package.json" Addressable="true"/></Assets></PackageManifest>',
        )
        archive.writestr(
            "[Content_Types].xml",
            '<?xml version="1.0" encoding="utf-8"?>'
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension=".json" ContentType="application/json"/>'
            '<Default Extension=".js" ContentType="application/javascript"/>'
            '<Default Extension=".vsixmanifest" ContentType="text/xml"/></Types>',
        )
    return vsix


def documented_keys() -> list[dict[str, str]]:
    """The lines that the README says to put into `keybindings.json`."""
    text = (EXTENSION / "README.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- keys -->\s*```json\n(.*?)```", text, re.DOTALL)
    assert found
    keys: list[dict[str, str]] = json.loads(found[1])
    return keys


@dataclass
class CodeServer:
    """The part of VS Code that runs where the files are."""

    home: Path
    noted: Path
    """Where the second server notes which files it was told of."""
    url: str = ""
    process: "subprocess.Popen[str]" = field(init=False)

    def configure(self, settings: Mapping[str, object]) -> None:
        """The user's settings, beside those of all tests."""
        file = self.home / "data" / "User" / "settings.json"
        file.write_text(json.dumps({**SETTINGS_OF_VS_CODE, **self._recorder(), **settings}))

    def _recorder(self) -> Mapping[str, object]:
        """The setting that has somebody write down what is said, where the environment says so."""
        if not (writer := recorded()):
            return {}
        script = self.home / "recorded-server"
        script.write_text(
            f'#!/bin/sh\n[ $# -gt 0 ] || exec {writer}"{sys.executable}" -P -m lsp_completions\n'
            f'exec "{sys.executable}" -P -m lsp_completions "$@"\n'
        )
        script.chmod(0o755)
        return {"lspCompletions.path": [str(script)]}

    def servers(self) -> set[int]:
        """The processes of our language server, one a window."""
        # Commands of it, such as `check`, have a word more.
        ends = b"\0-m\0lsp_completions\0"
        return {pid for pid in self._descendants() if command_line(pid).endswith(ends)}

    def _descendants(self) -> set[int]:
        parents = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    parents[int(entry.name)] = int(fields[1])
        found = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return found


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def environment_of(pid: int) -> dict[str, str]:
    """The variables that a process was started with."""
    text = Path(f"/proc/{pid}/environ").read_bytes().decode()
    return dict(each.split("=", 1) for each in text.split("\0") if "=" in each)


def bare_python(folder: Path) -> Path:
    """A folder of programs: a Python with nothing but the standard library, not even pip."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin"


@contextlib.contextmanager
def running_code_server(
    extensions: Sequence[Path], *, programs: Path, environment: Mapping[str, str] = NOTHING
) -> Iterator[CodeServer]:
    """code-server with these extensions, in a home of its own, at an address of this machine.

    `programs` is the one folder where programs are looked for; nothing outside this machine can be
    reached. At the end nothing of it runs any more.
    """
    program = executable()
    assert program is not None
    # Short, since a socket is in it.
    home = Path(tempfile.mkdtemp(prefix="code-"))
    noted = home / "second-server"
    user = home / "data" / "User"
    ours = home / ".config" / "lsp-completions"
    for folder in (user, ours):
        folder.mkdir(parents=True)
    (user / "keybindings.json").write_text(json.dumps([*KEYS, *documented_keys()]))
    (ours / "config.toml").write_text(SETTINGS)
    # Nothing of whoever runs the tests.
    kept = ("LANG", "PYTHONPYCACHEPREFIX", "TMPDIR", "USER")
    whole = {
        **{name: os.environ[name] for name in kept if name in os.environ},
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9"),
        "NO_PROXY": "127.0.0.1",
        "PATH": str(programs),
        "VSCODE_CLI": "1",  # or a shell would be asked for its variables
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(runtime_folder(home)),
        "SECOND_SERVER": json.dumps([sys.executable, str(SECOND_SERVER), str(noted)]),
        **environment,
    }
    places = [f"--extensions-dir={home / 'extensions'}", f"--user-data-dir={home / 'data'}"]
    subprocess.run(
        [program, *places, *(f"--install-extension={each}" for each in extensions)],
        check=True,
        timeout=PATIENCE,
        env=whole,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    it = CodeServer(home, noted)
    it.configure({})
    process = subprocess.Popen(
        [
            *(program, *places, "--bind-addr=127.0.0.1:0", "--auth=none"),
            *("--disable-telemetry", "--disable-update-check", "--ignore-last-opened"),
        ],
        env=whole,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    said: list[str] = []
    try:
        for line in process.stdout:
            said.append(line)
            if found := re.search(r"HTTP server listening on (http://\S+?)/?\s", line):
                break
        else:
            raise AssertionError("".join(said))
        # What it says later must not fill the pipe.
        reader = threading.Thread(target=process.stdout.read, daemon=True)
        reader.start()
        it.url, it.process = found[1], process
        yield it
        servers = it.servers()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()
    deadline = time.monotonic() + PATIENCE
    while any(is_running(pid) for pid in servers):
        assert time.monotonic() < deadline, "the server outlived its editor"
        time.sleep(0.05)
    shutil.rmtree(home, ignore_errors=True)


# In the cursor's line there may be text of the file between two parts. Lines below it are drawn
# apart, with what they push away of it.
GHOST = """(() => {
  const below = [...document.querySelectorAll('.suggest-preview-text')];
  const parts = '.ghost-text, .ghost-text-decoration';
  const found = [];
  for (const line of document.querySelectorAll('.editor-instance .view-line')) {
    if (below.some((each) => each.contains(line))) continue;
    const spans = [...line.querySelectorAll('span')].filter((each) => !each.children.length);
    const ghosts = spans.map((each) => !!each.closest(parts));
    if (!ghosts.includes(true)) continue;
    const drawn = spans.slice(ghosts.indexOf(true), ghosts.lastIndexOf(true) + 1);
    found.push([line.getBoundingClientRect().top, drawn.map((each) => each.textContent).join('')]);
  }
  for (const each of below) found.push([each.getBoundingClientRect().top, each.textContent]);
  found.sort(([a], [b]) => a - b);
  return found.map(([, text]) => text).join(' ').replaceAll('\\u00a0', ' ');
})()"""

LINES = """(() => {
  const lines = [...document.querySelectorAll('.editor-instance .view-line')];
  const placed = lines.map((each) => [each.getBoundingClientRect().top, each.textContent]);
  placed.sort(([a], [b]) => a - b);
  const rows = [...document.querySelectorAll('.suggest-widget.visible .monaco-list-row')];
  const bar = document.querySelector('.statusbar');
  const said = [...document.querySelectorAll('.notification-list-item-message')];
  return [
    ...placed.map(([, text]) => text),
    ...rows.map((each) => '  | ' + each.ariaLabel),
    ...said.map((each) => '! ' + each.textContent),
    '-- ' + (bar ? bar.innerText.split('\\n').join('  ') : ''),
  ].join('\\n').replaceAll('\\u00a0', ' ');
})()"""

OURS = "[id='lsp-completions.lsp-completions.lspCompletions']"

# Notes every message that is shown and every state of our item, since they go away by themselves.
NOTES = f"""(() => {{
  window.messages = [];
  window.states = [''];
  const known = new WeakSet();
  const look = () => {{
    for (const each of document.querySelectorAll('.notification-list-item-message')) {{
      if (!known.has(each) && each.textContent) {{
        known.add(each);
        window.messages.push(each.textContent);
      }}
    }}
    const state = document.querySelector("{OURS} a")?.ariaLabel;
    if (state && state !== window.states.at(-1)) window.states.push(state);
  }};
  look();
  new MutationObserver(look).observe(document.body,
    {{ childList: true, subtree: true, attributeFilter: ['aria-label'] }});
}})()"""
STARTS = "LSP Completions: The server starts."

TABS = "document.querySelectorAll('.tab').length"
MENU = ".suggest-widget.visible .monaco-list-row"


class Window:
    """A person at one window; as a `Driver`, at its files."""

    def __init__(
        self, running: Browser, server: CodeServer, folder: Path, *, starts: bool = True
    ) -> None:
        self.server = server
        self.page: Page = running.page(f"{server.url}/?folder={quote(str(folder))}", SIZE)
        self._heard = 0
        shown = "document.querySelector('.monaco-workbench .statusbar')"
        self.page.wait_for("the window", shown, patience=PATIENCE)
        self.page.evaluate(NOTES)
        if starts:
            self.wait_until_ready()

    def state(self) -> str:
        """What our item in the status bar says to those who cannot see it."""
        return str(self.page.evaluate("window.states.at(-1)"))

    def wait_until_ready(self, since: int = 0) -> None:
        """Wait until our server runs, and started after that many states of it."""
        started = f"window.states.slice({since}).includes('{STARTS}')" if since else "true"
        runs = f"{started} && !['', '{STARTS}'].includes(window.states.at(-1))"
        self.page.wait_for("our server", runs, patience=PATIENCE)
        time.sleep(REGISTERS)

    def run(self, title: str) -> None:
        """Run a command from the palette, found by its title."""
        self.page.press("F1")
        self.page.wait_for("the palette", _visible(".quick-input-widget"))
        self.page.paste(title)
        self.page.wait_for(
            title,
            f"document.querySelector('.quick-input-list .monaco-list-row.focused')"
            f"?.ariaLabel?.startsWith({json.dumps(title)})",
        )
        self.page.press("Enter")

    def see_message(self, part: str) -> None:
        """Wait for a message about the present file, or since the last one."""
        heard = f"window.messages.slice({self._heard})"
        self.page.wait_for(part, f"{heard}.some((each) => each.includes({json.dumps(part)}))")

    def told(self) -> Sequence[str]:
        """All messages about the present file, or since the last one."""
        said = self.page.evaluate("window.messages")
        return [str(each) for each in said[self._heard :]]

    def see_state(self, part: str) -> None:
        """Wait until our item in the status bar says so."""
        self._wait(lambda: part in self.state(), lambda: f"{part!r}, and not {self.state()!r}")

    def why(self) -> str:
        """What is known about there being no suggestion, for who wonders why a test failed."""
        states = self.page.evaluate("window.states")
        self.run("LSP Completions: Why Nothing Here?")
        time.sleep(REACHES)
        return f"states: {states}\nmessages: {self.page.evaluate('window.messages')}"

    def answer(self, text: str) -> None:
        """Type into the box that asks for a text."""
        self.page.wait_for("a box", _visible(".quick-input-widget .input"))
        self.page.press("Control+a")
        self.page.paste(text)
        self.page.press("Enter")

    def sign_in(self, endpoint: str, token: str) -> None:
        """By our command, and wait until the server knows."""
        with self.restarting():
            self.run("LSP Completions: Sign In to Sourcegraph")
            for box, text in (("address", endpoint), ("access token", token)):
                asked = (
                    f"document.querySelector('.quick-input-widget')?.innerText.includes('{box}')"
                )
                self.page.wait_for(box, asked)
                self.answer(text)

    def sign_out(self) -> None:
        with self.restarting():
            self.run("LSP Completions: Sign Out")

    # ---- as a driver

    def open(self, path: Path, line: int, column: int) -> None:
        told = f"file://{quote(str(path))}"
        text = path.read_bytes().decode().replace("\r\n", "\n").split("\n")[line][:column]
        column = len(text.encode("utf-16-le")) // 2  # as VS Code counts
        self.page.press("Control+p")
        self.page.wait_for("where files are opened", _visible(".quick-input-widget"))
        self.page.paste(f"{path}:{line + 1}:{column + 1}")
        # Not one that is left of the last time.
        folder = "/".join(path.parent.parts[-3:])
        self.page.wait_for(
            str(path),
            "document.querySelector('.quick-input-list .monaco-list-row.focused')"
            f"?.ariaLabel?.includes({json.dumps(folder)})",
        )
        self.page.press("Enter")
        self._wait(lambda: told in self._told(), f"the second server to know {path}")
        self.page.wait_for(
            "the cursor there",
            f"document.querySelector('.statusbar')?.innerText.includes('Ln {line + 1}, Col ')",
        )
        # VS Code puts off what asks for ghost text until the window has nothing else to do, and
        # those who type sooner get none: these wait behind it in the same queue.
        self.page.evaluate("window.rests = false")
        self.page.evaluate("requestIdleCallback(() => { window.rests = true; })")
        self.page.wait_for("the window to rest", "window.rests", patience=PATIENCE)

    def type(self, text: str) -> None:
        self.page.type(text, pace=HUMAN)

    def see_ghost(self, text: str) -> None:
        self._wait(
            lambda: squeezed(self.ghost()) == squeezed(text),
            lambda: f"the ghost text {text!r}, and not {self.ghost()!r}",
        )

    def see_some_ghost(self) -> str:
        """Wait for a ghost text of one line, which nobody knows before; returns it."""
        self._wait(lambda: bool(self.ghost()), "ghost text")
        return self.ghost()

    def see_no_ghost(self) -> None:
        self._wait(lambda: not self.ghost(), "no ghost text")

    def ghost(self) -> str:
        return str(self.page.evaluate(GHOST))

    def accept(self) -> None:
        before = now = self.ghost()
        self.page.press("Tab")
        while before and squeezed(now) == squeezed(before):
            self._wait(lambda now=now: self.ghost() != now, "something to happen")  # type: ignore[misc]
            if squeezed(now := self.ghost()) == squeezed(before):
                # Before indentation Tab is what it always is; one presses on.
                self.page.press("Tab")

    def accept_word(self) -> None:
        # Blanks before a word are one of their own in VS Code.
        before = self.ghost()
        while squeezed(self.ghost()) == squeezed(before):
            now = self.ghost()
            self.page.press("Control+ArrowRight")
            self._wait(lambda now=now: self.ghost() != now, "a word less")  # type: ignore[misc]

    def accept_line(self) -> None:
        self.page.press("Control+Alt+ArrowRight")

    def pause(self) -> None:
        time.sleep(PAUSE)  # what comes to nothing is told to nobody

    def dismiss(self) -> None:
        self.page.press("Escape")

    def ask(self) -> None:
        self.page.press("Alt+\\")

    def undo(self) -> None:
        self.page.press("Control+z")

    def take_item(self, label: str) -> None:
        self._open_menu(label)
        rows = f"[...document.querySelectorAll('{MENU}')]"
        begins = f"?.ariaLabel?.startsWith({json.dumps(label)})"
        chosen = f"{rows}.find((each) => each.classList.contains('focused')){begins}"
        while not self.page.evaluate(chosen):
            self.page.press("ArrowDown")
            assert self.page.evaluate(f"{rows}.length"), label
        self.page.press("Enter")
        self.page.wait_for("no menu", f"{rows}.length === 0")

    def see_item(self, label: str) -> None:
        # Where nothing is typed yet all entries fit.
        self.page.press("End")
        self.page.press("Enter")
        self._open_menu(label)
        self.page.press("Escape")

    def messages(self) -> Sequence[str]:
        return [each for each in self.told() if each.startswith("lsp-completions:")]

    def switch_off(self) -> None:
        self._switch(True)

    def switch_on(self) -> None:
        self._switch(False)

    def kill_server(self) -> None:
        with self.restarting():
            for pid in self.server.servers():
                os.kill(pid, signal.SIGKILL)

    def save(self) -> None:
        self.page.press("Control+s")
        self.page.wait_for("it saved", "!document.querySelector('.tab.active.dirty')")

    def close(self) -> None:
        self.close_one()
        self.page.wait_for("no file", "!document.querySelector('.tab')")
        self.forget_messages()

    def close_one(self) -> None:
        """Close the file, where others may stay open."""
        before = self.page.evaluate(TABS)
        self.page.press(CLOSE)
        self.page.wait_for("one file less", f"{TABS} < {before}")

    def forget_messages(self) -> None:
        """What was told so far is about something else."""
        self._heard = int(self.page.evaluate("window.messages.length"))

    def picture(self, path: Path) -> None:
        self.page.picture(path)

    def screen(self) -> str:
        return str(self.page.evaluate(LINES))

    def _switch(self, off: bool) -> None:
        self.run("LSP Completions: Switch Suggestions On or Off for This Language")
        says = "switched off for"
        self._wait(lambda: (says in self.state()) is off, f"suggestions to be switched {off=}")

    def _open_menu(self, label: str) -> None:
        # Where it is open already the same key does something else.
        self.page.press("Escape")
        self.page.wait_for("no menu", f"!document.querySelector('{MENU}')")
        time.sleep(REACHES)  # or it would be taken for one that opens by itself
        self.page.press("Control+ ")
        self.page.wait_for(
            f"the menu entry {label!r}",
            f"[...document.querySelectorAll('{MENU}')].some("
            f"(each) => each.ariaLabel?.startsWith({json.dumps(label)}))",
        )

    @contextlib.contextmanager
    def restarting(self) -> Iterator[None]:
        """What is done leads to another server."""
        since = int(self.page.evaluate("window.states.length"))
        yield
        self.wait_until_ready(since)

    def _told(self) -> str:
        noted = self.server.noted
        return noted.read_text(encoding="utf-8") if noted.exists() else ""

    def _wait(self, reached: Callable[[], bool], what: str | Callable[[], str]) -> None:
        deadline = time.monotonic() + browser.PATIENCE
        while not reached():
            if time.monotonic() > deadline:
                said = what if isinstance(what, str) else what()
                raise AssertionError(f"waited in vain for {said}; on the screen:\n{self.screen()}")
            time.sleep(browser.LOOKS)


def _visible(selector: str) -> str:
    found = f"document.querySelector({json.dumps(selector)})"
    return f"!!{found} && {found}.offsetParent !== null"
